# SPDX-License-Identifier: Apache-2.0
"""Trajectories: between points, at points, and as replacements of others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from refusals import refusal, refused
from trajectory_case import NAMES, ORDERS, polynomial, random_points

from dyn_core.control.trajectories.piecewise_polynomials import (
    Motion,
    completed,
    hull,
    spline_velocities,
    turning_points,
)
from dyn_core.control.trajectories.trajectory import Phase, Trajectory
from dyn_core.control.trajectories.trajectory_planning import planned, replaced, trajectory_points

START = Motion(np.array([0.3, -0.2, 0.1]), np.array([0.5, -1.0, 0.2]), np.array([1.0, 2.0, -3.0]))
EPS = 1e-9


def close(actual, expected, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(5))
def test_between_points_it_agrees_with_solved_coefficients(order: str, seed: int) -> None:
    points = random_points(seed, order)
    trajectory = planned(points, 10.0)
    ends = np.stack((points.q, points.qd, points.qdd))[: ORDERS.index(order) + 1]
    for k, T in enumerate(np.diff(points.times)):
        for j in range(len(NAMES)):
            expected = polynomial(T, ends[:, k, j], ends[:, k + 1, j])
            for u in (0.0, 0.1, 0.5, 0.93):
                sample = trajectory.sample(10.0 + points.times[k] + u * T)
                # The conditions in monomials lose digits for short T.
                close(sample.q[j], expected(u * T), 1e-9)
                close(sample.qd[j], expected.deriv()(u * T), 1e-8)
                close(sample.qdd[j], expected.deriv(2)(u * T), 1e-7)
                assert sample.phase is Phase.MOVING


@pytest.mark.parametrize("order", ORDERS)
def test_points_are_reached_with_their_derivatives(order: str) -> None:
    points, known = random_points(1, order), ORDERS.index(order) + 1
    trajectory = planned(points, 0.0)
    for k, t in enumerate(points.times):
        expected = (points.q[k], points.qd[k], points.qdd[k])[:known]
        for beside in (t - EPS, t, t + EPS) if 0 < k < len(points.times) - 1 else (t,):
            for value, given, tolerance in zip(
                trajectory.sample(beside), expected, (1e-7, 1e-6, 1e-5), strict=False
            ):
                close(value, given, tolerance)
        exact = trajectory.sample(t)
        close(exact.q, points.q[k], 1e-14)
        if order == "quintic":
            close(exact.qd, points.qd[k], 1e-12)
            close(exact.qdd, points.qdd[k], 1e-10)


def test_the_degree_depends_on_the_derivatives_at_both_ends() -> None:
    q, qd = [[0.0], [1.0], [3.0], [3.5]], [[], [2.0], [1.0], [0.0]]
    qdd = [[], [], [4.0], [5.0]]
    points = trajectory_points(NAMES[:1], NAMES[:1], [0.0, 1.0, 2.0, 3.0], q, qd, qdd)
    trajectory = planned(points, 0.0)
    assert trajectory.sample(0.5)[:3] == (0.5, 1.0, 0.0)
    assert trajectory.sample(1.0).qd == 2.0
    close(trajectory.sample(1.25).qdd, [polynomial(1.0, [1.0, 2.0], [3.0, 1.0]).deriv(2)(0.25)])
    close(trajectory.sample(2.0).qdd, [4.0], 1e-12)


def test_before_and_after_the_points_joints_rest() -> None:
    points = random_points(2, "quintic")
    trajectory = planned(points, 5.0)
    for t, position, phase in (
        (5.0 + points.times[0] - EPS, points.q[0], Phase.BEFORE),
        (-1e9, points.q[0], Phase.BEFORE),
        (5.0 + points.times[-1] + EPS, points.q[-1], Phase.DONE),
        (1e9, points.q[-1], Phase.DONE),
    ):
        sample = trajectory.sample(t)
        np.testing.assert_array_equal(sample[:3], [position, [0.0] * 3, [0.0] * 3])
        assert sample.phase is phase
    for t in (0.0, 6.0, 99.0):  # samples can be changed without effect on the trajectory
        expected = [value.copy() for value in trajectory.sample(t)[:3]]
        for value in trajectory.sample(t)[1:3]:
            value += 1.0
        np.testing.assert_array_equal(trajectory.sample(t)[:3], expected)


@pytest.mark.parametrize("order", ORDERS)
def test_many_times_at_once(order: str) -> None:
    trajectory = planned(random_points(3, order), 1.0, start=START)
    times = np.concatenate((np.linspace(-1.0, trajectory.end + 1.0, 101), trajectory.knots))[::-1]
    samples = trajectory.sample_many(times)
    for k, t in enumerate(times):
        for many, one in zip(samples, trajectory.sample(t), strict=True):
            np.testing.assert_allclose(many[k], one, rtol=1e-12, atol=1e-12)
    assert trajectory.sample_many([]).q.shape == (0, 3)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_not_finite_are_refused(bad: float) -> None:
    points = random_points(4, "cubic")
    for k in range(3):
        motion = [vector.copy() for vector in START]
        motion[k][1] = bad
        with refused("argument-vector-invalid", argument="start", count=3):
            planned(points, 0.0, start=Motion(*motion))
    for call, argument in (
        (lambda: planned(points, 1.0).sample(bad), "t"),
        (lambda: planned(points, bad), "now"),
        (lambda: planned(points, 0.0, bad), "stamp"),
    ):
        with refused("argument-time-not-finite", argument=argument):
            call()
    assert refusal(planned(points, 1.0).sample_many, [0.0, bad]) == "sample-times-invalid"


@pytest.mark.parametrize("order", ORDERS)
def test_a_trajectory_begins_with_the_present_motion(order: str) -> None:
    points = random_points(4, order)
    trajectory = planned(points, 7.0, start=START)
    assert trajectory.start == 7.0
    sample = trajectory.sample(7.0)
    for value, given, tolerance in zip(
        sample, START[: ORDERS.index(order) + 1], (1e-14, 1e-12, 1e-12), strict=False
    ):
        close(value, given, tolerance)
    for k, t in enumerate(points.times):
        close(trajectory.sample(7.0 + t).q, points.q[k], 1e-12)


def test_the_start_of_a_trajectory() -> None:
    """Planners send a first point where they expect the robot; there must be no jump to it."""
    points = random_points(4, "quintic", first=0.0)
    trajectory = planned(points, 7.0, start=START)
    close(trajectory.sample(7.0)[:2], START[:2], 1e-12)
    close(trajectory.sample(7.0).q, START.q, 1e-14)
    close(trajectory.sample(7.0 + points.times[1]).q, points.q[1], 1e-12)
    points = random_points(5, "quintic")
    trajectory = planned(points, 7.0, stamp=9.0, start=START)  # a time in the future
    np.testing.assert_array_equal(trajectory.sample(8.0).q, START.q)
    assert trajectory.sample(8.0).phase is Phase.BEFORE
    close(trajectory.sample(9.0).qd, START.qd)
    close(trajectory.sample(9.0 + points.times[0]).q, points.q[0])


def test_points_in_the_past() -> None:
    """They are dropped; without a present motion the trajectory begins within them."""
    points = random_points(6, "cubic")
    stamp = 20.0 - 0.5 * (points.times[1] + points.times[2])
    trajectory = planned(points, 20.0, stamp, START)
    assert len(trajectory.durations) == len(points.times) - 2
    close(trajectory.sample(20.0)[:2], START[:2])
    for k in range(2, len(points.times)):
        close(trajectory.sample(stamp + points.times[k]).q, points.q[k])
    trajectory, whole = planned(points, 20.0, stamp=18.0), planned(points, 0.0)
    for t in np.linspace(20.0, 18.0 + points.times[-1], 7):
        close(trajectory.sample(t).q, whole.sample(t - 18.0).q)
    for start in (None, START):
        with refused("trajectory-past", late=0.25):
            planned(points, 20.0, 20.0 - points.times[-1] - 0.25, start)


def test_a_single_point_and_points_that_are_too_close() -> None:
    """The clock cannot distinguish their times, or no finite acceleration connects them."""
    points = trajectory_points(NAMES, NAMES, [0.0], [[1.0, 2.0, 3.0]])
    trajectory = planned(points, 4.0)
    many = trajectory.sample_many([3.9, 4.0, 4.1])
    assert [trajectory.sample(t).phase for t in (3.9, 4.0, 4.1)] == [Phase.BEFORE, Phase.DONE, Phase.DONE]
    np.testing.assert_array_equal(many.q, [[1.0, 2.0, 3.0]] * 3)
    np.testing.assert_array_equal(many.phase, [0, 2, 2])
    for stamp in (None, 4.0, 5.0):
        assert refusal(planned, points, 4.0, stamp, start=START) == "trajectory-due-at-start"
    assert refusal(planned, points, 4.0, 3.75, start=START) == "trajectory-past: 0.25"
    one, zero = NAMES[:1], [[0.0], [0.0]]
    with refused("trajectory-points-too-close", time=1700000000.0):
        planned(trajectory_points(one, one, [0.1, 0.1 + 1e-9], [[0.0], [1.0]]), 1.7e9)
    with refused("trajectory-piece-too-short", piece=0, duration=1e-200):
        planned(trajectory_points(one, one, [0.0, 1e-200], [[0.0], [1.0]], zero, zero), 0.0)


def same(a: Trajectory, b: Trajectory, times, derivatives: int = 3) -> None:
    for t in times:
        for k, tolerance in enumerate((1e-12, 1e-11, 1e-10)[:derivatives]):
            close(a.sample(t)[k], b.sample(t)[k], tolerance)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("part", [0.15, 0.5, 0.95])
def test_replacement_at_once(order: str, part: float) -> None:
    running = planned(random_points(8, "quintic"), 0.0, start=START)
    now, points = part * running.end, random_points(9, order)
    new = replaced(running, points, now)
    same(new, running, [now], ORDERS.index(order) + 1)
    for k, t in enumerate(points.times):
        close(new.sample(now + t).q, points.q[k])


@pytest.mark.parametrize("wait", [0.2, 1.0, 30.0])
def test_a_later_replacement_follows_the_old_trajectory_until_then(wait: float) -> None:
    running, points = planned(random_points(8, "quintic"), 0.0, start=START), random_points(9, "quintic")
    now = 0.3 * running.end
    stamp = now + wait
    new = replaced(running, points, now, stamp)
    same(new, running, np.linspace(now, stamp - 1e-9, 50))
    same(new, planned(points, stamp, start=running.motion(stamp)), np.linspace(stamp, new.end, 50))
    assert new.end == stamp + points.times[-1]
    assert new.knots == tuple(sorted(new.knots))


def test_replacement_before_the_start_after_the_end_and_twice() -> None:
    points = random_points(9, "quintic")
    running = planned(random_points(8, "quintic"), 0.0, 5.0, START)
    for position, now, stamp in ((START.q, 1.0, 3.0), (running.last, running.end + 1.0, running.end + 2.0)):
        new = replaced(running, points, now, stamp=stamp)
        rest = Motion.at_rest(position)
        same(new, planned(points, stamp, start=rest), np.linspace(now, new.end, 50))
    first = planned(random_points(8, "quintic"), 0.0, start=START)
    second = replaced(first, points, 0.5, stamp=1.0)
    third = replaced(second, random_points(10, "quintic"), 0.7, stamp=second.end - 0.4)
    same(third, first, np.linspace(0.7, 0.999, 20))
    same(third, second, np.linspace(1.0, second.end - 0.401, 20))
    assert refusal(replaced, first, points, 50.0, stamp=10.0) == "trajectory-past: 35.03"


@pytest.mark.parametrize("count", [2, 3, 4, 9])
def test_spline_velocities_make_accelerations_continuous(count: int) -> None:
    points = random_points(11, "linear", count)
    first, last = np.array([1.0, -2.0, 0.0]), np.array([0.5, 0.0, -1.0])
    qd, T = spline_velocities(points.times, points.q, first, last), np.diff(points.times)
    np.testing.assert_array_equal(qd[[0, -1]], [first, last])
    ends = np.stack((points.q, qd))
    for k in range(1, count - 1):
        for j in range(3):
            before, after = (polynomial(T[i], ends[:, i, j], ends[:, i + 1, j]) for i in (k - 1, k))
            close(before.deriv(2)(T[k - 1]), after.deriv(2)(0.0), 1e-8)


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
    alone, given = planned(points, 3.0, smooth=True), random_points(12, "cubic")
    close(alone.sample(alone.start).qd, 0.0)
    same(planned(given, 3.0, smooth=True), planned(given, 3.0), np.linspace(3.0, 9.0, 30))


@pytest.mark.parametrize("seed", range(50))
def test_extreme_values_are_at_turning_points_or_ends(seed: int) -> None:
    random = np.random.default_rng(seed)
    degree = int(random.integers(0, 6))
    rows = np.zeros((20, 6))
    rows[:, : degree + 1] = random.normal(size=(20, degree + 1)) * 10.0 ** random.uniform(-3, 3, (20, 1))
    derivatives = np.zeros((20, 6))
    derivatives[:, :5] = rows[:, 1:] * np.arange(1.0, 6.0)
    found = turning_points(derivatives)
    assert ((found >= 0.0) & (found <= 1.0)).all()
    for row, at, bounds in zip(rows, found, hull(rows), strict=True):
        values = Polynomial(row)(np.concatenate(([0.0, 1.0], at)))
        fine = Polynomial(row)(np.linspace(0.0, 1.0, 2001))
        room = 1e-12 * (np.abs(row).max() + 1e-300)
        assert bounds.min() - room <= values.min() <= fine.min() + room
        assert bounds.max() + room >= values.max() >= fine.max() - room
        assert bounds[0] == row[0]
        assert bounds[-1] == pytest.approx(row.sum(), abs=room)


def test_roots_of_all_degrees_at_once() -> None:
    all_roots = ((0.25,), (0.25, 0.5), (0.1, 0.5, 3.0), (-1.0, 0.2, 0.4, 0.8))
    rows = np.zeros((4, 6))
    for row, roots in zip(rows, all_roots, strict=True):
        row[: len(roots) + 1] = Polynomial.fromroots(roots).coef
    for at, roots in zip(turning_points(rows), all_roots, strict=True):
        assert np.abs(at[:, None] - np.clip(roots, 0.0, 1.0)).min(axis=0).max() < 1e-12
    # Leading coefficients due to rounding, and all coefficients zero.
    found = turning_points(np.array([[-0.25, 1.0, 1e-17], [-0.25, 1.0, 1e-9], [0.0, 0.0, 0.0]]))
    assert np.abs(found[0] - 0.25).min() < 1e-12
    assert np.abs(found[1] - 0.25).min() < 1e-9
    assert turning_points(np.zeros((0, 4))).shape == (0, 3)


def test_missing_accelerations_are_means_of_those_on_both_sides() -> None:
    """Those of the cubics through the points with their velocities, by hand; 0 at the ends."""
    times = np.array([0.0, 0.5, 1.5, 1.8])
    lower, upper = Polynomial([0.3, -1.0, 0.5, 2.0]), Polynomial([0.0, 1.0, 0.0, 0.0, 1.0])
    q = np.stack([lower(times), upper(times)], axis=1)
    qd = np.stack([lower.deriv()(times), upper.deriv()(times)], axis=1)
    qdd = completed(times, q, qd, np.full_like(q, np.nan), None).qdd
    np.testing.assert_allclose(qdd[:, 0], [0.0, *lower.deriv(2)(times[1:-1]), 0.0], atol=1e-12)
    for k in (1, 2):
        found = []
        for a, b in ((k - 1, k), (k, k + 1)):
            T = times[b] - times[a]
            ends = [[1.0, t, t**2, t**3] for t in (0.0, T)] + [
                [0.0, 1.0, 2.0 * t, 3.0 * t**2] for t in (0.0, T)
            ]
            c = np.linalg.solve(ends, [q[a, 1], q[b, 1], qd[a, 1], qd[b, 1]])
            found.append(Polynomial(c).deriv(2)(times[k] - times[a]))
        assert qdd[k, 1] == pytest.approx(0.5 * sum(found))
