# SPDX-License-Identifier: Apache-2.0
"""Several nodes in one process: from files of parameters, as a loop, ended by a signal, hurt by an error."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from robot_files import ROBOTS, ROOT
from ros_graph import Graph
from simulated import Simulated, hosted, overrides

from dyn_core import DynError
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


def test_nodes_are_those_that_files_have_parameters_for() -> None:
    chosen = chosen_nodes([], FILES, "arm")
    assert chosen == [NamedNode(name, "/arm") for name in ("simulation", "feedforward", "controller")]
    assert chosen_nodes([], [FILES[0], FILES[0]], "") == [NamedNode("simulation", "/")]


def test_nodes_can_be_chosen_of_files_and_beside_them() -> None:
    chosen = chosen_nodes(["controller", "simulation"], FILES[1:], "")
    assert chosen == [NamedNode("controller", "/"), NamedNode("simulation", "/")]


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


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("/**: {ros__parameters: {a: 1}}", "there is no node to run"), ("a: [", "parameters.yaml")],
)
def test_files_that_will_not_do(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(DynError, match=sentence):
        chosen_nodes([], [written(tmp_path, text)], "")


def compose(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dyn_nodes.compose", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


MISTAKES = {
    "nothing": ([], 1, "there is no node to run: give --nodes"),
    "missing file": (["--params", "/no/such.yaml"], 1, "/no/such.yaml"),
    "unknown node": (["--nodes", "juggler"], 2, "invalid choice: 'juggler'"),
    "bad remapping": (["--nodes", "simulation", "--remap", "nonsense"], 1, "nonsense"),
    "bad namespace": (["--nodes", "simulation", "--namespace", "a b"], 1, "simulation: "),
    "bad parameter": (
        ["--nodes", "controller", "simulation", "--ros-args", "-p", "simulation:integrator:=euler"],
        1,
        "simulation: parameter integrator is 'euler'",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_end_in_a_sentence(case: str, ros_environment: dict[str, str]) -> None:
    arguments, code, sentence = MISTAKES[case]
    done = compose(ros_environment, *arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert sentence in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_three_nodes_are_one_loop_and_end_together(number: signal.Signals, graph: Graph) -> None:
    ours = Simulated(graph)
    torques: list[JointTorques] = []
    graph.node.create_subscription(JointTorques, "controller/torques", torques.append, 100)
    process = graph.start(
        *("-m", "dyn_nodes.compose", "--params", *FILES, "--remap", *LOOP),
        *("--ros-args", "-p", f"simulation:description_file:={ROBOTS['rrp']}", "-p", "brakes:=true"),
        *(
            "-p",
            "simulation:initial.lift.position:=0.2",
            "-p",
            "controller:p:=200.0",
            "-p",
            "controller:d:=20.0",
        ),
    )
    ours.state_when(lambda state: abs(state.effort[1]) > 20.0)
    begin = ours.states[-1].header.stamp.sec
    held = ours.state_when(lambda state: state.header.stamp.sec > begin + 2)
    assert list(held.position) == pytest.approx([0.0, 0.2, 0.0], abs=0.05)
    start = time.monotonic()
    process.process.send_signal(number)
    process.process.send_signal(number)
    assert process.process.wait(20) == 0, process.log
    assert time.monotonic() - start < 2.0
    assert "Traceback" not in process.log
    graph.wait_for(lambda: torques and torques[-1].status == JointTorques.STATUS_ZERO)


def test_nodes_are_in_the_namespace(graph: Graph) -> None:
    graph.start("-m", "dyn_nodes.compose", "--nodes", "simulation", "feedforward", "--namespace", "arm")
    graph.wait_for(
        lambda: (
            {("simulation", "/arm"), ("feedforward", "/arm")}
            <= set(graph.node.get_node_names_and_namespaces())
        )
    )


class Fragile(Simulation):
    """A simulation with a fault in its program."""

    def refuse(self, *_: object) -> None:
        raise ZeroDivisionError("of the test")


def test_an_error_in_one_node_deactivates_it_and_no_other(graph: Graph) -> None:
    ours = Simulated(graph)
    parameters = overrides(description_file=str(ROBOTS["rrp"]))
    with (
        hosted(graph, Fragile, parameter_overrides=parameters) as fragile,
        hosted(graph, Controller, parameter_overrides=overrides(p=1.0)) as other,
    ):
        ours.next_state()
        graph.wait_for(lambda: other.robot)
        ours.push("nothing", [1.0, 0.0, 0.0])
        graph.wait_for(
            lambda: any(
                d.level == DiagnosticStatus.ERROR and "ZeroDivisionError" in d.message
                for d in graph.diagnostics
                if d.name == "simulation"
            )
        )
        assert fragile._timer is None
        graph.wait_for(lambda: graph.diagnostics[-1].name == "controller")
        fragile.trigger_activate()
        ours.next_state()
        graph.diagnostics.clear()
        graph.wait_for(lambda: any(d.name == "simulation" for d in graph.diagnostics))
        assert not any("ZeroDivisionError" in d.message for d in graph.diagnostics)
