# SPDX-License-Identifier: Apache-2.0
"""Nodes with a file of identified parameters: their robot has them from the start, or they do not start."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from identified_parameters import heavier, parameter_file
from rnea import frictionless
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from test_bad_parameters import NODES, context, made
from test_feedforward_parameters import Arm, Steady, steady

import dyn_core
from dyn_core import DynError
from dyn_msgs.srv import LoadModel
from dyn_nodes.common.robot_argument import robot_parameters

__all__ = ["context", "steady"]  # fixtures


@pytest.mark.parametrize("name", NODES)
def test_the_robot_has_them_from_the_start(name: str, context: Any, tmp_path: Path) -> None:
    robot = heavier(urdf("rrp"))
    file = parameter_file(tmp_path / "parameters.yaml", robot)
    with made(NODES[name], context, dynamic_parameters_file=str(file)) as node:
        assert node.robot.parameters == robot.parameters  # type: ignore[attr-defined]


def change(pattern: str, new: str) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, new, text, count=1)


BAD = {
    "another name": (
        change('name: "rrp"', 'name: "rx90"'),
        "parameters of robot 'rx90', but this one is 'rrp'",
    ),
    "another description": (change(r'    - "....', '    - "0000'), "another description of robot 'rrp'"),
    "unknown name": (change("XX1:", "XX9:"), "has no parameter 'XX9'"),
    "not whole": (change("    M2: .*\n", ""), "the parameters 'M2' are missing"),
    "not finite": (change("M2: {value: [^,]*", "M2: {value: .inf"), "write a finite number"),
    "not a file of parameters": (lambda text: "rotor_inertia: {}\n", "says 'format: dyn_parameters 1'"),
    "empty": (lambda text: "", "empty"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("name", NODES)
def test_a_bad_file_keeps_the_node_from_starting(name: str, case: str, context: Any, tmp_path: Path) -> None:
    edit, sentence = BAD[case]
    file = parameter_file(tmp_path / "parameters.yaml", heavier(urdf("rrp")))
    file.write_text(edit(file.read_text()))
    with (
        pytest.raises(DynError) as problem,
        made(NODES[name], context, dynamic_parameters_file=str(file)),
    ):
        pytest.fail("it started")
    assert sentence in str(problem.value)
    assert str(problem.value).startswith(str(file))


@pytest.mark.parametrize("name", NODES)
def test_a_missing_file_keeps_the_node_from_starting(name: str, context: Any) -> None:
    with (
        pytest.raises(DynError, match=r"/no/such\.yaml"),
        made(NODES[name], context, dynamic_parameters_file="/no/such.yaml"),
    ):
        pytest.fail("it started")


def test_feedforward_uses_them_and_refuses_another_robot(
    graph: Graph, steady: Steady, tmp_path: Path
) -> None:
    robot = heavier(frictionless("rrp"))
    file = parameter_file(tmp_path / "parameters.yaml", robot)
    arm = Arm(graph, steady, dynamic_parameters_file=str(file), ramp_up=0.0)
    assert arm.torques() == arm.expected(robot)
    # The file is read again with the robot.
    lighter = heavier(frictionless("rrp"), 0.5)
    parameter_file(file, lighter)
    assert arm.call(LoadModel).success
    assert arm.torques() == arm.expected(lighter)
    # Another description is refused, and what was in use stays.
    response = arm.call(LoadModel, robot_description=frictionless("rrp").replace("3.0", "4.2"))
    assert not response.success
    assert "these parameters are for another description of robot 'rrp'" in response.message
    assert arm.torques() == arm.expected(lighter)
    # So is a file that is no longer good.
    file.write_text("format: dyn_parameters 1\n")
    response = arm.call(LoadModel)
    assert not response.success
    assert "no entry 'robot'" in response.message
    assert arm.torques() == arm.expected(lighter)


def test_launch_files_hand_the_path_on(tmp_path: Path) -> None:
    file = parameter_file(tmp_path / "parameters.yaml", dyn_core.load_robot(ROBOTS["rrp"]))
    given = robot_parameters(robot="rrp", dynamic_parameters_file=str(file))
    assert given["dynamic_parameters_file"] == str(file)
    with pytest.raises(DynError, match="there is no such file"):
        robot_parameters(robot="rrp", dynamic_parameters_file="/no/such.yaml")
