# SPDX-License-Identifier: Apache-2.0
"""The robots of config/robots."""

from __future__ import annotations

from pathlib import Path

import dyn_core

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"


def example(name: str, **options: object) -> dyn_core.Robot:
    """Return a robot without its side file."""
    return dyn_core.load_robot(ROBOTS / f"{name}.urdf", **options)


def loop_robot(name: str, **options: object) -> dyn_core.Robot:
    """Return a robot with the loops of its side file."""
    return example(name, loops=ROBOTS / f"{name}.yaml", **options)
