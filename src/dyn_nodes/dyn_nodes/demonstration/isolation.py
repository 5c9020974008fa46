# SPDX-License-Identifier: Apache-2.0
"""A DDS domain for processes that must not meet any other ROS 2 process: demonstrations and tests."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import domain_coordinator
from rclpy.utilities import get_rmw_implementation_identifier

from dyn_core import DynError

_FAST_DDS_PROFILE = Path(__file__).with_name("fastdds_loopback.xml")
_DDS_PORT_BASE = 7400
_DDS_PORTS_PER_DOMAIN = 250
_UNICAST_PORTS = range(10, 10 + 2 * 120, 2)
"""Where participants of a domain are discovered, each at its own: there are at most 120 on a machine."""
_REACHES_FURTHER = (
    "ROS_LOCALHOST_ONLY",
    "ROS_STATIC_PEERS",
    "ROS_DISCOVERY_SERVER",
    "FASTRTPS_DEFAULT_PROFILES_FILE",
    "FASTDDS_DEFAULT_PROFILES_FILE",
    "CYCLONEDDS_URI",
)
"""Variables of the user's own network set-up, which could connect us with other machines."""


@contextmanager
def isolated_environment(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Answer `environment` with a ROS_DOMAIN_ID that is ours until the context ends.

    Processes that reserve domains the same way are kept apart by domain_coordinator; domains in which
    some other process already speaks DDS on this machine are passed over. Nothing reaches the network.
    """
    kept = {name: value for name, value in environment.items() if name not in _REACHES_FURTHER}
    with domain_coordinator.domain_id(_FreeDomains()) as domain:
        yield {**kept, "ROS_DOMAIN_ID": str(domain), **_this_machine_only()}


def _this_machine_only() -> dict[str, str]:
    """Variables that keep the middleware on the loopback interface."""
    if not get_rmw_implementation_identifier().startswith("rmw_fastrtps"):
        return {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    # LOCALHOST would make Fast DDS ignore the profile, and open shared memory, which a process that is
    # killed leaves behind. The profile itself confines discovery.
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
        raise DynError("DDS participants speak in all domains of this machine from 1 to 100: end some")


def _in_use(domain: int) -> bool:
    """Whether a DDS participant speaks in the domain; the one that came first may have gone first."""
    first = _DDS_PORT_BASE + _DDS_PORTS_PER_DOMAIN * domain
    return any(_is_bound(first + port) for port in _UNICAST_PORTS)


def _is_bound(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return True
    return False
