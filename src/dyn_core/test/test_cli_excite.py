# SPDX-License-Identifier: Apache-2.0
"""``dyn excite``: what it prints and writes, what it says of mistakes, and that it leaves no half file."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from dyn_process import interrupted, started

import dyn_core
from dyn_core.cli.main import main
from dyn_core.cli.motion_commands import excite as command
from dyn_core.control.plan import planned
from dyn_core.control.trajectories.trajectory_planning import trajectory_points
from dyn_core.excitation.exciting_trajectory import sample_times

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
RRP = str(ROBOTS / "rrp.urdf")
NAMES = ("turn", "lift", "stretch")
QUICK = ("--duration=10", "--blend=1.5", "--tries=1", "--iterations=20")


def excite(*arguments: str) -> int:
    return main(["excite", RRP, *QUICK, *arguments])


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def expected() -> dyn_core.Excitation:
    settings = dyn_core.ExcitationSettings(duration=10.0, blend=1.5, tries=1, iterations=20)
    return dyn_core.excite(dyn_core.load_robot(RRP), settings)


def test_a_summary_to_read(expected: dyn_core.Excitation, capsys: pytest.CaptureFixture[str]) -> None:
    assert excite() == 0
    said = capsys.readouterr()
    assert said.err == "", "no progress where standard error is no terminal"
    lines = said.out.splitlines()
    assert lines[0] == "rrp: 10 s from rest to rest, 5 harmonics of 7 s, seed 0"
    assert lines[1] == (
        f"condition number {expected.condition:.4g} (of the first motion within the limits: "
        f"{expected.initial_condition:.4g}) of {len(expected.parameter_names)} columns of unit length"
    )
    assert lines[3].split() == ["joint", "start", "range", "used", "speed", "acceleration", "effort"]
    words = ["turn", "0", "-2.945", "to", "2.945", "rad", "1.6", "rad/s", "3.2", "rad/s^2", "48", "N", "m"]
    assert lines[4].split() == words
    assert lines[6].split()[:6] == ["stretch", "0.175", "0.00875", "to", "0.3412", "m"]
    assert [line.split(":")[0] for line in lines[8:12]] == [
        f"tightest {kind}" for kind in ("position", "velocity", "acceleration", "effort")
    ]
    assert any(line.startswith("assumed: 'turn', 'lift', 'stretch': no acceleration limit") for line in lines)
    assert lines[-1] == "assumed: the motion begins and ends in the middle of all ranges"


def test_what_the_motion_hides_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert excite("--acceleration", "lift=1e-4") == 0
    said = capsys.readouterr().out
    line = next(line for line in said.splitlines() if line.startswith("hardly shown by this motion"))
    assert " MY2" in line
    assert "more of the limits" in line
    assert excite("--acceleration", "lift=1e-4", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert "MY2" in answer["hidden"]
    assert set(answer["hidden"]) < set(answer["parameters"])


def test_json(expected: dyn_core.Excitation, capsys: pytest.CaptureFixture[str]) -> None:
    assert excite("--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["condition"] == expected.condition
    assert answer["joint_names"] == list(NAMES)
    assert answer["duration"] == 10.0
    assert answer["complete"] is True
    assert answer["parameters"] == list(expected.parameter_names)
    np.testing.assert_array_equal(answer["series"]["amplitudes"], expected.trajectory.amplitudes)
    assert [margin["kind"] for margin in answer["margins"]] == [
        "position",
        "velocity",
        "acceleration",
        "effort",
    ]
    assert all(0.0 <= margin["room"] < 1.0 for margin in answer["margins"])
    assert answer["limits"][2]["effort_unit"] == "N"


def test_csv(expected: dyn_core.Excitation, tmp_path: Path) -> None:
    out = tmp_path / "motion.csv"
    assert excite("--out", str(out), "--rate", "50") == 0
    with out.open(newline="") as file:
        header, *rows = csv.reader(file)
    kinds = ("position", "velocity", "acceleration", "effort")
    assert header == ["time", *(f"{kind}.{name}" for kind in kinds for name in NAMES)]
    table = np.array(rows, dtype=float)
    np.testing.assert_allclose(table[:, 0], np.linspace(0.0, 10.0, 501), atol=1e-11)
    q, qd, qdd = expected.trajectory.at_many(table[:, 0])
    np.testing.assert_allclose(table[:, 1:10], np.hstack([q, qd, qdd]), atol=1e-9)
    tau = dyn_core.compile_model(dyn_core.load_robot(RRP)).inverse_dynamics(q, qd, qdd)
    moving = np.abs(qd).min(axis=1) > 1e-9
    np.testing.assert_allclose(table[moving, 10:], tau[moving], atol=1e-7)
    # It is a log that can be read.
    log = dyn_core.read_log(str(out), robot=dyn_core.load_robot(RRP))
    np.testing.assert_allclose(log.q, q, atol=1e-9)


@pytest.mark.parametrize("suffix", ["yaml", "yml"])
def test_a_joint_trajectory(expected: dyn_core.Excitation, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"motion.{suffix}"
    assert excite("-o", str(out), "--rate=7.3") == 0
    message = yaml.safe_load(out.read_text())
    assert set(message) == {"joint_names", "points"}
    assert message["joint_names"] == list(NAMES)
    points = message["points"]
    assert len(points) == 74
    assert set(points[0]) == {"positions", "velocities", "accelerations", "time_from_start"}
    times = np.array(
        [point["time_from_start"]["sec"] + 1e-9 * point["time_from_start"]["nanosec"] for point in points]
    )
    np.testing.assert_allclose(times, [*(np.arange(73) / 7.3), 10.0], atol=1e-9)
    assert all(isinstance(x, float) for point in points for x in point["accelerations"])
    vectors = [
        np.array([point[key] for point in points]) for key in ("positions", "velocities", "accelerations")
    ]
    for given, wanted in zip(vectors, expected.trajectory.at_many(times), strict=True):
        np.testing.assert_allclose(given, wanted, atol=1e-8)
    assert not np.abs(vectors[1][[0, -1]]).any()
    assert points[-1]["time_from_start"] == {"sec": 10, "nanosec": 0}


def test_the_joint_trajectory_is_one_that_is_followed(expected: dyn_core.Excitation, tmp_path: Path) -> None:
    """Quintic splines through points at 100 Hz are the motion."""
    out = tmp_path / "motion.yaml"
    assert excite("-o", str(out)) == 0
    message = yaml.safe_load(out.read_text())
    times = [p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in message["points"]]
    vectors = [
        np.array([p[key] for p in message["points"]]) for key in ("positions", "velocities", "accelerations")
    ]
    points = trajectory_points(message["joint_names"], NAMES, times, *vectors)
    trajectory = planned(points, 0.0)
    for t in np.random.default_rng(0).uniform(0.0, 10.0, 50):
        sample = trajectory.motion(float(t))
        q, qd, _ = expected.trajectory.at(float(t))
        np.testing.assert_allclose(sample.q, q, atol=1e-6)
        np.testing.assert_allclose(sample.qd, qd, atol=1e-5)


def test_a_json_file(expected: dyn_core.Excitation, tmp_path: Path) -> None:
    out = tmp_path / "motion.json"
    assert excite("-o", str(out), "--rate=10") == 0
    answer = json.loads(out.read_text())
    assert answer["condition"] == expected.condition
    assert len(answer["time"]) == 101
    np.testing.assert_array_equal(answer["position"], expected.trajectory.at_many(np.array(answer["time"])).q)
    assert np.shape(answer["effort"]) == (101, 3)


def test_the_same_file_twice(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        assert excite("-o", str(tmp_path / name), "--seed=7") == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_options_do_what_the_settings_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    boxes = tmp_path / "boxes.yaml"
    boxes.write_text("boxes: [{name: post, joints: {turn: [1, 1.5]}}]")
    words = [
        *(
            "--start",
            "0.5",
            "-1e-1",
            "0.1",
            "--position-scale=0.9",
            "--velocity-scale=0.5",
            "--effort-scale=0.7",
        ),
        *("--acceleration", "lift=1.5", "--acceleration=turn=2", "--acceleration-scale", "0.8", "--seed=3"),
        *("--boxes", str(boxes), "--box", "lift=0.2:9,stretch=0.2:9", "--periods=2", "--harmonics=3"),
    ]
    assert excite("--json", *words) == 0
    answer = json.loads(capsys.readouterr().out)
    settings = dyn_core.ExcitationSettings(
        duration=10.0,
        blend=1.5,
        tries=1,
        iterations=20,
        start=[0.5, -0.1, 0.1],
        position_scale=0.9,
        velocity_scale=0.5,
        effort_scale=0.7,
        accelerations={"lift": 1.5, "turn": 2.0},
        acceleration_scale=0.8,
        seed=3,
        boxes=(
            dyn_core.ForbiddenBox("post", {"turn": (1.0, 1.5)}),
            dyn_core.ForbiddenBox("x", {"lift": (0.2, 9.0), "stretch": (0.2, 9.0)}),
        ),
        periods=2,
        harmonics=3,
    )
    found = dyn_core.excite(dyn_core.load_robot(RRP), settings)
    np.testing.assert_array_equal(answer["series"]["phases"], found.trajectory.phases)
    assert answer["condition"] == found.condition
    assert answer["boxes"][0] == {"name": "post", "joints": {"turn": [1.0, 1.5]}}
    assert answer["scales"] == {"position": 0.9, "velocity": 0.5, "acceleration": 0.8, "effort": 0.7}
    assert {margin["name"] for margin in answer["margins"]} & {"post", "lift=0.2:9,stretch=0.2:9"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--out", "motion.txt"],
            "--out 'motion.txt': give a name that ends in one of '.csv', '.yaml', '.yml', '.json'",
        ),
        (["--rate=10"], "--rate is given, and no file to write: give --out, too"),
        (["--out=a.csv", "--rate=0"], "--rate is 0.0: give a finite number of samples in a second > 0"),
        (
            ["--out=a.csv", "--rate=1e9"],
            "--rate is 1e+09, which gives more than 5000000 samples: give a lower one",
        ),
        (["--duration=2"], "duration is 2 s, which two blends of 1.5 s leave nothing of"),
        (["--duration=x"], "--duration holds 'x': give finite numbers"),
        (["--velocity-scale=2"], "velocity_scale is 2.0: give a number > 0, at most 1"),
        (["--seed=-1"], "seed is -1: give a whole number >= 0"),
        (["--start", "0", "0"], "--start has 2 numbers, but the robot has 3 joints"),
        (["--start", "0", "0", "9"], "joint 'stretch' would stand at 9 m, and the range that is used is"),
        (["--acceleration=3"], "--acceleration '3': give JOINT=VALUE"),
        (["--acceleration=lift=x"], "--acceleration holds 'x': give finite numbers"),
        (["--acceleration=elbow=1"], "an acceleration limit is given for joint 'elbow'"),
        (["--box=lift"], "--box 'lift': give JOINT=VALUE"),
        (["--box=lift=1"], "--box has 1 numbers: give 2"),
        (["--box=lift=0:1,lift=2:3"], "--box 'lift=0:1,lift=2:3' names joint 'lift' twice: give each once"),
        (["--box=lift=-9:9"], "box 'lift=-9:9' holds all positions within the limits"),
        (["--box=elbow=-9:9"], "box 'elbow=-9:9' names joint 'elbow', which robot 'rrp' does not have"),
        (["--boxes=none.yaml"], "no such file"),
        (["--gravity", "0", "0", "-500"], "of 1000 positions the robot may stand at none"),
    ],
)
def test_mistakes(
    words: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert excite(*words) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"dyn: error: {sentence}")
    assert said.err.count("\n") == 1
    assert names_in(tmp_path) == []


def test_a_place_that_cannot_be_written_is_told_of_before_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "found", lambda *_: pytest.fail("it searched"))
    assert excite("--out", str(tmp_path / "none" / "a.csv")) == 1
    assert "dyn: error: cannot write" in capsys.readouterr().err


def test_times_of_samples() -> None:
    np.testing.assert_allclose(sample_times(1.0, 4.0), [0.0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(sample_times(1.0, 3.5), [0.0, 2 / 7, 4 / 7, 6 / 7, 1.0])
    np.testing.assert_allclose(sample_times(0.3, 10.0), [0.0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(sample_times(2.0, 0.1), [0.0, 2.0])


ENDLESS = ("--duration=30", "--tries=1", "--iterations=100000")


def searching(out: Path, *words: str, **options: object) -> subprocess.Popen[str]:
    """Start a search that goes on for long, and tells on standard output of its first step."""
    code = (
        "import sys\nfrom dyn_core.cli.motion_commands import excite\nfrom dyn_core.cli.main import main\n"
        "found = excite.found\n"
        "def telling(robot, settings, report):\n"
        "    def told(progress):\n"
        "        print('step', flush=True)\n"
        "        return report(progress)\n"
        "    return found(robot, settings, told)\n"
        "excite.found = telling\n"
        f"sys.exit(main(['excite', {RRP!r}, '--out', {str(out)!r}, *{(*ENDLESS, *words)!r}]))"
    )
    return started(code, **options)


def test_interrupted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("before")
    _, err = interrupted(searching(tmp_path / "a.csv"), "step")
    assert err == "dyn: interrupted\n"
    assert names_in(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "before"


def test_interrupted_with_the_best_so_far(tmp_path: Path) -> None:
    out, err = interrupted(searching(tmp_path / "a.json", "--keep-best"), "step")
    assert err == "dyn: interrupted: this is the best trajectory so far\n"
    assert "condition number" in out
    answer = json.loads((tmp_path / "a.json").read_text())
    assert answer["complete"] is False
    assert answer["time"][-1] == 30.0


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_on_a_terminal(tmp_path: Path, quiet: bool) -> None:
    own, theirs = pty.openpty()
    words = (*QUICK, *(["--quiet"] if quiet else []))
    process = searching(tmp_path / "a.csv", *words, stderr=theirs)
    os.close(theirs)
    process.communicate(timeout=60)
    assert process.returncode == 0
    shown = b""
    try:
        while piece := os.read(own, 65536):
            shown += piece
    except OSError:  # this is how the other end of a terminal says that it is closed
        pass
    os.close(own)
    text = shown.decode()
    if quiet:
        assert text == ""
        return
    bars = re.findall(r"\r\[(#*)(\.*)\] +(\d+) %  condition number (\S+), best (\S+)", text)
    assert len(bars) > 5
    assert [int(bar[2]) for bar in bars] == sorted(int(bar[2]) for bar in bars)
    assert all(len(bar[0]) + len(bar[1]) == 30 for bar in bars)
    assert text.endswith(" \r"), "the bar is taken away"
