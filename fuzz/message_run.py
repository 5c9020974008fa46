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
from mutations import rotated, seed_number
from node_cases import CASES, FuzzedNode
from ros_graph import ros_context
from storm import Storm
from torque_checker import ACTIVATED, DEACTIVATED, EVENT, HEARD, PUBLISHED, frame

from dyn_nodes.common.torques.trajectory_following import SHORT_BYTES
from dyn_nodes.demonstration.isolation import isolated_environment

PAUSES = (0.001, 0.01, 0.05, 0.3)
"""Time from one message to the next (s): at times longer than the timeout of 0.2 s."""
_PAUSE_ODDS = (0.6, 0.3, 0.09, 0.01)
_NO_OTHERS = ("/parameter_events", "/rosout", "/tf", "/tf_static")
_LEAPS_S = (-1000.0, -0.5, 0.5, 2.0, 1e6)
PERIODS = 3.0
"""Control periods that a message or a request may take of the processor."""
REPETITIONS = 2
"""How often a sequence in which one takes longer is run again: what takes long each time is no accident."""
_MOST_STEPS = 100
"""Most periods of the simulation that a request asks for."""
BESIDE = {"joint_trajectory": SHORT_BYTES}
"""Topics whose messages above a size (bytes) are checked in a thread, beside the control path. What takes
longer on the control path is in docs/safety.md, "What is bounded": requests of 100 000 names and messages of
10 MB, which the client library builds. No such message is made here."""


class TorqueCheck:
    """The checker in its own process: frames go in, and at the end what was wrong comes out."""

    def __init__(self, node: FuzzedNode) -> None:
        program = Path(__file__).with_name("torque_checker.py")
        command = [sys.executable, "-S", "-E", str(program), json.dumps(asdict(node.case))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def take(self, loose: LooseNode, direction: int, topic: str, raw: bytes = b"") -> None:
        """Hand a message or an event of now to the checker."""
        assert self._process.stdin is not None
        self._process.stdin.write(frame(loose.now, loose.ros_now, direction, topic, raw))

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
    cases: set[str] = field(default_factory=set)
    costly: dict[int, str] = field(default_factory=dict)
    """By number, the messages with an event after them where one takes more than `PERIODS`."""

    def add(self, other: Outcome, label: str) -> None:
        """Take what was seen in a sequence, which `label` replays."""
        self.cases |= {label.partition(":")[0]}
        self.messages += other.messages
        self.events += other.events
        for topic, number in other.checked.items():
            self.checked[topic] = self.checked.get(topic, 0) + number
        self.wrong += [f"{label}: {problem}" for problem in other.wrong]
        self.slowest = max(self.slowest, (other.slowest[0], f"{label}, {other.slowest[1]}"))

    def note(self, node: StormedNode, what: str, k: int) -> None:
        """Note the processor time of the last message or request of a node."""
        self.slowest = max(self.slowest, (node.took, f"{what}, message {k}"))
        longest = PERIODS * node.fuzzed.period
        if node.took > longest:
            times = f"{1e3 * node.took:.1f} ms of the processor, {1e3 * longest:g} ms is {PERIODS:g} periods"
            self.costly[k] = f"message {k}, {what}: {times}"


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
        self.took = 0.0
        """Processor time of the last message or request (s)."""

    def _published(self, topic: str, raw: bytes) -> None:
        self.check.take(self.loose, PUBLISHED, topic, raw)

    def _dropped(self, problem: Any) -> None:
        """Remember what the node could not answer; rclpy itself fails on parameters of unknown types."""
        if "parameters" not in str(problem.values.get("service")):
            self.dropped.append(str(problem))

    def topics(self) -> dict[str, Any]:
        """Return the types of the topics that the node hears at present."""
        return {topic: kind for topic, kind in self.loose.heard_topics.items() if topic not in _NO_OTHERS}

    def message(self, rng: np.random.Generator) -> str:
        """Send a message; return its topic."""
        topics = self.topics()
        if not topics:  # a node that polls
            return self.request(rng)
        topic = list(topics)[int(rng.integers(len(topics)))]
        raw = self.storm.raw(topic, topics[topic], self.loose.stamp)
        self.check.take(self.loose, HEARD, topic, raw)
        with self._timed(is_beside=len(raw) > BESIDE.get(topic, len(raw))):
            self.loose.send_raw(topic, raw)
        return topic

    def request(self, rng: np.random.Generator) -> str:
        """Call a service of the node with any request; return its name."""
        services = [s for s in self.loose.node.services if "state" not in s.service_name.rpartition("/")[2]]
        if not services:
            return ""
        service = services[int(rng.integers(len(services)))]
        request = self.storm.any_message(service.srv_type.Request)
        if hasattr(request, "steps"):  # the node ends stepping by its clock, which stands still here
            request.steps = min(request.steps, _MOST_STEPS)
        with self._timed(is_beside=hasattr(request, "steps")):
            service.callback(request, service.srv_type.Response())
        return str(service.service_name)

    @contextmanager
    def _timed(self, *, is_beside: bool = False) -> Iterator[None]:
        """Note the processor time of this thread, which a busy machine does not add to."""
        gc.disable()  # nodes collect garbage rarely, so that it is not the cost of one message
        begin = time.thread_time()
        try:
            yield
        finally:
            self.took = 0.0 if is_beside else time.thread_time() - begin
            gc.enable()

    def transition(self, rng: np.random.Generator) -> str:
        """Deactivate the node, sometimes clean it up, and activate it again."""
        node = self.loose.node
        self.check.take(self.loose, EVENT, DEACTIVATED)
        node.trigger_deactivate()
        kind = int(rng.integers(3))
        if kind:
            node.trigger_cleanup()
            node.trigger_configure()
            self.loose.reconnect()
        self.check.take(self.loose, EVENT, ACTIVATED)
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

    def end(self) -> None:
        """End the node, which sends its last message."""
        self.check.take(self.loose, EVENT, DEACTIVATED)
        self.loose.node.end()

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
            stack.callback(node.end)
            nodes.append(node)
        yield nodes


BATCH, SHORT_BATCH = 2000, 200
"""Messages of a sequence: a case and a seed give one, in a process of its own; fewer in runs of `SHORT_S`."""
SHORT_S = 300.0
PATIENCE_S = 1800.0
"""Longest time of a sequence, on a busy machine: a hundred times as long as usual."""


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
    first, total, end = seed_number(seed), Outcome(), time.monotonic() + seconds
    context = get_context("forkserver")
    context.set_forkserver_preload(["message_run"])
    running: dict[Connection, tuple[Any, str, Mapping[str, str], float]] = {}
    batch = BATCH if seconds > SHORT_S else SHORT_BATCH
    cases = rotated(names or list(CASES), seed)
    sequences = ((name, first + k) for k in range(10**9) for name in cases)
    with ExitStack() as stack:
        free = [dict(stack.enter_context(isolated_environment(os.environ))) for _ in range(processes)]
        while running or (total.messages < count and time.monotonic() < end):
            while free and total.messages < count and time.monotonic() < end:
                name, of_sequence = next(sequences)
                domain = free.pop()
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_sequence, args=(theirs, domain, name, of_sequence, batch))
                process.start()
                theirs.close()
                label = f"{name}:{of_sequence}:{batch}"
                running[ours] = (process, label, domain, time.monotonic() + PATIENCE_S)
            ready = wait(list(running), timeout=1.0)
            late = [one for one, (*_, until) in running.items() if time.monotonic() > until]
            for connection in {*ready, *late}:
                assert isinstance(connection, Connection)
                process, label, domain, _ = running.pop(connection)
                free.append(domain)
                try:
                    if connection not in ready:
                        process.kill()
                        total.wrong.append(f"{label}: still at work after {PATIENCE_S:g} s")
                    else:
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
    outcome = _sequence_of(name, seed, count, events)
    costly = outcome.costly
    for _ in range(REPETITIONS):
        if costly and not outcome.wrong:
            again = _sequence_of(name, seed, max(costly) + 1, events).costly
            costly = {k: text for k, text in again.items() if k in costly}
    outcome.wrong += list(costly.values())
    return outcome


def _sequence_of(name: str, seed: int, count: int, events: float) -> Outcome:
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
        what = node.message(rng)
        outcome.messages += 1
        outcome.note(node, what, k)
        if rng.random() < events:
            what = EVENTS[int(rng.integers(len(EVENTS)))](node, rng)
            outcome.events += 1
            outcome.note(node, what, k)
        pause = float(rng.choice(PAUSES, p=_PAUSE_ODDS))
        for other in nodes:
            other.loose.pass_time(pause)
            if problem := other.problem():
                outcome.wrong.append(f"message {k}, node {other.number}, after {what}: {problem}")
        if outcome.wrong:
            break
