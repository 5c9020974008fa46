# SPDX-License-Identifier: Apache-2.0
"""Which values are snapped, and the effect of snapping on results."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refused

import dyn_core
from dyn_core.robot.robot import Snapped
from dyn_core.robot.urdf.conversion import EIGHTH, snapped_angles, snapped_axis

QUARTER = math.pi / 2


def arm(rpy: str, axis: str = "0 0 1") -> str:
    return (
        '<robot name="arm"><link name="base"/><link name="one"/><link name="two"><inertial><origin '
        'xyz="0.3 0.1 0" rpy="0 0 3.14159"/><mass value="2"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" '
        'iyz="0" izz="0.02"/></inertial></link><joint name="a" type="revolute"><parent link="base"/>'
        '<child link="one"/><axis xyz="0 0 1"/></joint>\n<joint name="b" type="revolute"><parent link="one"/>'
        f'<child link="two"/><origin xyz="0.5 0 0" rpy="{rpy}"/><axis xyz="{axis}"/></joint></robot>'
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("1.5708 0 0", (QUARTER, 0.0, 0.0)),
        ("-1.570796 3.14159 -3.142", (-QUARTER, math.pi, -math.pi)),
        ("0.7854 2.3562 4.712389", (EIGHTH, 3 * EIGHTH, 3 * QUARTER)),
        ("1.57079632679 3.1415926535897 1.5707963267948966", (QUARTER, math.pi, QUARTER)),
        ("1.57080 15.708e-1 0.15708E1", (QUARTER, QUARTER, QUARTER)),
        ("1.5707 3.1415 1.57079", (QUARTER, math.pi, QUARTER)),  # truncated
        ("1.57 3.14 0.785", (1.57, 3.14, 0.785)),  # too few digits to decide
        ("1.570 1.5700 1.5709", (1.57, 1.57, 1.5709)),
        ("1.5718 1.56 3.1426", (1.5718, 1.56, 3.1426)),  # calibrated
        ("1.5708 -3.6732E-06 1e-3", (QUARTER, 0.0, 1e-3)),
        ("1.5707963 -3.6732E-06 6.1e-17", (QUARTER, -3.6732e-06, 0.0)),
        ("6.1e-17 -1e-9 0.0001", (0.0, -1e-9, 0.0001)),
        ("1570.8 785.398 1e300", (1570.8, 785.398, 1e300)),
        ("0e99999999999999999999 0.0e-99999999999999999999 -0", (0.0, 0.0, 0.0)),
    ],
)
def test_which_angles_are_snapped(words: str, expected: tuple[float, ...]) -> None:
    assert snapped_angles(tuple(map(float, words.split())), words.split(), "digits") == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        *(("0 0 1", (0.0, 0.0, 1.0)), ("0.7071 0.7071 3e-05", (0.7071, 0.7071, 0.0))),
        ("0.70710678 0.70710678 3e-05", (0.70710678, 0.70710678, 3e-05)),
        *(("4.89663865010925E-17 0 -2", (0.0, 0.0, -2.0)), ("1 3e-05 0", (1.0, 3e-05, 0.0))),
        *(("1234 0.1 0", (1234.0, 0.1, 0.0)), ("1e-20 2e-20 0", (1e-20, 2e-20, 0.0))),
    ],
)
def test_which_axes_are_snapped(words: str, expected: tuple[float, ...]) -> None:
    assert snapped_axis(tuple(map(float, words.split())), words.split(), "digits") == expected


def test_the_tolerance_can_be_set() -> None:
    words, angles = ["1.57", "0.002", "3.13"], (1.57, 0.002, 3.13)
    assert snapped_angles(angles, words, 1e-3) == (QUARTER, 0.002, 3.13)
    assert snapped_angles(angles, words, 0.02) == (QUARTER, 0.0, math.pi)
    assert snapped_axis((0.002, 0.0, -10.0), words, 1e-3) == (0.0, 0.0, -10.0)
    for snap in (-1, math.nan, 0.5, "all", None, math.inf):
        with refused("setting-range", setting="snap"):
            dyn_core.load_robot(arm("0 0 0"), snap=snap)


def test_snapped_values_are_reported() -> None:
    robot = dyn_core.load_robot(arm("-1.5708 0 0.3", axis="1e-17 0 1"))
    assert robot.snapped == (
        Snapped("joint 'b'", "origin rpy[0]", 2, -1.5708, -QUARTER),
        Snapped("joint 'b'", "axis xyz[0]", 2, 1e-17, 0.0),
        Snapped("link 'two'", "inertial rpy[2]", 1, 3.14159, math.pi),
    )
    assert str(robot.snapped[0]) == "joint 'b' (line 2): origin rpy[0] -1.5708 -> -1.5707963267948966"
    assert robot.joints[1].mdh.alpha == -QUARTER
    exact = dyn_core.load_robot(arm("-1.5708 0 0.3"), snap=0)
    assert exact.snapped == ()
    assert exact.joints[1].mdh.alpha != -QUARTER


def test_the_default_changes_results_only_by_the_rounding_of_the_text() -> None:
    """Changing the last digit, 1e-4 rad, changes torques of some N m by some 1e-4 N m, not more."""
    random = np.random.default_rng(0)
    for rpy, unit in (("1.5708 0 0", 1e-4), ("-1.570796 3.14159 0.2", 1e-5), ("1.5707 0 3.1415", 1e-4)):
        motion = random.uniform(-2.0, 2.0, (3, 20, 2))
        robots = (dyn_core.load_robot(arm(rpy), snap=snap) for snap in (0.0, "digits"))
        models = (dyn_core.compile_model(robot, backend="python") for robot in robots)
        exact, snapped = (model.inverse_dynamics(*motion) for model in models)
        moved = np.abs(snapped - exact).max()
        assert 0.0 < moved < 2.0 * unit * np.abs(exact).max()
