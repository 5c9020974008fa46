# SPDX-License-Identifier: Apache-2.0
"""A mistake of the user ends in one clear sentence and a non-zero exit code, never in a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from robot_files import ROBOTS


def run(environment: dict[str, str], module: str, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


LOOP = """
loops:
  - {name: closure, type: revolute, parent: {link: base}, child: {link: tip}, axis: [0, 0, 1]}
"""
HEAVY = """
<robot name="crane"><link name="base"/>
  <link name="load"><inertial><mass value="1000"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="up" type="prismatic"><parent link="base"/><child link="load"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="1" velocity="1" effort="10000"/></joint></robot>
"""


def files(directory: Path) -> dict[str, str]:
    (directory / "broken.urdf").write_text("<robot name='r'><link name='a'></robot>")
    (directory / "parameters.yaml").write_text("feedforward:\n  ros__parameters:\n    max_age: soon\n")
    (directory / "robot.xacro").write_text("<robot name='r'><link name='${prefix}a'/></robot>")
    (directory / "fixed.urdf").write_text("<robot name='r'><link name='a'/></robot>")
    (directory / "passive.yaml").write_text("passive: [lift]\n")
    (directory / "loop.yaml").write_text(LOOP)
    (directory / "heavy.urdf").write_text(HEAVY)
    for name, text in (("rate", ".nan"), ("ramp_up", ".inf")):
        parameters = f"feedforward:\n  ros__parameters:\n    {name}: {text}\n"
        (directory / f"{name}.yaml").write_text(parameters)
    (directory / "not_utf8.urdf").write_bytes(b"<robot name='\xff\xfe'/>")
    (directory / "empty.urdf").write_text("")
    return {
        "no_number": str(directory / "rate.yaml"),
        "infinite": str(directory / "ramp_up.yaml"),
        "not_utf8": str(directory / "not_utf8.urdf"),
        "empty": str(directory / "empty.urdf"),
        "broken": str(directory / "broken.urdf"),
        "xacro": str(directory / "robot.xacro"),
        "fixed": str(directory / "fixed.urdf"),
        "passive": str(directory / "passive.yaml"),
        "loop": str(directory / "loop.yaml"),
        "heavy": str(directory / "heavy.urdf"),
        "yaml": str(directory / "parameters.yaml"),
        "rrp": str(ROBOTS["rrp"]),
    }


NODE_MISTAKES = {
    "missing file": (["-p", "description_file:=/no/such.urdf"], "/no/such.urdf"),
    "malformed URDF": (["-p", "description_file:={broken}"], "broken.urdf"),
    "robot without joints": (["-p", "description_file:={fixed}"], "no joint that moves"),
    "path in place of text": (["-p", "robot_description:={rrp}"], "not the text of a URDF"),
    "wrong type": (["-p", "max_age:=1"], "max_age"),
    "wrong type in a file": (["--params-file", "{yaml}"], "max_age"),
    "out of range": (["-p", "max_age:=-1.0"], "max_age"),
    "no number": (["-p", "max_age:=.nan"], "max_age"),
    "no number in a file": (["--params-file", "{no_number}"], "rate"),
    "infinite in a file": (["--params-file", "{infinite}"], "ramp_up"),
    "not UTF-8": (["-p", "description_file:={not_utf8}"], "not_utf8.urdf"),
    "empty description": (["-p", "description_file:={empty}"], "empty.urdf"),
    "gravity too short": (["-p", "gravity:=[0.0, 9.81]", "-p", "description_file:={rrp}"], "gravity"),
    "gravity too short, no robot yet": (["-p", "gravity:=[0.0, 9.81]"], "gravity"),
    "gravity is no number": (["-p", "gravity:=[0.0, 0.0, .nan]"], "gravity"),
    "unknown reaction": (["-p", "on_limit:=explode"], "choose 'clip', 'scale', 'withhold'"),
    "unknown mode": (["-p", "mode:=magic"], "choose 'gravity', 'inverse_dynamics', 'computed_torque'"),
    "unknown reaction to silence": (["-p", "on_stale:=panic"], "choose 'hold', 'ramp', 'stop'"),
    "unknown last message": (["-p", "on_shutdown:=dance"], "choose 'zero', 'hold'"),
    "no rate": (["-p", "rate:=0.0"], "rate"),
    "no timeout": (["-p", "timeout:=0.0"], "timeout"),
    "negative ramp": (["-p", "ramp_up:=-1.0"], "ramp_up"),
    "switch that is none": (["-p", "terms.gravity:=1"], "terms.gravity"),
    "no gain": (["-p", "gains.lift.p:=-1.0"], "gains.lift.p"),
    "gain of no kind": (["-p", "gains.lift.q:=1.0"], "it is gains.<joint>.p or gains.<joint>.d"),
    "gain of no joint": (
        ["-p", "gains.elbow.p:=1.0", "-p", "description_file:={rrp}"],
        "gains are given for joint 'elbow': the joints are 'turn', 'lift', 'stretch'",
    ),
    "command for no joint": (
        ["-p", "command_joints:=[turn, elbow]", "-p", "description_file:={rrp}"],
        "command_joints names 'elbow', which the robot 'rrp' does not have",
    ),
    "command twice": (
        ["-p", "command_joints:=[turn, turn]", "-p", "description_file:={rrp}"],
        "command_joints names 'turn' twice",
    ),
    "controller state without control_msgs": (
        ["-p", "controller_state:=true"],
        "control_msgs cannot be imported here",
    ),
    "missing side file": (
        ["-p", "side_file:=/no/such.yaml", "-p", "description_file:={rrp}"],
        "/no/such.yaml",
    ),
    "missing file of dynamic parameters": (
        ["-p", "dynamic_parameters_file:=/no/such.yaml", "-p", "description_file:={rrp}"],
        "/no/such.yaml",
    ),
    "argument that is none of ROS": (["--", "--foo"], "unknown argument '--foo'"),
    "xacro": (["-p", "description_file:={xacro}"], "run xacro on the file first"),
    "missing parameter file": (["--params-file", "/no/such.yaml"], "/no/such.yaml"),
}


@pytest.mark.parametrize("case", NODE_MISTAKES)
def test_mistakes_with_the_node(case: str, ros_environment: dict[str, str], tmp_path: Path) -> None:
    arguments, sentence = NODE_MISTAKES[case]
    paths = files(tmp_path)
    given = [argument.format(**paths) for argument in arguments]
    code, output = run(ros_environment, "dyn_nodes.feedforward", "--ros-args", *given)
    assert code == 1, output
    assert "Traceback" not in output
    sentences = [line for line in output.splitlines() if line.startswith("feedforward: ")]
    assert len(sentences) == 1, output
    assert sentence in sentences[0]


@pytest.mark.parametrize("node", ["feedforward", "simulation", "controller", "governor"])
def test_help_tells_what_a_node_is(node: str, ros_environment: dict[str, str]) -> None:
    code, output = run(ros_environment, f"dyn_nodes.{node}", "--help")
    assert code == 0, output
    assert output.startswith(f"Node `{node}`: ")
    assert "/diagnostics (diagnostic_msgs/DiagnosticArray)" in output
    assert f"config/{node}.yaml has all parameters" in output


DEMO_MISTAKES = {
    "unknown robot": (["rx91"], "there is no robot named 'rx91': choose one of akr3000, "),
    "missing file": (["/no/such.urdf"], "/no/such.urdf"),
    "malformed URDF": (["{broken}"], "broken.urdf"),
    "unknown user": (["~nobody-of-that-name/x.urdf"], "~nobody-of-that-name/x.urdf"),
    "no duration": (["rrp", "--duration", "0"], "duration"),
    "not a duration": (["rrp", "--duration", "nan"], "duration"),
    "robot without joints": (["{fixed}"], "no joint that moves"),
    "joint without actuator": (
        ["rrp", "--side-file", "{passive}"],
        "joint 'lift' of robot 'rrp' has no actuator",
    ),
    "missing side file": (["rrp", "--side-file", "/no/such.yaml"], "/no/such.yaml"),
    "loop": (["rrp", "--side-file", "{loop}"], "loop"),
    "too heavy": (["{heavy}"], "joint 'up' needs 9898 N near its centre, and its limit is 10000 N"),
    "too much error": (["rrp", "--model-error", "1"], "model error is 1.0: give a number from 0 to 0.9"),
    "no seed": (["rrp", "--seed", "-1"], "seed"),
    "file in place of a directory": (["rrp", "--out", "{broken}"], "cannot write in the directory"),
    "directory in a file": (["rrp", "--out", "{broken}/below"], "cannot write in the directory"),
}


@pytest.mark.parametrize("case", DEMO_MISTAKES)
def test_mistakes_with_the_demonstration(case: str, ros_environment: dict[str, str], tmp_path: Path) -> None:
    arguments, sentence = DEMO_MISTAKES[case]
    paths = files(tmp_path)
    given = [a.format(**paths) for a in arguments]
    out = [] if "--out" in given else ["--out", str(tmp_path / "out")]
    code, output = run(ros_environment, "dyn_nodes.demo", *given, *out)
    assert code == 1, output
    assert "Traceback" not in output
    assert len(output.splitlines()) == 1
    assert sentence in output
