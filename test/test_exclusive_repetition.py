# SPDX-License-Identifier: Apache-2.0
"""Tests that fail in real time are repeated once, while no other test runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
import sys
from pathlib import Path
import pytest
sys.path.insert(0, {folder!r})
from exclusive_repetition import ExclusiveRepetition

def pytest_configure(config):
    config.pluginmanager.register(ExclusiveRepetition(Path(__file__).parent))

@pytest.fixture
def graph():
    yield

@pytest.fixture
def count(request):
    "How often this test was begun."
    file = Path(__file__).with_name(request.node.name)
    file.write_text(file.read_text() + "x" if file.exists() else "x")
    return len(file.read_text())
"""
TESTS = """
import fcntl
from pathlib import Path
import pytest

def test_that_fails_beside_others(graph, count):
    assert count == 2, "the machine stood still"
    with Path(__file__).with_name("tests-running").open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)

def test_that_fails_alone_too(graph, count):
    assert count == 7

def test_with_a_stepped_clock(count):
    assert count == 2

def test_that_passes(graph, count):
    assert count == 1
"""


@pytest.mark.parametrize("processes", ["0", "3"])
def test_what_fails_in_real_time_is_repeated_once_and_named(tmp_path: Path, processes: str) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    (tmp_path / "conftest.py").write_text(CONFTEST.format(folder=str(Path(__file__).parent)))
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-n",
        processes,
        "-q",
        "-rA",
        str(tmp_path),
    ]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=own)
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout + run.stderr
    assert "2 failed, 2 passed" in run.stdout
    lines = [line for line in run.stdout.splitlines() if line.startswith("REPEATED ALONE")]
    assert [line.split("::")[1].split()[0] for line in lines] == [
        "test_that_fails_alone_too:",
        "test_that_fails_beside_others:",
    ]
    assert lines[1].endswith("call: AssertionError: the machine stood still")
    counts = {file.name: len(file.read_text()) for file in tmp_path.glob("test_that*")}
    assert counts == {
        "test_that_fails_beside_others": 2,
        "test_that_fails_alone_too": 2,
        "test_that_passes": 1,
    }
    assert (tmp_path / "test_with_a_stepped_clock").read_text() == "x"
