# SPDX-License-Identifier: Apache-2.0
"""Motors behind springs: motor motion and torques for a given motion of the links."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from elastic_oracle import ROBOTS, TILTED, ElasticOracle
from random_urdf import random_urdf
from refusals import refusal, refused, refused_command
from robots import example, loop_robot

import dyn_core
from dyn_core import Robot, SimulationSettings, Simulator
from dyn_core.cli.main import main
from dyn_core.control.laws.inverse_dynamics_control import ElasticTerms, Switches, check_motor_speeds
from dyn_core.control.trajectories.piecewise_polynomials import Motion, SmoothMotion
from dyn_core.control.trajectories.trajectory import Trajectory, check_ranges
from dyn_core.control.trajectories.trajectory_planning import planned, replaced, trajectory_points
from dyn_core.robot.joints import Limits
from dyn_core.symbolic.scalar import Jet, cos, jet, larger, sin, sqrt

NAMES = tuple(f"joint_{k}" for k in range(1, 7))


def test_jets_agree_with_derivatives() -> None:
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
def test_motor_positions_agree_with_the_torques_of_the_links(seed: int) -> None:
    """Against torques of Pinocchio, and their derivatives by differences of order 8."""
    robot, oracle = behind_motors(seed)
    model = dyn_core.compile_model(robot, "runtime" if seed % 2 else "baked", "python")
    assert model.joint_names == (*model.link_joint_names, *model.motor_joint_names)
    motion = sines(len(model.link_joint_names), seed)
    driven = [model.joint_names.index(name) for name in model.elastic_joint_names]
    springs = [robot.joint(name).elastic for name in model.elastic_joint_names]
    K, rest = np.array([(spring.stiffness, spring.rest) for spring in springs]).T

    def ahead(t: float) -> np.ndarray:
        q, qd, qdd = (motion(t, order) for order in range(3))
        return q[driven] + oracle.links.inverse_dynamics(q, qd, qdd, {})[driven] / K - rest

    t, h = 0.7, 5e-3
    found = model.motor_motion(*(motion(t, order) for order in range(5)))
    np.testing.assert_allclose(found[0], ahead(t), rtol=1e-9, atol=1e-12)
    values = {k: ahead(t + k * h) for k in range(-4, 5)}
    first = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    second = {0: -205 / 72, 1: 8 / 5, 2: -1 / 5, 3: 8 / 315, 4: -1 / 560}
    rate = sum(c * (values[k] - values[-k]) for k, c in first.items()) / h
    curve = sum(c * (values[k] + values[-k]) / (1.0 if k else 2.0) for k, c in second.items()) / h**2
    np.testing.assert_allclose(found[1], rate, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found[2], curve, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("damping", [0.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_torques_agree_with_the_whole_robot(seed: int, damping: float) -> None:
    """Elastic joints need no other torque; rigid joints and motors have those of inverse dynamics."""
    robot, oracle = behind_motors(seed, damping)
    model = dyn_core.compile_model(robot, backend="python")
    links = len(model.link_joint_names)
    motion = SmoothMotion(*(sines(links, seed)(0.4, order) for order in range(5)))
    terms, motors = ElasticTerms(model).of(motion), ElasticTerms(model).motors(motion)
    tau = oracle.inverse_dynamics(*map(np.concatenate, zip(motion[:3], motors, strict=True)), {})
    driven, room = [model.joint_names.index(name) for name in model.elastic_joint_names], np.abs(tau).max()
    expected = tau[:links].copy()
    assert np.abs(expected[driven]).max() <= 1e-9 * room
    expected[driven] = tau[links:]
    np.testing.assert_allclose(terms.total, expected, rtol=0.0, atol=1e-9 * room)
    np.testing.assert_allclose(terms.inertial + terms.coriolis + terms.gravity + terms.friction, terms.total)


def elastic_arm(exponent: int = 4) -> Robot:
    """The RX90 with springs of this order of magnitude."""
    side = (ROBOTS / "rx90_elastic.yaml").read_text().replace("e+4,", f"e+{exponent},")
    return dyn_core.load_robot(ROBOTS / "rx90.urdf", loops=side)


@pytest.fixture(scope="module")
def arm() -> dyn_core.Model:
    return dyn_core.compile_model(elastic_arm(), "runtime")


def moment(t: float) -> SmoothMotion:
    return SmoothMotion(*(sines(6)(t, order) for order in range(5)))


def test_friction_belongs_to_the_motors(arm: dyn_core.Model) -> None:
    motion, terms = moment(0.2), ElasticTerms(arm, coulomb_velocity=0.05)
    rates = ElasticTerms(arm).motors(motion).qd
    joints = [arm.robot.joint(f"{name}_motor").friction for name in NAMES]
    for found, shift in ((terms.of(motion), 0.0), (terms.of(motion, friction_velocity=motion.qd + 1.0), 1.0)):
        pairs = zip(joints, rates + shift, strict=True)
        expected = [f.Fv * v + f.Fs * math.tanh(v / 0.05) + f.Fo for f, v in pairs]
        np.testing.assert_allclose(found.friction, expected, rtol=1e-12)


def test_terms_can_be_left_out_and_computed_in_batches(arm: dyn_core.Model) -> None:
    moments = [moment(t) for t in (0.0, 0.1, 0.2)]
    many = SmoothMotion(*(np.array(values) for values in zip(*moments, strict=True)))
    whole = ElasticTerms(arm).of(many)
    for k, single in enumerate(moments):
        for one, rows in zip(ElasticTerms(arm).of(single)[:5], whole[:5], strict=True):
            np.testing.assert_allclose(one, rows[k], rtol=1e-12, atol=1e-12)
    some = ElasticTerms(arm, Switches(inertial=False, friction=False)).of(many)
    np.testing.assert_allclose(some.total, whole.coriolis + whole.gravity, rtol=0.0, atol=1e-12)
    q = moments[0].q
    still = ElasticTerms(arm).of(Motion.at_rest(q)).total
    np.testing.assert_allclose(still, arm.gravity_torques(np.concatenate((q, q)))[:6])


def test_invalid_motions_and_robots_are_refused(arm: dyn_core.Model) -> None:
    terms, motion = ElasticTerms(arm), moment(0.1)
    assert refusal(terms.of, Motion(*motion[:3])) == "motion-without-jerk"
    values = [*motion[:4], np.where(np.arange(6) == 2, np.nan, motion[4])]
    with refused("joint-value-not-finite", quantity="fourth derivative", joint="joint_3"):
        terms.of(SmoothMotion(*values))
    machine = dyn_core.compile_model(loop_robot("high_speed_machine"), backend="python")
    for make in (ElasticTerms, lambda model: model.motor_motion(*values)):
        assert refusal(make, machine) == "elastic-joint-without-motor: base_yaw, high_speed_machine"
    with refused("robot-without-springs", robot="rrp"):
        ElasticTerms(dyn_core.compile_model(example("rrp"), backend="python"))


# Trajectories that motors behind springs can follow.
def points(accelerations: bool = False, velocities: bool = False, count: int = 4):
    times = [0.4 * k**1.2 for k in range(1, count + 1)]
    q = [[0.3 * math.sin(k + j) for j in range(6)] for k in range(count)]
    qd = [[0.1 * math.cos(k + j) * (k + 1 < count) for j in range(6)] for k in range(count)]
    qdd = [[0.2 * math.sin(2.0 * k + j) for j in range(6)] for k in range(count)]
    given = (qd if velocities else None, qdd if accelerations else None)
    return trajectory_points(NAMES, NAMES, times, q, *given)


def derivatives(trajectory: Trajectory, t: float) -> np.ndarray:
    return np.array(trajectory.smooth_motion(t))


@pytest.mark.parametrize(("velocities", "accelerations"), [(False, False), (True, False), (True, True)])
def test_four_derivatives_are_continuous(velocities: bool, accelerations: bool) -> None:
    given = points(accelerations, velocities)
    start = Motion(np.full(6, 0.1), np.full(6, 0.2), np.full(6, -0.3))
    trajectory = planned(given, 0.0, start=start, for_springs=True)
    samples = trajectory.smooth_motions(np.linspace(0.0, trajectory.end, 200))
    scale = np.abs(samples).max(axis=(1, 2))[:, None]
    known = ((given.q, 1e-12), (given.qd, 1e-10), (given.qdd, 1e-9))[: 1 + velocities + accelerations]
    for k, knot in enumerate(trajectory.knots):
        before, after = (derivatives(trajectory, np.nextafter(knot, knot + way)) for way in (-1.0, 1.0))
        if 0 < k < len(trajectory.knots) - 1:
            np.testing.assert_allclose(before / scale, after / scale, rtol=0, atol=1e-9)
        if k:
            for found, (wanted, room) in zip(derivatives(trajectory, knot), known, strict=False):
                np.testing.assert_allclose(found, wanted[k - 1], atol=room)
    np.testing.assert_allclose(derivatives(trajectory, 0.0)[:3], start, atol=1e-12)
    if not accelerations:
        assert np.abs(derivatives(trajectory, trajectory.end)[1:] / scale[1:]).max() < 1e-9


def test_derivatives_agree_with_the_polynomials() -> None:
    for for_springs in (False, True):
        trajectory = planned(points(True, True), 0.0, for_springs=for_springs)
        t, h = 0.77, 1e-4
        before, now, after = (derivatives(trajectory, t + k * h) for k in (-1, 0, 1))
        np.testing.assert_allclose((after - before)[:4] / (2.0 * h), now[1:], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(now[:3], trajectory.motion(t), rtol=1e-12, atol=1e-12)
        many = np.array(trajectory.smooth_motions([t, t + h, -1.0, 99.0]))
        np.testing.assert_allclose(many[:, 0], now, rtol=1e-12, atol=1e-12)
        assert not many[1:, 2:].any()


def test_a_replacement_continues_with_all_derivatives() -> None:
    running = planned(points(), 0.0, for_springs=True)
    for t, *stamp in ((0.9,), (0.95, 1.0)):
        new = replaced(running, points(count=3), 0.9, *stamp, for_springs=True)
        np.testing.assert_allclose(derivatives(new, t), derivatives(running, t), rtol=1e-9, atol=1e-9)
    before, after = (derivatives(new, np.nextafter(1.0, 1.0 + way)) for way in (-1.0, 1.0))
    np.testing.assert_allclose(before, after, rtol=1e-6, atol=1e-6)


def test_ranges_are_checked_between_points_and_rough_trajectories_are_refused() -> None:
    pair = trajectory_points(NAMES, NAMES, [0.0, 1.0], [[0.0] * 6, [1.0] * 6], [[3.0] * 6, [0.0] * 6])
    trajectory, speed = planned(pair, 0.0, for_springs=True), np.full(6, np.inf)
    furthest = float(trajectory.sample_many(np.linspace(0.0, 1.0, 2001)).q.max())
    assert furthest > 1.0
    check_ranges(trajectory, NAMES, {"joint_1": Limits(upper=furthest + 1e-4)}, speed)
    with refused("trajectory-leaves-range", joint="joint_1", upper=1.0490543602722455):
        check_ranges(trajectory, NAMES, {"joint_1": Limits(upper=furthest - 2e-3)}, speed)
    some = trajectory_points(NAMES, NAMES, [1.0, 2.0], [[0.1] * 6, [0.2] * 6], [[], [0.0] * 6])
    with refused("trajectory-velocities-incomplete", point=0):
        planned(some, 0.0, start=Motion.at_rest(np.zeros(6)), for_springs=True)
    short = trajectory_points(NAMES, NAMES, [0.0, 1e-200], [[0.1] * 6, [0.2] * 6])
    assert refusal(planned, short, 0.0, for_springs=True) == "trajectory-piece-too-short: 1e-200, 0"


def test_motors_are_limited_to_the_speed_of_their_joints() -> None:
    """The greatest speed is compared with that of many more samples."""
    terms = ElasticTerms(dyn_core.compile_model(elastic_arm(2)))
    goal = trajectory_points(NAMES, NAMES, [0.0, 0.5], [[0.0] * 6, [0.1] * 6])
    trajectory, times = planned(goal, 0.0, for_springs=True), np.linspace(0.0, 0.5, 2001)
    peak = np.abs(terms.motors(trajectory.smooth_motions(times)).qd).max(axis=0)
    assert peak.max() > 2.0 * np.abs(trajectory.sample_many(times).qd).max()  # speed of the links
    check_motor_speeds(terms, trajectory, np.full(6, np.inf))
    check_motor_speeds(terms, trajectory, peak / 1.1 * 1.001)
    limits = np.where(peak == peak.max(), 0.97 * peak / 1.1, np.inf)
    motor = f"joint_{int(peak.argmax()) + 1}_motor"
    with refused("motor-speed-exceeded", limit=float(limits.min()), unit="rad/s", motor=motor) as caught:
        check_motor_speeds(terms, trajectory, limits)
    assert 0.97 * peak.max() < caught.value.values["given"] <= peak.max() * 1.001
    check_motor_speeds(terms, Trajectory.standing(np.zeros(6), 0.0), np.zeros(6))


def test_feedforward_alone_makes_a_simulated_elastic_arm_follow() -> None:
    """The torques alone move the links over soft springs as desired; torques of a rigid arm do not."""
    robot = elastic_arm(3)
    joints = tuple(replace(j, friction=replace(j.friction, Fs=0.0)) for j in robot.joints)
    robot = replace(robot, joints=joints)
    model = dyn_core.compile_model(robot)
    q = [[0.1, 0.6, -0.3, 0.2, 0.3, 0.1], [0.6, 0.2, 0.2, -0.3, 0.5, 0.6]]
    trajectory = planned(trajectory_points(NAMES, NAMES, [0.0, 0.8], q), 0.0, for_springs=True)
    terms, begin = ElasticTerms(model), trajectory.smooth_motion(0.0)
    settings = SimulationSettings(5e-4, position_limits=False, effort_limits=False)
    errors = {True: 0.0, False: 0.0}
    for elastic in errors:
        simulator = Simulator(robot, settings, q=np.concatenate((begin.q, terms.motors(begin).q)))
        for k in range(1600):
            moment = trajectory.smooth_motion((k + 0.5) * 5e-4)
            if elastic:
                moved = terms.of(moment).total
            else:  # as if the motors moved exactly with the links
                full = [np.concatenate((values, values)) for values in moment[:3]]
                sums = model.inertial_torques(full[0], full[2]) + model.coriolis_torques(*full[:2])
                sums = sums + model.gravity_torques(full[0]) + model.friction_torques(full[1])
                moved = sums[:6] + sums[6:]
            simulator.set_effort(np.concatenate((np.zeros(6), moved)))
            state = simulator.step()
            error = float(np.abs(state.q[:6] - trajectory.motion(state.time).q).max())
            errors[elastic] = max(errors[elastic], error)
    assert errors[True] < 2e-4
    assert errors[False] > 20.0 * errors[True]


def test_emitted_motor_motion(capsys: pytest.CaptureFixture[str]) -> None:
    robot = [str(ROBOTS / "rx90.urdf"), "--side-file", str(ROBOTS / "rx90_elastic.yaml")]
    assert main(["emit", *robot, "--function", "motor_motion", "--lang", "python"]) == 0
    text = capsys.readouterr().out
    assert "snap (6): fourth derivatives of the positions of the joints before those of the motors" in text
    assert "columns (6): joint_1_motor" in text
    machine = [
        str(ROBOTS / "high_speed_machine.urdf"),
        "--side-file",
        str(ROBOTS / "high_speed_machine.yaml"),
    ]
    values = {"joint": "base_yaw", "robot": "high_speed_machine"}
    command = ["emit", *machine, "--function", "motor_motion", "--lang", "c"]
    refused_command(command, "elastic-joint-without-motor", **values)
