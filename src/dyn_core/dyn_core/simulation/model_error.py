# SPDX-License-Identifier: Apache-2.0
"""A robot that is not quite as its description says.

The four moments of the mass of a body, ``P = [[S, m s], [m s^T, m]]`` with S the integral of x x^T and s
the centre of mass, are those of some distribution of mass where P is positive semidefinite. Where the
body is stretched, moved and made heavier, x becomes D x + t, and P becomes ``k T P T^T`` with
``T = [[D, t], [0, 1]]``, which is positive semidefinite again: what was a body stays one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.robot.joints import Joint
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.simulation.settings import is_number
from dyn_core.simulation.simulated_state import checked_seed


def with_model_error(robot: Robot, relative: float, seed: int = 0) -> Robot:
    """Answer a robot whose dynamic parameters are off by chance, each by a body that can be.

    With e the relative error, and each u another random number between -1 and 1: masses, rotor
    inertias, viscous and Coulomb friction and offsets are multiplied by 1 + e u; bodies are
    stretched along each axis of their frame by 1 + e u / 2 and moved along each by r e u / 2, where r
    is the root mean square of the distances of their mass to its centre. Geometry stays.

    Args:
        robot: the robot.
        relative: the largest relative error, 0 to 0.9.
        seed: of the random numbers.
    """
    if not is_number(relative) or not 0.0 <= relative <= 0.9:
        raise DynError(f"the model error is {relative!r}: give a number from 0 to 0.9")
    random = np.random.default_rng(checked_seed(seed))
    bodies, joints = list(robot.bodies), list(robot.joints)
    for j in range(1, len(bodies)):
        u = relative * random.uniform(-1.0, 1.0, 11)
        bodies[j] = _other_body(bodies[j], u[:7])
        joints[j - 1] = _other_drive(joints[j - 1], u[7:])
    # The last one, for the others to be the same whether the base moves, and its mass matters, or not.
    bodies[0] = _other_body(bodies[0], relative * random.uniform(-1.0, 1.0, 7))
    return replace(robot, bodies=tuple(bodies), joints=tuple(joints))


def _other_body(body: InertialParameters, u: Array) -> InertialParameters:
    if body.M == 0.0:
        factor = 1.0 + float(u[0])
        return InertialParameters(*(factor * value for value in body.values))
    J, first = np.array(body.J, dtype=np.float64), np.array(body.MS, dtype=np.float64)
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(J) * np.eye(3) - J
    P[:3, 3] = P[3, :3] = first
    P[3, 3] = body.M
    spread = np.trace(P[:3, :3]) / body.M - first @ first / body.M**2
    T = np.eye(4)
    T[:3, :3] = np.diag(1.0 + 0.5 * u[1:4])
    T[:3, 3] = 0.5 * u[4:7] * np.sqrt(max(float(spread), 0.0))
    P = (1.0 + u[0]) * (T @ P @ T.T)
    (XX, XY, XZ), (_, YY, YZ), (_, _, ZZ) = (np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]).tolist()
    MX, MY, MZ, M = P[3].tolist()
    return InertialParameters(XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M)


def _other_drive(joint: Joint, u: Array) -> Joint:
    Ia, Fv, Fs, Fo = (1.0 + u).tolist()
    friction = joint.friction
    other = replace(friction, Fv=Fv * friction.Fv, Fs=Fs * friction.Fs, Fo=Fo * friction.Fo)
    return replace(joint, Ia=Ia * joint.Ia, friction=other)
