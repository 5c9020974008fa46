# SPDX-License-Identifier: Apache-2.0
"""``dyn log``: what it says of logs, good and bad, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from dyn_process import interrupted, started
from log_case import Motion, arm, motion, motion_csv

from dyn_core.cli.main import main


@pytest.fixture
def m() -> Motion:
    return motion()


def test_a_good_log(m: Motion, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = motion_csv(tmp_path / "log.csv", m)
    assert main(["log", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["joint", "position", "step", "speed", "effort", "step"]
    assert lines[1].split()[0] == "shoulder"
    assert lines[-1].startswith(f"{path}, CSV: 3 joints, 1600 samples in 7.995 s, 200 Hz, steps within ")
    assert len(lines) == 5


def test_json(m: Motion, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    m.q[500:560, 1] = np.nan
    path = motion_csv(tmp_path / "log.csv", m)
    robot = tmp_path / "arm.urdf"
    robot.write_text(arm(m.joints))
    assert main(["log", str(path), "--json", "--robot", str(robot)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["usable"] is True
    assert answer["form"] == "CSV"
    assert [joint["name"] for joint in answer["joints"]] == list(m.joints)
    assert answer["joints"][0]["position"]["max"] == pytest.approx(m.q[:, 0].max())
    assert answer["joints"][0]["effort"]["min"] == pytest.approx(
        np.delete(m.tau[:, 0], range(500, 560)).min()
    )
    assert answer["rate"] == pytest.approx(200.0)
    assert [segment["samples"] for segment in answer["segments"]] == [500, 1040]
    assert answer["counts"] == {"error": 0, "warning": 2, "note": 0}
    assert answer["findings"][0]["severity"] == "warning"


def test_a_log_that_cannot_be_used(m: Motion, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    m.tau[:] = 0.0
    path = motion_csv(tmp_path / "log.csv", m)
    assert main(["log", str(path)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("error: log: the efforts of 'shoulder', 'elbow', 'wrist' are 0 all the time")
    assert out.endswith(f"{path}, CSV: it cannot be used\n")
    assert main(["log", str(path), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["usable"] is False
    assert "joints" not in answer
    assert main(["log", str(tmp_path / "nothing")]) == 1
    assert "is neither a log nor the directory of a bag" in capsys.readouterr().out


def test_maps_and_robots_that_cannot_be_used(
    m: Motion, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = motion_csv(tmp_path / "log.csv", m)
    bad = tmp_path / "map.yaml"
    bad.write_text("joints: [a]")
    assert main(["log", str(path), "--map", str(bad)]) == 1
    assert f"dyn: error: {bad}: joints (line 1): it must be a mapping" in capsys.readouterr().err
    assert main(["log", str(path), "--robot", str(bad)]) == 1
    assert f"dyn: error: {bad}" in capsys.readouterr().err
    assert main(["log", str(path), "--map", str(tmp_path / "no.yaml")]) == 1
    assert "dyn: error: no such file" in capsys.readouterr().err


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C while a log that has no end is read."""
    pipe = tmp_path / "log"
    code = (
        "import sys; from dyn_core.logs.readers import csv as read_csv; from dyn_core.cli.main import main\n"
        "def endless(file):\n"
        "    print('reading', file=sys.stderr, flush=True)\n"
        "    yield b'time,position.a,effort.a\\n0,0,0\\n'\n"
        "    while True: yield b'1,2,3\\n' * 1000\n"
        "read_csv._data = endless\n"
        f"sys.exit(main(['log', {str(pipe)!r}]))"
    )
    pipe.write_text("time,position.a,effort.a\n")
    out, err = interrupted(started(code), "reading", "stderr")
    assert out == ""
    assert err == "dyn: interrupted\n"
