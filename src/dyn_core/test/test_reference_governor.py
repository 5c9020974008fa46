# SPDX-License-Identifier: Apache-2.0
"""Streams of references that the governor makes feasible: path and limits are kept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from refusals import refusal, refused
from robots import loop_robot

import dyn_core
from dyn_core import Feasibility, Robot
from dyn_core.feasibility.reference_governor import InfeasibleReference, ReferenceGovernor

GOAL = np.array([1.0, 0.4, -0.3, 0.5, 0.5, 1.0])
ZERO = np.zeros(6)
OUT = np.array([2.9, 0.0, 0.0, 0.0, 0.0, 0.0])
"""Positions; that of joint 1 is out of range."""


@pytest.fixture(scope="module")
def robot() -> Robot:
    return loop_robot("rx90")


@pytest.fixture(scope="module")
def steps(robot: Robot) -> Feasibility:
    return Feasibility(robot)


def smooth(t: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
    u = min(max(t / duration, 0.0), 1.0)
    return GOAL * u**3 * (10 - 15 * u + 6 * u * u), GOAL * 30 * u * u * (1 - u) ** 2 / duration


@pytest.mark.parametrize("dt", [0.001, 0.004])
def test_feasible_references_are_unchanged_to_the_last_bit(steps: Feasibility, dt: float) -> None:
    """Also with velocities that lag by a filter, stamps with errors of 20 us, and numbers with six digits."""
    random = np.random.default_rng(21)
    exact, late, stamped, rounded = (Kept(steps) for _ in range(4))
    for k in range(round(4.0 / dt)):
        t = k * dt
        q, qd = smooth(t, 3.0)
        exact.take(t, q, qd)
        assert exact.out.q is q
        assert exact.out.qd is qd
        late.take(t, q, smooth(t - 0.02, 3.0)[1])
        stamped.take(t + 2e-5 * random.uniform(-1.0, 1.0), q, qd)
        rounded.take(t, np.round(q, 6), np.round(qd, 6))
    assert [kept.unchanged for kept in (exact, late, stamped, rounded)] == [True] * 4
    assert exact.governor.lag == 0.0


def test_references_that_are_too_fast_keep_path_and_limits(steps: Feasibility) -> None:
    """Twice as fast as the actuators allow, then at rest until the end of the path is reached."""
    kept = Kept(steps)
    for k in range(1501):
        kept.take(k * 0.002, *smooth(k * 0.002, 0.35))
        # All joints move along one line, so the path is that line.
        part = kept.out.q / GOAL
        np.testing.assert_allclose(part, part[0], atol=1e-3)
    assert kept.furthest < 1e-9
    assert "joint_1" in {joint for joint, _ in kept.asked}
    np.testing.assert_allclose(kept.out.q, GOAL, atol=1e-6)
    assert (kept.governor.lag, kept.out.unchanged) == (0.0, True)


def test_the_path_is_completed_without_further_references(steps: Feasibility) -> None:
    governor, dt, count = ReferenceGovernor(steps), 0.002, 151
    for k in range(count):
        governor.take(k * dt, *smooth(k * dt, 0.3))
    assert governor.behind
    assert governor.lag > 0.0
    for k in range(count, 3 * count):
        out = governor.advance(k * dt)
        if not governor.behind:
            break
    assert not governor.behind
    np.testing.assert_allclose(out.q, GOAL, atol=1e-9)


def test_a_path_that_cannot_be_kept_is_reported_and_joined_again(steps: Feasibility) -> None:
    """The velocity stops at once: torques stay within limits, the joint overshoots and returns."""
    governor, dt, q, worst = ReferenceGovernor(steps), 0.002, ZERO, 0.0
    for k in range(5000):
        qd = np.eye(6)[0] * (min(k / 200, 1.0) if k < 500 else 0.0)
        q = q + dt * qd
        out = governor.take(k * dt, q, qd)
        worst = max(worst, out.distance)
    assert worst > 1e-3
    np.testing.assert_allclose(out.q, q, atol=1e-6)


def test_a_stream_that_begins_too_fast_or_out_of_range(steps: Feasibility) -> None:
    governor = ReferenceGovernor(steps)
    out = governor.take(0.0, ZERO, 2.0 * steps.limits.velocity)
    assert (out.unchanged, out.rate) == (False, 0.5)
    np.testing.assert_allclose(out.qd, steps.limits.velocity)
    assert {excess.quantity for excess in out.asked} == {"velocity"}
    assert refusal(governor.take, 0.01, OUT, ZERO) == "reference-out-of-range: joint_1, -2.79, 2.9, rad, 2.79"
    # If the robot is measured out of range, references may begin there.
    assert ReferenceGovernor(steps).take(0.0, OUT, ZERO, measured=OUT).unchanged


def test_a_stream_that_lags_too_much_is_refused(steps: Feasibility) -> None:
    """An endless stream that is twice as fast as joint 1."""
    governor, dt, first = ReferenceGovernor(steps, most=0.3), 0.004, np.eye(6)[0]
    speed = 2.0 * steps.limits.velocity[0]

    def take_all() -> None:
        for k in range(100_000):
            u, angle = min(k * dt / 0.4, 1.0), speed / 1.5 * k * dt
            governor.take(k * dt, u * 1.5 * math.sin(angle) * first, u * speed * math.cos(angle) * first)

    assert refusal(take_all) == "reference-lag-exceeded: 0.304, 0.3"


def test_output_is_finite_and_within_speed_limits_for_random_references(steps: Feasibility) -> None:
    random = np.random.default_rng(3)
    governor, t = ReferenceGovernor(steps), 0.0
    for _ in range(600):
        t += float(random.choice([0.002, 0.01, 0.15, 0.3]))
        q = np.clip(random.normal(size=6), steps.limits.lower, steps.limits.upper)
        qd = float(random.choice([0.1, 1.0, 30.0, 1e6])) * random.normal(size=6)
        out = governor.take(t, q, qd)
        assert np.isfinite([*out.q, *out.qd]).all()
        assert (np.abs(out.qd) <= steps.limits.velocity * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("later", [0.0, -0.05])
def test_a_time_that_is_not_later_is_refused(steps: Feasibility, later: float) -> None:
    """Otherwise it would be the start of a new stream, as after a gap."""
    governor = ReferenceGovernor(steps, timeout=0.1)
    governor.take(1.0, ZERO, ZERO)
    with refused("reference-not-later", last=1.0):
        governor.take(1.0 + later, GOAL, ZERO)
    assert not governor.take(1.002, GOAL, ZERO).unchanged
    assert governor.take(2.0, GOAL, ZERO).unchanged
    governor.reset()
    assert governor.take(0.5, GOAL, ZERO).unchanged


class Kept:
    """Output of a governor, compared with the limits."""

    def __init__(self, steps: Feasibility) -> None:
        self.governor = ReferenceGovernor(steps)
        self.limits = steps.limits
        self.model = dyn_core.compile_model(steps.robot)
        self.t, self.out = 0.0, None
        self.unchanged, self.furthest, self.lag = True, 0.0, 0.0
        self.asked: set[tuple[str, str]] = set()

    def take(self, t: float, q: np.ndarray, qd: np.ndarray | None) -> None:
        before, dt, self.t = self.out, t - self.t, t
        out = self.out = self.governor.take(t, q, qd)
        self.unchanged = self.unchanged and out.unchanged
        self.furthest, self.lag = max(self.furthest, out.distance), max(self.lag, out.lag)
        self.asked |= {(excess.joint, excess.quantity) for excess in out.asked}
        if before is None:
            return
        torques = self.model.inverse_dynamics(before.q, before.qd, (out.qd - before.qd) / dt)
        assert (np.abs(torques) <= self.limits.effort(before.qd) * (1.0 + 1e-9) + 1e-6).all()
        assert (np.abs(out.qd) <= self.limits.velocity + 1e-9).all()
        # Positions move no faster than the velocities, apart from the difference of a cubic and a parabola.
        assert (np.abs(out.q - before.q) <= 1.01 * dt * self.limits.velocity).all()


@pytest.mark.parametrize("dt", [0.001, 0.002, 0.01, 0.04])
def test_positions_that_jump_at_rest_become_a_motion(steps: Feasibility, dt: float) -> None:
    """A step input: velocities of 0, one position now and another from the next reference on."""
    kept = Kept(steps)
    for k in range(round(2.0 / dt)):
        kept.take(k * dt, ZERO if k * dt < 0.1 else 0.5 * GOAL, ZERO)
        part = kept.out.q / GOAL
        np.testing.assert_allclose(part, part[0], atol=1e-9)
    assert not kept.unchanged
    assert ("joint_1", "velocity") in kept.asked
    assert kept.furthest < 1e-9
    assert kept.lag < 0.4
    np.testing.assert_array_equal(kept.out.q, 0.5 * GOAL)
    assert (kept.out.unchanged, kept.governor.lag) == (True, 0.0)


@pytest.mark.parametrize("dt", [0.002, 0.01])
def test_jumps_in_motion_and_moving_positions_with_zero_velocities(steps: Feasibility, dt: float) -> None:
    jumping, slow, fast = (Kept(steps) for _ in range(3))
    for k in range(round(6.0 / dt)):
        q, qd = smooth(k * dt, 3.0)
        jumping.take(k * dt, q + (0.2 * GOAL if k * dt > 1.5 else 0.0), qd)
    # A jump cannot be followed: the joints brake, return beyond the jump, and continue from there.
    assert jumping.furthest > 0.01
    np.testing.assert_array_equal(jumping.out.q, GOAL + 0.2 * GOAL)
    assert jumping.out.unchanged
    # A slow start is feasible; a start at 2 rad/s is not, and the references are followed one by one.
    for k in range(round(3.5 / dt)):
        slow.take(k * dt, smooth(k * dt, 3.0)[0], ZERO)
    assert slow.unchanged
    for k in range(round(3.0 / dt)):
        fast.take(k * dt, min(max(k * dt - 0.1, 0.0), 0.5) * 2.0 * GOAL, ZERO)
    assert not fast.unchanged
    assert fast.furthest < 1e-9


@pytest.mark.parametrize("dt", [0.001, 0.004])
def test_stamp_noise_does_not_change_the_path(steps: Feasibility, dt: float) -> None:
    """The stream is twice as fast as possible, and its stamps have errors of 20 us."""
    random = np.random.default_rng(22)
    kept, exact = Kept(steps), Kept(steps)
    for k in range(round(1.5 / dt)):
        exact.take(k * dt, *smooth(k * dt, 0.35))
        kept.take(k * dt + 2e-5 * random.uniform(-1.0, 1.0), *smooth(k * dt, 0.35))
    assert not kept.unchanged
    assert kept.furthest < 1e-9
    assert kept.lag == pytest.approx(exact.lag, rel=0.1)
    np.testing.assert_array_equal(kept.out.q, GOAL)


def check_infeasible(governor: ReferenceGovernor, t: float, q: np.ndarray, qd: np.ndarray = ZERO) -> None:
    with pytest.raises(InfeasibleReference) as caught:
        governor.take(t, q, qd)
    assert (caught.value.excess.joint, caught.value.excess.quantity) == ("joint_1", "velocity")


def test_infeasible_references_are_refused_where_slowing_is_off(steps: Feasibility) -> None:
    """References after a jump are refused, too: accepting one would be the jump, a period later."""
    governor, there = ReferenceGovernor(steps, timeout=0.1, slow=False), 0.5 * GOAL
    assert governor.take(0.0, ZERO, ZERO).unchanged
    assert governor.take(0.01, ZERO, ZERO).unchanged
    for k in range(2, 50):
        check_infeasible(governor, 0.01 * k, there)
    assert governor.take(0.5, ZERO, ZERO).unchanged
    check_infeasible(governor, 0.51, there)
    assert governor.take(1.0, there, ZERO).unchanged
    too_fast = ReferenceGovernor(steps, slow=False)
    check_infeasible(too_fast, 0.0, ZERO, 2.0 * steps.limits.velocity)
    assert too_fast.take(0.01, ZERO, ZERO).unchanged


@pytest.mark.parametrize("slow", [True, False])
def test_after_positions_out_of_range_the_output_continues_from_the_last_good_one(
    steps: Feasibility, slow: bool
) -> None:
    governor = ReferenceGovernor(steps, timeout=0.05, slow=slow)
    governor.take(0.0, ZERO, ZERO)
    for k in range(1, 20):
        with refused("reference-out-of-range", position=2.9, unit="rad"):
            governor.take(0.01 * k, OUT, ZERO)
    if slow:
        assert not governor.take(0.2, GOAL, ZERO).unchanged
    else:
        check_infeasible(governor, 0.2, GOAL)
        assert governor.take(0.21, ZERO, ZERO).unchanged


@pytest.mark.parametrize(("off", "passes"), [(1e-4, True), (0.02, False)])
def test_a_single_wrong_position_is_detected(steps: Feasibility, off: float, passes: bool) -> None:
    """It differs by more than a joint can move in one step."""
    kept = Kept(steps)
    for k in range(300):
        q, qd = smooth(0.004 * k, 3.0)
        q[0] += off * (k == 100)
        kept.take(0.004 * k, q, qd)
    assert kept.unchanged == passes


def test_invalid_arguments_of_the_governor_are_refused(steps: Feasibility) -> None:
    blind, governor = np.array([0.0, math.nan, 0.0, 0.0, 0.0, 0.0]), ReferenceGovernor(steps)
    for q, qd, quantity, joint in (
        (blind, ZERO, "q", "joint_2"),
        (ZERO, blind, "qd", "joint_2"),
        (ZERO, math.inf * np.ones(6), "qd", "joint_1"),
    ):
        with refused("joint-value-not-finite", quantity=quantity, joint=joint):
            governor.take(0.0, q, qd)
    for q, qd, argument, shape in ((ZERO[:4], ZERO, "q", (4,)), (ZERO, np.zeros((2, 6)), "qd", (2, 6))):
        with refused("argument-shape", argument=argument, expected=(6,), given=shape):
            governor.take(0.0, q, qd)
    assert refusal(governor.take, math.nan, ZERO, ZERO) == "argument-time-not-finite: t, nan"
    assert refusal(governor.advance, 0.0) == "argument-time-not-later: t, 0, nan"
    assert governor.take(0.0, ZERO.tolist(), ZERO.tolist()).unchanged
    for times in ({"timeout": -1.0}, {"timeout": 0.0}, {"most": math.nan}):
        with refused("argument-time-not-positive"):
            ReferenceGovernor(steps, **times)
