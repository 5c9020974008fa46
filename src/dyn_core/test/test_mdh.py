# SPDX-License-Identifier: Apache-2.0
"""MDH parameters of placements, the choice of frames, and the printed table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from properties import examples, given, hypothesis, st
from random_urdf import random_urdf
from robots import example

import dyn_core
from dyn_core.robot.joints import MdhParameters, Sigma
from dyn_core.robot.mdh.frames import ROUNDING, clean_angle, mdh_from_transform, transform_from_mdh
from dyn_core.symbolic.transform import compose, inverse, rotation_from_rpy

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
    assert example(name).mdh_table() == table


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


def test_free_frames_are_chosen_with_zero_parameters() -> None:
    """All parameters of the first frame.

    Theta and r of a leaf, and d of a prismatic joint whose axis is free.
    """
    leaves = free = 0
    for seed in range(200):
        robot = dyn_core.load_robot(random_urdf(seed, 1 + seed % 8))
        assert {joint.mdh for joint in robot.joints[:1]} <= {MdhParameters(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)}
        carriers = {joint.antecedent for joint in robot.joints}
        for j, joint in enumerate(robot.joints, start=1):
            mdh, far = joint.mdh, max(abs(joint.mdh.b), abs(joint.mdh.r)) > 10.0
            if j in carriers or far:
                continue
            leaves += 1
            assert mdh.theta == pytest.approx(0.0, abs=1e-9)
            if joint.sigma is Sigma.PRISMATIC:
                free += 1
                assert (mdh.d, mdh.b, mdh.r) == (0.0, 0.0, 0.0)
    assert leaves > 100
    assert free > 20


def arm(roll: str) -> str:
    """Two axes 0.5 m apart; the second is turned by `roll` from the first."""
    return f"""<robot name="arm"><link name="base"/><link name="one"/>
<link name="two"><inertial><origin xyz="0.3 0 0.1"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<joint name="a" type="revolute"><parent link="base"/><child link="one"/><axis xyz="0 1 0"/></joint>
<joint name="b" type="revolute"><parent link="one"/><child link="two"/>
<origin xyz="0.5 0 0" rpy="{roll} 0 0"/><axis xyz="0 0 1"/></joint></robot>"""


@pytest.mark.parametrize("roll", ["-1.5708", "-1.5707963", "-1.57", "-1.570796326"])
def test_frames_of_almost_parallel_axes_stay_near_the_joints(roll: str) -> None:
    robot = dyn_core.load_robot(arm(roll), snap=0)
    second = robot.joints[1]
    assert np.hypot.reduce(second.origin) == pytest.approx(0.5, abs=1e-9)
    assert abs(second.mdh.b + second.mdh.r) < 1e-6
    assert abs(math.sin(second.mdh.alpha)) < 1e-3
    assert max(map(abs, robot.bodies[2].values)) < 3.0
    exact = dyn_core.load_robot(arm(repr(-QUARTER)))
    assert exact.joints[1].mdh == MdhParameters(0.0, 0.0, 0.0, 0.5, 0.0, 0.0)


def test_rounding_multiplied_by_small_angles_is_not_taken_for_a_length() -> None:
    for seed in range(100):
        random = np.random.default_rng(seed)
        tilt = 10.0 ** random.uniform(-6.0, -1.0)
        first = transform_from_mdh(MdhParameters(*random.uniform(-1.0, 1.0, 6)))
        for d in (0.0, 0.5):
            there = compose(first, transform_from_mdh(MdhParameters(0.3, 0.0, tilt, d, 0.5, 0.0)))
            mdh = mdh_from_transform(*compose(inverse(first), there), size=3.0)
            assert (mdh.b, mdh.d == 0.0, mdh.r) == (0.0, d == 0.0, 0.0)
            assert mdh.gamma == pytest.approx(0.3, abs=1e-14 / tilt)


# Any placement has six parameters, and these reproduce it.


angles = st.sampled_from([0.0, QUARTER, -QUARTER, math.pi, 1.5708]) | st.floats(-3.1, 3.1)
lengths = st.sampled_from([0.0, 0.5, -0.25]) | st.floats(-2.0, 2.0)
TILT = 9.519817893059877e-08


@examples(300)
@hypothesis.example(rpy=(TILT, TILT, TILT), p=(0.5, 0.5, 0.0))
@hypothesis.example(rpy=(-TILT, 0.0, -TILT), p=(1.0, 0.0, 1.0))
@hypothesis.example(rpy=(0.0, 1e-11, 0.0), p=(6e-24, 0.5, 0.5))
@given(rpy=st.tuples(angles, angles, angles), p=st.tuples(lengths, lengths, lengths))
def test_every_placement_has_six_parameters(rpy, p) -> None:
    R = rotation_from_rpy(*rpy)
    mdh = mdh_from_transform(R, p)
    T = transform_from_mdh(mdh)
    # Angles close enough to k pi/2 are snapped to it.
    np.testing.assert_allclose(T.R, R, rtol=0.0, atol=1.1 * ROUNDING)
    # Rounding of b and r where they cancel, and rounding of p that is snapped to 0.
    size = max(1.0, abs(mdh.b), abs(mdh.r), 1.5 * max(map(abs, p)))
    np.testing.assert_allclose(T.p, p, rtol=0.0, atol=ROUNDING * size)
    assert mdh.d >= 0.0


@pytest.mark.parametrize("quarters", [-1, 0, 1, 2])
def test_angles_are_exact_up_to_rounding(quarters: int) -> None:
    exact = quarters * math.pi / 2.0
    for error in (-0.9 * ROUNDING, 0.0, 0.9 * ROUNDING):
        assert clean_angle(exact + error) == exact
    assert clean_angle(exact - 2.0 * ROUNDING) == exact - 2.0 * ROUNDING


def test_offsets_that_are_zero_are_found_zero() -> None:
    """Also where the distance of the axes is the only length that is known."""
    random = np.random.default_rng(0)
    for gamma, alpha, theta, d in random.uniform(0.1, 1.5, (100, 4)).tolist():
        placed = transform_from_mdh(MdhParameters(gamma, 0.0, alpha, d, theta, 0.0))
        found = mdh_from_transform(placed.R, placed.p)
        assert (found.b, found.r) == (0.0, 0.0)
        np.testing.assert_allclose((found.gamma, found.alpha, found.theta, found.d), (gamma, alpha, theta, d))
