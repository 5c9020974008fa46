# SPDX-License-Identifier: Apache-2.0
"""Heavy work in a process of its own: it can be ended at any moment, and nobody waits for it."""

from __future__ import annotations

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
from dyn_nodes.common.lifecycle.managed_node import ManagedNode

Said = Mapping[str, Any]
"""What a job tells: its progress, its answer, or its problem."""
_PATIENCE_S = 1.0
"""How long a process may take to remove its temporary files."""


class Job:
    """Has one request done by `dyn_nodes.identification.computation_process`.

    What it tells comes in the executor.
    """

    def __init__(
        self,
        node: ManagedNode,
        request: object,
        progress: Callable[[Said], None],
        done: Callable[[Said | None, str], None],
    ) -> None:
        """Begin.

        Args:
            node: the node, whose executor calls back.
            request: what is to be done; it goes to the process as bytes.
            progress: takes how far it is.
            done: takes the answer; or None and why there is none.

        Raises:
            DynError: no process can be started.
        """
        self._node = node
        self._progress, self._done = progress, done
        self._ended = False
        try:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process has ended
            self._process = self._started()
        except OSError as error:
            raise DynError(f"no process can be started that computes: {error.strerror}") from error
        Thread(target=self._listen, args=(pickle.dumps(request),), daemon=True).start()

    def _started(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [sys.executable, "-m", "dyn_nodes.identification.computation_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                # Ctrl-C is for the node, which ends this one.
                start_new_session=True,
            )
        except OSError:
            self._errors.close()
            raise

    def end(self) -> None:
        """End the process; nothing comes of it any more."""
        self._ended = True
        self._process.terminate()
        killer = Timer(_PATIENCE_S, self._process.kill)
        killer.daemon = True
        killer.start()

    def _listen(self, request: bytes) -> None:
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process has no pipes")
        answer: Said | None = None
        problem = ""
        try:
            with process.stdin as stdin:
                stdin.write(request)
        except BrokenPipeError:
            pass  # it has ended already, and its exit code says more
        with process.stdout as stdout:
            for line in stdout:
                try:
                    said = json.loads(line)
                except ValueError:
                    continue  # it was killed in the middle of a line
                if "answer" in said:
                    answer = said["answer"]
                elif "problem" in said:
                    problem = said["problem"]
                else:
                    self._post(self._progress, said)
        code = process.wait()
        if answer is None and not problem:
            how = f"ended with code {code}" if code >= 0 else f"been killed by signal {-code}"
            hint = " (is there enough memory?)" if code == -signal.SIGKILL else ""
            problem = f"the process that computes has {how}: {self._last_words()}{hint}"
        self._errors.close()
        self._post(self._done, answer, problem)

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")

    def _post(self, callback: Callable[..., None], *arguments: Any) -> None:
        executor = self._node.executor
        if executor is None or self._ended:
            return

        def call() -> None:
            if not self._ended:
                callback(*arguments)

        executor.create_task(self._node.contained(call))
