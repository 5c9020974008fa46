# SPDX-License-Identifier: Apache-2.0
"""Robots on a moving base agree with Pinocchio, whose base is a free-flyer or a planar joint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from depth import some
from free_flyer_oracle import FreeFlyer
from moving_base_cases import FreeCase, free_case, free_state, heavy_base
from pinocchio_oracle import Oracle
from properties import examples, given, st
from random_case import assert_close, with_random_drives
from random_urdf import random_urdf
from test_operation_counts import chain

import dyn_core
from dyn_core.model.moving_base.compiled_model import MovingBaseModel
from dyn_core.model.moving_base.dynamics_programs import base_program
from dyn_core.robot.links import LinkFrame
from dyn_core.robot.moving_base import moving_base
from dyn_core.robot.robot import BaseKind
from dyn_core.symbolic.transform import IDENTITY

TOLERANCE = 1e-9
"""Largest allowed error for free-flying robots, relative to the greatest value."""


def model_of(case: FreeCase, **options: object) -> MovingBaseModel:
    return dyn_core.compile_moving_base(case.robot, "free", backend="python", **options)


def condition(A: np.ndarray) -> float:
    """Condition number of an inertia matrix with equilibrated rows."""
    if len(A) == 0:
        return 1.0
    scale = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-300))
    return float(np.linalg.cond(A * np.outer(scale, scale)))


def assert_unresisted(function: Callable[..., object], *args: object) -> None:
    with pytest.raises(dyn_core.DynError) as caught:
        function(*args)
    assert caught.value.code in ("base-joint-without-inertia", "moving-base-without-inertia")


SINGULAR = 1e10
"""Condition number beyond which a joint has no inertia, for example because it carries no mass."""


@examples(120)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(0, 10))
def test_random_trees(seed: int, joints: int) -> None:
    """Inverse and direct dynamics, with wrenches on two links, forces on the base, rotors and friction."""
    case = free_case(seed, joints)
    model, s, on = model_of(case), case.state, case.wrenches
    moved = (s.pose, s.V, s.q, s.qd)

    friction = np.concatenate((np.zeros(6), case.friction))
    args = (s.pose, s.V, s.Vd, s.q, s.qd, s.qdd, on)
    assert_close(model.inverse_dynamics_given_base(*args), case.oracle.forces(*args) + friction, TOLERANCE)
    unloaded = case.oracle.forces(s.pose, s.V, 0.0 * s.Vd, s.q, s.qd, 0.0 * s.qdd, {}) + friction
    assert_close(model.bias_forces(*moved), unloaded, TOLERANCE)
    A = case.oracle.inertia_matrix(s.q)
    assert_close(model.inertia_matrix(s.q), A, TOLERANCE)
    if condition(A) > SINGULAR:
        assert_unresisted(model.forward_dynamics, *moved, s.tau)
        return
    tolerance = max(TOLERANCE, 1e-14 * condition(A))  # effect of rounding A on the accelerations
    expected = case.oracle.direct(*moved, s.tau - case.friction, s.F, on)
    assert_close(model.forward_dynamics(*moved, s.tau, on, s.F), expected, tolerance)
    free = case.oracle.direct(*moved, s.tau - case.friction, np.zeros(6), {})
    assert_close(model.forward_dynamics(*moved, s.tau), free, tolerance)

    back = model.inverse_dynamics(*moved, expected[6:], on, s.F)
    assert_close(back[:6], expected[:6], tolerance)
    given_back = case.oracle.forces(s.pose, s.V, back[:6], s.q, s.qd, expected[6:], on) + friction
    size = np.abs(A).max() * np.abs(expected).max()  # relative to terms that cancel
    error = np.concatenate((s.F, back[6:])) - given_back
    assert np.abs(error).max() <= TOLERANCE * max(np.abs(given_back).max(), 1e-4 * size)


@examples(60, 20)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(0, 10))
def test_a_base_with_given_motion(seed: int, joints: int) -> None:
    """The wrench on the base, and accelerations of the joints."""
    case = free_case(seed, joints)
    s = case.state
    model = dyn_core.compile_moving_base(case.robot, "given", backend="python")
    args = (s.pose, s.V, s.Vd, s.q, s.qd)
    A = case.oracle.inertia_matrix(s.q)[6:, 6:]
    if condition(A) > SINGULAR:
        assert_unresisted(model.forward_dynamics_given_base, *args, s.tau)
        return
    found = model.forward_dynamics_given_base(*args, s.tau, case.wrenches)
    torques = model.inverse_dynamics_given_base(*args, found[6:], case.wrenches)
    tolerance = max(TOLERANCE, 1e-14 * condition(A)) * max(1.0, np.abs(found).max())
    np.testing.assert_allclose(torques, [*found[:6], *s.tau], rtol=0.0, atol=tolerance)
    forces = case.oracle.forces(*args, found[6:], case.wrenches)
    forces[6:] += case.friction
    assert_close(torques, forces, TOLERANCE)


@examples(60, 20)
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
    for ours, expected in zip(model.energy(*moved), (kinetic, potential), strict=True):
        assert_close(ours, expected, TOLERANCE)
    rotors = sum(0.5 * joint.Ia * qd**2 for joint, qd in zip(case.robot.joints, s.qd, strict=True))
    assert_close(model_of(case).energy(*moved)[0], kinetic + rotors, TOLERANCE)


def with_root(urdf: str, kind: str, axis: str = "0 0 1") -> str:
    """Return a tree whose root l0 hangs on a world by a planar or floating joint."""
    joint = (
        f'<link name="world"/><joint name="root" type="{kind}"><parent link="world"/><child link="l0"/>'
        f'<origin xyz="0.3 -0.2 0.5" rpy="0.4 -0.3 1.1"/><axis xyz="{axis}"/></joint>'
    )
    return urdf.replace('<robot name="random">', f'<robot name="random">{joint}')


@examples(40, 15)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(0, 6))
def test_floating_joint_at_the_root(seed: int, joints: int) -> None:
    """The child of a floating joint is the base; its pose is in the frame of the root link."""
    random = np.random.default_rng(seed)
    urdf = heavy_base(random_urdf(seed, joints, massless_leaves=False))
    robot = dyn_core.load_robot(with_root(urdf, "floating"), snap=0)
    model = dyn_core.compile_moving_base(robot, backend="python")
    assert (model.base.kind, model.base_link, model.joint_names) == ("free", "l0", robot.joint_names[6:])
    oracle = FreeFlyer(urdf, model.joint_names, robot.gravity)
    s = free_state(random, len(model.joint_names))
    args = (s.pose, s.V, s.Vd, s.q, s.qd, s.qdd)
    assert_close(model.inverse_dynamics_given_base(*args), oracle.forces(*args, {}), TOLERANCE)
    link = str(random.choice(model.base.robot.link_names))
    T, v, *_ = oracle.link(*args, link)
    assert_close(model.forward_kinematics(s.pose, s.q, link), T, TOLERANCE)
    assert_close(model.link_velocity(s.pose, s.V, s.q, s.qd, link), v, TOLERANCE)


AXES = ("0 0 1", "0 0 -1", "1 0 0", "0 -2 0", "0.3 -0.5 0.7")


@examples(60, 20)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(0, 6), axis=st.sampled_from(AXES))
def test_planar_joint_at_the_root(seed: int, joints: int, axis: str) -> None:
    """Against two prismatic joints and a revolute one, with gravity in any direction."""
    random = np.random.default_rng(seed)
    urdf = with_root(heavy_base(random_urdf(seed, joints, massless_leaves=False)), "planar", axis)
    gravity = random.normal(size=3) * 6.0
    robot = dyn_core.load_robot(urdf, gravity=gravity, snap=0)
    model = dyn_core.compile_moving_base(robot, backend="python")
    assert (model.base.kind, model.base_link) == ("planar", "l0")
    oracle = Oracle(urdf, robot.joint_names, gravity)
    q, qd, qdd, tau = random.uniform(-2.0, 2.0, (4, 3 + len(model.joint_names)))
    c, s = np.cos(q[2]), np.sin(q[2])
    turn = np.eye(len(q))
    turn[:2, :2] = [[c, s], [-s, c]]  # from the axes of the plane to those of the base
    V, Vd = (turn @ qd)[:3], (turn @ qdd)[:3]
    link = str(random.choice(model.base.robot.link_names))
    wrenches = {link: random.normal(size=6)}

    moved, args = (q[:3], V, q[3:], qd[3:]), (q[:3], V, Vd, q[3:], qd[3:], qdd[3:])
    forces = turn @ oracle.inverse_dynamics(q, qd, qdd, wrenches)
    assert_close(model.inverse_dynamics_given_base(*args, wrenches), forces, TOLERANCE)
    A = oracle.inertia_matrix(q)
    assert_close(model.inertia_matrix(q[3:]), turn @ A @ turn.T, TOLERANCE)
    if condition(A) > SINGULAR:
        assert_unresisted(model.forward_dynamics, *moved, tau[3:])
        return
    tolerance = max(TOLERANCE, 1e-14 * condition(A))
    F = random.normal(size=3)
    direct = turn @ oracle.direct_dynamics(q, qd, turn.T @ np.concatenate((F, tau[3:])), wrenches, 0.0 * q)
    assert_close(model.forward_dynamics(*moved, tau[3:], wrenches, F), direct, tolerance)
    back = model.inverse_dynamics(*moved, direct[3:], wrenches, F)
    assert_close(back, np.concatenate((direct[:3], tau[3:])), tolerance * max(1.0, np.abs(direct).max()))
    R, p = oracle.link_placement(q, link)
    assert_close(model.forward_kinematics(q[:3], q[3:], link)[:3], np.column_stack((R, p)), TOLERANCE)
    velocity, acceleration = oracle.link_motion(q, qd, qdd, link)
    assert_close(model.link_velocity(*moved, link), velocity, TOLERANCE)
    assert_close(model.link_acceleration(*args, link), acceleration, TOLERANCE)
    assert_close(model.jacobian(q[:3], q[3:], link) @ np.concatenate((V, qd[3:])), velocity, TOLERANCE)


@pytest.mark.parametrize("base", ["free", "planar"])
@pytest.mark.parametrize("parameters", ["baked", "runtime"])
def test_backends_and_batches(base: str, parameters: str) -> None:
    """C and Python agree, for single samples and batches."""
    case = free_case(5, 4)
    slow = dyn_core.compile_moving_base(case.robot, base, backend="python")
    fast = dyn_core.compile_moving_base(case.robot, base, backend="c", parameters=parameters)
    if parameters == "runtime":  # parameters of another robot until they are set
        other = with_random_drives(case.robot, np.random.default_rng(2))
        bodies = tuple(replace(body, M=40.0) for body in other.bodies)
        other, own = replace(other, bodies=bodies, gravity=(0.0, 1.0, 2.0)), fast.parameters
        fast = dyn_core.compile_moving_base(other, base, backend="c", parameters=parameters)
        fast.set_parameters(own, gravity=case.robot.gravity)
    random = np.random.default_rng(1)
    states = [free_state(random, case.robot.dof) for _ in range(9)]
    names = ("pose", "V", "Vd", "F", "q", "qd", "tau")
    pose, V, Vd, F, q, qd, x = (np.array([getattr(s, name) for s in states]) for name in names)
    if base == "planar":
        pose, V, Vd, F = (np.ascontiguousarray(x[:, :3]) for x in (pose, V, Vd, F))
    calls = {
        **dict.fromkeys(("inverse_dynamics", "forward_dynamics"), (pose, V, q, qd, x)),
        "inverse_dynamics_given_base": (pose, V, Vd, q, qd, x),
        "forward_dynamics_given_base": (pose, V, Vd, q, qd, x),
        **dict.fromkeys(("bias_forces", "momentum", "energy"), (pose, V, q, qd)),
        "inertia_matrix": (q,),
        "centre_of_mass": (pose, q),
    }
    for name, arrays in calls.items():
        function, expected = getattr(fast, name), getattr(slow, name)(*arrays)
        close = {"rtol": 1e-9, "atol": 1e-9 * np.abs(expected).max()}
        batch = function(*arrays)
        np.testing.assert_allclose(batch, expected, **close)
        for k in range(len(states)):
            one = function(*(np.ascontiguousarray(array[k]) for array in arrays))
            np.testing.assert_allclose(one, batch[k], **close)
        out = np.empty_like(expected)
        assert function(*arrays, out=out) is out
        np.testing.assert_array_equal(out, batch)
    wrenches = {case.link: random.normal(size=6)}
    for name in ("inverse_dynamics", "forward_dynamics"):
        pushed, expected = (getattr(model, name)(*calls[name], wrenches, F) for model in (fast, slow))
        np.testing.assert_allclose(pushed, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


# Operation counts of robots on a moving base grow linearly with the number of joints.


MOST = {"inverse_dynamics": 260, "inverse_dynamics_given_base": 190, "momentum": 150}
MOST |= {"forward_dynamics": 460, "forward_dynamics_given_base": 460}
"""By function, multiplications and additions for one more joint."""


@pytest.mark.parametrize("function", MOST)
@pytest.mark.parametrize("kind", some(["free", "planar"], "free"))
def test_operation_counts_grow_linearly(kind: BaseKind, function: str) -> None:
    """One more joint costs the same in a long chain as in a short one."""
    totals = {}
    for n in (12, 16, 20, 28, 32):
        tree = replace(chain(n), link_frames=(LinkFrame("base", 0, IDENTITY),))
        counts = base_program(moving_base(tree, kind), function).operation_counts
        totals[n] = counts["mul"] + counts["add"]
    per_joint = (totals[32] - totals[28]) / 4
    for n in (16, 20):
        assert abs((totals[n] - totals[n - 4]) / 4 - per_joint) <= 1.0, totals
    assert 0.5 * MOST[function] < per_joint < MOST[function], totals
