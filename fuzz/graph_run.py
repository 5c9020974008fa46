# SPDX-License-Identifier: Apache-2.0
"""Nodes in processes of their own, over DDS: transitions with requests in flight, signals, kill -9, floods.

A seed gives the same events in the same order; when they meet the nodes depends on the machine.
"""

from __future__ import annotations

import importlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from node_cases import FuzzedNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from robot_files import ROBOTS
from ros_graph import Graph
from std_msgs.msg import Float64MultiArray
from storm import Storm
from torque_checker import Checker

from dyn_msgs.msg import JointTorques
from dyn_nodes.controller.node import Controller
from dyn_nodes.demonstration.isolation import isolated_environment

NODES = ("simulation", "feedforward", "controller", "governor", "identification")
_RRP = ("--ros-args", "-p", f"description_file:={ROBOTS['rrp']}")
_LOOP = (
    *("-r", "simulation/torques:=controller/torques", "-r", "controller/feedforward:=feedforward/torques"),
    *("-p", "simulation:brakes:=true", "-p", "controller:p:=200.0", "-p", "controller:d:=20.0"),
)
ARGUMENTS = (*_RRP, *_LOOP)
PATIENCE_S = 300.0
ENDS_WITHIN_S = 20.0
"""Time for a process to end after a signal, on a busy machine."""
_PAUSE_S = 60.0
"""Time for which a process, as this one, may stand still on a busy machine (s)."""
LEGAL = {
    State.PRIMARY_STATE_UNCONFIGURED: {Transition.TRANSITION_CONFIGURE: State.PRIMARY_STATE_INACTIVE},
    State.PRIMARY_STATE_INACTIVE: {
        Transition.TRANSITION_ACTIVATE: State.PRIMARY_STATE_ACTIVE,
        Transition.TRANSITION_CLEANUP: State.PRIMARY_STATE_UNCONFIGURED,
    },
    State.PRIMARY_STATE_ACTIVE: {Transition.TRANSITION_DEACTIVATE: State.PRIMARY_STATE_INACTIVE},
}
_TRANSITIONS = (1, 2, 3, 4)
_NOT_SENT = ("clock", "robot_description", "torques")
"""Topics on which nothing is sent: torques are those of the nodes, which are checked."""
_ILLEGAL_ODDS = 0.1
_LEAST_EVENTS = 10
"""Transitions or ends that a run makes also where its time is over."""
_FLAT_AFTER_S, _FLAT_AFTER, _FLAT_MB = 60.0, 50_000, 3.0
"""Memory of a node in a flood does not grow by more after this time and so many messages."""


@dataclass
class Seen:
    """What was done and seen."""

    transitions: int = 0
    requests: int = 0
    answered: int = 0
    messages: int = 0
    kills: int = 0
    signals: int = 0
    checked: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    memory_mb: dict[str, list[float]] = field(default_factory=dict)
    looks_after: int = 0
    """Looks at the memory from which on it has to be flat."""


def _be_node(name: str, log: str, environment: Mapping[str, str]) -> None:
    """Run a node, or all in one process for `compose`, in a process that was forked for it."""
    os.environ.update(environment)  # the process that is forked may be older than the DDS domain
    log_file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log_file, stream)
    if name == "compose":
        from dyn_nodes.compose import main

        code = main(["--nodes", *NODES, *ARGUMENTS])
    else:
        code = importlib.import_module(f"dyn_nodes.{name}.node").main(list(ARGUMENTS))
    os._exit(code)


class Bred:
    """Starts node processes as forks of one that has imported everything."""

    def __init__(self, folder: Path) -> None:
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload(["dyn_nodes.compose"])
        self._folder = folder
        self._number = 0

    def start(self, name: str) -> BredNode:
        self._number += 1
        log = self._folder / f"{self._number}_{name}.log"
        log.touch()
        process = self._context.Process(target=_be_node, args=(name, str(log), dict(os.environ)), daemon=True)
        process.start()
        return BredNode(name, process, log)


@dataclass
class BredNode:
    """A node process."""

    name: str
    process: Any
    log: Path

    @property
    def lives(self) -> bool:
        return bool(self.process.is_alive())

    def problem(self) -> str:
        """Return the first traceback in the log, or an empty text."""
        text = self.log.read_text(errors="replace")
        return text[text.index("Traceback") :][:2500] if "Traceback" in text else ""

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def end(self, number: signal.Signals) -> int | None:
        """Send a signal; return the exit code, or None where the process goes on."""
        os.kill(self.process.pid, number)
        self.process.join(ENDS_WITHIN_S)
        return None if self.lives else int(self.process.exitcode)

    @property
    def memory_mb(self) -> float:
        """Resident memory (MB)."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return float(line.split()[1]) / 1024.0
        return 0.0


class Storming:
    """The fuzzer's node: it sends and asks, and checks what the nodes publish."""

    def __init__(self, graph: Graph, seed: int, seen: Seen) -> None:
        self.graph, self.seen = graph, seen
        self.rng = np.random.default_rng(seed)
        self.fuzzed = FuzzedNode(Controller)
        self.storm = Storm(self.rng, self.fuzzed.loaded)
        self._clients: dict[tuple[str, str], Any] = {}
        self._services: dict[str, dict[str, Any]] = {}
        self._publishers: dict[str, tuple[Any, Any]] = {}
        self.checkers: dict[str, Checker] = {}
        self._listen()

    def _listen(self) -> None:
        """Check the torques of the nodes from their bytes."""
        profile = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        for name in ("feedforward", "controller"):
            case = self.fuzzed.case
            case.sees_all = False
            case.timeout += _PAUSE_S
            case.max_age += _PAUSE_S
            checker = self.checkers[name] = Checker(case)
            for kind, topic in ((JointTorques, "torques"), (Float64MultiArray, "commands")):
                take = partial(self._check, name, checker, topic)
                self.graph.node.create_subscription(kind, f"{name}/{topic}", take, profile, raw=True)

    def _check(self, name: str, checker: Checker, topic: str, raw: bytes) -> None:
        """Check a message; the simulation sends good joint states all the time."""
        now, clock = time.monotonic(), time.time_ns()
        checker.measured(now)
        if problem := checker.published(topic, raw, now, clock):
            self.seen.wrong.append(f"{name}: {topic}: {problem}")
        self.seen.checked[name] = self.seen.checked.get(name, 0) + 1

    def restarted(self, name: str) -> None:
        """Tell the checker that the process of a node is another one, which begins with zero."""
        if name in self.checkers:
            self.checkers[name].restarted()

    def spin(self, seconds: float) -> None:
        """Handle messages for some time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.graph.executor.spin_once(timeout_sec=0.01)

    def wait(self, condition: Callable[[], Any], what: str) -> bool:
        """Handle messages until a condition holds; note where that takes too long."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                self.seen.wrong.append(f"waited {PATIENCE_S:g} s for {what}")
                return False
            self.graph.executor.spin_once(timeout_sec=0.05)
        return True

    def client(self, node: str, service: str, kind: Any) -> Any:
        """Return the client of a service."""
        key = (node, service)
        if key not in self._clients:
            self._clients[key] = self.graph.node.create_client(kind, f"{node}/{service}")
        return self._clients[key]

    def learn_services(self, nodes: Sequence[str]) -> None:
        """Remember the services of configured nodes, but for those of the life cycle and of actions."""
        for full, kinds in self.graph.node.get_service_names_and_types():
            node, _, service = full.strip("/").partition("/")
            package, _, kind = kinds[0].split("/")
            if (
                node in nodes
                and "/" not in service
                and "state" not in service
                and "transition" not in service
            ):
                found = getattr(importlib.import_module(f"{package}.srv"), kind)
                self._services.setdefault(node, {})[service] = found

    def ask(self, node: str) -> None:
        """Send a request to any service of a node; the answer is not waited for."""
        services = self._services.get(node, {})
        if not services:
            return
        name = list(services)[int(self.rng.integers(len(services)))]
        client = self.client(node, name, services[name])
        if not client.service_is_ready():
            return
        future = client.call_async(self.storm.any_message(services[name].Request))
        self.seen.requests += 1

        def count(_: Any) -> None:
            self.seen.answered += 1

        future.add_done_callback(count)

    def send(self) -> None:
        """Publish a message on a topic that nodes hear."""
        if not self._publishers:
            self._find_topics()
        topics = list(self._publishers)
        topic = topics[int(self.rng.integers(len(topics)))]
        publisher, kind = self._publishers[topic]
        name = "/joint_states" if topic == "/joint_states" else topic.rpartition("/")[2]
        publisher.publish(self.storm.raw(name, kind, self.graph.now()))
        self.seen.messages += 1

    def _find_topics(self) -> None:
        profile = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
        topics = {"/joint_states": "sensor_msgs/msg/JointState"}
        for node in NODES:
            with suppress(Exception):
                pairs = self.graph.node.get_subscriber_names_and_types_by_node(node, "/")
                topics |= {t: k[0] for t, k in pairs if t.rpartition("/")[2] not in _NOT_SENT}
        for topic, described in topics.items():
            package, _, name = described.split("/")
            kind = getattr(importlib.import_module(f"{package}.msg"), name)
            self._publishers[topic] = (self.graph.node.create_publisher(kind, topic, profile), kind)

    def state(self, node: str) -> int | None:
        """Return the state of a node; None where it does not answer."""
        client = self.client(node, "get_state", GetState)
        futures: list[Any] = []
        asked = -np.inf

        def answered() -> bool:
            nonlocal asked
            if time.monotonic() - asked > 3.0 and client.service_is_ready():
                futures.append(client.call_async(GetState.Request()))
                asked = time.monotonic()
            return any(future.done() for future in futures)

        if not self.wait(answered, f"the state of {node}"):
            return None
        return int(next(f.result() for f in futures if f.done()).current_state.id)

    def change(self, node: str, transition: int) -> bool | None:
        """Ask for a transition; return whether it was done, None without an answer."""
        client = self.client(node, "change_state", ChangeState)
        if not self.wait(client.service_is_ready, f"change_state of {node}"):
            return None
        future = client.call_async(ChangeState.Request(transition=Transition(id=transition)))
        if not self.wait(future.done, f"transition {transition} of {node}"):
            return None
        return bool(future.result().success)


@contextmanager
def storming(
    seed: int, processes: Sequence[str], seen: Seen
) -> Iterator[tuple[Storming, dict[str, BredNode], Bred]]:
    """Start node processes, and the fuzzer's node beside them."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        environment = stack.enter_context(isolated_environment(os.environ))
        os.environ.update(environment)
        graph = stack.enter_context(Graph(environment))
        bred = Bred(folder)
        nodes = {name: bred.start(name) for name in processes}
        stack.callback(lambda: [node.kill() for node in nodes.values()])
        ours = Storming(graph, seed, seen)
        names = NODES if "compose" in processes else processes
        for name in names:
            ours.wait(
                lambda name=name: ours.state(name) == State.PRIMARY_STATE_ACTIVE, f"{name} to be active"
            )
        ours.learn_services(names)
        yield ours, nodes, bred
        for node in nodes.values():
            if problem := node.problem():
                seen.wrong.append(f"{node.name}: {problem}")


def run_transitions(seed: int, count: int, seconds: float, *, together: bool) -> Seen:
    """Change states at random, with requests and messages in flight.

    Args:
        seed: of the events.
        count: most transitions.
        seconds: longest time (s).
        together: whether all nodes are in one process.
    """
    seen = Seen()
    with storming(seed, ("compose",) if together else NODES, seen) as (ours, processes, _):
        end = time.monotonic() + seconds
        states = dict.fromkeys(NODES, State.PRIMARY_STATE_ACTIVE)
        rng = ours.rng
        while _goes_on(seen, seen.transitions, count, end):
            node = NODES[int(rng.integers(len(NODES)))]
            legal = LEGAL[states[node]]
            wild = rng.random() < _ILLEGAL_ODDS
            transition = int(rng.choice(_TRANSITIONS if wild else list(legal)))
            for _ in range(int(rng.integers(6))):
                ours.ask(node)
                ours.send()
            done = ours.change(node, transition)
            ours.ask(node)
            seen.transitions += 1
            if done is not None and done != (transition in legal):
                seen.wrong.append(f"{node} in {states[node]}: transition {transition} gave {done}")
            states[node] = legal.get(transition, states[node])
            if seen.transitions % 20 == 0 and (found := ours.state(node)) != states[node]:
                seen.wrong.append(f"{node} is in {found}, not in {states[node]}")
            dead = [one.name for one in processes.values() if not one.lives]
            if dead:
                seen.wrong.append(f"ended: {dead}, seed {seed}, transition {seen.transitions}")
        for node, state in states.items():
            if not seen.wrong and (found := ours.state(node)) != state:
                seen.wrong.append(f"{node} is in {found}, not in {state}")
    return seen


def run_kills(seed: int, count: int, seconds: float, *, check_every: int = 10) -> Seen:
    """End nodes of a control loop by kill -9, sometimes by a signal, and start them again.

    The other nodes stay active all the time, and after every few kills all of them work again.
    """
    seen, loop = Seen(), NODES[:4]
    with storming(seed, loop, seen) as (ours, processes, bred):
        end = time.monotonic() + seconds
        rng = ours.rng
        while _goes_on(seen, seen.kills + seen.signals, count, end):
            name = loop[int(rng.integers(len(loop)))]
            ours.spin(float(rng.exponential(0.15)))
            ours.send()
            if rng.random() < 0.1:
                seen.signals += 1
                ours.wait(lambda name=name: processes[name].log.stat().st_size, f"{name} to begin")
                number = signal.Signals(int(rng.choice([signal.SIGINT, signal.SIGTERM])))
                code = processes[name].end(number)
                if code != 0:
                    log = processes[name].log.read_text(errors="replace")
                    seen.wrong.append(f"{name} ends with {code} by {number.name}: {log[-800:]}")
            else:
                seen.kills += 1
                processes[name].kill()
            if problem := processes[name].problem():
                seen.wrong.append(f"{name}: {problem}")
            processes[name].log.unlink()
            ours.restarted(name)
            processes[name] = bred.start(name)
            dead = [one.name for one in processes.values() if not one.lives]
            if dead:
                logs = [processes[one].log.read_text(errors="replace")[-800:] for one in dead]
                seen.wrong.append(f"ended: {dead}, seed {seed}, kill {seen.kills}: {logs}")
            elif (seen.kills + seen.signals) % check_every == 0:
                _all_work(ours, loop, seen)
        _all_work(ours, loop, seen)
    return seen


def _goes_on(seen: Seen, done: int, count: int, end: float) -> bool:
    """Whether there are more events: at least some, also where starting the nodes took all of the time."""
    return not seen.wrong and done < count and (time.monotonic() < end or done < _LEAST_EVENTS)


def _all_work(ours: Storming, loop: Sequence[str], seen: Seen) -> None:
    """See that all nodes are active, and that new torques come."""
    for name in loop:
        is_active = lambda name=name: ours.state(name) == State.PRIMARY_STATE_ACTIVE  # noqa: E731
        ours.wait(is_active, f"{name} to be active again")
    before = dict(seen.checked)
    ours.wait(lambda: all(seen.checked.get(n, 0) > before.get(n, 0) for n in loop[1:3]), "torques")


def run_flood(seed: int, seconds: float, *, period: float = 10.0) -> Seen:
    """Send as many messages as go out, and look at the memory of each process every few seconds."""
    seen = Seen()
    with storming(seed, NODES[:4], seen) as (ours, processes, _):
        next_look = begin = time.monotonic()
        while (now := time.monotonic()) < begin + seconds and not seen.wrong:
            for _ in range(20):
                ours.send()
            ours.graph.executor.spin_once(timeout_sec=0.0)
            if now >= next_look:
                next_look += period
                for name, node in processes.items():
                    if not node.lives:
                        seen.wrong.append(f"{name} ended")
                        break
                    seen.memory_mb.setdefault(name, []).append(round(node.memory_mb, 1))
                if now - begin >= _FLAT_AFTER_S and seen.messages >= _FLAT_AFTER:
                    seen.looks_after += 1
    for name, values in seen.memory_mb.items():
        flat = values[len(values) - seen.looks_after :]
        if flat and max(flat) - flat[0] > _FLAT_MB:
            seen.wrong.append(f"memory of {name} grows from {flat[0]} to {max(flat)} MB")
    return seen
