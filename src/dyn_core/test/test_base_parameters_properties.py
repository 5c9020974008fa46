# SPDX-License-Identifier: Apache-2.0
"""Base parameters of random trees: both methods, the rank of random data, and Pinocchio's regressor."""

from __future__ import annotations

import numpy as np
from base_agreement import assert_methods_agree, assert_same_torques, rank
from geometric_tables import random_gravity, random_rows, robot_of
from properties import examples, given, st
from random_drives import random_driven_urdf
from random_urdf import EXACT_ANGLES, random_urdf

import dyn_core
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot

seeds = st.integers(0, 2**32 - 1)
mounts = st.sampled_from(["fixed", "tilted", "moving"])


def random_robot(seed: int, joints: int, almost: bool = False) -> Robot:
    random = np.random.default_rng(seed)
    return robot_of(random_rows(random, joints, almost), random_gravity(random))


@examples(300)
@given(seed=seeds, joints=st.integers(1, 9), mount=mounts)
def test_both_methods_agree_with_each_other_and_with_random_data(seed: int, joints: int, mount: str) -> None:
    assert_methods_agree(random_robot(seed, joints), mount)


@examples(100)
@given(seed=seeds, joints=st.integers(1, 9), mount=mounts)
def test_axes_that_are_almost_parallel_or_perpendicular(seed: int, joints: int, mount: str) -> None:
    """By 1e-3 and 1e-9 rad: what tells parameters apart may be small, and coefficients have fewer digits."""
    robot = random_robot(seed, joints, almost=True)
    for rotors in (True, False):
        found = [dyn_core.base_parameters(robot, method, mount, rotors) for method in ("symbolic", "numeric")]
        assert found[0].kept == found[1].kept
        for one in found:
            assert_same_torques(robot, one, mount)


@examples(100)
@given(seed=seeds, joints=st.integers(1, 12), compound=st.booleans(), mount=mounts)
def test_descriptions(seed: int, joints: int, compound: bool, mount: str) -> None:
    """Fixed joints, planar and floating ones, bodies without mass, angles that are printed as roundings."""
    robot = dyn_core.load_robot(
        random_urdf(seed, joints, compound=compound), gravity=(1.0, -3.0, 9.0), snap=0
    )
    for method in ("symbolic", "numeric"):
        assert_same_torques(robot, dyn_core.base_parameters(robot, method, mount), mount)


@examples(100)
@given(seed=seeds, joints=st.integers(2, 10), mount=mounts)
def test_joints_that_mimic_others(seed: int, joints: int, mount: str) -> None:
    urdf = random_driven_urdf(seed, joints, angles=EXACT_ANGLES)
    coupled = assert_methods_agree(dyn_core.load_robot(urdf), mount)
    free = dyn_core.base_parameters(dyn_core.load_robot(urdf, mimic=False), mount=mount)
    assert set(coupled.kept) <= set(free.kept)


@examples(100)
@given(seed=seeds, joints=st.integers(1, 9))
def test_what_more_mounts_show(seed: int, joints: int) -> None:
    """Each parameter of a fixed base is one of a tilted base, and each of that one of a moving base."""
    robot = random_robot(seed, joints)
    fixed, tilted, moving = (
        dyn_core.base_parameters(robot, mount=mount) for mount in ("fixed", "tilted", "moving")
    )
    for less, more in ((fixed, tilted), (tilted, moving)):
        within = less.matrix[:, more.columns] @ more.matrix
        scale = max(1.0, np.abs(less.matrix).max(initial=0.0)) * max(
            1.0, np.abs(more.matrix).max(initial=0.0)
        )
        np.testing.assert_allclose(within, less.matrix, rtol=0.0, atol=1e-9 * scale)


@examples(200)
@given(seed=seeds, joints=st.integers(1, 12))
def test_bound_of_the_number(seed: int, joints: int) -> None:
    """SYMORO+ 2003, theorem 4 of 4.2.3, with 4 for 5: a pendulum has ZZ, MX and MY."""
    robot = random_robot(seed, joints)
    found = dyn_core.base_parameters(robot, rotor_inertia=False)
    most = 0
    for joint in robot.joints:
        turns = joint.sigma is Sigma.REVOLUTE
        most += (7 if turns else 4) - (joint.antecedent == 0) * (4 if turns else 3)
    assert len(found.kept) <= most


@examples(60)
@given(seed=seeds, joints=st.integers(1, 10), compound=st.booleans())
def test_rank_of_the_regressor_of_pinocchio(seed: int, joints: int, compound: bool) -> None:
    """On a fixed base, and on one that moves, where Pinocchio has a free joint before it."""
    import pinocchio as pin
    from pinocchio_oracle import Oracle
    from spelled_out import spelled_out

    urdf = random_urdf(seed, joints, compound=compound, angles=EXACT_ANGLES)
    random = np.random.default_rng(seed)
    gravity = random_gravity(random)
    robot = dyn_core.load_robot(urdf, gravity=gravity)
    samples = 24
    oracle = Oracle(urdf, robot.joint_names, gravity)
    Y = [oracle.regressor(*random.uniform(-2.0, 2.0, (3, robot.dof))) for _ in range(samples)]
    found = dyn_core.base_parameters(robot, rotor_inertia=False)
    assert rank(np.vstack(Y) if robot.dof else np.zeros((0, 0))) == len(found.kept)
    model = pin.buildModelFromXML(spelled_out(urdf), pin.JointModelFreeFlyer())
    model.gravity.linear = np.array(gravity)
    data = model.createData()
    rows = []
    for _ in range(samples):
        q = pin.integrate(model, pin.neutral(model), random.uniform(-2.0, 2.0, model.nv))
        v, a = random.uniform(-2.0, 2.0, (2, model.nv))
        rows.append(pin.computeJointTorqueRegressor(model, data, q, v, a)[6:, 10:])
    moving = dyn_core.base_parameters(robot, mount="moving", rotor_inertia=False)
    assert rank(np.vstack(rows)) == len(moving.kept)


@examples(40)
@given(seed=seeds, joints=st.integers(1, 6), mount=mounts)
def test_symbols_of_any_robot(seed: int, joints: int, mount: str) -> None:
    """Polynomials in the lengths have the values of the matrix, joints that mimic others included."""
    robot = dyn_core.load_robot(random_driven_urdf(seed, joints, angles=EXACT_ANGLES))
    found = dyn_core.base_parameters(robot, mount=mount, symbols=True)
    assert found.coefficients is not None
    values = np.array(
        [[eval(x.text, {}, found.lengths) for x in row] for row in found.coefficients], dtype=float
    )
    scale = max(1.0, np.abs(found.matrix).max(initial=0.0))
    np.testing.assert_allclose(values.reshape(found.matrix.shape), found.matrix, rtol=0.0, atol=1e-9 * scale)
