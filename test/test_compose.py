# SPDX-License-Identifier: Apache-2.0
"""Several nodes in one process: from parameter files, connected, ended by a signal, with an error in one."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from refusals import refused
from robot_files import ROBOTS, ROOT
from ros_graph import Graph
from sentence_patterns import said
from simulation_client import Simulated, hosted, overrides

from dyn_msgs.msg import JointTorques
from dyn_nodes.compose import NamedNode, chosen_nodes
from dyn_nodes.controller.node import Controller
from dyn_nodes.simulation.node import Simulation

CONFIG = ROOT / "config"
FILES = [str(CONFIG / f"{name}.yaml") for name in ("simulation", "feedforward", "controller")]
LOOP = ("simulation/torques:=controller/torques", "controller/feedforward:=feedforward/torques")


def written(directory: Path, text: str) -> str:
    path = directory / "parameters.yaml"
    path.write_text(text)
    return str(path)


def test_nodes_come_from_the_files_or_from_the_command_line() -> None:
    three, two = ("simulation", "feedforward", "controller"), ["controller", "simulation"]
    assert chosen_nodes([], FILES, "arm") == [NamedNode(name, "/arm") for name in three]
    assert chosen_nodes([], [FILES[0], FILES[0]], "") == [NamedNode("simulation", "/")]
    assert chosen_nodes(two, FILES[1:], "") == [NamedNode(name, "/") for name in two]


def test_files_can_give_namespaces(tmp_path: Path) -> None:
    """As rcl reads them: absolute, nested, with and without slashes."""
    text = """
/left/feedforward: {ros__parameters: {mode: gravity}}
right:
  feedforward: {ros__parameters: {mode: gravity}}
  deep: {controller: {ros__parameters: {p: 1.0}}}
simulation: {ros__parameters: {rate: 100.0}}
/**/controller: {ros__parameters: {p: 1.0}}
/**: {ros__parameters: {use_sim_time: false}}
controller_manager: {ros__parameters: {update_rate: 1000}}
"""
    assert chosen_nodes([], [written(tmp_path, text)], "arm") == [
        NamedNode("feedforward", "/left"),
        NamedNode("feedforward", "/right"),
        NamedNode("controller", "/right/deep"),
        NamedNode("simulation", "/"),
        NamedNode("controller", "/arm"),
    ]


def test_files_without_nodes(tmp_path: Path) -> None:
    with refused("node-missing"):
        chosen_nodes([], [written(tmp_path, "/**: {ros__parameters: {a: 1}}")], "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_three_connected_nodes_run_and_end_together(number: signal.Signals, graph: Graph) -> None:
    ours = Simulated(graph)
    torques: list[JointTorques] = []
    graph.node.create_subscription(JointTorques, "controller/torques", torques.append, 100)
    process = graph.start(
        *("-m", "dyn_nodes.compose", "--params", *FILES, "--remap", *LOOP),
        *("--ros-args", "-p", f"simulation:description_file:={ROBOTS['rrp']}", "-p", "brakes:=true"),
        *("-p", "simulation:initial.lift.position:=0.2"),
        *("-p", "controller:p:=200.0", "-p", "controller:d:=20.0"),
        # A machine that stands still may not let it be held elsewhere.
        *(word for name in ("timeout", "max_age") for word in ("-p", f"{name}:=5.0")),
    )
    ours.state_when(lambda state: abs(state.effort[1]) > 20.0)
    begin, near = ours.states[-1].header.stamp.sec, pytest.approx([0.0, 0.2, 0.0], abs=0.05)
    ours.state_when(lambda state: state.header.stamp.sec > begin + 2 and list(state.position) == near)
    process.end(number, number)
    graph.wait_for(lambda: torques and torques[-1].status == JointTorques.STATUS_ZERO)


class Fragile(Simulation):
    """A simulation with a programming error."""

    def refuse(self, *_: object) -> None:
        raise ZeroDivisionError("of the test")


@pytest.mark.promise("program-error")
def test_an_error_in_one_node_deactivates_it_and_no_other(graph: Graph) -> None:
    ours = Simulated(graph)
    rrp, gain = overrides(description_file=str(ROBOTS["rrp"])), overrides(p=1.0)
    with (
        hosted(graph, Fragile, parameter_overrides=rrp) as fragile,
        hosted(graph, Controller, parameter_overrides=gain) as other,
    ):
        ours.next_state()
        graph.wait_for(lambda: other.robot)
        ours.push("nothing", [1.0, 0.0, 0.0])
        failed = said("node-failed", error_type="ZeroDivisionError")

        def fails() -> bool:
            ours = [d for d in graph.diagnostics if d.name == "simulation"]
            return any(d.level == DiagnosticStatus.ERROR and failed.search(d.message) for d in ours)

        graph.wait_for(fails)
        assert fragile._timer is None
        graph.wait_for(lambda: graph.diagnostics[-1].name == "controller")
        fragile.trigger_activate()
        ours.next_state()
        graph.diagnostics.clear()
        graph.wait_for(lambda: any(d.name == "simulation" for d in graph.diagnostics))
        assert not fails()
