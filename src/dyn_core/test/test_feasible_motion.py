# SPDX-License-Identifier: Apache-2.0
"""Whole motions: time scaling beside a search, motor and bearing loads beside Pinocchio."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pinocchio_oracle import Oracle

import dyn_core
from dyn_core.feasibility.actuator_limits import (
    ActuatorLimit,
    ActuatorLimits,
    actuator_limits,
    described_limit,
)
from dyn_core.feasibility.assessment import Assessment, assess_motion
from dyn_core.feasibility.drive_torques import RatedTorques
from dyn_core.feasibility.limit_violations import greatest_rate
from dyn_core.feasibility.motor_sizing import rms
from dyn_core.feasibility.sampled_motion import SampledMotion
from dyn_core.feasibility.torque_speed_curve import TorqueSpeedCurve
from dyn_core.robot.robot import Robot

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
RX90 = ROBOTS / "rx90.urdf"
AXES = (2, 1, 1, 2, 1, 2)
"""Which axis of its link each joint of RX90.urdf turns about, either way."""
AMPLITUDES = np.array([1.0, 0.5, 0.5, 1.0, 1.0, 2.0])


def motion(rate: float = 1.0, samples: int = 301) -> SampledMotion:
    """A motion there and back of all joints, with 2 s at the rate 1."""
    t = np.linspace(0.0, 2.0 / rate, samples)
    w = math.pi * rate
    q = 0.3 + AMPLITUDES * 0.5 * (1.0 - np.cos(w * t))[:, None]
    qd = AMPLITUDES * 0.5 * w * np.sin(w * t)[:, None]
    qdd = AMPLITUDES * 0.5 * w * w * np.cos(w * t)[:, None]
    return SampledMotion(t, q, qd, qdd)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return dyn_core.load_robot(RX90, loops=ROBOTS / "rx90.yaml")


@pytest.fixture(scope="module")
def fast(robot: Robot) -> Assessment:
    return assess_motion(robot, motion(4.0))


def within(limits: ActuatorLimits, qd: np.ndarray, u: np.ndarray, room: float = 1e-9) -> bool:
    """Whether all limits are kept, written once more."""
    effort = np.stack(
        [
            np.interp(np.abs(qd[:, j]), limit.curve.speeds, limit.curve.efforts)
            for j, limit in enumerate(limits.of_joints)
        ],
        axis=1,
    )
    more = 1.0 + room
    return bool(
        (np.abs(qd) <= limits.velocity * more).all()
        and (np.abs(u) <= effort * more + room).all()
        and (u * qd <= limits.power * more + room).all()
        and (-u * qd <= limits.braking_power * more + room).all()
    )


def test_a_slow_motion_is_feasible_as_it_is(robot: Robot) -> None:
    slow = assess_motion(robot, motion(0.2))
    assert slow.feasible
    assert slow.factor == 1.0
    assert slow.failures == ()


def test_the_smallest_scaling_is_the_smallest(robot: Robot, fast: Assessment) -> None:
    assert fast.factor is not None
    assert fast.factor > 1.2
    model = dyn_core.compile_model(robot)

    def kept(factor: float) -> bool:
        slower = fast.motion.slower(factor)
        torques = model.inverse_dynamics(slower.q, slower.qd, slower.qdd)
        return within(fast.limits, slower.qd, torques)

    assert kept(fast.factor)
    assert not any(kept(factor) for factor in np.linspace(1.0, fast.factor * (1.0 - 1e-6), 200))
    assert fast.slower is not None
    assert fast.slower_torques is not None
    again = assess_motion(robot, fast.slower)
    assert again.feasible
    np.testing.assert_allclose(again.torques, fast.slower_torques, rtol=1e-9, atol=1e-9)


HURRIED = (1e2, 1e4, 1e6)


@pytest.mark.parametrize("hurry", HURRIED)
def test_the_scaling_is_the_same_of_motions_that_are_much_too_fast(robot: Robot, hurry: float) -> None:
    """What gravity and Coulomb friction ask for is not lost in torques that are `hurry`^2 as large."""
    curve = TorqueSpeedCurve((0.0, 1.0, 3.0), (320.0, 300.0, 120.0))
    by_hand = {
        "joint_1": replace(described_limit(robot, "joint_1"), power=150.0, braking_power=90.0),
        "joint_2": replace(described_limit(robot, "joint_2"), curve=curve, power=200.0),
    }
    model = dyn_core.compile_model(robot)
    for given in ({}, by_hand):
        limits = actuator_limits(robot, given)
        expected = assess_motion(robot, motion(4.0), limits).factor
        assert expected is not None
        found = assess_motion(robot, motion(4.0).slower(1.0 / hurry), limits)
        assert found.factor == pytest.approx(hurry * expected, rel=1e-12)
        slower = found.slower
        assert slower is not None
        assert found.slower_torques is not None
        torques = model.inverse_dynamics(slower.q, slower.qd, slower.qdd)
        np.testing.assert_allclose(found.slower_torques, torques, rtol=1e-11, atol=1e-9)
        assert within(limits, slower.qd, torques)


def test_the_torques_of_a_motion_that_is_much_too_fast_are_those_of_the_model(robot: Robot) -> None:
    """Where it is fast, and where it turns and hardly moves."""
    wild = motion(4.0).slower(1e-6)
    wild.qdd[0] = 0.0
    expected = dyn_core.compile_model(robot).inverse_dynamics(wild.q, wild.qd, wild.qdd)
    np.testing.assert_allclose(assess_motion(robot, wild).torques, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_the_greatest_rate_beside_a_search_for_random_torques_and_limits(seed: int) -> None:
    """Torques that fall and rise with the rate, curves with steps down, and limits of power."""
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
    names = ("a", "b", "c")
    limits = ActuatorLimits(names, tuple(of_joints), ("rad",) * n, ("N m",) * n)
    rated = RatedTorques(a, b, c)
    found = greatest_rate(limits, qd, rated)
    rates = np.linspace(1e-3, 1.0, 20001)
    best = max((r for r in rates if within(limits, r * qd, rated.at(r), 0.0)), default=0.0)
    if found.rate:
        assert within(limits, found.rate * qd, rated.at(found.rate), 3e-9)
    assert best <= found.rate * (1.0 + 1e-9)
    # What lies between two rates of the search, the search does not see.
    assert (
        found.rate - best < 1.01 * (rates[1] - rates[0])
        or best == 0.0
        or isolated(limits, qd, rated, found.rate)
    )


def isolated(limits: ActuatorLimits, qd: np.ndarray, rated: RatedTorques, rate: float) -> bool:
    """Whether some rates next below one that will do will not: a search may have stepped over it."""
    below = rate - np.linspace(0.0, 1e-4, 200)
    return not all(within(limits, r * qd, rated.at(r), 1e-9) for r in below)


def test_failures_say_where_and_by_how_much(robot: Robot, fast: Assessment) -> None:
    model = dyn_core.compile_model(robot)
    torques = model.inverse_dynamics(fast.motion.q, fast.motion.qd, fast.motion.qdd)
    over = np.abs(torques[:, 0]) > 320.0
    first = next(f for f in fast.failures if (f.excess.joint, f.excess.quantity) == ("joint_1", "effort"))
    assert first.begin == fast.motion.times[np.flatnonzero(over)[0]]
    end = int(np.flatnonzero(~over[np.flatnonzero(over)[0] :])[0]) + int(np.flatnonzero(over)[0])
    assert first.end == fast.motion.times[end - 1]
    stretch = np.abs(torques[np.flatnonzero(over)[0] : end, 0])
    assert abs(first.excess.value) == pytest.approx(stretch.max(), rel=1e-12)
    assert first.excess.amount == pytest.approx(stretch.max() - 320.0, rel=1e-9)
    assert "joint 'joint_1' asks for the effort" in first.sentence


def test_motor_loads_are_those_of_the_torques(robot: Robot, fast: Assessment) -> None:
    for j, load in enumerate(fast.motors):
        torque, speed = fast.torques[:, j], fast.motion.qd[:, j]
        assert load.peak_effort == np.abs(torque).max()
        assert load.peak_speed == np.abs(speed).max()
        assert load.peak_power == (torque * speed).max()
        assert load.peak_braking_power == -(torque * speed).min()
        limit = robot.joints[j].limits
        assert load.effort_use == pytest.approx(load.peak_effort / limit.effort)
        assert load.speed_use == pytest.approx(load.peak_speed / limit.velocity)
        assert load.power_use == 0.0
        fine = np.interp(np.linspace(0.0, fast.motion.times[-1], 200_001), fast.motion.times, torque)
        assert load.rms_effort == pytest.approx(math.sqrt(float((fine**2).mean())), rel=1e-4)


def test_root_mean_square_of_a_sine() -> None:
    t = np.sort(np.random.default_rng(0).uniform(0.0, 2.0 * math.pi, 4000))
    t[0], t[-1] = 0.0, 2.0 * math.pi
    assert rms(t, np.sin(t)[:, None])[0] == pytest.approx(math.sqrt(0.5), rel=1e-4)


def test_bearing_loads_are_those_of_pinocchio(robot: Robot, fast: Assessment) -> None:
    oracle = Oracle(RX90.read_text(), robot.joint_names, (0.0, 0.0, -9.81))
    wrenches = []
    for q, qd, qdd in zip(fast.motion.q, fast.motion.qd, fast.motion.qdd, strict=True):
        oracle.inverse_dynamics(q, qd, qdd, {})
        wrenches.append(
            [oracle.joint_wrench(joint.name, oracle.carried_link(joint.name)) for joint in robot.joints]
        )
    through = np.array(wrenches)
    for j, (load, along) in enumerate(zip(fast.bearings, AXES, strict=True)):
        across = [k for k in range(3) if k != along]
        force, moment = through[:, j, :3], through[:, j, 3:]
        size = np.linalg.norm(force, axis=1)
        assert load.axial_force == pytest.approx(np.abs(force[:, along]).max(), rel=1e-8)
        assert load.radial_force == pytest.approx(np.linalg.norm(force[:, across], axis=1).max(), rel=1e-8)
        tilting = np.linalg.norm(moment[:, across], axis=1)
        assert load.tilting_moment == pytest.approx(tilting.max(), rel=1e-8)
        assert load.axial_moment == 0.0
        assert load.time == fast.motion.times[size.argmax()]


def test_the_actuator_of_a_prismatic_joint_takes_the_force_along_it() -> None:
    rrp = dyn_core.load_robot(ROBOTS / "rrp.urdf")
    still = SampledMotion(np.arange(3.0), *(np.zeros((3, 3)) for _ in range(3)))
    found = assess_motion(rrp, still)
    for joint, load in zip(rrp.joints, found.bearings, strict=True):
        assert (load.axial_force == 0.0) == (joint.sigma == 1) or load.axial_force < 1e-9


def test_wrenches_count(robot: Robot) -> None:
    still = SampledMotion(np.arange(3.0), *(np.zeros((3, 6)) for _ in range(3)))
    wrench = {robot.link_names[-1]: [0.0, 0.0, 500.0, 0.0, 0.0, 0.0]}
    model = dyn_core.compile_model(robot)
    found = assess_motion(robot, still, wrenches=wrench)
    expected = model.inverse_dynamics(still.q, still.qd, still.qdd, wrench)
    np.testing.assert_allclose(found.torques, expected, rtol=1e-12, atol=1e-9)


def test_no_time_will_do_where_the_motion_leaves_the_range_or_gravity_wins(robot: Robot) -> None:
    out = motion(0.2)
    far = SampledMotion(out.times, out.q + np.array([3.0, 0, 0, 0, 0, 0]), out.qd, out.qdd)
    found = assess_motion(robot, far)
    assert found.factor is None
    assert found.slower is None
    assert found.blocked.startswith(
        "joint 'joint_1' asks for the position 4.3 rad, 1.51 rad beyond its limit"
    )
    limits = actuator_limits(robot, {"joint_2": ActuatorLimit(curve=TorqueSpeedCurve.constant(40.0))})
    heavy = assess_motion(robot, out, limits)
    assert heavy.factor is None
    assert "joint 'joint_2' asks for the effort" in heavy.blocked
    assert heavy.blocked.endswith("beyond its limit of 40 N m, however slowly it moves")


@pytest.mark.parametrize("name", ["sr400", "five_bar"])
def test_loops(name: str) -> None:
    """Torques at any rate are those of the model at that rate; passive joints have bearings, too."""
    loops = dyn_core.load_robot(ROBOTS / f"{name}.urdf", loops=ROBOTS / f"{name}.yaml")
    model = dyn_core.compile_model(loops)
    start = assembly(loops)
    t = np.linspace(0.0, 1.0, 101)
    n = loops.dof
    shape = 0.2 * (np.arange(n) + 1.0) / n
    w = 2.0 * math.pi
    q = start + shape * 0.5 * (1.0 - np.cos(w * t))[:, None]
    qd = shape * 0.5 * w * np.sin(w * t)[:, None]
    qdd = shape * 0.5 * w * w * np.cos(w * t)[:, None]
    still = model.inverse_dynamics(q, 1e-9 * qd, 0.0 * qdd)  # with Coulomb friction
    moving = model.inverse_dynamics(q, qd, qdd)
    between = 0.5 * (np.abs(still).max(axis=0) + np.abs(moving).max(axis=0))
    room = np.maximum(between, 1.05 * np.abs(still).max(axis=0))
    given = {
        joint: ActuatorLimit(curve=TorqueSpeedCurve.constant(float(limit)))
        for joint, limit in zip(loops.coordinate_names, room, strict=True)
    }
    found = assess_motion(loops, SampledMotion(t, q, qd, qdd), actuator_limits(loops, given))
    assert found.factor is not None
    slower = found.motion.slower(found.factor)
    torques = model.inverse_dynamics(slower.q, slower.qd, slower.qdd)
    assert within(found.limits, slower.qd, torques, 1e-7)
    assert found.factor > 1.0
    less = found.motion.slower(found.factor * 0.999)
    assert not within(found.limits, less.qd, model.inverse_dynamics(less.q, less.qd, less.qdd))
    assert {load.joint for load in found.bearings} == {joint.name for joint in loops.joints}
    for hurry in HURRIED:
        hurried = assess_motion(loops, found.motion.slower(1.0 / hurry), found.limits)
        assert hurried.factor == pytest.approx(hurry * found.factor, rel=1e-12)


def assembly(robot: Robot) -> np.ndarray:
    """Where the simulation of a robot begins, which closes the loops."""
    return np.array(dyn_core.Simulator(robot).state.q)
