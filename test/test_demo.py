# SPDX-License-Identifier: Apache-2.0
"""The demonstration from end to end.

The benefit of feedforward, the report, and interruptions at any time.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import select
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from html_elements import Elements
from robot_files import ROBOTS
from sentence_patterns import said

import dyn_core

LIMIT_S = 1200.0
"""Timeout of a whole demonstration: a busy machine simulates slowly, and compiles the robot first."""
MARK = "DYN_TEST_MARK"
FILES = {"report.html", "figures.json", "data.csv", "nodes.yaml"}
SIDE_FILE = {"side_file.yaml"}
LOGS = {"simulation.log", "controller.log", "feedforward.log"}


def start(environment: dict[str, str], out: Path, *arguments: str) -> subprocess.Popen[str]:
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = [sys.executable, "-m", "dyn_nodes.demo", "--out", str(out), *arguments]
    return subprocess.Popen(command, env=environment, start_new_session=True, **pipes)


def done(environment: dict[str, str], out: Path, *arguments: str) -> tuple[str, Any]:
    """Run a demonstration, and return its output and its figures."""
    demo = start(environment, out, *arguments)
    output, _ = demo.communicate(timeout=LIMIT_S)
    assert demo.returncode == 0, output
    return output, json.loads((out / "figures.json").read_text())


def last_run(out: Path) -> list[dict[str, str]]:
    with (out / "data.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if row["run"] == rows[-1]["run"]]


def check_report(page: Path, robot: dyn_core.Robot, runs: int) -> None:
    """Check that a report is complete, shows each joint, and needs no other file."""
    text = page.read_text()
    elements = Elements(text)
    assert "http" not in text
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in elements.seen}
    assert not any("src" in attributes or "href" in attributes for _, attributes in elements.seen)
    plots = [ET.fromstring(svg) for svg in re.findall(r'<svg [^>]*class="plot".*?</svg>', text, re.DOTALL)]
    titles = [svg.find("title").text for svg in plots]
    for joint in robot.independent_joints:
        mine = [svg for svg, title in zip(plots, titles, strict=True) if title.startswith(f"{joint.name}: ")]
        assert len(mine) == 3 + runs
        texts = {"".join(label.itertext()) for svg in mine for label in svg.iter("text")}
        shown = {"rad": "mrad", "m": "mm"}[joint.position_unit]
        assert {"time (s)", f"position ({joint.position_unit})", f"error ({shown})"} <= texts
        assert any(label.endswith(f" ({joint.effort_unit})") for label in texts)
        assert joint.name in elements.words
    legends = set(elements.words)
    parts = {"inertial", "Coriolis and centrifugal", "gravity", "friction", "PD part", "total sent"}
    titles = {"PD alone", "PD + gravity", "PD + feedforward, true model"}
    assert {*parts, *titles, "measured effort", "reference"} <= legends


def test_feedforward_cuts_the_error_of_gravity_compensation_by_10_and_by_5_with_model_error(
    ros_environment: dict[str, str], tmp_path: Path
) -> None:
    """For all joints together and for each joint; also the files of the demonstration."""
    out = tmp_path / "a new" / "directory"
    output, figures = done(ros_environment, out, "rx90", "--duration", "1")
    alone, gravity, described, true = figures["runs"]
    titles = [
        "PD alone",
        "PD + gravity",
        "PD + feedforward, model off by 10 %",
        "PD + feedforward, true model",
    ]
    assert [run["title"] for run in figures["runs"]] == titles
    assert figures["model_error"] == 0.1
    assert min(true["overall_factor"]["rad"], *true["factor"]) >= 10.0
    assert min(described["overall_factor"]["rad"], *described["factor"]) >= 5.0
    assert gravity["overall_rms_error"]["rad"] < alone["overall_rms_error"]["rad"]
    assert (figures["natural_frequency"], figures["gain_margin"] >= 6.0) == (5.0, True)
    assert alone["overall_rms_error"]["rad"] < 0.05, "gains that are fair leave some 10 mrad"

    robot = dyn_core.load_robot(str(ROBOTS["rx90"]))
    check_report(out / "report.html", robot, 4)
    assert output.splitlines()[-1] == f"Report: {out.resolve() / 'report.html'}"
    times = [float(seconds) for seconds in re.findall(r"^ +([\d.]+) s  .* \.\.\.$", output, re.MULTILINE)]
    assert len(times) >= 5
    assert times == sorted(times)
    for j, name in enumerate(robot.joint_names):
        row = re.search(rf"^{name} +mrad +([\d.]+) +([\d.]+) .* ([\d.]+) x smaller$", output, re.MULTILINE)
        rms, largest, factor = map(float, row.groups())
        of_run = [1e3 * alone["rms_error"][j], 1e3 * alone["largest_error"][j]]
        assert [rms, largest] == pytest.approx(of_run, abs=1e-3)
        assert factor == pytest.approx(true["factor"][j], rel=0.01, abs=0.1)
    assert {path.name for path in out.iterdir()} == FILES | LOGS

    # The figures follow from the data, and the sent efforts act at once or a period later. If the machine
    # paused, the joint state was repeated, and its second response may differ.
    rows = last_run(out)
    assert 495 <= len(rows) <= 502
    for j, name in enumerate(robot.joint_names):
        errors = [float(row[f"reference.{name}"]) - float(row[f"position.{name}"]) for row in rows]
        rms = (sum(e * e for e in errors) / len(errors)) ** 0.5
        assert rms == pytest.approx(true["rms_error"][j], rel=1e-3, abs=1e-8)
        sent = [float(row[f"feedforward.{name}"]) + float(row[f"control.{name}"]) for row in rows]
        acted = [float(row[f"measured.{name}"]) for row in rows]
        either = [pytest.approx(latest, rel=1e-6, abs=1e-6) for latest in sent]
        same = [a in latest for a, *latest in zip(acted[2:], either[1:-1], either[:-2], strict=True)]
        assert sum(same) >= 0.97 * len(same)


@pytest.mark.parametrize("robot", ["rrp", pytest.param("two_branch", marks=pytest.mark.exhaustive)])
def test_other_robots(robot: str, ros_environment: dict[str, str], tmp_path: Path) -> None:
    """Prismatic joints and branches; a robot given as a file; a robot without model error."""
    given = {"rrp": (str(ROBOTS["rrp"]), "--model-error", "0"), "two_branch": ("two_branch",)}[robot]
    _, figures = done(ros_environment, tmp_path, *given, "--duration", "1")
    loaded = dyn_core.load_robot(str(ROBOTS[robot]))
    assert figures["joint_names"] == list(loaded.joint_names)
    assert set(figures["runs"][-1]["overall_factor"]) == {"rad", "m"}
    assert min(figures["runs"][-1]["factor"]) >= 10.0
    check_report(tmp_path / "report.html", loaded, len(figures["runs"]))


@pytest.mark.parametrize(
    "robot",
    ["five_bar", *(pytest.param(r, marks=pytest.mark.exhaustive) for r in ("palletizer", "sr400", "delta"))],
)
def test_robots_with_loops(robot: str, ros_environment: dict[str, str], tmp_path: Path) -> None:
    """Actuated joints are commanded, passive ones follow, and the loops stay closed."""
    output, figures = done(ros_environment, tmp_path, robot, "--duration", "1")
    loaded = dyn_core.load_robot(str(ROBOTS[robot]), loops=str(ROBOTS[robot].with_suffix(".yaml")))
    passive_names = loaded.passive_joint_names
    assert figures["joint_names"] == list(loaded.coordinate_names)
    assert figures["passive_joint_names"] == list(passive_names)
    assert max(figures["passive_largest_from_loops"]) < 1e-8, "the loops stay closed"
    _, _, described, true = figures["runs"]
    assert min(true["factor"]) >= 10.0
    assert min(described["factor"]) >= 3.0
    check_report(tmp_path / "report.html", loaded, 4)
    text = (tmp_path / "report.html").read_text()
    assert all(f"{name} (passive)" in text for name in passive_names)
    assert f"with {loaded.dof} actuated and {len(passive_names)} passive joints" in output
    q, passive = (
        [[float(row[f"position.{name}"]) for name in names] for row in last_run(tmp_path)]
        for names in (loaded.coordinate_names, passive_names)
    )
    closed = dyn_core.compile_model(loaded).solve_loops(q)
    assert abs(closed - passive).max() < 1e-7  # nine digits are written
    assert abs(closed[0] - passive[-1]).max() < 0.01, "from rest to rest"
    assert abs(closed[0] - passive).max() > 0.05, "they move"


LINK = """<link name="{}"><inertial><origin xyz="{} 0 0"/><mass value="{}"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
BARE = f"""<robot name="bare"><link name="base"/>{LINK.format("a", 0.3, 2)}{LINK.format("b", 0.2, 1)}
<joint name="one.x" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="zwei &lt;\N{LATIN SMALL LETTER E WITH ACUTE}" type="continuous"><parent link="a"/>
<child link="b"/><origin xyz="0.5 0 0"/><axis xyz="0 1 0"/></joint></robot>"""


def test_a_robot_without_limits_and_friction_and_with_unusual_names(
    ros_environment: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "bare.urdf"
    file.write_text(BARE)
    done(ros_environment, tmp_path / "out", str(file), "--duration", "1")
    check_report(tmp_path / "out" / "report.html", dyn_core.load_robot(str(file)), 4)


@contextlib.contextmanager
def nodes_of_user(environment: dict[str, str], directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """All three nodes in one process and the namespace /arm, with `nodes.yaml` of a demonstration."""
    compose = ["-m", "dyn_nodes.compose", "--params", str(directory / "nodes.yaml"), "--namespace", "arm"]
    compose += ["--remap", "simulation/torques:=controller/torques"]
    compose += ["controller/feedforward:=feedforward/torques"]
    with (directory / "log").open("w") as log:
        nodes = subprocess.Popen([sys.executable, *compose], env=environment, stderr=log)
        try:
            yield nodes
        finally:
            nodes.send_signal(signal.SIGINT)
            nodes.wait(LIMIT_S)


OF_USER = ("rrp", "--duration", "1", "--no-nodes", "--ros-args", "-r", "__ns:=/arm")


def write_parameters(environment: dict[str, str], directory: Path) -> None:
    first = start(environment, directory, "rrp", "--duration", "1")
    wait_for_line(first, "run 1")
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=LIMIT_S)


def test_the_example_of_nodes_for_users(ros_environment: dict[str, str], tmp_path: Path) -> None:
    write_parameters(ros_environment, tmp_path)
    with nodes_of_user(ros_environment, tmp_path) as nodes:
        _, figures = done(ros_environment, tmp_path, *OF_USER)
        assert nodes.poll() is None
    assert min(figures["runs"][-1]["factor"]) >= 10.0


@pytest.mark.exhaustive
@pytest.mark.promise("demonstration-lost")
def test_a_demonstration_that_loses_its_robot_fails(ros_environment: dict[str, str], tmp_path: Path) -> None:
    """Its controller has gains for 300 Hz, and does not check them."""
    write_parameters(ros_environment, tmp_path)
    file = tmp_path / "nodes.yaml"
    text = file.read_text().replace("natural_frequency: 5.0", "natural_frequency: 300.0")
    file.write_text(text.replace("joint_state_rate: 500.0", "joint_state_rate: 0.0"))
    with nodes_of_user(ros_environment, tmp_path) as nodes:
        # A demonstration of its own directory, so that the parameters stay.
        demo = start(ros_environment, tmp_path / "out", *OF_USER)
        output, _ = demo.communicate(timeout=LIMIT_S)
        assert nodes.poll() is None
    assert demo.returncode == 1, output
    assert re.search(r"demo: .*(the node controller has stopped the run|did not follow its motion)", output)
    assert "report.html" not in {path.name for path in (tmp_path / "out").iterdir()}


def wait_for_line(demo: subprocess.Popen[str], beginning: str) -> None:
    assert demo.stdout is not None
    seen = []
    for line in demo.stdout:
        seen.append(line)
        if beginning in line:
            return
    raise AssertionError("".join(seen))


def marked(entry: str) -> dict[int, str]:
    """Return the command lines of processes with an environment variable, by process."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if entry.encode() in (process / "environ").read_bytes().split(b"\0"):
                found[int(process.name)] = (process / "cmdline").read_text().replace("\0", " ")
    return found


def modules(entry: str) -> dict[int, str]:
    """Return which module of dyn_nodes each process with an environment variable runs."""
    found = {
        process: re.search(r"-m dyn_nodes\.(\w+) ", command) for process, command in marked(entry).items()
    }
    return {process: module[1] for process, module in found.items() if module}


@pytest.fixture
def mark(ros_environment: dict[str, str]) -> Iterator[str]:
    """An environment variable of all processes of the test, which have to end."""
    ros_environment[MARK] = f"{os.getpid()}-{id(ros_environment)}"
    entry = f"{MARK}={ros_environment[MARK]}"
    yield entry
    for process in marked(entry):
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(process)
            ended, _, _ = select.select([handle], [], [], LIMIT_S)
            os.close(handle)
            assert ended, f"process {process} is left"


def check_files(out: Path) -> None:
    names = {path.name for path in out.iterdir()} if out.exists() else set()
    assert names <= FILES | LOGS | SIDE_FILE
    if "report.html" in names:
        assert (out / "report.html").read_text().rstrip().endswith("</html>")


def listens(process: int) -> bool:
    """Whether a process has its own handler for SIGINT; then it has one for SIGTERM, too."""
    with contextlib.suppress(OSError):
        caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{process}/status").read_text())
        return bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


MOMENTS: list[Any] = [("start", signal.SIGTERM), ("Robot", signal.SIGINT)]
MOMENTS += [("run 2", signal.SIGTERM), ("all joints", signal.SIGINT)]
LATER = [(moment, signal.SIGINT) for moment in ("start", "run 1", "run 2", "run 3")]
MOMENTS += [pytest.param(*moment, marks=pytest.mark.exhaustive) for moment in LATER]


@pytest.mark.parametrize(("moment", "number"), MOMENTS)
def test_a_signal_leaves_no_process_and_no_partial_file(
    moment: str, number: signal.Signals, ros_environment: dict[str, str], mark: str, tmp_path: Path
) -> None:
    demo = start(ros_environment, tmp_path, "rrp", "--duration", "1")
    if moment == "start":
        while not listens(demo.pid):
            assert demo.poll() is None
    else:
        wait_for_line(demo, moment)
    (os.killpg if number == signal.SIGINT else os.kill)(demo.pid, number)
    output, _ = demo.communicate(timeout=LIMIT_S)
    check_files(tmp_path)
    if moment == "all joints" and demo.returncode == 0:
        assert "Report" in output, "the report was there before the signal"
    else:
        assert demo.returncode == 130, output
        assert output.splitlines()[-1] == "demo: stopped"
        assert "Traceback" not in output
    assert not marked(mark), "what it started has ended before it"


def test_kill_9_also_ends_its_nodes(ros_environment: dict[str, str], mark: str, tmp_path: Path) -> None:
    demo = start(ros_environment, tmp_path, "rrp")
    wait_for_line(demo, "run 1")
    # A node may also have a child at this moment, which loads a robot.
    assert set(modules(mark).values()) >= {"demo", "simulation", "controller", "feedforward"}
    demo.kill()
    demo.communicate(timeout=LIMIT_S)
    check_files(tmp_path)


@pytest.mark.parametrize(
    "node",
    ["simulation", *(pytest.param(n, marks=pytest.mark.exhaustive) for n in ("controller", "feedforward"))],
)
def test_a_node_that_dies_is_reported(
    node: str, ros_environment: dict[str, str], mark: str, tmp_path: Path
) -> None:
    demo = start(ros_environment, tmp_path, "rrp")
    wait_for_line(demo, "run 1")
    # The node itself is older than a child of it that has the same command line until it starts its program.
    os.kill(min(process for process, module in modules(mark).items() if module == node), signal.SIGKILL)
    output, _ = demo.communicate(timeout=LIMIT_S)
    assert demo.returncode == 1
    values = {"node": node, "status": -9, "path": tmp_path / f"{node}.log"}
    assert re.search(f"demo: {said('node-ended', **values).pattern}", output), output
    assert "Traceback" not in output
    assert "report.html" not in {path.name for path in tmp_path.iterdir()}
