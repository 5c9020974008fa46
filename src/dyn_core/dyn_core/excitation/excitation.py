# SPDX-License-Identifier: Apache-2.0
"""A trajectory that shows the parameters of a robot, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.control.trajectories.fourier_motion import FourierMotion
from dyn_core.excitation.margins import Margin
from dyn_core.excitation.motion_limits import MotionLimits
from dyn_core.excitation.settings import ExcitationSettings
from dyn_core.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion from rest to rest within limits.

    Attributes:
        robot: the robot.
        settings: how the motion was looked for.
        trajectory: the motion: ``trajectory.at(t)`` has positions, velocities and accelerations q, qd, qdd
            (n,) at any time, ``trajectory.at_many(times)`` those at N times (N, n).
        condition: condition number of the columns of `parameter_names`, all joints below each other, scaled
            to unit length, with samples every hundredth of a second.
        initial_condition: that of the first random motion within the limits, before the search.
        parameter_names: base parameters of bodies and rotors, and friction, which the motion shows.
        left_out: parameters of friction that cannot be told from others.
        unshown: parameters that no motion within the limits shows, whatever it is: but for a thousandth,
            their columns are combinations of others anywhere. They are not in the condition number.
        hidden: parameters that this motion hardly shows: but for a thousandth, the column of each is a
            combination of others, and its relative errors are that much greater than those of torques.
        limits: the limits that are kept, and what was assumed of them.
        margins: the tightest joint of each kind of limit, and the nearest box, from a dense grid of times.
        complete: whether the search came to its end.
    """

    robot: Robot
    settings: ExcitationSettings
    trajectory: FourierMotion
    condition: float
    initial_condition: float
    parameter_names: tuple[str, ...]
    left_out: tuple[str, ...]
    unshown: tuple[str, ...]
    hidden: tuple[str, ...]
    limits: MotionLimits
    margins: tuple[Margin, ...]
    complete: bool

    @property
    def duration(self) -> float:
        """Time from rest to rest (s)."""
        return self.trajectory.duration

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of every vector."""
        return self.robot.coordinate_names

    def __repr__(self) -> str:
        """Answer what it is, and of which robot."""
        return f"<Excitation of {self.robot!r}, {self.duration:g} s, condition number {self.condition:.4g}>"
