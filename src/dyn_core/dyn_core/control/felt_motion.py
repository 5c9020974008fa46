# SPDX-License-Identifier: Apache-2.0
"""What a base feels, from what an inertial measurement unit or an odometry on it shows.

It is specific force, angular velocity and angular acceleration at the origin of the root link and on its axes
(`facade.driven_base`). An inertial measurement unit shows specific force, acceleration less gravity, so that
the direction of gravity comes with it, and is not to be known. An odometry shows velocities and an
orientation in a frame in which gravity is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dyn_core.control.laws.base_measurement import DerivativeFilter
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.linalg import transform
from dyn_core.linalg.quaternion import rotation_matrix
from dyn_core.linalg.transform import Transform
from dyn_core.robot.robot import Robot

UNIT = 1e-2
"""How far from 1 the length of a quaternion may be."""

AXES = ("x", "y", "z")


def mount(robot: Robot, frame: str) -> Transform:
    """Answer where a link that is fixed to the base is in the frame of the root link.

    Raises:
        DynError: the robot has no such link, or joints move it against the base.
    """
    link = robot.link_frame(frame)
    if link.body != 0:
        joint = robot.joints[link.body - 1].name
        raise DynError(
            f"the link '{frame}' of robot '{robot.name}' is carried by joint '{joint}': what is measured "
            f"there is no motion of the base, measure at a link that is fixed to '{robot.link_names[0]}'",
            element=f"link '{frame}'",
        )
    return transform.compose(robot.T_root_0, link.T_body_link)


def orientation(quaternion: Sequence[float]) -> Array:
    """Answer the rotation matrix of a quaternion x, y, z, w; ValueError where its length is not 1."""
    length = math.hypot(*quaternion)
    if not abs(length - 1.0) <= UNIT:
        raise ValueError(
            f"the quaternion (x, y, z, w) of the orientation has the length {length:.6g}: "
            "a rotation has the length 1"
        )
    x, y, z, w = quaternion
    return np.array(rotation_matrix((x, y, z, w)))


class FeltMotion:
    """What a base feels, sample by sample. It has a state: filters for derivatives.

    Attributes:
        cutoff: of the filters (Hz); 0: accelerations that have to be derived are taken for 0.
    """

    def __init__(self, cutoff: float, max_gap: float) -> None:
        """Begin without samples.

        Args:
            cutoff: of the filters for derivatives (Hz); 0 for none.
            max_gap: time between samples beyond which they start anew (s).
        """
        self.cutoff = cutoff
        self._angular = DerivativeFilter(AXES, cutoff, max_gap=max_gap) if cutoff else None
        self._linear = DerivativeFilter(AXES, cutoff, max_gap=max_gap) if cutoff else None

    def reset(self) -> None:
        """Forget all samples."""
        for one in (self._angular, self._linear):
            if one is not None:
                one.reset()

    def of_imu(self, T_root_imu: Transform, t: float, w: Array, force: Array) -> Array:
        """Answer what the base feels, (9,).

        Args:
            T_root_imu: where the unit is in the frame of the root link.
            t: time of the sample (s).
            w: angular velocity on the axes of the unit (rad/s).
            force: specific force on the axes of the unit (m/s^2): at rest and upright (0, 0, 9.81).
        """
        return self.at_root(T_root_imu, w, _derivative(self._angular, t, w), force)

    def of_odometry(
        self, T_root_base: Transform, t: float, R_world_base: Array, v: Array, w: Array, gravity: Array
    ) -> Array:
        """Answer what the base feels, (9,).

        Args:
            T_root_base: where the frame whose velocity it is is in the frame of the root link.
            t: time of the sample (s).
            R_world_base: orientation of that frame.
            v: velocity of its origin on its axes (m/s).
            w: angular velocity on its axes (rad/s).
            gravity: acceleration of gravity on the axes of the world (m/s^2).
        """
        acceleration = _derivative(self._linear, t, v) + np.cross(w, v)
        force = acceleration - R_world_base.T @ gravity
        return self.at_root(T_root_base, w, _derivative(self._angular, t, w), force)

    def at_root(self, T_root_unit: Transform, w: Array, wd: Array, force: Array) -> Array:
        """Carry the motion of a point of the base over to the origin of the root link."""
        R: Array = np.array(T_root_unit.R)
        p: Array = np.array(T_root_unit.p)
        w, wd = R @ w, R @ wd
        return np.concatenate((R @ force - np.cross(wd, p) - np.cross(w, np.cross(w, p)), w, wd))


def _derivative(over_time: DerivativeFilter | None, t: float, values: Array) -> Array:
    if over_time is None:
        return np.zeros(3)
    (rate,) = over_time.update(t, values)
    return rate
