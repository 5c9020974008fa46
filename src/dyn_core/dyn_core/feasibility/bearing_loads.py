# SPDX-License-Identifier: Apache-2.0
"""What a motion asks of the bearing of each joint: the wrench through it, without what its actuator takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array
from dyn_core.facade.compile import compile_model
from dyn_core.feasibility.motor_sizing import rms
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot


@dataclass(frozen=True)
class BearingLoad:
    """The greatest loads of the bearing of one joint, in the frame of its child link and about its origin.

    Attributes:
        joint: its name.
        axial_force: greatest force along the axis (N), which the actuator of a prismatic joint takes: 0.
        radial_force: greatest force across the axis (N).
        axial_moment: greatest moment about the axis (N m), which the actuator of a revolute joint takes: 0.
        tilting_moment: greatest moment across the axis (N m).
        rms_force: root mean square of the force that the bearing takes (N).
        rms_moment: root mean square of the moment that it takes (N m).
        time: when the force that it takes is greatest (s).
    """

    joint: str
    axial_force: float
    radial_force: float
    axial_moment: float
    tilting_moment: float
    rms_force: float
    rms_moment: float
    time: float


def bearing_loads(
    robot: Robot,
    times: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    wrenches: Mapping[str, npt.ArrayLike] | None = None,
) -> tuple[BearingLoad, ...]:
    """Answer the loads of the bearings of all joints of the tree, those of passive joints of loops, too.

    Args:
        robot: the robot.
        times: times of the samples (s), (m,).
        q: positions of the coordinates (rad or m), (m, n).
        qd: velocities (rad/s or m/s), (m, n).
        qdd: accelerations (rad/s^2 or m/s^2), (m, n).
        wrenches: by link name, what it exerts on its environment, as for `Model.inverse_dynamics`.
    """
    # In Python: one call for each joint would not pay for compiling.
    model = compile_model(robot, backend="python")
    loads = []
    for joint, link in zip(robot.joints, robot.child_links, strict=True):
        wrench = model.reaction_wrench(q, qd, qdd, joint.name, wrenches)
        axis = np.array(link.T_body_link.R)[2]  # z of the body, on the axes of the link
        force, moment = wrench[:, :3], wrench[:, 3:]
        along, about = force @ axis, moment @ axis
        across, tilting = force - np.outer(along, axis), moment - np.outer(about, axis)
        if joint.sigma is Sigma.PRISMATIC:
            along = np.zeros(len(times))
        else:
            about = np.zeros(len(times))
        radial, tilt = np.linalg.norm(across, axis=1), np.linalg.norm(tilting, axis=1)
        size = np.hypot(along, radial)
        loads.append(
            BearingLoad(
                joint.name,
                float(np.abs(along).max()),
                float(radial.max()),
                float(np.abs(about).max()),
                float(tilt.max()),
                float(rms(times, size[:, None])[0]),
                float(rms(times, np.hypot(about, tilt)[:, None])[0]),
                float(times[size.argmax()]),
            )
        )
    return tuple(loads)
