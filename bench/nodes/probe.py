# SPDX-License-Identifier: Apache-2.0
"""Publish joint states at a constant rate, receive torques, and measure the time between.

Times are from just before the joint state is given to rclpy to the callback with the torques of its stamp.
They contain the passage through rclpy and DDS, also that of the probe.
"""

from __future__ import annotations

import gc
import math
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass

import rclpy
from builtin_interfaces.msg import Duration
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from nodes.graph import JOINTS
from rclpy.context import Context
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_msgs.msg import JointTorques
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.process import make_executor

RATE_HZ = 1000.0
_MIDDLE = (0.0, -0.4, 0.2, -1.8, 0.1, 1.6, 0.5)
_REACH_RAD = 0.05
_PATIENCE_S = 60.0
"""Timeout for a node."""
_DRAIN_S = 0.1
"""Time to wait for the last messages."""
_MAX_LAG_S = 0.01
"""Delay of the probe that it catches up with; longer delays are skipped, without a burst."""
_DEEP = 1000
"""Queue depth with which no message is lost."""


@dataclass(frozen=True)
class Block:
    """Results of one block of publishing.

    Attributes:
        sent: joint states published.
        latencies: of the torques that came back with their stamps (s).
        commands: commands that came back.
        pause: longest time without torques (s).
    """

    sent: int
    latencies: tuple[float, ...]
    commands: int
    pause: float

    @property
    def lost(self) -> int:
        """Joint states without torques, or without a command."""
        return self.sent - min(len(self.latencies), self.commands)


class Target:
    """A lifecycle node under test.

    With `split`, a second publisher has the joints from that one on, and reports them between the others.
    """

    def __init__(self, probe: Probe, namespace: str, name: str, split: int = len(JOINTS)) -> None:
        node = probe.node
        self._probe = probe
        self.prefix = f"{namespace}/{name}"
        self.on_their_way: dict[tuple[int, int], int] = {}
        self.latencies: list[float] = []
        self.commands = 0
        self.arrived, self.pause = math.inf, 0
        self.split = split
        topic = f"{namespace}/joint_states"
        self.states = node.create_publisher(JointState, topic, qos.COMMAND)
        self.other_states = (
            node.create_publisher(JointState, topic, qos.COMMAND) if split < len(JOINTS) else None
        )
        self.trajectories = node.create_publisher(
            JointTrajectory, f"{self.prefix}/joint_trajectory", qos.EACH_MESSAGE
        )
        node.create_subscription(JointTorques, f"{self.prefix}/torques", self._on_torques, _DEEP)
        node.create_subscription(Float64MultiArray, f"{self.prefix}/commands", self._on_command, _DEEP)
        self._change = node.create_client(ChangeState, f"{self.prefix}/change_state")

    def _on_torques(self, message: JointTorques) -> None:
        now = time.perf_counter_ns()
        self.pause = max(self.pause, now - self.arrived)
        self.arrived = now
        stamp = message.header.stamp
        began = self.on_their_way.pop((stamp.sec, stamp.nanosec), None)
        if began is not None:
            self.latencies.append(1e-9 * (now - began))

    def _on_command(self, _: Float64MultiArray) -> None:
        self.commands += 1

    def configure(self) -> None:
        """Configure the node, and wait until its topics are connected."""
        self._transition(Transition.TRANSITION_CONFIGURE)
        node = self._probe.node
        self._probe.wait_for(
            lambda: (
                self.states.get_subscription_count() == 1
                and node.count_publishers(f"{self.prefix}/torques") == 1
                and node.count_publishers(f"{self.prefix}/commands") == 1
            ),
            f"the topics of {self.prefix}",
        )

    def configure_alone(self) -> None:
        """Configure the node without waiting for the topics of torques, as it may have others."""
        self._transition(Transition.TRANSITION_CONFIGURE)

    def activate(self) -> None:
        """Activate the node."""
        self._transition(Transition.TRANSITION_ACTIVATE)

    def deactivate(self) -> None:
        """Deactivate the node, so that it uses no processor time."""
        self._transition(Transition.TRANSITION_DEACTIVATE)

    def _transition(self, number: int) -> None:
        self._probe.wait_for(self._change.service_is_ready, f"the node {self.prefix}")
        future = self._change.call_async(ChangeState.Request(transition=Transition(id=number)))
        self._probe.wait_for(future.done, f"transition {number} of {self.prefix}")
        answer = future.result()
        if answer is None or not answer.success:
            raise SystemExit(f"bench: {self.prefix} refuses transition {number}")

    def forget(self) -> None:
        """Reset the counters."""
        self.on_their_way.clear()
        self.latencies.clear()
        self.commands = 0
        self.arrived, self.pause = math.inf, 0


class Probe:
    """A single thread that publishes and handles incoming messages, without garbage collection."""

    def __enter__(self) -> Probe:
        self._context = Context()
        rclpy.init(args=[], context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node("probe", context=self._context)
        self._executor = make_executor(self._context)
        self._executor.add_node(self.node)
        gc.disable()
        return self

    def __exit__(self, *_: object) -> None:
        gc.enable()
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """Handle messages until the condition holds."""
        end = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f"bench: waited {_PATIENCE_S:g} s in vain for {what}")
            self._executor.spin_once(timeout_sec=0.02)

    def handle(self, seconds: float) -> None:
        """Handle messages for a while."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=rest)

    def block(self, target: Target, seconds: float, ended: Callable[[], object] = lambda: False) -> Block:
        """Publish joint states at `RATE_HZ` for a while, and wait for the last torques.

        It ends earlier where `ended` says so.
        """
        target.forget()
        split, others = target.split, target.other_states
        message, other = (
            JointState(name=list(names), effort=array("d", bytes(8 * len(names))))
            for names in (JOINTS[:split], JOINTS[split:])
        )
        clock, on_their_way = self.node.get_clock(), target.on_their_way
        sent = 0
        began = due = time.perf_counter()
        other_due = due if others is not None else math.inf
        while (now := time.perf_counter()) < began + seconds and not ended():
            if others is not None and now >= other_due:
                q, qd = motion(now - began)
                other.position, other.velocity = q[split:], qd[split:]
                other.header.stamp = clock.now().to_msg()
                others.publish(other)
                other_due = max(due, now) + 0.5 / RATE_HZ
                continue
            if now < due:
                self._executor.spin_once(timeout_sec=min(due, other_due) - now)
                continue
            q, qd = motion(now - began)
            message.position, message.velocity = q[:split], qd[:split]
            stamp = message.header.stamp = clock.now().to_msg()
            on_their_way[stamp.sec, stamp.nanosec] = time.perf_counter_ns()
            target.states.publish(message)
            sent += 1
            due = max(due + 1.0 / RATE_HZ, now - _MAX_LAG_S)
        self.handle(_DRAIN_S)
        return Block(sent, tuple(target.latencies), target.commands, 1e-9 * target.pause)


def motion(t: float) -> tuple[array[float], array[float]]:
    """Positions (rad) and velocities (rad/s) of a small swing at a time (s)."""
    s, c = math.sin(t), math.cos(t)
    return array("d", [m + _REACH_RAD * s for m in _MIDDLE]), array("d", [_REACH_RAD * c] * len(_MIDDLE))


def swing(seconds: float) -> JointTrajectory:
    """A trajectory along `motion`, with two points per second, that ends at rest."""
    count = math.ceil(2.0 * seconds)
    points = []
    for k in range(1, count + 1):
        q, qd = motion(0.5 * k)
        seconds, halves = divmod(k, 2)
        points.append(
            JointTrajectoryPoint(
                positions=q,
                velocities=qd if k < count else array("d", bytes(8 * len(q))),
                time_from_start=Duration(sec=seconds, nanosec=500_000_000 * halves),
            )
        )
    return JointTrajectory(joint_names=list(JOINTS), points=points)
