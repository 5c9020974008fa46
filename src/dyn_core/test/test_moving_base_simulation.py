# SPDX-License-Identifier: Apache-2.0
"""Simulated motion on free and planar bases: conservation laws, and agreement with Pinocchio."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from depth import TIMES
from free_flyer_oracle import FreeFlyer
from refusals import refused
from robots import example
from simulated_motion import run
from test_moving_base_model import ARM, BODY, STATE, root

import dyn_core
from dyn_core import MovingBaseSettings, MovingBaseSimulator, MovingState
from dyn_core.simulation.moving_base_simulator import exponential, moved_pose

MINUTE = 60.0
"""Duration of the motion in the exhaustive run."""
NOTHING = (0.0, 0.0, 0.0)
WRENCH = np.array([0.3, -0.2, 0.5, 0.1, 0.0, -0.2])


def args(state: MovingState) -> tuple[np.ndarray, ...]:
    return state.pose, state.V, state.q, state.qd


def start(kind: str, speed: float = 1.0) -> dict[str, Any]:
    pose, V = (7, 6) if kind == "free" else (3, 3)
    return {"pose": STATE.pose[:pose], "V": speed * STATE.V[:V], "q": [0.3, 0.1], "qd": [0.5, -0.2]}


@pytest.mark.parametrize("kind", ["free", "planar"])
def test_momentum_is_conserved(kind: str) -> None:
    """Linear momentum, and angular momentum about the centre of mass, whatever the joints do."""
    robot = dyn_core.load_robot(ARM, gravity=NOTHING)
    friction = replace(robot.joints[0].friction, Fv=0.1, Fs=0.05)
    robot = replace(robot, joints=tuple(replace(j, friction=friction, Ia=0.02) for j in robot.joints))
    simulator = MovingBaseSimulator(robot, kind, MovingBaseSettings(step=5e-3), **start(kind, 0.3))
    model = dyn_core.compile_moving_base(robot, kind)
    before, own = model.momentum(*args(simulator.state)), simulator.momentum
    where = model.centre_of_mass(simulator.state.pose, simulator.state.q)
    # Of linear and angular momentum; in the plane, of all its components.
    halves = ([0, 1, 2], [3, 4, 5]) if kind == "free" else ([0, 1, 5], [0, 1, 5])
    sizes = [np.abs(before[half]).max() for half in ([0, 1, 2], [3, 4, 5])]
    worst, duration = 0.0, MINUTE if TIMES else 10.0
    for k in range(round(duration / 5e-3)):
        state = simulator.state
        hold = -8.0 * state.q[1] - 0.4 * state.qd[1]
        simulator.set_effort([0.8 * np.sin(0.01 * k), np.cos(0.02 * k) + hold])
        state = simulator.step()
        if k % 100 == 0:
            change = np.abs(model.momentum(*args(state)) - before)
            worst = max(worst, *(change[half].max() / size for half, size in zip(halves, sizes, strict=True)))
    assert worst < 1e-9
    np.testing.assert_array_equal(simulator.momentum, own)
    assert state.time == duration
    assert np.abs(state.qd).max() > 0.05  # it has not come to rest
    if kind == "free":
        expected = where + before[:3] / sum(body.M for body in robot.bodies) * duration
        np.testing.assert_allclose(model.centre_of_mass(state.pose, state.q), expected, atol=1e-9)
        assert abs(np.linalg.norm(state.pose[3:]) - 1.0) < 1e-15


def test_a_free_swing_conserves_energy() -> None:
    """Without friction and efforts, under gravity; the momentum is that of free fall."""
    robot = dyn_core.load_robot(ARM)
    simulator = MovingBaseSimulator(robot, "free", q=[0.3, 0.1], V=[0, 0, 5, 0.4, -0.3, 0.9], qd=[2.0, -0.1])
    model = dyn_core.compile_moving_base(robot, "free")
    energy, before = model.energy(*args(simulator.state)).sum(), simulator.momentum
    assert abs(model.energy(*args(run(simulator, 2000))).sum() - energy) < 1e-9 * abs(energy)
    fall = [0.0, 0.0, -6.0 * 9.81 * 2.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(simulator.momentum - before, fall, atol=1e-10)


@pytest.mark.parametrize("kind", ["free", "planar"])
def test_the_integration_is_of_order_4(kind: str) -> None:
    """The error falls with the fourth power of the step, also for the orientation."""
    ends = []
    for step in (4e-2, 2e-2, 1e-2, 1e-3):
        settings = MovingBaseSettings(step=step)
        simulator = MovingBaseSimulator(dyn_core.load_robot(ARM), kind, settings, **start(kind))
        simulator.set_force(0.5 * STATE.F[: 6 if kind == "free" else 3])
        simulator.set_wrenches({"slide": WRENCH})
        ends.append(np.concatenate(args(run(simulator, round(0.4 / step), [0.5, -1.0]))))
    errors = np.array([np.abs(end - ends[-1]).max() for end in ends[:-1]])
    np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), 4.0, atol=0.4)


def test_a_second_of_motion_agrees_with_pinocchio() -> None:
    """Pinocchio's direct dynamics, integrated by a method of order 16."""
    robot, begin, F = dyn_core.load_robot(ARM), (STATE.pose, STATE.V, STATE.q, STATE.qd), 0.3 * STATE.F
    simulator = MovingBaseSimulator(robot, "free", None, *begin)
    simulator.set_force(F)
    simulator.set_wrenches({"upper": WRENCH})
    state = run(simulator, 500, STATE.tau)
    oracle = FreeFlyer(ARM, robot.joint_names, robot.gravity)
    expected = oracle.moved(*begin, STATE.tau, F, {"upper": -WRENCH}, 0.5, steps=10)
    for ours, theirs in zip(args(state), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_a_single_body_turns_by_eulers_equations() -> None:
    """About its middle axis it flips over; angular momentum and energy are conserved."""
    robot = dyn_core.load_robot(BODY, gravity=NOTHING)
    simulator = MovingBaseSimulator(robot, "free", V=[0.0, 0.0, 0.0, 1e-3, 3.0, 1e-3])
    model = dyn_core.compile_moving_base(robot, "free")
    energy = model.energy(*args(simulator.state))[0]
    before, over = simulator.momentum, False
    for _ in range(20_000):
        state = simulator.step()
        over = over or state.V[4] < -2.9
    assert over
    np.testing.assert_allclose(model.momentum(*args(state)), before, atol=1e-14)
    assert abs(model.energy(*args(state))[0] - energy) < 1e-9 * energy


def test_a_rolling_planar_robot_moves_like_one_body() -> None:
    """A force on its body pushes the robot."""
    simulator = MovingBaseSimulator(example("planar_base"), pose=[1.0, -2.0, 0.5 * np.pi])
    simulator.set_force([31.0, 0.0, 0.0])
    state, mass = run(simulator, 1000), sum(body.M for body in simulator.base.robot.bodies)
    np.testing.assert_allclose(simulator.momentum, [0.0, 31.0, 0.0], atol=1e-10)
    np.testing.assert_allclose(state.pose, [1.0, -2.0 + 0.5 * 31.0 / mass, 0.5 * np.pi], atol=1e-10)


def test_the_exponential_is_the_rotation() -> None:
    """For angles of any size; the formulas for small and large angles agree."""
    random = np.random.default_rng(0)
    for angle in (0.0, 1e-9, 1e-4, 0.0199, 0.0201, 1.0, 3.0):
        axis = random.normal(size=3)
        axis /= np.linalg.norm(axis)
        x, y, z, w = exponential(tuple(angle * axis))
        np.testing.assert_allclose([x, y, z], np.sin(0.5 * angle) * axis, rtol=1e-15, atol=1e-300)
        assert w == np.cos(0.5 * angle) or abs(w - np.cos(0.5 * angle)) < 1e-15
    turned = moved_pose(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), [1.0, 2.0, 3.0, 0.0, 0.0, np.pi])
    np.testing.assert_allclose(turned, [1.0, 2.0, 3.0, 0.0, 0.0, 1.0, 0.0], atol=1e-15)


def test_friction_and_effort_limits() -> None:
    """Efforts are limited; Coulomb friction dissipates energy, and is 0 at rest."""
    robot = dyn_core.load_robot(ARM, gravity=NOTHING)
    simulator = MovingBaseSimulator(robot, "free")
    accelerations = []
    for effort in (100.0, 9.0, 0.0):
        simulator.set_effort([0.0, effort])
        accelerations.append(simulator.acceleration)
    np.testing.assert_array_equal(*accelerations[:2])
    np.testing.assert_allclose(accelerations[2], 0.0, atol=1e-15)
    rubbing = replace(robot.joints[0], friction=replace(robot.joints[0].friction, Fs=0.5))
    robot = replace(robot, joints=(rubbing, robot.joints[1]))
    simulator = MovingBaseSimulator(robot, "free", qd=[1.0, 0.0])
    model = dyn_core.compile_moving_base(robot, "free", friction=False)
    before = model.energy(*args(simulator.state))[0]
    state = run(simulator, 100)
    assert 0.0 < model.energy(*args(state))[0] < before - 0.01
    assert np.abs(simulator.momentum - model.momentum(*args(state))).max() < 1e-13


def test_states_and_mistakes() -> None:
    robot = dyn_core.load_robot(root("floating"))
    simulator = MovingBaseSimulator(robot, settings=MovingBaseSettings(backend="python"))
    assert simulator.joint_names == ("j1", "j2")
    first = simulator.step(0.01)
    assert simulator.step(0.01).time == pytest.approx(0.02)
    simulator.set_state(STATE.pose, STATE.V, STATE.q, STATE.qd)
    np.testing.assert_allclose(simulator.state.V, STATE.V)
    simulator.reset()
    assert simulator.state.time == 0.0
    np.testing.assert_array_equal(simulator.step(0.01).pose, first.pose)
    with pytest.raises(ValueError, match="read-only"):
        first.pose[0] = 1.0
    zero, massless = [0.0] * 7, dyn_core.load_robot('<robot name="m"><link name="b"/></robot>')
    setting = "simulation-setting-invalid"
    for call, code, values in (
        (lambda: simulator.set_state(zero, STATE.V, STATE.q, STATE.qd), "pose-quaternion-not-unit", {}),
        (lambda: simulator.set_effort([0.0] * 3), "joint-values-shape", {"argument": "effort", "count": 2}),
        (lambda: simulator.set_force([np.nan] * 6), "argument-not-finite", {"argument": "F"}),
        (lambda: simulator.set_wrenches({"tip": np.zeros(6)}), "link-unknown", {"link": "tip"}),
        (lambda: simulator.step(-1.0), "argument-range", {"argument": "duration"}),
        (lambda: MovingBaseSettings(slip_speed=0), setting, {"setting": "slip_speed", "given": 0}),
        (lambda: MovingBaseSettings(substeps=0), setting, {"setting": "substeps", "given": 0}),
        (lambda: MovingBaseSimulator(robot, "given"), "base-given-not-simulated", {}),
        (lambda: MovingBaseSimulator(massless, "free"), "moving-base-without-inertia", {"base": "b"}),
    ):
        with refused(code, **values):
            call()
    fast = MovingBaseSimulator(robot, settings=MovingBaseSettings(backend="python", greatest_speed=0.5))
    fast.set_effort([50.0, 0.0])
    state = fast.state
    with refused("moving-base-simulation-diverged", robot="arm", time=0.0):
        fast.step(1.0)
    assert fast.state is state
    passive = dyn_core.load_robot(root("floating"), loops={"passive": ["j2"]})
    simulator = MovingBaseSimulator(passive, settings=MovingBaseSettings(backend="python"))
    simulator.set_effort([1.0, 0.0])
    before = simulator.acceleration
    with refused("effort-on-passive-joint", joint="j2", effort=3.0, unit="N"):
        simulator.set_effort([1.0, 3.0])
    np.testing.assert_array_equal(simulator.acceleration, before)
