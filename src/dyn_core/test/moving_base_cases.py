# SPDX-License-Identifier: Apache-2.0
"""Random robots on a moving base in random states."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from free_flyer_oracle import FreeFlyer
from random_urdf import random_urdf

import dyn_core
from dyn_core.robot.joints import Friction
from dyn_core.robot.robot import Robot


@dataclass(frozen=True)
class FreeState:
    """A state of a robot on a free base, with accelerations, forces and torques beside it."""

    pose: np.ndarray
    V: np.ndarray
    Vd: np.ndarray
    F: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray


def free_state(random: np.random.Generator, n: int) -> FreeState:
    """Answer a random state."""
    quaternion = random.normal(size=4)
    pose = np.array([*random.normal(size=3), *(quaternion / np.linalg.norm(quaternion))])
    V, Vd, F = random.uniform(-3.0, 3.0, (3, 6))
    q, qd, qdd, tau = random.uniform(-3.0, 3.0, (4, n))
    return FreeState(pose, V, Vd, F, q, qd, qdd, tau)


@dataclass(frozen=True)
class FreeCase:
    """A robot with rotors and friction, Pinocchio's model of it without friction, and a state."""

    robot: Robot
    oracle: FreeFlyer
    state: FreeState
    wrenches: dict[str, np.ndarray]
    link: str

    @property
    def friction(self) -> np.ndarray:
        """Torques of friction."""
        return np.array(
            [
                joint.friction.Fs * np.sign(qd) + joint.friction.Fv * qd + joint.friction.Fo
                for joint, qd in zip(self.robot.joints, self.state.qd, strict=True)
            ]
        )


def heavy_base(urdf: str) -> str:
    """Answer a tree whose root has a mass: without, its joints may be able to move it against nothing."""
    inertial = '<mass value="1.5"/><inertia ixx="0.2" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.4"/>'
    return urdf.replace('<link name="l0"></link>', f'<link name="l0"><inertial>{inertial}</inertial></link>')


def free_case(seed: int, joints: int) -> FreeCase:
    """Answer a tree with masses at its leaves, tilted gravity, friction, and rotors in half of the joints."""
    random = np.random.default_rng(seed)
    gravity = tuple((random.normal(size=3) * 6.0).tolist())
    urdf = heavy_base(random_urdf(seed, joints, massless_leaves=False))
    robot = dyn_core.load_robot(urdf, gravity=gravity, snap=0)
    driven = []
    for joint in robot.joints:
        Ia, Fv, Fs, Fo = random.uniform(0.1, 2.0, 4).tolist()
        Ia = Ia if random.random() < 0.5 else 0.0
        driven.append(replace(joint, Ia=Ia, friction=Friction(Fv, Fs, Fo)))
    robot = replace(robot, joints=tuple(driven))
    rotors = [joint.Ia for joint in robot.joints]
    oracle = FreeFlyer(urdf, robot.joint_names, gravity, rotors)
    links = random.choice(robot.link_names, 3)
    wrenches = {str(link): random.normal(size=6) for link in links[:2]}
    return FreeCase(robot, oracle, free_state(random, robot.dof), wrenches, str(links[2]))
