# SPDX-License-Identifier: Apache-2.0
"""What acts on the simulated robot: topics ~/commands, ~/torques and ~/wrench."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import Float64MultiArray

from dyn_msgs.msg import JointTorques
from dyn_nodes import qos
from dyn_nodes.joint_efforts import named_efforts, with_motors
from dyn_nodes.link_wrench import link_wrench
from dyn_nodes.rejection import Rejection
from dyn_nodes.robot_node import RobotNode
from dyn_nodes.running_simulation import RunningSimulation

_RIVAL_S = 0.5
"""Commands from two topics within this time are one too many."""


class SimulationInputs:
    """The topics; what comes on them acts while there is a robot and the node is active."""

    def __init__(
        self,
        node: RobotNode[RunningSimulation],
        active: Callable[[], RunningSimulation | None],
        steady: Callable[[], float],
    ) -> None:
        """Subscribe.

        Args:
            node: the node.
            active: answers the robot while the node is active.
            steady: a clock that never goes back (s).
        """
        self._node = node
        self._active = active
        self._steady = steady
        self._commanded: dict[str, float] = {}
        node.subscribe(Float64MultiArray, "~/commands", self._on_commands, qos.LATEST_SAMPLE)
        node.subscribe(JointTorques, "~/torques", self._on_torques, qos.LATEST_SAMPLE)
        node.subscribe(WrenchStamped, "~/wrench", self._on_wrench, qos.EACH_SAMPLE)

    def _on_commands(self, message: Float64MultiArray) -> None:
        self._command("~/commands", lambda running: running.order.efforts(message.data))

    def _on_torques(self, message: JointTorques) -> None:
        self._command(
            "~/torques",
            lambda running: named_efforts(
                "torques",
                running.robot.simulator.joint_names,
                # What feedforward says of a joint behind a spring is the torque of its motor.
                with_motors(running.robot.simulator.robot, message.name),
                message.total,
            ),
        )

    def _command(self, topic: str, efforts: Callable[[RunningSimulation], Any]) -> None:
        running = self._active()
        if running is None:
            return
        try:
            running.robot.command(efforts(running))
        except Rejection as problem:
            self._node.refuse("commands refused", topic, problem)
            return
        now = self._steady()
        self._commanded[topic] = now
        rivals = [other for other, at in self._commanded.items() if other != topic and now - at < _RIVAL_S]
        if rivals:
            self._node.count(
                "commands on both topics", f"commands come on {topic} and {rivals[0]}: the newest one acts"
            )
        self._node.count("commands")

    def _on_wrench(self, message: WrenchStamped) -> None:
        running = self._active()
        if running is None:
            return
        try:
            running.robot.push(link_wrench(message, running.described.robot))
        except Rejection as problem:
            self._node.refuse("wrenches refused", "~/wrench", problem)
            return
        self._node.count("wrenches")
