# SPDX-License-Identifier: Apache-2.0
"""Node processes: ended by a signal in any state, after another one is killed, with other descriptions."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from identification_client import children_of, is_running
from lifecycle_msgs.msg import Transition
from long_chain import long_chain
from message_makers import NAMES, nanoseconds
from rnea import Pinocchio, frictionless
from robot_files import ROBOTS, urdf
from ros_graph import ATTEMPTS, GENEROUS_S, Graph, NodeProcess
from sentence_patterns import Told, said
from simulation_client import Simulated

from dyn_msgs.msg import JointTorques

Q = [0.1, 0.3, 0.05]
Env = dict[str, str]
RRP = ("-p", f"description_file:={ROBOTS['rrp']}")
FED = ("-r", "simulation/torques:=feedforward/torques")
SIGNALS = [signal.SIGINT, signal.SIGTERM]
EITHER = [("feedforward", signal.SIGTERM), ("controller", signal.SIGINT), ("simulation", signal.SIGTERM)]
"""Both signals take the same path, so not every state is tested with both."""
LOADING = [("feedforward", True), ("simulation", True), ("feedforward", False)]


def in_turn(cases: Sequence[Any]) -> list[Any]:
    """Return all cases with one signal each, in turn, and with the other one in the exhaustive run."""
    pairs = [(case, SIGNALS[(k + other) % 2], other) for other in (0, 1) for k, case in enumerate(cases)]
    return [pytest.param(case, s, marks=pytest.mark.exhaustive if other else ()) for case, s, other in pairs]


def started(graph: Graph, node: str, *arguments: str) -> NodeProcess:
    """Start a node, and wait until it is in the graph."""
    process = graph.start("-m", f"dyn_nodes.{node}", "--ros-args", *arguments)
    graph.wait_for(lambda: node in graph.node.get_node_names())
    return process


@pytest.mark.promise("signals")
@pytest.mark.parametrize(("node", "number"), in_turn(["feedforward", "controller", "simulation", "governor"]))
def test_a_signal_while_it_waits_for_a_robot(node: str, number: signal.Signals, graph: Graph) -> None:
    process = started(graph, node)
    graph.wait_for(lambda: "waiting for a robot" in process.log)
    process.end(number)


def hanging_compiler(environment: Env, folder: Path) -> Path:
    """Make nodes compile with a program that never ends, and return the file of its processes."""
    compiler, at_work = folder / "cc", folder / "at_work"
    compiler.write_text(f"#!/bin/sh\necho $$ >> {at_work}\nexec sleep 3600\n")
    compiler.chmod(0o755)
    environment |= {"CC": str(compiler), "DYN_CACHE_DIR": str(folder / "cache")}
    return at_work


@pytest.mark.promise("signals")
@pytest.mark.parametrize(("case", "number"), in_turn(LOADING))
def test_a_signal_while_it_loads_a_robot(
    case: tuple[str, bool], number: signal.Signals, graph: Graph, ros_environment: Env, tmp_path: Path
) -> None:
    """The robot comes from the topic, or from a file at the start; the compiler does not end."""
    node, on_topic = case
    hanging_compiler(ros_environment, tmp_path)
    file = tmp_path / "chain.urdf"
    file.write_text(long_chain(16))
    process = started(graph, node, *(() if on_topic else ("-p", f"description_file:={file}")))
    if on_topic:
        graph.describe(long_chain(16))
        graph.wait_for(lambda: "preparing robot 'chain_16'" in process.log)
    children = children_of(process.process.pid)
    assert children or not on_topic
    process.end(number)
    assert "using robot" not in process.log
    assert not (on_topic and said("program-ended-unfinished").search(process.log))
    graph.wait_for(lambda: not any(map(is_running, children)))


@pytest.mark.promise("signals")
def test_a_signal_while_the_c_compiler_runs(graph: Graph, ros_environment: Env, tmp_path: Path) -> None:
    """Neither the process that loads the robot nor the compiler remains."""
    at_work = hanging_compiler(ros_environment, tmp_path)
    process = started(graph, "simulation")
    graph.describe(urdf("rrp"))
    graph.wait_for(lambda: at_work.exists() and at_work.read_text())
    children = children_of(process.process.pid)
    assert children
    process.end(signal.SIGTERM)
    left = [*children, *map(int, at_work.read_text().split())]
    graph.wait_for(lambda: not any(map(is_running, left)))


@pytest.mark.promise("signals")
@pytest.mark.parametrize(("node", "number"), EITHER)
def test_a_signal_while_all_nodes_run_at_1_khz(node: str, number: signal.Signals, graph: Graph) -> None:
    """The last torques are zero, and the simulation receives them."""
    ours = Simulated(graph)
    simulation = (*RRP, *FED, "-p", "rate:=1000.0", "-p", "brakes:=true")
    processes = {
        "simulation": started(graph, "simulation", *simulation),
        "feedforward": started(graph, "feedforward"),
        "controller": started(graph, "controller", "-p", "p:=100.0"),
    }
    graph.wait_for(lambda: len(graph.torques) > 100 and graph.node.count_publishers("controller/torques"))
    for _ in range(ATTEMPTS):
        ours.state_when(lambda state: any(state.effort))
        processes[node].end(number)
        if node != "feedforward":
            break
        seen = len(ours.states)
        graph.wait_for(lambda seen=seen: not any(ours.states[-1].effort) or len(ours.states) > seen + 1000)
        if not any(ours.states[-1].effort):
            graph.wait_for(lambda: graph.torques[-1].status == JointTorques.STATUS_ZERO)
            break
        # The simulation stood still for longer than a process waits at its end.
        processes[node] = started(graph, node)
    else:
        pytest.fail("the simulation did not get the last torques")
    for other, process in processes.items():
        assert (process.process.poll() is None) == (other != node)


@pytest.mark.promise("signals")
@pytest.mark.parametrize(("paused", "number"), in_turn([False, True]))
def test_a_signal_to_a_simulation_that_runs_or_is_paused(
    paused: bool, number: signal.Signals, graph: Graph
) -> None:
    """The running one gets the signal twice."""
    ours = Simulated(graph)
    process = graph.start("-m", "dyn_nodes.simulation", "--ros-args", *RRP, "-p", "publish_clock:=true")
    ours.next_state()
    assert ours.call("pause", data=paused).success
    process.end(*([number] if paused else [number, number]))


@pytest.mark.promise("signals")
@pytest.mark.parametrize(("node", "number"), EITHER)
def test_a_signal_while_it_is_inactive(node: str, number: signal.Signals, graph: Graph) -> None:
    process = started(graph, node, *RRP)
    assert graph.change(node, Transition.TRANSITION_DEACTIVATE)
    process.end(number)


@pytest.mark.promise("signals", "deactivation")
@pytest.mark.parametrize(("on_shutdown", "number"), in_turn(["zero", "hold"]))
def test_a_signal_during_a_ramp(number: signal.Signals, on_shutdown: str, graph: Graph) -> None:
    """The last message is the configured one, not that of the ramp."""
    ramp = {"timeout": 0.5, "on_stale": "ramp", "ramp_down": 60.0, "max_age": 10.0}
    process = graph.start_feedforward(**ramp, on_shutdown=on_shutdown)
    graph.load(urdf("rrp"))
    held = list(graph.torques_for(NAMES, Q).total)
    graph.wait_for(lambda: graph.torques[-1].status == JointTorques.STATUS_RAMPING)
    process.end(number)
    last = {"zero": (JointTorques.STATUS_ZERO, [0.0] * 3), "hold": (JointTorques.STATUS_HELD, held)}
    status, total = last[on_shutdown]
    graph.wait_for(lambda: graph.torques[-1].status == status)
    assert list(graph.torques[-1].total) == total
    graph.wait_for(lambda: graph.commands[-1].data == graph.torques[-1].total)


@pytest.mark.promise("kill-and-restart")
def test_feedforward_holds_the_robot_again_after_a_restarted_simulation(graph: Graph) -> None:
    """feedforward gets its robot from the simulation only, and again after kill -9."""
    ours = Simulated(graph)
    simulation = ("-m", "dyn_nodes.simulation", "--ros-args", *RRP, *FED, "-p", "brakes:=true")
    first = graph.start(*simulation, "-p", "initial.lift.position:=0.5")
    # The first torques hold at once, so it does not matter how late this process sees them act.
    graph.start("-m", "dyn_nodes.feedforward", "--ros-args", "-p", "ramp_start:=0.0")
    graph.wait_for(lambda: graph.torques)
    ours.state_when(lambda state: any(state.effort))
    assert ours.states[-1].position[1] == pytest.approx(0.5, abs=1e-3)
    first.kill()
    ours.states.clear()
    graph.torques.clear()
    graph.start(*simulation, "-p", "initial.lift.position:=0.2")
    ours.state_when(lambda state: any(state.effort))
    # Until the end of the ramp, it gets the torques that held the first robot, and then moves until friction
    # stops it. Without torques it would fall to its stop at -1 rad.
    graph.wait_for(lambda: len(graph.torques) > 500 and not any(ours.states[-1].velocity))
    assert ours.states[-1].position[1] > -0.5


LOOP: dict[str, str] = {
    "simulation": f"-p description_file:={ROBOTS['rrp']} -p brakes:=true -p initial.lift.position:=0.3 "
    "-r simulation/torques:=controller/torques -p command_timeout:=0.5",
    "feedforward": "",
    "controller": "-p p:=200.0 -p d:=20.0 -r controller/feedforward:=feedforward/torques",
}


class Loop:
    """Simulation, feedforward and controller, each in its own process."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.ours = Simulated(graph)
        self.control: list[JointTorques] = []
        graph.node.create_subscription(JointTorques, "controller/torques", self.control.append, 100)
        self.processes = {name: self.start(name) for name in LOOP}

    def start(self, name: str) -> NodeProcess:
        return self.graph.start("-m", f"dyn_nodes.{name}", "--ros-args", *LOOP[name].split())

    def has_lost(self, name: str) -> bool:
        """Whether the other nodes have reacted to the loss of a node."""
        if name == "simulation":
            ended = self.control[-1].status in (JointTorques.STATUS_RAMPING, JointTorques.STATUS_ZERO)
            return ended and self.graph.torques[-1].status == JointTorques.STATUS_HELD
        code = {"feedforward": "feedforward-stopped", "controller": "command-timeout"}[name]
        return any(said(code).search(status.message) for status in self.graph.diagnostics)

    @property
    def is_fed(self) -> bool:
        """Whether the controller reports that it uses the torques of feedforward."""
        reports = [Told(status) for status in self.graph.diagnostics if status.name == "controller"]
        used = bool(reports) and "feedforward used" in reports[-1].values
        return used and not reports[-1].about("feedforward-stopped")

    def wait_until_it_holds(self) -> None:
        """Wait until torques of all three nodes hold the arm near its position, at rest."""
        seen = len(self.ours.states)
        for messages in (self.control, self.graph.torques, self.graph.diagnostics):
            messages.clear()

        def holds() -> bool:
            if len(self.ours.states) <= seen + 100 or not self.control or not self.graph.torques:
                return False
            last, state = (self.control[-1], self.graph.torques[-1]), self.ours.states[-1]
            ok = all(torques.status == JointTorques.STATUS_OK for torques in last)
            return ok and self.is_fed and state.effort[1] > 1.0 and max(map(abs, state.velocity)) < 1e-3

        self.graph.wait_for(holds)


@pytest.mark.promise("kill-and-restart")
@pytest.mark.parametrize("name", LOOP)
def test_after_kill_9_and_restart_of_one_node_the_others_work(name: str, graph: Graph) -> None:
    loop = Loop(graph)
    loop.wait_until_it_holds()
    graph.diagnostics.clear()
    loop.processes.pop(name).kill()
    graph.wait_for(lambda: loop.has_lost(name))
    assert [process.process.poll() for process in loop.processes.values()] == [None, None]
    loop.processes[name] = loop.start(name)
    loop.wait_until_it_holds()
    for process in loop.processes.values():
        assert process.process.poll() is None
        assert "Traceback" not in process.log


# Descriptions that arrive with joint states at 500 Hz, or while a simulation runs

PERIOD_S = 0.002
BROKEN = "<robot name='broken'><link name='a'>"
LIFT = '<joint name="lift" type="revolute">'


def stream(graph: Graph, done: Callable[[], Any], at_least_s: float = 0.0) -> int:
    """Send joint states until a condition holds, and at least for some time; return their number."""
    sent = 0
    now = begin = due = time.monotonic()
    while now - begin <= at_least_s or not done():
        assert now < begin + GENEROUS_S
        if now >= due:
            due = max(due + PERIOD_S, now)
            graph.publish_state(NAMES, Q)
            sent += 1
        graph.executor.spin_once(timeout_sec=max(due - time.monotonic(), 0.0))
        now = time.monotonic()
    return sent


@pytest.mark.promise("description-replaced")
@pytest.mark.parametrize("ramp_up", [0.0, 0.5])
def test_each_torque_belongs_to_one_model_and_none_is_late(
    ramp_up: float, graph: Graph, ros_environment: Env, tmp_path: Path
) -> None:
    """The terms belong to the old or to the new model; the total is a blend from one to the other."""
    ros_environment["DYN_CACHE_DIR"] = str(tmp_path)  # each model must really be compiled
    light = frictionless("rrp")
    # Other masses, and a length for which the programs have to be compiled again.
    weights = light.replace(LIFT, f'{LIFT}<origin xyz="0.02 0 0.01"/>').replace('"3.0"', '"4.2"')
    q = dict(zip(NAMES, Q, strict=True))
    a, b = (np.array([*Pinocchio(text).held(q).values()]) for text in (light, weights))
    assert abs(a - b).max() > 1.0
    node = graph.start_feedforward(ramp_up=ramp_up, max_age=1.0)
    graph.load(light)
    heard: list[JointTorques] = []
    graph.node.create_subscription(JointTorques, "feedforward/torques", heard.append, 1000)
    sent = stream(graph, lambda: heard, 0.2)
    unusable = said("description-unusable", robot="rrp")

    def refusals() -> int:
        return sum(bool(unusable.search(line)) for line in node.log.splitlines())

    for text in (weights, light, weights):
        models = len(graph.models)
        graph.describe(text)
        sent += stream(graph, lambda models=models: len(graph.models) > models)
        refused = refusals()
        graph.describe(BROKEN)
        sent += stream(graph, lambda refused=refused: refusals() > refused, ramp_up + 0.3)
    totals, gravities = (np.array([getattr(t, key) for t in heard]) for key in ("total", "gravity"))
    of_a, of_b = (np.isclose(gravities, one, rtol=1e-9, atol=1e-9).all(axis=1) for one in (a, b))
    assert (of_a ^ of_b).all()
    assert np.count_nonzero(np.diff(of_a)) == 3
    way = (totals - a) @ (b - a) / ((b - a) @ (b - a))
    assert totals == pytest.approx(a + way[:, None] * (b - a), rel=1e-9, abs=1e-9)
    assert -1e-9 < way.min() < way.max() < 1.0 + 1e-9
    largest = float(np.abs(np.diff(way)).max())
    assert largest == pytest.approx(1.0) if ramp_up == 0.0 else largest < 0.5
    stamps = [nanoseconds(torques.header.stamp) for torques in heard]
    # The test machine may pause; test_loading.py compares the gaps with those of another node.
    assert len(stamps) > 0.5 * sent
    assert refusals() == 3
    assert graph.models[-1].robot_name == "rrp"


@pytest.mark.promise("description-replaced")
def test_a_simulation_continues_while_the_next_robot_is_compiled(
    graph: Graph, ros_environment: Env, tmp_path: Path
) -> None:
    """Compiling a chain of 12 joints takes seconds."""
    ros_environment["DYN_CACHE_DIR"] = str(tmp_path)
    ours = Simulated(graph)
    node = graph.start("-m", "dyn_nodes.simulation", "--ros-args", "-p", "rate:=100.0")
    graph.describe(frictionless("rrp"))
    ours.next_state()
    graph.describe(long_chain(12))
    graph.wait_for(lambda: "preparing robot 'chain_12'" in node.log)
    begin, began = len(ours.states), time.monotonic()
    ours.state_when(lambda state: len(state.name) == 12)
    took = time.monotonic() - began
    assert took > 0.5
    meanwhile = [state for state in ours.states[begin:] if len(state.name) == 3]
    # The test machine may be busy.
    assert len(meanwhile) > 50.0 * took
