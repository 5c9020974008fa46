# SPDX-License-Identifier: Apache-2.0
"""Long work in a thread, in the order of the requests: of those that wait, the newest are done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock, Thread
from typing import Generic, NamedTuple, TypeVar

from dyn_core import DynError
from dyn_nodes.common.lifecycle.managed_node import ManagedNode

_MOST_WAITING = 5
"""Most messages that wait for a thread."""
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

    def __init__(
        self, work: Callable[[_Request], _Result], woken: Callable[[], object], most: int = 1
    ) -> None:
        """Do requests by `work` in the thread, which calls `woken` when there are new outcomes.

        At most `most` requests wait; one more supersedes the oldest of them.
        """
        self._work = work
        self._woken = woken
        self._most = most
        self._lock = Lock()
        self._waiting: deque[_Request] = deque()
        self._busy = False
        self._outcomes: deque[Outcome[_Request, _Result]] = deque()

    def ask(self, request: _Request) -> None:
        """Queue a request."""
        with self._lock:
            superseded = len(self._waiting) == self._most
            if superseded:
                outcome = Outcome(self._waiting.popleft(), None, Superseded("request-superseded"))
                self._outcomes.append(outcome)
            self._waiting.append(request)
            if not self._busy:
                self._busy = True
                Thread(target=self._run, daemon=True).start()
        if superseded:
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
                if not self._waiting:
                    self._busy = False
                    return
                request = self._waiting.popleft()
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


class Beside(Generic[_Request, _Result]):
    """Does requests at once where they are short, and else in a thread, so that torques go on meanwhile.

    The results come in the order of the requests, in the executor of the node.
    """

    def __init__(
        self,
        node: ManagedNode,
        work: Callable[[_Request], _Result],
        done: Callable[[_Request, _Result | Exception], None],
    ) -> None:
        """Do requests by `work`; `done` takes the result, or the error."""
        self._node = node
        self._work = work
        self._done = done
        self._open: list[_Request] = []
        self._worker: Worker[_Request, _Result | Exception] = Worker(self._result, self._woken, _MOST_WAITING)

    def ask(self, request: _Request, *, is_short: bool) -> None:
        """Do a request."""
        if self._node.executor is None or (is_short and not self._open):
            self._done(request, self._result(request))
            return
        self._open.append(request)
        self._worker.ask(request)

    def forget(self) -> None:
        """Use no result of earlier requests: something came that supersedes them."""
        self._open.clear()

    def _result(self, request: _Request) -> _Result | Exception:
        try:
            return self._work(request)
        except Exception as error:
            return error

    def _woken(self) -> None:
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._node.contained(self._on_outcomes))

    def _on_outcomes(self) -> None:
        for request, result, problem in self._worker.outcomes():
            is_open = any(one is request for one in self._open)
            self._open = [one for one in self._open if one is not request]
            outcome = result if problem is None else problem
            outcome = outcome if is_open else Superseded("request-superseded")
            assert outcome is not None
            self._done(request, outcome)
