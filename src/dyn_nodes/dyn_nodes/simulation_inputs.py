# SPDX-License-Identifier: Apache-2.0
"""What acts on the simulated robot: topics ~/commands, ~/torques and ~/wrench."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from std_msgs.msg import Float64MultiArray

from dyn_core import Robot
from dyn_core.core.errors import listed
from dyn_core.model.motor_of import motor_of
from dyn_msgs.msg import JointTorques
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.joint_efforts import named_efforts, with_motors
from dyn_nodes.link_wrench import link_wrench
from dyn_nodes.rejection import Rejection
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
        self._command("~/torques", lambda running: self._exerted(running.robot.simulator.robot, message))

    def _exerted(self, robot: Robot, message: JointTorques) -> NDArray[np.float64]:
        """Answer the efforts that actuators exert of those that feedforward asks of all joints.

        Of a joint behind a spring it is the torque of its motor. Those of passive joints, which it tells as
        well, are left out, and that is said.
        """
        names = with_motors(robot, message.name)
        efforts = named_efforts("torques", robot.coordinate_names, names, message.total)
        motors = motor_of(robot)
        lost = [
            j
            for j, joint in enumerate(robot.independent_joints)
            if efforts[j] and joint.mu != 1 and joint.name not in motors
        ]
        if lost:
            efforts[lost] = 0.0
            which = listed(robot.coordinate_names[j] for j in lost)
            problem = Rejection(f"no actuator moves {which}: such efforts are not exerted, all others are")
            self._node.refuse("efforts without actuators", "~/torques", problem)
        return efforts

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
