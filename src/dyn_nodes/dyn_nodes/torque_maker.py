# SPDX-License-Identifier: Apache-2.0
"""What makes the torques of a robot, and all else that belongs to one robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from dyn_core import Robot
from dyn_core.control.passive_agreement import PassiveAgreement
from dyn_core.control.trajectories.loop_positions import LoopGuard
from dyn_core.core.arrays import Array
from dyn_nodes.common.messages.joint_reader import JointReader
from dyn_nodes.common.torques.desired_motion import DesiredMotion
from dyn_nodes.common.torques.effort_messages import Outputs
from dyn_nodes.common.torques.output_stage import Output, OutputStage


class TorqueMaker(Protocol):
    """What makes the torques of one robot."""

    stage: OutputStage
    guard: LoopGuard
    desired: DesiredMotion

    def restart(self) -> None:
        """Forget the motions and wait for data as at first."""

    def forget_time(self, t: float, now: float) -> None:
        """Go on after the clock of the stamps was set to another time t (s)."""

    @property
    def position(self) -> Array | None:
        """The last measured positions (rad or m), (n,); None before any."""

    @property
    def needs(self) -> str:
        """What torques follow from, for sentences."""

    def idle(self, now: float) -> Output | None:
        """Answer what to send because no good data has come, if anything; Rejection if it cannot be sent."""

    def last(self) -> Output:
        """Answer the last torques to send; Rejection if they cannot be sent."""

    def take_over(self, before: Any, now: float) -> list[str]:
        """Go on from the torques of another robot; answer a sentence about each thing that is forgotten."""


Maker = TypeVar("Maker", bound=TorqueMaker)


@dataclass(frozen=True)
class Running(Generic[Maker]):
    """The robot in use and all that belongs to it alone. Another robot is another one of these.

    Attributes:
        robot: the robot.
        maker: makes the torques.
        outputs: publishes them.
        states: reads joint states.
        references: reads references.
        agreement: compares positions of passive joints in references and trajectories with the loops.
    """

    robot: Robot
    maker: Maker
    outputs: Outputs
    states: JointReader
    references: JointReader
    agreement: PassiveAgreement
