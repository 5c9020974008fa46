# SPDX-License-Identifier: Apache-2.0
"""Node `simulation`: a robot that is not there.

Subscribes:
    ~/commands (std_msgs/Float64MultiArray): efforts in a configured order of joints.
    ~/torques (dyn_msgs/JointTorques): efforts by joint name (`total`).
    ~/wrench (geometry_msgs/WrenchStamped): what the environment exerts on the link `frame_id`.
    robot_description (std_msgs/String, transient_local): URDF, unless a parameter gives it.
Publishes:
    joint_states (sensor_msgs/JointState): what the sensors say.
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
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from builtin_interfaces.msg import Time as TimeMessage
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.timer import Timer
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from dyn_core import DynError, Robot
from dyn_msgs.msg import JointTorques
from dyn_msgs.srv import SetPayload, SetSimulationState, StepSimulation
from dyn_nodes import qos
from dyn_nodes.diagnostics import Failure
from dyn_nodes.joint_efforts import CommandOrder, named_efforts
from dyn_nodes.link_wrench import link_wrench
from dyn_nodes.pacing import Pacing
from dyn_nodes.payload_message import payload_of
from dyn_nodes.process import run
from dyn_nodes.rejection import Rejection
from dyn_nodes.robot_node import RobotNode
from dyn_nodes.robot_source import DescribedRobot
from dyn_nodes.simulated_robot import SimulatedRobot
from dyn_nodes.simulation_parameters import SimulationParameters

_TICK_S = 0.01
"""Longest time between two looks at the clock."""
_SLICE_S = 0.02
"""Time after which simulating gives way to messages, services and signals."""
_SLOW = 0.95
"""Part of the real-time factor asked for below which the machine is called too slow."""
_STEPPING_S = 1.0
"""Longest time that the service ~/step takes: a signal has to end the node in less than two."""
_RIVAL_S = 0.5
"""Commands from two topics within this time are one too many."""


@dataclass
class _Running:
    """The robot in use, and what belongs to it alone. Another robot is another one of these."""

    described: DescribedRobot
    robot: SimulatedRobot
    order: CommandOrder
    message: JointState


class Simulation(RobotNode):
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
        self._running: _Running | None = None
        self._timer: Timer | None = None
        self._periods = 0
        self._commanded: dict[str, float] = {}
        self._paused = self._given.paused
        self._limits_met: dict[str, set[str]] = {}
        self._pacing = Pacing(self._given.period, self._given.real_time_factor, steady())
        self.start()

    def open(self) -> None:
        """Check the parameters, load the robot if they give it, and open the topics and services."""
        self._given.check()
        self._periods = 0
        self._paused = self._given.paused
        self._open_topics()
        self._open_services()
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
        self._pacing.restart(self._steady())
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Have time stand still, and nothing published."""
        self._stop()
        return super().on_deactivate(state)

    def _stop(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None

    def _open_topics(self) -> None:
        self._states = self.publisher(JointState, "joint_states", qos.COMMAND)
        if self._given.publish_clock:
            self._clocks = self.publisher(ClockMessage, "/clock", qos.COMMAND)
        self.subscribe(Float64MultiArray, "~/commands", self._on_commands, qos.LATEST_SAMPLE)
        self.subscribe(JointTorques, "~/torques", self._on_torques, qos.LATEST_SAMPLE)
        self.subscribe(WrenchStamped, "~/wrench", self._on_wrench, qos.EACH_SAMPLE)

    def _open_services(self) -> None:
        self.serve(Trigger, "~/reset", self._on_reset)
        self.serve(SetSimulationState, "~/set_state", self._on_set_state)
        self.serve(SetBool, "~/pause", self._on_pause)
        self.serve(StepSimulation, "~/step", self._on_step)
        self.serve(SetPayload, "~/set_payload", self._on_set_payload)

    # The robot.

    @property
    def robot(self) -> Robot | None:
        """The robot in use, as its description says."""
        return None if self._running is None else self._running.described.robot

    def use(self, described: DescribedRobot) -> None:
        """Simulate another robot from now on; DynError if that is not possible, and nothing has changed."""
        order = CommandOrder(described.robot, self._given.command_joints)
        robot, warnings = self._given.robot(described.robot)
        before = self._running
        if before is not None:
            state, names = before.robot.simulator.state, before.robot.simulator.joint_names
            kept = [j for j, name in enumerate(names) if name in robot.simulator.joint_names]
            try:
                robot.place(
                    {names[j]: float(state.q[j]) for j in kept}, {names[j]: float(state.qd[j]) for j in kept}
                )
            except DynError as problem:
                warnings = (*warnings, f"the robot begins in its initial state: {problem}")
        message = JointState(name=list(robot.simulator.joint_names))
        self._running = _Running(described, robot, order, message)
        self._pacing.restart(self._steady())
        for sentence in warnings:
            self.get_logger().warning(sentence)
        self.get_logger().info(
            f"simulating robot '{described.robot.name}' with {described.robot.dof} joints; "
            f"order of ~/commands: {', '.join(order.names)}"
        )

    # Time.

    def _on_timer(self) -> None:
        running = self._running
        if running is None:
            return
        now = self._steady()
        until = now + _SLICE_S
        stands = self._paused or running.robot.fault is not None
        if stands:
            if self._pacing.overdue(now) >= 0.0:
                self._pacing.restart(now)
                self._tell(running, 0.0)
            return
        while (late := self._pacing.overdue(now)) >= 0.0:
            self._pacing.count()
            self._advance(running)
            self._tell(running, late)
            now = self._steady()
            if now > until:
                break

    def _advance(self, running: _Running) -> None:
        """Simulate one period."""
        robot = running.robot
        robot.advance()
        if robot.fault is not None:
            self.get_logger().error(f"the simulation has stopped until it is reset: {robot.fault}")
            self._diagnostics.look_again()
            return
        self._periods += 1
        simulator = robot.simulator
        for what, names in (
            ("faster than their limit", simulator.too_fast),
            ("at their effort limit", simulator.at_effort_limit),
            ("at a stop", simulator.at_stop),
        ):
            if names:
                self._limits_met.setdefault(what, set()).update(names)

    def _tell(self, running: _Running, late: float) -> None:
        """Publish the present state.

        Args:
            running: the robot.
            late: time since it should have been published (s).
        """
        measured = running.robot.simulator.measure()
        message = running.message
        if self._given.publish_clock:
            stamp = self._simulated_time()
            self._clocks.publish(ClockMessage(clock=stamp))
        else:
            stamp = _time_message(max(0, self.get_clock().now().nanoseconds - round(1e9 * late)))
        message.header.stamp = stamp
        message.position = array("d", measured.q.tolist())
        message.velocity = array("d", measured.qd.tolist())
        message.effort = array("d", measured.effort.tolist())
        self._states.publish(message)

    def _simulated_time(self) -> TimeMessage:
        return _time_message(round(self._periods * 1e9 / self._given.rate))

    # Commands and wrenches.

    def _on_commands(self, message: Float64MultiArray) -> None:
        self._command("~/commands", lambda running: running.order.efforts(message.data))

    def _on_torques(self, message: JointTorques) -> None:
        self._command(
            "~/torques",
            lambda running: named_efforts(
                "torques", running.robot.simulator.joint_names, message.name, message.total
            ),
        )

    def _command(self, topic: str, efforts: Callable[[_Running], Any]) -> None:
        running = self._running
        if running is None or self._timer is None:
            return
        try:
            running.robot.command(efforts(running))
        except Rejection as problem:
            self.refuse("commands refused", topic, problem)
            return
        now = self._steady()
        self._commanded[topic] = now
        rivals = [other for other, at in self._commanded.items() if other != topic and now - at < _RIVAL_S]
        if rivals:
            self._diagnostics.count(
                "commands on both topics", f"commands come on {topic} and {rivals[0]}: the newest one acts"
            )
        self._diagnostics.count("commands")

    def _on_wrench(self, message: WrenchStamped) -> None:
        running = self._running
        if running is None or self._timer is None:
            return
        try:
            running.robot.push(link_wrench(message, running.described.robot))
        except Rejection as problem:
            self.refuse("wrenches refused", "~/wrench", problem)
            return
        self._diagnostics.count("wrenches")

    # Services.

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(response, lambda running: running.robot.reset())

    def _on_set_state(
        self, request: SetSimulationState.Request, response: SetSimulationState.Response
    ) -> SetSimulationState.Response:
        def place(running: _Running) -> None:
            q = _by_joint("positions", request.name, request.position)
            at_rest = [0.0] * len(request.name)
            qd = _by_joint("velocities", request.name, request.velocity or at_rest)
            running.robot.place(q, qd)

        return self._answer(response, place)

    def _on_set_payload(
        self, request: SetPayload.Request, response: SetPayload.Response
    ) -> SetPayload.Response:
        return self._answer(response, lambda running: running.robot.attach(*payload_of(request.payload)))

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._paused = request.data
        self._pacing.restart(self._steady())
        response.success = True
        return response

    def _on_step(
        self, request: StepSimulation.Request, response: StepSimulation.Response
    ) -> StepSimulation.Response:
        """Simulate some periods now; as nothing else is done meanwhile, no longer than for a moment."""

        def step(running: _Running) -> None:
            if self._timer is None:
                raise DynError("the node is not active")
            if not self._paused:
                raise DynError("the simulation is not paused: call ~/pause first")
            if request.steps < 1:
                raise DynError("the number of steps is 0: give at least 1")
            until = self._steady() + _STEPPING_S
            for k in range(request.steps):
                if self._steady() > until:
                    raise DynError(
                        f"{k} of {request.steps} steps were made in {_STEPPING_S:g} s: "
                        f"ask for the other {request.steps - k} again"
                    )
                self._advance(running)
                if running.robot.fault is not None:
                    raise DynError(running.robot.fault)
                self._tell(running, 0.0)

        self._answer(response, step)
        response.time = self._simulated_time()
        return response

    def _answer(self, response: Any, action: Callable[[_Running], None]) -> Any:
        """Do what a service is for, and answer whether it was done."""
        try:
            if self._running is None:
                raise DynError("there is no robot yet")
            action(self._running)
        except (DynError, ValueError) as problem:
            response.success = False
            response.message = str(problem)
            return response
        response.success = True
        return response

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
        if self._limits_met:
            return "; ".join(
                f"joints {what}: {', '.join(sorted(names))}" for what, names in self._limits_met.items()
            )
        return None

    def values(self) -> dict[str, str]:
        """Values for /diagnostics."""
        factor = self._real_time_factor()
        values = {
            "real-time factor": "none" if factor is None else f"{factor:.3f}",
            "simulated time": f"{self._periods * self._given.period:.3f} s",
        }
        for what in ("faster than their limit", "at their effort limit", "at a stop"):
            values[f"joints {what}"] = ", ".join(sorted(self._limits_met.get(what, ())))
        self._limits_met = {}
        return values

    def _real_time_factor(self) -> float | None:
        if self._timer is None or self._paused:
            return None
        return self._pacing.real_time_factor(self._steady())


def _by_joint(what: str, names: list[str], values: Any) -> dict[str, float]:
    if len(values) != len(names):
        raise DynError(f"there are {len(names)} joints but {len(values)} {what}")
    if len(set(names)) < len(names):
        repeated = next(name for name in names if list(names).count(name) > 1)
        raise DynError(f"joint '{repeated}' is named more than once")
    return dict(zip(names, values, strict=True))


def _time_message(nanoseconds: int) -> TimeMessage:
    seconds, rest = divmod(nanoseconds, 10**9)
    return TimeMessage(sec=seconds, nanosec=rest)


def main(arguments: list[str] | None = None) -> int:
    """Run the node."""
    return run(Simulation, "simulation", arguments)


if __name__ == "__main__":
    sys.exit(main())
