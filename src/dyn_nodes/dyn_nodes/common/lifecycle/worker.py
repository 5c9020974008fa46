# SPDX-License-Identifier: Apache-2.0
"""Work that takes long, in a thread of its own: the newest of what waits is done, the rest is passed over."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock, Thread
from typing import Generic, NamedTuple, TypeVar

from dyn_core import DynError

_Request = TypeVar("_Request")
_Result = TypeVar("_Result")


class PassedOver(DynError):
    """A request was not done because a newer one came."""


class Outcome(NamedTuple, Generic[_Request, _Result]):
    """What became of a request.

    Attributes:
        request: the request.
        result: what came of it; None where it failed or was passed over.
        problem: why it failed; None where it did not.
    """

    request: _Request
    result: _Result | None
    problem: DynError | None


class Worker(Generic[_Request, _Result]):
    """Does one request at a time in a thread, which ends when nothing waits."""

    def __init__(self, work: Callable[[_Request], _Result], woken: Callable[[], object]) -> None:
        """Prepare to work.

        Args:
            work: is called in the thread.
            woken: is called in the thread when there are new outcomes.
        """
        self._work = work
        self._woken = woken
        self._lock = Lock()
        self._waiting: _Request | None = None
        self._busy = False
        self._outcomes: deque[Outcome[_Request, _Result]] = deque()

    def ask(self, request: _Request) -> None:
        """Have a request done; another one that waits is passed over."""
        with self._lock:
            before, self._waiting = self._waiting, request
            if before is not None:
                self._outcomes.append(
                    Outcome(before, None, PassedOver("a newer one came before it was begun"))
                )
            if not self._busy:
                self._busy = True
                Thread(target=self._run, daemon=True).start()
        if before is not None:
            self._woken()

    def outcomes(self) -> list[Outcome[_Request, _Result]]:
        """Take what has been done since the last time, in order."""
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
            # Whatever a description does to us, what is in use stays in use.
            return Outcome(request, None, DynError(f"unexpected {type(problem).__name__}: {problem}"))
