# SPDX-License-Identifier: Apache-2.0
"""The test's node in a ROS 2 graph, which publishes, receives and waits, and real node processes."""

from __future__ import annotations

import contextlib
import gc
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from message_makers import AT_ONCE, Floats, Names, joint_state, reference
from rcl_interfaces.msg import Log
from rclpy.context import Context
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from sentence_patterns import Told, said
from std_msgs.msg import Float64MultiArray, String

from dyn_msgs.msg import JointReference, JointTorques, ModelInfo
from dyn_nodes.common import qos
from dyn_nodes.common.lifecycle.process import make_executor
from dyn_nodes.demonstration.isolation import node_process
from dyn_nodes.feedforward.node import Feedforward

PATIENT_S = 30.0
"""Timeout and `max_age` of nodes in tests of other subjects, as this machine may pause."""
_PATIENT = {"timeout": PATIENT_S, "max_age": PATIENT_S, **AT_ONCE}

_NO_TRANSITION = 255

GENEROUS_S = 180.0
"""No test sleeps: it waits for an event, and fails after this time without it."""

AGAIN_S = 5.0
"""Time after which what can be asked twice is asked again (s)."""

ATTEMPTS = 8
"""Number of attempts of real-time tests, which fail only if the machine pauses."""

_INTERPRETERS = 50.0
_LAST_LINES, _LAST_CHARACTERS = 20, 4000
"""What a test that fails shows of the logs."""


def quick(began: float, seconds: float) -> bool:
    """Whether at most `seconds` (s) have passed since `began` (`time.monotonic`), or the machine is slow.

    The speed of the machine is measured by the run time of an interpreter, usually some 0.01 s.
    """
    took, begin = time.monotonic() - began, time.monotonic()
    if took < seconds:
        return True
    subprocess.run([sys.executable, "-c", ""], check=True)
    return took < seconds + _INTERPRETERS * (time.monotonic() - begin)


@contextlib.contextmanager
def ros_context() -> Iterator[Context]:
    """A context of ROS that does not handle signals."""
    context = Context()
    rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    try:
        yield context
    finally:
        context.try_shutdown()


class NodeProcess:
    """A node in its own process, and its stderr."""

    def __init__(self, process: subprocess.Popen[str], stderr: IO[str]) -> None:
        self.process = process
        self._stderr = stderr

    @property
    def log(self) -> str:
        # Without a seek: the process writes at the same place of the same open file.
        file = self._stderr.fileno()
        return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")

    def end(self, *numbers: signal.Signals) -> None:
        """Send signals; the process has to end in order within 2 s."""
        began = time.monotonic()
        for number in numbers:
            self.process.send_signal(number)
        self.ends_in_order(began)

    def ends_in_order(self, began: float) -> None:
        """Check that the process ends in order within 2 s of the request."""
        assert self.process.wait(GENEROUS_S) == 0, self.log
        assert quick(began, 2.0), self.log
        assert "Traceback" not in self.log

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Graph:
    """The test's node, which acts as robot and controller."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._resources = contextlib.ExitStack()
        self._processes: list[NodeProcess] = []

    def __enter__(self) -> Graph:
        self.context = self._resources.enter_context(ros_context())
        self.node = rclpy.create_node("test", context=self.context)
        self.executor = make_executor(self.context)
        self.executor.add_node(self.node)
        self._resources.callback(self.executor.shutdown)
        self._resources.callback(self.node.destroy_node)
        self.torques: list[JointTorques] = []
        self.commands: list[Float64MultiArray] = []
        self.models: list[ModelInfo] = []
        self.diagnostics: list[DiagnosticStatus] = []
        self.lines: list[Log] = []
        past = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        for kind, topic, heard, quality in (
            (JointTorques, "feedforward/torques", self.torques.append, qos.COMMAND),
            (Float64MultiArray, "feedforward/commands", self.commands.append, qos.COMMAND),
            (ModelInfo, "feedforward/model_info", self.models.append, qos.LATCHED),
            (DiagnosticArray, "/diagnostics", lambda array: self.diagnostics.extend(array.status), 10),
            (Log, "/rosout", self.lines.append, past),
        ):
            self.node.create_subscription(kind, topic, heard, quality)
        self._descriptions = self.node.create_publisher(String, "robot_description", qos.LATCHED)
        self._states = self.node.create_publisher(JointState, "joint_states", qos.COMMAND)
        self._references = self.node.create_publisher(JointReference, "feedforward/reference", qos.COMMAND)
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()
        # Services of lifecycle nodes in this process stay visible without responding until their last
        # reference is gone.
        gc.collect()

    def start(self, *arguments: str) -> NodeProcess:
        """Run Python with these arguments in a process that ends with the test."""
        stderr: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the other resources
        self._resources.callback(stderr.close)
        process = self._resources.enter_context(node_process(arguments, self._environment, stderr))
        self._processes.append(NodeProcess(process, stderr))
        return self._processes[-1]

    def start_feedforward(self, **parameters: object) -> NodeProcess:
        """Run the node `feedforward` in a process, and wait for connections in both directions."""
        given = {**_PATIENT, **parameters}
        assignments = [w for k, v in given.items() for w in ("-p", f"{k}:={v}")]
        node = self.start("-m", "dyn_nodes.feedforward", "--ros-args", *assignments)
        self.wait_for(lambda: node.process.poll() is not None or self._connected(self._descriptions))
        assert node.process.poll() is None, node.log
        return node

    def feedforward(self, steady: Callable[[], float] = time.monotonic, **parameters: object) -> Feedforward:
        """Make the node `feedforward` in this process, spun by `wait_for`; `__` in names stands for a dot."""
        values = {**_PATIENT, **parameters}.items()
        given = {"parameter_overrides": [Parameter(k.replace("__", "."), value=v) for k, v in values]}
        node = Feedforward(steady=steady, context=self.context, use_global_arguments=False, **given)
        if steady is not time.monotonic:
            # The system clock advances while that of the test stands, which must not look like a clock step.
            node.check_clock = lambda: None
        self.executor.add_node(node)
        self._resources.callback(node.destroy_node)
        self._resources.callback(node.end)
        heard = [p for p in node.publishers if p.topic_name.startswith("/feedforward/t")]
        heard += [p for p in node.publishers if p.topic_name in ("/feedforward/commands", "/diagnostics")]
        self.wait_for(lambda: all(publisher.get_subscription_count() for publisher in heard))
        self.wait_for(lambda: self._connected(self._references))
        return node

    def _connected(self, *publishers: Any) -> bool:
        """Whether the node `feedforward` is connected to joint states, these publishers, and its torques."""
        connected = [publisher.get_subscription_count() == 1 for publisher in (self._states, *publishers)]
        return all(connected) and self.node.count_publishers("feedforward/torques") == 1

    def wait_for(self, condition: Callable[[], Any]) -> None:
        """Handle messages until the condition holds."""
        end = time.monotonic() + GENEROUS_S
        while not condition():
            assert time.monotonic() < end, f"waited {GENEROUS_S:g} s in vain; {self._told()}"
            for node in self._processes:
                assert node.process.poll() != 1, node.log
            self.executor.spin_once(timeout_sec=0.05)

    def _told(self) -> str:
        """Return the last messages of the nodes, for the report of a failed test."""
        newest = {status.name: status.message for status in self.diagnostics}
        lines = [f"  {line.name}: {line.msg}" for line in self.lines[-_LAST_LINES:]]
        logs = [f"a process wrote:\n{node.log[-_LAST_CHARACTERS:]}" for node in self._processes]
        said = [f"nodes {sorted(self.node.get_node_names())} say {newest}", "logged:", *lines, *logs]
        return "\n".join(said)

    def call(self, client: Any, request: Any, again: bool = True) -> Any:
        """Call a service and return its response; `again` says whether the request can be repeated.

        A server in another process drops the response if it has not discovered the client within 100 ms,
        which the client cannot know. Requests that can be repeated are sent again, for a busy machine.
        """
        self.wait_for(client.service_is_ready)
        return self.answered(lambda: client.call_async(request), AGAIN_S if again else math.inf)

    def answered(self, ask: Callable[[], Any], again_s: float = AGAIN_S) -> Any:
        """Ask, with what returns a future, and return its first result; `again_s` is as in `answer`."""
        answer = self.answer(ask, again_s)
        self.wait_for(answer)
        return answer()

    def answer(self, ask: Callable[[], Any], again_s: float = AGAIN_S) -> Callable[[], Any]:
        """Ask, with what returns a future; return what gives the first result, or None before it.

        It asks again where there is none after some time (s).
        """
        futures, asked = [ask()], time.monotonic()

        def answer() -> Any:
            nonlocal asked
            done = [future for future in futures if future.done()]
            if not done and time.monotonic() - asked > again_s:
                futures.append(ask())
                asked = time.monotonic()
            return done[0].result() if done else None

        return answer

    def change(self, node: str, transition: int) -> bool:
        """Request a transition of a lifecycle node, and return whether it was made."""
        client = self.node.create_client(ChangeState, f"{node}/change_state")
        # A repeated request would be refused as impossible, so readiness is checked first.
        assert not self.call(client, ChangeState.Request(transition=Transition(id=_NO_TRANSITION))).success
        request = ChangeState.Request(transition=Transition(id=transition))
        return bool(self.call(client, request, again=False).success)

    def describe(self, urdf: str) -> None:
        self._descriptions.publish(String(data=urdf))

    def load(self, urdf: str) -> ModelInfo:
        """Publish a robot description, and wait until its model is in use."""
        count = len(self.models)
        self.describe(urdf)
        self.wait_for(lambda: len(self.models) > count)
        return self.models[-1]

    def now(self) -> Time:
        return self.node.get_clock().now().to_msg()

    def publish_state(
        self, names: Names, positions: Floats, stamp: Time | None = None, velocities: Floats = ()
    ) -> Time:
        """Publish a joint state and return its stamp."""
        stamp = stamp or self.now()
        self._states.publish(joint_state(stamp, positions, velocities, names))
        return stamp

    def refer(
        self, names: Names, q: Floats, qd: Floats = (), qdd: Floats = (), stamp: Time | None = None
    ) -> Time:
        """Publish a reference and return its stamp."""
        stamp = stamp or self.now()
        self._references.publish(reference(stamp, q, qd, qdd, names))
        return stamp

    def answer_to(self, stamp: Time) -> JointTorques:
        self.wait_for(lambda: any(t.header.stamp == stamp for t in self.torques))
        return next(t for t in self.torques if t.header.stamp == stamp)

    def torques_for(self, names: Names, positions: Floats) -> JointTorques:
        """Publish a joint state and wait for the torques that carry its stamp."""
        return self.answer_to(self.publish_state(names, positions))

    def logged(self, part: str) -> list[Log]:
        return [line for line in self.lines if part in line.msg]

    def said(self, code: str, **values: Any) -> list[Log]:
        """Return the log lines of nodes that match the sentence of a code with these values."""
        return [line for line in self.lines if said(code, **values).search(line.msg)]

    @property
    def told(self) -> Told:
        return Told(self.diagnostics[-1] if self.diagnostics else DiagnosticStatus())

    def warns(self, code: str, **values: Any) -> bool:
        """Return whether the newest status is a warning, not an error, about a code with these values."""
        return self.told.level == DiagnosticStatus.WARN and self.told.about(code, **values)

    @property
    def level(self) -> bytes | None:
        return self.diagnostics[-1].level if self.diagnostics else None

    def diagnosis(self, key: str) -> str | None:
        return self.told.values.get(key)
