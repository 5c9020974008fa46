# SPDX-License-Identifier: Apache-2.0
"""Whether the actuators of a robot can make a motion, and what it asks of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array
from dyn_core.feasibility.actuator_limits import ActuatorLimits, actuator_limits
from dyn_core.feasibility.bearing_loads import BearingLoad, bearing_loads
from dyn_core.feasibility.drive_torques import DriveTorques
from dyn_core.feasibility.excess import Excess
from dyn_core.feasibility.failures import Failure, failures
from dyn_core.feasibility.limit_violations import Scaling, greatest_rate
from dyn_core.feasibility.motor_sizing import MotorLoad, motor_loads
from dyn_core.feasibility.overheating import Overheating, overheatings
from dyn_core.feasibility.sampled_motion import SampledMotion
from dyn_core.feasibility.step_feasibility import check_actuated
from dyn_core.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class Assessment:
    """What a motion asks of the actuators of a robot.

    Attributes:
        robot: the robot.
        limits: the limits that it was compared with.
        motion: the motion.
        torques: the torques that it needs (N m or N), (m, n).
        failures: where it is beyond limits.
        scaling: the smallest uniform time scaling with which it is not; a position out of range is beyond
            limits whatever the time.
        motors: what it asks of each motor.
        bearings: what it asks of each bearing.
        slower_torques: the torques with that scaling; None where there is none.
        blocked: why no time scaling will do, in a sentence; empty where one does.
        overheating: motors that would get too hot if the motion were repeated for ever.
    """

    robot: Robot
    limits: ActuatorLimits
    motion: SampledMotion
    torques: Array
    failures: tuple[Failure, ...]
    scaling: Scaling
    motors: tuple[MotorLoad, ...]
    bearings: tuple[BearingLoad, ...]
    slower_torques: Array | None
    blocked: str
    overheating: tuple[Overheating, ...]

    @property
    def feasible(self) -> bool:
        """Whether the motors can make it once: at all samples, all limits that there are are kept."""
        return not self.failures

    @property
    def repeatable(self) -> bool:
        """Whether they can make it again and again for ever, without a pause, as far as limits say."""
        return self.feasible and not self.overheating

    @property
    def factor(self) -> float | None:
        """How many times as long it has to take; 1 where that is feasible, None where no time will do."""
        return None if self.blocked else self.scaling.factor

    @property
    def slower(self) -> SampledMotion | None:
        """The motion with that scaling; None where no time will do."""
        return None if self.factor is None else self.motion.slower(self.factor)


def assess_motion(
    robot: Robot,
    motion: SampledMotion,
    limits: ActuatorLimits | None = None,
    wrenches: Mapping[str, npt.ArrayLike] | None = None,
    *,
    friction: bool = True,
    rotor_inertia: bool = True,
) -> Assessment:
    """Answer what a motion asks of the actuators of a robot, at its samples.

    Args:
        robot: the robot; of one with loops the actuated joints move.
        motion: the motion of its coordinates.
        limits: the limits; None for those of its description.
        wrenches: by link name, what it exerts on its environment, as for `Model.inverse_dynamics`.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.

    Raises:
        DynError: a joint has no actuator, or the loops cannot be closed somewhere.
    """
    check_actuated(robot)
    limits = actuator_limits(robot) if limits is None else limits
    times, q, qd, qdd = motion.times, motion.q, motion.qd, motion.qdd
    drives = DriveTorques(robot, friction=friction, rotor_inertia=rotor_inertia)
    rated = drives.rated(q, qd, qdd, wrenches)
    torques = rated.at(1.0)
    found = failures(limits, times, q, qd, torques)
    scaling = greatest_rate(limits, qd, rated)
    out = next((failure for failure in found if failure.excess.quantity == "position"), None)
    blocked = ""
    if out is not None:
        blocked = f"{out.excess.sentence}, however slowly it moves"
    elif not scaling.rate:
        blocked = _cannot_hold(limits, times, rated.c, scaling)
    slower = None if blocked else rated.at(scaling.rate)
    loads = motor_loads(limits, times, qd, torques)
    return Assessment(
        robot,
        limits,
        motion,
        torques,
        found,
        scaling,
        loads,
        bearing_loads(robot, times, q, qd, qdd, wrenches),
        slower,
        blocked,
        overheatings(limits, loads),
    )


def _cannot_hold(limits: ActuatorLimits, times: Array, holding: Array, scaling: Scaling) -> str:
    k, j = scaling.sample or 0, scaling.joint or 0
    most = limits.effort(np.zeros(len(limits.joint_names)))
    excess = Excess(
        limits.joint_names[j],
        "effort",
        float(holding[k, j]),
        math.copysign(float(most[j]), float(holding[k, j])),
        limits.effort_units[j],
    )
    return f"at {times[k]:.4g} s {excess.sentence}, however slowly it moves"
