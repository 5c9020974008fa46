# SPDX-License-Identifier: Apache-2.0
"""Mimic joints against Pinocchio's tree of free joints, projected on the coordinates."""

from __future__ import annotations

import numpy as np
from pinocchio_oracle import Oracle
from properties import examples, given, st
from random_drives import random_driven_urdf

import dyn_core
from dyn_core.robot.joint_coupling import coordinate_inertia, joint_positions


@examples(200)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(2, 20))
def test_dynamics_are_those_of_the_free_tree_projected(seed: int, joints: int) -> None:
    """tau = G^T tau_tree and A = G^T A_tree G, with friction and rotors of all joints."""
    urdf = random_driven_urdf(seed, joints)
    free = dyn_core.load_robot(urdf, mimic=False, snap=0)
    random = np.random.default_rng(seed)
    Ia = dict(zip(free.joint_names, random.uniform(0.0, 2.0, free.dof).tolist(), strict=True))
    robot = dyn_core.load_robot(urdf, snap=0).with_rotor_inertias(Ia)
    model = dyn_core.compile_model(robot, backend="python")
    oracle = Oracle(urdf, free.joint_names, robot.gravity)
    n = len(robot.joints)

    offset = np.array(joint_positions(robot, [0.0] * robot.dof))
    unit = np.eye(robot.dof).tolist()
    G = np.array([joint_positions(robot, e) for e in unit]).reshape(robot.dof, n).T - offset[:, None]
    q, qd, qdd = random.uniform(-2.0, 2.0, (3, robot.dof))
    q_tree, qd_tree, qdd_tree = G @ q + offset, G @ qd, G @ qdd

    tau_tree = oracle.inverse_dynamics(q_tree, qd_tree, qdd_tree, {})
    tau_tree = tau_tree + [Ia[joint.name] * a for joint, a in zip(robot.joints, qdd_tree, strict=True)]
    for j, (joint, v) in enumerate(zip(robot.joints, qd_tree, strict=True)):
        tau_tree[j] += joint.friction.Fv * v + joint.friction.Fs * np.sign(v)
    scale = max(np.abs(tau_tree), default=1.0)
    torques = model.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(torques, G.T @ tau_tree, rtol=0.0, atol=1e-12 * max(scale, 1e-3) * 10)
    batch = model.inverse_dynamics([q, q], [qd, qd], [qdd, qdd])
    np.testing.assert_allclose(batch, [torques, torques], rtol=1e-12, atol=1e-12 * scale)

    A_tree = oracle.inertia_matrix(q_tree)
    A = np.reshape(coordinate_inertia(robot, A_tree.tolist()), (robot.dof, robot.dof))
    np.testing.assert_allclose(A, G.T @ A_tree @ G, rtol=1e-12, atol=1e-12)
