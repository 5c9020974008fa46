# SPDX-License-Identifier: Apache-2.0
"""``dyn simulate``: its output, its messages about bad files, and no partial file after an error."""

from __future__ import annotations

import csv
import math
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from commands import Command
from planar_chains import block
from robots import ROBOTS

import dyn_core
from dyn_core.core import number_table
from dyn_core.simulation import simulation_run as states_csv

RRP = str(ROBOTS / "rrp.urdf")


def table(path: str | Path) -> dict[str, np.ndarray]:
    with Path(path).open(newline="") as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, np.array(rows, dtype=float).T, strict=True))


class Simulate(Command):
    """``dyn simulate`` of the RRP; it writes states.csv."""

    @property
    def out(self) -> Path:
        return self.folder / "states.csv"

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def efforts(self, text: str) -> tuple[str, str]:
        return "--effort", self.write("efforts.csv", text)


@pytest.fixture
def simulate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Simulate:
    return Simulate(tmp_path, capsys, "simulate", RRP, "--out", str(tmp_path / "states.csv"))


@pytest.fixture
def efforts(simulate: Simulate) -> tuple[str, str]:
    rows = [f"{0.002 * k:g},{30 + 20 * math.sin(k / 9)!r},{10 * math.cos(k / 7)!r}" for k in range(101)]
    return simulate.efforts("\n".join(["time,lift,turn", *rows]))


def test_states_follow_the_efforts(simulate: Simulate, efforts: tuple[str, str]) -> None:
    printed, states = simulate(*efforts, "--q", "0.1", "0.2", "0.1", "--step=1e-3"), table(simulate.out)
    assert printed.out == ""
    for part in (f"dyn: warning: {efforts[1]}: ", "'stretch'", "dyn: 0.2 s simulated in ", "x real time"):
        assert part in printed.err
    names = ("turn", "lift", "stretch")
    kinds = ("position", "velocity", "acceleration", "effort")
    assert list(states) == ["time", *(f"{kind}.{name}" for kind in kinds for name in names)]
    np.testing.assert_allclose(states["time"], np.arange(201) * 1e-3, atol=1e-12)
    # Each row of efforts of the file is used for two steps.
    for name, given in ({"stretch": np.zeros(101)} | table(efforts[1])).items():
        if name != "time":
            np.testing.assert_allclose(states[f"effort.{name}"], np.repeat(given, 2)[:201], rtol=1e-11)
    # Where all joints move freely, the inverse dynamics of this motion give these efforts.
    q, qd, qdd, effort = (np.array([states[f"{kind}.{name}"] for name in names]).T for kind in kinds)
    robot = dyn_core.load_robot(RRP)
    lower, upper = np.array([(joint.limits.lower, joint.limits.upper) for joint in robot.joints]).T
    moving = ((q > lower) & (q < upper) & (qd != 0)).all(axis=1)
    assert moving.sum() > 20
    torques = dyn_core.compile_model(robot).inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(torques[moving], effort[moving], atol=1e-8)
    # Positions are the integral of velocities.
    mean = 0.5 * (qd[1:] + qd[:-1])
    np.testing.assert_allclose(np.diff(q, axis=0)[1:], 1e-3 * mean[1:], atol=2e-5)


def test_without_efforts_a_robot_falls(simulate: Simulate) -> None:
    summary = simulate.json("--duration=0.05", "--every=10", "--gravity=0,0,-1")
    found = [summary[key] for key in ("robot", "steps", "step", "duration")]
    assert found == ["rrp", 50, 1e-3, pytest.approx(0.05)]
    assert summary["real_time_factor"] > 0.0
    states = table(simulate.out)
    assert len(states["time"]) == 6
    last = [states[f"position.{name}"][-1] for name in summary["joint_names"]]
    assert last == pytest.approx(summary["position"], rel=1e-11)


def test_options_have_the_effect_of_the_settings(simulate: Simulate, efforts: tuple[str, str]) -> None:
    link = dyn_core.load_robot(RRP).link_names[-1]
    noise, resolution = "--noise=1e-3,1e-3,0.1 --seed 4", "--resolution 0.01,0.1,1"
    results = []
    for words in (
        *("", "--integrator semi_implicit_euler --substeps 4", "--no-friction"),
        *(f"--payload {link},2.0,0,0,0.1 --payload={link},1", "--model-error=0.1 --seed=4"),
        *("--q=0.1,0.2,0.3 --qd 0 -1e-3 0", noise, noise, resolution),
    ):
        simulate(*efforts, *words.split())
        results.append(simulate.out.read_text())
    assert results[-2] == results[-3]
    assert len(set(results)) == len(results) - 1
    positions = table(simulate.out)["position.turn"]
    np.testing.assert_allclose(positions, np.rint(positions / 0.01) * 0.01, atol=1e-12)


TURN = "column 'turn'"
BAD_EFFORTS = [
    ("", "number-table-empty", None, {"expected": "names of joints"}),
    ("\n\n", "number-table-empty", None, {}),
    ("time,turn\n", "table-without-rows", 1, {"expected": "efforts"}),
    ("turn,lift\n0,1\n", "table-time-missing", 1, {"expected": "names of joints"}),
    ("0,1,2\n1,1,2\n", "table-time-missing", 1, {}),
    ("time,knee\n0,1\n", "effort-column-unknown", 1, {"element": "column 'knee'"}),
    ("time,turn,turn\n0,1,1\n", "column-repeated", 1, {"element": TURN}),
    ("time,turn\n0,1\n1,x\n", "line-value-not-finite", 3, {"element": TURN, "given": "x"}),
    ("time,turn\n0,nan\n", "line-value-not-finite", 2, {"element": TURN, "given": "nan"}),
    ("time,turn\n0,1\n1e-13,1\n", "line-time-step-too-short", 3, {"time": 1e-13, "previous": 0.0}),
    ("time,turn\n0,-1e31\n", "line-value-too-large", 2, {"element": TURN, "given": "-1e31"}),
    ("time,turn\n0,1\n\n1,\n", "line-value-not-finite", 4, {"element": TURN, "given": ""}),
    ("time,turn\ninf,1\n", "line-value-not-finite", 2, {"element": "column 'time'", "given": "inf"}),
    ("time,turn\n0,1\n0,1\n", "line-time-not-increasing", 3, {"time": 0.0, "previous": 0.0}),
    ("time,turn\n0,1\n-1,1\n", "line-time-not-increasing", 3, {"time": -1.0, "previous": 0.0}),
    ("time,turn\n0,1\n1,1,1\n", "line-values-count", 3, {"given": 3, "expected": 2}),
    ("time,turn\n0\n", "line-values-count", 2, {"given": 1}),
    ('time,"turn\n0,1\n', "csv-malformed", 2, {}),
    (f"time,turn\n0,{'1' * 200_000}\n", "csv-malformed", 2, {}),
    ("time,turn\n0,1\x00\n1,1\n", "line-value-not-finite", 2, {"element": TURN}),
    ("time,turn\n0,1\n", "duration-undetermined", None, {"file": None}),
    ("time,turn\n0,1\n1e12,1\n", "steps-too-many", None, {"limit": 1_000_000_000, "file": None}),
]


@pytest.mark.parametrize(("text", "code", "line", "values"), BAD_EFFORTS)
def test_bad_efforts(text: str, code: str, line: int | None, values: dict, simulate: Simulate) -> None:
    efforts = simulate.efforts(text)
    simulate.out.write_text("before")
    simulate.refused(*efforts, code=code, **{"line": line, "file": efforts[1], **values})
    assert (simulate.out.read_text(), simulate.files()) == ("before", ["efforts.csv", "states.csv"])


def test_efforts_that_cannot_be_read(simulate: Simulate, monkeypatch: pytest.MonkeyPatch) -> None:
    latin, (_, huge) = simulate.folder / "latin.csv", simulate.efforts("time,turn\n0,1,1\n")
    latin.write_bytes(b"time,turn\n0,\xe9\n")
    monkeypatch.setattr(number_table, "MAX_BYTES", 14)
    for path, code, values in (
        ("nowhere.csv", "file-unreadable", {"reason": "No such file or directory"}),
        (str(simulate.folder), "file-irregular", {}),
        ("/dev/zero", "file-irregular", {}),
        (huge, "table-file-too-large", {"size": 16, "limit": 14}),
        (str(latin), "file-not-utf8", {}),
    ):
        simulate.refused("--effort", path, code=code, file=path, **values)


def test_a_line_of_millions_of_values(simulate: Simulate) -> None:
    """It is refused before it is split: the values would take twenty times the memory of the text."""
    given = simulate.efforts(f"time,turn\n0,0\n0.1,1{',1' * 500_000}\n")
    simulate.refused(*given, code="csv-malformed", line=3)
    simulate(*simulate.efforts(f"time,turn\n0,0\n0.01,{'0' * 100_000}\n"))


def test_joints_without_actuator_take_no_efforts(simulate: Simulate) -> None:
    side = ("--side-file", simulate.write("side.yaml", "passive: [lift]\n"))
    simulate(*simulate.efforts("time,lift\n0,0\n0.01,0\n"), *side)
    moved, code = simulate.efforts("time,lift\n0,0\n0.01,1\n"), "effort-column-of-passive-joint"
    simulate.refused(*moved, *side, code=code, line=3, element="column 'lift'")
    par = "NL = 2 ant = {0,1} sigma = {0,1} d = {0,1} theta = {t1,0} r = {0,0.5*t1} M = {1,1} G = {0,9.81,0}"
    simulate._words = ("simulate", simulate.write("two.par", par), "--out", str(simulate.out))
    efforts = simulate.efforts("time,joint_2\n0,0\n1,0\n")
    simulate.refused(*efforts, code="effort-column-of-mimic", element="column 'joint_2'")


BAD_OPTIONS = [
    ("", "duration-missing", {}),
    ("--duration=0", "duration-range", {"duration": 0.0}),
    ("--duration=nan", "option-not-finite", {"option": "--duration", "given": "nan"}),
    ("--duration=1e9", "steps-too-many", {"limit": 1_000_000_000}),
    ("--step=0", "simulation-setting-invalid", {"setting": "step", "given": 0.0}),
    ("--step=x", "option-not-finite", {"option": "--step", "given": "x"}),
    ("--substeps=0", "simulation-setting-invalid", {"setting": "substeps", "given": 0}),
    ("--every=0", "option-below-one", {"given": 0}),
    ("--q=1", "option-numbers-count", {"given": 1, "expected": "the robot has 3 joints"}),
    ("--q=9,0,0", "position-beyond-limits", {"joint": "turn", "position": 9.0}),
    ("--noise=1", "option-count", {"option": "--noise", "given": 1, "expected": "three"}),
    ("--noise=-1,0,0", "setting-range", {"setting": "the setting position_noise", "given": -1.0}),
    ("--payload=base", "option-malformed", {"option": "--payload", "given": "base"}),
    ("--payload=knee,1", "link-unknown", {"link": "knee"}),
    ("--payload=carriage,x", "option-not-finite", {"option": "--payload", "given": "x"}),
    ("--model-error=2", "setting-range", {"given": 2.0, "expected": "a number from 0 to 0.9"}),
    ("--model-error=0.1 --seed=-1", "setting-range", {"setting": "the seed", "given": -1}),
    ("--gravity=1,2", "option-count", {"option": "--gravity", "given": 2, "expected": "three"}),
    ("--side-file=nowhere.yaml", "path-missing", {"path": "nowhere.yaml"}),
]


@pytest.mark.parametrize(("words", "code", "values"), BAD_OPTIONS)
def test_bad_options(words: str, code: str, values: dict, simulate: Simulate) -> None:
    duration = [] if not words or "duration" in words else ["--duration=1"]
    simulate.refused(*duration, *words.split(), code=code, **values)
    assert simulate.files() == []


def test_states_that_cannot_be_written(simulate: Simulate, efforts: tuple[str, str]) -> None:
    before = Path(efforts[1]).read_text()
    simulate.refused(*efforts, "--out", efforts[1], code="output-replaces-efforts", path=efforts[1])
    assert Path(efforts[1]).read_text() == before
    nowhere, folder = str(simulate.folder / "nowhere" / "states.csv"), str(simulate.folder)
    for path, code in ((nowhere, "file-unwritable"), (folder, "output-irregular")):
        simulate.refused("--duration=1", "--out", path, code=code, path=path)


def test_ctrl_c_leaves_no_partial_file(simulate: Simulate, monkeypatch: pytest.MonkeyPatch) -> None:
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
        simulate.out.write_text("before")
        printed = simulate("--duration=1e5", code=130)
    finally:
        signal.signal(signal.SIGINT, before)
    assert printed.err == "dyn: interrupted\n"
    assert (simulate.files(), simulate.out.read_text()) == (["states.csv"], "before")


def test_a_simulation_that_diverges_leaves_no_file(simulate: Simulate) -> None:
    stiff = simulate.write("stiff.urdf", dyn_core.write_urdf(block(damping=2e5)))
    simulate._words = ("simulate", stiff, "--gravity=9.81,0,0", "--out", str(simulate.out))
    simulate.refused("--duration=1", code="simulation-diverged", joint="slide", time=0.002)
    assert simulate.files() == ["stiff.urdf"]
