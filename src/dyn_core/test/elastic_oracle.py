# SPDX-License-Identifier: Apache-2.0
"""Robots with springs, and their dynamics by the inertia matrix of Pinocchio and springs by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
from pinocchio_oracle import Oracle
from random_urdf import random_urdf

import dyn_core

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
EXAMPLES = {"high_speed_machine": "high_speed_machine", "rx90": "rx90_elastic"}
"""Side file by robot."""
TILTED = (3.0, -5.0, -7.0)
"""A gravity that is not vertical (m/s^2)."""

Spring = Mapping[str, object]


class ElasticOracle:
    """Dynamics of a robot with springs, of which Pinocchio knows the bodies.

    Attributes:
        names: the joints of the robot, then those of the motors behind springs.
    """

    def __init__(
        self, urdf: str, rigid: dyn_core.Robot, springs: Mapping[str, Spring], rotors: Sequence[float]
    ) -> None:
        """Take the robot without springs, the springs as the side file has them, and all rotor inertias."""
        self._bodies = Oracle(urdf, rigid.joint_names, rigid.gravity)
        self._springs, self._rotors = springs, np.diag(rotors)
        own = rigid.coordinate_names
        self.names = (*own, *(f"{joint}_motor" for joint in own if "motor" in springs.get(joint, {})))
        self._own = len(own)

    def inertia_matrix(self, q: np.ndarray) -> np.ndarray:
        A = self._rotors.copy()
        A[: self._own, : self._own] += self._bodies.inertia_matrix(q[: self._own])
        return A

    def inverse_dynamics(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, wrenches: Mapping[str, Sequence[float]]
    ) -> np.ndarray:
        """Torques of all joints, with springs and without friction."""
        n = self._own
        tau = self._rotors @ qdd + self.springs(q, qd)
        tau[:n] += self._bodies.inverse_dynamics(q[:n], qd[:n], qdd[:n], wrenches)
        return tau

    def springs(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        tau = np.zeros(len(self.names))
        for joint, spring in self._springs.items():
            j = self.names.index(joint)
            motor = self.names.index(f"{joint}_motor") if "motor" in spring else None
            stretch = q[j] - spring.get("rest", 0.0) - (0.0 if motor is None else q[motor])
            rate = qd[j] - (0.0 if motor is None else qd[motor])
            torque = spring["stiffness"] * stretch + spring.get("damping", 0.0) * rate
            tau[j] += torque
            if motor is not None:
                tau[motor] -= torque
        return tau

    def energy(self, q: np.ndarray, qd: np.ndarray) -> float:
        """Kinetic energy of bodies and rotors, and potential energy of bodies and springs (J)."""
        n, total = self._own, 0.5 * qd @ self._rotors @ qd
        for joint, spring in self._springs.items():
            motor = q[self.names.index(f"{joint}_motor")] if "motor" in spring else 0.0
            stretch = q[self.names.index(joint)] - spring.get("rest", 0.0) - motor
            total += 0.5 * spring["stiffness"] * stretch**2
        return float(total + self._bodies.energy(q[:n], qd[:n]))

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Accelerations that torques and springs give."""
        needed = self.inverse_dynamics(q, qd, np.zeros(len(q)), {})
        return np.linalg.solve(self.inertia_matrix(q), tau - needed)

    def elastic(
        self,
        q: np.ndarray,
        qd: np.ndarray,
        qdd: np.ndarray,
        wrenches: Mapping[str, Sequence[float]],
    ) -> tuple[np.ndarray, np.ndarray]:
        """All accelerations, and the torques of all joints, for accelerations of the rigid joints alone."""
        elastic = [k for k, name in enumerate(self.names) if name in self._springs]
        rigid = [k for k in range(len(self.names)) if k not in elastic]
        full = np.zeros(len(self.names))
        full[rigid] = qdd
        needed = self.inverse_dynamics(q, qd, full, wrenches)[elastic]
        full[elastic] = np.linalg.solve(self.inertia_matrix(q)[np.ix_(elastic, elastic)], -needed)
        tau = self.inverse_dynamics(q, qd, full, wrenches)
        tau[elastic] = 0.0
        return full, tau


def example(
    name: str, gravity: tuple[float, float, float] | None = None
) -> tuple[dyn_core.Robot, ElasticOracle]:
    """One of the example robots, without friction, and its oracle."""
    path, side = ROBOTS / f"{name}.urdf", ROBOTS / f"{EXAMPLES[name]}.yaml"
    robot = dyn_core.load_robot(path, loops=side, snap=0, gravity=gravity)
    joints = tuple(replace(joint, friction=type(joint.friction)()) for joint in robot.joints)
    robot = replace(robot, joints=joints)  # the oracle has none
    springs = {}
    for joint in robot.joints:
        if joint.elastic is not None:
            spring = joint.elastic
            springs[joint.name] = {
                "stiffness": spring.stiffness,
                "rest": spring.rest,
                "damping": spring.damping,
            }
            if spring.motor:
                springs[joint.name]["motor"] = {}
    rigid = dyn_core.load_robot(path, snap=0, gravity=gravity)
    return robot, ElasticOracle(path.read_text(), rigid, springs, [joint.Ia for joint in robot.joints])


def random_springs(names: Sequence[str], seed: int) -> dict[str, Spring]:
    """Springs for about half of the joints, a third of them behind motors; for one at least."""
    random = Random(seed)
    springs: dict[str, Spring] = {}
    for name in names:
        if random.random() < 0.5 or name == names[-1]:
            spring = {"stiffness": 10.0 ** random.uniform(0.0, 4.0), "rest": random.uniform(-0.5, 0.5)}
            if random.random() < 0.7:
                spring["damping"] = random.uniform(0.0, 5.0)
            if random.random() < 0.4:
                spring["motor"] = {
                    "inertia": random.uniform(1e-4, 1e-2),
                    "gear": random.choice((1.0, -20.0, 50.0)),
                }
            springs[name] = spring
    return springs


def random_elastic(seed: int, joints: int, chain: bool = False) -> tuple[dyn_core.Robot, ElasticOracle]:
    """A random tree with springs and a gravity that is not vertical, and its oracle."""
    urdf = random_urdf(seed, joints, massless_leaves=False, chain=chain)
    rigid = dyn_core.load_robot(urdf, snap=0, gravity=TILTED)
    springs = random_springs(rigid.joint_names, seed)
    robot = dyn_core.load_robot(urdf, loops={"elastic": springs}, snap=0, gravity=TILTED)
    return robot, ElasticOracle(urdf, rigid, springs, [joint.Ia for joint in robot.joints])
