# SPDX-License-Identifier: Apache-2.0
"""Feasible steps.

Limits kept (by Pinocchio), fastest step (by a search), nearest torques (by linear programs).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from depth import number
from random_case import Case, random_case
from refusals import refusal, refused
from robots import example, loop_robot
from scipy.optimize import LinearConstraint, linprog, minimize

import dyn_core
from dyn_core import (
    ActuatorLimit,
    ActuatorLimits,
    Feasibility,
    FeasibleStep,
    TorqueSpeedCurve,
    actuator_limits,
)
from dyn_core.feasibility.actuator_limits import described_limit

BEYOND = 1e-9
"""Largest allowed excess of a limit, relative to the limited quantity."""
LIMITS, STATES = 20, number(125, 75)
"""Random limits of each robot, and random states for each of these: 10 000 in total for four robots."""
SEEDS = ((1, 2), (2, 4), (3, 6), (5, 6))
ZERO = np.zeros(6)


class Given(NamedTuple):
    """A state and a desired next state."""

    q: np.ndarray
    qd: np.ndarray
    q_next: np.ndarray
    qd_next: np.ndarray
    dt: float

    @property
    def wished(self) -> np.ndarray:
        return (self.qd_next - self.qd) / self.dt


class Torques:
    """Torques by Pinocchio, with friction and rotors added by hand."""

    def __init__(self, case: Case) -> None:
        self.case, friction = case, [joint.friction for joint in case.robot.joints]
        self.Fv, self.Fs, self.Fo = np.array([(f.Fv, f.Fs, f.Fo) for f in friction]).T

    def __call__(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        rigid = self.case.oracle.inverse_dynamics(q, qd, qdd, self.case.wrenches)
        return rigid + self.case.rotor_inertias * qdd + self.Fv * qd + self.Fs * np.sign(qd) + self.Fo

    def affine(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        H = self(q, qd, np.zeros(len(q)))
        return np.array([self(q, qd, unit) - H for unit in np.eye(len(q))]).T, H


def random_limits(random: np.random.Generator, case: Case, points: int = 0) -> ActuatorLimits:
    """Random limits: some joints have none, some have curves of equal length, some have power limits."""

    def maybe(probability: float, low: float, high: float) -> float:
        return float(random.uniform(low, high)) if random.random() < probability else math.inf

    given = {}
    for name in case.robot.coordinate_names:
        hold = float(random.uniform(5.0, 300.0))
        speeds = (0.0, *np.cumsum(random.uniform(0.2, 2.0, random.integers(0, 3))).tolist())
        efforts = tuple(sorted((hold * random.uniform(0.2, 1.0, len(speeds))).tolist(), reverse=True))
        given[name] = ActuatorLimit(
            lower=-maybe(0.8, 0.0, 3.0),
            upper=maybe(0.8, 0.0, 3.0),
            velocity=maybe(0.8, 0.3, 3.0),
            curve=TorqueSpeedCurve(*((speeds, efforts) if random.random() < 0.8 else ((0.0,), (math.inf,)))),
            power=maybe(0.5, 5.0, 200.0),
            braking_power=maybe(0.3, 5.0, 200.0),
        )
    limits = actuator_limits(case.robot, given)
    return limits if limits.points >= points else random_limits(random, case, points)


def random_given(random: np.random.Generator, limits: ActuatorLimits) -> Given:
    """States inside and outside of the range, slow and fast, with desired states near and far."""
    n = len(limits.joint_names)
    q = random.uniform(np.maximum(limits.lower, -3.0), np.minimum(limits.upper, 3.0))
    if random.random() < 0.1:
        q = q + random.normal(size=n)
    top = np.minimum(limits.velocity, 3.0)
    qd = random.uniform(-1.0, 1.0, n) * top * random.choice([0.0, 0.3, 1.0, 1.2], p=[0.2, 0.4, 0.35, 0.05])
    dt = float(random.choice([1e-3, 4e-3, 2e-2]))
    size = random.choice([0.03, 1.0, 30.0, 1000.0])
    qd_next = qd + dt * size * random.normal(size=n)
    if random.random() < 0.3:
        qd_next = np.clip(random.uniform(0.0, 1.2) * qd, -limits.velocity, limits.velocity)
    return Given(q, qd, q + 0.5 * dt * (qd + qd_next), qd_next, dt)


def efforts(limits: ActuatorLimits, qd: np.ndarray) -> np.ndarray:
    """The greatest torques at velocities (..., n), by independent code."""
    curves = [(limit.curve.speeds, limit.curve.efforts) for limit in limits.of_joints]
    return np.stack([np.interp(np.abs(qd[..., j]), *curve) for j, curve in enumerate(curves)], axis=-1)


def worst(limits: ActuatorLimits, torques: Torques, given: Given, step: FeasibleStep) -> tuple[float, float]:
    """Excess of torques and powers, and of positions and speeds, relative to their sizes."""
    u = torques(given.q, given.qd, step.qdd)
    power = u * given.qd
    acting = (np.abs(u) - efforts(limits, given.qd), power - limits.power, -power - limits.braking_power)
    fastest = np.maximum(limits.velocity, np.abs(given.qd))
    upper, lower = np.maximum(limits.upper, given.q), np.minimum(limits.lower, given.q)
    moving = (np.abs(step.qd) - fastest, step.q - upper, lower - step.q)
    return float(np.max(acting)) / (1.0 + float(np.abs(u).max())), float(np.max(moving))


def polyhedron(limits: ActuatorLimits, torques: Torques, given: Given) -> tuple[np.ndarray, ...]:
    """All limits as ``low <= M qdd <= high``, and M and H of the torques."""
    A, H = torques.affine(given.q, given.qd)
    dt, effort = given.dt, efforts(limits, given.qd)
    with np.errstate(divide="ignore"):
        give, take = limits.power / np.abs(given.qd), limits.braking_power / np.abs(given.qd)
    most = np.minimum(effort, np.where(given.qd > 0.0, give, take))
    least = -np.minimum(effort, np.where(given.qd > 0.0, take, give))
    fastest = np.maximum(limits.velocity, np.abs(given.qd))
    straight = given.q + dt * given.qd
    upper, lower = np.maximum(limits.upper, given.q), np.minimum(limits.lower, given.q)
    low = np.maximum((-fastest - given.qd) / dt, 2.0 * (lower - straight) / dt**2)
    high = np.minimum((fastest - given.qd) / dt, 2.0 * (upper - straight) / dt**2)
    low, high = np.concatenate((least - H, low)), np.concatenate((most - H, high))
    return np.concatenate((A, np.eye(len(H)))), low, high, H


@pytest.fixture(scope="module", params=SEEDS, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return random_case(*request.param, massless_leaves=False)


@pytest.fixture(scope="module")
def steps(case: Case) -> Feasibility:
    return Feasibility(case.robot, random_limits(np.random.default_rng(7), case, points=3))


def test_limits_are_kept_and_a_feasible_desired_state_is_unchanged(case: Case, steps: Feasibility) -> None:
    random, torques = np.random.default_rng(11), Torques(case)
    seen = {"feasible": 0, "all": 0, "impossible": 0, "path": 0, "no path": 0}
    for _ in range(LIMITS):
        limits = random_limits(random, case)
        one = steps.with_limits(limits)
        for _ in range(STATES):
            given = random_given(random, limits)
            args = (*given, case.wrenches)
            nearest, path = one.nearest(*args), one.on_path(*args)
            for step in (nearest, path):
                acting, moving = worst(limits, torques, given, step)
                assert acting <= BEYOND
                assert moving <= BEYOND or not step.possible
            needed = torques(given.q, given.qd, given.wished)
            M, low, high, _ = polyhedron(limits, torques, given)
            inside = min((M @ given.wished - low).min(), (high - M @ given.wished).min())
            if abs(inside) > 1e-7 * (1.0 + np.abs(needed).max()):
                assert nearest.feasible == path.feasible == (inside > 0.0)
            if nearest.feasible:
                seen["feasible"] += 1
                for step in (nearest, path):
                    assert step.q.tobytes() == given.q_next.tobytes()
                    assert step.qd.tobytes() == given.qd_next.tobytes()
                    assert step.part == 1.0
                assert not nearest.asked or nearest.outside
                continue
            assert nearest.asked
            seen["all"] += nearest.possible
            seen["impossible"] += not nearest.possible
            seen["no path" if math.isnan(path.part) else "path"] += 1
    assert all(count > 20 for count in seen.values()), seen


def test_the_step_along_the_path_is_the_fastest_feasible_one(case: Case, steps: Feasibility) -> None:
    """A search finds no larger feasible part; a slightly larger part is infeasible."""
    random, torques = np.random.default_rng(12), Torques(case)
    parts, found = np.linspace(0.0, 1.0, 4001), 0
    for _ in range(number(800, 650)):
        limits = random_limits(random, case)
        given = random_given(random, limits)
        step = steps.with_limits(limits).on_path(*given, case.wrenches)
        if step.feasible:
            continue
        M, low, high, _ = polyhedron(limits, torques, given)
        values = (parts[:, None] * given.qd_next - given.qd) / given.dt @ M.T
        room = 1e-9 * (1.0 + np.abs(values).max(axis=1))[:, None]
        allowed = ((values >= low - room) & (values <= high + room)).all(axis=1)
        best = parts[allowed].max(initial=-1.0)
        if math.isnan(step.part):
            assert not ((values >= low + room) & (values <= high - room)).all(axis=1).any()
            continue
        found += 1
        assert best <= step.part + 1e-9
        assert step.part <= 1.0
        # Compared with the next value of the search, as the feasible interval may be shorter than its step.
        assert step.part - best < 1.01 / 4000 or not allowed.any()
        np.testing.assert_allclose(step.qd, step.part * given.qd_next, rtol=0, atol=1e-12)
    assert found > 30


def test_no_step_keeps_all_limits_where_none_is_reported(case: Case, steps: Feasibility) -> None:
    """Linear programming finds none either. Where there are some, the result has the nearest torques."""
    random, torques = np.random.default_rng(13), Torques(case)
    none = moved = 0
    while none + moved < 60:
        limits = random_limits(random, case)
        given = random_given(random, limits)
        step = steps.with_limits(limits).nearest(*given, case.wrenches)
        if step.feasible:
            continue
        M, low, high, H = polyhedron(limits, torques, given)
        n = len(H)
        allowed = np.clip(given.wished, low[n:], high[n:]) if (low[n:] <= high[n:]).all() else given.wished
        wished = M[:n] @ allowed + H
        cut = np.clip(wished, low[:n] + H, high[:n] + H)
        qdd = np.linalg.solve(M[:n], cut - H)
        left = step.possible and ((qdd > high[n:] + 1e-6).any() or (qdd < low[n:] - 1e-6).any())
        if not left:
            np.testing.assert_allclose(step.torques, cut, rtol=1e-9, atol=1e-9 * np.abs(wished).max())
        if not step.possible:
            none += 1
            planes, distances = np.concatenate((M, -M)), np.concatenate((high, -low))
            finite = np.isfinite(distances)
            done = linprog(np.zeros(n), A_ub=planes[finite], b_ub=distances[finite], bounds=(None, None))
            assert done.status == 2
        elif left:
            moved += 1
            full = np.where(np.isfinite(high[:n] - low[:n]), high[:n] - low[:n], 1.0)
            in_y = M @ np.linalg.inv(M[:n]) * full
            offset = M @ np.linalg.solve(M[:n], wished - H)
            bounded = np.isfinite(low) | np.isfinite(high)
            within = LinearConstraint(in_y[bounded], (low - offset)[bounded], (high - offset)[bounded])
            options = {"jac": lambda y: 2.0 * y, "method": "SLSQP", "constraints": [within]}
            done = minimize(lambda y: float(y @ y), np.zeros(n), **options)
            if done.success:
                ours = float((((step.torques - wished) / full) ** 2).sum())
                assert ours <= done.fun * (1.0 + 1e-6) + 1e-12
    assert none > 5


@pytest.fixture(scope="module")
def arm() -> Feasibility:
    return Feasibility(example("rx90"))


def test_excess_names_joint_quantity_and_amount(arm: Feasibility) -> None:
    wish = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    step = arm.nearest(ZERO, ZERO, ZERO, wish, 1e-3)
    needed = dyn_core.compile_model(arm.robot).inverse_dynamics(ZERO, ZERO, wish / 1e-3)[0]
    (excess,) = step.asked
    assert (excess.joint, excess.quantity, excess.unit) == ("joint_1", "effort", "N m")
    assert (excess.value, excess.amount) == pytest.approx((needed, needed - 320.0), rel=1e-12)
    for word in ("'joint_1'", f"{needed:.4g} N m", f"{needed - 320.0:.3g} N m", "320 N m"):
        assert word in excess.sentence
    assert step.left == step.outside == ()
    with pytest.raises(ValueError, match="read-only"):
        step.qd[0] = 0.0


def test_positions_that_do_not_match_velocities(case: Case, steps: Feasibility) -> None:
    """They are feasible if joints can accelerate towards them for half of the time, and then brake."""
    random, torques = np.random.default_rng(14), Torques(case)
    seen = {True: 0, False: 0}
    for _ in range(number(2000, 1300)):
        limits = random_limits(random, case)
        given = random_given(random, limits)
        h, catch_up = given.dt, float(random.choice([1.0, 3.0])) * given.dt
        size = float(random.choice([1e-7, 1e-6, 1e-4, 1e-2]))
        x = size * random.normal(size=len(given.q))
        band = 0.5 * h * np.abs(given.qd_next - given.qd)
        q_next = given.q_next + x + np.copysign(band + 1e-9, x)
        asked = (given.q, given.qd, q_next, given.qd_next, h, case.wrenches)
        step = steps.with_limits(limits).nearest(*asked, catch_up=catch_up)
        M, low, high, _ = polyhedron(limits, torques, given)
        n = len(x)
        # Ranges and speeds apply to the whole step, not to its two halves.
        halves = [M[:n] @ (given.wished + sign * 4.0 * x / catch_up**2) for sign in (1.0, -1.0)]
        room = [min((half - low[:n]).min(), (high[:n] - half).min()) for half in halves]
        fastest = np.maximum(limits.velocity, np.abs(given.qd))
        speed = np.abs(0.5 * (given.qd + given.qd_next) + 2.0 * x / catch_up)
        room.append(min((fastest - speed).min(), (fastest - np.abs(given.qd_next)).min()))
        whole = min((M[n:] @ given.wished - low[n:]).min(), (high[n:] - M[n:] @ given.wished).min())
        lower, upper = np.minimum(limits.lower, given.q), np.maximum(limits.upper, given.q)
        room += [whole, (q_next - lower).min(), (upper - q_next).min()]
        if abs(min(room)) > 1e-7 * (1.0 + max(np.abs(half).max() for half in halves)):
            assert step.feasible == (min(room) > 0.0)
            seen[step.feasible] += 1
        if step.feasible:
            assert step.q.tobytes() == q_next.tobytes()
        else:
            acting, moving = worst(limits, torques, given, step)
            assert acting <= BEYOND
            assert moving <= BEYOND or not step.possible
    assert min(seen.values()) > 20, seen


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 1e-2])
def test_a_position_jump_is_not_feasible(arm: Feasibility, dt: float) -> None:
    """Velocities of 0, or in another unit, do not hide a jump."""
    jump = (ZERO, ZERO, np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]), ZERO, dt)
    for step in (arm.nearest(*jump), arm.on_path(*jump)):
        assert (step.feasible, step.possible) == (False, True)
        np.testing.assert_array_equal(step.q, ZERO)
        speed = next(e for e in step.asked if (e.joint, e.quantity) == ("joint_1", "velocity"))
        assert speed.value == pytest.approx(0.2 / dt, rel=1e-6)
        assert speed.jumps
        assert replace(speed, jumps=False).sentence != speed.sentence
    assert arm.on_path(*jump).part == 1.0
    assert arm.nearest(*jump, catch_up=10.0).feasible
    assert refusal(arm.nearest, *jump, catch_up=0.0) == "argument-time-not-positive: catch_up, 0"


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0], ids=["explicit", "constant acceleration", "semi-implicit"])
def test_positions_by_common_integration_rules_match_their_velocities(arm: Feasibility, place: float) -> None:
    random, dt = np.random.default_rng(15), 1e-3
    for _ in range(50):
        q, qd = 0.3 * random.normal(size=(2, 6))
        qd_next = qd + 1e-3 * random.normal(size=6)
        assert arm.nearest(q, qd, q + dt * ((1.0 - place) * qd + place * qd_next), qd_next, dt).feasible


def test_wrenches_on_any_link_and_of_any_type(arm: Feasibility) -> None:
    """Arrays for child links, lists, and links fixed to others are converted by different code."""
    robot, random = arm.robot, np.random.default_rng(16)
    q, qd, dt = random.normal(size=6), 0.1 * random.normal(size=6), 1e-3
    model, step = dyn_core.compile_model(robot), (q, qd, q + dt * qd, qd, dt)
    for link in robot.link_names:
        wrench = random.normal(size=6)
        found = arm.nearest(*step, {link: wrench})
        assert found.feasible
        needed = model.inverse_dynamics(q, qd, 0.0 * q, {link: wrench.tolist()})
        np.testing.assert_allclose(found.torques, needed, rtol=1e-12, atol=1e-12)
    with refused("argument-shape", expected="(6,)"):
        arm.nearest(*step, {robot.link_names[-1]: np.zeros(5)})
    with refused("link-unknown", link="nowhere"):
        arm.nearest(*step, {"nowhere": np.zeros(6)})


def test_a_joint_outside_of_its_limits_moves_no_further_out(arm: Feasibility) -> None:
    """The documented reaction to a start outside: motion back is allowed, motion further out is not."""
    dt, wish = 4e-3, 0.02 * np.eye(6)[2]
    q = np.eye(6)[2] * (arm.limits.upper[2] + 0.1)
    further = arm.on_path(q, ZERO, q + 0.5 * dt * wish, wish, dt)
    assert (further.feasible, further.possible) == (False, True)
    assert further.q[2] <= q[2]
    (out,) = further.outside
    assert (out.joint, out.quantity, round(out.amount, 12)) == ("joint_3", "position", 0.1)
    back = arm.on_path(q, ZERO, q - 0.5 * dt * wish, -wish, dt)
    assert (back.feasible, back.qd[2]) == (True, -0.02)
    fast = np.eye(6)[0] * (arm.limits.velocity[0] + 0.5)
    slower = arm.nearest(ZERO, fast, fast * dt, fast - 0.01, dt)
    assert {excess.quantity for excess in slower.outside} == {"velocity"}
    assert slower.qd[0] <= fast[0]
    # Here the desired position is within the range; the position that follows from the velocities is not.
    first, upper = np.eye(6)[0], arm.limits.upper[0]
    step = arm.nearest(first * (upper - 2e-5), 0.02 * first, first * upper, 0.04 * first, 1e-3)
    assert not step.feasible
    assert [(e.joint, e.quantity) for e in step.asked] == [("joint_1", "position")]
    assert step.asked[0].amount == pytest.approx(1e-5, rel=1e-6)


def test_an_arm_that_cannot_hold_itself_moves_at_the_torque_limit_and_reports_it(arm: Feasibility) -> None:
    weak = replace(described_limit(arm.robot, "joint_2"), curve=TorqueSpeedCurve.constant(50.0))
    q = 1.5 * np.eye(6)[2]
    step = arm.with_limits(actuator_limits(arm.robot, {"joint_2": weak})).on_path(q, ZERO, q, ZERO, 1e-3)
    assert (step.feasible, math.isnan(step.part)) == (False, True)
    assert [(e.joint, e.quantity, e.limit) for e in step.asked] == [("joint_2", "effort", 50.0)]
    assert abs(step.torques[1]) == pytest.approx(50.0, abs=1e-9)
    assert step.qdd[1] != 0.0


def test_unusable_arguments_are_refused(arm: Feasibility) -> None:
    assert refusal(arm.nearest, ZERO, ZERO, ZERO[:5], ZERO, 1e-3) == "argument-shape: q_next, [6], [5]"
    assert refusal(arm.nearest, ZERO, ZERO, ZERO, ZERO, 0.0) == "argument-time-not-positive: dt, 0"
    with refused("joint-value-not-finite", quantity="qd", joint="joint_4"):
        arm.nearest(ZERO, np.array([0.0, 0, 0, math.nan, 0, 0]), ZERO, ZERO, 1e-3)
    with refused("limits-joints-mismatch", given=["turn", "lift", "stretch"]):
        arm.with_limits(actuator_limits(example("rrp")))
    link, blind = arm.robot.link_names[-1], [0.0, math.nan, 0, 0, 0, 0]
    for exerted in (blind, np.array(blind), [0.0, 0, math.inf, 0, 0, 0]):
        with refused("argument-numbers-not-finite", argument=f"wrenches['{link}']"):
            arm.nearest(ZERO, ZERO, ZERO, ZERO, 0.01, {link: exerted})
    step = arm.on_path([0.0] * 6, [0.0] * 6, [0.0] * 6, [1e-3] * 6, 1e-3)  # lists are accepted as well
    assert (step.feasible, step.qd.tolist()) == (True, [1e-3] * 6)


@pytest.mark.parametrize(("name", "effort"), [("sr400", 2000.0), ("palletizer", 2000.0), ("five_bar", 100.0)])
def test_robots_with_loops_move_by_their_actuated_joints(name: str, effort: float) -> None:
    robot = loop_robot(name)
    limit = ActuatorLimit(curve=TorqueSpeedCurve((0.0, 1.0), (effort, 0.5 * effort)), velocity=3.0)
    steps = Feasibility(robot, actuator_limits(robot, dict.fromkeys(robot.coordinate_names, limit)))
    reference = dyn_core.loop_report(robot).reference
    q = np.array([reference[joint] for joint in robot.coordinate_names])
    qd = np.full(robot.dof, 0.1)
    step = steps.nearest(q, qd, q, qd + 1.0, 1e-3)
    assert not step.feasible
    needed = dyn_core.compile_model(robot).inverse_dynamics(q, qd, step.qdd)
    np.testing.assert_allclose(step.torques, needed, rtol=1e-9, atol=1e-9 * np.abs(needed).max())
    assert np.abs(needed).max() <= effort * 0.95 * (1.0 + 1e-9)
    path = steps.on_path(q, qd, q, qd + 1.0, 1e-3)
    np.testing.assert_allclose(path.qd, path.part * (qd + 1.0))
