# SPDX-License-Identifier: Apache-2.0
"""``dyn log``: its report about good and bad logs, and its exit codes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import Command
from dyn_process import interrupted, started
from log_case import arm, motion, motion_csv

from dyn_core.core.messages import Message


@pytest.fixture
def log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, capsys, "log", str(tmp_path / "log.csv"))


def test_a_good_log(log: Command) -> None:
    path = motion_csv(log.folder / "log.csv", motion())
    lines = log().out.splitlines()
    assert lines[0].split() == ["joint", "position", "step", "speed", "effort", "step"]
    assert lines[1].split()[0] == "shoulder"
    assert lines[-1].startswith(f"{path}, CSV: 3 joints, 1600 samples in 7.995 s, 200 Hz, steps within ")
    assert len(lines) == 5


def test_json(log: Command) -> None:
    m = motion()
    m.q[500:560, 1] = np.nan
    motion_csv(log.folder / "log.csv", m)
    found = log.json("--robot", log.write("arm.urdf", arm(m.joints)))
    assert (found["usable"], found["form"], found["rate"]) == (True, "CSV", pytest.approx(200.0))
    assert [joint["name"] for joint in found["joints"]] == list(m.joints)
    first = found["joints"][0]
    assert first["position"]["max"] == pytest.approx(m.q[:, 0].max())
    assert first["effort"]["min"] == pytest.approx(np.delete(m.tau[:, 0], range(500, 560)).min())
    assert [segment["samples"] for segment in found["segments"]] == [500, 1040]
    assert found["counts"] == {"error": 0, "warning": 2, "note": 0}
    assert found["findings"][0]["severity"] == "warning"


def test_an_unusable_log_is_refused(log: Command) -> None:
    assert "no such file" in log(code=1).out
    m = motion()
    path = motion_csv(log.folder / "log.csv", replace(m, tau=0.0 * m.tau))
    out = log(code=1).out
    assert out.startswith(f"error: log: {Message('efforts-zero', joints=m.joints)}\n")
    assert out.endswith(f"{path}, CSV: it cannot be used\n")
    found = log.json(code=1)
    assert found["usable"] is False
    assert "joints" not in found


def test_unusable_maps_and_robots_are_refused(log: Command) -> None:
    motion_csv(log.folder / "log.csv", motion())
    bad = log.write("map.yaml", "joints: [a]")
    log.refused("--map", bad, code="node-not-mapping", file=bad, line=1)
    log.refused("--robot", bad, code="xml-malformed", file=bad)
    log.refused("--map", str(log.folder / "no.yaml"), code="path-missing")


def test_ctrl_c_ends_the_reading(tmp_path: Path) -> None:
    """Ctrl-C while an endless log is read."""
    pipe = tmp_path / "log"
    code = (
        "import sys; from dyn_core.logs.readers import csv; from dyn_core.cli.main import main\n"
        "def endless(file):\n"
        "    print('reading', file=sys.stderr, flush=True)\n"
        "    yield b'time,position.a,effort.a\\n0,0,0\\n'\n"
        "    while True: yield b'1,2,3\\n' * 1000\n"
        "csv._data = endless\n"
        f"sys.exit(main(['log', {str(pipe)!r}]))"
    )
    pipe.write_text("time,position.a,effort.a\n")
    out, err = interrupted(started(code), "reading", "stderr")
    assert out == ""
    assert err == "dyn: interrupted\n"
