# SPDX-License-Identifier: Apache-2.0
"""Trajectories: between points, at points, in the place of others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from trajectory_case import NAMES, ORDERS, polynomial, random_points

from dyn_core import DynError
from dyn_core.control.motion import Motion
from dyn_core.control.plan import planned, replaced
from dyn_core.control.spline_velocities import spline_velocities
from dyn_core.control.trajectories.trajectory import Phase, Trajectory
from dyn_core.control.trajectories.trajectory_planning import trajectory_points

START = Motion(np.array([0.3, -0.2, 0.1]), np.array([0.5, -1.0, 0.2]), np.array([1.0, 2.0, -3.0]))
EPS = 1e-9


def close(actual, expected, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(5))
def test_between_points_as_by_solving_for_the_coefficients(order: str, seed: int) -> None:
    points = random_points(seed, order)
    trajectory = planned(points, 10.0)
    known = ORDERS.index(order) + 1
    for k in range(len(points.times) - 1):
        T = points.times[k + 1] - points.times[k]
        ends = np.stack((points.q, points.qd, points.qdd))[:known]
        for j in range(len(NAMES)):
            expected = polynomial(T, ends[:, k, j], ends[:, k + 1, j])
            for u in (0.0, 0.1, 0.5, 0.93):
                sample = trajectory.sample(10.0 + points.times[k] + u * T)
                # The conditions in monomials lose digits where T is short.
                close(sample.q[j], expected(u * T), 1e-9)
                close(sample.qd[j], expected.deriv()(u * T), 1e-8)
                close(sample.qdd[j], expected.deriv(2)(u * T), 1e-7)
                assert sample.phase is Phase.MOVING


@pytest.mark.parametrize("order", ORDERS)
def test_takes_what_is_given_at_the_points(order: str) -> None:
    points = random_points(1, order)
    trajectory = planned(points, 0.0)
    for k, t in enumerate(points.times):
        for beside in (t - EPS, t, t + EPS) if 0 < k < len(points.times) - 1 else (t,):
            sample = trajectory.sample(beside)
            close(sample.q, points.q[k], 1e-7)
            if order != "linear":
                close(sample.qd, points.qd[k], 1e-6)
            if order == "quintic":
                close(sample.qdd, points.qdd[k], 1e-5)
        exact = trajectory.sample(t)
        close(exact.q, points.q[k], 1e-14)
        if order == "quintic":
            close(exact.qd, points.qd[k], 1e-12)
            close(exact.qdd, points.qdd[k], 1e-10)


def test_the_degree_is_that_of_what_both_ends_have() -> None:
    points = trajectory_points(
        NAMES[:1],
        NAMES[:1],
        [0.0, 1.0, 2.0, 3.0],
        [[0.0], [1.0], [3.0], [3.5]],
        [[], [2.0], [1.0], [0.0]],
        [[], [], [4.0], [5.0]],
    )
    trajectory = planned(points, 0.0)
    assert trajectory.sample(0.5)[:3] == (0.5, 1.0, 0.0)
    assert trajectory.sample(1.0).qd == 2.0
    close(trajectory.sample(1.25).qdd, [polynomial(1.0, [1.0, 2.0], [3.0, 1.0]).deriv(2)(0.25)])
    close(trajectory.sample(2.0).qdd, [4.0], 1e-12)


def test_outside_the_joints_stand_still() -> None:
    points = random_points(2, "quintic")
    trajectory = planned(points, 5.0)
    for t, position, phase in (
        (5.0 + points.times[0] - EPS, points.q[0], Phase.BEFORE),
        (-1e9, points.q[0], Phase.BEFORE),
        (5.0 + points.times[-1] + EPS, points.q[-1], Phase.DONE),
        (1e9, points.q[-1], Phase.DONE),
    ):
        sample = trajectory.sample(t)
        np.testing.assert_array_equal(sample.q, position)
        np.testing.assert_array_equal(sample.qd, 0.0)
        np.testing.assert_array_equal(sample.qdd, 0.0)
        assert sample.phase is phase


@pytest.mark.parametrize("order", ORDERS)
def test_many_times_at_once(order: str) -> None:
    trajectory = planned(random_points(3, order), 1.0, start=START)
    times = np.concatenate((np.linspace(-1.0, trajectory.end + 1.0, 101), trajectory.knots))
    samples = trajectory.sample_many(times[::-1])
    for k, t in enumerate(times[::-1]):
        sample = trajectory.sample(t)
        for many, one in zip(samples, sample, strict=True):
            np.testing.assert_allclose(many[k], one, rtol=1e-12, atol=1e-12)
    assert trajectory.sample_many([]).q.shape == (0, 3)


@pytest.mark.parametrize("t", [math.nan, math.inf])
def test_times_that_are_none(t: float) -> None:
    trajectory = planned(random_points(3, "cubic"), 1.0)
    with pytest.raises(ValueError, match="t: expected a finite time, but it is"):
        trajectory.sample(t)
    with pytest.raises(ValueError, match="times: expected finite times"):
        trajectory.sample_many([0.0, t])


def test_samples_can_be_written_to_without_harm() -> None:
    trajectory = planned(random_points(3, "cubic"), 1.0)
    for t in (0.0, 2.0, 99.0):
        expected = [value.copy() for value in trajectory.sample(t)[:3]]
        for value in trajectory.sample(t)[1:3]:
            value += 1.0
        for value, same in zip(trajectory.sample(t), expected, strict=False):
            np.testing.assert_array_equal(value, same)


@pytest.mark.parametrize("order", ORDERS)
def test_begins_with_the_present_motion(order: str) -> None:
    points = random_points(4, order)
    trajectory = planned(points, 7.0, start=START)
    assert trajectory.start == 7.0
    sample = trajectory.sample(7.0)
    close(sample.q, START.q, 1e-14)
    if order != "linear":
        close(sample.qd, START.qd, 1e-12)
    if order == "quintic":
        close(sample.qdd, START.qdd, 1e-12)
    for k, t in enumerate(points.times):
        close(trajectory.sample(7.0 + t).q, points.q[k], 1e-12)


def test_a_first_point_at_the_start_is_not_jumped_to() -> None:
    """As planners send them: the first point is where they think that the robot is."""
    points = random_points(4, "quintic", first=0.0)
    trajectory = planned(points, 7.0, start=START)
    close(trajectory.sample(7.0).q, START.q, 1e-14)
    close(trajectory.sample(7.0).qd, START.qd, 1e-12)
    close(trajectory.sample(7.0 + points.times[1]).q, points.q[1], 1e-12)


def test_the_start_is_a_time_to_come() -> None:
    points = random_points(5, "quintic")
    trajectory = planned(points, 7.0, stamp=9.0, start=START)
    np.testing.assert_array_equal(trajectory.sample(8.0).q, START.q)
    assert trajectory.sample(8.0).phase is Phase.BEFORE
    close(trajectory.sample(9.0).qd, START.qd)
    close(trajectory.sample(9.0 + points.times[0]).q, points.q[0])


def test_a_start_in_the_past_drops_the_points_that_are_past() -> None:
    points = random_points(6, "cubic")
    now = 20.0
    stamp = now - 0.5 * (points.times[1] + points.times[2])
    trajectory = planned(points, now, stamp, START)
    assert len(trajectory.durations) == len(points.times) - 2
    close(trajectory.sample(now).q, START.q)
    close(trajectory.sample(now).qd, START.qd)
    for k in range(2, len(points.times)):
        close(trajectory.sample(stamp + points.times[k]).q, points.q[k])


def test_a_start_in_the_past_without_a_present_motion_begins_in_the_middle() -> None:
    points = random_points(6, "cubic")
    trajectory = planned(points, 20.0, stamp=18.0)
    whole = planned(points, 0.0)
    for t in np.linspace(20.0, 18.0 + points.times[-1], 7):
        close(trajectory.sample(t).q, whole.sample(t - 18.0).q)


@pytest.mark.parametrize("start", [None, START])
def test_all_points_past(start: Motion | None) -> None:
    points = random_points(7, "cubic")
    stamp = 20.0 - points.times[-1] - 0.25
    with pytest.raises(DynError, match=r"no point .* is still to come: the last was due 0.25 s before"):
        planned(points, 20.0, stamp, start)


def test_one_point() -> None:
    points = trajectory_points(NAMES, NAMES, [0.0], [[1.0, 2.0, 3.0]])
    trajectory = planned(points, 4.0)
    assert [trajectory.sample(t).phase for t in (3.9, 4.0, 4.1)] == [Phase.BEFORE, Phase.DONE, Phase.DONE]
    np.testing.assert_array_equal(trajectory.sample_many([3.9, 4.0, 4.1]).q, [[1.0, 2.0, 3.0]] * 3)
    np.testing.assert_array_equal(trajectory.sample_many([3.9, 4.0, 4.1]).phase, [0, 2, 2])
    for stamp in (None, 4.0, 5.0):
        with pytest.raises(DynError, match=r"still to come when it begins: the last is due at its start"):
            planned(points, 4.0, stamp, start=START)
    with pytest.raises(DynError, match=r"the last was due 0.25 s before"):
        planned(points, 4.0, 3.75, start=START)


def test_points_that_the_clock_cannot_tell_apart() -> None:
    points = trajectory_points(NAMES[:1], NAMES[:1], [0.1, 0.1 + 1e-9], [[0.0], [1.0]])
    with pytest.raises(DynError, match=r"nearer to each other than the clock resolves at 1.7e\+09 s"):
        planned(points, 1.7e9)


def test_points_that_no_acceleration_connects() -> None:
    points = trajectory_points(
        NAMES[:1], NAMES[:1], [0.0, 1e-200], [[0.0], [1.0]], [[0.0], [0.0]], [[0.0], [0.0]]
    )
    with pytest.raises(
        DynError, match="piece 0 of the trajectory lasts 1e-200 s, for which no acceleration is great enough"
    ):
        planned(points, 0.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_motion_that_is_none(bad: float) -> None:
    points = random_points(4, "cubic")
    for k in range(3):
        motion = [vector.copy() for vector in START]
        motion[k][1] = bad
        with pytest.raises(ValueError, match="start: expected 3 finite numbers"):
            planned(points, 0.0, start=Motion(*motion))
    with pytest.raises(ValueError, match="now: expected a finite time"):
        planned(points, bad)
    with pytest.raises(ValueError, match="stamp: expected a finite time"):
        planned(points, 0.0, bad)


def same(a: Trajectory, b: Trajectory, times) -> None:
    for t in times:
        close(a.sample(t).q, b.sample(t).q, 1e-12)
        close(a.sample(t).qd, b.sample(t).qd, 1e-11)
        close(a.sample(t).qdd, b.sample(t).qdd, 1e-10)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("part", [0.15, 0.5, 0.95])
def test_replacement_at_once(order: str, part: float) -> None:
    running = planned(random_points(8, "quintic"), 0.0, start=START)
    now = part * running.end
    points = random_points(9, order)
    new = replaced(running, points, now)
    before, after = running.sample(now), new.sample(now)
    close(after.q, before.q, 1e-12)
    if order != "linear":
        close(after.qd, before.qd, 1e-11)
    if order == "quintic":
        close(after.qdd, before.qdd, 1e-10)
    for k, t in enumerate(points.times):
        close(new.sample(now + t).q, points.q[k])


@pytest.mark.parametrize("wait", [0.2, 1.0, 30.0])
def test_replacement_later_follows_the_old_one_until_then(wait: float) -> None:
    running = planned(random_points(8, "quintic"), 0.0, start=START)
    now = 0.3 * running.end
    stamp = now + wait
    points = random_points(9, "quintic")
    new = replaced(running, points, now, stamp)
    same(new, running, np.linspace(now, stamp - 1e-9, 50))
    same(new, planned(points, stamp, start=running.motion(stamp)), np.linspace(stamp, new.end, 50))
    assert new.end == stamp + points.times[-1]
    assert new.knots == tuple(sorted(new.knots))


def test_replacement_of_one_that_has_not_begun_or_has_ended() -> None:
    running = planned(random_points(8, "quintic"), 0.0, stamp=5.0, start=START)
    points = random_points(9, "quintic")
    before = replaced(running, points, 1.0, stamp=3.0)
    same(before, planned(points, 3.0, start=Motion.at_rest(START.q)), np.linspace(1.0, before.end, 50))
    after = replaced(running, points, running.end + 1.0, stamp=running.end + 2.0)
    rest = Motion.at_rest(running.last)
    same(after, planned(points, running.end + 2.0, start=rest), np.linspace(running.end + 1.0, after.end, 50))


def test_replacement_of_a_replacement() -> None:
    first = planned(random_points(8, "quintic"), 0.0, start=START)
    second = replaced(first, random_points(9, "quintic"), 0.5, stamp=1.0)
    third = replaced(second, random_points(10, "quintic"), 0.7, stamp=second.end - 0.4)
    same(third, first, np.linspace(0.7, 0.999, 20))
    same(third, second, np.linspace(1.0, second.end - 0.401, 20))


def test_a_replacement_that_cannot_be_leaves_the_old_one() -> None:
    running = planned(random_points(8, "quintic"), 0.0, start=START)
    with pytest.raises(DynError, match="no point of the trajectory is still to come"):
        replaced(running, random_points(9, "quintic"), 50.0, stamp=10.0)


@pytest.mark.parametrize("count", [2, 3, 4, 9])
def test_spline_velocities_make_accelerations_continuous(count: int) -> None:
    points = random_points(11, "linear", count)
    first, last = np.array([1.0, -2.0, 0.0]), np.array([0.5, 0.0, -1.0])
    qd = spline_velocities(points.times, points.q, first, last)
    np.testing.assert_array_equal(qd[0], first)
    np.testing.assert_array_equal(qd[-1], last)
    for k in range(1, count - 1):
        for j in range(3):
            before, after = (
                polynomial(
                    points.times[i + 1] - points.times[i],
                    *zip(points.q[i : i + 2, j], qd[i : i + 2, j], strict=True),
                )
                for i in (k - 1, k)
            )
            close(before.deriv(2)(points.times[k] - points.times[k - 1]), after.deriv(2)(0.0), 1e-8)


def test_smooth_motion_through_positions_alone() -> None:
    points = random_points(12, "linear")
    trajectory = planned(points, 3.0, start=START, smooth=True)
    close(trajectory.sample(3.0).qd, START.qd)
    for k, t in enumerate(points.times):
        before, after = trajectory.sample(3.0 + t - EPS), trajectory.sample(3.0 + t)
        close(after.q, points.q[k])
        close(before.qd, after.qd, 1e-6)
        if k < len(points.times) - 1:
            close(before.qdd, after.qdd, 1e-5)
    close(trajectory.sample(trajectory.end).qd, 0.0)
    alone = planned(points, 3.0, smooth=True)
    close(alone.sample(alone.start).qd, 0.0)
    given = random_points(12, "cubic")
    same(planned(given, 3.0, smooth=True), planned(given, 3.0), np.linspace(3.0, 9.0, 30))
