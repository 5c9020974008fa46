# SPDX-License-Identifier: Apache-2.0
"""Node processes that are ended by a signal in any state, and others that go on when one is killed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lifecycle_msgs.msg import Transition
from long_chain import long_chain
from robot_files import ROBOTS, urdf
from ros_graph import Graph, NodeProcess
from simulated import Simulated

from dyn_msgs.msg import JointTorques

NAMES = ["turn", "lift", "stretch"]
Q = [0.1, 0.3, 0.05]
RRP = ("-p", f"description_file:={ROBOTS['rrp']}")
SIGNALS = [signal.SIGINT, signal.SIGTERM]
EITHER = [("feedforward", signal.SIGTERM), ("controller", signal.SIGINT), ("simulation", signal.SIGTERM)]
"""Both signals go the same way; not every state is tried with both."""


def started(graph: Graph, node: str, *arguments: str) -> NodeProcess:
    """Start a node, and wait until others see it."""
    process = graph.start("-m", f"dyn_nodes.{node}", "--ros-args", *arguments)
    graph.wait_for(lambda: node in graph.node.get_node_names())
    return process


def ends(node: NodeProcess, number: signal.Signals) -> None:
    """Send a signal; the process has to end in order within 2 s."""
    began = time.monotonic()
    node.process.send_signal(number)
    assert node.process.wait(20) == 0, node.log
    assert time.monotonic() - began < 2.0
    assert "Traceback" not in node.log


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("node", ["feedforward", "controller", "simulation"])
def test_while_it_waits_for_a_robot(node: str, number: signal.Signals, graph: Graph) -> None:
    process = started(graph, node)
    graph.wait_for(lambda: "waiting for a robot" in process.log)
    ends(process, number)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("node", ["feedforward", "simulation"])
def test_while_it_compiles_a_large_robot_that_came_on_the_topic(
    node: str, number: signal.Signals, graph: Graph, ros_environment: dict[str, str], tmp_path: Path
) -> None:
    ros_environment["DYN_CACHE_DIR"] = str(tmp_path)
    process = started(graph, node)
    graph.describe(long_chain(16))
    graph.wait_for(lambda: "preparing robot 'chain_16'" in process.log)
    ends(process, number)
    assert "using robot" not in process.log


def test_while_the_compiler_of_c_is_at_work(
    graph: Graph, ros_environment: dict[str, str], tmp_path: Path
) -> None:
    """Python waits at its end for threads of some kinds, and those wait for the compiler."""
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\ntouch {tmp_path}/at_work\nexec sleep 20\n")
    compiler.chmod(0o755)
    ros_environment["CC"] = str(compiler)
    ros_environment["DYN_CACHE_DIR"] = str(tmp_path / "cache")
    process = started(graph, "simulation")
    graph.describe(urdf("rrp"))
    graph.wait_for((tmp_path / "at_work").exists)
    ends(process, signal.SIGTERM)


@pytest.mark.parametrize("number", SIGNALS)
def test_while_it_compiles_a_large_robot_at_its_start(
    number: signal.Signals, graph: Graph, ros_environment: dict[str, str], tmp_path: Path
) -> None:
    ros_environment["DYN_CACHE_DIR"] = str(tmp_path / "cache")
    file = tmp_path / "chain.urdf"
    file.write_text(long_chain(16))
    process = started(graph, "feedforward", "-p", f"description_file:={file}")
    ends(process, number)
    assert "using robot" not in process.log


@pytest.mark.parametrize(("node", "number"), EITHER)
def test_while_all_run_at_1_khz(node: str, number: signal.Signals, graph: Graph) -> None:
    """Its last torques are zero, and the simulation gets them."""
    ours = Simulated(graph)
    simulation = (*RRP, "-p", "rate:=1000.0", "-p", "brakes:=true")
    processes = {
        "simulation": started(
            graph, "simulation", *simulation, "-r", "simulation/torques:=feedforward/torques"
        ),
        "feedforward": started(graph, "feedforward"),
        "controller": started(graph, "controller", "-p", "p:=100.0"),
    }
    graph.wait_for(lambda: len(graph.torques) > 100 and graph.node.count_publishers("controller/torques"))
    graph.wait_for(lambda: any(ours.states[-1].effort))
    ends(processes[node], number)
    if node == "feedforward":
        graph.wait_for(lambda: graph.torques[-1].status == JointTorques.STATUS_ZERO)
        graph.wait_for(lambda: not any(ours.states[-1].effort))
    for other, process in processes.items():
        assert (process.process.poll() is None) == (other != node)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_paused_simulation(number: signal.Signals, graph: Graph) -> None:
    ours = Simulated(graph)
    process = graph.start("-m", "dyn_nodes.simulation", "--ros-args", *RRP, "-p", "publish_clock:=true")
    ours.next_state()
    assert ours.call("pause", data=True).success
    ends(process, number)


@pytest.mark.parametrize(("node", "number"), EITHER)
def test_while_it_is_inactive(node: str, number: signal.Signals, graph: Graph) -> None:
    process = started(graph, node, *RRP)
    assert graph.change(node, Transition.TRANSITION_DEACTIVATE)
    ends(process, number)


LAST = {
    "zero": (JointTorques.STATUS_ZERO, lambda torques, held: torques == [0.0] * 3),
    "hold": (JointTorques.STATUS_HELD, lambda torques, held: torques == held),
}


@pytest.mark.parametrize("on_shutdown", LAST)
@pytest.mark.parametrize("number", SIGNALS)
def test_in_the_middle_of_a_ramp(number: signal.Signals, on_shutdown: str, graph: Graph) -> None:
    """The last message is the one that is configured, not what the ramp had come to."""
    process = graph.start_feedforward(
        timeout=0.5, on_stale="ramp", ramp_down=60.0, on_shutdown=on_shutdown, max_age=10.0
    )
    graph.load(urdf("rrp"))
    held = list(graph.torques_for(NAMES, Q).total)
    graph.wait_for(lambda: graph.torques[-1].status == JointTorques.STATUS_RAMPING)
    ends(process, number)
    status, right = LAST[on_shutdown]
    graph.wait_for(lambda: graph.torques[-1].status == status)
    assert right(list(graph.torques[-1].total), held)
    graph.wait_for(lambda: graph.commands[-1].data == graph.torques[-1].total)


LOOP: dict[str, tuple[str, ...]] = {
    "simulation": (
        *RRP,
        *("-p", "brakes:=true", "-p", "initial.lift.position:=0.3"),
        *("-r", "simulation/torques:=controller/torques", "-p", "command_timeout:=0.5"),
    ),
    "feedforward": (),
    "controller": (
        *("-p", "p:=200.0", "-p", "d:=20.0"),
        *("-r", "controller/feedforward:=feedforward/torques"),
    ),
}


class Loop:
    """Simulation, feedforward and controller, each in a process of its own."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.ours = Simulated(graph)
        self.control: list[JointTorques] = []
        graph.node.create_subscription(JointTorques, "controller/torques", self.control.append, 100)
        self.processes = {name: self.start(name) for name in LOOP}

    def start(self, name: str) -> NodeProcess:
        return self.graph.start("-m", f"dyn_nodes.{name}", "--ros-args", *LOOP[name])

    @property
    def told(self) -> str:
        """All that was said on /diagnostics."""
        return "\n".join(status.message for status in self.graph.diagnostics)

    def wait_until_it_holds(self) -> None:
        """Wait until torques of all three hold the arm near to where it was, at rest."""
        seen = len(self.ours.states)
        for messages in (self.control, self.graph.torques):
            messages.clear()
        self.graph.wait_for(
            lambda: (
                len(self.ours.states) > seen + 100
                and self.control
                and self.control[-1].status == JointTorques.STATUS_OK
                and self.graph.torques
                and self.graph.torques[-1].status == JointTorques.STATUS_OK
                and self.ours.states[-1].effort[1] > 1.0
                and max(map(abs, self.ours.states[-1].velocity)) < 1e-3
            )
        )


def without(loop: Loop, name: str) -> Callable[[], bool]:
    """What the others do while one is gone."""
    return {
        "simulation": lambda: (
            loop.control[-1].status in (JointTorques.STATUS_RAMPING, JointTorques.STATUS_ZERO)
            and loop.graph.torques[-1].status == JointTorques.STATUS_HELD
        ),
        "feedforward": lambda: "faded out" in loop.told,
        "controller": lambda: "no command for" in loop.told,
    }[name]


@pytest.mark.parametrize("name", LOOP)
def test_after_kill_9_of_one_node_and_its_restart_the_others_work(name: str, graph: Graph) -> None:
    loop = Loop(graph)
    loop.wait_until_it_holds()
    victim = loop.processes[name].process
    graph.diagnostics.clear()
    victim.kill()
    victim.wait()
    graph.wait_for(without(loop, name))
    others = [process for other, process in loop.processes.items() if other != name]
    assert [process.process.poll() for process in others] == [None, None]
    loop.processes[name] = loop.start(name)
    loop.wait_until_it_holds()
    for process in loop.processes.values():
        assert process.process.poll() is None
        assert "Traceback" not in process.log
