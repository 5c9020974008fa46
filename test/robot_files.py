# SPDX-License-Identifier: Apache-2.0
"""The robots of the workspace for tests."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROBOTS = {path.stem: path for path in sorted((ROOT / "config" / "robots").glob("*.urdf"))}

SIMPLE = [
    name
    for name, path in ROBOTS.items()
    if not any(f'type="{kind}"' in path.read_text() for kind in ("floating", "planar"))
]
"""Robots with joints that are several joints in dyn_core and one in Pinocchio."""


def urdf(name: str) -> str:
    return ROBOTS[name].read_text()
