# SPDX-License-Identifier: Apache-2.0
"""Node `simulation`: a simulated robot with an effort interface.

Subscribes:
    ~/commands (std_msgs/Float64MultiArray): efforts in a configured order of joints.
    ~/torques (dyn_msgs/JointTorques): efforts by joint name (`total`).
    ~/wrench (geometry_msgs/WrenchStamped): wrench that the environment exerts on the link `frame_id`.
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it.
Publishes:
    joint_states (sensor_msgs/JointState): simulated measurements, and the passive joints of loops.
    robot_description (std_msgs/String, transient_local): where a parameter gives it, on request.
    /clock (rosgraph_msgs/Clock): simulated time, on request.
    /diagnostics (diagnostic_msgs/DiagnosticArray): real-time factor, joints at their limits, problems.
Services:
    ~/reset (std_srvs/Trigger), ~/set_state (dyn_msgs/SetSimulationState), ~/pause (std_srvs/SetBool),
    ~/step (dyn_msgs/StepSimulation), ~/set_payload (dyn_msgs/SetPayload).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dyn_core import DynError, Robot
from dyn_nodes.common import qos
from dyn_nodes.common.clocks import simultaneous_times
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.common.lifecycle.diagnostics import Failure, Notices
from dyn_nodes.common.lifecycle.process import run
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot, Recipe, refuse_moving_base
from dyn_nodes.common.messages.message_stamps import time_message
from dyn_nodes.common.torques.effort_messages import CommandOrder
from dyn_nodes.simulation.interface import SimulationInputs, SimulationServices
from dyn_nodes.simulation.parameters import SimulationParameters, declared_simulation
from dyn_nodes.simulation.simulated_robot import RunningSimulation, SimulatedRobot
from dyn_nodes.simulation.time_stepping import LIMITS, SimulationLoop

_TICK_S = 0.01
"""Longest period of the timer that advances the simulation (s)."""
_SLOW = 0.95
"""Fraction of the requested real-time factor below which the machine is too slow."""


class Simulation(RobotNode[RunningSimulation]):
    """A simulated robot."""

    def __init__(self, *, steady: Callable[[], float] = time.monotonic, **node_options: Any) -> None:
        """Declare the parameters, and start; `steady` is the clock that paces simulated time (s)."""
        super().__init__("simulation", **node_options)
        self._steady = steady
        self._given = declared_simulation(self)
        self._loop = self._new_loop()
        self.start()

    def open(self) -> None:
        """Check the parameters, load their robot if there is one, and open the topics and services."""
        self._given.check()
        self._loop = self._new_loop()
        self._states = self.publisher(JointState, "joint_states", qos.COMMAND)
        if self._given.publish_clock:
            self._clocks = self.publisher(ClockMessage, "/clock", qos.COMMAND)
        SimulationInputs(self, lambda: self.active, self._steady)
        SimulationServices(self, self._loop, lambda: self._running, lambda: self.active, self._steady)
        self.open_diagnostics()
        described = self.open_robot()
        if described is not None and described.text is not None and self._given.publish_description:
            self.publisher(String, "robot_description", qos.LATCHED).publish(String(data=described.text))

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start simulated time."""
        interval = self._given.period / self._given.real_time_factor
        self._timer = self.create_timer(
            interval / math.ceil(interval / _TICK_S),
            self._on_timer,
            # Not the clock of the node: it may be the simulated clock that this node publishes.
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )
        self._loop.restart()
        return super().on_activate(state)

    def _new_loop(self) -> SimulationLoop:
        return SimulationLoop(self._given, self._steady, self._tell, self._on_fault)

    # The robot.

    @property
    def robot(self) -> Robot | None:
        """The robot in use, as its description says."""
        return None if self._running is None else self._running.described.robot

    @property
    def recipe(self) -> Recipe:
        """Function that makes the simulator of a robot."""
        return partial(simulated, self._given)

    def prepare(self, described: DescribedRobot) -> RunningSimulation:
        """Make the simulator of a robot; DynError where the parameters do not fit it."""
        robot, warnings = simulated(self._given, described)
        order = CommandOrder(described.robot, self._given.command_joints)
        simulator = robot.simulator
        message = JointState(name=[*simulator.joint_names, *simulator.passive_joint_names])
        return RunningSimulation(described, robot, order, message, warnings)

    def use(self, prepared: RunningSimulation) -> None:
        """Simulate another robot from now on, from the state of the last one."""
        left = [] if self._running is None else prepared.take_over(self._running)
        self._running = prepared
        self._loop.restart()
        for warning in (*prepared.warnings, *left):
            self.get_logger().warning(str(warning))
        robot, order = prepared.described.robot, prepared.order
        self.get_logger().info(
            f"simulating robot '{robot.name}' with {robot.dof} joints; "
            f"order of ~/commands: {', '.join(order.names)}"
        )

    # Time.

    def _on_timer(self) -> None:
        if self._running is not None:
            self._loop.run_due(self._running.robot)

    def _on_fault(self, fault: DynError) -> None:
        self.get_logger().error(str(Notice("simulation-fault", cause=fault)))
        self._diagnostics.look_again()

    def _tell(self, due: float) -> None:
        """Publish the present state, which was due at a time of the steady clock (s)."""
        running = self._running
        if running is None:
            return
        if self._given.publish_clock:
            stamp = self._loop.time
            self._clocks.publish(ClockMessage(clock=stamp))
        else:
            now, present = simultaneous_times(self._steady, lambda: self.get_clock().now().nanoseconds)
            stamp = time_message(max(0, present - round(1e9 * (now - due))))
        self._states.publish(running.joint_states(stamp))

    # Diagnostics.

    def problem(self) -> Notice | None:
        """Return the present problem, for /diagnostics."""
        if self._running is None:
            return None
        robot = self._running.robot
        if robot.fault is not None:
            return Failure("simulation-halted", cause=robot.fault)
        factor = self._real_time_factor()
        wanted = self._given.real_time_factor
        if factor is not None and factor < _SLOW * wanted:
            return Notice("machine-too-slow", factor=factor, expected=wanted)
        if robot.timed_out:
            return Notice("command-timeout", age=robot.command_age)
        met = [Notice(LIMITS[what], joints=names) for what, names in self._loop.limits_met.items()]
        return Notices(met) if met else None

    def values(self) -> dict[str, str]:
        """Return values for /diagnostics."""
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
        """Return how far the loops of the robot are open."""
        simulator = self._running.robot.simulator if self._running else None
        if simulator is None or not simulator.passive_joint_names:
            return {}
        passive = simulator.passive_state
        return {"loops open by": f"{passive.gap:.2g} m, {passive.turn:.2g} rad"}

    def _real_time_factor(self) -> float | None:
        return None if self._timer is None else self._loop.real_time_factor()


def simulated(
    given: SimulationParameters, described: DescribedRobot
) -> tuple[SimulatedRobot, tuple[str, ...]]:
    """Return the simulated robot of a description, and warnings; DynError where they do not fit."""
    refuse_moving_base(described.robot, "the simulation")
    return given.robot(described.robot)


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Simulation, "simulation", arguments)
