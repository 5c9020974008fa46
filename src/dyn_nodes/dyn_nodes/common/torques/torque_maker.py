# SPDX-License-Identifier: Apache-2.0
"""Parts of a torque node for one robot: the maker of its torques, readers of messages, outputs.

`TorqueMaker` computes the torques; `Running` is one robot in use; `CheckedTrajectory` can be followed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from trajectory_msgs.msg import JointTrajectory

from dyn_core import Robot
from dyn_core.control.command_limits import EffortLimits
from dyn_core.control.trajectories.loop_positions import ConditionLimits, LoopGuard, PassiveAgreement
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory_planning import PlannedPoints, TrajectoryPoints
from dyn_core.control.watchdog import Status, WatchSettings
from dyn_core.core.arrays import Array
from dyn_nodes.common.data_checks import Notice, Rejection
from dyn_nodes.common.messages.joint_reader import JointReader
from dyn_nodes.common.messages.split_joint_states import SplitJointStates
from dyn_nodes.common.torques.desired_motion import DesiredMotion
from dyn_nodes.common.torques.divergence import DivergenceWatch
from dyn_nodes.common.torques.effort_messages import Outputs
from dyn_nodes.common.torques.goal_tolerances import Tolerances
from dyn_nodes.common.torques.output_stage import Output, OutputStage, Smoothing
from dyn_nodes.common.torques.position_checks import BelievedPositions


class TorqueMaker(ABC):
    """Computes the torques of one robot.

    `stage` applies limits, reactions to stale data and transitions; `guard` checks measured positions of
    robots with loops; `desired` is the desired motion. `fault` is why its feedback has given up, None
    while it has not: torques then go to zero, until `restart`.
    """

    desired: DesiredMotion
    settings: Any
    fault: Notice | None = None

    def __init__(
        self,
        robot: Robot,
        limits: EffortLimits,
        watch: WatchSettings,
        smoothing: Smoothing,
        loops: ConditionLimits,
    ) -> None:
        """Begin without data."""
        units = tuple(joint.effort_unit for joint in robot.independent_joints)
        self.stage = OutputStage(limits, units, watch, smoothing)
        self.guard, self._desired_guard = LoopGuard(robot, loops), LoopGuard(robot, loops)
        self._believed = BelievedPositions(robot)
        self._robot = robot
        self._divergence = DivergenceWatch(robot, limits.limits)

    @property
    def position(self) -> Array | None:
        """The last measured positions (rad or m), (n,); None before any."""
        return None if self._believed.last is None else self._believed.last[1]

    def has_lost(
        self, t: float, q: Array, qd: Array | None, error: Array, feedback: Array, torques: Array
    ) -> bool:
        """Return whether the feedback has lost a joint, as `DivergenceWatch.take`; `fault` says which."""
        if self.stage.watch.status is Status.GOOD:
            self.fault = self._divergence.take(t, q, qd, error, feedback, torques)
        return self.fault is not None

    def forget_fault(self) -> None:
        """Trust the feedback again."""
        self.fault = None
        self._divergence.restart()

    def refuse_after_fault(self) -> None:
        """Refuse a motion with a Rejection where the feedback has lost a joint."""
        if self.fault is not None:
            raise Rejection(self.fault.code, **self.fault.values)

    def tune_limits(self, limits: EffortLimits, now: float, *, ramp: bool = False) -> None:
        """Use other effort limits, and ramps and rates of `settings`, from time `now` (s) on."""
        if limits is not self.stage.limits:
            self._divergence = DivergenceWatch(self._robot, limits.limits)
        self.stage.tune(limits, self.settings.watch, self.settings.smoothing, now, ramp=ramp)

    @abstractmethod
    def tuning(self, settings: Any, t: float) -> Callable[[float], None]:
        """Check other values of live parameters at time t of stamps; DynError where they cannot be used.

        Return the function that uses them from a time `now` on, without a step in the torques.
        """

    @abstractmethod
    def restart(self) -> None:
        """Forget all motions and wait for data as at the start."""

    @abstractmethod
    def forget_time(self, t: float, now: float) -> None:
        """Go on after the clock of the stamps was set to another time t (s)."""

    @property
    @abstractmethod
    def needs(self) -> str:
        """Name of the data that the torques depend on, for messages."""

    @abstractmethod
    def measure(self, q: Array, qd: Array | None, t: float, now: float) -> Output | None:
        """Take a measurement; return what to send for it, or None; Rejection if it cannot be used."""

    @abstractmethod
    def idle(self, now: float) -> Output | None:
        """Return what to send where no good data has come, or None; Rejection if it cannot be sent."""

    @abstractmethod
    def last(self) -> Output:
        """Return the last torques to send; Rejection if they cannot be sent."""

    @abstractmethod
    def can_follow(self, motion: Motion) -> bool:
        """Return whether the torques of N motions, (N, n), are within the limits that are known."""

    @abstractmethod
    def take_over(self, before: Any, now: float) -> list[Notice]:
        """Continue from the torques of another robot; return notices about what is forgotten."""


Maker = TypeVar("Maker", bound=TorqueMaker)


class MadeTorques(NamedTuple, Generic[Maker]):
    """The parts for a robot that are slow to make."""

    maker: Maker
    # Compares positions of passive joints in references and trajectories with the loops
    agreement: PassiveAgreement


@dataclass(frozen=True)
class Running(Generic[Maker]):
    """The robot in use and all parts that belong to it. Another robot has another `Running`."""

    robot: Robot
    maker: Maker
    outputs: Outputs
    states: SplitJointStates
    references: JointReader
    # Compares positions of passive joints in references and trajectories with the loops
    agreement: PassiveAgreement
    tolerances: Tolerances  # defaults for goals


@dataclass(frozen=True)
class CheckedTrajectory:
    """A trajectory, checked as far as this needs no present motion; without points it means to stop."""

    message: JointTrajectory
    points: TrajectoryPoints | None = None
    planned: PlannedPoints | None = None
    tolerances: Tolerances | None = None  # of a goal
    efforts: Any = None  # what the node `feedforward` publishes for it
