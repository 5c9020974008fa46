# SPDX-License-Identifier: Apache-2.0
"""Robots with closed loops: those of config/robots, and others with random loops and parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dyn_core
from dyn_core.robot.robot import Robot

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
NAMES = ("five_bar", "sr400", "akr3000", "palletizer", "delta", "gough_stewart")


def loop_robot(name: str) -> Robot:
    """Answer a robot of config/robots."""
    return dyn_core.load_robot(ROBOTS / f"{name}.urdf", loops=ROBOTS / f"{name}.yaml")


ROWS = {
    "fixed": 6,
    "revolute": 5,
    "prismatic": 5,
    "cylindrical": 4,
    "universal": 4,
    "spherical": 3,
    "planar": 3,
}
"""Number of constraints of a cut joint."""


def spatial_loop(kind: str, seed: int = 0) -> Robot:
    """A loop of two arms in general position that a cut joint closes, with two degrees of freedom.

    All links have the orientation of the base where all joints are at 0, and there the loop is closed.
    """
    random = np.random.default_rng(seed)
    joints = ROWS[kind] + 2
    parts = ['<robot name="loop"><link name="base"/>']
    ends = {"a": ("base", np.zeros(3)), "b": ("base", np.zeros(3))}
    for k in range(joints):
        side = "a" if k % 2 else "b"
        parent, place = ends[side]
        offset = random.uniform(-0.4, 0.4, 3)
        kind_of_joint = "prismatic" if k == 3 else "continuous"
        limits = '<limit lower="-2" upper="2" effort="1" velocity="1"/>' if k == 3 else ""
        link, centre = f"{side}{k}", random.uniform(-0.2, 0.2, 3)
        parts.append(
            f'<link name="{link}"><inertial><mass value="{random.uniform(1, 3)}"/>'
            f'<origin xyz="{_text(centre)}"/>'
            '<inertia ixx="0.1" iyy="0.12" izz="0.09" ixy="0.01" ixz="0" iyz="0.02"/></inertial></link>'
            f'<joint name="joint_{k}" type="{kind_of_joint}"><parent link="{parent}"/><child link="{link}"/>'
            f'<origin xyz="{_text(offset)}"/><axis xyz="{_text(_unit(random))}"/>{limits}</joint>'
        )
        ends[side] = (link, place + offset)
    axis, point = _unit(random), random.uniform(-0.5, 0.5, 3)
    loop = {
        "name": "cut",
        "type": kind,
        "parent": {"link": ends["a"][0], "xyz": (point - ends["a"][1]).tolist()},
        "child": {"link": ends["b"][0], "xyz": (point - ends["b"][1]).tolist()},
        "axis": axis.tolist(),
    }
    if kind == "universal":
        loop["axis2"] = np.cross(axis, _unit(random)).tolist()
    passive = [f"joint_{k}" for k in range(2, joints)]
    return dyn_core.load_robot("".join(parts) + "</robot>", loops={"loops": [loop], "passive": passive})


def _unit(random: np.random.Generator) -> np.ndarray:
    axis = random.normal(size=3)
    return axis / np.linalg.norm(axis)


def _text(values: np.ndarray) -> str:
    return " ".join(map(repr, values.tolist()))
