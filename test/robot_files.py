# SPDX-License-Identifier: Apache-2.0
"""The robots of the workspace, as the tests use them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROBOTS = {path.stem: path for path in sorted((ROOT / "config" / "robots").glob("*.urdf"))}


def urdf(name: str) -> str:
    """Text of the description of a robot."""
    return ROBOTS[name].read_text()
