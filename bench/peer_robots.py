# SPDX-License-Identifier: Apache-2.0
"""The benchmark robots from example-robot-data."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import dyn_core

ROBOTS = {
    "double pendulum": "double_pendulum_description/urdf/double_pendulum.urdf",
    "UR5": "ur_description/urdf/ur5_robot.urdf",
    "Panda": "panda_description/urdf/panda.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "Talos": "talos_data/robots/talos_reduced.urdf",
}


FREE_FLYERS = {
    "solo12": ROBOTS["solo12"],
    "ANYmal B": "anymal_b_simple_description/robots/anymal.urdf",
    "Talos": ROBOTS["Talos"],
}
"""Robots on a moving base: two quadrupeds and a humanoid."""


def description(name: str) -> str:
    """Path of the URDF of a robot."""
    relative = (ROBOTS | FREE_FLYERS)[name]
    for directory in map(Path, sys.path):
        path = directory / "cmeel.prefix" / "share" / "example-robot-data" / "robots" / relative
        if path.is_file():
            return str(path)
    raise SystemExit(f"bench: example-robot-data has no {relative}")


def loaded(source: str) -> dyn_core.Robot:
    """The robot as peers load it: without snapping, and with independent mimic joints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        return dyn_core.load_robot(source, snap=0, mimic=False)
