# SPDX-License-Identifier: Apache-2.0
"""A test's end of a ROS 2 graph: a node that publishes, listens and waits, and real node processes."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Log
from rclpy.context import Context
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, String

from dyn_msgs.msg import JointReference, JointTorques, ModelInfo
from dyn_nodes.child import node_process
from dyn_nodes.common import qos
from dyn_nodes.executor import make_executor
from dyn_nodes.feedforward.node import Feedforward

PATIENT_S = 30.0
"""Timeout of nodes in tests of anything but timeouts: this machine may stand still for a while."""

_NO_TRANSITION = 255

GENEROUS_S = 30.0
"""No test sleeps: it waits for an event, and fails after this long without it."""


class NodeProcess:
    """A node in its own process, with what it writes on stderr."""

    def __init__(self, process: subprocess.Popen[str], stderr: IO[str]) -> None:
        self.process = process
        self._stderr = stderr

    @property
    def log(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read()


class Graph:
    """The test's node, in the place of a robot and of a controller."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._resources = contextlib.ExitStack()

    def __enter__(self) -> Graph:
        self.context = Context()
        rclpy.init(args=[], context=self.context, signal_handler_options=SignalHandlerOptions.NO)
        self._resources.callback(self.context.try_shutdown)
        self.node = rclpy.create_node("test", context=self.context)
        self.executor = make_executor(self.context)
        self.executor.add_node(self.node)
        self._resources.callback(self.executor.shutdown)
        self._resources.callback(self.node.destroy_node)
        self.torques: list[JointTorques] = []
        self.models: list[ModelInfo] = []
        self.node.create_subscription(JointTorques, "feedforward/torques", self.torques.append, qos.COMMAND)
        self.node.create_subscription(ModelInfo, "feedforward/model_info", self.models.append, qos.LATCHED)
        self.diagnostics: list[DiagnosticStatus] = []
        self.node.create_subscription(
            DiagnosticArray, "/diagnostics", lambda array: self.diagnostics.extend(array.status), 10
        )
        self.lines: list[Log] = []
        past = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.node.create_subscription(Log, "/rosout", self.lines.append, past)
        self._descriptions = self.node.create_publisher(String, "robot_description", qos.LATCHED)
        self._states = self.node.create_publisher(JointState, "joint_states", qos.COMMAND)
        self._references = self.node.create_publisher(JointReference, "feedforward/reference", qos.COMMAND)
        self.commands: list[Float64MultiArray] = []
        self.node.create_subscription(
            Float64MultiArray, "feedforward/commands", self.commands.append, qos.COMMAND
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()
        # Services of lifecycle nodes in this process stay visible, and deaf, until nothing refers to them.
        gc.collect()

    def start(self, *arguments: str) -> NodeProcess:
        """Run Python with these arguments; it ends with the test."""
        stderr: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the other resources
        self._resources.callback(stderr.close)
        process = self._resources.enter_context(node_process(arguments, self._environment, stderr))
        return NodeProcess(process, stderr)

    def start_feedforward(self, **parameters: object) -> NodeProcess:
        """Run the node `feedforward` in a process and wait until it is heard and hears."""
        parameters = {"timeout": PATIENT_S, **parameters}
        assignments = [w for k, v in parameters.items() for w in ("-p", f"{k}:={v}")]
        node = self.start("-m", "dyn_nodes.feedforward", "--ros-args", *assignments)
        self.wait_for(
            lambda: (
                node.process.poll() is not None
                or (self._connected() and self.node.count_publishers("feedforward/torques") == 1)
            )
        )
        assert node.process.poll() is None, node.log
        return node

    def feedforward(self, steady: Callable[[], float] = time.monotonic, **parameters: object) -> Feedforward:
        """Make the node `feedforward` in this process, spun by `wait_for`; `__` in names stands for a dot."""
        given = {"timeout": PATIENT_S, **parameters}
        node = Feedforward(
            steady=steady,
            context=self.context,
            use_global_arguments=False,
            parameter_overrides=[Parameter(k.replace("__", "."), value=v) for k, v in given.items()],
        )
        if steady is not time.monotonic:
            # The clock of the system goes on while that of the test stands: it was not set.
            node.heed_clock = lambda: None
        self.executor.add_node(node)
        self._resources.callback(node.destroy_node)
        self._resources.callback(node.end)
        heard = [p for p in node.publishers if p.topic_name.startswith("/feedforward/t")]
        heard += [p for p in node.publishers if p.topic_name in ("/feedforward/commands", "/diagnostics")]
        self.wait_for(
            lambda: (
                all(publisher.get_subscription_count() for publisher in heard)
                and self.node.count_publishers("feedforward/torques") == 1
                and self._states.get_subscription_count() == 1
                and self._references.get_subscription_count() == 1
            )
        )
        return node

    def _connected(self) -> bool:
        return bool(
            self._states.get_subscription_count() == 1 and self._descriptions.get_subscription_count() == 1
        )

    def wait_for(self, condition: Callable[[], Any]) -> None:
        """Handle messages until the condition holds."""
        end = time.monotonic() + GENEROUS_S
        while not condition():
            assert time.monotonic() < end, f"waited {GENEROUS_S:g} s in vain; {self._told()}"
            self.executor.spin_once(timeout_sec=0.05)

    def _told(self) -> str:
        """Answer what the nodes said last, for a test that fails."""
        newest = {status.name: status.message for status in self.diagnostics}
        return f"nodes {sorted(self.node.get_node_names())} say {newest}"

    def call(self, client: Any, request: Any, again: bool = True) -> Any:
        """Call a service and answer its response.

        A server in another process drops the response where it has not discovered in 100 ms who asks, which
        the client cannot know: what can be asked twice is asked again, for a machine that has much to do.

        Args:
            client: of the service.
            request: what it is asked.
            again: whether it can be asked twice.
        """
        self.wait_for(client.service_is_ready)
        return self.answered(lambda: client.call_async(request), again)

    def answered(self, ask: Callable[[], Any], again: bool = True) -> Any:
        """Ask, with what answers a future, and answer its first result; `again` is as in `call`."""
        futures = [ask()]
        asked = time.monotonic()

        def is_answered() -> bool:
            nonlocal asked
            if again and time.monotonic() - asked > 5.0:
                futures.append(ask())
                asked = time.monotonic()
            return any(future.done() for future in futures)

        self.wait_for(is_answered)
        return next(future.result() for future in futures if future.done())

    def change(self, node: str, transition: int) -> bool:
        """Ask a lifecycle node for a transition and answer whether it was done."""
        client = self.node.create_client(ChangeState, f"{node}/change_state")
        # Asked twice, the second answer would be that it is impossible: first what is so at any time.
        assert not self.call(client, ChangeState.Request(transition=Transition(id=_NO_TRANSITION))).success
        request = ChangeState.Request(transition=Transition(id=transition))
        return bool(self.call(client, request, again=False).success)

    def describe(self, urdf: str) -> None:
        """Publish a robot description."""
        self._descriptions.publish(String(data=urdf))

    def load(self, urdf: str) -> ModelInfo:
        """Publish a robot description and wait for the model that comes of it."""
        count = len(self.models)
        self.describe(urdf)
        self.wait_for(lambda: len(self.models) > count)
        return self.models[-1]

    def now(self) -> Time:
        return self.node.get_clock().now().to_msg()

    def publish_state(
        self,
        names: Sequence[str],
        positions: Sequence[float],
        stamp: Time | None = None,
        velocities: Sequence[float] = (),
    ) -> Time:
        """Publish a joint state and answer its stamp."""
        stamp = stamp or self.now()
        state = JointState(
            header=Header(stamp=stamp), name=list(names), position=list(positions), velocity=list(velocities)
        )
        self._states.publish(state)
        return stamp

    def refer(
        self,
        names: Sequence[str],
        q: Sequence[float],
        qd: Sequence[float] = (),
        qdd: Sequence[float] = (),
        stamp: Time | None = None,
    ) -> Time:
        """Publish a reference and answer its stamp."""
        stamp = stamp or self.now()
        self._references.publish(
            JointReference(
                header=Header(stamp=stamp),
                name=list(names),
                position=list(q),
                velocity=list(qd),
                acceleration=list(qdd),
            )
        )
        return stamp

    def answer_to(self, stamp: Time) -> JointTorques:
        """Wait for the torques with a stamp."""
        self.wait_for(lambda: any(t.header.stamp == stamp for t in self.torques))
        return next(t for t in self.torques if t.header.stamp == stamp)

    def torques_for(self, names: Sequence[str], positions: Sequence[float]) -> JointTorques:
        """Publish a joint state and wait for the torques that carry its stamp."""
        return self.answer_to(self.publish_state(names, positions))

    def logged(self, part: str) -> list[Log]:
        """Answer what nodes have logged that has this part."""
        return [line for line in self.lines if part in line.msg]

    @property
    def level(self) -> bytes | None:
        """The newest level on /diagnostics."""
        return self.diagnostics[-1].level if self.diagnostics else None

    def diagnosis(self, key: str) -> str | None:
        """Answer the newest value of that name on /diagnostics."""
        values = {v.key: v.value for v in self.diagnostics[-1].values} if self.diagnostics else {}
        return values.get(key)
