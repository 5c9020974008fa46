# SPDX-License-Identifier: Apache-2.0
"""Motors behind springs: how they have to move, and with which torques, for the links to move as wanted."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from elastic_oracle import ROBOTS, TILTED, ElasticOracle
from random_urdf import random_urdf

import dyn_core
from dyn_core import SimulationSettings, Simulator
from dyn_core.cli.main import main
from dyn_core.control.laws.inverse_dynamics_control import ElasticTerms
from dyn_core.control.motion import Motion
from dyn_core.control.motor_speeds import check_motor_speeds
from dyn_core.control.plan import planned, replaced
from dyn_core.control.smooth_motion import SmoothMotion
from dyn_core.control.terms import Switches
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import trajectory_points
from dyn_core.control.trajectory_ranges import check_ranges
from dyn_core.linalg.jet import Jet, jet
from dyn_core.robot.joints import Limits
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import cos, larger, sin, sqrt

NAMES = tuple(f"joint_{k}" for k in range(1, 7))


def test_jets_are_derivatives() -> None:
    def f(t):
        x = sin(t * t) / (2.0 + cos(3.0 * t)) - sqrt(1.5 + t) * (-t) + abs(t - 4.0)
        return larger(x, 0.0, x * 2.0, 1.0 / x) + 1.0 - (3.0 - x)

    h = 1e-3
    for t in (0.3, 0.9, 1.7):
        found = f(Jet(t, 1.0))
        values = [f(t + k * h) for k in (-2, -1, 0, 1, 2)]
        assert found.x == values[2]
        assert found.d == pytest.approx(np.dot((1, -8, 0, 8, -1), values) / (12.0 * h), rel=1e-8)
        assert found.dd == pytest.approx(np.dot((-1, 16, -30, 16, -1), values) / (12.0 * h * h), rel=1e-6)
    assert (jet(3.0).d, Jet(-2.0, 1.0).sign().x, Jet(-2.0, 1.0).sign().d) == (0.0, -1.0, 0.0)


def sines(n: int, seed: int = 0):
    """A smooth motion of n joints as a function of time and the order of the derivative."""
    random = np.random.default_rng(seed)
    a, w, p = random.uniform(0.1, 0.5, n), random.uniform(0.5, 2.0, n), random.uniform(0.0, 6.0, n)
    return lambda t, order: a * w**order * np.sin(w * t + p + 0.5 * math.pi * order)


def behind_motors(seed: int, damping: float = 0.0) -> tuple[Robot, ElasticOracle]:
    """A random tree in which about every second joint has a spring behind a motor."""
    urdf = random_urdf(seed, 6, massless_leaves=False)
    rigid = dyn_core.load_robot(urdf, snap=0, gravity=TILTED)
    springs = {
        name: {"stiffness": 200.0 + 50.0 * k, "rest": 0.1 * k, "damping": damping, "motor": {"inertia": 0.2}}
        for k, name in enumerate(rigid.joint_names)
        if k % 2 == 0
    }
    robot = dyn_core.load_robot(urdf, loops={"elastic": springs}, snap=0, gravity=TILTED)
    return robot, ElasticOracle(urdf, rigid, springs, [joint.Ia for joint in robot.joints])


@pytest.mark.parametrize("seed", range(8))
def test_the_motors_are_ahead_by_what_the_links_need(seed: int) -> None:
    """Beside torques of Pinocchio, and their derivatives by differences of order 8."""
    robot, oracle = behind_motors(seed)
    model = dyn_core.compile_model(robot, "runtime" if seed % 2 else "baked", "python")
    links = len(model.link_joint_names)
    assert model.joint_names == (*model.link_joint_names, *model.motor_joint_names)
    motion = sines(links, seed)
    driven = [model.joint_names.index(name) for name in model.elastic_joint_names]
    K = np.array([robot.joint(name).elastic.stiffness for name in model.elastic_joint_names])
    rest = np.array([robot.joint(name).elastic.rest for name in model.elastic_joint_names])

    def wanted(t: float) -> np.ndarray:
        q, qd, qdd = (motion(t, order) for order in range(3))
        tau = oracle._bodies.inverse_dynamics(q, qd, qdd, {})
        return q[driven] + tau[driven] / K - rest

    t, h = 0.7, 5e-3
    found = model.motor_motion(*(motion(t, order) for order in range(5)))
    np.testing.assert_allclose(found[0], wanted(t), rtol=1e-9, atol=1e-12)
    values = {k: wanted(t + k * h) for k in range(-4, 5)}
    first = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    second = {0: -205 / 72, 1: 8 / 5, 2: -1 / 5, 3: 8 / 315, 4: -1 / 560}
    rate = sum(c * (values[k] - values[-k]) for k, c in first.items()) / h
    curve = sum(c * (values[k] + values[-k]) / (1.0 if k else 2.0) for k, c in second.items()) / h**2
    np.testing.assert_allclose(found[1], rate, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found[2], curve, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("damping", [0.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_torques_are_those_of_the_whole_robot(seed: int, damping: float) -> None:
    """No elastic joint lacks a torque then, and rigid joints and motors have what inverse dynamics say."""
    robot, oracle = behind_motors(seed, damping)
    model = dyn_core.compile_model(robot, backend="python")
    links = len(model.link_joint_names)
    motion = SmoothMotion(*(sines(links, seed)(0.4, order) for order in range(5)))
    terms = ElasticTerms(model).of(motion)
    motors = ElasticTerms(model).motors(motion)
    full = [np.concatenate(pair) for pair in zip(motion[:3], motors, strict=True)]
    tau = oracle.inverse_dynamics(*full, {})
    driven = [model.joint_names.index(name) for name in model.elastic_joint_names]
    expected = tau[:links].copy()
    assert np.abs(expected[driven]).max() <= 1e-9 * np.abs(tau).max()
    expected[driven] = tau[links:]
    np.testing.assert_allclose(terms.total, expected, rtol=0.0, atol=1e-9 * np.abs(tau).max())
    assert_sum(terms)


def assert_sum(terms) -> None:
    np.testing.assert_allclose(terms.inertial + terms.coriolis + terms.gravity + terms.friction, terms.total)


@pytest.fixture(scope="module")
def arm() -> dyn_core.Model:
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf", loops=ROBOTS / "rx90_elastic.yaml")
    return dyn_core.compile_model(robot, "runtime")


def test_friction_is_that_of_the_motors(arm: dyn_core.Model) -> None:
    motion = SmoothMotion(*(sines(6)(0.2, order) for order in range(5)))
    terms = ElasticTerms(arm, coulomb_velocity=0.05).of(motion)
    rates = ElasticTerms(arm).motors(motion).qd
    joints = [arm.robot.joint(f"{name}_motor").friction for name in NAMES]
    expected = [f.Fv * v + f.Fs * math.tanh(v / 0.05) + f.Fo for f, v in zip(joints, rates, strict=True)]
    np.testing.assert_allclose(terms.friction, expected, rtol=1e-12)
    shifted = ElasticTerms(arm, coulomb_velocity=0.05).of(motion, friction_velocity=motion.qd + 1.0)
    expected = [
        f.Fv * v + f.Fs * math.tanh(v / 0.05) + f.Fo for f, v in zip(joints, rates + 1.0, strict=True)
    ]
    np.testing.assert_allclose(shifted.friction, expected, rtol=1e-12)


def test_terms_can_be_left_out_and_come_in_batches(arm: dyn_core.Model) -> None:
    moments = [SmoothMotion(*(sines(6)(t, order) for order in range(5))) for t in (0.0, 0.1, 0.2)]
    many = SmoothMotion(*(np.array(values) for values in zip(*moments, strict=True)))
    whole = ElasticTerms(arm).of(many)
    for k, moment in enumerate(moments):
        for one, rows in zip(ElasticTerms(arm).of(moment), whole, strict=True):
            np.testing.assert_allclose(one, rows[k], rtol=1e-12, atol=1e-12)
    some = ElasticTerms(arm, Switches(inertial=False, friction=False)).of(many)
    np.testing.assert_allclose(some.total, whole.coriolis + whole.gravity, rtol=0.0, atol=1e-12)
    still = ElasticTerms(arm).of(Motion.at_rest(moments[0].q))
    np.testing.assert_allclose(
        still.total, arm.gravity_torques(np.concatenate((moments[0].q, moments[0].q)))[:6]
    )


def test_what_torques_cannot_be_made_of(arm: dyn_core.Model) -> None:
    motion = sines(6)
    terms = ElasticTerms(arm)
    with pytest.raises(
        ValueError, match="series-elastic joints need third and fourth derivatives of a motion"
    ):
        terms.of(Motion(*(motion(0.1, order) for order in range(3))))
    values = [motion(0.1, order) for order in range(5)]
    values[4] = np.where(np.arange(6) == 2, np.nan, values[4])
    with pytest.raises(ValueError, match="the fourth derivative of joint 'joint_3' is nan"):
        terms.of(SmoothMotion(*values))
    machine = dyn_core.load_robot(
        ROBOTS / "high_speed_machine.urdf", loops=ROBOTS / "high_speed_machine.yaml"
    )
    with pytest.raises(dyn_core.DynError) as caught:
        ElasticTerms(dyn_core.compile_model(machine, backend="python"))
    sentence = (
        "joint 'base_yaw' of robot 'high_speed_machine' is elastic and has no motor: no motion of motors "
        "leads it, take its spring out for a feedforward"
    )
    assert str(caught.value) == sentence
    with pytest.raises(dyn_core.DynError) as caught:
        dyn_core.compile_model(machine, backend="python").motor_motion(*values)
    assert str(caught.value) == sentence
    with pytest.raises(dyn_core.DynError, match="robot 'rrp' has no elastic joints"):
        ElasticTerms(dyn_core.compile_model(dyn_core.load_robot(ROBOTS / "rrp.urdf"), backend="python"))


# Trajectories that motors behind springs can follow.


def points(accelerations: bool = False, velocities: bool = False, count: int = 4):
    times = [0.4 * k**1.2 for k in range(1, count + 1)]
    q = [[0.3 * math.sin(k + j) for j in range(6)] for k in range(count)]
    qd = [[0.1 * math.cos(k + j) * (k + 1 < count) for j in range(6)] for k in range(count)]
    qdd = [[0.2 * math.sin(2.0 * k + j) for j in range(6)] for k in range(count)]
    return trajectory_points(
        NAMES, NAMES, times, q, qd if velocities else None, qdd if accelerations else None
    )


def derivatives(trajectory: Trajectory, t: float) -> np.ndarray:
    return np.array(trajectory.smooth_motion(t))


@pytest.mark.parametrize(("velocities", "accelerations"), [(False, False), (True, False), (True, True)])
def test_four_derivatives_are_continuous(velocities: bool, accelerations: bool) -> None:
    given = points(accelerations, velocities)
    start = Motion(np.full(6, 0.1), np.full(6, 0.2), np.full(6, -0.3))
    trajectory = planned(given, 0.0, start=start, for_springs=True)
    scale = np.abs(trajectory.smooth_motions(np.linspace(0.0, trajectory.end, 200))).max(axis=(1, 2))
    for k, knot in enumerate(trajectory.knots):
        sides = [derivatives(trajectory, np.nextafter(knot, knot + way)) for way in (-1.0, 1.0)]
        if 0 < k < len(trajectory.knots) - 1:
            np.testing.assert_allclose(
                sides[0] / scale[:, None], sides[1] / scale[:, None], rtol=0, atol=1e-9
            )
        if k:
            np.testing.assert_allclose(derivatives(trajectory, knot)[0], given.q[k - 1], atol=1e-12)
            if velocities:
                np.testing.assert_allclose(derivatives(trajectory, knot)[1], given.qd[k - 1], atol=1e-10)
            if accelerations:
                np.testing.assert_allclose(derivatives(trajectory, knot)[2], given.qdd[k - 1], atol=1e-9)
    np.testing.assert_allclose(derivatives(trajectory, 0.0)[:3], start, atol=1e-12)
    if not accelerations:
        assert np.abs(derivatives(trajectory, trajectory.end)[1:] / scale[1:, None]).max() < 1e-9


def test_derivatives_are_those_of_the_polynomials() -> None:
    for for_springs in (False, True):
        trajectory = planned(points(True, True), 0.0, for_springs=for_springs)
        t, h = 0.77, 1e-4
        before, now, after = (derivatives(trajectory, t + k * h) for k in (-1, 0, 1))
        np.testing.assert_allclose((after - before)[:4] / (2.0 * h), now[1:], rtol=1e-5, atol=1e-5)
        motion = trajectory.motion(t)
        np.testing.assert_allclose(now[:3], motion, rtol=1e-12, atol=1e-12)
        many = trajectory.smooth_motions([t, t + h, -1.0, 99.0])
        np.testing.assert_allclose(np.array(many)[:, 0], now, rtol=1e-12, atol=1e-12)
        assert not np.array(many)[1:, 2:].any()


def test_another_trajectory_goes_on_with_all_derivatives() -> None:
    running = planned(points(), 0.0, for_springs=True)
    new = replaced(running, points(count=3), 0.9, for_springs=True)
    np.testing.assert_allclose(derivatives(new, 0.9), derivatives(running, 0.9), rtol=1e-9, atol=1e-9)
    later = replaced(running, points(count=3), 0.9, 1.0, for_springs=True)
    np.testing.assert_allclose(derivatives(later, 0.95), derivatives(running, 0.95), rtol=1e-9, atol=1e-9)
    sides = [derivatives(later, np.nextafter(1.0, 1.0 + way)) for way in (-1.0, 1.0)]
    np.testing.assert_allclose(sides[0], sides[1], rtol=1e-6, atol=1e-6)


def test_trajectories_that_springs_cannot_follow() -> None:
    some = trajectory_points(NAMES, NAMES, [1.0, 2.0], [[0.1] * 6, [0.2] * 6], [[], [0.0] * 6])
    with pytest.raises(dyn_core.DynError) as caught:
        planned(some, 0.0, start=Motion.at_rest(np.zeros(6)), for_springs=True)
    assert str(caught.value) == (
        "trajectory point 0 has no velocities, but others have: series-elastic joints need velocities of "
        "all points, or of none"
    )
    short = trajectory_points(NAMES, NAMES, [0.0, 1e-200], [[0.1] * 6, [0.2] * 6])
    with pytest.raises(dyn_core.DynError, match="piece 0 of the trajectory lasts 1e-200 s"):
        planned(short, 0.0, for_springs=True)


def test_ranges_between_the_points() -> None:
    pair = trajectory_points(NAMES, NAMES, [0.0, 1.0], [[0.0] * 6, [1.0] * 6], [[3.0] * 6, [0.0] * 6])
    trajectory = planned(pair, 0.0, for_springs=True)
    furthest = float(trajectory.sample_many(np.linspace(0.0, 1.0, 2001)).q.max())
    assert furthest > 1.0
    speed = np.full(6, np.inf)
    check_ranges(trajectory, NAMES, {"joint_1": Limits(upper=furthest + 1e-4)}, speed)
    with pytest.raises(dyn_core.DynError, match=r"the trajectory takes joint 'joint_1' to"):
        check_ranges(trajectory, NAMES, {"joint_1": Limits(upper=furthest - 2e-3)}, speed)


def test_motors_may_be_no_faster_than_their_joints() -> None:
    """As by the greatest of many more samples."""
    side = (ROBOTS / "rx90_elastic.yaml").read_text().replace("e+4,", "e+2,")
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf", loops=side)
    terms = ElasticTerms(dyn_core.compile_model(robot))
    goal = trajectory_points(NAMES, NAMES, [0.0, 0.5], [[0.0] * 6, [0.1] * 6])
    trajectory = planned(goal, 0.0, for_springs=True)
    times = np.linspace(0.0, 0.5, 2001)
    peak = np.abs(terms.motors(trajectory.smooth_motions(times)).qd).max(axis=0)
    assert peak.max() > 2.0 * np.abs(trajectory.sample_many(times).qd).max()  # of the links
    check_motor_speeds(terms, trajectory, np.full(6, np.inf))
    check_motor_speeds(terms, trajectory, peak / 1.1 * 1.001)
    fastest = int(peak.argmax())
    with pytest.raises(dyn_core.DynError) as caught:
        check_motor_speeds(terms, trajectory, np.where(np.arange(6) == fastest, 0.97 * peak / 1.1, np.inf))
    found = re.fullmatch(
        rf"the motor 'joint_{fastest + 1}_motor' would be at (\S+) rad/s to be ahead of its spring, \S+ s "
        r"after the beginning, and may be at (\S+) rad/s: give the trajectory more time",
        str(caught.value),
    )
    assert found
    assert 0.97 * peak.max() < float(found[1]) <= peak.max() * 1.001
    assert float(found[2]) == pytest.approx(0.97 / 1.1 * peak.max(), rel=1e-3)
    standing = Trajectory.standing(np.zeros(6), 0.0)
    check_motor_speeds(terms, standing, np.zeros(6))


def test_a_simulated_arm_follows_without_any_control() -> None:
    """The torques alone move the links over soft springs as wanted; those of a rigid arm do not."""
    side = (ROBOTS / "rx90_elastic.yaml").read_text().replace("e+4,", "e+3,")
    robot = dyn_core.load_robot(ROBOTS / "rx90.urdf", loops=side)
    robot = replace(
        robot, joints=tuple(replace(j, friction=replace(j.friction, Fs=0.0)) for j in robot.joints)
    )
    model = dyn_core.compile_model(robot)
    goal = trajectory_points(
        NAMES, NAMES, [0.0, 0.8], [[0.1, 0.6, -0.3, 0.2, 0.3, 0.1], [0.6, 0.2, 0.2, -0.3, 0.5, 0.6]]
    )
    trajectory = planned(goal, 0.0, for_springs=True)
    terms = ElasticTerms(model)
    errors = {}
    for elastic in (True, False):
        begin = trajectory.smooth_motion(0.0)
        q = np.concatenate((begin.q, terms.motors(begin).q))
        settings = SimulationSettings(5e-4, position_limits=False, effort_limits=False)
        simulator = Simulator(robot, settings, q=q)
        worst = 0.0
        for k in range(1600):
            moment = trajectory.smooth_motion((k + 0.5) * 5e-4)
            if not elastic:
                none = np.zeros(6)
                moment = SmoothMotion(*moment[:3], none, none)
            moved = terms.of(moment).total
            if not elastic:  # as if the motors moved with the links
                full = [np.concatenate((values, values)) for values in moment[:3]]
                sums = model.inertial_torques(full[0], full[2]) + model.coriolis_torques(*full[:2])
                sums = sums + model.gravity_torques(full[0]) + model.friction_torques(full[1])
                moved = sums[:6] + sums[6:]
            simulator.set_effort(np.concatenate((np.zeros(6), moved)))
            state = simulator.step()
            worst = max(worst, float(np.abs(state.q[:6] - trajectory.motion(state.time).q).max()))
        errors[elastic] = worst
    assert errors[True] < 2e-4
    assert errors[False] > 20.0 * errors[True]


def test_emitted_motor_motion(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    robot = [str(ROBOTS / "rx90.urdf"), "--loops", str(ROBOTS / "rx90_elastic.yaml")]
    assert main(["emit", *robot, "--function", "motor_motion", "--lang", "python"]) == 0
    text = capsys.readouterr().out
    assert "snap (6): fourth derivatives of the positions of the joints before those of the motors" in text
    assert "columns (6): joint_1_motor" in text
    machine = [str(ROBOTS / "high_speed_machine.urdf"), "--loops", str(ROBOTS / "high_speed_machine.yaml")]
    assert main(["emit", *machine, "--function", "motor_motion", "--lang", "c"]) == 1
    assert (
        "joint 'base_yaw' of robot 'high_speed_machine' is elastic and has no motor"
        in capsys.readouterr().err
    )
