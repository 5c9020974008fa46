# SPDX-License-Identifier: Apache-2.0
"""Jobs in another process: each end of the process is reported to the node."""

from __future__ import annotations

import queue
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from refusals import check_error, refused

from dyn_core import DynError
from dyn_nodes.common.lifecycle import computation_job as job_module
from dyn_nodes.common.lifecycle.computation_job import Job


class FakeNode:
    """A node whose executor puts its tasks in a queue."""

    def __init__(self) -> None:
        self.tasks: queue.Queue[Callable[[], None]] = queue.Queue()
        self.create_task = self.tasks.put
        self.executor = self

    def contained(self, callback: Callable[[], None]) -> Callable[[], None]:
        return callback


def outcome_of(program: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, DynError | None, list[Any]]:
    """Return the outcome of a process that runs this program."""
    popen = subprocess.Popen

    command = [sys.executable, "-c", program]
    monkeypatch.setattr(job_module.subprocess, "Popen", lambda _, **options: popen(command, **options))
    return outcome_of_request("a request")


def outcome_of_request(request: object, **options: Any) -> tuple[Any, DynError | None, list[Any]]:
    """Return the outcome of a request."""
    node, told, ends = FakeNode(), list[Any](), list[Any]()
    done = lambda *end: ends.append(end)  # noqa: E731
    Job(node, request, lambda *one: told.append(one), done, **options)  # type: ignore[arg-type]
    while not ends:
        node.tasks.get(timeout=180.0)()
    return (*ends[0], told)


KILLED = """import os, pickle, signal, sys
message = pickle.dumps(("progress", (0, 0.5)))
sys.stdout.buffer.write(message + message[:-5])
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)"""
EMPTY = "output-empty"


@pytest.mark.parametrize(
    ("program", "code", "number", "last_line"),
    [
        (KILLED, "computation-killed-outright", 9, EMPTY),
        ("print('Segmentation fault'); raise SystemExit(3)", "computation-ended", 3, EMPTY),
        ("{}['x']", "computation-ended", 1, "KeyError: 'x'"),
        ("", "computation-ended", 0, EMPTY),
        ("import os; os.close(0); raise SystemExit(2)", "computation-ended", 2, EMPTY),
    ],
)
def test_a_process_that_ends_without_a_result(
    program: str, code: str, number: int, last_line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, problem, told = outcome_of(program, monkeypatch)
    assert result is None
    assert problem is not None
    check_error(problem, code, **{"signal" if program == KILLED else "status": number})
    last = problem.values["last_line"]
    assert getattr(last, "code", last) == last_line
    assert told == ([(0, 0.5)] if program == KILLED else [])


def test_the_result_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = "import pickle, sys; sys.stdout.buffer.write(pickle.dumps(('answer', {'x': 1})))"
    assert outcome_of(answer, monkeypatch)[:2] == ({"x": 1}, None)


def test_the_result_is_made_in_a_thread_and_its_errors_are_reported() -> None:
    request = "{!s:.3}".format
    assert outcome_of_request(request, finish=len)[:2] == (3, None)
    result, problem, _ = outcome_of_request(request, finish=lambda answer: answer.missing)
    assert result is None
    assert problem is not None
    check_error(problem, "error-unexpected", error_type="AttributeError")


def test_a_request_that_needs_too_much_memory_is_refused() -> None:
    """The bound is that of the process; what the request needs is far beyond it."""
    result, problem, _ = outcome_of_request("{!s:>3000000000}".format, memory=1_000_000_000)
    assert result is None
    assert problem is not None
    check_error(problem, "memory-exhausted")


def test_an_error_is_raised_if_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for module, function in ((job_module.subprocess, "Popen"), (job_module.tempfile, "TemporaryFile")):
        monkeypatch.setattr(module, function, full)
        with refused("process-not-started", reason="No space left on device"):
            Job(FakeNode(), "a request", print, print)  # type: ignore[arg-type]
        monkeypatch.undo()
