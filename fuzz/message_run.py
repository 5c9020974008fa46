# SPDX-License-Identifier: Apache-2.0
"""A random sequence of messages, requests, transitions and clocks for nodes whose callbacks are called here.

No middleware is between, so thousands come in a second, and the same seed gives the same sequence. What nodes
publish goes to `torque_checker.py` in a process of its own, as bytes.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np
from lifecycle_msgs.msg import State
from loose_node import LooseNode
from node_cases import CASES, FuzzedNode
from ros_graph import ros_context
from storm import Storm
from torque_checker import HEARD, PUBLISHED, frame

from dyn_nodes.demonstration.isolation import isolated_environment

PAUSES = (0.001, 0.01, 0.05, 0.3)
"""Time from one message to the next (s): at times longer than the timeout of 0.2 s."""
_PAUSE_ODDS = (0.6, 0.3, 0.09, 0.01)
_NO_OTHERS = ("/parameter_events", "/rosout", "/tf", "/tf_static")
_LEAPS_S = (-1000.0, -0.5, 0.5, 2.0, 1e6)


class TorqueCheck:
    """The checker in its own process: frames go in, and at the end what was wrong comes out."""

    def __init__(self, node: FuzzedNode) -> None:
        program = Path(__file__).with_name("torque_checker.py")
        command = [sys.executable, "-S", "-E", str(program), json.dumps(asdict(node.case))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def take(self, now: float, direction: int, topic: str, raw: bytes) -> None:
        """Hand a message to the checker."""
        assert self._process.stdin is not None
        self._process.stdin.write(frame(now, direction, topic, raw))

    def end(self) -> tuple[list[str], dict[str, int]]:
        """Return what was wrong, and how many messages of each topic were checked."""
        out, _ = self._process.communicate()
        *wrong, last = out.decode().splitlines()
        return wrong, json.loads(last)["counts"]


@dataclass
class Outcome:
    """What was seen of a case."""

    messages: int = 0
    events: int = 0
    checked: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")

    def add(self, other: Outcome, label: str) -> None:
        """Take what was seen in a sequence, which `label` replays."""
        self.messages += other.messages
        self.events += other.events
        for topic, number in other.checked.items():
            self.checked[topic] = self.checked.get(topic, 0) + number
        self.wrong += [f"{label}: {problem}" for problem in other.wrong]
        self.slowest = max(self.slowest, (other.slowest[0], f"{label}, {other.slowest[1]}"))


class StormedNode:
    """A node in the storm."""

    def __init__(self, number: int, fuzzed: FuzzedNode, context: Any, rng: np.random.Generator) -> None:
        self.fuzzed, self.number = fuzzed, number
        self.check = TorqueCheck(fuzzed)
        self.loose = LooseNode(fuzzed.make, context, self._published, **fuzzed.all_parameters)
        self.loose.node.drop = self._dropped  # type: ignore[method-assign]
        self.storm = Storm(rng, fuzzed.loaded, fuzzed.case.joints, fuzzed.home)
        self.dropped: list[str] = []
        self.expected = State.PRIMARY_STATE_ACTIVE

    def _published(self, topic: str, raw: bytes) -> None:
        self.check.take(self.loose.now, PUBLISHED, topic, raw)

    def _dropped(self, problem: Any) -> None:
        """Remember what the node could not answer; rclpy itself fails on parameters of unknown types."""
        if "parameters" not in str(problem.values.get("service")):
            self.dropped.append(str(problem))

    def topics(self) -> dict[str, Any]:
        """Return the types of the topics that the node hears at present."""
        return {topic: kind for topic, kind in self.loose.heard_topics.items() if topic not in _NO_OTHERS}

    def message(self, rng: np.random.Generator) -> tuple[str, float]:
        """Send a message; return its topic and the processor time that it took (s)."""
        topics = self.topics()
        if not topics:  # a node that polls
            return self.request(rng), 0.0
        topic = list(topics)[int(rng.integers(len(topics)))]
        raw = self.storm.raw(topic, topics[topic], self.loose.stamp)
        self.check.take(self.loose.now, HEARD, topic, raw)
        begin = time.thread_time()
        self.loose.send_raw(topic, raw)
        return topic, time.thread_time() - begin

    def request(self, rng: np.random.Generator) -> str:
        """Call a service of the node with any request; return its name."""
        services = [s for s in self.loose.node.services if "state" not in s.service_name.rpartition("/")[2]]
        if not services:
            return ""
        service = services[int(rng.integers(len(services)))]
        request = self.storm.any_message(service.srv_type.Request)
        service.callback(request, service.srv_type.Response())
        return str(service.service_name)

    def transition(self, rng: np.random.Generator) -> str:
        """Deactivate the node, sometimes clean it up, and activate it again."""
        node = self.loose.node
        node.trigger_deactivate()
        kind = int(rng.integers(3))
        if kind:
            node.trigger_cleanup()
            node.trigger_configure()
            self.loose.reconnect()
        node.trigger_activate()
        return ("deactivated and activated", "cleaned up", "cleaned up")[kind]

    def leap(self, rng: np.random.Generator) -> str:
        """Set the clock of ROS."""
        seconds = _LEAPS_S[int(rng.integers(len(_LEAPS_S)))]
        self.loose.set_time(max(self.loose.ros_now + round(1e9 * seconds), 10**9))
        return f"clock {seconds}"

    def problem(self) -> str:
        """Return what is wrong with the node itself, or an empty text."""
        state = self.loose.node._state_machine.current_state[0]
        if self.loose.node.failure is not None:
            return f"failure: {self.loose.node.failure}"
        if state != self.expected:
            return f"state {state}"
        return f"dropped: {self.dropped[0]}" if self.dropped else ""

    def take_checked(self, outcome: Outcome) -> None:
        """Add what the checker saw, after the last message of the node."""
        wrong, counts = self.check.end()
        outcome.wrong += [f"node {self.number}: {line}" for line in wrong]
        for topic, number in counts.items():
            outcome.checked[topic] = outcome.checked.get(topic, 0) + number


EVENTS: tuple[Callable[[StormedNode, np.random.Generator], str], ...] = (
    StormedNode.request,
    StormedNode.request,
    StormedNode.request,
    StormedNode.transition,
    StormedNode.leap,
)


@contextmanager
def stormed(
    fuzzed: Sequence[FuzzedNode], rng: np.random.Generator, outcome: Outcome
) -> Iterator[list[StormedNode]]:
    """Make the nodes of a case in one process, until the context ends; then take what the checkers saw."""
    with ExitStack() as stack:
        stack.callback(gc.collect)  # a lifecycle node is seen by others until nothing refers to it
        context = stack.enter_context(ros_context())
        nodes = []
        for number, one in enumerate(fuzzed):
            node = StormedNode(number, one, context, rng)
            stack.callback(node.take_checked, outcome)
            stack.callback(node.loose.node.destroy_node)
            stack.callback(node.loose.node.end)
            nodes.append(node)
        yield nodes


BATCH = 2000
"""Messages of a sequence: a case and a seed give one, in a process of its own."""


def _sequence(connection: Connection, domain: Mapping[str, str], name: str, seed: int, count: int) -> None:
    os.environ.update(domain)
    warnings.simplefilter("error", RuntimeWarning)  # those of NumPy, which users would see
    with Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), 2)  # refusals are told by the thousand
    try:
        connection.send(run_case(name, seed, count))
    except Exception:
        connection.send(Outcome(wrong=[traceback.format_exc(limit=-6)]))


def run(names: Sequence[str], seed: str, count: int, seconds: float, processes: int) -> Outcome:
    """Run sequences of all cases in turn, until so many messages are sent or the time is over."""
    first = int(seed) if seed.isdecimal() else int.from_bytes(seed.encode(), "little") % 2**32
    total, end = Outcome(), time.monotonic() + seconds
    context = get_context("forkserver")
    context.set_forkserver_preload(["message_run"])
    running: dict[Connection, tuple[Any, str, Mapping[str, str]]] = {}
    sequences = ((name, first + k) for k in range(10**9) for name in names or CASES)
    with ExitStack() as stack:
        free = [dict(stack.enter_context(isolated_environment(os.environ))) for _ in range(processes)]
        while running or (total.messages < count and time.monotonic() < end):
            while free and total.messages < count and time.monotonic() < end:
                name, of_sequence = next(sequences)
                domain = free.pop()
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_sequence, args=(theirs, domain, name, of_sequence, BATCH))
                process.start()
                theirs.close()
                running[ours] = (process, f"{name}:{of_sequence}:{BATCH}", domain)
            for connection in wait(list(running)):
                assert isinstance(connection, Connection)
                process, label, domain = running.pop(connection)
                free.append(domain)
                try:
                    total.add(connection.recv(), label)
                except EOFError:
                    process.join()
                    total.wrong.append(f"{label}: the process ended with code {process.exitcode}")
                process.join()
    return total


def run_case(name: str, seed: int, count: int, *, events: float = 0.01) -> Outcome:
    """Send so many messages to the nodes of a case, with other events between them.

    Args:
        name: key of `CASES`.
        seed: the same one gives the same sequence.
        count: number of messages.
        events: how many other events come for each message.
    """
    rng = np.random.default_rng([seed, *name.encode()])
    outcome = Outcome()
    with stormed(CASES[name], rng, outcome) as nodes:
        throw(nodes, rng, count, outcome, events)
    return outcome


def throw(
    nodes: Sequence[StormedNode], rng: np.random.Generator, count: int, outcome: Outcome, events: float
) -> None:
    """Send so many messages to nodes, and take what was seen."""
    for k in range(count):
        node = nodes[int(rng.integers(len(nodes)))]
        what, took = node.message(rng)
        outcome.messages += 1
        outcome.slowest = max(outcome.slowest, (took, f"{what}, message {k}"))
        if rng.random() < events:
            what = EVENTS[int(rng.integers(len(EVENTS)))](node, rng)
            outcome.events += 1
        pause = float(rng.choice(PAUSES, p=_PAUSE_ODDS))
        for other in nodes:
            other.loose.pass_time(pause)
            if problem := other.problem():
                outcome.wrong.append(f"message {k}, node {other.number}, after {what}: {problem}")
        if outcome.wrong:
            break
