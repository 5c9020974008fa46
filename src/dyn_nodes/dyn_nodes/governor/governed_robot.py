# SPDX-License-Identifier: Apache-2.0
"""One robot of the node `governor`: limits, governors, and the last sent motion."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from dyn_core import ActuatorLimits, Feasibility, Robot
from dyn_core.control.trajectories.loop_positions import PassiveAgreement
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.feasibility.limit_violations import DriveTorques
from dyn_core.feasibility.reference_governor import ReferenceGovernor
from dyn_core.feasibility.trajectory_governor import Governed, TrajectoryGovernor
from dyn_core.robot.joints import Limits
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot, refuse_moving_base
from dyn_nodes.common.messages.joint_reader import JointReader
from dyn_nodes.common.messages.motion_message import doubles, duration_message
from dyn_nodes.common.messages.split_joint_states import SplitJointStates
from dyn_nodes.governor.parameters import GovernorSettings

_NONE = np.empty(0)


@dataclass(eq=False)
class GovernedRobot:
    """The robot in use. Another robot has another `GovernedRobot`."""

    robot: Robot
    limits: ActuatorLimits
    trajectories: TrajectoryGovernor
    references: ReferenceGovernor  # makes streams of references feasible; it has a state
    states: SplitJointStates
    reference_reader: JointReader
    agreement: PassiveAgreement  # compares given positions of passive joints with the loops
    running: Trajectory | None = None  # the last sent trajectory, while it is followed; None before any
    measured: NDArray[np.float64] | None = None  # the measured positions (rad or m); None before any

    @property
    def ranges(self) -> Mapping[str, Limits]:
        """Ranges of positions by joint, without speed limits: motions that are too fast are slowed."""
        return {
            name: Limits(
                lower=limit.lower if np.isfinite(limit.lower) else None,
                upper=limit.upper if np.isfinite(limit.upper) else None,
            )
            for name, limit in zip(self.limits.joint_names, self.limits.of_joints, strict=True)
        }

    def beginning(self, t: float, *, referred: bool) -> tuple[Motion | None, Trajectory | None]:
        """Return the motion at time t (s) or the running trajectory from which the next one begins.

        Where references come in (`referred`), it begins at their motion.
        """
        if self.running is not None and t < self.running.end:
            return None, self.running
        if referred and (motion := self.references.motion) is not None:
            return motion, None
        place = self.measured
        if place is None and self.running is not None:
            place = self.running.last
        return None if place is None else Motion.at_rest(place), None


def governed_robot(settings: GovernorSettings, described: DescribedRobot) -> GovernedRobot:
    """Compile the parts for a robot; DynError where the parameters do not fit it."""
    robot = described.robot
    refuse_moving_base(robot, "the governor")
    limits = settings.limits(robot)
    terms = {"friction": settings.friction, "rotor_inertia": settings.rotor_inertia}
    steps = Feasibility(robot, limits, **terms)
    drives = DriveTorques(robot, **terms)
    trajectories = TrajectoryGovernor(
        drives, limits, period=settings.check_period, most=settings.greatest_time_scaling
    )
    names = robot.coordinate_names
    agreement = PassiveAgreement(robot)
    return GovernedRobot(
        robot,
        limits,
        trajectories,
        ReferenceGovernor(
            steps, settings.timeout, settings.greatest_lag, slow=settings.on_infeasible == "slow"
        ),
        SplitJointStates(names, settings.max_age),
        JointReader(names, "reference", others=False, passive=agreement.names),
        agreement,
    )


def with_points(message: JointTrajectory, joint_names: Sequence[str], governed: Governed) -> JointTrajectory:
    """Set times and derivatives of a feasible trajectory in the points of a message, and return it."""
    index = {name: j for j, name in enumerate(joint_names)}
    # Passive joints follow the others, and are not sent.
    message.joint_names = [name for name in message.joint_names if name in index]
    order = [index[name] for name in message.joint_names]
    points = governed.points
    rows = zip(message.points, points.times.tolist(), points.q, points.qd, points.qdd, strict=True)
    for point, time, q, qd, qdd in rows:
        point.time_from_start = duration_message(time)
        point.positions = doubles(q[order])
        point.velocities = doubles(_NONE if np.isnan(qd).any() else qd[order])
        point.accelerations = doubles(_NONE if np.isnan(qdd).any() else qdd[order])
        point.effort = array("d")
    return message
