# SPDX-License-Identifier: Apache-2.0
"""``dyn simulate``: what it writes, what it says of bad files, and that it leaves no half file."""

from __future__ import annotations

import csv
import json
import math
import os
import signal
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core.cli.main import main
from dyn_core.core import number_table
from dyn_core.simulation import states_csv

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
RRP = str(ROBOTS / "rrp.urdf")


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def table(path: Path) -> dict[str, np.ndarray]:
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    columns = np.array(rows, dtype=float).T
    return dict(zip(header, columns, strict=True))


def simulate(*arguments: str) -> int:
    return main(["simulate", *arguments])


@pytest.fixture
def efforts(tmp_path: Path) -> str:
    rows = [f"{0.002 * k:g},{30 + 20 * math.sin(k / 9)!r},{10 * math.cos(k / 7)!r}" for k in range(101)]
    return write(tmp_path / "efforts.csv", "\n".join(["time,lift,turn", *rows]))


def test_states_are_those_of_the_efforts(
    efforts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "states.csv"
    assert (
        simulate(RRP, "--effort", efforts, "--out", str(out), "--q", "0.1", "0.2", "0.1", "--step=1e-3") == 0
    )
    said = capsys.readouterr()
    assert said.out == ""
    assert f"dyn: warning: {efforts}: no efforts for 'stretch', they get 0" in said.err
    assert "dyn: 0.2 s simulated in " in said.err
    assert "x real time" in said.err
    states = table(out)
    names = ("turn", "lift", "stretch")
    kinds = ("position", "velocity", "acceleration", "effort")
    assert list(states) == ["time", *(f"{kind}.{name}" for kind in kinds for name in names)]
    np.testing.assert_allclose(states["time"], np.arange(201) * 1e-3, atol=1e-12)
    # The efforts of the file, each for its two steps.
    given = table(Path(efforts))
    np.testing.assert_allclose(states["effort.lift"], np.repeat(given["lift"], 2)[:201], rtol=1e-11)
    np.testing.assert_allclose(states["effort.turn"], np.repeat(given["turn"], 2)[:201], rtol=1e-11)
    np.testing.assert_array_equal(states["effort.stretch"], 0.0)
    # Where all joints move freely the model needs these efforts for this motion.
    q, qd, qdd, effort = (np.array([states[f"{kind}.{name}"] for name in names]).T for kind in kinds)
    robot = dyn_core.load_robot(RRP)
    limits = [joint.limits for joint in robot.joints]
    inside = [(q[:, k] > limits[k].lower) & (q[:, k] < limits[k].upper) & (qd[:, k] != 0) for k in range(3)]
    moving = np.all(inside, axis=0)
    assert moving.sum() > 20
    torques = dyn_core.compile_model(robot).inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(torques[moving], effort[moving], atol=1e-8)
    # Positions are the integral of velocities.
    mean = 0.5 * (qd[1:] + qd[:-1])
    np.testing.assert_allclose(np.diff(q, axis=0)[1:], 1e-3 * mean[1:], atol=2e-5)


def test_without_efforts_a_robot_falls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "states.csv"
    assert simulate(RRP, "-o", str(out), "--duration=0.05", "--every=10", "--json", "--gravity=0,0,-1") == 0
    said = capsys.readouterr()
    summary = json.loads(said.out)
    assert (summary["robot"], summary["steps"], summary["step"]) == ("rrp", 50, 1e-3)
    assert summary["duration"] == pytest.approx(0.05)
    assert summary["real_time_factor"] > 0.0
    states = table(out)
    assert len(states["time"]) == 6
    assert [states[f"position.{name}"][-1] for name in summary["joint_names"]] == pytest.approx(
        summary["position"], rel=1e-11
    )


def test_options_do_what_the_settings_do(efforts: str, tmp_path: Path) -> None:
    common = [RRP, "--effort", efforts]
    options: dict[str, list[str]] = {
        "plain": [],
        "euler": ["--integrator", "semi_implicit_euler", "--substeps", "4"],
        "no friction": ["--no-friction"],
        "payload": ["--payload", "carriage,2.0,0,0,0.1", "--payload=carriage,1"],
        "error": ["--model-error=0.1", "--seed=4"],
        "noise": ["--noise=1e-3,1e-3,0.1", "--seed", "4"],
        "noise again": ["--noise=1e-3,1e-3,0.1", "--seed", "4"],
        "resolution": ["--resolution", "0.01,0.1,1"],
        "start": ["--q=0.1,0.2,0.3", "--qd", "0", "-1e-3", "0"],
    }
    link = dyn_core.load_robot(RRP).link_names[-1]
    results, out = {}, tmp_path / "states.csv"
    for name, words in options.items():
        with_link = [word.replace("carriage", link) for word in words]
        assert simulate(*common, "--out", str(out), *with_link) == 0, name
        results[name] = out.read_text()
    assert results.pop("noise again") == results["noise"]
    assert len(set(results.values())) == len(results)
    out.write_text(results["resolution"])
    positions = table(out)["position.turn"]
    np.testing.assert_allclose(positions, np.rint(positions / 0.01) * 0.01, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("time,turn\n", "there is no line with efforts after the first line"),
        ("turn,lift\n0,1\n", "line 1: no column is named 'time'"),
        ("0,1,2\n1,1,2\n", "line 1: no column is named 'time': give a first line with time and names"),
        ("time,knee\n0,1\n", "line 1, column 'knee': this joint is not one of the robot's"),
        ("time,turn,turn\n0,1,1\n", "line 1, column 'turn': it is there more than once"),
        ("time,turn\n0,1\n1,x\n", "line 3, column 'turn': 'x' is no finite number"),
        ("time,turn\n0,nan\n", "line 2, column 'turn': 'nan' is no finite number"),
        ("time,turn\n0,1\n\n1,\n", "line 4, column 'turn': '' is no finite number"),
        ("time,turn\ninf,1\n", "line 2, column 'time': 'inf' is no finite number"),
        ("time,turn\n0,1\n0,1\n", "line 3, column 'time': the time 0 does not come after 0"),
        ("time,turn\n0,1\n-1,1\n", "line 3, column 'time': the time -1 does not come after 0"),
        ("time,turn\n0,1\n1,1,1\n", "line 3: it has 3 values, but the first line names 2"),
        ("time,turn\n0\n", "line 2: it has 1 values"),
        ('time,"turn\n0,1\n', "it is no CSV"),
        ("time,turn\n0," + "1" * 200_000 + "\n", "line 2: it is no CSV: field larger than field limit"),
        ("time,turn\n0,1\x00\n1,1\n", "line 2"),
        ("time,turn\n0,1\n", "there is one line of efforts, give --duration"),
        ("time,turn\n0,1\n1e12,1\n", "more than 1000000000"),
    ],
)
def test_bad_efforts_end_in_a_sentence(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "efforts.csv", text)
    out = tmp_path / "states.csv"
    out.write_text("before")
    assert simulate(RRP, "--effort", path, "--out", str(out)) == 1
    said = capsys.readouterr().err
    assert said.startswith("dyn: error: ")
    assert sentence in said
    assert len(said.splitlines()) == 1
    assert out.read_text() == "before"
    assert names_in(tmp_path) == ["efforts.csv", "states.csv"]


def test_efforts_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "latin.csv").write_bytes(b"time,turn\n0,\xe9\n")
    huge = write(tmp_path / "huge.csv", "time,turn\n0,1\n")
    monkeypatch.setattr(number_table, "MAX_BYTES", 10)
    out = str(tmp_path / "states.csv")
    for path, sentence in (
        ("nowhere.csv", "nowhere.csv: the file cannot be read: No such file or directory"),
        (str(tmp_path), "this is no regular file"),
        ("/dev/zero", "this is no regular file"),
        (huge, "the file has 14 bytes, more than the 10 that are read"),
    ):
        assert simulate(RRP, "--effort", path, "--out", out) == 1
        assert sentence in capsys.readouterr().err
    monkeypatch.setattr(number_table, "MAX_BYTES", 1000)
    assert simulate(RRP, "--effort", str(tmp_path / "latin.csv"), "--out", out) == 1
    assert "the file is not UTF-8" in capsys.readouterr().err


def test_joints_that_take_no_efforts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    side = write(tmp_path / "side.yaml", "passive: [lift]\n")
    out = str(tmp_path / "states.csv")
    for text, code in (("time,lift\n0,0\n0.01,0\n", 0), ("time,lift\n0,0\n0.01,1\n", 1)):
        path = write(tmp_path / "efforts.csv", text)
        assert simulate(RRP, "--effort", path, "--out", out, "--loops", side) == code
    assert "line 3, column 'lift': the joint is passive" in capsys.readouterr().err
    following = tmp_path / "two.par"
    following.write_text(
        "NL = 2 ant = {0,1} sigma = {0,1} d = {0,1} theta = {t1,0} r = {0,0.5*t1} M = {1,1} G = {0,9.81,0}"
    )
    path = write(tmp_path / "efforts.csv", "time,joint_2\n0,0\n1,0\n")
    assert simulate(str(following), "--effort", path, "--out", out) == 1
    assert "column 'joint_2': this joint follows another joint" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "how long to simulate is not said: give --effort or --duration"),
        (["--duration=0"], "the duration is 0 s: give a finite number > 0"),
        (["--duration=nan"], "--duration holds 'nan': give finite numbers"),
        (["--duration=1e9"], "more than 1000000000"),
        (["--duration=1", "--step=0"], "the setting step is 0.0"),
        (["--duration=1", "--step=x"], "--step holds 'x'"),
        (["--duration=1", "--substeps=0"], "the setting substeps is 0"),
        (["--duration=1", "--every=0"], "--every is 0: give a number >= 1"),
        (["--duration=1", "--q=1"], "--q has 1 number, but the robot has 3 joints"),
        (["--duration=1", "--q=9,0,0"], "the position 9 rad of joint 'turn' is not between its limits"),
        (["--duration=1", "--noise=1"], "--noise has 1 numbers: give three"),
        (["--duration=1", "--noise=-1,0,0"], "the setting position_noise is -1.0"),
        (["--duration=1", "--payload=base"], "--payload 'base': give LINK,MASS or"),
        (["--duration=1", "--payload=knee,1"], "no link 'knee'"),
        (["--duration=1", "--payload=carriage,x"], "--payload holds 'x'"),
        (["--duration=1", "--model-error=2"], "the model error is 2.0: give a number from 0 to 0.9"),
        (["--duration=1", "--model-error=0.1", "--seed=-1"], "the seed is -1"),
        (["--duration=1", "--gravity=1,2"], "--gravity has 2 numbers: give three"),
        (["--duration=1", "--loops=nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_bad_options_end_in_a_sentence(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(RRP, "--out", str(tmp_path / "states.csv"), *words) == 1
    said = capsys.readouterr().err
    assert sentence in said
    assert names_in(tmp_path) == []


def test_the_efforts_are_not_overwritten(efforts: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(efforts).read_text()
    assert simulate(RRP, "--effort", efforts, "--out", efforts) == 1
    assert "--out would replace the efforts" in capsys.readouterr().err
    assert Path(efforts).read_text() == before


def test_states_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(RRP, "--duration=1", "--out", str(tmp_path / "nowhere" / "states.csv")) == 1
    assert "cannot write" in capsys.readouterr().err
    assert simulate(RRP, "--duration=1", "--out", str(tmp_path)) == 1
    assert "this is no regular file" in capsys.readouterr().err


def test_ctrl_c_leaves_no_half_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real signal, after a hundred states."""
    whole, written = states_csv.Lines.line, []

    def line(self: states_csv.Lines, sample: object) -> str:
        written.append(sample)
        if len(written) == 100:
            os.kill(os.getpid(), signal.SIGINT)
        return whole(self, sample)

    monkeypatch.setattr(states_csv.Lines, "line", line)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        out = tmp_path / "states.csv"
        out.write_text("before")
        assert simulate(RRP, "--duration=1e5", "--out", str(out)) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "dyn: interrupted\n"
    assert names_in(tmp_path) == ["states.csv"]
    assert out.read_text() == "before"


def test_a_simulation_that_diverges_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>' + (
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        '<joint name="slide" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
        '<limit effort="9" velocity="9" lower="-1e9" upper="1e9"/><dynamics damping="1e5"/></joint></robot>'
    )
    path = write(tmp_path / "stiff.urdf", text)
    assert simulate(path, "--duration=1", "--out", str(tmp_path / "states.csv")) == 1
    said = capsys.readouterr().err
    assert "dyn: error: the simulation diverges at 0.00" in said
    assert "joint 'slide'" in said
    assert names_in(tmp_path) == ["stiff.urdf"]
