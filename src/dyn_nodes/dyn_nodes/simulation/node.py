# SPDX-License-Identifier: Apache-2.0
"""Node `simulation`: a robot that is not there.

Subscribes:
    ~/commands (std_msgs/Float64MultiArray): efforts in a configured order of joints.
    ~/torques (dyn_msgs/JointTorques): efforts by joint name (`total`).
    ~/wrench (geometry_msgs/WrenchStamped): what the environment exerts on the link `frame_id`.
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it.
Publishes:
    joint_states (sensor_msgs/JointState): what the sensors say, and the passive joints of loops.
    robot_description (std_msgs/String, transient_local): where a parameter gives it, on request.
    /clock (rosgraph_msgs/Clock): simulated time, on request.
    /diagnostics (diagnostic_msgs/DiagnosticArray): real-time factor, joints at their limits, what is wrong.
Services:
    ~/reset (std_srvs/Trigger), ~/set_state (dyn_msgs/SetSimulationState), ~/pause (std_srvs/SetBool),
    ~/step (dyn_msgs/StepSimulation), ~/set_payload (dyn_msgs/SetPayload).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.timer import Timer
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dyn_core import Robot
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.diagnostics import Failure
from dyn_nodes.common.lifecycle.process import run
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.joint_efforts import CommandOrder
from dyn_nodes.robot_source import DescribedRobot
from dyn_nodes.running_simulation import RunningSimulation
from dyn_nodes.same_moment import same_moment
from dyn_nodes.simulation.interface import SimulationServices
from dyn_nodes.simulation.parameters import SimulationParameters
from dyn_nodes.simulation.time_stepping import LIMITS, SimulationLoop, time_message
from dyn_nodes.simulation_inputs import SimulationInputs
from dyn_nodes.standing_base import refuse_moving_base

_TICK_S = 0.01
"""Longest time between two looks at the clock."""
_SLOW = 0.95
"""Part of the real-time factor asked for below which the machine is called too slow."""


class Simulation(RobotNode[RunningSimulation]):
    """A simulated robot."""

    def __init__(self, *, steady: Callable[[], float] = time.monotonic, **node_options: Any) -> None:
        """Declare the parameters, and start; DynError when the robot that they name cannot be used.

        Args:
            steady: the clock that simulated time keeps up with (s).
            node_options: of the node.
        """
        super().__init__("simulation", **node_options)
        self._steady = steady
        self._given = SimulationParameters(self)
        self._running: RunningSimulation | None = None
        self._timer: Timer | None = None
        self._loop = self._new_loop()
        self.start()

    def open(self) -> None:
        """Check the parameters, load the robot if they give it, and open the topics and services."""
        self._given.check()
        self._loop = self._new_loop()
        self._states = self.publisher(JointState, "joint_states", qos.COMMAND)
        if self._given.publish_clock:
            self._clocks = self.publisher(ClockMessage, "/clock", qos.COMMAND)
        SimulationInputs(self, lambda: self._active, self._steady)
        SimulationServices(self, self._loop, lambda: self._running, lambda: self._active, self._steady)
        self.open_diagnostics()
        described = self.open_robot()
        if described is not None and described.text is not None and self._given.publish_description:
            self.publisher(String, "robot_description", qos.LATCHED).publish(String(data=described.text))

    def close(self) -> None:
        """Close the topics and services, and forget the robot."""
        self._stop()
        self.close_all()
        self._running = None

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let time begin."""
        interval = self._given.period / self._given.real_time_factor
        self._timer = self.create_timer(
            interval / math.ceil(interval / _TICK_S),
            self._on_timer,
            # Not the node's own clock: that may be the one that this node makes go on.
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )
        self._loop.restart()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Have time stand still, and nothing published."""
        self._stop()
        return super().on_deactivate(state)

    def _stop(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None

    def _new_loop(self) -> SimulationLoop:
        return SimulationLoop(self._given, self._steady, self._tell, self._on_fault)

    # The robot.

    @property
    def robot(self) -> Robot | None:
        """The robot in use, as its description says."""
        return None if self._running is None else self._running.described.robot

    @property
    def _active(self) -> RunningSimulation | None:
        """The robot in use while the node is active."""
        return None if self._timer is None else self._running

    def prepare(self, described: DescribedRobot) -> RunningSimulation:
        """Make the simulator of a robot; DynError where the parameters do not fit it."""
        refuse_moving_base(described.robot, "the simulation")
        order = CommandOrder(described.robot, self._given.command_joints)
        robot, warnings = self._given.robot(described.robot)
        simulator = robot.simulator
        message = JointState(name=[*simulator.joint_names, *simulator.passive_joint_names])
        return RunningSimulation(described, robot, order, message, warnings)

    def use(self, prepared: RunningSimulation) -> None:
        """Simulate another robot from now on, where the last one is."""
        left = [] if self._running is None else prepared.take_over(self._running)
        self._running = prepared
        self._loop.restart()
        for sentence in (*prepared.warnings, *left):
            self.get_logger().warning(sentence)
        robot, order = prepared.described.robot, prepared.order
        self.get_logger().info(
            f"simulating robot '{robot.name}' with {robot.dof} joints; "
            f"order of ~/commands: {', '.join(order.names)}"
        )

    # Time.

    def _on_timer(self) -> None:
        if self._running is not None:
            self._loop.run_due(self._running.robot)

    def _on_fault(self, fault: str) -> None:
        self.get_logger().error(f"the simulation has stopped until it is reset: {fault}")
        self._diagnostics.look_again()

    def _tell(self, due: float) -> None:
        """Publish the present state, which should have been published at a time of the steady clock (s)."""
        running = self._running
        if running is None:
            return
        if self._given.publish_clock:
            stamp = self._loop.time
            self._clocks.publish(ClockMessage(clock=stamp))
        else:
            now, present = same_moment(self._steady, lambda: self.get_clock().now().nanoseconds)
            stamp = time_message(max(0, present - round(1e9 * (now - due))))
        self._states.publish(running.joint_states(stamp))

    # Diagnostics.

    def problem(self) -> str | Failure | None:
        """What is wrong at the moment, for /diagnostics."""
        if self._running is None:
            return None
        robot = self._running.robot
        if robot.fault is not None:
            return Failure(f"stopped until it is reset: {robot.fault}")
        factor = self._real_time_factor()
        wanted = self._given.real_time_factor
        if factor is not None and factor < _SLOW * wanted:
            return f"the machine is too slow: real-time factor {factor:.3f} instead of {wanted:g}"
        if robot.timed_out:
            return f"no command for {robot.command_age:.1f} s: no effort is exerted"
        met = self._loop.limits_met
        return "; ".join(f"joints {what}: {names}" for what, names in met.items()) or None

    def values(self) -> dict[str, str]:
        """Values for /diagnostics."""
        factor = self._real_time_factor()
        met = self._loop.limits_met
        self._loop.forget_limits()
        return {
            "real-time factor": "none" if factor is None else f"{factor:.3f}",
            "simulated time": f"{self._loop.periods * self._given.period:.3f} s",
            **{f"joints {what}": met.get(what, "") for what in LIMITS},
            **self._openings(),
        }

    def _openings(self) -> dict[str, str]:
        """How far the loops of the robot are open."""
        simulator = self._running.robot.simulator if self._running else None
        if simulator is None or not simulator.passive_joint_names:
            return {}
        passive = simulator.passive_state
        return {"loops open by": f"{passive.gap:.2g} m, {passive.turn:.2g} rad"}

    def _real_time_factor(self) -> float | None:
        return None if self._timer is None else self._loop.real_time_factor()


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Simulation, "simulation", arguments)


if __name__ == "__main__":
    sys.exit(main())
