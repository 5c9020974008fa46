# SPDX-License-Identifier: Apache-2.0
"""A random robot in a random state, with Pinocchio's model of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from pinocchio_oracle import Oracle
from random_urdf import random_urdf

import dyn_core
from dyn_core.algorithms.dynamics.wrenches import Wrench
from dyn_core.model.external_wrenches import external_wrenches
from dyn_core.robot.joints import Friction
from dyn_core.robot.robot import Robot

TOLERANCE = 1e-10  # relative to the greatest value


@dataclass(frozen=True)
class Case:
    """A robot and its state as lists of Python floats, the slowest kind of numbers."""

    robot: Robot
    oracle: Oracle
    q: list[float]
    qd: list[float]
    qdd: list[float]
    wrenches: dict[str, np.ndarray]
    link: str

    @property
    def external(self) -> dict[int, Wrench]:
        return external_wrenches(self.robot, self.wrenches, ())

    @property
    def rotor_inertias(self) -> np.ndarray:
        return np.array([joint.Ia for joint in self.robot.joints])


def with_random_drives(robot: Robot, random: np.random.Generator) -> Robot:
    joints = []
    for joint in robot.joints:
        Ia, *friction = random.uniform(0.1, 2.0, 4).tolist()
        joints.append(replace(joint, Ia=Ia if random.random() < 0.5 else 0.0, friction=Friction(*friction)))
    return replace(robot, joints=tuple(joints))


def random_case(seed: int, joints: int, compound: bool = False, massless_leaves: bool = True) -> Case:
    """Return a tree with tilted gravity, friction, and rotor inertia in half of the joints.

    Some joints are planar or floating where `compound` is true.
    """
    random = np.random.default_rng(seed)
    gravity = tuple((random.normal(size=3) * 6.0).tolist())
    urdf = random_urdf(seed, joints, massless_leaves, compound)
    robot = dyn_core.load_robot(urdf, gravity=gravity, snap=0)
    oracle = Oracle(urdf, robot.joint_names, gravity)
    driven = with_random_drives(robot, random)
    links = random.choice(robot.link_names, 3)
    return Case(
        driven,
        oracle,
        *random.uniform(-3.0, 3.0, (3, robot.dof)).tolist(),
        {str(link): random.normal(size=6) for link in links[:2]},
        str(links[2]),
    )


def assert_close(ours: object, expected: object, tolerance: float = TOLERANCE) -> None:
    """Compare with a tolerance relative to the greatest expected value."""
    expected = np.asarray(expected, dtype=float)
    scale = max(np.abs(expected).max(initial=0.0), 1e-3)
    actual = np.asarray(ours, dtype=float).reshape(expected.shape)
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance * scale)
