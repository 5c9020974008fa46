# SPDX-License-Identifier: Apache-2.0
"""Points of a trajectory from lists by joint name."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pytest

from dyn_core import DynError
from dyn_core.control.trajectories.trajectory_planning import trajectory_points
from dyn_core.robot.joints import Limits

NAMES = ("shoulder", "elbow")
GOOD = {
    "names": NAMES,
    "times": [0.5, 1.0],
    "positions": [[1.0, 2.0], [3.0, 4.0]],
    "velocities": [[5.0, 6.0], [0.0, 0.0]],
    "accelerations": [[7.0, 8.0], [9.0, 10.0]],
}


def test_joints_are_put_in_order() -> None:
    points = trajectory_points(NAMES, **{**GOOD, "names": ("elbow", "shoulder")})
    assert points.joint_names == NAMES
    np.testing.assert_array_equal(points.times, [0.5, 1.0])
    np.testing.assert_array_equal(points.q, [[2.0, 1.0], [4.0, 3.0]])
    np.testing.assert_array_equal(points.qd, [[6.0, 5.0], [0.0, 0.0]])
    np.testing.assert_array_equal(points.qdd, [[8.0, 7.0], [10.0, 9.0]])


def test_lists_as_messages_have_them() -> None:
    none = array("d")
    points = trajectory_points(
        NAMES,
        list(NAMES),
        [0.0, 1.0],
        [array("d", [1.0, 2.0]), array("d", [3.0, 4.0])],
        [array("d", [5.0, 6.0]), none],
        [none, none],
    )
    np.testing.assert_array_equal(points.q, GOOD["positions"])
    np.testing.assert_array_equal(points.qd, [[5.0, 6.0], [math.nan, math.nan]])
    assert np.isnan(points.qdd).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"names": ("shoulder", "knee")}, "moves 'knee': the joints are 'shoulder', 'elbow'"),
        ({"names": ("elbow", "elbow")}, "the trajectory names joint 'elbow' twice"),
        ({"names": ("elbow",)}, "the trajectory lacks joint 'shoulder'"),
        ({"times": []}, "the trajectory has no points"),
        ({"times": [0.5, math.nan]}, "the time of trajectory point 1 is nan s"),
        ({"times": [-0.5, 1.0]}, "the time of trajectory point 0 is -0.5 s: it cannot be before the start"),
        ({"times": [0.5, 0.5]}, "trajectory point 1 is at 0.5 s, not after point 0 at 0.5 s"),
        ({"times": [0.5]}, "the trajectory has 1 times, but positions for 2 points"),
        ({"velocities": [[0.0, 0.0]]}, "has 2 times, but velocities for 1 points"),
        ({"positions": [[1.0, 2.0], [3.0]]}, "point 1 has 1 positions, but the trajectory has 2 joints"),
        ({"positions": [[], [3.0, 4.0]]}, "point 0 has 0 positions"),
        ({"accelerations": [[1.0, 2.0, 3.0], []]}, "point 0 has 3 accelerations"),
        (
            {"positions": [[1.0, 2.0], [math.nan, 4.0]]},
            "point 1 has the value nan in positions for joint 'shoulder'",
        ),
        ({"velocities": [[1.0, math.inf], []]}, "point 0 has the value inf in velocities for joint 'elbow'"),
        ({"velocities": [[], [0.0, 0.0]]}, "point 0 has accelerations but no velocities"),
        (
            {"velocities": [[1.0, 1.0], [0.0, -0.5]]},
            "velocity of joint 'elbow' at the last trajectory point is -0.5: a trajectory has to end at rest",
        ),
        (
            {"limits": {"elbow": Limits(lower=-1.0, upper=3.5)}},
            "point 1 takes joint 'elbow' to 4, its range is -1 to 3.5",
        ),
        (
            {"limits": {"shoulder": Limits(velocity=4.5), "elbow": Limits(velocity=6.0)}},
            "point 0 gives joint 'shoulder' the velocity 5, its limit is 4.5",
        ),
    ],
)
def test_wrong_points(changed, message: str) -> None:
    with pytest.raises(DynError, match=message):
        trajectory_points(NAMES, **{**GOOD, **changed})


def test_what_is_allowed() -> None:
    trajectory_points(NAMES, **{**GOOD, "velocities": [[1.0, 1.0], [0.0, 5e-8]]})
    trajectory_points(NAMES, **{**GOOD, "velocities": [[1.0, 1.0], [0.0, 5.0]]}, may_end_moving=True)
    limits = {"shoulder": Limits(-3.0, 3.0, 5.0), "elbow": Limits(), "wrist": Limits(0.0, 0.0)}
    trajectory_points(NAMES, **GOOD, limits=limits)
