# SPDX-License-Identifier: Apache-2.0
"""``dyn feasible``: what it says, writes and answers, and what it says of bad files."""

from __future__ import annotations

import json
import math
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core.cli.main import main
from dyn_core.feasibility.limits_file import read_limits

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
RX90 = str(ROBOTS / "rx90.urdf")
JOINTS = tuple(f"joint_{k}" for k in range(1, 7))


def feasible(*arguments: str) -> int:
    return main(["feasible", RX90, *arguments])


def write_motion(path: Path, rate: float, quantities: tuple[str, ...]) -> str:
    """There and back in 2 s over the rate; accelerations and velocities where they are asked for."""
    t = np.linspace(0.0, 2.0 / rate, 401)
    w = math.pi * rate
    one = np.ones(6)
    columns = {
        "position": np.outer(0.5 * (1.0 - np.cos(w * t)), one),
        "velocity": np.outer(0.5 * w * np.sin(w * t), one),
        "acceleration": np.outer(0.5 * w * w * np.cos(w * t), one),
    }
    names = [f"{quantity}.{joint}" for quantity in quantities for joint in JOINTS]
    rows = np.column_stack([t, *(columns[quantity] for quantity in quantities)])
    text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    path.write_text(",".join(["time", *names]) + "\n" + text + "\n")
    return str(path)


ALL = ("position", "velocity", "acceleration")


def test_a_slow_motion_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_motion(tmp_path / "slow.csv", 0.2, ALL)
    assert feasible("--trajectory", file) == 0
    said = capsys.readouterr()
    assert said.out.startswith("The motion is feasible: it keeps all limits.\n\nMotors")
    assert said.err == ""


@pytest.mark.parametrize(
    ("quantity", "factor", "sentence"),
    [
        ("velocity", 0.0, "the velocities of joint 'joint_2' are not those of its positions"),
        ("velocity", 1e-3, "the velocities of joint 'joint_2' are not those of its positions"),
        ("velocity", -1.0, "the velocities of joint 'joint_2' are not those of its positions"),
        ("acceleration", 57.3, "the accelerations of joint 'joint_2' are not those of its velocities"),
    ],
)
def test_columns_of_another_motion_are_warned_of(
    quantity: str, factor: float, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of a stream without velocities, or with another unit or sign."""
    file = Path(write_motion(tmp_path / "slow.csv", 0.2, ALL))
    head, *rows = [line.split(",") for line in file.read_text().splitlines()]
    column = head.index(f"{quantity}.joint_2")
    for row in rows:
        row[column] = repr(factor * float(row[column]))
    file.write_text("\n".join(map(",".join, [head, *rows])) + "\n")
    feasible("--trajectory", str(file))
    said = capsys.readouterr().err
    assert sentence in said
    assert "joint_3" not in said


def test_a_fast_motion_fails_and_the_slower_one_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_motion(tmp_path / "fast.csv", 4.0, ALL)
    out, report = str(tmp_path / "slower.csv"), tmp_path / "report.html"
    assert feasible("--trajectory", file, "--out", out, "--report", str(report), "--json") == 1
    data = json.loads(capsys.readouterr().out)
    assert data["feasible"] is False
    assert data["time_scaling"] > 1.0
    assert data["joint_names"] == list(JOINTS)
    assert {failure["quantity"] for failure in data["failures"]} == {"velocity", "effort"}
    worst = max(data["motors"], key=lambda motor: max(motor["speed_use"], motor["effort_use"]))
    assert max(worst["speed_use"], worst["effort_use"]) > 1.0
    assert [load["joint"] for load in data["bearings"]] == list(JOINTS)
    assert data["limits"][0]["curve"] == [[0.0, 320.0]]
    assert data["limits"][0]["power"] is None

    assert feasible("--trajectory", out, "--json") == 0
    slower = json.loads(capsys.readouterr().out)
    assert slower["time_scaling"] == 1.0
    assert slower["duration"] == pytest.approx(data["time_scaling"] * data["duration"], rel=1e-9)

    page = report.read_text()
    assert page.count("<svg viewBox") >= 18
    assert "http" not in page
    parser = HTMLParser()
    parser.feed(page)
    parser.close()


def test_the_text_says_where_and_by_how_much(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_motion(tmp_path / "fast.csv", 4.0, ALL)
    assert feasible("--trajectory", file) == 1
    out = capsys.readouterr().out
    assert "The motion is not feasible in its time: it needs " in out
    assert (
        "joint 'joint_1' asks for the velocity 6.283 rad/s, 2.18 rad/s beyond its limit of 4.1 rad/s" in out
    )
    assert "Bearings, about the origin of the child link" in out


def test_curves_and_powers_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_motion(tmp_path / "motion.csv", 1.0, ALL)
    assert feasible("--trajectory", file) == 0
    limits = tmp_path / "limits.yaml"
    limits.write_text(
        "joints:\n"
        "  joint_2: {curve: [[0, 320], [1.0, 320], [3.5, 200]], power: 150, braking_power: 120, "
        "continuous_effort: 100}\n"
        "  joint_1: {effort: 40, velocity: 2, position: [-1, 2]}\n"
    )
    capsys.readouterr()
    assert feasible("--trajectory", file, "--limits", str(limits), "--json") == 1
    data = json.loads(capsys.readouterr().out)
    assert {(f["joint"], f["quantity"]) for f in data["failures"]} >= {
        ("joint_2", "power"),
        ("joint_1", "effort"),
    }
    assert data["limits"][1]["curve"] == [[0.0, 320.0], [1.0, 320.0], [3.5, 200.0]]
    motor = data["motors"][1]
    assert motor["power_use"] == pytest.approx(motor["peak_power"] / 150.0)
    assert motor["continuous_use"] == pytest.approx(motor["rms_effort"] / 100.0)


def test_velocities_and_accelerations_that_are_not_there_are_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = write_motion(tmp_path / "whole.csv", 2.0, ALL)
    feasible("--trajectory", whole, "--json")
    expected = json.loads(capsys.readouterr().out)
    for quantities, what in (
        (("position",), "no velocities and accelerations"),
        (("position", "velocity"), "no accelerations"),
    ):
        file = write_motion(tmp_path / "part.csv", 2.0, quantities)
        feasible("--trajectory", file, "--json")
        said = capsys.readouterr()
        assert f"{what} for all joints, they are differences" in said.err
        found = json.loads(said.out)
        assert found["time_scaling"] == pytest.approx(expected["time_scaling"], rel=1e-3)


def test_wrench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_motion(tmp_path / "slow.csv", 0.2, ALL)
    feasible("--trajectory", file, "--json")
    free = json.loads(capsys.readouterr().out)
    link = dyn_core.load_robot(RX90).link_names[-1]
    feasible("--trajectory", file, "--json", "--wrench", f"{link}=0,0,100,0,0,0")
    loaded = json.loads(capsys.readouterr().out)
    assert loaded["motors"][1]["peak_effort"] != free["motors"][1]["peak_effort"]
    assert feasible("--trajectory", file, "--wrench", "nonsense") == 1
    assert "--wrench 'nonsense': give LINK=FX,FY,FZ,MX,MY,MZ" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the file is empty: give a first line with time and position.<joint> for each joint"),
        ("time,position.joint_1\n0,0\n", "there is no column position.<joint> for 'joint_2', 'joint_3'"),
        ("time,nonsense\n0,0\n", "column 'nonsense': it is no position.<joint>, velocity.<joint>"),
        (
            "time," + ",".join(f"position.{j}" for j in JOINTS) + "\n" + "0,0,0,0,0,0,0\n1,0,0,0,0,0,0\n",
            "there are 2 samples: give at least 3",
        ),
        (
            "time," + ",".join(f"position.{j}" for j in JOINTS) + "\n" + "0,0,0,0,0,0,0\n0,0,0,0,0,0,0\n",
            "line 3, column 'time': the time 0 does not come after 0",
        ),
        (
            "time," + ",".join(f"position.{j}" for j in JOINTS) + "\n" + "0,0,0,nan,0,0,0\n",
            "line 2, column 'position.joint_3': 'nan' is no finite number",
        ),
    ],
)
def test_bad_trajectories(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    assert feasible("--trajectory", str(file)) == 1
    said = capsys.readouterr()
    assert f"dyn: error: {file}: " in said.err
    assert sentence in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("joints: {joint_1: {position: [1, -1]}}", "its least position 1 is above its greatest -1"),
        ("joints: {joint_1: {effort: 0}}", "its effort limit is 0, with which it can hold nothing"),
        ("joints: {joint_1: {velocity: 0}}", "its velocity limit is 0, with which it cannot move"),
        ("joints: {joint_1: {power: -5}}", "its power limit is -5, with which it cannot move"),
        ("joints: {joint_1: {curve: [[0, 0], [1, 5]]}}", "begins with the effort 0"),
        ("joints: {joint_1: {curve: [[1, 5], [1, 4]]}}", "has the speed 1 after 1"),
        ("joints: {joint_1: {curve: [[0, 5], [1]]}}", "a point has 1 numbers: give [speed, effort]"),
        ("joints: {joint_1: {curve: []}}", "has no points"),
        ("joints: {joint_1: {curve: [[0, -5]]}}", "has the point [0, -5]"),
        ("joints: {joint_1: {curve: [[0, 5]], effort: 3}}", "it has both 'effort' and 'curve'"),
        ("joints: {joint_9: {effort: 3}}", "it is no joint with an actuator: the joints are 'joint_1'"),
        ("joints: {joint_1: {force: 3}}", "it has no entry 'force'"),
        ("limits: {}", "it has no entry 'limits': use 'joints'"),
        ("{}", "there is no entry 'joints'"),
    ],
)
def test_bad_limits(text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_motion(tmp_path / "slow.csv", 0.2, ALL)
    limits = tmp_path / "limits.yaml"
    limits.write_text(text)
    assert feasible("--trajectory", file, "--limits", str(limits)) == 1
    said = capsys.readouterr()
    assert f"dyn: error: {limits}: " in said.err
    assert sentence in said.err


def test_limits_that_no_time_will_keep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_motion(tmp_path / "slow.csv", 0.2, ALL)
    limits = tmp_path / "limits.yaml"
    limits.write_text("joints: {joint_2: {effort: 30}}")
    out = tmp_path / "slower.csv"
    assert feasible("--trajectory", file, "--limits", str(limits), "--json") == 1
    data = json.loads(capsys.readouterr().out)
    assert data["time_scaling"] is None
    assert "in no time whatever" in data["verdict"]
    assert feasible("--trajectory", file, "--limits", str(limits), "--out", str(out)) == 1
    assert "there is nothing to write to" in capsys.readouterr().err
    assert not out.exists()


def test_the_trajectory_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_motion(tmp_path / "slow.csv", 0.2, ALL)
    before = Path(file).read_text()
    assert feasible("--trajectory", file, "--out", file) == 1
    assert "this would replace the motion" in capsys.readouterr().err
    assert Path(file).read_text() == before


def test_passive_joints_follow_no_motion() -> None:
    robot = dyn_core.load_robot(RX90, loops={"passive": ["joint_3"]})
    with pytest.raises(dyn_core.DynError, match="passive joints follow no motion"):
        dyn_core.Feasibility(robot)


def test_elastic_joints_follow_no_motion() -> None:
    folder = ROBOTS / "high_speed_machine"
    robot = dyn_core.load_robot(f"{folder}.urdf", loops=f"{folder}.yaml")
    with pytest.raises(
        dyn_core.DynError, match=r"a motion that is given knows no springs, but joint 'base_yaw'"
    ):
        dyn_core.Feasibility(robot)


def test_a_floating_base_follows_no_motion() -> None:
    """What a base that nothing holds does follows from the motion of the joints."""
    urdf = """<robot name="f"><link name="w"/><link name="b"/><link name="a"/>
      <joint name="root" type="floating"><parent link="w"/><child link="b"/></joint>
      <joint name="j" type="revolute"><parent link="b"/><child link="a"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" velocity="1" effort="10"/></joint></robot>"""
    with pytest.raises(dyn_core.DynError, match=r"'root/trans_x', .* passive joints follow no motion"):
        dyn_core.Feasibility(dyn_core.load_robot(urdf))


def test_limits_of_data_are_those_of_a_file(tmp_path: Path) -> None:
    robot = dyn_core.load_robot(RX90)
    data = {"joints": {"joint_1": {"curve": [[0.0, 5.0], [1.0, 4.0]], "power": 3.0}}}
    file = tmp_path / "limits.yaml"
    file.write_text(json.dumps(data))
    assert read_limits(data, robot) == read_limits(file, robot)
