# SPDX-License-Identifier: Apache-2.0
"""Random robots on a moving base in random states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from agreement import AGREES, EPSILON, Finding
from free_flyer_oracle import FreeFlyer
from random_case import with_random_drives
from random_urdf import random_urdf

import dyn_core
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
        terms = [(f.Fv, f.Fs, f.Fo) for f in (joint.friction for joint in self.robot.joints)]
        Fv, Fs, Fo = np.reshape(terms, (-1, 3)).T  # a robot may have no joints
        return Fs * np.sign(self.state.qd) + Fv * self.state.qd + Fo


def heavy_base(urdf: str) -> str:
    """Return a tree whose root has a mass; otherwise its joints could turn without moving any mass."""
    inertial = '<mass value="1.5"/><inertia ixx="0.2" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.4"/>'
    return urdf.replace('<link name="l0"></link>', f'<link name="l0"><inertial>{inertial}</inertial></link>')


def free_case(seed: int, joints: int) -> FreeCase:
    """Return a tree with masses at its leaves, tilted gravity, friction, and rotors in half of the joints."""
    random = np.random.default_rng(seed)
    gravity = tuple((random.normal(size=3) * 6.0).tolist())
    urdf = heavy_base(random_urdf(seed, joints, massless_leaves=False))
    robot = with_random_drives(dyn_core.load_robot(urdf, gravity=gravity, snap=0), random)
    oracle = FreeFlyer(urdf, robot.joint_names, gravity, [joint.Ia for joint in robot.joints])
    links = random.choice(robot.link_names, 3)
    wrenches = {str(link): random.normal(size=6) for link in links[:2]}
    return FreeCase(robot, oracle, free_state(random, robot.dof), wrenches, str(links[2]))


# Errors of the functions of a robot on a free base against Pinocchio with a free-flyer.
FUNCTIONS = ("free: inverse_dynamics", "free: given base", "free: forward_dynamics", "free: inertia_matrix")
ROUNDINGS = 100


def free_flyer_findings(urdf: str, robot: dyn_core.Robot, samples: int) -> Iterator[Finding]:
    """Compare the Python backend with Pinocchio in random states of a robot from this text."""
    model = dyn_core.compile_moving_base(robot, "free", backend="python", friction=False, rotor_inertia=False)
    oracle = FreeFlyer(urdf, model.joint_names, robot.gravity)
    random, worst, bar = np.random.default_rng(0), dict.fromkeys(FUNCTIONS, 0.0), AGREES

    def compare(k: int, ours: np.ndarray, expected: np.ndarray, scale: float | None = None) -> None:
        scale = float(np.abs(expected).max()) if scale is None else scale
        error = float(np.abs(ours - expected).max(initial=0.0) / (scale or 1.0))
        worst[FUNCTIONS[k]] = max(worst[FUNCTIONS[k]], error)

    for _ in range(samples):
        s = free_state(random, len(model.joint_names))
        args, moved = (s.pose, s.V, s.Vd, s.q, s.qd, s.qdd), (s.pose, s.V, s.q, s.qd)
        compare(1, model.inverse_dynamics_given_base(*args), oracle.forces(*args, {}))
        A = oracle.inertia_matrix(s.q)
        compare(3, model.inertia_matrix(s.q), A)
        try:
            ours = model.forward_dynamics(*moved, s.tau, F=s.F)
        except dyn_core.DynError:  # no inertia resists a joint
            continue
        own = np.sqrt(np.diag(A))
        bar = max(bar, ROUNDINGS * EPSILON * float(np.linalg.cond(A / np.outer(own, own))))
        expected = oracle.direct(*moved, s.tau, s.F, {})
        compare(2, ours, expected)
        back = model.inverse_dynamics(*moved, expected[6:], F=s.F)
        # Accelerations of the base, and torques of the joints relative to the sum of magnitudes that cancel
        # in them.
        compare(0, back[:6], expected[:6], float(np.abs(expected).max()))
        compare(0, back[6:], s.tau, float((np.abs(A[6:]) @ np.abs(expected)).max(initial=1.0)))
    for function, error in worst.items():
        accelerations = function in (FUNCTIONS[0], FUNCTIONS[2])
        yield Finding(function, "pinocchio", error, bar if accelerations else AGREES)
