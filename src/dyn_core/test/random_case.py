# SPDX-License-Identifier: Apache-2.0
"""A random robot in a random state, with Pinocchio's model of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from pinocchio_oracle import Oracle
from random_urdf import random_urdf

import dyn_core
from dyn_core.dynamics.wrench import Wrench
from dyn_core.facade.external import external_wrenches
from dyn_core.robot.joints import Friction
from dyn_core.robot.robot import Robot

TOLERANCE = 1e-10  # relative to the greatest value


@dataclass(frozen=True)
class Case:
    """A robot and its state: lists of Python floats, which are what the algorithms are slowest with."""

    robot: Robot
    oracle: Oracle
    q: list[float]
    qd: list[float]
    qdd: list[float]
    wrenches: dict[str, np.ndarray]
    link: str

    @property
    def external(self) -> dict[int, Wrench]:
        """The wrenches by body."""
        return external_wrenches(self.robot, self.wrenches, ())

    @property
    def rotor_inertias(self) -> np.ndarray:
        return np.array([joint.Ia for joint in self.robot.joints])


def random_case(seed: int, joints: int, compound: bool = False, massless_leaves: bool = True) -> Case:
    """Answer a tree with tilted gravity, friction, and rotor inertia in half of the joints.

    Some joints are planar or floating where `compound` is true.
    """
    random = np.random.default_rng(seed)
    gravity = tuple((random.normal(size=3) * 6.0).tolist())
    urdf = random_urdf(seed, joints, massless_leaves, compound)
    robot = dyn_core.load_robot(urdf, gravity=gravity, snap=0)
    oracle = Oracle(urdf, robot.joint_names, gravity)
    driven = []
    for joint in robot.joints:
        Ia, Fv, Fs, Fo = random.uniform(0.1, 2.0, 4).tolist()
        Ia = Ia if random.random() < 0.5 else 0.0
        driven.append(replace(joint, Ia=Ia, friction=Friction(Fv, Fs, Fo)))
    links = random.choice(robot.link_names, 3)
    return Case(
        replace(robot, joints=tuple(driven)),
        oracle,
        *random.uniform(-3.0, 3.0, (3, robot.dof)).tolist(),
        {str(link): random.normal(size=6) for link in links[:2]},
        str(links[2]),
    )


def assert_close(ours: object, expected: object, tolerance: float = TOLERANCE) -> None:
    """Compare relative to the greatest of the expected values."""
    expected = np.asarray(expected, dtype=float)
    scale = max(np.abs(expected).max(initial=0.0), 1e-3)
    actual = np.asarray(ours, dtype=float).reshape(expected.shape)
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance * scale)
