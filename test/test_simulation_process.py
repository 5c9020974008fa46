# SPDX-License-Identifier: Apache-2.0
"""The node `simulation` in a process of its own: signals, mistakes, kill -9 under the feedforward node."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from robot_files import ROBOTS
from ros_graph import Graph
from simulated import Simulated

WITH_RRP = ("-p", f"description_file:={ROBOTS['rrp']}")
SIMULATION = ("-m", "dyn_nodes.simulation", "--ros-args", *WITH_RRP)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_node_with_code_0_within_2_s(number: signal.Signals, graph: Graph) -> None:
    ours = Simulated(graph)
    node = graph.start(*SIMULATION)
    ours.next_state()
    start = time.monotonic()
    node.process.send_signal(number)
    node.process.send_signal(number)
    assert node.process.wait(20) == 0
    assert time.monotonic() - start < 2.0
    assert "Traceback" not in node.log


MISTAKES = {
    "missing file": (["-p", "description_file:=/no/such.urdf"], "/no/such.urdf"),
    "rate out of range": (["-p", "rate:=0.0"], "rate"),
    "wrong type": (["-p", "rate:=fast"], "rate"),
    "unknown integrator": ([*WITH_RRP, "-p", "integrator:=euler"], "choose 'auto', 'rk4'"),
    "seed below zero": ([*WITH_RRP, "-p", "seed:=-1"], "seed"),
    "joint that is none": ([*WITH_RRP, "-p", "command_joints:=[elbow]"], "command_joints names 'elbow'"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_sentence_and_exit_code_1(case: str, ros_environment: dict[str, str]) -> None:
    arguments, sentence = MISTAKES[case]
    done = subprocess.run(
        [sys.executable, "-m", "dyn_nodes.simulation", "--ros-args", *arguments],
        env=ros_environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    sentences = [line for line in done.stderr.splitlines() if line.startswith("simulation: ")]
    assert len(sentences) == 1, done.stderr
    assert sentence in sentences[0]


def test_feedforward_holds_the_robot_that_is_killed_and_comes_back(graph: Graph) -> None:
    """No parameter says feedforward which robot it is: simulation does, and again after kill -9."""
    ours = Simulated(graph)
    remapped = ("-r", "simulation/torques:=feedforward/torques", "-p", "brakes:=true")
    first = graph.start(*SIMULATION, *remapped, "-p", "initial.lift.position:=0.5")
    graph.start("-m", "dyn_nodes.feedforward")
    graph.wait_for(lambda: graph.torques)
    ours.state_when(lambda state: any(state.effort))
    held = ours.states[-1].position[1]
    assert held == pytest.approx(0.5, abs=1e-3)
    first.process.kill()
    first.process.wait()
    ours.states.clear()
    graph.torques.clear()
    graph.start(*SIMULATION, *remapped, "-p", "initial.lift.position:=0.2")
    ours.state_when(lambda state: any(state.effort))
    # Until the ramp back is over it gets what held the first one in its position, and moves on from there
    # until friction stops it. Without torques it would fall to its stop at -1 rad.
    graph.wait_for(lambda: len(graph.torques) > 500 and not any(ours.states[-1].velocity))
    assert ours.states[-1].position[1] > -0.5
