# SPDX-License-Identifier: Apache-2.0
"""What a simulator can be told, what it refuses, what its sensors say, and robots with model errors."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from sliders import block, two_links

import dyn_core
from dyn_core import DynError, SensorSettings, SimulationSettings, Simulator, with_model_error

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
Q = np.array([0.1, 0.7, 0.2, 0.3, 0.5, 0.1])
QD = np.array([1.0, -1.0, 1.5, 2.0, -2.0, 3.0])


@pytest.fixture(scope="module")
def rx90() -> dyn_core.Robot:
    return dyn_core.load_robot(ROBOTS / "rx90.urdf")


@pytest.mark.parametrize("backend", ["c", "python"])
@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_accelerations_are_those_of_the_model(name: str, backend: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf")
    random = np.random.default_rng(6)
    q, qd = random.uniform(0.01, 0.1, (2, robot.dof))
    tau, link = random.uniform(-5.0, 5.0, robot.dof), robot.link_names[-1]
    on_link = random.uniform(-5.0, 5.0, 6)
    one = Simulator(robot, SimulationSettings(backend=backend), q=q, qd=qd)
    one.set_effort(tau)
    model = dyn_core.compile_model(robot)
    np.testing.assert_allclose(one.acceleration, model.forward_dynamics(q, qd, tau), rtol=1e-9)
    one.set_wrenches({link: on_link})
    expected = model.forward_dynamics(q, qd, tau, wrenches={link: -on_link})
    np.testing.assert_allclose(one.acceleration, expected, rtol=1e-9)
    one.set_wrenches({})
    np.testing.assert_allclose(one.acceleration, model.forward_dynamics(q, qd, tau), rtol=1e-9)


def test_a_force_on_a_link_pushes_it_its_way() -> None:
    one = Simulator(block(mass=2.0))
    one.set_wrenches({"block": [6.0, 0.0, 0.0, 0.0, 0.0, 0.0]})
    for _ in range(100):
        state = one.step()
    assert state.qd[0] == pytest.approx(0.3)


def test_joint_values_by_name(rx90: dyn_core.Robot) -> None:
    one = Simulator(rx90, q={"joint_2": 0.7}, qd={"joint_6": 0.1})
    one.set_effort({"joint_3": 2.0, "joint_1": -1.0})
    np.testing.assert_array_equal(one.command, [-1.0, 0.0, 2.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(one.state.q, [0.0, 0.7, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(one.state.qd, [0.0, 0.0, 0.0, 0.0, 0.0, 0.1])


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda s: s.set_effort([0.0] * 5),
            ValueError,
            r"effort: expected the shape \(6,\), but it has \(5,\)",
        ),
        (lambda s: s.set_effort(1.0), ValueError, r"effort: expected the shape \(6,\)"),
        (lambda s: s.set_effort("none"), ValueError, "effort: expected numbers"),
        (
            lambda s: s.set_effort([0.0, 0.0, math.nan, 0.0, 0.0, 0.0]),
            ValueError,
            "effort: that of joint 'joint_3' is nan: give a finite number",
        ),
        (lambda s: s.set_effort({"joint_4": math.inf}), ValueError, "of joint 'joint_4' is inf"),
        (lambda s: s.set_effort({"knee": 1.0}), DynError, "effort: robot 'rx90' has no joint 'knee'"),
        (lambda s: s.set_state([math.inf] * 6), ValueError, "q: that of joint 'joint_1' is inf"),
        (lambda s: s.set_state(Q, [0.0] * 7), ValueError, "qd: expected the shape"),
        (lambda s: s.set_state([9.0] * 6), DynError, "the position 9 rad of joint 'joint_1' is not between"),
        (lambda s: s.set_wrenches({"tip": [0.0] * 6}), DynError, "robot 'rx90' has no link 'tip'"),
        (
            lambda s: s.set_wrenches({"forearm": [0.0] * 5}),
            ValueError,
            "'forearm'.*expected 6 finite numbers",
        ),
        (lambda s: s.set_wrenches({"forearm": [math.nan] * 6}), ValueError, "expected 6 finite numbers"),
        (
            lambda s: s.set_payload("forearm", -1.0),
            DynError,
            "the mass of the payload of link 'forearm' is -1",
        ),
        (lambda s: s.set_payload("tip", 1.0), DynError, "no link 'tip'"),
        (lambda s: s.step(0.0), ValueError, "duration: expected a finite number of seconds > 0"),
        (lambda s: s.step(math.nan), ValueError, "duration: expected"),
        (lambda s: s.step(math.inf), ValueError, "duration: expected"),
    ],
)
def test_what_is_refused_changes_nothing(
    rx90: dyn_core.Robot, call, error: type[Exception], sentence: str
) -> None:
    one, same = (Simulator(rx90, q=Q, qd=QD) for _ in range(2))
    for simulator in (one, same):
        simulator.set_effort(10.0 * QD)
        simulator.set_wrenches({"forearm": [1.0] * 6})
        simulator.step()
    state = one.state
    with pytest.raises(error, match=sentence):
        call(one)
    assert one.state is state
    np.testing.assert_array_equal(one.command, same.command)
    np.testing.assert_array_equal(one.acceleration, same.acceleration)
    np.testing.assert_array_equal(one.step().q, same.step().q)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"step": 0.0}, r"the setting step is 0\.0: give a finite number > 0 \(s\)"),
        ({"step": math.nan}, "the setting step is nan"),
        ({"step": "1"}, "the setting step is '1'"),
        (
            {"integrator": "euler"},
            "integrator is 'euler': choose one of auto, rk4, semi_implicit_euler, implicit_midpoint",
        ),
        ({"substeps": 0}, "substeps is 0: give a number from 1 to 1000000"),
        ({"substeps": 1.5}, r"substeps is 1\.5: give a whole number"),
        ({"friction": 1}, "friction is 1: give True or False"),
        ({"greatest_speed": -1.0}, r"greatest_speed is -1\.0: give a finite number > 0"),
        ({"backend": "fortran"}, "backend is 'fortran': choose one of auto, c, python"),
    ],
)
def test_settings_that_make_no_sense(change: dict, sentence: str) -> None:
    with pytest.raises(DynError, match=sentence):
        SimulationSettings(**change)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"position_noise": -1.0}, r"position_noise is -1\.0: give a finite number >= 0"),
        ({"effort_resolution": {"a": math.inf}}, "effort_resolution of joint 'a' is inf"),
        ({"velocity_noise": "much"}, "velocity_noise is 'much'"),
        ({"seed": -1}, "the seed is -1: give a whole number >= 0"),
        ({"seed": 0.5}, r"the seed is 0\.5"),
    ],
)
def test_sensor_settings_that_make_no_sense(change: dict, sentence: str) -> None:
    with pytest.raises(DynError, match=sentence):
        SensorSettings(**change)


def test_sensors_of_joints_that_are_not_there(rx90: dyn_core.Robot) -> None:
    with pytest.raises(
        DynError, match="the setting position_noise names joint 'knee': the joints are 'joint_1'"
    ):
        Simulator(rx90, sensors=SensorSettings(position_noise={"knee": 0.1}))


def test_robots_that_cannot_be_simulated() -> None:
    light = (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="hinge" type="continuous">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
    )
    with pytest.raises(DynError, match="has no forward dynamics: no inertia resists joint 'hinge'"):
        Simulator(dyn_core.load_robot(light))
    Simulator(dyn_core.load_robot(light).with_rotor_inertias({"hinge": 0.1}))
    Simulator(dyn_core.load_robot(light).with_payload("b", 1.0, (0.1, 0.0, 0.0)))
    with pytest.raises(DynError, match="has no forward dynamics: no inertia resists joint 'hinge'"):
        Simulator(
            dyn_core.load_robot(light).with_rotor_inertias({"hinge": 0.1}),
            SimulationSettings(rotor_inertia=False),
        )
    with pytest.raises(DynError, match="robot 'r' cannot be simulated: it has no joint that moves"):
        Simulator(dyn_core.load_robot('<robot name="r"><link name="a"/></robot>'))
    with pytest.raises(DynError, match="the friction Fs of joint 'slide' is -1"):
        Simulator(block().with_parameters({"Fs1": -1.0}))
    closed = {
        "loops": [
            {"name": "closure", "type": "revolute", "parent": {"link": "base"}, "child": {"link": "lower"}}
        ]
    }
    looped = dyn_core.load_robot(dyn_core.write_urdf(two_links()), loops=closed)
    with pytest.raises(DynError, match="closure"):
        Simulator(looped)


def test_passive_joints_get_no_effort() -> None:
    robot = dyn_core.load_robot(dyn_core.write_urdf(two_links()), loops={"passive": ["elbow"]})
    one = Simulator(robot)
    for effort in ([3.0, 4.0], {"elbow": 4.0}):
        with pytest.raises(DynError) as caught:
            one.set_effort(effort)
        assert str(caught.value) == (
            "effort: joint 'elbow' is given 4 N m, but the joint is passive, it has no actuator: give 0, or "
            "leave it out"
        )
    np.testing.assert_array_equal(one.effort, [0.0, 0.0])
    one.set_effort([3.0, 0.0])
    np.testing.assert_array_equal(one.effort, [3.0, 0.0])
    np.testing.assert_array_equal(one.command, [3.0, 0.0])
    assert one.at_effort_limit == ()
    model = dyn_core.compile_model(robot)
    np.testing.assert_allclose(
        one.acceleration, model.forward_dynamics([0, 0], [0, 0], [3.0, 0.0]), rtol=1e-9
    )


def test_payloads_are_replaced_by_link_and_can_be_taken_off(rx90: dyn_core.Robot) -> None:
    one = Simulator(rx90, q=Q, qd=QD)
    bare = one.acceleration
    heavy = (3.0, (0.0, 0.1, 0.2), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))

    def with_payloads(*payloads) -> np.ndarray:
        robot = rx90
        for payload in payloads:
            robot = robot.with_payload(*payload)
        return Simulator(robot, q=Q, qd=QD).acceleration

    one.set_payload("tool0", *heavy)
    np.testing.assert_array_equal(one.acceleration, with_payloads(("tool0", *heavy)))
    one.set_payload("forearm", 1.0)
    one.set_payload("tool0", 2.0)
    np.testing.assert_allclose(one.acceleration, with_payloads(("tool0", 2.0), ("forearm", 1.0)), rtol=1e-12)
    one.reset()
    assert (one.acceleration != bare).all()  # payloads stay
    one.set_payload("tool0", 0.0)
    one.set_payload("forearm", 0.0)
    np.testing.assert_array_equal(one.acceleration, bare)


def test_time_does_not_drift_and_steps_can_be_chosen(rx90: dyn_core.Robot) -> None:
    one = Simulator(block())
    for _ in range(30_000):
        one.step()
    assert one.state.time == 30_000 * 1e-3
    assert one.step(0.25).time == 30_000 * 1e-3 + 0.25
    with pytest.raises(ValueError, match=r"duration: 1e-20 s after 30\.25 s are no time at all"):
        one.step(1e-20)
    one.set_state([1.0], [2.0])
    assert one.state.time == 30_000 * 1e-3 + 0.25
    assert one.step(0.5).q[0] == pytest.approx(2.0)


def test_reset_goes_back_to_the_beginning(rx90: dyn_core.Robot) -> None:
    one = Simulator(rx90, sensors=SensorSettings(0.1, 0.1, 0.1, seed=3), q=Q, qd=QD)
    runs = []
    for _ in range(2):
        one.set_effort(10.0 * QD)
        one.set_wrenches({"forearm": [1.0] * 6})
        run = []
        for _ in range(20):
            one.step()
            measured = one.measure()
            run.append(np.concatenate((measured.q, measured.qd, measured.effort)))
        runs.append(run)
        one.reset()
        assert one.state.time == 0.0
        np.testing.assert_array_equal(one.state.q, Q)
        np.testing.assert_array_equal(one.effort, 0.0)
    np.testing.assert_array_equal(*runs)


def test_states_cannot_be_written_to(rx90: dyn_core.Robot) -> None:
    mine = Q.copy()
    one = Simulator(rx90, q=mine)
    mine[:] = 9.0
    np.testing.assert_array_equal(one.state.q, Q)
    with pytest.raises(ValueError, match="read-only"):
        one.state.q[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        one.step().qd[0] = 1.0


def test_sensors_are_exact_unless_something_else_is_said(rx90: dyn_core.Robot) -> None:
    one = Simulator(rx90, q=Q, qd=QD)
    one.set_effort(QD)
    measured = one.measure()
    for value, truth in ((measured.q, Q), (measured.qd, QD), (measured.effort, QD)):
        np.testing.assert_array_equal(value, truth)


def test_noise_has_its_deviation_and_depends_on_the_seed_alone(rx90: dyn_core.Robot) -> None:
    def drawn(seed: int, **settings) -> np.ndarray:
        one = Simulator(rx90, sensors=SensorSettings(seed=seed, **settings), q=Q, qd=QD)
        return np.array([[m.q - Q, m.qd - QD, m.effort] for m in (one.measure() for _ in range(2000))])

    noise = drawn(1, position_noise=0.1, velocity_noise={"joint_2": 0.2}, effort_noise=3.0)
    spread = noise.std(axis=0)
    np.testing.assert_allclose(spread[0], 0.1, rtol=0.1)
    np.testing.assert_allclose(spread[1], [0.0, 0.2, 0.0, 0.0, 0.0, 0.0], rtol=0.1)
    np.testing.assert_allclose(spread[2], 3.0, rtol=0.1)
    np.testing.assert_allclose(noise.mean(axis=0)[0], 0.0, atol=0.01)
    np.testing.assert_array_equal(noise[:, 2], drawn(1, effort_noise=3.0)[:, 2])
    assert (drawn(2, effort_noise=3.0)[:, 2] != noise[:, 2]).all()


def test_measured_values_are_multiples_of_the_resolution(rx90: dyn_core.Robot) -> None:
    sensors = SensorSettings(
        position_noise=0.01, position_resolution=2.0**-6, effort_resolution={"joint_1": 0.5}
    )
    one = Simulator(rx90, sensors=sensors, q=Q, qd=QD)
    one.set_effort([1.2, 1.2, 0.0, 0.0, 0.0, 0.0])
    measured = one.measure()
    np.testing.assert_array_equal(measured.q * 64, np.rint(measured.q * 64))
    assert np.abs(measured.q - Q).max() < 0.1
    np.testing.assert_array_equal(measured.qd, QD)
    np.testing.assert_array_equal(measured.effort[:2], [1.0, 1.2])


# ------------------------------------------------------------------ robots that are not as their description


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_a_model_error_leaves_bodies_that_can_be(name: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf")
    for seed in range(20):
        other = with_model_error(robot, 0.3, seed)
        for old, new in zip(robot.bodies[1:], other.bodies[1:], strict=True):
            assert abs(new.M / old.M - 1.0) <= 0.3
            assert moments(new).min() > -1e-12 * moments(new).max()
            moved = np.array(new.MS) / new.M - np.array(old.MS) / old.M
            size = np.sqrt(0.5 * np.trace(np.array(old.J)) / old.M)
            assert 0.0 < np.abs(moved).max() <= 0.3 * size
    same = with_model_error(robot, 0.0)
    np.testing.assert_allclose(same.parameters, robot.parameters, rtol=1e-12, atol=1e-14)


def moments(body) -> np.ndarray:
    """Eigenvalues of the moments of the mass: of a body that can be, none is negative."""
    J = np.array(body.J)
    S = 0.5 * np.trace(J) * np.eye(3) - J
    return np.linalg.eigvalsh(
        np.block([[S, np.array([body.MS]).T], [np.array([body.MS]), np.array([[body.M]])]])
    )


def spread(c: np.ndarray) -> np.ndarray:
    return c @ c * np.eye(3) - np.outer(c, c)


def test_a_model_error_is_that_of_a_body_of_moved_points() -> None:
    """The same formula on the points themselves: a body of four points of mass, stretched and moved."""
    points = np.array([[0.1, 0.2, 0.0], [-0.3, 0.1, 0.4], [0.0, -0.2, 0.1], [0.2, 0.2, -0.5]])

    def parameters(points: np.ndarray, mass: float) -> np.ndarray:
        J = sum(mass * spread(point) for point in points)
        MS = mass * points.sum(axis=0)
        return np.array([*J[np.triu_indices(3)], *MS, 4.0 * mass])

    names = [f"{name}1" for name in ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")]
    robot = block().with_parameters(dict(zip(names, parameters(points, 0.5).tolist(), strict=True)))
    u = 0.2 * np.random.default_rng(7).uniform(-1.0, 1.0, 11)
    centre = points.mean(axis=0)
    distance = np.sqrt(((points - centre) ** 2).sum(axis=1).mean())
    moved = points * (1.0 + 0.5 * u[1:4]) + 0.5 * u[4:7] * distance
    expected = parameters(moved, 0.5 * (1.0 + u[0]))
    other = with_model_error(robot, 0.2, seed=7)
    np.testing.assert_allclose(other.parameters[:10], expected, rtol=1e-12)


def test_model_errors_of_drives(rx90: dyn_core.Robot) -> None:
    robot = rx90.with_rotor_inertias(dict.fromkeys(rx90.joint_names, 0.1))
    other = with_model_error(robot, 0.1, seed=2)
    changes = []
    for old, new in zip(robot.joints, other.joints, strict=True):
        pairs = ((old.Ia, new.Ia), (old.friction.Fv, new.friction.Fv), (old.friction.Fs, new.friction.Fs))
        changes += [b / a - 1.0 for a, b in pairs]
    assert 0.05 < max(map(abs, changes)) <= 0.1
    assert len(set(changes)) == len(changes)
    assert with_model_error(robot, 0.1, seed=2) == other
    assert with_model_error(robot, 0.1, seed=3) != other
    for wrong in (-0.1, 1.0, math.nan, "much"):
        with pytest.raises(DynError, match=r"the model error is .*: give a number from 0 to 0\.9"):
            with_model_error(robot, wrong)


def test_mimic_joints_move_with_their_leaders() -> None:
    robot = two_links(mimic='<mimic joint="shoulder" multiplier="-2" offset="0.3"/>')
    one = Simulator(robot, q=[0.4], qd=[0.5])
    one.set_effort([2.0])
    model = dyn_core.compile_model(robot)
    np.testing.assert_allclose(one.acceleration, model.forward_dynamics([0.4], [0.5], [2.0]), rtol=1e-9)
    free = dyn_core.compile_model(dyn_core.load_robot(dyn_core.write_urdf(two_links())))
    # Power balance on the free robot: tau = G^T tau_tree with G = (1, -2).
    qdd = one.acceleration[0]
    torques = free.inverse_dynamics([0.4, 0.3 - 0.8], [0.5, -1.0], [qdd, -2.0 * qdd])
    assert torques @ np.array([1.0, -2.0]) == pytest.approx(2.0)


def test_a_body_that_floats_falls() -> None:
    """A floating joint is a chain of simple joints: the body falls, and keeps its angular momentum."""
    robot = dyn_core.load_robot(
        '<robot name="r"><link name="world"/><link name="body"><inertial><mass value="2"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial></link>'
        '<joint name="free" type="floating"><parent link="world"/><child link="body"/></joint></robot>'
    )
    one = Simulator(robot, qd=[1.0, 0.0, 2.0, 0.3, -0.2, 0.5])
    model = dyn_core.compile_model(robot)
    momenta = []
    for _ in range(500):
        state = one.step()
        R = model.forward_kinematics(state.q, "body")[:3, :3]
        spin = model.link_velocity(state.q, state.qd, "body")[3:]
        momenta.append(R @ np.diag([1.0, 2.0, 2.5]) @ R.T @ spin)
    np.testing.assert_allclose(state.q[:3], [0.5, 0.0, 1.0 - 0.5 * 9.81 * 0.25], atol=1e-10)
    np.testing.assert_allclose(momenta, [momenta[0]] * 500, atol=1e-9)
