# SPDX-License-Identifier: Apache-2.0
"""Heavy work in another process, which can be ended at any moment without waiting."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from threading import Thread, Timer
from typing import Any

from dyn_core import DynError
from dyn_core.core.blas_threads import ONE_THREAD_VARIABLES
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.common.lifecycle.managed_node import ManagedNode

Done = Callable[[Any, "DynError | None"], None]
"""Takes the result, or None and the reason."""
_PATIENCE_S = 1.0
"""Time that a process has to remove its temporary files, and to end its compilers (s)."""
_LAST_PATIENCE_S = 0.2
"""The same where the node itself has to end at once (s)."""
_LOOK_S = 0.01
"""Time between two looks for the executor of a node (s)."""
_RUNNING: set[Job] = set()
"""The jobs of this process that have not ended."""


def no_progress(*_: object) -> None:
    """Take the progress of a request that tells none."""


def _same(answer: Any) -> Any:
    return answer


class Job:
    """One request in `computation_process`; its messages are handled in the executor."""

    def __init__(
        self,
        node: ManagedNode,
        request: object,
        progress: Callable[..., None],
        done: Done,
        *,
        finish: Callable[[Any], Any] = _same,
        memory: int | None = None,
    ) -> None:
        """Start the process.

        Args:
            node: the node, whose executor runs the callbacks.
            request: called in the process with a function that takes the progress; it is pickled.
            progress: takes the progress.
            done: takes the result, or None and the reason.
            finish: makes the result from the answer of the process, in a thread.
            memory: bound of the memory of the process (bytes); None for no bound.

        Raises:
            DynError: the process cannot be started.
        """
        self._node, self._progress, self._done, self._finish = node, progress, done, finish
        self._ended = False
        bound = [] if memory is None else [str(memory)]
        # A load has small matrices only, and the threads of the library for large ones need much memory.
        threads = {} if memory is None else ONE_THREAD_VARIABLES
        with contextlib.ExitStack() as resources:
            try:
                self._errors = resources.enter_context(tempfile.TemporaryFile())
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "dyn_nodes.common.lifecycle.computation_process", *bound],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    env=os.environ | threads,
                    start_new_session=True,  # Ctrl-C goes to the node, which ends this process
                )
            except OSError as error:
                raise DynError("process-not-started", reason=error.strerror) from error
            resources.pop_all()  # the file is closed when the process has ended
        _RUNNING.add(self)
        Thread(target=self._listen, args=(pickle.dumps(request),), daemon=True).start()

    def end(self) -> None:
        """End the process and ignore its messages."""
        self._ended = True
        self._process.terminate()
        killer = Timer(_PATIENCE_S, self._process.kill)
        killer.daemon = True
        killer.start()

    def _listen(self, request: bytes) -> None:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        end: tuple[str, Any] | None = None
        try:
            with process.stdin as stdin:
                stdin.write(request)
        except BrokenPipeError:
            pass  # it has already ended; its exit code tells more
        # It may be killed in the middle of a message: what cannot be read is its end.
        with process.stdout as stdout, contextlib.suppress(Exception):
            while end is None:
                kind, what = pickle.load(stdout)
                if kind == "progress":
                    self._post(self._progress, *what)
                elif kind == "log":
                    logging.getLogger("dyn_core").log(*what)
                else:
                    end = kind, what
        self._post(self._done, *self._outcome(end))
        process.wait()
        _RUNNING.discard(self)
        self._errors.close()

    def _outcome(self, end: tuple[str, Any] | None) -> tuple[Any, DynError | None]:
        """Return the result, or None and the reason."""
        if end is None:
            return None, self._death(self._process.wait())
        kind, what = end
        if kind == "problem":
            return None, what
        if self._ended:
            return None, None
        try:
            return self._finish(what), None
        except DynError as problem:
            return None, problem
        except Exception as error:
            # An unexpected error must not stop the node.
            return None, DynError("error-unexpected", error_type=type(error).__name__, reason=error)

    def _death(self, status: int) -> DynError:
        """Return how the process ended without a result; a negative status is that of a signal."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), Notice("output-empty"))
        if status >= 0:
            return DynError("computation-ended", status=status, last_line=last)
        code = "computation-killed-outright" if status == -signal.SIGKILL else "computation-killed"
        return DynError(code, signal=-status, last_line=last)

    def _post(self, callback: Callable[..., None], *arguments: Any) -> None:
        # A node has no executor while other nodes of its process are still being made.
        while (executor := self._node.executor) is None and not self._ended:
            time.sleep(_LOOK_S)
        if executor is None or self._ended:
            return

        def call() -> None:
            if not self._ended:
                callback(*arguments)

        executor.create_task(self._node.contained(call))


def end_jobs() -> None:
    """End the processes of all jobs, for a node that ends at once."""
    running = [job._process for job in list(_RUNNING)]
    for process in running:
        process.terminate()
    by = time.monotonic() + _LAST_PATIENCE_S
    for process in running:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(by - time.monotonic(), 0.0))
        process.kill()
