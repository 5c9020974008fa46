# SPDX-License-Identifier: Apache-2.0
"""``dyn feasible``: what it says, writes and answers, and what it says of bad files."""

from __future__ import annotations

import io
import json
import math
import re
from html import escape
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
    assert said.out.startswith("The motion is feasible: it keeps all limits at its 401 samples.\n\nMotors")
    assert said.err == ""


@pytest.mark.parametrize(
    ("quantity", "factor", "sentence"),
    [
        ("velocity", 0.0, "it gives joint 'joint_2' 0 rad/s in the mean, where its positions change at"),
        ("velocity", 1e-3, "give velocities of the same motion in rad/s, or leave these columns out"),
        ("velocity", -1.0, "it gives joint 'joint_2' 0.30"),
        ("velocity", 57.3, "rad/s in the mean, where its positions change at"),
        ("acceleration", 57.3, "rad/s^2 in the mean, where its velocities change at"),
        ("acceleration", -57.3, "give accelerations of the same motion in rad/s^2"),
    ],
)
def test_columns_of_another_motion_are_refused(
    quantity: str, factor: float, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of a stream without velocities, or with another unit or sign."""
    file = Path(write_motion(tmp_path / "slow.csv", 0.2, ALL))
    head, *rows = [line.split(",") for line in file.read_text().splitlines()]
    column = head.index(f"{quantity}.joint_2")
    for row in rows:
        row[column] = repr(factor * float(row[column]))
    file.write_text("\n".join(map(",".join, [head, *rows])) + "\n")
    assert feasible("--trajectory", str(file)) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert re.match(
        rf"dyn: error: {re.escape(str(file))}: line \d+, column '{quantity}.joint_2': "
        r"from [\d.]+ to [\d.]+ s ",
        said.err,
    )
    assert sentence in said.err
    assert "joint_3" not in said.err


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


def test_accelerations_without_velocities_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which differences of positions with few digits would spoil."""
    whole = write_motion(tmp_path / "whole.csv", 2.0, ALL)
    feasible("--trajectory", whole, "--json")
    expected = json.loads(capsys.readouterr().out)
    file = Path(write_motion(tmp_path / "part.csv", 2.0, ("position", "acceleration")))
    head, *rows = file.read_text().splitlines()
    rounded = [[t, *(f"{float(x):.5f}" for x in row)] for t, *row in (line.split(",") for line in rows)]
    file.write_text("\n".join([head, *map(",".join, rounded)]) + "\n")
    feasible("--trajectory", str(file), "--json")
    said = capsys.readouterr()
    assert "part.csv: no velocities for all joints, they are differences" in said.err
    assert json.loads(said.out)["time_scaling"] == pytest.approx(expected["time_scaling"], rel=1e-3)
    spoilt = [[*row[:7], *(str(57.3 * float(x)) for x in row[7:])] for row in rounded]
    file.write_text("\n".join([head, *map(",".join, spoilt)]) + "\n")
    assert feasible("--trajectory", str(file)) == 1
    assert "column 'acceleration.joint_1': from " in capsys.readouterr().err


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
    root = dyn_core.load_robot(RX90).link_names[0]
    assert feasible("--trajectory", file, "--wrench", f"{root}=0,0,100,0,0,0") == 1
    assert f"link '{root}' does not move, so that no motor feels what it exerts" in capsys.readouterr().err
    twice = ["--wrench", f"{link}=0,0,100,0,0,0"] * 2
    assert feasible("--trajectory", file, *twice) == 1
    assert f"--wrench is given twice for link '{link}': give the sum" in capsys.readouterr().err


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
            "time," + ",".join(f"position.{j}" for j in JOINTS) + "\n" + "0,0,0,0,0,0,0\n",
            "there is 1 sample: give at least 3",
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
        ("joints: {joint_1: {curve: [[0, 5], [1]]}}", "a point has 1 number: give [speed, effort]"),
        ("joints: {joint_1: {curve: []}}", "has no points"),
        ("joints: {joint_1: {curve: [[0, .inf]]}}", "it is '.inf': write a finite number"),
        ("joints: {joint_1: {position: [1]}}", "it has 1 number: give least and greatest, none where"),
        ("joints: {joint_1: {position: [.inf, 2]}}", "its least value is inf: give a number, or none"),
        ("joints: {joint_1: {position: [-1, -.inf]}}", "its greatest value is -inf: give a number, or none"),
        ("joints: {joint_1: {position: [.nan, 2]}}", "it is '.nan': write a finite number, or none"),
        ("joints: {joint_1: {velocity: -.inf}}", "its greatest value is -inf: give a number, or none"),
        ("joints: {joint_1: {velocity: .nan}}", "it is '.nan': write a finite number, or none"),
        ("joints: {joint_1: {effort: nan}}", "it is 'nan': write a finite number, or none"),
        ("joints: {joint_1: {power: [1]}}", "it is no number: write a finite number"),
        ("joints: {joint_1: {curve: [[0, -5]]}}", "has the point [0, -5]"),
        ("joints: {joint_1: {curve: [[0, 5]], effort: 3}}", "it has both 'effort' and 'curve'"),
        ("joints: {joint_9: {effort: 3}}", "it is no joint with an actuator: the joints are 'joint_1'"),
        ("joints: {joint_1: {force: 3}}", "it has no entry 'force'"),
        (
            "joints: {joint_1: {continuous_effort: 400}}",
            "joint 'joint_1': its continuous effort 400, that it bears for ever, is above its effort limit, "
            "320: change one of them",
        ),
        (
            "joints: {joint_1: {effort: 30, continuous_effort: 31}}",
            "'joint_1': its continuous effort 31, that it bears for ever, is above its effort limit, 30",
        ),
        (
            "joints: {joint_1: {curve: [[0, 50], [1, 90]], continuous_effort: 60}}",
            "effort 60, that it bears for ever, is above the effort of its curve at a standstill, 50: change",
        ),
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


@pytest.mark.parametrize("effort", ["effort: 60", "effort: none", "curve: [[0, 60], [1, 10]]"])
def test_continuous_effort_may_be_all_that_there_is(effort: str, tmp_path: Path) -> None:
    file = tmp_path / "limits.yaml"
    file.write_text(f"joints: {{joint_1: {{{effort}, continuous_effort: 60}}}}")
    assert read_limits(file, dyn_core.load_robot(RX90)).continuous_effort[0] == 60.0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("joints:\n", "joints (line 1): nothing is in it, and no limit is changed: name joints"),
        ("joints: {}\n", "joints (line 1): nothing is in it"),
        (
            "joints:\n  joint_1: {power: 900}\n  joint_2: {}\n",
            "joint 'joint_2' (line 3): nothing is in it, and its limits are those of the robot's "
            "description: give some of position, velocity, ",
        ),
        ("joints:\n  joint_2:\n", "joint 'joint_2' (line 2): nothing is in it"),
    ],
)
def test_limits_that_say_nothing(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_motion(tmp_path / "slow.csv", 0.2, ALL)
    limits = tmp_path / "limits.yaml"
    limits.write_text(text)
    assert feasible("--trajectory", file, "--limits", str(limits)) == 0
    assert f"dyn: warning: {limits}: {sentence}" in capsys.readouterr().err
    with pytest.warns(dyn_core.ModelWarning, match="^joint 'joint_2': nothing is in it"):
        read_limits({"joints": {"joint_2": {}}}, dyn_core.load_robot(RX90))


def test_limits_that_no_time_will_keep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_motion(tmp_path / "slow.csv", 0.2, ALL)
    limits = tmp_path / "limits.yaml"
    limits.write_text("joints: {joint_2: {effort: 30}}")
    out = tmp_path / "slower.csv"
    assert feasible("--trajectory", file, "--limits", str(limits), "--json") == 1
    data = json.loads(capsys.readouterr().out)
    assert data["time_scaling"] is None
    assert "in no time whatever" in data["verdict"]
    for options in (["--json"], []):
        assert feasible("--trajectory", file, "--limits", str(limits), "--out", str(out), *options) == 1
        said = capsys.readouterr()
        assert f"dyn: error: there is nothing to write to '{out}': " in said.err
        assert "in no time whatever" in (json.loads(said.out)["verdict"] if options else said.out)
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


@pytest.mark.parametrize("nothing", ["none", "null", "~", "None", ".inf", "+.inf", ".Inf"])
def test_limits_are_lifted(nothing: str, tmp_path: Path) -> None:
    robot = dyn_core.load_robot(RX90)
    file = tmp_path / "limits.yaml"
    entries = ("velocity", "effort", "power", "braking_power", "continuous_effort")
    file.write_text(
        f"joints:\n  joint_1: {{{', '.join(f'{entry}: {nothing}' for entry in entries)}}}\n"
        f"  joint_2: {{position: [none, 1.0], curve: {'none' if 'inf' in nothing.lower() else nothing}}}\n"
        f"  joint_3: {{position: [-1.0, {nothing}]}}\n"
        f"  joint_4: {{position: {'[-.inf, .inf]' if 'inf' in nothing.lower() else nothing}}}\n"
        "  joint_5: {position: [-.inf, 0.5]}\n"
    )
    found = read_limits(file, robot)
    first = found.of_joints[0]
    assert first.velocity == first.power == first.braking_power == first.continuous_effort == math.inf
    assert first.curve.efforts == (math.inf,)
    assert math.isfinite(first.upper)
    assert found.of_joints[1].curve.efforts == (math.inf,)
    assert found.lower[1:5].tolist() == [-math.inf, -1.0, -math.inf, -math.inf]
    assert found.upper[1:5].tolist() == [1.0, math.inf, math.inf, 0.5]
    assert math.isfinite(found.velocity[1])


def test_data_lift_limits() -> None:
    robot = dyn_core.load_robot(RX90)
    found = read_limits({"joints": {"joint_1": {"velocity": None, "position": [-math.inf, 1.0]}}}, robot)
    assert found.velocity[0] == math.inf
    assert (found.lower[0], found.upper[0]) == (-math.inf, 1.0)


def test_limits_that_are_not_known_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_motion(tmp_path / "fast.csv", 4.0, ALL)
    limits, page = tmp_path / "limits.yaml", tmp_path / "report.html"
    nothing = "{position: none, velocity: none, effort: none}"
    limits.write_text("joints:\n" + "".join(f"  {joint}: {nothing}\n" for joint in JOINTS))
    options = ["--trajectory", file, "--limits", str(limits)]
    assert feasible(*options, "--report", str(page)) == 0
    out = capsys.readouterr().out
    said = (
        "The motion keeps all limits that are known at its 401 samples.\n"
        "No limit is known of: position of all joints; velocity of all joints; effort of all joints.\n"
    )
    assert out.startswith(said)
    assert all(line in page.read_text() for line in said.splitlines())
    limits.write_text("joints:\n  joint_2: {effort: none}\n  joint_3: {effort: none, velocity: none}\n")
    assert feasible(*options, "--json") == 1
    data = json.loads(capsys.readouterr().out)
    assert data["unlimited"]["effort"] == ["joint_2", "joint_3"]
    assert data["unlimited"]["velocity"] == ["joint_3"]
    assert "position" not in data["unlimited"]
    assert data["unlimited"]["power"] == list(JOINTS)
    assert feasible(*options) == 1
    out = capsys.readouterr().out
    assert "\nNo limit is known of: velocity of 'joint_3'; effort of 'joint_2', 'joint_3'.\n" in out


def test_an_urdf_without_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    urdf = tmp_path / "rx90.urdf"
    urdf.write_text(re.sub("<limit[^>]*/>", '<limit effort="0" velocity="0"/>', Path(RX90).read_text()))
    file = write_motion(tmp_path / "slow.csv", 0.2, ALL)
    assert main(["feasible", str(urdf), "--trajectory", file]) == 0
    out = capsys.readouterr().out
    assert "feasible: it keeps all limits" not in out
    assert (
        "No limit is known of: position of all joints; velocity of all joints; effort of all joints." in out
    )


def test_continuous_effort_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A motion that the motors can make once, and not again and again."""
    file = write_motion(tmp_path / "slow.csv", 0.2, ALL)
    limits, page = tmp_path / "limits.yaml", tmp_path / "report.html"
    assert feasible("--trajectory", file, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["repeatable"] is True
    assert data["overheating"] == []
    rms = data["motors"][1]["rms_effort"]
    limits.write_text(f"joints: {{joint_2: {{continuous_effort: {rms * (1.0 + 1e-6)!r}}}}}")
    assert feasible("--trajectory", file, "--limits", str(limits)) == 0
    limits.write_text(f"joints: {{joint_2: {{continuous_effort: {0.8 * rms!r}}}}}")
    options = ["--trajectory", file, "--limits", str(limits)]
    capsys.readouterr()
    assert feasible(*options, "--report", str(page)) == 1
    said = (
        f"It cannot be repeated for ever without pauses: joint 'joint_2' needs {rms:.4g} N m in the root "
        f"mean square, {0.2 * rms:.3g} N m beyond the {0.8 * rms:.4g} N m that it bears for ever."
    )
    out = capsys.readouterr().out
    assert out.startswith(f"The motion is feasible: it keeps all limits at its 401 samples.\n{said}\n")
    assert escape(said) in page.read_text()
    assert feasible(*options, "--json") == 1
    data = json.loads(capsys.readouterr().out)
    assert data["feasible"] is True
    assert data["time_scaling"] == 1.0
    assert data["repeatable"] is False
    assert data["overheating"] == [
        {"joint": "joint_2", "value": rms, "limit": pytest.approx(0.8 * rms), "unit": "N m"}
    ]


def test_a_limit_of_nothing_has_no_sign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Motors that have no torque left at speed, where torques of either sign are asked for."""
    file = write_motion(tmp_path / "fast.csv", 1.0, ALL)
    limits = tmp_path / "limits.yaml"
    nothing = "{curve: [[0, 900], [0.01, 0]], velocity: 9}"
    limits.write_text("joints:\n" + "".join(f"  {joint}: {nothing}\n" for joint in JOINTS))
    assert feasible("--trajectory", file, "--limits", str(limits)) == 1
    out = capsys.readouterr().out
    assert "beyond its limit of 0 N m" in out
    assert "-0 N m" not in out
    assert feasible("--trajectory", file, "--limits", str(limits), "--json") == 1
    assert ": -0.0" not in capsys.readouterr().out


def test_the_motion_from_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(write_motion(tmp_path / "slow.csv", 0.2, ALL))
    assert feasible("--trajectory", str(file)) == 0
    expected = capsys.readouterr().out

    def given(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    given(file.read_bytes())
    assert feasible("--trajectory", "-") == 0
    assert capsys.readouterr().out == expected
    given(b"time,nonsense\n0,0\n")
    assert feasible("--trajectory", "-") == 1
    assert "dyn: error: standard input: line 1, column 'nonsense': " in capsys.readouterr().err
    given(b"time,\xff\n")
    assert feasible("--trajectory", "-") == 1
    assert "dyn: error: standard input: it is not UTF-8" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", None)
    assert feasible("--trajectory", "-") == 1
    assert "dyn: error: standard input: it is closed: give a motion" in capsys.readouterr().err
    assert main(["feasible", "-", "--trajectory", "-"]) == 1
    assert "standard input is either the robot or the motion" in capsys.readouterr().err
