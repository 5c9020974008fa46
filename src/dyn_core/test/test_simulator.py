# SPDX-License-Identifier: Apache-2.0
"""The simulator: inputs, refusals, sensors, and robots with model errors."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from planar_chains import block, two_links
from refusals import refused
from robots import example, loop_robot
from simulated_motion import run
from test_moving_base_model import BODY

import dyn_core
from dyn_core import SensorSettings, SimulationSettings, Simulator, with_model_error
from dyn_core.simulation.integrators.integration_methods import root

Q = np.array([0.1, 0.7, 0.2, 0.3, 0.5, 0.1])
QD = np.array([1.0, -1.0, 1.5, 2.0, -2.0, 3.0])


@pytest.fixture(scope="module")
def rx90() -> dyn_core.Robot:
    return example("rx90")


@pytest.mark.parametrize("backend", ["c", "python"])
@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_accelerations_agree_with_the_model(name: str, backend: str) -> None:
    robot = example(name)
    random = np.random.default_rng(6)
    q, qd = random.uniform(0.01, 0.1, (2, robot.dof))
    tau, link = random.uniform(-5.0, 5.0, robot.dof), robot.link_names[-1]
    on_link = random.uniform(-5.0, 5.0, 6)
    one = Simulator(robot, SimulationSettings(backend=backend), q=q, qd=qd)
    one.set_effort(tau)
    model = dyn_core.compile_model(robot)
    for wrench in (0.0 * on_link, on_link, 0.0 * on_link):
        one.set_wrenches({link: wrench} if wrench.any() else {})
        expected = model.forward_dynamics(q, qd, tau, wrenches={link: -wrench})
        np.testing.assert_allclose(one.acceleration, expected, rtol=1e-9)


SHAPE, NOT_FINITE, RANGE = "joint-values-shape", "argument-value-not-finite", "argument-range"
EFFORT, DURATION, FOREARM = {"argument": "effort"}, {"argument": "duration"}, "wrenches['forearm']"
REFUSED = [
    (lambda s: s.set_effort([0.0] * 5), SHAPE, EFFORT | {"count": 6, "given": (5,)}),
    (lambda s: s.set_effort(1.0), SHAPE, EFFORT | {"count": 6}),
    (lambda s: s.set_effort("none"), "argument-not-numbers", EFFORT),
    (lambda s: s.set_effort([0.0, 0.0, nan] * 2), NOT_FINITE, EFFORT | {"joint": "joint_3"}),
    (lambda s: s.set_effort({"joint_4": inf}), NOT_FINITE, {"joint": "joint_4", "given": inf}),
    (lambda s: s.set_effort({"knee": 1.0}), "argument-joint-unknown", {"unknown": ["knee"]}),
    (lambda s: s.set_state([inf] * 6), NOT_FINITE, {"argument": "q", "joint": "joint_1"}),
    (lambda s: s.set_state(Q, [0.0] * 7), SHAPE, {"argument": "qd"}),
    (lambda s: s.set_state([9.0] * 6), "position-beyond-limits", {"joint": "joint_1", "position": 9.0}),
    (lambda s: s.set_wrenches({"tip": [0.0] * 6}), "link-unknown", {"robot": "rx90", "link": "tip"}),
    (lambda s: s.set_wrenches({"forearm": [0.0] * 5}), "argument-numbers", {"argument": FOREARM}),
    (lambda s: s.set_wrenches({"forearm": [nan] * 6}), "argument-numbers", {"count": 6}),
    (lambda s: s.set_payload("forearm", -1.0), "held-mass-negative", {"link": "forearm", "mass": -1.0}),
    (lambda s: s.set_payload("tip", 1.0), "link-unknown", {"robot": "rx90", "link": "tip"}),
    *((lambda s, x=x: s.step(x), RANGE, DURATION | {"given": x}) for x in (0.0, nan, inf)),
]


@pytest.mark.parametrize(("call", "code", "values"), REFUSED)
def test_refused_calls_change_nothing(rx90: dyn_core.Robot, call, code: str, values: dict) -> None:
    one, same = (Simulator(rx90, q=Q, qd=QD) for _ in range(2))
    for simulator in (one, same):
        simulator.set_effort(10.0 * QD)
        simulator.set_wrenches({"forearm": [1.0] * 6})
        simulator.step()
    state = one.state
    with refused(code, **values):
        call(one)
    assert one.state is state
    before_and_after = ((x.command, x.acceleration, x.step().q) for x in (one, same))
    np.testing.assert_array_equal(*map(list, before_and_after))


SETTINGS = [
    *(("step", given, "give a finite number > 0 (s)") for given in (0.0, nan, "1")),
    ("integrator", "euler", "choose one of auto, rk4, semi_implicit_euler, implicit_midpoint"),
    ("substeps", 0, "give a number from 1 to 1000000"),
    ("substeps", 1.5, "give a whole number"),
    ("friction", 1, "give True or False"),
    ("greatest_speed", -1.0, "give a finite number > 0 (rad/s or m/s)"),
    ("backend", "fortran", "choose one of auto, c, python"),
]


@pytest.mark.parametrize(("setting", "given", "remedy"), SETTINGS)
def test_settings_out_of_range_are_refused(setting: str, given: object, remedy: str) -> None:
    with refused("simulation-setting-invalid", setting=setting, given=given, remedy=remedy):
        SimulationSettings(**{setting: given})


def test_sensor_settings_out_of_range_are_refused(rx90: dyn_core.Robot) -> None:
    for name, given in (("position_noise", -1.0), ("velocity_noise", "much"), ("seed", -1), ("seed", 0.5)):
        whole = name == "seed"
        values = {"setting": "the seed" if whole else f"the setting {name}", "given": given}
        with refused("setting-range", expected=f"a {'whole' if whole else 'finite'} number >= 0", **values):
            SensorSettings(**{name: given})
    of_joint = {"setting": "the setting effort_resolution", "joint": "a", "given": inf}
    with refused("joint-setting-range", expected="a finite number >= 0", **of_joint):
        SensorSettings(effort_resolution={"a": inf})
    with refused("setting-names-unknown-joint", setting="position_noise", unknown=["knee"]):
        Simulator(rx90, sensors=SensorSettings(position_noise={"knee": 0.1}))


def test_robots_that_cannot_be_simulated_are_refused() -> None:
    light = dyn_core.load_robot(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="hinge" type="continuous">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
    )
    rotor = light.with_rotor_inertias({"hinge": 0.1})
    for robot, settings in ((light, None), (rotor, SimulationSettings(rotor_inertia=False))):
        with refused("joint-without-inertia", joints=["hinge"]):
            Simulator(robot, settings)
    for robot in (rotor, light.with_payload("b", 1.0, (0.1, 0.0, 0.0))):
        Simulator(robot)
    with refused("integrator-without-loops", robot="five_bar"):
        Simulator(loop_robot("five_bar"), SimulationSettings(integrator="implicit_midpoint"))
    with refused("simulation-without-joints", robot="r"):
        Simulator(dyn_core.load_robot('<robot name="r"><link name="a"/></robot>'))
    with refused("friction-negative", parameter="Fs", joint="slide", given=-1.0):
        Simulator(block().with_parameters({"Fs1": -1.0}))
    closure = {"name": "closure", "type": "revolute", "parent": {"link": "base"}, "child": {"link": "lower"}}
    with refused("loops-open-at-zero", robot="two_links") as caught:
        Simulator(dyn_core.load_robot(dyn_core.write_urdf(two_links()), loops={"loops": [closure]}))
    assert "'closure'" in str(caught.value.values["start_opening"])


def test_efforts_of_passive_joints_are_refused() -> None:
    robot = dyn_core.load_robot(dyn_core.write_urdf(two_links()), loops={"passive": ["elbow"]})
    one = Simulator(robot)
    for effort in ([3.0, 4.0], {"elbow": 4.0}):
        with refused("effort-on-passive-joint", joint="elbow", effort=4.0, unit="N m"):
            one.set_effort(effort)
    assert one.effort.tolist() == [0.0, 0.0]
    one.set_effort([3.0, 0.0])
    assert (one.effort.tolist(), one.command.tolist(), one.at_effort_limit) == ([3.0, 0.0], [3.0, 0.0], ())
    expected = dyn_core.compile_model(robot).forward_dynamics([0, 0], [0, 0], [3.0, 0.0])
    np.testing.assert_allclose(one.acceleration, expected, rtol=1e-9)


def test_a_payload_replaces_the_previous_one_and_can_be_removed(rx90: dyn_core.Robot) -> None:
    one = Simulator(rx90, q=Q, qd=QD)
    bare = one.acceleration
    heavy = ("tool0", 3.0, (0.0, 0.1, 0.2), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    one.set_payload(*heavy)
    expected = Simulator(rx90.with_payload(*heavy), q=Q, qd=QD).acceleration
    np.testing.assert_array_equal(one.acceleration, expected)
    one.set_payload("forearm", 1.0)
    one.set_payload("tool0", 2.0)
    loaded = rx90.with_payload("tool0", 2.0).with_payload("forearm", 1.0)
    np.testing.assert_allclose(one.acceleration, Simulator(loaded, q=Q, qd=QD).acceleration, rtol=1e-12)
    one.reset()
    assert (one.acceleration != bare).all()  # payloads are kept
    for link in ("tool0", "forearm"):
        one.set_payload(link, 0.0)
    np.testing.assert_array_equal(one.acceleration, bare)


def test_time_does_not_drift_and_steps_can_be_chosen() -> None:
    one = Simulator(block())
    assert (run(one, 30_000).time, one.step(0.25).time) == (30.0, 30.25)
    with refused("duration-below-resolution", duration=1e-20, time=30.25):
        one.step(1e-20)
    one.set_state([1.0], [2.0])
    assert (one.state.time, one.step(0.5).q[0]) == (30.25, pytest.approx(2.0))


def test_reset_restores_the_initial_state(rx90: dyn_core.Robot) -> None:
    one = Simulator(rx90, sensors=SensorSettings(0.1, 0.1, 0.1, seed=3), q=Q, qd=QD)
    runs = []
    for _ in range(2):
        one.set_effort(10.0 * QD)
        one.set_wrenches({"forearm": [1.0] * 6})
        runs.append([(m.q, m.qd, m.effort) for m in [(one.step(), one.measure())[1] for _ in range(20)]])
        one.reset()
        np.testing.assert_array_equal((one.state.q, one.effort), (Q, 0.0 * Q))
        assert one.state.time == 0.0
    np.testing.assert_array_equal(*runs)


def test_states_are_read_only_and_sensors_without_noise_are_exact(rx90: dyn_core.Robot) -> None:
    mine = Q.copy()
    one = Simulator(rx90, q=mine, qd=QD)
    mine[:] = 9.0
    np.testing.assert_array_equal(one.state.q, Q)
    one.set_effort(QD)
    measured = one.measure()
    np.testing.assert_array_equal((measured.q, measured.qd, measured.effort), (Q, QD, QD))
    for value in (one.state.q, one.step().qd):
        with pytest.raises(ValueError, match="read-only"):
            value[0] = 1.0


def test_noise_has_its_deviation_and_depends_on_the_seed_alone(rx90: dyn_core.Robot) -> None:
    def drawn(seed: int, **settings) -> np.ndarray:
        one = Simulator(rx90, sensors=SensorSettings(seed=seed, **settings), q=Q, qd=QD)
        return np.array([[m.q - Q, m.qd - QD, m.effort] for m in (one.measure() for _ in range(2000))])

    noise = drawn(1, position_noise=0.1, velocity_noise={"joint_2": 0.2}, effort_noise=3.0)
    deviations = [[0.1] * 6, [0.0, 0.2, 0.0, 0.0, 0.0, 0.0], [3.0] * 6]
    np.testing.assert_allclose(noise.std(axis=0), deviations, rtol=0.1)
    np.testing.assert_allclose(noise.mean(axis=0)[0], 0.0, atol=0.01)
    np.testing.assert_array_equal(noise[:, 2], drawn(1, effort_noise=3.0)[:, 2])
    assert (drawn(2, effort_noise=3.0)[:, 2] != noise[:, 2]).all()


def test_measured_values_are_multiples_of_the_resolution(rx90: dyn_core.Robot) -> None:
    resolution = {"position_resolution": 2.0**-6, "effort_resolution": {"joint_1": 0.5}}
    one = Simulator(rx90, sensors=SensorSettings(position_noise=0.01, **resolution), q=Q, qd=QD)
    one.set_effort([1.2, 1.2, 0.0, 0.0, 0.0, 0.0])
    measured = one.measure()
    np.testing.assert_array_equal(measured.q * 64, np.rint(measured.q * 64))
    assert np.abs(measured.q - Q).max() < 0.1
    np.testing.assert_array_equal(measured.qd, QD)
    np.testing.assert_array_equal(measured.effort[:2], [1.0, 1.2])


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_a_model_error_keeps_bodies_physically_possible(name: str) -> None:
    robot = example(name)
    for seed in range(20):
        for old, new in zip(robot.bodies[1:], with_model_error(robot, 0.3, seed).bodies[1:], strict=True):
            assert abs(new.M / old.M - 1.0) <= 0.3
            assert moments(new).min() > -1e-12 * moments(new).max()
            moved = np.array(new.MS) / new.M - np.array(old.MS) / old.M
            assert 0.0 < np.abs(moved).max() <= 0.3 * np.sqrt(0.5 * np.trace(np.array(old.J)) / old.M)
    same = with_model_error(robot, 0.0)
    np.testing.assert_allclose(same.parameters, robot.parameters, rtol=1e-12, atol=1e-14)


def moments(body) -> np.ndarray:
    """Eigenvalues of the second moments of mass: none is negative for a possible body."""
    J, MS = np.array(body.J), np.array([body.MS])
    return np.linalg.eigvalsh(np.block([[0.5 * np.trace(J) * np.eye(3) - J, MS.T], [MS, body.M]]))


def test_a_model_error_moves_the_points_of_a_body() -> None:
    """The same formula applied to a body of four point masses, scaled and moved."""
    points = np.array([[0.1, 0.2, 0.0], [-0.3, 0.1, 0.4], [0.0, -0.2, 0.1], [0.2, 0.2, -0.5]])

    def parameters(points: np.ndarray, mass: float) -> np.ndarray:
        J = sum(mass * (c @ c * np.eye(3) - np.outer(c, c)) for c in points)
        return np.array([*J[np.triu_indices(3)], *(mass * points.sum(axis=0)), 4.0 * mass])

    names = [f"{name}1" for name in ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")]
    robot = block().with_parameters(dict(zip(names, parameters(points, 0.5).tolist(), strict=True)))
    u = 0.2 * np.random.default_rng(7).uniform(-1.0, 1.0, 11)
    distance = np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean())
    moved = points * (1.0 + 0.5 * u[1:4]) + 0.5 * u[4:7] * distance
    found = with_model_error(robot, 0.2, seed=7).parameters[:10]
    np.testing.assert_allclose(found, parameters(moved, 0.5 * (1.0 + u[0])), rtol=1e-12)


def test_model_errors_of_drives(rx90: dyn_core.Robot) -> None:
    robot = rx90.with_rotor_inertias(dict.fromkeys(rx90.joint_names, 0.1))
    other = with_model_error(robot, 0.1, seed=2)
    old, new = (np.array([(j.Ia, j.friction.Fv, j.friction.Fs) for j in r.joints]) for r in (robot, other))
    changes = new / old - 1.0
    assert 0.05 < np.abs(changes).max() <= 0.1
    assert len(np.unique(changes)) == changes.size
    assert with_model_error(robot, 0.1, seed=2) == other
    assert with_model_error(robot, 0.1, seed=3) != other
    for wrong in (-0.1, 1.0, nan, "much"):
        with refused("setting-range", setting="the model error", expected="a number from 0 to 0.9"):
            with_model_error(robot, wrong)


def test_mimic_joints_move_with_their_leaders() -> None:
    robot = two_links(mimic='<mimic joint="shoulder" multiplier="-2" offset="0.3"/>')
    one = Simulator(robot, q=[0.4], qd=[0.5])
    one.set_effort([2.0])
    model = dyn_core.compile_model(robot)
    np.testing.assert_allclose(one.acceleration, model.forward_dynamics([0.4], [0.5], [2.0]), rtol=1e-9)


def test_a_floating_body_falls() -> None:
    """A floating joint is a chain of simple joints: the body falls, and its angular momentum is conserved."""
    free = '<joint name="free" type="floating"><parent link="world"/><child link="b"/></joint></robot>'
    robot = dyn_core.load_robot(BODY.replace("</robot>", f'<link name="world"/>{free}'))
    one = Simulator(robot, qd=[1.0, 0.0, 2.0, 0.3, -0.2, 0.5])
    model = dyn_core.compile_model(robot)
    momenta = []
    for _ in range(500):
        state = one.step()
        R = model.forward_kinematics(state.q, "b")[:3, :3]
        momenta.append(R @ np.diag([1.0, 2.0, 2.5]) @ R.T @ model.link_velocity(state.q, state.qd, "b")[3:])
    np.testing.assert_allclose(state.q[:3], [0.5, 0.0, 1.0 - 0.5 * 9.81 * 0.25], atol=1e-10)
    np.testing.assert_allclose(momenta, [momenta[0]] * 500, atol=1e-9)


@pytest.mark.parametrize("power", [1, 8, 12])
@pytest.mark.parametrize("turned", [False, True])
def test_roots_of_functions_that_curve_to_either_side(power: int, turned: bool) -> None:
    """Secants alone would keep one end, and need hundreds of steps."""

    def f(t: float) -> float:
        return (2.0 - t) ** power - 1.0 if turned else 1.0 - t**power

    assert root(f, 1.5) == pytest.approx(1.0, abs=1e-11)
