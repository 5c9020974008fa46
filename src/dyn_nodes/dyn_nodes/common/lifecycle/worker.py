# SPDX-License-Identifier: Apache-2.0
"""Long work in a thread: the newest waiting request is done, older ones are superseded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock, Thread
from typing import Generic, NamedTuple, TypeVar

from dyn_core import DynError

_Request = TypeVar("_Request")
_Result = TypeVar("_Result")


class Superseded(DynError):
    """A request was not done because a newer one came."""


class Outcome(NamedTuple, Generic[_Request, _Result]):
    """The outcome of a request."""

    request: _Request
    result: _Result | None  # its result; None where it failed or was superseded
    problem: DynError | None  # why it failed; None where it did not


class Worker(Generic[_Request, _Result]):
    """Does one request at a time in a thread; the thread ends when no request waits."""

    def __init__(self, work: Callable[[_Request], _Result], woken: Callable[[], object]) -> None:
        """Do requests by `work` in the thread, which calls `woken` when there are new outcomes."""
        self._work = work
        self._woken = woken
        self._lock = Lock()
        self._waiting: _Request | None = None
        self._busy = False
        self._outcomes: deque[Outcome[_Request, _Result]] = deque()

    def ask(self, request: _Request) -> None:
        """Queue a request; it supersedes a waiting one."""
        with self._lock:
            before, self._waiting = self._waiting, request
            if before is not None:
                self._outcomes.append(Outcome(before, None, Superseded("request-superseded")))
            if not self._busy:
                self._busy = True
                Thread(target=self._run, daemon=True).start()
        if before is not None:
            self._woken()

    def outcomes(self) -> list[Outcome[_Request, _Result]]:
        """Return the outcomes since the last call, in order."""
        with self._lock:
            taken = list(self._outcomes)
            self._outcomes.clear()
        return taken

    def _run(self) -> None:
        while True:
            with self._lock:
                request, self._waiting = self._waiting, None
                if request is None:
                    self._busy = False
                    return
            outcome = self._done(request)
            with self._lock:
                self._outcomes.append(outcome)
            self._woken()

    def _done(self, request: _Request) -> Outcome[_Request, _Result]:
        try:
            return Outcome(request, self._work(request), None)
        except DynError as problem:
            return Outcome(request, None, problem)
        except Exception as problem:
            # An unexpected error in a description must not stop the node: the robot in use stays in use.
            return Outcome(
                request, None, DynError("error-unexpected", error_type=type(problem).__name__, reason=problem)
            )
