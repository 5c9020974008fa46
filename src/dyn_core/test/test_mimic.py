# SPDX-License-Identifier: Apache-2.0
"""Leaders of mimic joints, the remaining coordinates, and the dynamics against Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from pinocchio_oracle import Oracle
from properties import examples, given, st
from random_urdf import random_driven_urdf
from refusals import refusal

import dyn_core
from dyn_core.robot.joint_coupling import coordinate_inertia, joint_positions
from dyn_core.robot.joints import Mimic


def arm(**mimics: str) -> str:
    """Joints j1 to j4 in a row, the third fixed, each with the given attributes of <mimic>."""
    text = '<robot name="arm"><link name="l0"/>'
    for j, kind in enumerate(("revolute", "revolute", "fixed", "revolute"), start=1):
        mimic = f"<mimic {mimics[f'j{j}']}/>" if f"j{j}" in mimics else ""
        text += (
            f'<link name="l{j}"/><joint name="j{j}" type="{kind}"><parent link="l{j - 1}"/>'
            f'<child link="l{j}"/><origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>{mimic}</joint>'
        )
    return f"{text}</robot>"


def test_mimic_joints_are_not_coordinates_unless_mimic_is_off() -> None:
    robot = dyn_core.load_robot(arm(j2='joint="j1" multiplier="-2" offset="0.5"'))
    assert robot.joint_names == robot.actuated_joint_names == ("j1", "j4")
    assert (robot.dof, robot.coordinates, len(robot.joints)) == (2, (1, 3), 3)
    assert robot.joint("j2").mimic == Mimic(1, -2.0, 0.5)
    assert set(robot.limits) == {"j1", "j2", "j4"}
    assert joint_positions(robot, [0.1, 0.2]) == [0.1, pytest.approx(0.3), 0.2]
    assert robot.mdh_table().splitlines()[2].split("  ")[-2].strip() == "-2*t1 + 0.5"
    free = dyn_core.load_robot(arm(j2='joint="j1"'), mimic=False)
    assert (free.joint_names, free.coordinates) == (("j1", "j2", "j4"), (1, 2, 3))


STILL = 'joint="j1" multiplier="0" offset="0.7"'
THRICE, TWICE = 'joint="j1" multiplier="3" offset="0.5"', 'joint="j2" multiplier="2"'


@pytest.mark.parametrize(
    ("mimics", "name", "expected"),
    [
        ({"j1": 'joint="j2"'}, "j1", Mimic(2, 1.0, 0.0)),
        ({"j4": f'{TWICE} offset="1"', "j2": THRICE}, "j4", Mimic(1, 6.0, 2.0)),
        ({"j2": STILL}, "j2", Mimic(0, 0.0, 0.7)),
        ({"j2": 'joint="j3" offset="0.7"'}, "j2", Mimic(0, 0.0, 0.7)),
        ({"j2": STILL, "j4": TWICE}, "j4", Mimic(0, 0.0, 1.4)),
    ],
    ids=["backwards", "chain", "multiplier 0", "of a fixed joint", "of a joint that stands still"],
)
def test_leaders(mimics: dict[str, str], name: str, expected: Mimic) -> None:
    assert dyn_core.load_robot(arm(**mimics)).joint(name).mimic == expected


def chain(n: int, multiplier: str) -> str:
    """A joint and n mimic joints; each mimics the one before; in reverse order in the text."""
    links = "".join(f'<link name="l{j}"/>' for j in range(n + 2))
    joints = "".join(
        f'<joint name="j{j}" type="prismatic"><parent link="l0"/><child link="l{j + 1}"/>'
        f'<mimic joint="j{j - 1}" multiplier="{multiplier}"/></joint>'
        for j in range(n, 0, -1)
    )
    first = '<joint name="j0" type="prismatic"><parent link="l0"/><child link="l1"/></joint>'
    return f'<robot name="r">{links}{joints}{first}</robot>'


def test_long_chains() -> None:
    assert dyn_core.load_robot(chain(3000, "-1")).joint("j3000").mimic == Mimic(3001, 1.0, 0.0)
    said = refusal(dyn_core.load_robot, chain(3000, "1e3"))
    assert said == "mimic-chain-too-large at joint 'j4', <mimic> (line 1): 1e+09"


# Mimic joints against Pinocchio's tree of independent joints, projected on the coordinates.


@examples(200)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(2, 20))
def test_dynamics_agree_with_the_projected_tree(seed: int, joints: int) -> None:
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
