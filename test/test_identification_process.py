# SPDX-License-Identifier: Apache-2.0
"""The node `identification` as a process that is ended in whatever way, and in simulated time."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from identified import (
    JOINTS,
    PATIENT,
    Asked,
    Identified,
    children_of,
    exciting,
    start_robot,
    wait_until_it_stands,
)
from robot_files import ROBOTS
from ros_graph import Graph, NodeProcess

import dyn_core
from dyn_msgs.msg import IdentificationProgress


def start_node(graph: Graph, directory: Path, *more: str) -> NodeProcess:
    """Run the node in a process of its own."""
    patient = [word for name, value in PATIENT.items() for word in ("-p", f"{name}:={value}")]
    return graph.start(
        *("-m", "dyn_nodes.identification", "--ros-args", "-p", f"description_file:={ROBOTS['rrp']}"),
        *("-p", f"directory:={directory}", "-p", "excitation.iterations:=100000", *patient, *more),
    )


def samples_of(file: Path) -> int:
    return file.read_text().count("\n") - 1


def runs(asked: Asked) -> bool:
    """Whether the robot is in the middle of the motion."""
    return asked.is_over or any(f.fraction > 0.15 for f in asked.feedback)


@pytest.mark.parametrize(
    ("number", "output"), [(signal.SIGINT, "joint_trajectory"), (signal.SIGTERM, "reference")]
)
def test_a_signal_while_the_robot_moves_brings_it_to_rest(
    number: signal.Signals, output: str, graph: Graph, tmp_path: Path
) -> None:
    """Also where a stop that the efforts allow would take longer than the process may."""
    start_robot(graph, "-p", "reference_slack:=0.2", output=output)
    kind = output.removeprefix("joint_")
    node = start_node(graph, tmp_path, "-p", f"output:={kind}", "-p", "stop.shortest:=2.0")
    ours = Identified(graph)
    wait_until_it_stands(ours)
    asked = ours.run(exciting(6.0))
    graph.wait_for(lambda: runs(asked))
    assert max(map(abs, ours.robot.states[-1].velocity)) > 1e-2
    began = time.monotonic()
    node.process.send_signal(number)
    result = asked.result()
    assert "the node is ending; the robot was brought to rest" in result.message
    assert node.process.wait(20) == 0, node.log
    assert time.monotonic() - began < 2.0
    assert "Traceback" not in node.log
    assert samples_of(Path(result.log_file)) == result.samples > 100
    graph.wait_for(lambda: max(map(abs, ours.robot.states[-1].velocity)) < 1e-3)


@pytest.mark.parametrize("stage", ["EXCITATION", "ESTIMATION"])
def test_a_signal_while_another_process_computes_ends_both(stage: str, graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    node = start_node(graph, tmp_path)
    ours = Identified(graph)
    wait_until_it_stands(ours)
    wanted = getattr(IdentificationProgress, f"STAGE_{stage}")
    asked = ours.identify(None if stage == "EXCITATION" else exciting(1.5))
    graph.wait_for(lambda: asked.is_over or any(f.progress.stage == wanted for f in asked.feedback))
    (child,) = children_of(node.process.pid)
    began = time.monotonic()
    node.process.send_signal(signal.SIGTERM)
    assert node.process.wait(20) == 0, node.log
    assert time.monotonic() - began < 2.0
    graph.wait_for(lambda: not Path(f"/proc/{child}").exists())
    assert not list(tmp_path.glob("*/.*")), "no half-written files"


def test_kill_9_leaves_what_was_recorded_and_a_new_node_goes_on(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    node = start_node(graph, tmp_path)
    ours = Identified(graph)
    wait_until_it_stands(ours)
    asked = ours.run(exciting(5.0))
    graph.wait_for(lambda: asked.is_over or any(f.fraction > 0.5 for f in asked.feedback))
    node.process.kill()
    node.process.wait()
    (file,) = tmp_path.glob("*/log.csv")
    # 500 a second, of which at most those of a tenth of a second are not written.
    assert samples_of(file) > 500
    log = dyn_core.read_log(file, robot=dyn_core.load_robot(ROBOTS["rrp"]))
    assert log.joint_names == tuple(JOINTS)
    start_node(graph, tmp_path / "again")
    # The one that was killed is not forgotten yet.
    graph.wait_for(lambda: graph.node.get_node_names().count("identification") == 2)
    # The controller goes on to the end of the trajectory: until then the new one says that the robot moves.
    graph.wait_for(lambda: ours.run(exciting(0.5)).result().success)


def test_kill_9_while_another_process_computes_ends_it_too(graph: Graph, tmp_path: Path) -> None:
    start_robot(graph)
    node = start_node(graph, tmp_path)
    ours = Identified(graph)
    wait_until_it_stands(ours)
    asked = ours.identify()
    graph.wait_for(lambda: asked.is_over or asked.feedback)
    graph.wait_for(lambda: children_of(node.process.pid))
    (child,) = children_of(node.process.pid)
    node.process.kill()
    node.process.wait()
    graph.wait_for(lambda: not Path(f"/proc/{child}").exists())


def test_references_point_by_point_end_with_the_node(graph: Graph, tmp_path: Path) -> None:
    """After kill -9 the controller holds the robot where the last reference was."""
    start_robot(graph, "-p", "timeout:=0.3", "-p", "reference_slack:=0.2", output="reference")
    node = start_node(graph, tmp_path, "-p", "output:=reference")
    ours = Identified(graph)
    wait_until_it_stands(ours)
    result = ours.run(exciting(1.0)).result()
    assert result.success, result.message
    asked = ours.run(exciting(6.0))
    graph.wait_for(lambda: runs(asked))
    assert not asked.is_over, asked.result().message
    asked.cancel()
    assert "the robot was brought to rest" in asked.result().message
    asked = ours.run(exciting(6.0))
    graph.wait_for(lambda: runs(asked))
    node.process.kill()
    node.process.wait()
    graph.wait_for(lambda: max(map(abs, ours.robot.states[-1].velocity)) < 1e-3)


def test_all_goes_twice_as_fast_in_simulated_time(graph: Graph, tmp_path: Path) -> None:
    fast = ("-p", "rate:=200.0", "-p", "step:=0.001", "-p", "real_time_factor:=2.0")
    start_robot(graph, "-p", "publish_clock:=true", "-p", "use_sim_time:=true", *fast)
    start_node(graph, tmp_path, "-p", "use_sim_time:=true", "-p", "max_tracking_error:=1.0")
    ours = Identified(graph)
    wait_until_it_stands(ours)
    for _ in range(5):
        began = time.monotonic()
        result = ours.run(exciting(6.0)).result()
        # Where the machine stood still for a moment, the robot that it simulates was pushed.
        if "has to stand still" not in result.message:
            break
    assert result.success, result.message
    assert result.samples == pytest.approx(1200, abs=100)
    assert time.monotonic() - began < 6.0
