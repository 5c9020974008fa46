# SPDX-License-Identifier: Apache-2.0
"""User errors end in one clear sentence and a non-zero exit code, never in a traceback."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from main_function import exit_code
from program_runs import finished
from robot_files import ROBOTS
from sentence_patterns import said

from dyn_core.simulation.simulated_state import INTEGRATORS
from dyn_nodes import compose, demo

NODES: dict[str, Callable[[list[str]], int]] = {
    name: importlib.import_module(f"dyn_nodes.{name}.node").main for name in compose.NODES
}
PROGRAMS = {**NODES, "compose": compose.main, "demo": demo.main}
Sentence = str | re.Pattern[str]
"""One of our sentences by its code, or a part of a ROS sentence, such as the name of a parameter."""

FILES: dict[str, str | bytes] = {
    "broken.urdf": "<robot name='r'><link name='a'></robot>",
    "yaml": "feedforward:\n  ros__parameters:\n    max_age: soon\n",
    "xacro": "<robot name='r'><link name='${prefix}a'/></robot>",
    "fixed": "<robot name='r'><link name='a'/></robot>",
    "passive": "passive: [lift]\n",
    "loop": "loops: [{name: c, type: revolute, parent: {link: base}, child: {link: tip}, axis: [0, 0, 1]}]\n",
    "heavy": """<robot name="crane"><link name="base"/><link name="load"><inertial><mass value="1000"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="up" type="prismatic"><parent link="base"/><child link="load"/><axis xyz="0 0 1"/>
<limit lower="0" upper="1" velocity="1" effort="10000"/></joint></robot>""",
    "no_number": "feedforward:\n  ros__parameters:\n    rate: .nan\n",
    "infinite": "feedforward:\n  ros__parameters:\n    ramp_up: .inf\n",
    "not_utf8": b"<robot name='\xff\xfe'/>",
    "empty": "",
}


def given(arguments: str, directory: Path) -> list[str]:
    """Return the words of a command line, with the paths of files in braces."""
    paths = {"rrp": str(ROBOTS["rrp"])}
    for name, text in FILES.items():
        file = directory / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        paths[name.partition(".")[0]] = str(file)
    return [word.format(**paths) for word in shlex.split(arguments)]


def missing(path: str, kind: str) -> Sentence:
    return said("path-or-text-unknown", path=path, alternative=f"{kind} text")


RRP = "-p description_file:={rrp}"
NO_URDF = missing("/no/such.urdf", "XML")
NO_YAML = missing("/no/such.yaml", "YAML")
SHORT_GRAVITY = said("setting-range", setting="gravity", given=(0.0, 9.81))


MODES = ("gravity", "inverse_dynamics", "computed_torque")
COMPENSATED = ("gravity", "friction", "coriolis")


def choice(parameter: str, value: str, *known: str) -> Sentence:
    values = {"parameter": parameter, "given": value, "known": ", ".join(f"'{one}'" for one in known)}
    return said("parameter-choice-unknown", **values)


SECOND_WRONG = "--nodes controller simulation --ros-args -p simulation:integrator:=euler"
MISTAKES: list[tuple[str, str, Sentence]] = [
    ("feedforward", "-p description_file:=/no/such.urdf", NO_URDF),
    ("feedforward", "-p description_file:={broken}", "broken.urdf"),
    ("feedforward", "-p description_file:={broken}", said("xml-malformed", line_number=1)),
    ("feedforward", "-p description_file:={fixed}", said("robot-without-moving-joint", robot="r")),
    ("feedforward", "-p robot_description:={rrp}", said("description-not-urdf")),
    ("feedforward", "-p max_age:=1", "max_age"),
    ("feedforward", "--params-file {yaml}", "max_age"),
    ("feedforward", "-p max_age:=-1.0", "max_age"),
    ("feedforward", "-p max_age:=.nan", "max_age"),
    ("feedforward", "--params-file {no_number}", "rate"),
    ("feedforward", "--params-file {infinite}", "ramp_up"),
    ("feedforward", "-p description_file:={not_utf8}", said("file-byte-not-utf8", byte=0xFF, line_number=1)),
    ("feedforward", "-p description_file:={empty}", said("file-empty")),
    ("feedforward", f"-p gravity:=[0.0,9.81] {RRP}", SHORT_GRAVITY),
    ("feedforward", "-p gravity:=[0.0,9.81]", SHORT_GRAVITY),
    ("feedforward", "-p gravity:=[0.0,0.0,.nan]", "gravity is (0.0, 0.0, nan)"),
    ("feedforward", "-p on_limit:=explode", choice("on_limit", "explode", "clip", "scale", "withhold")),
    ("feedforward", "-p mode:=magic", choice("mode", "magic", *MODES)),
    ("feedforward", "-p on_stale:=panic", choice("on_stale", "panic", "hold", "ramp", "stop")),
    ("feedforward", "-p on_shutdown:=dance", choice("on_shutdown", "dance", "zero", "hold")),
    ("feedforward", "-p rate:=0.0", "rate"),
    ("feedforward", "-p timeout:=0.0", "timeout"),
    ("feedforward", "-p ramp_up:=-1.0", "ramp_up"),
    ("feedforward", "-p profile:=xarm", said("profile-takes-no-torque", profile="xarm")),
    (
        "controller",
        "-p profile:=kinova_gen3_torque",
        said("profile-takes-no-torque", profile="kinova_gen3_torque"),
    ),
    ("feedforward", "-p profile:=ur_torqe", said("profile-unknown-similar", similar="ur_torque")),
    ("feedforward", "-p profile:=ur_torque", said("gravity-compensated-twice")),
    ("feedforward", "-p drive_compensates:=[weight]", choice("drive_compensates", "weight", *COMPENSATED)),
    ("controller", "-p drive_compensates:=[weight]", choice("drive_compensates", "weight", *COMPENSATED)),
    ("feedforward", "-p drive_compensates:=[gravity]", said("gravity-compensated-twice")),
    (
        "feedforward",
        "-p mode:=gravity -p drive_compensates:=[friction,gravity]",
        said("gravity-compensated-twice"),
    ),
    ("feedforward", "-p gains.lift.p:=-1.0", "gains.lift.p"),
    ("feedforward", "-p gains.lift.q:=1.0", said("parameter-name-unknown", parameter="gains.lift.q")),
    ("feedforward", f"-p gains.elbow.p:=1.0 {RRP}", said("gain-joint-unknown", joint="elbow")),
    ("feedforward", f"-p command_joints:=[turn,elbow] {RRP}", said("command-joint-unknown", joint="elbow")),
    ("feedforward", f"-p command_joints:=[turn,turn] {RRP}", said("command-joint-repeated", joint="turn")),
    ("feedforward", "-p controller_state:=true", said("control-msgs-missing")),
    ("feedforward", f"-p side_file:=/no/such.yaml {RRP}", NO_YAML),
    ("feedforward", f"-p dynamic_parameters_file:=/no/such.yaml {RRP}", NO_YAML),
    ("feedforward", "-- --foo", said("node-argument-unknown", given="--foo")),
    ("feedforward", "-p description_file:={xacro}", said("attribute-needs-xacro")),
    ("feedforward", "--params-file /no/such.yaml", "/no/such.yaml"),
    ("simulation", "-p description_file:=/no/such.urdf", NO_URDF),
    ("simulation", "-p rate:=0.0", "rate"),
    ("simulation", "-p rate:=fast", "rate"),
    ("simulation", f"{RRP} -p integrator:=euler", choice("integrator", "euler", *INTEGRATORS)),
    ("simulation", f"{RRP} -p seed:=-1", "seed"),
    ("simulation", f"{RRP} -p command_joints:=[elbow]", said("command-joint-unknown", joint="elbow")),
    ("compose", "", said("node-missing")),
    ("compose", "--params /no/such.yaml", NO_YAML),
    ("compose", "--nodes juggler", "invalid choice: 'juggler'"),
    ("compose", "--nodes simulation --remap nonsense", "nonsense"),
    ("compose", "--nodes simulation --namespace 'a b'", "simulation: "),
    ("compose", SECOND_WRONG, said("node-not-created", node="simulation")),
    ("compose", SECOND_WRONG, choice("integrator", "euler", *INTEGRATORS)),
    ("demo", "rx91", said("robot-unknown", robot="rx91")),
    ("demo", "/no/such.urdf", NO_URDF),
    ("demo", "{broken}", "broken.urdf"),
    ("demo", "~nobody-of-that-name/x.urdf", missing("~nobody-of-that-name/x.urdf", "XML")),
    ("demo", "rrp --duration 0", said("demonstration-duration-range", duration=0.0)),
    ("demo", "rrp --duration nan", said("demonstration-duration-range")),
    ("demo", "{fixed}", said("robot-without-moving-joint", robot="r")),
    ("demo", "rrp --side-file {passive}", said("demonstration-joint-passive", joint="lift", robot="rrp")),
    ("demo", "rrp --side-file /no/such.yaml", NO_YAML),
    ("demo", "rrp --side-file {loop}", said("loop-link-unknown")),
    ("demo", "{heavy}", "joint 'up' needs 9934 N"),
    ("demo", "{heavy}", said("effort-limits-too-low")),
    ("demo", "rrp --model-error 1", said("setting-range", setting="model error", given=1.0)),
    ("demo", "rrp --seed -1", said("setting-range", setting="seed", given=-1)),
    ("demo", "rrp --out {broken}", said("directory-unwritable")),
    ("demo", "rrp --out {broken}/below", said("directory-unwritable")),
]


STAGE = re.compile(r" +\d+\.\d s  (reading|compiling|choosing) .* \.\.\.")
"""A line of the demonstration that says what it is doing."""


@pytest.mark.promise("description-unusable-at-start", "parameter-bad")
@pytest.mark.promise("gravity-mode-refused", "profile-without-torque")
@pytest.mark.parametrize(("program", "arguments", "sentence"), MISTAKES)
@pytest.mark.usefixtures("ros_environment")
def test_user_errors_give_one_sentence(
    program: str, arguments: str, sentence: Sentence, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--ros-args"] * (program in NODES) + given(arguments, tmp_path)
    if program == "demo" and "--out" not in words:
        words += ["--out", str(tmp_path / "out")]
    assert exit_code(PROGRAMS[program], words) == (2 if "juggler" in words else 1)
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    lines = err.splitlines()[-1:] if program == "compose" else (out + err).splitlines()
    if program == "demo":
        lines = [line for line in lines if not STAGE.fullmatch(line)]
    (line,) = [line for line in lines if program not in NODES or line.startswith(f"{program}: ")]
    assert sentence in line if isinstance(sentence, str) else sentence.search(line), line


@pytest.mark.parametrize("node", NODES)
def test_help_describes_the_node(node: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code(NODES[node], ["--help"]) == 0
    output = capfd.readouterr().out
    assert output.startswith(f"Node `{node}`: ")
    assert "/diagnostics (diagnostic_msgs/DiagnosticArray)" in output
    assert f"config/{node}.yaml has all parameters" in output


@pytest.mark.promise("description-unusable-at-start")
@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        *((node, ["--ros-args", "-p", "description_file:=/no/such.urdf"]) for node in NODES),
        ("compose", ["--params", "/no/such.yaml"]),
        ("demo", ["/no/such.urdf"]),
    ],
)
def test_the_exit_code_of_the_process(
    program: str, arguments: list[str], ros_environment: dict[str, str]
) -> None:
    done = finished(sys.executable, "-m", f"dyn_nodes.{program}", *arguments, env=ros_environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"{program}: ")
    assert "Traceback" not in done.stdout + done.stderr
