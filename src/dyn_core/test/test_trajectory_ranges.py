# SPDX-License-Identifier: Apache-2.0
"""Ranges and speeds between the points of trajectories, against dense samples and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from trajectory_case import NAMES, ORDERS, random_points

from dyn_core import DynError
from dyn_core.control.motion import Motion
from dyn_core.control.plan import planned, replaced
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import trajectory_points
from dyn_core.control.trajectory_ranges import MARGIN, OVERSHOOT, PEAK, check_ranges
from dyn_core.robot.joints import Limits

NO_LIMIT = np.full(1, np.inf)


def of_one(times, q, qd=None, qdd=None, start: Motion | None = None) -> Trajectory:
    """A trajectory of joint a."""
    columns = [None if rows is None else [[value] for value in rows] for rows in (q, qd, qdd)]
    return planned(trajectory_points(NAMES[:1], NAMES[:1], times, *columns), 0.0, 0.0, start)


def check(trajectory: Trajectory, speed: float = np.inf, slack: float = 0.0, **limits: float) -> None:
    check_ranges(trajectory, NAMES[:1], {"a": Limits(**limits)}, np.array([speed]), slack)


def test_an_acceleration_that_no_joint_has_is_refused() -> None:
    """At rest at 0 at both points, with 1e8 rad/s^2 at the first: 0.01728 a T^2 at u = 0.4."""
    trajectory = of_one([0.0, 1.0], [0.0, 0.0], [0.0, 0.0], [1e8, 0.0])
    with pytest.raises(
        DynError, match=r"joint 'a' to 1\.728e\+06 between its points, 0\.4 s after it begins"
    ):
        check(trajectory, lower=-3.0, upper=3.0)
    with pytest.raises(DynError, match=r"gives joint 'a' the velocity .*, at most 2\.2 is allowed"):
        check(trajectory, speed=2.0)


def test_a_cubic_that_leaves_the_range_between_its_points_is_refused() -> None:
    """2 + 4 t (1 - t / 5)^2 is greatest after a third of the time: 2 + 80 / 27."""
    trajectory = of_one([1.0, 6.0], [2.0, 2.0], [4.0, 0.0])
    sentence = (
        r"to 4\.963 between its points, 1\.667 s after it begins, its range is -2\.79 to 2\.79: give lower"
    )
    with pytest.raises(DynError, match=sentence) as error:
        check(trajectory, lower=-2.79, upper=2.79)
    assert error.value.element == "joint 'a'"
    check(trajectory, lower=-2.79, upper=4.97, speed=4.0)
    with pytest.raises(DynError, match=r"range is -inf to 4\.9"):
        check(trajectory, upper=4.9)
    mirrored = of_one([1.0, 6.0], [-2.0, -2.0], [-4.0, 0.0])
    with pytest.raises(DynError, match=r"to -4\.963"):
        check(mirrored, lower=-2.79, upper=2.79)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(8))
def test_extrema_are_those_of_dense_samples(order: str, seed: int) -> None:
    """Limits just above the greatest sample are kept, limits just below are not."""
    trajectory = planned(random_points(seed, order), 3.0)
    times = np.concatenate((np.linspace(trajectory.start, trajectory.end, 40001), trajectory.knots))
    samples = trajectory.sample_many(times)
    free = np.full(3, np.inf)
    for j, name in enumerate(NAMES):
        for bound, sign in (("upper", 1.0), ("lower", -1.0)):
            top = sign * float((sign * samples.q[:, j]).max())
            kept = {name: Limits(**{bound: top - sign * (OVERSHOOT - 1e-6)})}
            check_ranges(trajectory, NAMES, kept, free)
            inside = float((sign * trajectory.sample_many(trajectory.knots).q[:, j]).max())
            if sign * top - inside > 0.01:  # at the points themselves the points are checked
                left = {name: Limits(**{bound: top - sign * (OVERSHOOT + 1e-6)})}
                with pytest.raises(DynError, match=f"takes joint '{name}' to"):
                    check_ranges(trajectory, NAMES, left, free)
        speed = free.copy()
        fastest = float(np.abs(samples.qd[:, j]).max())
        speed[j] = fastest / MARGIN * (1.0 + 1e-5)
        check_ranges(trajectory, NAMES, {}, speed)
        speed[j] = fastest / MARGIN * (1.0 - 1e-5)
        with pytest.raises(DynError, match=f"gives joint '{name}' the velocity"):
            check_ranges(trajectory, NAMES, {}, speed)


def test_from_outside_of_the_range_the_way_back_is_kept_and_the_way_out_is_not() -> None:
    back = of_one([2.0], [0.5], [0.0], start=Motion.at_rest(np.array([1.5])))
    check(back, lower=-1.0, upper=1.0)
    further = of_one([2.0], [0.5], [0.0], start=Motion(np.array([1.5]), np.array([1.0]), np.zeros(1)))
    with pytest.raises(DynError, match="takes joint 'a' to"):
        check(further, lower=-1.0, upper=1.0)


def test_the_slack_of_a_piece_may_be_made_in_its_time() -> None:
    """A quintic from rest to rest over 0.05 in 0.02 s is as fast as PEAK times the mean."""
    near = of_one([0.02], [0.05], [0.0], [0.0], start=Motion.at_rest(np.zeros(1)))
    check(near, speed=1.0, slack=0.05)
    with pytest.raises(DynError, match=f"the velocity {PEAK * 0.05 / 0.02:.4g} 0.01 s after"):
        check(near, speed=1.0)


def test_a_piece_that_is_replaced_counts_up_to_there() -> None:
    """The running one would leave the range later."""
    running = of_one([0.0, 4.0], [0.0, 0.0], [2.0, 0.0])
    points = trajectory_points(NAMES[:1], NAMES[:1], [2.0], [[0.0]], [[0.0]])
    new = replaced(running, points, 0.0, 0.25)
    with pytest.raises(DynError):
        check(running, upper=0.8)
    check(new, upper=0.8)


def test_what_stands_and_what_has_no_limits_is_kept() -> None:
    check(Trajectory.standing(np.zeros(1), 0.0), speed=0.0, lower=0.0, upper=0.0)
    check(of_one([1.0, 6.0], [2.0, 2.0], [4.0, 0.0]))
    check_ranges(of_one([0.0, 1.0], [5.0, 5.0]), NAMES[:1], {}, NO_LIMIT)
