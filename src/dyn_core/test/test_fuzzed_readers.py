# SPDX-License-Identifier: Apache-2.0
"""Damaged files end in finite numbers or in a DynError, soon and with little memory, and in nothing else.

`fuzz/README.md` says how to try more of them, and one of them again. Each run tries others: the seed is
printed, and DYN_MUTATIONS_SEED sets it; DYN_MUTATIONS sets how many files there are.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import reader_run
from depth import TIMES
from reader_targets import TARGETS

COUNT = int(os.environ.get("DYN_MUTATIONS", "0")) or round(60_000 * TIMES) or 6000
SEED = os.environ.get("DYN_MUTATIONS_SEED") or str(Random().randrange(10**9))
PROCESSES = 1
"""Tests of other files run beside this one."""
FOUND = [
    pytest.param(name, path, id=f"{name}-{path.name}") for name in TARGETS for path in TARGETS[name].found()
]
LIBRARIES = {"parquet": "pyarrow", "db3": "rosbags", "mcap": "rosbags"}
USED_BY_FEW = ("parameters", "boxes")
"""Formats whose damaged files can nearly never be used."""


def fuzz(*arguments: str) -> int:
    """Return the exit code of the program that `make fuzz` calls, with its arguments in that order."""
    program = Path(reader_run.__file__).with_name("__main__.py")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, program, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode


def test_an_input_is_made_again() -> None:
    assert fuzz("replay", "--seconds", "1", "urdf:7:1234") == 0
    for wrong in (["replay", "--seconds", "1"], ["replay", "nonsense"], ["readers", "urdf:7:1234"]):
        assert fuzz(*wrong) == 2


def test_a_run_that_does_nothing_fails() -> None:
    """A part has to do something, or to say what it left out; a seed is any word."""
    readers = ("readers", "--seed", "any word", "--targets", "limits")
    assert fuzz(*readers, "--count", "20") == 0
    assert fuzz(*readers, "--seconds", "0") == 1


@pytest.mark.parametrize(("name", "path"), FOUND)
def test_files_that_did_harm_once(name: str, path: Path) -> None:
    _, problem = reader_run.problem_of(TARGETS[name], path.read_bytes(), Random(0))
    assert not problem


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_files(name: str, tmp_path: Path) -> None:
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name], reason=f"{LIBRARIES[name]} is not installed")
    print(f"DYN_MUTATIONS={COUNT} DYN_MUTATIONS_SEED={SEED}")  # shown where the test fails
    share = TARGETS[name].share / sum(target.share for target in TARGETS.values())
    count = max(20, round(COUNT * share))
    found = reader_run.run([name], SEED, count, float("inf"), PROCESSES)
    assert found.wrong == {}
    outcomes = found.outcomes[name]
    assert outcomes.total() == count
    if count >= 500:
        assert outcomes["used"] > (0 if name in USED_BY_FEW else count / 50)
        assert outcomes.total() - outcomes["used"] > count / 50


def test_an_input_can_be_made_again() -> None:
    for name, target in TARGETS.items():
        assert target.input("7", 3)[0] == target.input("7", 3)[0], name


def test_what_a_reader_does_wrong_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of other classes, warnings, ends of the process: each is told with the name of the input."""

    def read(data: bytes, random: Random) -> None:
        if data == b"end":
            os._exit(3)
        raise TypeError("of the test")

    bad = reader_run.Target("bad", lambda: (b"raise", b"end"), lambda data, _: data, read)
    monkeypatch.setitem(reader_run.TARGETS, "bad", bad)
    found = reader_run.run(["bad"], SEED, 20, float("inf"), PROCESSES)
    assert found.count == len(found.wrong) == 20
    problems = "".join(found.wrong.values())
    assert "TypeError: of the test" in problems
    assert "ends the process with code 3" in problems
    reader_run.kept(found, tmp_path)
    assert len(list((tmp_path / "bad").iterdir())) == 20
