# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that cross packages."""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

if missing := [m for m in ("rclpy", "dyn_msgs") if importlib.util.find_spec(m) is None]:
    pytest.exit(
        f"these tests need {' and '.join(missing)}: run them with 'make test', or in a 'make shell'",
        returncode=3,
    )

from exclusive_repetition import ExclusiveRepetition
from rclpy.context import Context
from ros_graph import Graph, ros_context
from steady_clock import SteadyClock

from dyn_nodes.demonstration.isolation import isolated_environment

# A shell starts background jobs with Ctrl-C (SIGINT) ignored, and child processes inherit this. Some tests
# send SIGINT to child processes, so the default handler is restored.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Repeat tests that fail in real time, alone."""
    folder = Path(__file__).parent.parent / "build"
    folder.mkdir(exist_ok=True)
    config.pluginmanager.register(ExclusiveRepetition(folder), "exclusive-repetition")


def pytest_collection_finish() -> None:
    """Exclude permanent objects from the garbage collection at the end of `Graph` and `loose_node`."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def ros_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Environment variables of a DDS domain for this test only; also set in this process."""
    with isolated_environment(os.environ) as environment:
        for name in set(os.environ) - set(environment):
            monkeypatch.delenv(name)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield environment
        # A node that could not be made keeps its participant until nothing refers to it: domains run out.
        gc.collect()


@pytest.fixture
def context(ros_environment: dict[str, str]) -> Iterator[Context]:
    """A context of ROS in the domain of the test."""
    with ros_context() as context:
        yield context


@pytest.fixture
def graph(ros_environment: dict[str, str]) -> Iterator[Graph]:
    """The test's node in its own context, and the processes that it starts."""
    with Graph(ros_environment) as graph:
        yield graph


@pytest.fixture
def steady() -> SteadyClock:
    """A steady clock for a node."""
    return SteadyClock()
