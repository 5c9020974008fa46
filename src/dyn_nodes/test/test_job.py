# SPDX-License-Identifier: Apache-2.0
"""Work in another process that ends in whatever way: whoever waits for it is told."""

from __future__ import annotations

import queue
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from dyn_core import DynError
from dyn_nodes.identification import computation_job as job_module
from dyn_nodes.identification.computation_job import Job, Said


class FakeNode:
    """A node whose executor puts its tasks in a queue."""

    def __init__(self) -> None:
        self.tasks: queue.Queue[Callable[[], None]] = queue.Queue()
        self.executor = self

    def create_task(self, task: Callable[[], None]) -> None:
        self.tasks.put(task)

    def contained(self, callback: Callable[[], None]) -> Callable[[], None]:
        return callback


def outcome_of(program: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Said | None, str, list[Said]]:
    """What is told of a process that runs this program."""
    popen = subprocess.Popen

    def started(_: Any, **options: Any) -> subprocess.Popen[bytes]:
        return popen([sys.executable, "-c", program], **options)

    monkeypatch.setattr(job_module.subprocess, "Popen", started)
    node, told, ends = FakeNode(), [], []
    Job(node, "a request", told.append, lambda *end: ends.append(end))  # type: ignore[arg-type]
    while not ends:
        node.tasks.get(timeout=20.0)()
    ((answer, problem),) = ends
    return answer, problem, told


PROGRAMS = {
    "half a line": (
        """import os, signal, sys
print('{"stage": 0, "fraction": 0.5}')
print('{"stage": 0, "fra', end='')
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)""",
        "been killed by signal 9: it said nothing (is there enough memory?)",
    ),
    "garbage": ("print('Segmentation fault'); raise SystemExit(3)", "ended with code 3"),
    "a traceback": ("{}['x']", "ended with code 1: KeyError: 'x'"),
    "nothing": ("", "ended with code 0: it said nothing"),
    "does not read": ("import os; os.close(0); raise SystemExit(2)", "ended with code 2"),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_a_process_that_ends_without_an_answer_is_told_in_a_sentence(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, sentence = PROGRAMS[case]
    answer, problem, told = outcome_of(program, monkeypatch)
    assert answer is None
    assert problem.startswith("the process that computes has ")
    assert sentence in problem
    assert told == ([{"stage": 0, "fraction": 0.5}] if case == "half a line" else [])


def test_an_answer_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, problem, _ = outcome_of("""print('{"answer": {"x": 1}}')""", monkeypatch)
    assert answer == {"x": 1}
    assert not problem


def test_where_no_process_can_be_started_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("tempfile.TemporaryFile", "subprocess.Popen"):
        with monkeypatch.context() as patch:
            module, function = name.split(".")
            patch.setattr(getattr(job_module, module), function, full)
            with pytest.raises(DynError, match="no process can be started that computes: No space left"):
                Job(FakeNode(), "a request", print, print)  # type: ignore[arg-type]
