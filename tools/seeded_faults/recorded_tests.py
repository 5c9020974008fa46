# SPDX-License-Identifier: Apache-2.0
"""Tests of a commit: a copy in which they run, and which of them reach which faults."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fault_list import PACKAGES, Candidate, Function, functions, place, read_faults

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "faults"
TESTS = ("src/dyn_core/test", "src/dyn_nodes/test", "test")
MEMORY = 8 << 30

# Copies of a commit, in which tests run.


def copy_of(commit: str, name: str) -> Path:
    """Return a fresh copy of a commit."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "x"], cwd=folder, input=archive, check=True)
    return folder


def commit_name(commit: str) -> str:
    """Return the short hash of a commit."""
    command = ["git", "rev-parse", "--short=10", commit]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def test_files(tree: Path, folders: Sequence[str]) -> list[str]:
    """Return the test files in folders of a tree."""
    found = [file for folder in folders for file in sorted((tree / folder).rglob("test_*.py"))]
    return [file.relative_to(tree).as_posix() for file in found]


def run_tests(tree: Path, arguments: Sequence[str], limit_s: float, **variables: str) -> int | None:
    """Run tests and return the exit code of pytest; None where they hang."""
    own = [str(tree / package.rpartition("/")[0]) for package in PACKAGES]
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    environment = {
        **os.environ,
        "DYN_CACHE_DIR": str(WORK / "compiled"),
        "PYTHONPATH": os.pathsep.join([*own, *others]),
        "PYTHONDONTWRITEBYTECODE": "1",
        **variables,
    }
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *("-m", "not exhaustive", "-W", "ignore::pytest.PytestUnknownMarkWarning", *arguments),
    ]
    with (tree / "pytest.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            # Also what a test has left behind.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def failed_test(tree: Path) -> str:
    """Return the test that failed last in a tree; empty where none is known."""
    log = (tree / "pytest.log").read_text(errors="replace")
    found: list[str] = re.findall(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", log, re.MULTILINE)
    return found[-1] if found else ""


# Which tests reach a fault.


@dataclass(frozen=True)
class Recorded:
    """What is recorded of the tests of a commit.

    Attributes:
        seconds: the time of each test.
        failing: tests that fail without a fault.
        reached: the tests that call the function with a fault and pass without it, by the key of the fault.
    """

    seconds: Mapping[str, float]
    failing: Sequence[str]
    reached: Mapping[int, Sequence[str]]


def read_recorded(commit: str) -> Recorded:
    """Return what `record` has written of a commit; nothing where it has not been recorded."""
    if not _recorded_file(commit).exists():
        return Recorded({}, (), {})
    entries = json.loads(_recorded_file(commit).read_text())
    reached = {int(key): tests for key, tests in entries["reached"].items()}
    return Recorded(entries["seconds"], entries["failing"], reached)


def _recorded_file(commit: str) -> Path:
    return WORK / f"{commit_name(commit)}-reached.json"


REACHED = '''"""Pytest plugin: note which tests call which functions, and their times and outcomes."""

import os

_folder = os.environ["DYN_FAULTS_REACHED"]
_noted = set()


def note(key):
    test = os.environ.get("PYTEST_CURRENT_TEST")
    if test and (key, test) not in _noted:
        _noted.add((key, test))
        with open(f"{_folder}/{os.getpid()}", "a") as file:
            file.write(f"{key} {test}\\n")


def pytest_runtest_logreport(report):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with open(f"{_folder}/outcomes", "a") as file:
            file.write(f"{report.duration} {report.outcome} {report.nodeid}\\n")
'''


def record(commit: str, jobs: int, limit_s: float, only: Sequence[str] = ()) -> Path:
    """Run the tests, note which of them call the functions with faults; return the file with the notes."""
    name = commit_name(commit)
    tree = copy_of(commit, f"{name}-record")
    known = functions(tree)
    places = {fault.key: found for fault in read_faults() if (found := place(fault, known))}
    _note_calls(places)
    (tree / "src/dyn_core/dyn_faults_reached.py").write_text(REACHED)
    notes = tree / "reached"
    notes.mkdir()
    for group in (TESTS[:1], TESTS[1:]):
        files = [file for file in test_files(tree, group) if not only or any(part in file for part in only)]
        workers = ["-n", str(jobs), "--dist", "loadfile", "-p", "dyn_faults_reached"]
        code = run_tests(tree, [*workers, *files], limit_s, DYN_FAULTS_REACHED=str(notes)) if files else 0
        print(f"{', '.join(group)}: exit code {code}", flush=True)
    target = _recorded_file(commit)
    target.write_text(json.dumps(asdict(_from_notes(notes, places)), indent=1))
    return target


def _from_notes(notes: Path, keys: Iterable[int]) -> Recorded:
    seconds: dict[str, float] = defaultdict(float)
    failing = set()
    for line in (notes / "outcomes").read_text().splitlines():
        duration, outcome, test = line.split(" ", 2)
        seconds[test] += float(duration)
        if outcome == "failed":
            failing.add(test)
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in seconds:
        by_file[test.partition("::")[0]].append(test)
    reached: dict[int, set[str]] = defaultdict(set)
    for file in notes.iterdir():
        for line in file.read_text().splitlines() if file.name != "outcomes" else []:
            key, _, test = line.partition(" ")
            test, _, phase = test.rpartition(" ")
            # What a fixture calls concerns all tests of the file.
            reached[int(key)] |= {test} if phase == "(call)" else set(by_file[test.partition("::")[0]])
    passing = seconds.keys() - failing
    return Recorded(seconds, sorted(failing), {key: sorted(reached[key] & passing) for key in keys})


def _note_calls(places: Mapping[int, tuple[Function, Candidate]]) -> None:
    """Let the functions with faults note that they are called."""
    by_file: dict[Path, list[tuple[int, int, int]]] = defaultdict(list)
    for key, (function, _) in places.items():
        by_file[function.file].append((function.body_line, function.indent, key))
    for file, notes in by_file.items():
        lines = file.read_text().splitlines(keepends=True)
        for line, indent, key in sorted(notes, reverse=True):
            lines.insert(line - 1, f"{' ' * indent}__import__('dyn_faults_reached').note({key})\n")
        file.write_text("".join(lines))
