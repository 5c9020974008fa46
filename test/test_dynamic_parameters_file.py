# SPDX-License-Identifier: Apache-2.0
"""Nodes with a file of identified parameters: they use it from the start, or do not start."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builtin_interfaces.msg import Duration
from identified_parameters import BAD as WORSE
from identified_parameters import heavier, parameter_file
from refusals import refused
from rnea import frictionless
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from steady_clock import SteadyClock
from test_bad_parameters import NODES, made
from test_feedforward_parameters import Arm

import dyn_core
from dyn_core.core.messages import sentence
from dyn_msgs.msg import DynamicParameters
from dyn_msgs.srv import LoadModel, SetDynamicParameters
from dyn_nodes.common.robot_argument import robot_parameters


@pytest.mark.parametrize("name", NODES)
def test_the_robot_has_the_parameters_of_the_file_from_the_start(
    name: str, context: Any, tmp_path: Path
) -> None:
    robot = heavier(urdf("rrp"))
    file = parameter_file(tmp_path / "parameters.yaml", robot)
    with made(NODES[name], context, dynamic_parameters_file=str(file)) as node:
        assert node.robot.parameters == robot.parameters  # type: ignore[attr-defined]


ANOTHER = "parameters-other-description"


def change(pattern: str, new: str) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, new, text, count=1)


BAD: dict[str, tuple[Callable[[str], str], str, dict[str, object]]] = {
    "another name": (change('name: "rrp"', 'name: "rx90"'), "parameters-other-robot", {}),
    "another description": (change(r'    - "....', '    - "0000'), ANOTHER, {}),
    "unknown name": (change("XX1:", "XX9:"), "robot-parameter-unknown", {"unknown": ["XX9"]}),
    "not whole": (change("    M2: .*\n", ""), "parameters-missing", {"missing": ["M2"]}),
    "not finite": (change("M2: {value: [^,]*", "M2: {value: .inf"), "node-not-finite", {}),
    "not a file of parameters": (lambda text: "rotor_inertia: {}\n", "parameter-file-without-format", {}),
    "empty": (lambda text: "", "file-empty", {}),
}


@pytest.mark.promise("parameter-file-bad")
@pytest.mark.parametrize("case", [*BAD, "missing"])
@pytest.mark.parametrize("name", NODES)
def test_a_bad_file_keeps_the_node_from_starting(name: str, case: str, context: Any, tmp_path: Path) -> None:
    edit, code, values = BAD.get(case, (None, "path-or-text-unknown", {}))
    file = tmp_path / "parameters.yaml"
    if edit:
        parameter_file(file, heavier(urdf("rrp")))
        file.write_text(edit(file.read_text()))
    with refused(code, **values) as problem, made(NODES[name], context, dynamic_parameters_file=str(file)):
        pytest.fail("it started")
    assert str(file) in str(problem.value)


@pytest.mark.promise("parameter-file-bad")
def test_feedforward_uses_them_and_refuses_another_robot(
    graph: Graph, steady: SteadyClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a sentence with a long path would be cut at 400 characters
    robot = heavier(frictionless("rrp"))
    file = parameter_file(Path("parameters.yaml"), robot)
    arm = Arm(graph, steady, dynamic_parameters_file=str(file), ramp_up=0.0)
    assert arm.torques() == arm.expected(robot)
    # The file is read again when the robot is loaded again.
    lighter = heavier(frictionless("rrp"), 0.5)
    parameter_file(file, lighter)
    assert arm.call(LoadModel).success
    assert arm.torques() == arm.expected(lighter)
    # Another description is refused, and the robot in use stays.
    another = frictionless("rrp").replace("3.0", "4.2")
    arm.refuses(ANOTHER, LoadModel, robot_description=another, robot="rrp")
    assert arm.torques() == arm.expected(lighter)
    # A file that has become invalid is refused, too.
    file.write_text("format: dyn_parameters 1\n")
    arm.refuses("file-entry-missing", LoadModel, entry="robot")
    assert arm.torques() == arm.expected(lighter)


@pytest.mark.promise("verdict-file")
@pytest.mark.parametrize("name", NODES)
def test_a_file_with_a_verdict_against_it_is_used_only_by_force(
    name: str, context: Any, tmp_path: Path
) -> None:
    robot = heavier(urdf("rrp"))
    file = parameter_file(tmp_path / "parameters.yaml", robot, reasons=(WORSE,))
    with (
        refused("verdict-do-not-use", codes=[WORSE.code]) as problem,
        made(NODES[name], context, dynamic_parameters_file=str(file)),
    ):
        pytest.fail("it started")
    assert str(file) in str(problem.value)
    given = {"dynamic_parameters_file": str(file), "force_dynamic_parameters": True}
    with made(NODES[name], context, **given) as node:
        assert node.robot.parameters == robot.parameters  # type: ignore[attr-defined]


@pytest.mark.promise("verdict-file", "verdict-message")
def test_feedforward_refuses_parameters_with_a_verdict_against_them(
    graph: Graph, steady: SteadyClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a file that is read again, and in a request, which may be forced; a warning says so."""
    monkeypatch.chdir(tmp_path)
    robot = heavier(frictionless("rrp"))
    file = parameter_file(Path("parameters.yaml"), robot)
    arm = Arm(graph, steady, dynamic_parameters_file=str(file), ramp_up=0.0)
    lighter = heavier(frictionless("rrp"), 0.5)
    parameter_file(file, lighter, reasons=(WORSE,))
    arm.refuses("verdict-do-not-use", LoadModel, cause=WORSE.text)
    assert arm.torques() == arm.expected(robot)
    message = DynamicParameters(name=list(lighter.parameter_names), value=list(lighter.parameters))
    message.verdict = [WORSE.text]
    blend = {"blend_time": Duration(nanosec=1)}
    arm.refuses("verdict-do-not-use", SetDynamicParameters, parameters=message, cause=WORSE.text)
    assert arm.torques() == arm.expected(robot)
    arm.change(SetDynamicParameters, parameters=message, force=True, **blend)
    graph.wait_for(lambda: graph.logged(sentence("parameters-forced", {"cause": WORSE.text})))


def test_launch_files_pass_the_path_on(tmp_path: Path) -> None:
    file = parameter_file(tmp_path / "parameters.yaml", dyn_core.load_robot(ROBOTS["rrp"]))
    given = robot_parameters(robot="rrp", dynamic_parameters_file=str(file))
    assert given["dynamic_parameters_file"] == str(file)
    with refused("argument-file-missing", argument="dynamic_parameters_file"):
        robot_parameters(robot="rrp", dynamic_parameters_file="/no/such.yaml")
