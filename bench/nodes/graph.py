# SPDX-License-Identifier: Apache-2.0
"""Nodes in their own processes, on a DDS domain of the loopback interface that no other process uses."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dyn_nodes.demonstration.isolation import isolated_environment, node_process

HERE = Path(__file__).resolve().parent
ARM = HERE / "arm.urdf"
JOINTS = tuple(f"joint_{j}" for j in range(1, 8))
FEEDFORWARD = ("-m", "dyn_nodes.feedforward")
IDENTIFICATION = ("-m", "dyn_nodes.identification")
SIMULATION = ("-m", "dyn_nodes.simulation")
RELAY = (str(HERE / "relay.py"),)
BYTES_RELAY = (str(HERE / "bytes_relay.py"),)
SINGLE_THREADED_RELAY = (str(HERE / "single_threaded_relay.py"),)

_PRIORITY = 10
"""Above all processes without real-time priority, and below the kernel's own threads."""


class Processes:
    """The nodes that have been started; they end with the context of `processes`."""

    def __init__(self, resources: ExitStack, environment: dict[str, str]) -> None:
        self._resources = resources
        self._environment = environment

    def start(
        self,
        program: Sequence[str],
        namespace: str,
        parameters: Mapping[str, object],
        remap: Sequence[str] = (),
    ) -> subprocess.Popen[str]:
        """Run a node."""
        words = [word for rule in (f"__ns:={namespace}", *remap) for word in ("-r", rule)]
        for name, value in parameters.items():
            words += ["-p", f"{name}:={str(value).lower() if isinstance(value, bool) else value}"]
        arguments = [*program, "--ros-args", *words]
        return self._resources.enter_context(node_process(arguments, self._environment))


def prioritise() -> bool:
    """Give this process and its children real-time priority; return False where this is not permitted.

    Other load on the machine then disturbs the figures less.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_PRIORITY))
    except PermissionError:
        return False
    return True


@contextmanager
def processes() -> Iterator[Processes]:
    """Let this process, too, use a separate domain; yield the object that starts the others."""
    with ExitStack() as resources:
        environment = resources.enter_context(isolated_environment(os.environ))
        for name in set(os.environ) - set(environment):
            del os.environ[name]
        os.environ.update(environment)
        yield Processes(resources, environment)
