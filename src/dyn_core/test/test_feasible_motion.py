# SPDX-License-Identifier: Apache-2.0
"""Whole motions: time scaling against a search, motor and bearing loads against Pinocchio."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from depth import some
from pinocchio_oracle import Oracle
from robots import ROBOTS, example, loop_robot
from test_feasible_steps import efforts

import dyn_core
from dyn_core import ActuatorLimit, ActuatorLimits, Robot, SampledMotion, TorqueSpeedCurve, actuator_limits
from dyn_core.feasibility.actuator_limits import described_limit
from dyn_core.feasibility.assessment import Assessment, assess_motion, rms
from dyn_core.feasibility.limit_violations import RatedTorques, greatest_rate
from dyn_core.feasibility.trajectory_governor import ReferencePositions

RX90 = ROBOTS / "rx90.urdf"
AXES = (2, 1, 1, 2, 1, 2)
"""Axis of its link that each joint of RX90.urdf turns about, in either direction."""
AMPLITUDES = np.array([1.0, 0.5, 0.5, 1.0, 1.0, 2.0])


def there_and_back(start, size, duration: float, samples: int = 301) -> SampledMotion:
    t, w, half = np.linspace(0.0, duration, samples), 2.0 * math.pi / duration, 0.5 * size
    cosine, sine = np.cos(w * t)[:, None], np.sin(w * t)[:, None]
    return SampledMotion(t, start + half * (1.0 - cosine), half * w * sine, half * w * w * cosine)


def motion(rate: float = 1.0) -> SampledMotion:
    """A motion there and back of all joints, in 2 s at rate 1."""
    return there_and_back(0.3, AMPLITUDES, 2.0 / rate)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return dyn_core.load_robot(RX90, loops=ROBOTS / "rx90.yaml")


@pytest.fixture(scope="module")
def fast(robot: Robot) -> Assessment:
    return assess_motion(robot, motion(4.0))


def needed(model: dyn_core.Model, motion: SampledMotion) -> np.ndarray:
    return model.inverse_dynamics(motion.q, motion.qd, motion.qdd)


def within(limits: ActuatorLimits, qd: np.ndarray, u: np.ndarray, room: float = 1e-9) -> bool:
    """Whether all limits are kept, by independent code."""
    more, slow = 1.0 + room, np.abs(qd) <= limits.velocity * (1.0 + room)
    loads = ((np.abs(u), efforts(limits, qd)), (u * qd, limits.power), (-u * qd, limits.braking_power))
    return bool(slow.all()) and all((load <= limit * more + room).all() for load, limit in loads)


def test_the_time_scaling_is_the_smallest_feasible_one(robot: Robot, fast: Assessment) -> None:
    slow = assess_motion(robot, motion(0.2))
    assert (slow.feasible, slow.factor, slow.failures) == (True, 1.0, ())
    assert fast.factor > 1.2
    model = dyn_core.compile_model(robot)

    def kept(factor: float) -> bool:
        slower = fast.motion.slower(factor)
        return within(fast.limits, slower.qd, needed(model, slower))

    assert kept(fast.factor)
    assert not any(kept(factor) for factor in np.linspace(1.0, fast.factor * (1.0 - 1e-6), 200))
    again = assess_motion(robot, fast.slower)
    assert again.feasible
    np.testing.assert_allclose(again.torques, fast.slower_torques, rtol=1e-9, atol=1e-9)


HURRIED = (1e2, 1e4, 1e6)


@pytest.mark.parametrize("hurry", HURRIED)
def test_the_scaled_motion_does_not_depend_on_the_initial_duration(robot: Robot, hurry: float) -> None:
    """Torques that are `hurry`^2 as large do not hide gravity and Coulomb friction."""
    curve = TorqueSpeedCurve((0.0, 1.0, 3.0), (320.0, 300.0, 120.0))
    by_hand = {
        "joint_1": replace(described_limit(robot, "joint_1"), power=150.0, braking_power=90.0),
        "joint_2": replace(described_limit(robot, "joint_2"), curve=curve, power=200.0),
    }
    model = dyn_core.compile_model(robot)
    for given in ({}, by_hand):
        limits = actuator_limits(robot, given)
        expected = assess_motion(robot, motion(4.0), limits).factor
        found = assess_motion(robot, motion(4.0).slower(1.0 / hurry), limits)
        assert found.factor == pytest.approx(hurry * expected, rel=1e-12)
        torques = needed(model, found.slower)
        np.testing.assert_allclose(found.slower_torques, torques, rtol=1e-11, atol=1e-9)
        assert within(limits, found.slower.qd, torques)


def test_torques_of_a_much_too_fast_motion_agree_with_the_model(robot: Robot) -> None:
    """Both at high speed and where it reverses and hardly moves."""
    wild = motion(4.0).slower(1e-6)
    wild.qdd[0] = 0.0
    expected = needed(dyn_core.compile_model(robot), wild)
    np.testing.assert_allclose(assess_motion(robot, wild).torques, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", some(range(60), *range(0, 60, 5)))
def test_the_greatest_rate_agrees_with_a_search(seed: int) -> None:
    """Random torques that fall and rise with the rate, curves with steps down, and power limits."""
    random = np.random.default_rng(seed)
    m, n = 8, 3
    qd = random.normal(size=(m, n)) * random.choice([0.0, 1.0], (m, n), p=[0.1, 0.9])
    a, b, c = (random.normal(size=(m, n)) * size for size in (3.0, 1.0, 0.4))
    of_joints = []
    for _ in range(n):
        speeds = (0.0, *np.cumsum(random.uniform(0.1, 0.8, random.integers(0, 4))).tolist())
        efforts = tuple(random.uniform(0.8, 3.0, len(speeds)).tolist())
        of_joints.append(
            ActuatorLimit(
                velocity=float(random.uniform(0.8, 3.0)),
                curve=TorqueSpeedCurve(speeds, efforts),
                power=float(random.uniform(0.3, 3.0)) if random.random() < 0.6 else math.inf,
                braking_power=float(random.uniform(0.3, 3.0)) if random.random() < 0.6 else math.inf,
            )
        )
    limits = ActuatorLimits(("a", "b", "c"), tuple(of_joints), ("rad",) * n, ("N m",) * n)
    rated = RatedTorques(a, b, c)
    found = greatest_rate(limits, qd, rated).rate
    rates = np.linspace(1e-3, 1.0, 20001)
    best = max((r for r in rates if within(limits, r * qd, rated.at(r), 0.0)), default=0.0)
    if found:
        assert within(limits, found * qd, rated.at(found), 3e-9)
    assert best <= found * (1.0 + 1e-9)
    # The search cannot see changes between two of its rates.
    assert found - best < 1.01 * (rates[1] - rates[0]) or not best or isolated(limits, qd, rated, found)


def isolated(limits: ActuatorLimits, qd: np.ndarray, rated: RatedTorques, rate: float) -> bool:
    """Whether rates just below a feasible one are infeasible, so that a search may have missed it."""
    below = rate - np.linspace(0.0, 1e-4, 200)
    return not all(within(limits, r * qd, rated.at(r), 1e-9) for r in below)


def test_failures_have_joint_time_and_excess(robot: Robot, fast: Assessment) -> None:
    torque = np.abs(needed(dyn_core.compile_model(robot), fast.motion)[:, 0])
    first = next(f for f in fast.failures if (f.excess.joint, f.excess.quantity) == ("joint_1", "effort"))
    begin = int(np.flatnonzero(torque > 320.0)[0])
    end = begin + int(np.flatnonzero(torque[begin:] <= 320.0)[0])
    assert (first.begin, first.end) == (fast.motion.times[begin], fast.motion.times[end - 1])
    greatest = torque[begin:end].max()
    assert abs(first.excess.value) == pytest.approx(greatest, rel=1e-12)
    assert first.excess.amount == pytest.approx(greatest - 320.0, rel=1e-9)
    assert "'joint_1'" in first.sentence


def test_motor_loads_agree_with_the_torques(robot: Robot, fast: Assessment) -> None:
    times = fast.motion.times
    for j, load in enumerate(fast.motors):
        torque, speed = fast.torques[:, j], fast.motion.qd[:, j]
        assert (load.peak_effort, load.peak_speed) == (np.abs(torque).max(), np.abs(speed).max())
        power = torque * speed
        assert (load.peak_power, load.peak_braking_power, load.power_use) == (power.max(), -power.min(), 0.0)
        limit = robot.joints[j].limits
        assert load.effort_use == pytest.approx(load.peak_effort / limit.effort)
        assert load.speed_use == pytest.approx(load.peak_speed / limit.velocity)
        fine = np.interp(np.linspace(0.0, times[-1], 200_001), times, torque)
        assert load.rms_effort == pytest.approx(math.sqrt(float((fine**2).mean())), rel=1e-4)
    t = np.sort(np.random.default_rng(0).uniform(0.0, 2.0 * math.pi, 4000))
    t[0], t[-1] = 0.0, 2.0 * math.pi
    assert rms(t, np.sin(t)[:, None])[0] == pytest.approx(math.sqrt(0.5), rel=1e-4)


def test_bearing_loads_agree_with_pinocchio(robot: Robot, fast: Assessment) -> None:
    oracle, wrenches = Oracle(RX90.read_text(), robot.joint_names, (0.0, 0.0, -9.81)), []
    for q, qd, qdd in zip(fast.motion.q, fast.motion.qd, fast.motion.qdd, strict=True):
        oracle.inverse_dynamics(q, qd, qdd, {})
        wrenches.append([oracle.joint_wrench(name, oracle.carried_link(name)) for name in robot.joint_names])
    through = np.array(wrenches)
    for j, (load, along) in enumerate(zip(fast.bearings, AXES, strict=True)):
        across = [k for k in range(3) if k != along]
        force, moment = through[:, j, :3], through[:, j, 3:]
        assert load.axial_force == pytest.approx(np.abs(force[:, along]).max(), rel=1e-8)
        assert load.radial_force == pytest.approx(np.linalg.norm(force[:, across], axis=1).max(), rel=1e-8)
        tilting = np.linalg.norm(moment[:, across], axis=1)
        assert load.tilting_moment == pytest.approx(tilting.max(), rel=1e-8)
        assert load.axial_moment == 0.0
        assert load.time == fast.motion.times[np.linalg.norm(force, axis=1).argmax()]


def test_bearing_loads_include_wrenches_but_not_the_force_along_a_prismatic_joint(robot: Robot) -> None:
    still, of_three = (SampledMotion(np.arange(3.0), *(np.zeros((3, n)) for _ in range(3))) for n in (6, 3))
    wrench = {robot.link_names[-1]: [0.0, 0.0, 500.0, 0.0, 0.0, 0.0]}
    found = assess_motion(robot, still, wrenches=wrench)
    expected = dyn_core.compile_model(robot).inverse_dynamics(still.q, still.qd, still.qdd, wrench)
    np.testing.assert_allclose(found.torques, expected, rtol=1e-12, atol=1e-9)
    rrp = example("rrp")
    for joint, load in zip(rrp.joints, assess_motion(rrp, of_three).bearings, strict=True):
        assert (load.axial_force == 0.0) == (joint.sigma == 1) or load.axial_force < 1e-9


def test_no_duration_helps_outside_the_range_or_against_gravity(robot: Robot) -> None:
    out = motion(0.2)
    far = replace(out, q=out.q + np.array([3.0, 0, 0, 0, 0, 0]))
    weak = actuator_limits(robot, {"joint_2": ActuatorLimit(curve=TorqueSpeedCurve.constant(40.0))})
    for found, words in (
        (assess_motion(robot, far), ("'joint_1'", "4.3 rad", "1.51 rad")),
        (assess_motion(robot, out, weak), ("'joint_2'", "effort", "40 N m")),
    ):
        assert found.factor is found.slower is None
        assert all(word in found.blocked for word in words)


@pytest.mark.parametrize("name", some(["sr400", "five_bar"], "five_bar"))
def test_robots_with_loops_agree_with_the_model(name: str) -> None:
    """Torques at any rate agree with the model; passive joints have bearing loads, too."""
    loops = loop_robot(name)
    model = dyn_core.compile_model(loops)
    start = np.array(dyn_core.Simulator(loops).state.q)  # in the assembly
    moved = there_and_back(start, 0.2 * (np.arange(loops.dof) + 1.0) / loops.dof, 1.0, 101)
    still = model.inverse_dynamics(moved.q, 1e-9 * moved.qd, 0.0 * moved.qdd)  # with Coulomb friction
    holding, moving = (np.abs(torques).max(axis=0) for torques in (still, needed(model, moved)))
    room = np.maximum(0.5 * (holding + moving), 1.05 * holding)
    given = {
        joint: ActuatorLimit(curve=TorqueSpeedCurve.constant(float(limit)))
        for joint, limit in zip(loops.coordinate_names, room, strict=True)
    }
    found = assess_motion(loops, moved, actuator_limits(loops, given))
    assert found.factor > 1.0
    slower, less = (found.motion.slower(found.factor * part) for part in (1.0, 0.999))
    assert within(found.limits, slower.qd, needed(model, slower), 1e-7)
    assert not within(found.limits, less.qd, needed(model, less))
    assert {load.joint for load in found.bearings} == {joint.name for joint in loops.joints}
    for hurry in HURRIED:
        hurried = assess_motion(loops, found.motion.slower(1.0 / hurry), found.limits)
        assert hurried.factor == pytest.approx(hurry * found.factor, rel=1e-12)


@pytest.mark.parametrize(("period", "span"), [(0.02, 0.02), (0.004, 0.01)])
def test_mean_velocities_of_the_last_references(period: float, span: float) -> None:
    """Between two references the positions are on a line."""

    def at(t: float) -> np.ndarray:
        return np.array([math.sin(t), 2.0 * t])

    positions = ReferencePositions()
    positions.begin(5.0, at(5.0), np.zeros(2))
    times = 5.0 + period * np.arange(1, 11)
    for t in times.tolist():
        positions.append(t, at(t))
    found, before, middle, after = positions.change()
    assert found == pytest.approx(span)
    first, last = at(times[-1] - 2.0 * span), at(times[-1])
    np.testing.assert_allclose(middle, at(times[-1] - span), atol=1e-5)
    np.testing.assert_allclose(before, (middle - first) / span, atol=1e-3)
    np.testing.assert_allclose(after, (last - middle) / span, atol=1e-9)
