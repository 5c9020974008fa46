# SPDX-License-Identifier: Apache-2.0
"""Motions of robots on free and planar bases: what physics keeps, and what Pinocchio makes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from free_flyer_oracle import FreeFlyer
from test_moving_base_model import ARM, STATE, root

import dyn_core
from dyn_core import MovingBaseSettings, MovingBaseSimulator, MovingState
from dyn_core.simulation.base_pose import exponential, moved_pose

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
MINUTE = 60.0
NOTHING = (0.0, 0.0, 0.0)


def args(state: MovingState) -> tuple[np.ndarray, ...]:
    return state.pose, state.V, state.q, state.qd


@pytest.mark.parametrize("kind", ["free", "planar"])
def test_a_minute_keeps_the_momentum(kind: str) -> None:
    """Linear momentum and that about the centre of mass stay, whatever the joints do."""
    robot = dyn_core.load_robot(ARM, gravity=NOTHING)
    friction = [replace(joint.friction, Fv=0.1, Fs=0.05) for joint in robot.joints]
    robot = replace(
        robot,
        joints=tuple(replace(j, friction=f, Ia=0.02) for j, f in zip(robot.joints, friction, strict=True)),
    )
    size = 7 if kind == "free" else 3
    pose, V = STATE.pose[:size], 0.3 * STATE.V[: min(size, 6)]
    settings = MovingBaseSettings(step=5e-3)
    simulator = MovingBaseSimulator(robot, kind, settings, pose=pose, V=V, q=[0.3, 0.1], qd=[0.5, -0.2])
    model = dyn_core.compile_moving_base(robot, kind)
    before = model.momentum(*args(simulator.state))
    own = simulator.momentum
    where = model.centre_of_mass(simulator.state.pose, simulator.state.q)
    worst = 0.0
    for k in range(round(MINUTE / settings.step)):
        state = simulator.state
        push = 0.8 * np.sin(0.01 * k)
        simulator.set_effort([push, np.cos(0.02 * k) - 8.0 * state.q[1] - 0.4 * state.qd[1]])
        state = simulator.step()
        if k % 100 == 0:
            now = model.momentum(*args(state))
            parts = slice(None) if kind == "free" else [0, 1, 5]  # in the plane
            for half in (slice(0, 3), slice(3, 6)):
                change = np.abs((now - before)[half])
                if kind == "planar":
                    change = np.abs((now - before)[parts])
                worst = max(worst, change.max() / np.abs(before[half]).max())
    assert worst < 1e-9
    np.testing.assert_array_equal(simulator.momentum, own)
    assert state.time == MINUTE
    assert np.abs(state.qd).max() > 0.05  # it has not come to rest
    if kind == "free":
        mass = sum(body.M for body in robot.bodies)
        expected = where + before[:3] / mass * MINUTE
        np.testing.assert_allclose(model.centre_of_mass(state.pose, state.q), expected, atol=1e-9)
        assert abs(np.linalg.norm(state.pose[3:]) - 1.0) < 1e-15


def test_a_free_swing_keeps_its_energy() -> None:
    """Without friction and efforts, under gravity: energy stays, and the momentum is that of a fall."""
    robot = dyn_core.load_robot(ARM)
    simulator = MovingBaseSimulator(robot, "free", q=[0.3, 0.1], V=[0, 0, 5, 0.4, -0.3, 0.9], qd=[2.0, -0.1])
    model = dyn_core.compile_moving_base(robot, "free")
    energy = model.energy(*args(simulator.state)).sum()
    before = simulator.momentum
    for _ in range(2000):
        simulator.step()
    after = model.energy(*args(simulator.state)).sum()
    assert abs(after - energy) < 1e-9 * abs(energy)
    fallen = simulator.momentum - before
    np.testing.assert_allclose(fallen, [0.0, 0.0, -6.0 * 9.81 * 2.0, 0.0, 0.0, 0.0], atol=1e-10)


@pytest.mark.parametrize("kind", ["free", "planar"])
def test_order(kind: str) -> None:
    """The error falls with the fourth power of the step, also that of the orientation."""
    robot = dyn_core.load_robot(ARM)
    ends = []
    size = 7 if kind == "free" else 3
    for step in (4e-2, 2e-2, 1e-2, 1e-3):
        settings = MovingBaseSettings(step=step)
        pose, V = STATE.pose[:size], STATE.V[: min(size, 6)]
        simulator = MovingBaseSimulator(robot, kind, settings, pose, V, [0.3, 0.1], [0.5, -0.2])
        simulator.set_effort([0.5, -1.0])
        simulator.set_force(0.5 * STATE.F[: min(size, 6)])
        simulator.set_wrenches({"slide": [0.3, -0.2, 0.5, 0.1, 0.0, -0.2]})
        for _ in range(round(0.4 / step)):
            state = simulator.step()
        ends.append(np.concatenate(args(state)))
    errors = [np.abs(end - ends[-1]).max() for end in ends[:-1]]
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    np.testing.assert_allclose(orders, 4.0, atol=0.4)


def test_a_second_of_motion_is_that_of_pinocchio() -> None:
    """Pinocchio's direct dynamics and exponential, integrated with steps that are much shorter."""
    robot = dyn_core.load_robot(ARM)
    simulator = MovingBaseSimulator(robot, "free", None, STATE.pose, STATE.V, STATE.q, STATE.qd)
    simulator.set_effort(STATE.tau)
    F = 0.3 * STATE.F
    simulator.set_force(F)
    wrench = np.array([0.3, -0.2, 0.5, 0.1, 0.0, -0.2])
    simulator.set_wrenches({"upper": wrench})
    for _ in range(500):
        state = simulator.step()
    oracle = FreeFlyer(ARM, robot.joint_names, robot.gravity)
    x = (STATE.pose, STATE.V, STATE.q, STATE.qd)
    for _ in range(1000):
        x = oracle.runge_kutta(*x, STATE.tau, F, {"upper": -wrench}, 0.5 / 1000)
    for ours, theirs in zip(args(state), x, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_a_body_that_turns_alone() -> None:
    """Euler's body: about its middle axis it turns over, and angular momentum and energy stay."""
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/>'
    urdf = f'<robot name="body"><link name="b"><inertial><mass value="3"/>{inertia}</inertial></link></robot>'
    robot = dyn_core.load_robot(urdf, gravity=NOTHING)
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


def test_rolling_away() -> None:
    """The planar robot is pushed along by a force on its body, as one body would be."""
    robot = dyn_core.load_robot(ROBOTS / "planar_base.urdf")
    simulator = MovingBaseSimulator(robot, pose=[1.0, -2.0, 0.5 * np.pi])
    simulator.set_force([31.0, 0.0, 0.0])
    for _ in range(1000):
        state = simulator.step()
    mass = sum(body.M for body in simulator.base.robot.bodies)
    np.testing.assert_allclose(simulator.momentum, [0.0, 31.0, 0.0], atol=1e-10)
    np.testing.assert_allclose(state.pose, [1.0, -2.0 + 0.5 * 31.0 / mass, 0.5 * np.pi], atol=1e-10)


def test_exponential() -> None:
    """Of any angle it is the rotation by it, and those that are small and large join."""
    random = np.random.default_rng(0)
    for angle in (0.0, 1e-9, 1e-4, 0.0199, 0.0201, 1.0, 3.0):
        axis = random.normal(size=3)
        axis /= np.linalg.norm(axis)
        x, y, z, w = exponential(tuple(angle * axis))
        np.testing.assert_allclose([x, y, z], np.sin(0.5 * angle) * axis, rtol=1e-15, atol=1e-300)
        assert w == np.cos(0.5 * angle) or abs(w - np.cos(0.5 * angle)) < 1e-15
    turned = moved_pose(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), [1.0, 2.0, 3.0, 0.0, 0.0, np.pi])
    np.testing.assert_allclose(turned, [1.0, 2.0, 3.0, 0.0, 0.0, 1.0, 0.0], atol=1e-15)


def test_friction_and_limits() -> None:
    """Efforts are cut at their limits; Coulomb friction takes energy, and is 0 at rest."""
    robot = dyn_core.load_robot(ARM, gravity=NOTHING)
    simulator = MovingBaseSimulator(robot, "free")
    simulator.set_effort([0.0, 100.0])
    cut = simulator.acceleration
    simulator.set_effort([0.0, 9.0])
    np.testing.assert_array_equal(simulator.acceleration, cut)
    simulator.set_effort([0.0, 0.0])
    np.testing.assert_allclose(simulator.acceleration, 0.0, atol=1e-15)
    rubbing = replace(robot.joints[0], friction=replace(robot.joints[0].friction, Fs=0.5))
    robot = replace(robot, joints=(rubbing, robot.joints[1]))
    simulator = MovingBaseSimulator(robot, "free", qd=[1.0, 0.0])
    model = dyn_core.compile_moving_base(robot, "free", friction=False)
    before = model.energy(*args(simulator.state))[0]
    for _ in range(100):
        state = simulator.step()
    assert 0.0 < model.energy(*args(state))[0] < before - 0.01
    assert np.abs(simulator.momentum - model.momentum(*args(state))).max() < 1e-13


def test_states_and_mistakes() -> None:
    robot = dyn_core.load_robot(root("floating"))
    settings = MovingBaseSettings(backend="python")
    simulator = MovingBaseSimulator(robot, settings=settings)
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
    with pytest.raises(ValueError, match="the quaternion"):
        simulator.set_state([0.0] * 7, STATE.V, STATE.q, STATE.qd)
    with pytest.raises(ValueError, match=r"effort: expected the shape \(2,\), but it has \(3,\)"):
        simulator.set_effort([0.0] * 3)
    with pytest.raises(ValueError, match="F: expected finite numbers"):
        simulator.set_force([np.nan] * 6)
    with pytest.raises(dyn_core.DynError, match="has no link 'tip'"):
        simulator.set_wrenches({"tip": np.zeros(6)})
    with pytest.raises(ValueError, match="duration: expected a finite number"):
        simulator.step(-1.0)
    with pytest.raises(dyn_core.DynError, match="the setting slip_speed is 0: give a finite number > 0"):
        MovingBaseSettings(slip_speed=0)
    with pytest.raises(dyn_core.DynError, match="the setting substeps is 0: give a number from 1"):
        MovingBaseSettings(substeps=0)
    with pytest.raises(dyn_core.DynError, match="a base whose motion is given is not simulated"):
        MovingBaseSimulator(robot, "given")
    massless = '<robot name="m"><link name="b"/></robot>'
    with pytest.raises(dyn_core.DynError, match="no inertia resists the base 'b'"):
        MovingBaseSimulator(dyn_core.load_robot(massless), "free", settings)
    fast = MovingBaseSimulator(robot, settings=MovingBaseSettings(backend="python", greatest_speed=0.5))
    fast.set_effort([50.0, 0.0])
    state = fast.state
    with pytest.raises(dyn_core.DynError, match="the simulation of robot 'arm' diverges near 0 s"):
        fast.step(1.0)
    assert fast.state is state


def test_passive_joints_get_no_effort() -> None:
    second = dyn_core.load_robot(ARM).joint_names[1]
    robot = dyn_core.load_robot(ARM, gravity=NOTHING, loops={"passive": [second]})
    simulator = MovingBaseSimulator(robot, "free")
    simulator.set_effort([1.0, 0.0])
    before = simulator.acceleration
    with pytest.raises(dyn_core.DynError) as caught:
        simulator.set_effort([1.0, 3.0])
    assert str(caught.value) == (
        f"effort: joint '{second}' is given 3 N, but the joint is passive, it has no actuator: give 0, or "
        "leave it out"
    )
    np.testing.assert_array_equal(simulator.acceleration, before)
