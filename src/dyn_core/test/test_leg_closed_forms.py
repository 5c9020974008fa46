# SPDX-License-Identifier: Apache-2.0
"""Closed forms of legs, on all branches, with axes in all directions: they undo the placement of the end."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import dyn_core
from dyn_core.algorithms.parallel.leg_positions import RevoluteUniversal
from dyn_core.geometry.forward import body_placements
from dyn_core.linalg.known_angle import KnownAngle
from dyn_core.linalg.transform import apply
from dyn_core.parallel.closed_form import closed_form
from dyn_core.parallel.leg_positions import first_origin, in_seat
from dyn_core.parallel.universal_prismatic import UniversalPrismatic
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3
from dyn_core.symbolic.scalar import cos, sin

Joint = tuple[str, Sequence[float], Sequence[float], Sequence[float]]
"""Type, position, angles and axis."""

BASE: Joint = ("revolute", (0.3, -0.2, 0.1), (0.4, 0.5, -0.6), (0, 1, 0))


def leg(*joints: Joint) -> Robot:
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    text = '<robot name="leg"><link name="l0"/>'
    for k, (kind, *placed) in enumerate(joints):
        xyz, rpy, axis = (" ".join(repr(float(x)) for x in values) for values in placed)
        text += (
            f'<link name="l{k + 1}">{inertial}</link><joint name="j{k}" type="{kind}"><parent link="l{k}"/>'
            f'<child link="l{k + 1}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
            '<limit lower="-9" upper="9" effort="1" velocity="1"/></joint>'
        )
    return dyn_core.load_robot(text + "</robot>")


SLIDES = {
    "along z": leg(
        BASE, ("revolute", (0, 0, 0), (0, 0, 0), (1, 0, 0)), ("prismatic", (0, 0, 0), (0, 0, 0), (0, 0, 1))
    ),
    "against z": leg(
        BASE,
        ("revolute", (0, 0, 0), (0, 0, 0), (-1, 0, 0)),
        ("prismatic", (0, 0, 0.2), (0, 0, 0), (0, 0, -1)),
    ),
    "oblique": leg(
        BASE,
        ("revolute", (0, 0.1, 0), (0, 0.7, 0), (1, 0, 0)),
        ("prismatic", (0, -0.1 * math.sin(0.5), 0.1 * math.cos(0.5)), (0.5, 0, 0), (0, 0, 1)),
    ),
}
ARMS = {
    "same axes": leg(
        BASE, ("revolute", (0.3, 0, 0), (0, 0, 0), (0, 1, 0)), ("revolute", (0, 0, 0), (0, 0, 0), (1, 0, 0))
    ),
    "opposite axes": leg(
        BASE,
        ("revolute", (0.2, 0.1, 0.1), (0, 0.3, 0), (0, -1, 0)),
        ("revolute", (0, 0.05, 0), (0, 0, 0), (0, 0, 1)),
    ),
}
ENDS = {"same axes": (0.0, 0.0, -0.6), "opposite axes": (0.5, 0.2, 0.0)}


def end_in_last_body(robot: Robot, point: Sequence[float]) -> tuple[float, float, float]:
    return apply(robot.link_frames[-1].T_body_link, tuple(float(x) for x in point))


def undone(robot: Robot, point, q: Sequence[float]) -> list[float]:
    """Joint positions from where the end is at q, on the branch of q."""
    form = closed_form(robot, point, q)
    assert form is not None
    end = apply(body_placements(robot, q)[-1], point)
    found = form.positions(in_seat(robot, vec3.sub(end, first_origin(robot))))
    return [math.atan2(sin(x), cos(x)) if isinstance(x, KnownAngle) else x for x in found]


def same(found: Sequence[float], expected: Sequence[float]) -> bool:
    """Whether positions are the same, angles but for whole turns."""
    return all(abs(math.remainder(a - b, math.tau)) < 1e-9 for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("name", SLIDES)
def test_a_universal_joint_and_a_slide(name: str) -> None:
    robot = SLIDES[name]
    random = np.random.default_rng(1)
    for _ in range(40):
        q = [*random.uniform(-3.1, 3.1, 2).tolist(), float(random.uniform(0.3, 1.0) * random.choice([-1, 1]))]
        point = end_in_last_body(robot, (0, 0, 0))
        assert isinstance(closed_form(robot, point, q), UniversalPrismatic)
        assert same(undone(robot, point, q), q)


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_and_a_forearm(name: str) -> None:
    robot = ARMS[name]
    random = np.random.default_rng(2)
    point = end_in_last_body(robot, ENDS[name])
    for _ in range(40):
        q = random.uniform(-3.1, 3.1, 3).tolist()
        assert isinstance(closed_form(robot, point, q), RevoluteUniversal)
        assert same(undone(robot, point, q), q)


def test_other_legs_have_none() -> None:
    q = [0.1, 0.2, 0.5]
    for robot in SLIDES.values():
        assert closed_form(robot, end_in_last_body(robot, (0.01, 0, 0)), q) is None
    for name, robot in ARMS.items():
        beside = np.array(ENDS[name]) + 0.01 * np.array([1.0, 0.0, 1.0])
        assert closed_form(robot, end_in_last_body(robot, beside), q) is None
    skew = leg(
        BASE, ("revolute", (0, 0, 0.1), (0, 0, 0), (1, 0, 0)), ("prismatic", (0, 0, 0), (0, 0, 0), (0, 0, 1))
    )
    assert closed_form(skew, end_in_last_body(skew, (0, 0, 0)), q) is None
