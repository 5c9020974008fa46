# SPDX-License-Identifier: Apache-2.0
"""The three nodes, each in a process of its own, with what they say in a file each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen

from dyn_core import DynError
from dyn_nodes.child import node_process
from dyn_nodes.demonstration.node_parameters import REMAPPINGS
from dyn_nodes.demonstration.output_files import PARAMETERS
from dyn_nodes.demonstration.stopped import DemoError


class Nodes:
    """Processes of nodes that run."""

    def __init__(self, processes: Mapping[str, Popen[str]], directory: Path) -> None:
        """Watch processes by the name of their node, which write into files of `directory`."""
        self._processes = processes
        self._directory = directory

    def check(self) -> None:
        """Raise a DemoError where one has ended."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                log = _log(self._directory, name)
                raise DemoError(
                    f"the node {name} has ended with code {process.returncode}; its log {log} "
                    f"ends with: {_last_line(log)}"
                )


@contextmanager
def running_nodes(directory: Path, environment: Mapping[str, str]) -> Iterator[Nodes]:
    """Run the nodes until the context ends.

    Args:
        directory: where the file of their parameters is, and where their logs go.
        environment: of the processes.
    """
    parameters = directory / PARAMETERS
    with ExitStack() as resources:
        processes = {}
        for name, remappings in REMAPPINGS.items():
            wiring = [word for source, target in remappings for word in ("-r", f"{source}:={target}")]
            log = _log(directory, name)
            try:
                stderr = resources.enter_context(log.open("w"))
            except OSError as error:
                raise DynError(f"cannot write '{log}': {error.strerror}") from error
            arguments = ["-m", f"dyn_nodes.{name}", "--ros-args", "--params-file", str(parameters), *wiring]
            processes[name] = resources.enter_context(node_process(arguments, environment, stderr))
        yield Nodes(processes, directory)


def _log(directory: Path, name: str) -> Path:
    return directory / f"{name}.log"


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError as error:
        return f"(it cannot be read: {error.strerror})"
    return next((line.strip() for line in reversed(lines) if line.strip()), "(nothing)")
