# SPDX-License-Identifier: Apache-2.0
"""What becomes of a trajectory that comes in: it is followed, and answered with its efforts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from dyn_core import DynError
from dyn_core.control.passive_agreement import PassiveAgreement
from dyn_core.control.plan import planned
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_nodes.common.messages.motion_message import points_of, sampled_trajectory, with_efforts
from dyn_nodes.feedforward.torque_source import TorqueSource
from dyn_nodes.rejection import Rejection
from dyn_nodes.trajectory_efforts import sampling_times

_STOP_S = 0.01
"""Time in which a controller that gets a stop stands still (s): a point without time to reach it is past."""


class Followed(NamedTuple):
    """A trajectory that is followed from now on.

    Attributes:
        answer: the trajectory with its efforts; where it is empty, one that stops as well, or None where no
            efforts can hold the robot.
        excess: a sentence about the joint that asks for most above its limit; None where none does.
    """

    answer: JointTrajectory | None
    excess: str | None


def follow(
    source: TorqueSource,
    agreement: PassiveAgreement,
    message: JointTrajectory,
    t: float,
    stamp: float | None,
    now: float,
    effort_period: float,
) -> Followed:
    """Follow a trajectory from now on; an empty one means to stand still.

    Args:
        source: what follows it.
        agreement: compares positions of passive joints, where it names some.
        message: the trajectory.
        t: the present on the clock of stamps (s).
        stamp: its start (s); None for now.
        now: the present on the steady clock (s).
        effort_period: time between the points of the answer (s); 0 for the points that it has.

    Raises:
        DynError, Rejection: it cannot be followed; what is followed at present stays.
    """
    robot = source.loaded.robot
    if not message.points:
        source.stand(t, now)
        return Followed(_stop(source, t), None)
    points = points_of(message, robot, agreement)
    trajectory = source.planned(points, t, stamp, now)
    if effort_period > 0.0:
        times = sampling_times(trajectory, t if stamp is None else max(t, stamp), effort_period)
        samples = source.samples(trajectory, times)
        efforts, excess = source.efforts(samples)
        from_start = times - (t if stamp is None else stamp)
        answer = sampled_trajectory(message, robot.coordinate_names, from_start, samples, efforts)
    else:
        alone = planned(points, 0.0, 0.0, for_springs=source.has_springs)
        efforts, excess = source.efforts(source.samples(alone, points.times))
        answer = with_efforts(message, robot.coordinate_names, efforts)
    source.follow(trajectory, t, now)
    return Followed(answer, excess)


def _stop(source: TorqueSource, t: float) -> JointTrajectory | None:
    """Answer a trajectory to where the robot stands now: controllers refuse empty ones."""
    standing = source.desired.at(t)
    if standing is None:
        return None
    samples = Trajectory.standing(standing.q, t).sample_many(np.array([t]))
    try:
        efforts, _ = source.efforts(samples)
    except (DynError, Rejection):
        return None
    names = source.loaded.robot.coordinate_names
    return sampled_trajectory(
        JointTrajectory(joint_names=names), names, np.array([_STOP_S]), samples, efforts
    )
