# SPDX-License-Identifier: Apache-2.0
"""Robots that are loaded while torques are computed: in another process, within bounds, without delay."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from identification_client import children_of
from long_chain import long_chain
from message_makers import NAMES
from robot_files import ROBOTS, urdf
from ros_graph import ATTEMPTS, GENEROUS_S, PATIENT_S, Graph, NodeProcess
from sentence_patterns import said

from dyn_msgs.msg import JointTorques
from dyn_nodes.common.lifecycle.robot_source import MOST_JOINT_ELEMENTS, MOST_JOINTS

Q = [0.1, 0.3, 0.05]
PERIOD_S = 0.002
LARGE = 60
ALL_NAMES = [*NAMES, *(f"joint_{k}" for k in range(LARGE))]
LOADER = "computation_process"
Env = dict[str, str]


class Gaps:
    """The longest time between two torques of a node."""

    def __init__(self, graph: Graph, node: str) -> None:
        graph.node.create_subscription(JointTorques, f"{node}/torques", self._on_torques, 1000)
        self.begin()

    def begin(self) -> None:
        self.longest, self.last = 0.0, 0.0

    def _on_torques(self, _: JointTorques) -> None:
        now = time.monotonic()
        if self.last:
            self.longest = max(self.longest, now - self.last)
        self.last = now


def stream(graph: Graph, done: Callable[[], object], at_least_s: float) -> None:
    """Send joint states of both robots until a condition holds, and at least for some time."""
    begin = due = now = time.monotonic()
    positions = [*Q, *[0.1] * LARGE]
    while now - begin < at_least_s or not done():
        assert now < begin + GENEROUS_S
        if now >= due:
            due = max(due + PERIOD_S, now)
            graph.publish_state(ALL_NAMES, positions)
        graph.executor.spin_once(timeout_sec=max(due - time.monotonic(), 0.0))
        now = time.monotonic()


def with_mass(text: str, attempt: int) -> str:
    """Another description of the same programs."""
    return text.replace('value="1.5"', f'value="1.{6 + attempt}"')


@pytest.mark.promise("description-replaced", "loading-delays")
def test_a_large_description_does_not_delay_torques(
    graph: Graph, ros_environment: Env, tmp_path: Path
) -> None:
    """The gaps are compared with those of a node beside it, which loads nothing: the machine may be busy."""
    ros_environment["DYN_CACHE_DIR"] = str(tmp_path)
    parameters = {"timeout": PATIENT_S, "max_age": PATIENT_S, "description_file": ROBOTS["rrp"]}
    assignments = [w for k, v in parameters.items() for w in ("-p", f"{k}:={v}")]
    node = graph.start_feedforward()
    graph.start("-m", "dyn_nodes.feedforward", "--ros-args", "-r", "__node:=beside", *assignments)
    graph.wait_for(lambda: graph.node.count_publishers("beside/torques"))
    ours, beside = Gaps(graph, "feedforward"), Gaps(graph, "beside")
    graph.load(urdf("rrp"))
    stream(graph, lambda: ours.last and beside.last, 0.5)
    found = []
    for attempt in range(ATTEMPTS):
        ours.begin()
        beside.begin()
        models = len(graph.models)
        text = with_mass(long_chain(LARGE), attempt)
        graph.describe(text)
        stream(graph, lambda models=models: len(graph.models) > models, 0.5)
        found.append((ours.longest, beside.longest))
        if ours.longest <= beside.longest + 3.0 * PERIOD_S:
            break
        graph.load(urdf("rrp"))
    else:
        pytest.fail(f"gaps of torques (s), and those of the node beside it: {found}")
    assert not said("function-compiled-late").search(node.log)


def loading(graph: Graph, node: NodeProcess, text: str) -> int:
    """Let a node begin to load a robot, and return the process that does it."""
    graph.wait_for(lambda: not children_of(node.process.pid, LOADER))
    graph.describe(text)
    graph.wait_for(lambda: children_of(node.process.pid, LOADER))
    return children_of(node.process.pid, LOADER)[0]


@pytest.mark.promise("loading-killed")
def test_a_killed_process_is_a_refusal(graph: Graph) -> None:
    node = graph.start_feedforward()
    graph.load(urdf("rrp"))
    before = list(graph.torques_for(NAMES, Q).total)
    child = loading(graph, node, long_chain(LARGE))
    os.kill(child, signal.SIGKILL)
    graph.wait_for(lambda: graph.told.about("computation-killed-outright", signal=9))
    assert graph.told.about("description-unusable", robot="rrp")
    assert list(graph.torques_for(NAMES, Q).total) == before
    assert graph.load(urdf("two_branch")).robot_name == "two_branch"


@pytest.mark.promise("descriptions-quick")
def test_a_newer_description_ends_the_process_of_the_last_one(graph: Graph) -> None:
    node = graph.start_feedforward()
    graph.load(urdf("rrp"))
    child = loading(graph, node, long_chain(LARGE))
    assert graph.load(urdf("two_branch")).robot_name == "two_branch"
    graph.wait_for(lambda: child not in children_of(node.process.pid))
    assert [model.robot_name for model in graph.models] == ["rrp", "two_branch"]


@pytest.mark.promise("bound-joints")
@pytest.mark.parametrize(
    ("text", "code", "limit"),
    [
        (long_chain(MOST_JOINT_ELEMENTS + 1), "description-elements-too-many", MOST_JOINT_ELEMENTS),
        (long_chain(MOST_JOINTS + 1), "description-joints-too-many", MOST_JOINTS),
    ],
)
def test_a_description_with_too_many_joints_is_refused(
    text: str, code: str, limit: int, graph: Graph
) -> None:
    graph.start_feedforward()
    graph.load(urdf("rrp"))
    before = list(graph.torques_for(NAMES, Q).total)
    graph.describe(text)
    graph.wait_for(lambda: graph.told.about(code, count=limit + 1, limit=limit))
    assert list(graph.torques_for(NAMES, Q).total) == before
    assert [model.robot_name for model in graph.models] == ["rrp"]
