# SPDX-License-Identifier: Apache-2.0
"""Properties of all trajectories and all replacements."""

from __future__ import annotations

import numpy as np
from properties import examples, given, hypothesis, st
from trajectory_case import ORDERS, random_points

from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory import Phase, Trajectory
from dyn_core.control.trajectories.trajectory_planning import planned, replaced

SEED = st.integers(0, 2**32 - 1)
NEAR = 1e-7


def check_continuous(trajectory: Trajectory, derivatives: int, times) -> None:
    """Values just before and at a time differ by no more than their derivatives allow."""
    # A quintic between points 4 apart, with derivatives of at most 2, has no greater third derivative.
    h = float(np.diff(trajectory.knots).min())
    greatest = (60.0 * 4.0 + 36.0 * 2.0 * 2.0 * h + 9.0 * 2.0 * 2.0 * h**2) / h**3
    for t in times:
        before, at = trajectory.sample(t - NEAR), trajectory.sample(t)
        for k in range(derivatives):
            # The next derivative bounds the change.
            rate = 10.0 * (np.abs(at[k + 1]) + np.abs(before[k + 1]) + 1.0).max() if k < 2 else greatest
            np.testing.assert_allclose(before[k], at[k], rtol=0, atol=NEAR * rate)


@given(SEED, st.sampled_from(ORDERS), st.booleans(), st.floats(-100.0, 100.0))
@examples(60)
def test_a_motion_is_continuous(seed: int, order: str, smooth: bool, now: float) -> None:
    start = Motion(*np.random.default_rng(seed).uniform(-1.0, 1.0, (3, 3)))
    trajectory = planned(random_points(seed, order), now, start=start, smooth=smooth)
    derivatives = {"linear": 3 if smooth else 1, "cubic": 2, "quintic": 3}[order]
    check_continuous(trajectory, derivatives, trajectory.knots[1:-1])
    after = trajectory.sample(trajectory.end + NEAR)
    assert after.phase is Phase.DONE
    np.testing.assert_allclose(after.q, trajectory.sample(trajectory.end).q, atol=1e-12)


@given(SEED, st.sampled_from(ORDERS[1:]), st.floats(-1.0, 8.0), st.one_of(st.none(), st.floats(-4.0, 9.0)))
@examples(120)
def test_a_replacement_is_continuous(seed: int, order: str, now: float, stamp: float | None) -> None:
    running = planned(random_points(seed, "quintic"), 0.0, start=Motion.at_rest(np.ones(3)))
    points = random_points(seed + 1, order)
    begin = now if stamp is None else max(now, stamp)
    coming = points.times + (now if stamp is None else stamp) - begin
    # A point must be far enough in time that the motion to it is not practically a jump.
    hypothesis.assume(((coming > 0.02) | (coming <= 0.0)).all() and coming[-1] > 0.0)
    new = replaced(running, points, now, stamp)
    for t in np.linspace(now, begin, 5)[: -1 if now < begin else 0]:
        for value, expected in zip(new.sample(t)[:3], running.sample(t)[:3], strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9)
    at, was = new.sample(begin), running.sample(begin)
    for k in range({"cubic": 2, "quintic": 3}[order]):
        np.testing.assert_allclose(at[k], was[k], rtol=1e-8, atol=1e-8)
    for k, t in enumerate(points.times):
        if coming[k] > 0.0:
            q = new.sample((now if stamp is None else stamp) + t).q
            np.testing.assert_allclose(q, points.q[k], atol=1e-8)
