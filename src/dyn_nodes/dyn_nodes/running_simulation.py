# SPDX-License-Identifier: Apache-2.0
"""The simulated robot in use, with what belongs to it alone."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

from dyn_core import DynError
from dyn_nodes.joint_efforts import CommandOrder
from dyn_nodes.robot_source import DescribedRobot
from dyn_nodes.simulation.simulated_robot import SimulatedRobot


@dataclass(frozen=True)
class RunningSimulation:
    """A robot that is simulated. Another robot is another one of these.

    Attributes:
        described: the robot, as its description says.
        robot: the robot, as it really is.
        order: of arrays of commands.
        message: the joint states, which are filled again and again.
        warnings: what is suspicious about the simulation, one sentence each.
    """

    described: DescribedRobot
    robot: SimulatedRobot
    order: CommandOrder
    message: JointState
    warnings: tuple[str, ...]

    def take_over(self, before: RunningSimulation) -> list[str]:
        """Begin where another robot is, joint by joint of the same name, with what its links hold.

        Returns:
            A sentence about each thing that could not be taken over.
        """
        left = self.robot.take_payloads(before.robot)
        old = before.robot.simulator
        kept = [j for j, name in enumerate(old.joint_names) if name in self.robot.simulator.joint_names]
        q = {old.joint_names[j]: float(old.state.q[j]) for j in kept}
        qd = {old.joint_names[j]: float(old.state.qd[j]) for j in kept}
        try:
            self.robot.place(q, qd)
        except DynError as problem:
            left.append(f"the robot begins in its initial state: {problem}")
        return left

    def joint_states(self, stamp: Time) -> JointState:
        """Answer what the sensors say, and where the passive joints of loops are, which nothing measures."""
        message, measured = self.message, self.robot.simulator.measure()
        message.header.stamp = stamp
        position, velocity, effort = (values.tolist() for values in measured)
        if self.robot.simulator.passive_joint_names:
            passive = self.robot.simulator.passive_state
            position += passive.q.tolist()
            velocity += passive.qd.tolist()
            effort += [0.0] * len(passive.q)
        message.position = array("d", position)
        message.velocity = array("d", velocity)
        message.effort = array("d", effort)
        return message
