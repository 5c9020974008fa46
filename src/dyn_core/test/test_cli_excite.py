# SPDX-License-Identifier: Apache-2.0
"""``dyn excite``: output, files, errors, and no partial file after an error."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from commands import Command
from dyn_process import interrupted, started
from refusals import refused_command, rows, summary
from robots import ROBOTS

import dyn_core
from dyn_core.cli.motion_commands import excite as command
from dyn_core.control.trajectories.trajectory_planning import planned, trajectory_points
from dyn_core.excitation.exciting_trajectory import sample_times

RRP = str(ROBOTS / "rrp.urdf")
NAMES = ("turn", "lift", "stretch")
KINDS = ["position", "velocity", "acceleration", "effort"]
QUICK = ("--duration=10", "--blend=1.5", "--tries=1", "--iterations=20")
SETTINGS = {"duration": 10.0, "blend": 1.5, "tries": 1, "iterations": 20}


@pytest.fixture
def excite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """``dyn excite`` of a small robot, with a short search."""
    return Command(tmp_path, capsys, "excite", RRP, *QUICK)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def expected() -> dyn_core.Excitation:
    return dyn_core.excite(dyn_core.load_robot(RRP), dyn_core.ExcitationSettings(**SETTINGS))


def test_the_printed_summary(expected: dyn_core.Excitation, excite: Command) -> None:
    out, err = excite()
    assert err == "", "no progress where standard error is no terminal"
    lines = out.splitlines()
    assert lines[0] == "rrp: 10 s from rest to rest, 5 harmonics of 7 s, seed 0"
    first = f"(of the first motion within the limits: {expected.initial_condition:.4g})"
    count = f"{len(expected.parameter_names)} columns of unit length"
    assert lines[1] == f"condition number {expected.condition:.4g} {first} of {count}"
    assert lines[3].split() == ["joint", "start", "range", "used", "speed", "acceleration", "effort"]
    assert " ".join(lines[4].split()) == "turn 0 -2.945 to 2.945 rad 1.6 rad/s 3.2 rad/s^2 48 N m"
    assert lines[6].split()[:6] == ["stretch", "0.175", "0.00875", "to", "0.3412", "m"]
    assert [line.split(":")[0] for line in lines[8:12]] == [f"tightest {kind}" for kind in KINDS]
    assert any(line.startswith("assumed: 'turn', 'lift', 'stretch': no acceleration limit") for line in lines)
    assert lines[-1] == "assumed: the motion begins and ends in the middle of all ranges"


def test_parameters_that_the_motion_hides_are_named(excite: Command) -> None:
    lines = excite("--acceleration", "lift=1e-4").out.splitlines()
    line = next(line for line in lines if line.startswith("hardly shown by this motion"))
    assert " MY2" in line
    assert "more of the limits" in line
    found = excite.json("--acceleration", "lift=1e-4")
    assert "MY2" in found["hidden"]
    assert set(found["hidden"]) < set(found["parameters"])


def test_json(expected: dyn_core.Excitation, excite: Command) -> None:
    found = excite.json()
    assert found["condition"] == expected.condition
    assert (found["joint_names"], found["duration"], found["complete"]) == (list(NAMES), 10.0, True)
    assert found["parameters"] == list(expected.parameter_names)
    np.testing.assert_array_equal(found["series"]["amplitudes"], expected.trajectory.amplitudes)
    assert [margin["kind"] for margin in found["margins"]] == KINDS
    assert all(0.0 <= margin["room"] < 1.0 for margin in found["margins"])
    assert found["limits"][2]["effort_unit"] == "N"


def test_csv(expected: dyn_core.Excitation, excite: Command) -> None:
    out = excite.folder / "motion.csv"
    excite("--out", str(out), "--rate", "50")
    with out.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["time", *(f"{kind}.{name}" for kind in KINDS for name in NAMES)]
    table = np.array(rows, dtype=float)
    np.testing.assert_allclose(table[:, 0], np.linspace(0.0, 10.0, 501), atol=1e-11)
    q, qd, qdd = expected.trajectory.at_many(table[:, 0])
    np.testing.assert_allclose(table[:, 1:10], np.hstack([q, qd, qdd]), atol=1e-9)
    tau = dyn_core.compile_model(dyn_core.load_robot(RRP)).inverse_dynamics(q, qd, qdd)
    moving = np.abs(qd).min(axis=1) > 1e-9
    np.testing.assert_allclose(table[moving, 10:], tau[moving], atol=1e-7)
    # The file can be read as a log.
    log = dyn_core.read_log(str(out), robot=dyn_core.load_robot(RRP))
    np.testing.assert_allclose(log.q, q, atol=1e-9)


def vectors_of(message: dict[str, Any]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the times, positions, velocities and accelerations of trajectory points."""
    points = message["points"]
    stamps = [point["time_from_start"] for point in points]
    names = ("positions", "velocities", "accelerations")
    assert all(set(point) == {*names, "time_from_start"} for point in points)
    vectors = [np.array([point[name] for point in points]) for name in names]
    return np.array([stamp["sec"] + 1e-9 * stamp["nanosec"] for stamp in stamps]), vectors


@pytest.mark.parametrize("suffix", ["yaml", "yml"])
def test_a_joint_trajectory(expected: dyn_core.Excitation, excite: Command, suffix: str) -> None:
    out = excite.folder / f"motion.{suffix}"
    excite("-o", str(out), "--rate=7.3")
    message = yaml.safe_load(out.read_text())
    assert set(message) == {"joint_names", "points"}
    assert message["joint_names"] == list(NAMES)
    points = message["points"]
    times, vectors = vectors_of(message)
    np.testing.assert_allclose(times, [*(np.arange(73) / 7.3), 10.0], atol=1e-9)
    assert all(isinstance(x, float) for point in points for x in point["accelerations"])
    for given, wanted in zip(vectors, expected.trajectory.at_many(times), strict=True):
        np.testing.assert_allclose(given, wanted, atol=1e-8)
    assert not np.abs(vectors[1][[0, -1]]).any()
    assert points[-1]["time_from_start"] == {"sec": 10, "nanosec": 0}


def test_splines_through_the_joint_trajectory_give_the_motion(
    expected: dyn_core.Excitation, excite: Command
) -> None:
    """Quintic splines through points at 100 Hz reproduce the motion."""
    excite("-o", str(excite.folder / "motion.yaml"))
    message = yaml.safe_load((excite.folder / "motion.yaml").read_text())
    times, vectors = vectors_of(message)
    trajectory = planned(trajectory_points(message["joint_names"], NAMES, times.tolist(), *vectors), 0.0)
    for t in np.random.default_rng(0).uniform(0.0, 10.0, 50):
        sample = trajectory.motion(float(t))
        q, qd, _ = expected.trajectory.at(float(t))
        np.testing.assert_allclose(sample.q, q, atol=1e-6)
        np.testing.assert_allclose(sample.qd, qd, atol=1e-5)


def test_a_json_file(expected: dyn_core.Excitation, excite: Command) -> None:
    excite("-o", str(excite.folder / "motion.json"), "--rate=10")
    found = json.loads((excite.folder / "motion.json").read_text())
    assert found["condition"] == expected.condition
    assert len(found["time"]) == 101
    np.testing.assert_array_equal(found["position"], expected.trajectory.at_many(np.array(found["time"])).q)
    assert np.shape(found["effort"]) == (101, 3)


def test_the_same_arguments_give_the_same_file(excite: Command) -> None:
    for name in ("a.csv", "b.csv"):
        excite("-o", str(excite.folder / name), "--seed=7")
    assert (excite.folder / "a.csv").read_bytes() == (excite.folder / "b.csv").read_bytes()


def test_options_have_the_effect_of_the_settings(excite: Command) -> None:
    boxes = excite.write("boxes.yaml", "boxes: [{name: post, joints: {turn: [1, 1.5]}}]")
    words = (
        "--start 0.5 -1e-1 0.1 --position-scale=0.9 --velocity-scale=0.5 --effort-scale=0.7 --seed=3 "
        "--acceleration lift=1.5 --acceleration=turn=2 --acceleration-scale 0.8 --periods=2 --harmonics=3 "
        "--box lift=0.2:9,stretch=0.2:9 --boxes"
    )
    found = excite.json(*words.split(), boxes)
    scales = {"position": 0.9, "velocity": 0.5, "acceleration": 0.8, "effort": 0.7}
    settings = dyn_core.ExcitationSettings(
        **{**SETTINGS, "start": [0.5, -0.1, 0.1], "seed": 3, "periods": 2, "harmonics": 3},
        **{f"{kind}_scale": scale for kind, scale in scales.items()},
        accelerations={"lift": 1.5, "turn": 2.0},
        boxes=(
            dyn_core.ForbiddenBox("post", {"turn": (1.0, 1.5)}),
            dyn_core.ForbiddenBox("x", {"lift": (0.2, 9.0), "stretch": (0.2, 9.0)}),
        ),
    )
    expected = dyn_core.excite(dyn_core.load_robot(RRP), settings)
    np.testing.assert_array_equal(found["series"]["phases"], expected.trajectory.phases)
    assert found["condition"] == expected.condition
    assert found["boxes"][0] == {"name": "post", "joints": {"turn": [1.0, 1.5]}}
    assert found["scales"] == scales
    assert {margin["name"] for margin in found["margins"]} & {"post", "lift=0.2:9,stretch=0.2:9"}


@pytest.mark.parametrize(
    ("words", "found"),
    rows(
        """
        --out motion.txt => output-form-unknown: [.csv, .yaml, .yml, .json], motion.txt
        --rate=10 => output-missing
        --out=a.csv --rate=0 => option-unusable: setting-range
        --out=a.csv --rate=1e9 => option-unusable: rate-too-high
        --duration=1e12 => option-unusable: duration-too-long
        --out=a.csv --duration=1e12 --rate=1 => option-unusable: rate-too-high
        --duration=2 => duration-too-short: 1.5, 2
        --duration=x => option-not-finite: x, --duration
        --velocity-scale=2 => setting-range: a number > 0, at most 1, 2, velocity_scale
        --seed=-1 => setting-range: a whole number >= 0, -1, seed
        --start 0 0 => option-numbers-count: the robot has 3 joints, 2, --start
        --start 0 0 9 => start-out-of-range: stretch, 0.00875, 9, m, 0.3412
        --acceleration=3 => option-pair-malformed: 3, --acceleration
        --acceleration=lift=x => option-not-finite: x, --acceleration
        --acceleration=elbow=1 => setting-joint-dependent: elbow, [turn, lift, stretch], an acceleration limit
        --box=lift => option-pair-malformed: lift, --box
        --box=lift=1 => option-count: 2, 1, --box
        --box=lift=0:1,lift=2:3 => box-joint-repeated: lift=0:1,lift=2:3, lift
        --box=lift=-9:9 => box-covers-range: lift=-9:9, lift, -0.94, rad, 1.34
        --box=elbow=-9:9 => box-joint-unknown: elbow=-9:9, elbow, [turn, lift, stretch], rrp
        --boxes=none.yaml => path-missing: YAML, none.yaml
        --gravity 0 0 -500 => rest-position-not-found: start-effort-exceeded, 1000
        """
    ),
)
def test_wrong_arguments_are_refused(
    words: str,
    found: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    error = refused_command(["excite", RRP, *QUICK, *words.split()], found.split(":")[0].strip())
    assert summary(error) == found
    assert capsys.readouterr() == ("", f"dyn: error: {error}\n")
    assert "\n" not in str(error)
    assert names_in(tmp_path) == []


def test_a_path_that_cannot_be_written_is_refused_before_the_search(
    excite: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "found", lambda *_: pytest.fail("it searched"))
    path = str(excite.folder / "none" / "a.csv")
    excite.refused("--out", path, code="file-unwritable", path=path)


def test_times_of_samples() -> None:
    np.testing.assert_allclose(sample_times(1.0, 4.0), [0.0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(sample_times(1.0, 3.5), [0.0, 2 / 7, 4 / 7, 6 / 7, 1.0])
    np.testing.assert_allclose(sample_times(0.3, 10.0), [0.0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(sample_times(2.0, 0.1), [0.0, 2.0])


ENDLESS = ("--duration=30", "--tries=1", "--iterations=100000")


def searching(out: Path, *words: str, **options: object) -> subprocess.Popen[str]:
    """Start a long search that reports its first step on standard output."""
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


def test_an_interrupt_ends_the_search_without_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("before")
    _, err = interrupted(searching(tmp_path / "a.csv"), "step")
    assert err == "dyn: interrupted\n"
    assert names_in(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "before"


def test_an_interrupt_can_keep_the_best_so_far(tmp_path: Path) -> None:
    out, err = interrupted(searching(tmp_path / "a.json", "--keep-best"), "step")
    assert err == "dyn: interrupted: this is the best trajectory so far\n"
    assert "condition number" in out
    answer = json.loads((tmp_path / "a.json").read_text())
    assert answer["complete"] is False
    assert answer["time"][-1] == 30.0


@pytest.mark.parametrize("options", [(), ("--quiet",)], ids=["bar", "quiet"])
def test_progress_on_a_terminal(tmp_path: Path, options: tuple[str, ...]) -> None:
    own, theirs = pty.openpty()
    process = searching(tmp_path / "a.csv", *QUICK, *options, stderr=theirs)
    os.close(theirs)
    process.communicate(timeout=60)
    assert process.returncode == 0
    shown = b""
    try:
        while piece := os.read(own, 65536):
            shown += piece
    except OSError:  # how the other end of a terminal reports that it is closed
        pass
    os.close(own)
    text = shown.decode()
    if options:
        assert text == ""
        return
    bars = re.findall(r"(\d+)%.*?condition number (\S+), best ([^\s\x1b]+)", text)
    assert len(bars) > 5
    assert [int(part) for part, *_ in bars] == sorted(int(part) for part, *_ in bars)
    assert text.rstrip().endswith("\x1b[2K"), "the bar is taken away"
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l"), "the cursor is shown again"
