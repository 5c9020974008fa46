# SPDX-License-Identifier: Apache-2.0
"""A DDS domain apart from all other ROS 2 processes, and child processes that end with their parent."""

from __future__ import annotations

import ctypes
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import domain_coordinator
from rclpy.utilities import get_rmw_implementation_identifier

from dyn_core import DynError

_FAST_DDS_PROFILE = Path(__file__).with_name("fastdds_loopback.xml")
_DDS_PORT_BASE = 7400
_DDS_PORTS_PER_DOMAIN = 250
_UNICAST_PORTS = range(10, 10 + 2 * 120, 2)
"""First discovery port of the participants of a domain, each with its own; a machine has at most 120."""
_REACHES_FURTHER = (
    "ROS_LOCALHOST_ONLY",
    "ROS_STATIC_PEERS",
    "ROS_DISCOVERY_SERVER",
    "FASTRTPS_DEFAULT_PROFILES_FILE",
    "FASTDDS_DEFAULT_PROFILES_FILE",
    "CYCLONEDDS_URI",
)
"""Variables of the user's network set-up, which could connect to other machines."""


@contextmanager
def isolated_environment(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield `environment` with a ROS_DOMAIN_ID that is reserved until the context ends.

    domain_coordinator keeps processes apart that reserve domains in the same way. Domains in which another
    process already uses DDS on this machine are skipped. Nothing reaches the network.
    """
    kept = {name: value for name, value in environment.items() if name not in _REACHES_FURTHER}
    with domain_coordinator.domain_id(_FreeDomains()) as domain:
        yield {**kept, "ROS_DOMAIN_ID": str(domain), **_this_machine_only()}


def _this_machine_only() -> dict[str, str]:
    """Return variables that keep the middleware on the loopback interface."""
    if not get_rmw_implementation_identifier().startswith("rmw_fastrtps"):
        return {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    # LOCALHOST would make Fast DDS ignore the profile and open shared memory, which a killed process leaves
    # behind. The profile itself confines discovery.
    return {
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
        "FASTRTPS_DEFAULT_PROFILES_FILE": str(_FAST_DDS_PROFILE),
        "FASTDDS_DEFAULT_PROFILES_FILE": str(_FAST_DDS_PROFILE),
    }


class _FreeDomains:
    """Proposes the domains from 100 down: people choose small numbers by hand."""

    def __init__(self) -> None:
        self._next = 100

    def __call__(self) -> int:
        for domain in range(self._next, 0, -1):
            if not _in_use(domain):
                self._next = domain - 1
                return domain
        raise DynError("domains-in-use")


def _in_use(domain: int) -> bool:
    """Return whether a DDS participant uses the domain; the first participant may have ended."""
    first = _DDS_PORT_BASE + _DDS_PORTS_PER_DOMAIN * domain
    return any(_is_bound(first + port) for port in _UNICAST_PORTS)


def _is_bound(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return True
    return False


_PR_SET_PDEATHSIG = 1
_STOP_LIMIT_S = 5.0


@contextmanager
def node_process(
    arguments: Sequence[str], environment: Mapping[str, str], stderr: int | IO[str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run this interpreter with `arguments`; end it with SIGINT, or SIGKILL if that takes too long.

    The kernel also ends it when this process is killed.
    """
    child = subprocess.Popen(
        [sys.executable, *arguments],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stderr=stderr,
        text=True,
        # In its own process group: at Ctrl-C, this process ends it in an orderly way.
        start_new_session=True,
        preexec_fn=_die_with_parent,
    )
    try:
        yield child
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(_STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                child.kill()
        child.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
