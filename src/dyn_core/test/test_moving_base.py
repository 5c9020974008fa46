# SPDX-License-Identifier: Apache-2.0
"""Robots on a moving base agree with Pinocchio, whose base is a free-flyer or a planar joint."""

from __future__ import annotations

import numpy as np
import pytest
from free_flyer_oracle import FreeFlyer
from moving_base_cases import FreeCase, free_case, free_state, heavy_base
from pinocchio_oracle import Oracle
from properties import examples, given, st
from random_case import assert_close
from random_urdf import random_urdf

import dyn_core
from dyn_core.model.moving_base.compiled_model import MovingBaseModel

TOLERANCE = 1e-9
"""Relative to the greatest value: the bar for free-flying robots."""


def model_of(case: FreeCase, **options: object) -> MovingBaseModel:
    return dyn_core.compile_moving_base(case.robot, "free", backend="python", **options)


def condition(A: np.ndarray) -> float:
    """Condition of an inertia matrix whose rows are made alike."""
    if len(A) == 0:
        return 1.0
    scale = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-300))
    return float(np.linalg.cond(A * np.outer(scale, scale)))


SINGULAR = 1e10
"""Condition beyond which nothing resists one of the joints, as those that carry no mass."""


@examples(120)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(0, 10))
def test_random_trees(seed: int, joints: int) -> None:
    """Inverse and direct dynamics, with wrenches on two links, forces on the base, rotors and friction."""
    case = free_case(seed, joints)
    model, s, on = model_of(case), case.state, case.wrenches
    moved = (s.pose, s.V, s.q, s.qd)

    forces = case.oracle.forces(s.pose, s.V, s.Vd, s.q, s.qd, s.qdd, on)
    forces[6:] += case.friction
    ours = model.inverse_dynamics_given_base(s.pose, s.V, s.Vd, s.q, s.qd, s.qdd, on)
    assert_close(ours, forces, TOLERANCE)
    unloaded = case.oracle.forces(s.pose, s.V, np.zeros(6), s.q, s.qd, 0.0 * s.qdd, {})
    unloaded[6:] += case.friction
    assert_close(model.bias_forces(*moved), unloaded, TOLERANCE)
    assert_close(model.inertia_matrix(s.q), case.oracle.inertia_matrix(s.q), TOLERANCE)

    A = case.oracle.inertia_matrix(s.q)
    if condition(A) > SINGULAR:
        with pytest.raises(dyn_core.DynError, match="no inertia resists"):
            model.forward_dynamics(*moved, s.tau)
        return
    tolerance = max(TOLERANCE, 1e-14 * condition(A))  # what roundings of A make of accelerations
    expected = case.oracle.direct(*moved, s.tau - case.friction, s.F, on)
    assert_close(model.forward_dynamics(*moved, s.tau, on, s.F), expected, tolerance)
    free = case.oracle.direct(*moved, s.tau - case.friction, np.zeros(6), {})
    assert_close(model.forward_dynamics(*moved, s.tau), free, tolerance)

    back = model.inverse_dynamics(*moved, expected[6:], on, s.F)
    assert_close(back[:6], expected[:6], tolerance)
    given_back = case.oracle.forces(s.pose, s.V, back[:6], s.q, s.qd, expected[6:], on)
    given_back[6:] += case.friction
    size = np.abs(A).max() * np.abs(expected).max()  # of what cancels
    error = np.concatenate((s.F, back[6:])) - given_back
    assert np.abs(error).max() <= TOLERANCE * max(np.abs(given_back).max(), 1e-4 * size)


@examples(60)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(0, 10))
def test_given_base(seed: int, joints: int) -> None:
    """A base whose motion is given: the wrench on it, and accelerations of the joints."""
    case = free_case(seed, joints)
    s = case.state
    model = dyn_core.compile_moving_base(case.robot, "given", backend="python")
    args = (s.pose, s.V, s.Vd, s.q, s.qd)
    A = case.oracle.inertia_matrix(s.q)[6:, 6:]
    if condition(A) > SINGULAR:
        with pytest.raises(dyn_core.DynError, match="no inertia resists"):
            model.forward_dynamics_given_base(*args, s.tau)
        return
    found = model.forward_dynamics_given_base(*args, s.tau, case.wrenches)
    torques = model.inverse_dynamics_given_base(*args, found[6:], case.wrenches)
    tolerance = max(TOLERANCE, 1e-14 * condition(A)) * max(1.0, np.abs(found).max())
    np.testing.assert_allclose(torques[6:], s.tau, rtol=0.0, atol=tolerance)
    np.testing.assert_allclose(found[:6], torques[:6], rtol=0.0, atol=tolerance)
    forces = case.oracle.forces(*args, found[6:], case.wrenches)
    forces[6:] += case.friction
    assert_close(torques, forces, TOLERANCE)


@examples(60)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(0, 8))
def test_kinematics_momentum_and_energy(seed: int, joints: int) -> None:
    """Placement, velocity, acceleration and Jacobian of a link; momentum, centre of mass, energy."""
    case = free_case(seed, joints)
    model, s, link = model_of(case, rotor_inertia=False), case.state, case.link
    T, v, a, J = case.oracle.link(s.pose, s.V, s.Vd, s.q, s.qd, s.qdd, link)
    assert_close(model.forward_kinematics(s.pose, s.q, link), T, TOLERANCE)
    assert_close(model.link_velocity(s.pose, s.V, s.q, s.qd, link), v, TOLERANCE)
    assert_close(model.link_acceleration(s.pose, s.V, s.Vd, s.q, s.qd, s.qdd, link), a, TOLERANCE)
    assert_close(model.jacobian(s.pose, s.q, link), J, TOLERANCE)
    moved = (s.pose, s.V, s.q, s.qd)
    assert_close(model.momentum(*moved), case.oracle.momentum(*moved), TOLERANCE)
    assert_close(model.centre_of_mass(s.pose, s.q), case.oracle.centre_of_mass(s.pose, s.q), TOLERANCE)
    kinetic, potential = case.oracle.energy(*moved)
    ours = model.energy(*moved)
    assert_close(ours[0], kinetic, TOLERANCE)
    assert_close(ours[1], potential, TOLERANCE)
    rotors = sum(0.5 * joint.Ia * qd**2 for joint, qd in zip(case.robot.joints, s.qd, strict=True))
    assert_close(model_of(case).energy(*moved)[0], kinetic + rotors, TOLERANCE)


def with_root(urdf: str, kind: str, axis: str = "0 0 1") -> str:
    """Answer a tree whose root l0 hangs on a world by a planar or floating joint."""
    joint = (
        f'<link name="world"/><joint name="root" type="{kind}"><parent link="world"/><child link="l0"/>'
        f'<origin xyz="0.3 -0.2 0.5" rpy="0.4 -0.3 1.1"/><axis xyz="{axis}"/></joint>'
    )
    return urdf.replace('<robot name="random">', f'<robot name="random">{joint}')


@examples(40)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(0, 6))
def test_floating_joint_at_the_root(seed: int, joints: int) -> None:
    """The child of a floating joint is the base, and its pose that in the frame of the root link."""
    random = np.random.default_rng(seed)
    urdf = heavy_base(random_urdf(seed, joints, massless_leaves=False))
    robot = dyn_core.load_robot(with_root(urdf, "floating"), snap=0)
    model = dyn_core.compile_moving_base(robot, backend="python")
    assert (model.base.kind, model.base_link) == ("free", "l0")
    assert model.joint_names == robot.joint_names[6:]
    oracle = FreeFlyer(urdf, model.joint_names, robot.gravity)
    s = free_state(random, len(model.joint_names))
    args = (s.pose, s.V, s.Vd, s.q, s.qd, s.qdd)
    assert_close(model.inverse_dynamics_given_base(*args), oracle.forces(*args, {}), TOLERANCE)
    link = str(random.choice(model.base.robot.link_names))
    T, v, *_ = oracle.link(*args, link)
    assert_close(model.forward_kinematics(s.pose, s.q, link), T, TOLERANCE)
    assert_close(model.link_velocity(s.pose, s.V, s.q, s.qd, link), v, TOLERANCE)


@examples(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    joints=st.integers(0, 6),
    axis=st.sampled_from(["0 0 1", "0 0 -1", "1 0 0", "0 -2 0", "0.3 -0.5 0.7"]),
)
def test_planar_joint_at_the_root(seed: int, joints: int, axis: str) -> None:
    """Beside two prismatic joints and a revolute one, with gravity in any direction."""
    random = np.random.default_rng(seed)
    urdf = with_root(heavy_base(random_urdf(seed, joints, massless_leaves=False)), "planar", axis)
    gravity = random.normal(size=3) * 6.0
    robot = dyn_core.load_robot(urdf, gravity=gravity, snap=0)
    model = dyn_core.compile_moving_base(robot, backend="python")
    assert (model.base.kind, model.base_link) == ("planar", "l0")
    oracle = Oracle(urdf, robot.joint_names, gravity)
    n = len(model.joint_names)
    q, qd, qdd, tau = random.uniform(-2.0, 2.0, (4, 3 + n))
    c, s = np.cos(q[2]), np.sin(q[2])
    turn = np.eye(3 + n)
    turn[:2, :2] = [[c, s], [-s, c]]  # from the axes of the plane to those of the base
    V, Vd = (turn @ qd)[:3], (turn @ qdd)[:3]
    link = str(random.choice(model.base.robot.link_names))
    wrenches = {link: random.normal(size=6)}

    forces = turn @ oracle.inverse_dynamics(q, qd, qdd, wrenches)
    ours = model.inverse_dynamics_given_base(q[:3], V, Vd, q[3:], qd[3:], qdd[3:], wrenches)
    assert_close(ours, forces, TOLERANCE)
    A = oracle.inertia_matrix(q)
    assert_close(model.inertia_matrix(q[3:]), turn @ A @ turn.T, TOLERANCE)
    if condition(A) > SINGULAR:
        with pytest.raises(dyn_core.DynError, match="no inertia resists"):
            model.forward_dynamics(q[:3], V, q[3:], qd[3:], tau[3:])
        return
    tolerance = max(TOLERANCE, 1e-14 * condition(A))
    F = random.normal(size=3)
    given_forces = turn.T @ np.concatenate((F, tau[3:]))
    direct = turn @ oracle.direct_dynamics(q, qd, given_forces, wrenches, np.zeros(3 + n))
    ours = model.forward_dynamics(q[:3], V, q[3:], qd[3:], tau[3:], wrenches, F)
    assert_close(ours, direct, tolerance)
    back = model.inverse_dynamics(q[:3], V, q[3:], qd[3:], direct[3:], wrenches, F)
    assert_close(back, np.concatenate((direct[:3], tau[3:])), tolerance * max(1.0, np.abs(direct).max()))
    R, p = oracle.link_placement(q, link)
    assert_close(model.forward_kinematics(q[:3], q[3:], link)[:3], np.column_stack((R, p)), TOLERANCE)
    velocity, acceleration = oracle.link_motion(q, qd, qdd, link)
    assert_close(model.link_velocity(q[:3], V, q[3:], qd[3:], link), velocity, TOLERANCE)
    args = (q[:3], V, Vd, q[3:], qd[3:], qdd[3:])
    assert_close(model.link_acceleration(*args, link), acceleration, TOLERANCE)
    J = model.jacobian(q[:3], q[3:], link)
    assert_close(J @ np.concatenate((V, qd[3:])), velocity, TOLERANCE)


@pytest.mark.parametrize("base", ["free", "planar"])
@pytest.mark.parametrize("parameters", ["baked", "runtime"])
def test_backends_and_batches(base: str, parameters: str) -> None:
    """C and Python, one sample and batches, say the same."""
    case = free_case(5, 4)
    options = {"parameters": parameters}
    slow = dyn_core.compile_moving_base(case.robot, base, backend="python")
    fast = dyn_core.compile_moving_base(case.robot, base, backend="c", **options)
    random = np.random.default_rng(1)
    states = [free_state(random, case.robot.dof) for _ in range(9)]
    pose = np.array([s.pose for s in states])
    V, Vd, F = (np.array([getattr(s, name) for s in states]) for name in ("V", "Vd", "F"))
    if base == "planar":
        pose, V, Vd, F = (np.ascontiguousarray(x[:, :3]) for x in (pose, V, Vd, F))
    q, qd, x = (np.array([getattr(s, name) for s in states]) for name in ("q", "qd", "tau"))
    calls = {
        "inverse_dynamics": (pose, V, q, qd, x),
        "forward_dynamics": (pose, V, q, qd, x),
        "inverse_dynamics_given_base": (pose, V, Vd, q, qd, x),
        "forward_dynamics_given_base": (pose, V, Vd, q, qd, x),
        "bias_forces": (pose, V, q, qd),
        "inertia_matrix": (q,),
        "momentum": (pose, V, q, qd),
        "centre_of_mass": (pose, q),
        "energy": (pose, V, q, qd),
    }
    for name, arrays in calls.items():
        expected = getattr(slow, name)(*arrays)
        batch = getattr(fast, name)(*arrays)
        np.testing.assert_allclose(batch, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        for k in range(len(states)):
            one = getattr(fast, name)(*(np.ascontiguousarray(array[k]) for array in arrays))
            np.testing.assert_allclose(one, batch[k], rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        out = np.empty_like(expected)
        assert getattr(fast, name)(*arrays, out=out) is out
        np.testing.assert_array_equal(out, batch)
    wrenches = {case.link: random.normal(size=6)}
    for name in ("inverse_dynamics", "forward_dynamics"):
        pushed = getattr(fast, name)(*calls[name], wrenches, F)
        expected = getattr(slow, name)(*calls[name], wrenches, F)
        np.testing.assert_allclose(pushed, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
