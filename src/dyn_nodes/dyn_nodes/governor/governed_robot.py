# SPDX-License-Identifier: Apache-2.0
"""What the node `governor` has of one robot: limits, governors, and the motion that was sent on last."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Duration
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from dyn_core import ActuatorLimits, Feasibility, Robot
from dyn_core.control.motion import Motion
from dyn_core.control.passive_agreement import PassiveAgreement
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints
from dyn_core.feasibility.drive_torques import DriveTorques
from dyn_core.feasibility.reference_governor import ReferenceGovernor
from dyn_core.feasibility.trajectory_governor import Governed, TrajectoryGovernor
from dyn_core.robot.joints import Limits
from dyn_nodes.common.messages.joint_reader import JointReader
from dyn_nodes.governor.parameters import GovernorSettings

_NANO = 10**9


@dataclass(eq=False)
class Governing:
    """A robot in use. Another robot is another one of these.

    Attributes:
        robot: the robot.
        limits: what motions keep.
        trajectories: makes trajectories feasible.
        references: makes streams of references feasible; it has a state.
        states: reads joint states.
        wishes: reads references.
        agreement: compares positions of passive joints, where wishes name some.
        running: the trajectory that was sent on last, while it is followed; None before any.
        measured: the measured positions (rad or m); None before any.
    """

    robot: Robot
    limits: ActuatorLimits
    trajectories: TrajectoryGovernor
    references: ReferenceGovernor
    states: JointReader
    wishes: JointReader
    agreement: PassiveAgreement
    running: Trajectory | None = None
    measured: NDArray[np.float64] | None = None

    @property
    def ranges(self) -> Mapping[str, Limits]:
        """Ranges of positions by joint. Speeds are none: what is too fast is made slower."""
        return {
            name: Limits(
                lower=limit.lower if np.isfinite(limit.lower) else None,
                upper=limit.upper if np.isfinite(limit.upper) else None,
            )
            for name, limit in zip(self.limits.joint_names, self.limits.of_joints, strict=True)
        }

    def governed(
        self, points: TrajectoryPoints, t: float, stamp: float | None, *, referred: bool
    ) -> Governed:
        """Answer the feasible trajectory through points from where the joints are; DynError for none.

        Args:
            points: the points.
            t: the present (s).
            stamp: start of the trajectory (s); None for now.
            referred: whether references come in, from whose motion the trajectory begins.
        """
        if self.running is not None and t < self.running.end:
            return self.trajectories.governed(points, t, stamp, running=self.running)
        if referred and (motion := self.references.motion) is not None:
            return self.trajectories.governed(points, t, stamp, motion)
        place = self.measured
        if place is None and self.running is not None:
            place = self.running.last
        start = None if place is None else Motion.at_rest(place)
        return self.trajectories.governed(points, t, stamp, start)


def governing(robot: Robot, settings: GovernorSettings) -> Governing:
    """Compile what it takes for a robot; DynError where the parameters do not fit it."""
    limits = settings.limits(robot)
    terms = {"friction": settings.friction, "rotor_inertia": settings.rotor_inertia}
    steps = Feasibility(robot, limits, **terms)
    drives = DriveTorques(robot, **terms)
    trajectories = TrajectoryGovernor(
        drives, limits, period=settings.check_period, most=settings.greatest_time_scaling
    )
    names = robot.coordinate_names
    agreement = PassiveAgreement(robot)
    return Governing(
        robot,
        limits,
        trajectories,
        ReferenceGovernor(
            steps, settings.timeout, settings.greatest_lag, slow=settings.on_infeasible == "slow"
        ),
        JointReader(names, "joint state", others=True),
        JointReader(names, "reference", others=False, passive=agreement.names),
        agreement,
    )


def with_points(message: JointTrajectory, joint_names: Sequence[str], governed: Governed) -> JointTrajectory:
    """Give the points of a message the times and derivatives of a feasible trajectory, and answer it.

    Args:
        message: the trajectory as it was wished, which is changed.
        joint_names: the joints in the order of the points.
        governed: the trajectory.
    """
    index = {name: j for j, name in enumerate(joint_names)}
    # Passive joints, which follow, have no part in what is sent on.
    message.joint_names = [name for name in message.joint_names if name in index]
    order = [index[name] for name in message.joint_names]
    points = governed.points
    rows = zip(message.points, points.times.tolist(), points.q, points.qd, points.qdd, strict=True)
    for point, time, q, qd, qdd in rows:
        seconds, rest = divmod(round(_NANO * time), _NANO)
        point.time_from_start = Duration(sec=seconds, nanosec=rest)
        point.positions = array("d", q[order].tolist())
        point.velocities = array("d", [] if np.isnan(qd).any() else qd[order].tolist())
        point.accelerations = array("d", [] if np.isnan(qdd).any() else qdd[order].tolist())
        point.effort = array("d")
    return message
