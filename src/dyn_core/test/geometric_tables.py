# SPDX-License-Identifier: Apache-2.0
"""Robots from tables of geometric parameters, with random inertial parameters."""

from __future__ import annotations

import math

import numpy as np

from dyn_core.robot.joints import Friction, Joint, MdhParameters, Sigma
from dyn_core.robot.links import InertialParameters, LinkFrame
from dyn_core.robot.mdh.frames import transform_from_mdh
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.transform import Transform
from dyn_core.symbolic.vec3 import Vec3

Row = tuple[int, int, float, float, float, float, float, float]  # a(j), sigma, gamma, b, alpha, d, theta, r

DOWN: Vec3 = (0.0, 0.0, -9.81)
_R = math.pi / 2


def chain(*rows: tuple[int, float, float, float]) -> list[Row]:
    """Rows of a chain from sigma, alpha, d, r."""
    return [(j, sigma, 0.0, 0.0, alpha, d, 0.0, r) for j, (sigma, alpha, d, r) in enumerate(rows)]


STANFORD = chain(  # SYMORO+ 2003, table 1.1
    (0, 0.0, 0.0, 0.0), (0, -_R, 0.0, 0.16), (1, _R, 0.0, 0.0),
    (0, 0.0, 0.0, 0.0), (0, -_R, 0.0, 0.0), (0, _R, 0.0, 0.0),
)  # fmt: skip
RX90 = chain(  # SYMORO+ 2003, table 1.2
    (0, 0.0, 0.0, 0.0), (0, _R, 0.0, 0.0), (0, 0.0, 0.45, 0.0),
    (0, -_R, 0.0, 0.48), (0, _R, 0.0, 0.0), (0, -_R, 0.0, 0.0),
)  # fmt: skip
PUMA = chain(  # PUMA 560
    (0, 0.0, 0.0, 0.0), (0, -_R, 0.0, 0.0), (0, 0.0, 0.4318, 0.15),
    (0, -_R, 0.0203, 0.4318), (0, _R, 0.0, 0.0), (0, -_R, 0.0, 0.0),
)  # fmt: skip
LWR = chain(  # KUKA LWR
    (0, 0.0, 0.0, 0.0), (0, _R, 0.0, 0.0), (0, -_R, 0.0, 0.4), (0, -_R, 0.0, 0.0),
    (0, _R, 0.0, 0.39), (0, _R, 0.0, 0.0), (0, -_R, 0.0, 0.0),
)  # fmt: skip
PANDA = chain(  # Franka Panda, without its hand
    (0, 0.0, 0.0, 0.333), (0, -_R, 0.0, 0.0), (0, _R, 0.0, 0.316), (0, _R, 0.0825, 0.0),
    (0, -_R, -0.0825, 0.384), (0, _R, 0.0, 0.0), (0, _R, 0.088, 0.0),
)  # fmt: skip
UR = chain(  # Universal Robots UR5
    (0, 0.0, 0.0, 0.089), (0, _R, 0.0, 0.0), (0, 0.0, -0.425, 0.0),
    (0, 0.0, -0.392, 0.109), (0, _R, 0.0, 0.095), (0, -_R, 0.0, 0.082),
)  # fmt: skip
SR400: list[Row] = [  # SYMORO+ 2003, table 1.3, without joint 9, which closes its loop; lengths are ours
    (0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (1, 0, 0.0, 0.0, -_R, 0.4, 0.0, 0.0),
    (2, 0, 0.0, 0.0, 0.0, 0.7, 0.0, 0.0), (3, 0, 0.0, 0.0, -_R, 0.16, 0.0, 0.57),
    (4, 0, 0.0, 0.0, _R, 0.0, 0.0, 0.0), (5, 0, 0.0, 0.0, -_R, 0.0, 0.0, 0.0),
    (1, 0, 0.0, 0.0, -_R, 0.4, 0.0, 0.0), (7, 0, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0),
]  # fmt: skip
AKR: list[Row] = [  # SYMORO+ 2003, table 1.4, without joints 11, 12, which close its loops; lengths are ours
    (0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (1, 0, 0.0, 0.0, _R, 0.0, 0.0, 0.0),
    (1, 0, 0.0, 0.0, _R, 0.3, 0.0, 0.0), (1, 0, 0.0, 0.0, _R, 0.5, 0.0, 0.0),
    (3, 1, 0.0, 0.0, -_R, 0.0, 0.0, 0.6), (4, 1, 0.0, 0.0, -_R, 0.0, 0.0, 0.7),
    (2, 0, 0.0, 0.0, 0.0, 0.8, 0.0, 0.0), (7, 0, 0.0, 0.0, -_R, 0.0, 0.0, 0.9),
    (8, 0, 0.0, 0.0, _R, 0.0, 0.0, 0.0), (9, 0, 0.0, 0.0, -_R, 0.0, 0.0, 0.0),
]  # fmt: skip
GENERAL_6R = chain(
    (0, 0.0, 0.0, 0.0), *((0, 0.3 + 0.2 * j, 0.1 + 0.05 * j, 0.2 - 0.06 * j) for j in range(5))
)


def robot_of(rows: list[Row], gravity: Vec3 = DOWN, seed: int = 1) -> Robot:
    """Return the robot with these frames, gravity in frame 0, and random values of all parameters."""
    random = np.random.default_rng(seed)
    joints = []
    for j, (antecedent, sigma, gamma, b, alpha, d, theta, r) in enumerate(rows, start=1):
        mdh = MdhParameters(gamma, b, alpha, d, theta, r)
        friction = Friction(*random.uniform(0.1, 1.0, 3).tolist())
        at, Ia = transform_from_mdh(mdh).p, random.random()
        joints.append(Joint(f"j{j}", antecedent, Sigma(sigma), mdh, at, 1, friction, Ia))
    bodies = [InertialParameters(*random.normal(size=10).tolist()) for _ in range(len(joints) + 1)]
    here = Transform(mat3.IDENTITY, vec3.ZERO)
    links = tuple(LinkFrame(f"link_{j}", j, here) for j in range(len(bodies)))
    return Robot("table", tuple(joints), tuple(bodies), links, gravity, here, "")


def with_random_parameters(robot: Robot, seed: int = 1) -> Robot:
    """Return the same robot with random values of all parameters."""
    return robot.with_parameters(np.random.default_rng(seed).normal(size=len(robot.parameters)).tolist())


def random_rows(random: np.random.Generator, joints: int, almost: bool = False) -> list[Row]:
    """Return a random tree with parallel, perpendicular, general and almost parallel axes."""
    straight, sliding = random.choice([0.5, 0.8, 1.0]), random.choice([0.0, 0.2, 0.6])
    angle = [0.0, 0.0, 0.0, _R, -_R, math.pi, 0.7, -0.3, *([1e-3, 1e-9] if almost else [])], 3.0
    length = [0.0, 0.0, 0.0, 0.3, -0.5], 1.0

    def one_of(special: list[float], reach: float) -> float:
        return float(random.choice(special) if random.random() < 0.8 else random.uniform(-reach, reach))

    return [
        (
            j if random.random() < straight else int(random.integers(0, j + 1)),
            int(random.random() < sliding),
            *(one_of(*kind) for kind in (angle, length) * 3),
        )
        for j in range(joints)
    ]


def random_gravity(random: np.random.Generator) -> Vec3:
    """Gravity along an axis, or in any direction, or none."""
    choices: list[Vec3] = [DOWN, DOWN, (9.81, 0.0, 0.0), (0.0, 9.81, 0.0), (1.0, -2.0, 9.0), vec3.ZERO]
    return choices[int(random.integers(len(choices)))]
