# SPDX-License-Identifier: Apache-2.0
"""Dynamics of robots with springs: Pinocchio with one joint for each motor, and springs computed by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import numpy as np
from pinocchio_oracle import Oracle
from random_urdf import random_urdf
from robots import ROBOTS

import dyn_core
from dyn_core.robot.joints import Friction

EXAMPLES = {"high_speed_machine": "high_speed_machine", "rx90": "rx90_elastic"}  # side file by robot
TILTED = (3.0, -5.0, -7.0)  # a gravity that is not vertical (m/s^2)

Spring = Mapping[str, object]


def with_motors(urdf: str, springs: Mapping[str, Spring]) -> str:
    """Return the URDF with a joint and a massless link added for each motor, parallel to its joint."""
    more = []
    for joint in re.findall(r"<joint .*?</joint>", urdf, re.DOTALL):
        name = re.search(r'name="(\w+)"', joint)[1]
        if "motor" in springs.get(name, {}):
            joint = joint.replace(f'name="{name}"', f'name="{name}_motor"', 1)
            more.append(re.sub(r'<child link="\w+"', f'<child link="{name}_motor_link"', joint))
            more.append(f'<link name="{name}_motor_link"/>')
    return urdf.replace("</robot>", "\n".join([*more, "</robot>"]))


class ElasticOracle:
    """Dynamics of a robot with springs; `names` has its joints, then those of the motors behind springs."""

    def __init__(self, urdf, rigid, springs, rotors) -> None:
        """Take the robot without springs, the springs as in the side file, and all rotor inertias."""
        own = rigid.coordinate_names
        self.names = (*own, *(f"{joint}_motor" for joint in own if "motor" in springs.get(joint, {})))
        self.links = Oracle(urdf, own, rigid.gravity)
        self._bodies = Oracle(with_motors(urdf, springs), self.names, rigid.gravity)
        self._springs, self._rotors = springs, np.array(rotors)

    def inertia_matrix(self, q: np.ndarray) -> np.ndarray:
        return self._bodies.inertia_matrix(q) + np.diag(self._rotors)

    def inverse_dynamics(self, q, qd, qdd, wrenches) -> np.ndarray:
        """Torques of all joints, with springs and without friction."""
        rigid = self._bodies.inverse_dynamics(q, qd, qdd, wrenches)
        return rigid + self._rotors * qdd + self.springs(q, qd)

    def forward_dynamics(self, q, qd, tau, wrenches=None) -> np.ndarray:
        """Joint accelerations due to torques and springs."""
        pulled = tau - self.springs(q, qd)
        return self._bodies.direct_dynamics(q, qd, pulled, wrenches or {}, self._rotors)

    def stretches(self, q: np.ndarray) -> np.ndarray:
        """Joint positions minus motor positions, for joints with springs."""
        found = np.zeros(len(self.names))
        for joint in self._springs:
            j, motor = self.names.index(joint), f"{joint}_motor"
            found[j] = q[j] - (q[self.names.index(motor)] if motor in self.names else 0.0)
        return found

    def springs(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        tau, stretch, rate = np.zeros(len(self.names)), self.stretches(q), self.stretches(qd)
        for joint, spring in self._springs.items():
            j, motor = self.names.index(joint), f"{joint}_motor"
            torque = spring["stiffness"] * (stretch[j] - spring.get("rest", 0.0))
            tau[j] += torque + spring.get("damping", 0.0) * rate[j]
            if motor in self.names:
                tau[self.names.index(motor)] -= tau[j]
        return tau

    def energy(self, q: np.ndarray, qd: np.ndarray) -> float:
        """Kinetic energy of bodies and rotors, and potential energy of bodies and springs (J)."""
        stretch, total = self.stretches(q), 0.5 * qd @ (self._rotors * qd)
        for joint, spring in self._springs.items():
            pulled = stretch[self.names.index(joint)] - spring.get("rest", 0.0)
            total += 0.5 * spring["stiffness"] * pulled**2
        return float(total + self._bodies.energy(q, qd))

    def elastic(self, q, qd, qdd, wrenches) -> tuple[np.ndarray, np.ndarray]:
        """All accelerations and all torques, for given accelerations of the rigid joints."""
        elastic = [k for k, name in enumerate(self.names) if name in self._springs]
        full = np.zeros(len(self.names))
        full[[k for k in range(len(full)) if k not in elastic]] = qdd
        needed = self.inverse_dynamics(q, qd, full, wrenches)[elastic]
        full[elastic] = np.linalg.solve(self.inertia_matrix(q)[np.ix_(elastic, elastic)], -needed)
        tau = self.inverse_dynamics(q, qd, full, wrenches)
        tau[elastic] = 0.0
        return full, tau


def example(name, gravity=None) -> tuple[dyn_core.Robot, ElasticOracle]:
    """One of the example robots, without friction, and its oracle."""
    path, side = ROBOTS / f"{name}.urdf", ROBOTS / f"{EXAMPLES[name]}.yaml"
    robot = dyn_core.load_robot(path, loops=side, snap=0, gravity=gravity)
    robot = replace(robot, joints=tuple(replace(joint, friction=Friction()) for joint in robot.joints))
    springs = {}
    for joint in robot.joints:
        if (spring := joint.elastic) is not None:
            own = {"stiffness": spring.stiffness, "rest": spring.rest, "damping": spring.damping}
            springs[joint.name] = own | ({"motor": {}} if spring.motor else {})
    rigid = dyn_core.load_robot(path, snap=0, gravity=gravity)
    return robot, ElasticOracle(path.read_text(), rigid, springs, [joint.Ia for joint in robot.joints])


def random_springs(names: Sequence[str], seed: int) -> dict[str, Spring]:
    """Springs for most joints, half of them behind motors; two thirds have a rest position and damping."""
    random, springs = Random(6000 + seed), {}
    for name in names:
        if random.random() < 0.65 or (name == names[-1] and not springs):
            springs[name] = spring = {"stiffness": 10.0 ** random.uniform(0.0, 6.0)}
            if random.random() < 0.7:
                spring["rest"] = random.uniform(-0.5, 0.5)
            if random.random() < 0.7:
                spring["damping"] = 10.0 ** random.uniform(-1.0, 3.0)
            if random.random() < 0.5:
                gear = random.choice((1.0, -20.0, 50.0))
                spring["motor"] = {"inertia": random.uniform(0.1, 1.0) / gear**2, "gear": gear}
    return springs


def random_elastic(seed: int, joints: int, chain: bool = False) -> tuple[dyn_core.Robot, ElasticOracle]:
    """A random tree with springs, rotors in rigid joints and tilted gravity, and its oracle."""
    urdf = random_urdf(seed, joints, massless_leaves=False, chain=chain)
    rigid = dyn_core.load_robot(urdf, snap=0, gravity=TILTED)
    springs = random_springs(rigid.joint_names, seed)
    rotors = {name: 0.1 * (1 + k) for k, name in enumerate(rigid.joint_names) if name not in springs}
    side = {"elastic": springs, "rotor_inertia": rotors}
    robot = dyn_core.load_robot(urdf, loops=side, snap=0, gravity=TILTED)
    return robot, ElasticOracle(urdf, rigid, springs, [joint.Ia for joint in robot.joints])
