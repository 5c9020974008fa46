# SPDX-License-Identifier: Apache-2.0
"""Steps that actuators can make: limits kept, beside Pinocchio; the fastest of a search; no better by LP."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from random_case import Case, random_case
from scipy.optimize import LinearConstraint, linprog, minimize

import dyn_core
from dyn_core.core.errors import DynError
from dyn_core.feasibility.actuator_limits import (
    ActuatorLimit,
    ActuatorLimits,
    actuator_limits,
    described_limit,
)
from dyn_core.feasibility.feasible_step import FeasibleStep
from dyn_core.feasibility.step_feasibility import Feasibility
from dyn_core.feasibility.torque_speed_curve import TorqueSpeedCurve

BEYOND = 1e-9
"""By how much a limit may be exceeded, of the size of what is limited."""
LIMITS, STATES = 20, 125
"""Random limits of each robot, and random states for each of these: 10 000 for four robots."""
SEEDS = ((1, 2), (2, 4), (3, 6), (5, 6))


@dataclass(frozen=True)
class Given:
    """A state and a wish."""

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
        self.case = case
        self.Fv, self.Fs, self.Fo = np.array(
            [(j.friction.Fv, j.friction.Fs, j.friction.Fo) for j in case.robot.joints]
        ).T

    def __call__(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        rigid = self.case.oracle.inverse_dynamics(q, qd, qdd, self.case.wrenches)
        drive = self.case.rotor_inertias * qdd + self.Fv * qd + self.Fs * np.sign(qd) + self.Fo
        return rigid + drive

    def affine(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        H = self(q, qd, np.zeros(len(q)))
        return np.array([self(q, qd, unit) - H for unit in np.eye(len(q))]).T, H


def random_limits(random: np.random.Generator, case: Case) -> ActuatorLimits:
    """Limits of which some joints have none, some curves, some limits of power."""
    given = {}
    for name in case.robot.coordinate_names:
        hold = float(random.uniform(5.0, 300.0))
        speeds = (0.0, *np.cumsum(random.uniform(0.2, 2.0, random.integers(0, 3))).tolist())
        efforts = tuple(sorted((hold * random.uniform(0.2, 1.0, len(speeds))).tolist(), reverse=True))
        given[name] = ActuatorLimit(
            lower=-float(random.uniform(0.0, 3.0)) if random.random() < 0.8 else -math.inf,
            upper=float(random.uniform(0.0, 3.0)) if random.random() < 0.8 else math.inf,
            velocity=float(random.uniform(0.3, 3.0)) if random.random() < 0.8 else math.inf,
            curve=TorqueSpeedCurve(speeds, efforts)
            if random.random() < 0.8
            else TorqueSpeedCurve.constant(math.inf),
            power=float(random.uniform(5.0, 200.0)) if random.random() < 0.5 else math.inf,
            braking_power=float(random.uniform(5.0, 200.0)) if random.random() < 0.3 else math.inf,
        )
    return actuator_limits(case.robot, given)


def random_given(random: np.random.Generator, limits: ActuatorLimits) -> Given:
    """States in the range and outside of it, slow and fast, and wishes near and far."""
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


def worst(limits: ActuatorLimits, torques: Torques, given: Given, step: FeasibleStep) -> tuple[float, float]:
    """By how much torques and powers are exceeded, and positions and speeds, in parts of their sizes."""
    u = torques(given.q, given.qd, step.qdd)
    effort = np.array(
        [
            np.interp(abs(v), limit.curve.speeds, limit.curve.efforts)
            for v, limit in zip(given.qd, limits.of_joints, strict=True)
        ]
    )
    scale = 1.0 + float(np.abs(u).max())
    acting = max(
        float((np.abs(u) - effort).max()),
        float((u * given.qd - limits.power).max()),
        float((-u * given.qd - limits.braking_power).max()),
    )
    fastest = np.maximum(limits.velocity, np.abs(given.qd))
    moving = max(
        float((np.abs(step.qd) - fastest).max()),
        float((step.q - np.maximum(limits.upper, given.q)).max()),
        float((np.minimum(limits.lower, given.q) - step.q).max()),
    )
    return acting / scale, moving


def polyhedron(
    limits: ActuatorLimits, torques: Torques, given: Given
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """All limits as ``low <= M qdd <= high``, and M and H of the torques."""
    A, H = torques.affine(given.q, given.qd)
    n, dt = len(H), given.dt
    effort = np.array(
        [
            np.interp(abs(v), limit.curve.speeds, limit.curve.efforts)
            for v, limit in zip(given.qd, limits.of_joints, strict=True)
        ]
    )
    with np.errstate(divide="ignore"):
        give, take = limits.power / np.abs(given.qd), limits.braking_power / np.abs(given.qd)
    most = np.minimum(effort, np.where(given.qd > 0.0, give, take))
    least = -np.minimum(effort, np.where(given.qd > 0.0, take, give))
    fastest = np.maximum(limits.velocity, np.abs(given.qd))
    straight = given.q + dt * given.qd
    upper, lower = np.maximum(limits.upper, given.q), np.minimum(limits.lower, given.q)
    low = np.maximum((-fastest - given.qd) / dt, 2.0 * (lower - straight) / dt**2)
    high = np.minimum((fastest - given.qd) / dt, 2.0 * (upper - straight) / dt**2)
    return (
        np.concatenate((A, np.eye(n))),
        np.concatenate((least - H, low)),
        np.concatenate((most - H, high)),
        H,
    )


@pytest.fixture(scope="module", params=SEEDS, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    seed, joints = request.param
    return random_case(seed, joints, massless_leaves=False)


@pytest.fixture(scope="module")
def steps(case: Case) -> Feasibility:
    random = np.random.default_rng(7)
    limits = random_limits(random, case)
    while limits.points < 3:
        limits = random_limits(random, case)
    return Feasibility(case.robot, limits)


def test_limits_are_kept_and_a_feasible_wish_is_unchanged(case: Case, steps: Feasibility) -> None:
    random = np.random.default_rng(11)
    torques = Torques(case)
    seen = {"feasible": 0, "all": 0, "impossible": 0, "path": 0, "no path": 0}
    for _ in range(LIMITS):
        limits = random_limits(random, case)
        one = steps.with_limits(limits)
        for _ in range(STATES):
            given = random_given(random, limits)
            args = (given.q, given.qd, given.q_next, given.qd_next, given.dt, case.wrenches)
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


def test_the_step_along_the_path_is_the_fastest_of_a_search(case: Case, steps: Feasibility) -> None:
    """The part is at least that of a search through all parts, and a little more is too much."""
    random = np.random.default_rng(12)
    torques = Torques(case)
    parts = np.linspace(0.0, 1.0, 4001)
    found = 0
    for _ in range(800):
        limits = random_limits(random, case)
        given = random_given(random, limits)
        one = steps.with_limits(limits)
        step = one.on_path(given.q, given.qd, given.q_next, given.qd_next, given.dt, case.wrenches)
        if step.feasible:
            continue
        M, low, high, _ = polyhedron(limits, torques, given)
        qdd = (parts[:, None] * given.qd_next - given.qd) / given.dt
        values = qdd @ M.T
        room = 1e-9 * (1.0 + np.abs(values).max(axis=1))
        allowed = ((values >= low - room[:, None]) & (values <= high + room[:, None])).all(axis=1)
        best = parts[allowed].max(initial=-1.0)
        if math.isnan(step.part):
            strictly = ((values >= low + room[:, None]) & (values <= high - room[:, None])).all(axis=1)
            assert not strictly.any()
            continue
        found += 1
        assert best <= step.part + 1e-9
        assert step.part <= 1.0
        # Up to the next of the search: the interval may be shorter than the distance between two of them.
        assert step.part - best < 1.01 / 4000 or not allowed.any()
        np.testing.assert_allclose(step.qd, step.part * given.qd_next, rtol=0, atol=1e-12)
    assert found > 30


def test_no_step_keeps_all_limits_where_it_says_so(case: Case, steps: Feasibility) -> None:
    """Linear programming finds none either; where there are some, it is the nearest of all torques."""
    random = np.random.default_rng(13)
    torques = Torques(case)
    none = moved = 0
    while none + moved < 60:
        limits = random_limits(random, case)
        given = random_given(random, limits)
        one = steps.with_limits(limits)
        step = one.nearest(given.q, given.qd, given.q_next, given.qd_next, given.dt, case.wrenches)
        if step.feasible:
            continue
        M, low, high, H = polyhedron(limits, torques, given)
        n = len(H)
        allowed = np.clip(given.wished, low[n:], high[n:]) if (low[n:] <= high[n:]).all() else given.wished
        wished = M[:n] @ allowed + H
        cut = np.clip(wished, low[:n] + H, high[:n] + H)
        qdd = np.linalg.solve(M[:n], cut - H)
        if not step.possible:
            none += 1
            finite = np.isfinite(np.concatenate((high, -low)))
            done = linprog(
                np.zeros(n),
                A_ub=np.concatenate((M, -M))[finite],
                b_ub=np.concatenate((high, -low))[finite],
                bounds=(None, None),
            )
            assert done.status == 2
            np.testing.assert_allclose(step.torques, cut, rtol=1e-9, atol=1e-9 * np.abs(wished).max())
        elif (qdd > high[n:] + 1e-6).any() or (qdd < low[n:] - 1e-6).any():
            moved += 1
            full = np.where(np.isfinite(high[:n] - low[:n]), high[:n] - low[:n], 1.0)
            ours = float((((step.torques - wished) / full) ** 2).sum())
            A_inverse = np.linalg.inv(M[:n])
            bounded = np.isfinite(low) | np.isfinite(high)
            in_y = (M @ A_inverse * full)[bounded]
            offset = (M @ A_inverse @ (wished - H))[bounded]
            done = minimize(
                lambda y: float(y @ y),
                np.zeros(n),
                jac=lambda y: 2.0 * y,
                method="SLSQP",
                constraints=[LinearConstraint(in_y, low[bounded] - offset, high[bounded] - offset)],
            )
            if done.success:
                assert ours <= done.fun * (1.0 + 1e-6) + 1e-12
        else:
            np.testing.assert_allclose(step.torques, cut, rtol=1e-9, atol=1e-9 * np.abs(wished).max())
    assert none > 5


RX90 = Path(__file__).resolve().parents[3] / "config" / "robots" / "rx90.urdf"


@pytest.fixture(scope="module")
def arm() -> Feasibility:
    return Feasibility(dyn_core.load_robot(RX90))


def test_it_says_which_joint_asks_for_how_much_of_what(arm: Feasibility) -> None:
    n, dt = arm.robot.dof, 1e-3
    zero = np.zeros(n)
    wish = zero.copy()
    wish[0] = 0.1
    step = arm.nearest(zero, zero, zero, wish, dt)
    needed = dyn_core.compile_model(arm.robot).inverse_dynamics(zero, zero, wish / dt)[0]
    (excess,) = step.asked
    assert (excess.joint, excess.quantity, excess.unit) == ("joint_1", "effort", "N m")
    assert excess.value == pytest.approx(needed, rel=1e-12)
    assert excess.amount == pytest.approx(needed - 320.0, rel=1e-12)
    assert excess.sentence == (
        f"joint 'joint_1' asks for the effort {needed:.4g} N m, {needed - 320.0:.3g} N m beyond its limit of "
        "320 N m"
    )
    assert step.left == ()
    assert step.outside == ()
    with pytest.raises(ValueError, match="read-only"):
        step.qd[0] = 0.0


def test_positions_that_velocities_do_not_lead_to(case: Case, steps: Feasibility) -> None:
    """They can be had where the joints can accelerate half of the time towards them, and brake as long."""
    random = np.random.default_rng(14)
    torques = Torques(case)
    seen = {True: 0, False: 0}
    for _ in range(2000):
        limits = random_limits(random, case)
        given = random_given(random, limits)
        one = steps.with_limits(limits)
        h, catch_up = given.dt, float(random.choice([1.0, 3.0])) * given.dt
        size = float(random.choice([1e-7, 1e-6, 1e-4, 1e-2]))
        x = size * random.normal(size=len(given.q))
        band = 0.5 * h * np.abs(given.qd_next - given.qd)
        q_next = given.q_next + x + np.copysign(band + 1e-9, x)
        step = one.nearest(given.q, given.qd, q_next, given.qd_next, h, case.wrenches, catch_up=catch_up)
        M, low, high, _ = polyhedron(limits, torques, given)
        n = len(x)
        # Ranges and speeds are not those of the two halves, but of the whole step.
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
def test_a_position_that_jumps_is_not_feasible(arm: Feasibility, dt: float) -> None:
    """Velocities of 0, or in another unit, hide no jump."""
    zero = np.zeros(arm.robot.dof)
    there = zero.copy()
    there[0] = 0.1
    for step in (arm.nearest(zero, zero, there, zero, dt), arm.on_path(zero, zero, there, zero, dt)):
        assert not step.feasible
        assert step.possible
        np.testing.assert_array_equal(step.q, zero)
        speed = next(e for e in step.asked if (e.joint, e.quantity) == ("joint_1", "velocity"))
        assert speed.value == pytest.approx(0.2 / dt, rel=1e-6)
        assert speed.sentence.endswith(", to be where its velocities do not lead")
    assert arm.on_path(zero, zero, there, zero, dt).part == 1.0
    assert arm.nearest(zero, zero, there, zero, dt, catch_up=10.0).feasible
    with pytest.raises(ValueError, match=r"catch_up: expected a finite time > 0, but it is 0\.0"):
        arm.nearest(zero, zero, there, zero, dt, catch_up=0.0)


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0], ids=["explicit", "constant acceleration", "semi-implicit"])
def test_positions_by_all_usual_rules_belong_to_their_velocities(arm: Feasibility, place: float) -> None:
    random = np.random.default_rng(15)
    for _ in range(50):
        q, qd = 0.3 * random.normal(size=6), 0.3 * random.normal(size=6)
        qd_next, dt = qd + 1e-3 * random.normal(size=6), 1e-3
        q_next = q + dt * ((1.0 - place) * qd + place * qd_next)
        assert arm.nearest(q, qd, q_next, qd_next, dt).feasible


def test_wrenches_of_any_link_and_kind(arm: Feasibility) -> None:
    """Arrays of child links take another way than lists, and links that are fixed to others."""
    robot = arm.robot
    random = np.random.default_rng(16)
    q, qd, dt = random.normal(size=6), 0.1 * random.normal(size=6), 1e-3
    model = dyn_core.compile_model(robot)
    for link in robot.link_names:
        wrench = random.normal(size=6)
        step = arm.nearest(q, qd, q + dt * qd, qd, dt, {link: wrench})
        needed = model.inverse_dynamics(q, qd, 0.0 * q, {link: wrench.tolist()})
        assert step.feasible
        np.testing.assert_allclose(step.torques, needed, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match=r"wrenches\['.*'\]: expected the shape \(6,\)"):
        arm.nearest(q, qd, q + dt * qd, qd, dt, {robot.link_names[-1]: np.zeros(5)})
    with pytest.raises(DynError, match="has no link 'nowhere'"):
        arm.nearest(q, qd, q + dt * qd, qd, dt, {"nowhere": np.zeros(6)})


def test_a_step_that_leads_out_of_range_says_so(arm: Feasibility) -> None:
    """The wished position is within it; the one that the velocities lead to is not."""
    n, dt = arm.robot.dof, 1e-3
    q, qd = np.zeros(n), np.zeros(n)
    q[0] = arm.limits.upper[0] - 2e-5
    qd[0], q_next = 0.02, q.copy()
    q_next[0] = arm.limits.upper[0]
    qd_next = qd.copy()
    qd_next[0] = 0.04
    step = arm.nearest(q, qd, q_next, qd_next, dt)
    assert not step.feasible
    assert [(e.joint, e.quantity) for e in step.asked] == [("joint_1", "position")]
    assert step.asked[0].amount == pytest.approx(1e-5, rel=1e-6)


def test_a_joint_outside_of_its_limits_goes_no_further(arm: Feasibility) -> None:
    """The stated reaction to a start outside: back is allowed, further out is not."""
    n, dt = arm.robot.dof, 4e-3
    q, zero, wish = np.zeros(n), np.zeros(n), np.zeros(n)
    q[2] = arm.limits.upper[2] + 0.1
    wish[2] = 0.02
    further = arm.on_path(q, zero, q + 0.5 * dt * wish, wish, dt)
    assert not further.feasible
    assert further.possible
    assert further.q[2] <= q[2]
    (out,) = further.outside
    assert (out.joint, out.quantity, round(out.amount, 12)) == ("joint_3", "position", 0.1)
    back = arm.on_path(q, zero, q - 0.5 * dt * wish, -wish, dt)
    assert back.feasible
    assert back.qd[2] == -0.02
    fast = zero.copy()
    fast[0] = arm.limits.velocity[0] + 0.5
    slower = arm.nearest(zero, fast, fast * dt, fast - 0.01, dt)
    assert {excess.quantity for excess in slower.outside} == {"velocity"}
    assert slower.qd[0] <= fast[0]


def test_an_arm_that_cannot_hold_itself_falls_and_says_so() -> None:
    robot = dyn_core.load_robot(RX90)
    weak = replace(described_limit(robot, "joint_2"), curve=TorqueSpeedCurve.constant(50.0))
    steps = Feasibility(robot, actuator_limits(robot, {"joint_2": weak}))
    q, zero = np.zeros(robot.dof), np.zeros(robot.dof)
    q[2] = 1.5
    step = steps.on_path(q, zero, q, zero, 1e-3)
    assert not step.feasible
    assert math.isnan(step.part)
    assert [(excess.joint, excess.quantity, excess.limit) for excess in step.asked] == [
        ("joint_2", "effort", 50.0)
    ]
    assert abs(step.torques[1]) == pytest.approx(50.0, abs=1e-9)
    assert step.qdd[1] != 0.0


def test_arguments_that_cannot_be_used(arm: Feasibility) -> None:
    zero = np.zeros(arm.robot.dof)
    with pytest.raises(ValueError, match=r"q_next: expected the shape \(6,\), but it has \(5,\)"):
        arm.nearest(zero, zero, zero[:5], zero, 1e-3)
    with pytest.raises(ValueError, match=r"dt: expected a finite time > 0, but it is 0\.0"):
        arm.nearest(zero, zero, zero, zero, 0.0)
    blind = zero.copy()
    blind[3] = math.nan
    with pytest.raises(ValueError, match="the qd of joint 'joint_4' is nan: it has to be finite"):
        arm.nearest(zero, blind, zero, zero, 1e-3)
    other = dyn_core.load_robot(RX90.with_name("rrp.urdf"))
    with pytest.raises(DynError, match=r"the limits are those of 'turn', 'lift', 'stretch', but the joints"):
        arm.with_limits(actuator_limits(other))


def test_lists_do_as_well(arm: Feasibility) -> None:
    zero, wish = [0.0] * 6, [1e-3] * 6
    step = arm.on_path(zero, zero, zero, wish, 1e-3)
    assert step.feasible
    assert step.qd.tolist() == wish


@pytest.mark.parametrize(("name", "effort"), [("sr400", 2000.0), ("palletizer", 2000.0), ("five_bar", 100.0)])
def test_robots_with_loops_move_by_their_actuated_joints(name: str, effort: float) -> None:
    folder = RX90.parent
    robot = dyn_core.load_robot(folder / f"{name}.urdf", loops=folder / f"{name}.yaml")
    model = dyn_core.compile_model(robot)
    given = {
        joint: ActuatorLimit(curve=TorqueSpeedCurve((0.0, 1.0), (effort, 0.5 * effort)), velocity=3.0)
        for joint in robot.coordinate_names
    }
    steps = Feasibility(robot, actuator_limits(robot, given))
    reference = dyn_core.loop_report(robot).reference
    q = np.array([reference[joint] for joint in robot.coordinate_names])
    qd = np.full(robot.dof, 0.1)
    step = steps.nearest(q, qd, q, qd + 1.0, 1e-3)
    assert not step.feasible
    needed = model.inverse_dynamics(q, qd, step.qdd)
    np.testing.assert_allclose(step.torques, needed, rtol=1e-9, atol=1e-9 * np.abs(needed).max())
    assert np.abs(needed).max() <= effort * 0.95 * (1.0 + 1e-9)
    path = steps.on_path(q, qd, q, qd + 1.0, 1e-3)
    np.testing.assert_allclose(path.qd, path.part * (qd + 1.0))


def test_wrenches_that_are_not_finite_are_named() -> None:
    robot = dyn_core.load_robot(Path(__file__).resolve().parents[3] / "config" / "robots" / "rx90.urdf")
    steps, zero = dyn_core.Feasibility(robot), np.zeros(6)
    link = robot.link_names[-1]
    for exerted in (
        np.array([0.0, np.nan, 0, 0, 0, 0]),
        [0.0, np.nan, 0, 0, 0, 0],
        [0.0, 0, np.inf, 0, 0, 0],
    ):
        with pytest.raises(ValueError, match=rf"wrenches\['{link}'\]: expected finite numbers, but they are"):
            steps.nearest(zero, zero, zero, zero, 0.01, {link: exerted})
