# SPDX-License-Identifier: Apache-2.0
"""Heavy work in another process, which can be ended at any moment without waiting."""

from __future__ import annotations

import contextlib
import json
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from threading import Thread, Timer
from typing import Any

from dyn_core import DynError
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.common.lifecycle.managed_node import ManagedNode

JobMessage = Mapping[str, Any]
"""A message of the process: its progress, its result, or its problem."""
_PATIENCE_S = 1.0
"""Time that a process has to remove its temporary files (s)."""


class Job:
    """One request in `computation_process`; its messages are handled in the executor."""

    def __init__(
        self,
        node: ManagedNode,
        request: object,
        progress: Callable[[JobMessage], None],
        done: Callable[[JobMessage | None, DynError | None], None],
    ) -> None:
        """Start the process.

        Args:
            node: the node, whose executor runs the callbacks.
            request: the request; it is pickled for the process.
            progress: takes the progress.
            done: takes the result, or None and the reason.

        Raises:
            DynError: the process cannot be started.
        """
        self._node, self._progress, self._done = node, progress, done
        self._ended = False
        with contextlib.ExitStack() as resources:
            try:
                self._errors = resources.enter_context(tempfile.TemporaryFile())
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "dyn_nodes.identification.computation_process"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    start_new_session=True,  # Ctrl-C goes to the node, which ends this process
                )
            except OSError as error:
                raise DynError("process-not-started", reason=error.strerror) from error
            resources.pop_all()  # the file is closed when the process has ended
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
        result: JobMessage | None = None
        problem: DynError | None = None
        try:
            with process.stdin as stdin:
                stdin.write(request)
        except BrokenPipeError:
            pass  # it has already ended; its exit code tells more
        with process.stdout as stdout:
            for line in stdout:
                try:
                    message = json.loads(line)
                except ValueError:
                    continue  # it was killed in the middle of a line
                if "answer" in message:
                    result = message["answer"]
                elif "problem" in message:
                    problem = pickle.loads(bytes.fromhex(message["problem"]))
                else:
                    self._post(self._progress, message)
        status = process.wait()
        if result is None and problem is None:
            problem = self._death(status)
        self._errors.close()
        self._post(self._done, result, problem)

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
        executor = self._node.executor
        if executor is None or self._ended:
            return

        def call() -> None:
            if not self._ended:
                callback(*arguments)

        executor.create_task(self._node.contained(call))
