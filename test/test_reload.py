# SPDX-License-Identifier: Apache-2.0
"""Descriptions that come while joint states do at 500 Hz."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from long_chain import long_chain
from rnea import Pinocchio, frictionless
from ros_graph import Graph
from simulated import Simulated

from dyn_msgs.msg import JointTorques

NAMES = ["turn", "lift", "stretch"]
Q = [0.1, 0.3, 0.05]
PERIOD_S = 0.002
BROKEN = "<robot name='broken'><link name='a'>"


LIFT = '<joint name="lift" type="revolute">'


def heavy() -> str:
    """The same arm, with other masses, and a length that its programs have to be compiled for."""
    longer = frictionless("rrp").replace(LIFT, f'{LIFT}<origin xyz="0.02 0 0.01"/>')
    return re.sub(r'<mass value="3.0"/>', '<mass value="4.2"/>', longer)


class Stream:
    """Joint states at 500 Hz, and the torques for them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.torques: list[JointTorques] = []
        graph.node.create_subscription(JointTorques, "feedforward/torques", self.torques.append, 1000)
        self._due = time.monotonic()
        self._sent = 0

    def until(self, done: object, at_least_s: float = 0.0) -> None:
        """Send joint states until something is so, and for some time in any case."""
        begin = self._due = time.monotonic()

        def step() -> bool:
            now = time.monotonic()
            if now >= self._due:
                self._due = max(self._due + PERIOD_S, now)
                self.graph.publish_state(NAMES, Q)
                self._sent += 1
            return bool(done() and now - begin > at_least_s)  # type: ignore[operator]

        end = begin + 60.0
        while not step():
            assert time.monotonic() < end
            self.graph.executor.spin_once(timeout_sec=max(self._due - time.monotonic(), 0.0))


def held(text: str) -> np.ndarray:
    by_name = Pinocchio(text).held(dict(zip(NAMES, Q, strict=True)))
    return np.array([by_name[name] for name in NAMES])


@pytest.mark.parametrize("ramp_up", [0.0, 0.5])
def test_each_torque_is_of_one_model_and_none_is_late(
    ramp_up: float, graph: Graph, ros_environment: dict[str, str], tmp_path: Path
) -> None:
    """The breakdown is that of the one or the other; the total is on the way from the one to the other."""
    ros_environment["DYN_CACHE_DIR"] = str(tmp_path)  # each model is compiled once indeed
    light, weights = frictionless("rrp"), heavy()
    a, b = held(light), held(weights)
    assert abs(a - b).max() > 1.0
    node = graph.start_feedforward(ramp_up=ramp_up, max_age=1.0)
    graph.load(light)
    stream = Stream(graph)
    stream.until(lambda: stream.torques, 0.2)
    slowest = 0.0
    for text in (weights, light, weights):
        models, began = len(graph.models), time.monotonic()
        graph.describe(text)
        stream.until(lambda models=models: len(graph.models) > models)
        slowest = max(slowest, time.monotonic() - began)
        graph.describe(BROKEN)
        stream.until(lambda: True, ramp_up + 0.3)
    totals = np.array([torques.total for torques in stream.torques])
    gravities = np.array([torques.gravity for torques in stream.torques])
    of_a = np.isclose(gravities, a, rtol=1e-9, atol=1e-9).all(axis=1)
    of_b = np.isclose(gravities, b, rtol=1e-9, atol=1e-9).all(axis=1)
    assert (of_a ^ of_b).all()
    changes = np.flatnonzero(of_a[1:] != of_a[:-1])
    assert len(changes) == 3
    way = (totals - a) @ (b - a) / ((b - a) @ (b - a))
    assert totals == pytest.approx(a + way[:, None] * (b - a), rel=1e-9, abs=1e-9)
    assert way.min() > -1e-9
    assert way.max() < 1.0 + 1e-9
    largest = float(np.abs(np.diff(way)).max())
    assert largest == pytest.approx(1.0) if ramp_up == 0.0 else largest < 0.5
    stamps = [torques.header.stamp.sec + 1e-9 * torques.header.stamp.nanosec for torques in stream.torques]
    assert max(later - earlier for earlier, later in pairwise(stamps)) < slowest
    # The machine of the tests may stand still for a while.
    assert len(stamps) > 0.7 * stream._sent
    assert "robot 'rrp' stays in use" in node.log
    assert graph.models[-1].robot_name == "rrp"


def test_a_simulation_goes_on_while_the_next_robot_is_compiled(
    graph: Graph, ros_environment: dict[str, str], tmp_path: Path
) -> None:
    """A chain of 12 joints takes seconds."""
    ros_environment["DYN_CACHE_DIR"] = str(tmp_path)
    ours = Simulated(graph)
    node = graph.start("-m", "dyn_nodes.simulation", "--ros-args", "-p", "rate:=100.0")
    graph.describe(frictionless("rrp"))
    ours.next_state()
    graph.describe(long_chain(12))
    graph.wait_for(lambda: "preparing robot 'chain_12'" in node.log)
    begin, began = len(ours.states), time.monotonic()
    ours.state_when(lambda state: len(state.name) == 12)
    took = time.monotonic() - began
    assert took > 0.5
    meanwhile = [state for state in ours.states[begin:] if len(state.name) == 3]
    # The thread takes half of the interpreter, and the machine of the tests may be busy.
    assert len(meanwhile) > 20.0 * took
