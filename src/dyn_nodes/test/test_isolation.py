# SPDX-License-Identifier: Apache-2.0
"""DDS domains that no other process uses."""

from __future__ import annotations

import socket

import pytest
from refusals import refused

from dyn_nodes.demonstration import isolation
from dyn_nodes.demonstration.isolation import isolated_environment


def test_an_error_is_raised_if_all_domains_are_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    with isolated_environment({}) as first, isolated_environment({}) as second:
        assert first["ROS_DOMAIN_ID"] != second["ROS_DOMAIN_ID"]
    monkeypatch.setattr(isolation, "_in_use", lambda domain: True)
    with refused("domains-in-use"), isolated_environment({}):
        pass


@pytest.mark.parametrize("participant_index", [0, 1, 7, 119])
def test_a_domain_with_another_participant_is_skipped(participant_index: int) -> None:
    """Also where the participants before it have ended."""
    with isolated_environment({}) as environment:
        domain = int(environment["ROS_DOMAIN_ID"])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        participant.bind(("", 7400 + 250 * domain + 10 + 2 * participant_index))
        with isolated_environment({}) as environment:
            assert int(environment["ROS_DOMAIN_ID"]) != domain


def test_network_settings_of_the_user_are_removed() -> None:
    user = {"ROS_STATIC_PEERS": "192.0.2.1", "ROS_DISCOVERY_SERVER": "192.0.2.1", "LANG": "C"}
    with isolated_environment(user) as environment:
        assert not {"ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER"} & set(environment)
        assert environment["LANG"] == "C"
