# SPDX-License-Identifier: Apache-2.0
"""Placements as MDH parameters, the frames that are chosen, and the table."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from random_urdf import random_urdf

import dyn_core
from dyn_core.linalg.transform import compose, inverse
from dyn_core.model.mdh_parameters import MdhParameters
from dyn_core.robot.joints import Sigma
from dyn_core.robot.mdh.frames import mdh_from_transform, transform_from_mdh

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
QUARTER = math.pi / 2

RX90_TABLE = """\
j  a(j)  joint    mu  sigma  gamma  b  alpha  d     theta  r
1  0     joint_1  1   0      0      0  0      0     t1     0
2  1     joint_2  1   0      0      0  Pi/2   0     t2     0
3  2     joint_3  1   0      0      0  0      0.45  t3     0
4  3     joint_4  1   0      0      0  -Pi/2  0     t4     0.45
5  4     joint_5  1   0      0      0  Pi/2   0     t5     0
6  5     joint_6  1   0      0      0  -Pi/2  0     t6     0"""

RRP_TABLE = """\
j  a(j)  joint    mu  sigma  gamma  b  alpha  d  theta      r
1  0     turn     1   0      0      0  0      0  t1         0
2  1     lift     1   0      0      0  Pi/2   0  t2 + Pi/2  0
3  2     stretch  1   1      0      0  Pi/2   0  0          R3"""


@pytest.mark.parametrize(("name", "table"), [("rx90", RX90_TABLE), ("rrp", RRP_TABLE)])
def test_table(name: str, table: str) -> None:
    assert dyn_core.load_robot(ROBOTS / f"{name}.urdf").mdh_table() == table


@pytest.mark.parametrize(
    "mdh",
    [
        MdhParameters(0.0, 0.0, 0.0, 0.0, 0.3, 0.7),  # collinear
        MdhParameters(0.4, 0.0, 0.0, 0.5, 0.3, 0.7),  # parallel
        MdhParameters(-2.0, 0.0, math.pi, 0.5, 0.3, -0.7),  # opposite
        MdhParameters(QUARTER, 0.2, -0.6, 0.0, 0.3, 0.7),  # intersecting
        MdhParameters(3.0, 0.2, -0.6, 0.5, -2.9, 0.7),  # skew
    ],
)
def test_conventions_give_the_parameters_back(mdh: MdhParameters) -> None:
    again = mdh_from_transform(*transform_from_mdh(mdh), size=1.0)
    for name, value in vars(mdh).items():
        assert getattr(again, name) == pytest.approx(value, abs=1e-14), name


def test_chain_without_a_choice_left_keeps_r_and_theta_zero() -> None:
    """Theta and r of a leaf, and d of a prismatic joint that is free, are zero."""
    leaves = free = 0
    for seed in range(200):
        robot = dyn_core.load_robot(random_urdf(seed, 1 + seed % 8))
        carriers = {joint.antecedent for joint in robot.joints}
        for j, joint in enumerate(robot.joints, start=1):
            far = max(abs(joint.mdh.b), abs(joint.mdh.r)) > 10.0
            if j in carriers or far:
                continue
            leaves += 1
            assert joint.mdh.theta == pytest.approx(0.0, abs=1e-9)
            if joint.sigma is Sigma.PRISMATIC:
                free += 1
                assert (joint.mdh.d, joint.mdh.b) == (0.0, 0.0)
                assert joint.mdh.r == 0.0
    assert leaves > 100
    assert free > 20


def test_first_frame_is_frame_zero_at_rest() -> None:
    for seed in range(50):
        robot = dyn_core.load_robot(random_urdf(seed, 5))
        if robot.joints:
            assert robot.joints[0].mdh == MdhParameters(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def arm(roll: str) -> str:
    """Two axes 0.5 m apart, the second turned by `roll` from the first."""
    return f"""
    <robot name="arm">
      <link name="base"/><link name="one"/>
      <link name="two"><inertial><origin xyz="0.3 0 0.1"/><mass value="2"/>
        <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
      <joint name="a" type="revolute"><parent link="base"/><child link="one"/>
        <axis xyz="0 1 0"/></joint>
      <joint name="b" type="revolute"><parent link="one"/><child link="two"/>
        <origin xyz="0.5 0 0" rpy="{roll} 0 0"/><axis xyz="0 0 1"/></joint>
    </robot>"""


@pytest.mark.parametrize("roll", ["-1.5708", "-1.5707963", "-1.57", "-1.570796326"])
def test_nearly_parallel_axes_keep_their_frames_near(roll: str) -> None:
    robot = dyn_core.load_robot(arm(roll), snap=0)
    second = robot.joints[1]
    assert np.hypot.reduce(second.origin) == pytest.approx(0.5, abs=1e-9)
    assert abs(second.mdh.b + second.mdh.r) < 1e-6
    assert abs(math.sin(second.mdh.alpha)) < 1e-3
    assert max(map(abs, robot.bodies[2].values)) < 3.0


def test_exactly_parallel_axes_are_seen_as_such() -> None:
    robot = dyn_core.load_robot(arm(repr(-QUARTER)))
    assert robot.joints[1].mdh == MdhParameters(0.0, 0.0, 0.0, 0.5, 0.0, 0.0)


def test_small_angles_multiply_rounding_which_is_no_length() -> None:
    for seed in range(100):
        random = np.random.default_rng(seed)
        tilt = 10.0 ** random.uniform(-6.0, -1.0)
        first = transform_from_mdh(MdhParameters(*random.uniform(-1.0, 1.0, 6)))
        for d in (0.0, 0.5):
            second = transform_from_mdh(MdhParameters(0.3, 0.0, tilt, d, 0.5, 0.0))
            there = compose(first, second)
            mdh = mdh_from_transform(*compose(inverse(first), there), size=3.0)
            assert (mdh.b, mdh.d == 0.0, mdh.r) == (0.0, d == 0.0, 0.0)
            assert mdh.gamma == pytest.approx(0.3, abs=1e-14 / tilt)
