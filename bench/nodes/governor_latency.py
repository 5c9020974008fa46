# SPDX-License-Identifier: Apache-2.0
"""Latency from a reference to the feasible reference through DDS, compared with a relay.

The nodes are measured as in `latency`: in turn, in short blocks, with medians over the blocks.
"""

from __future__ import annotations

import statistics
import time
from array import array

from bars import GOVERNOR_ADDS, LATENCY_MEDIAN, LATENCY_P99, Bars
from nodes.graph import ARM, HERE, JOINTS, Processes, processes
from nodes.latency import quantile
from nodes.probe import RATE_HZ, Probe, Target, motion

from dyn_msgs.msg import JointReference
from dyn_nodes.common import qos

GOVERNOR = ("-m", "dyn_nodes.governor")
REFERENCE_RELAY = (str(HERE / "reference_relay.py"),)
_BLOCK_S = 1.0
_WARM_UP_S = 0.3
_DRAIN_S = 0.1
_MAX_LAG_S = 0.01
_DEEP = 1000


class _Node:
    """A node, and the latencies (s) of its blocks."""

    def __init__(self, name: str, program: tuple[str, ...], started: Processes, probe: Probe) -> None:
        parameters = (
            {"autostart": False} if name == "relay" else {"autostart": False, "description_file": ARM}
        )
        namespace = f"/{name}"
        started.start(program, namespace, parameters)
        self.name = name
        self.blocks: list[list[float]] = []
        self.sent = 0
        self._probe = probe
        self._latencies: list[float] = []
        self._on_their_way: dict[tuple[int, int], int] = {}
        prefix = f"{namespace}/governor"
        self._references = probe.node.create_publisher(JointReference, f"{prefix}/reference", qos.COMMAND)
        probe.node.create_subscription(JointReference, f"{prefix}/feasible_reference", self._on_answer, _DEEP)
        self._target = Target(probe, namespace, "governor")
        self._target.configure_alone()
        probe.wait_for(
            lambda: (
                self._references.get_subscription_count() == 1
                and probe.node.count_publishers(f"{prefix}/feasible_reference") == 1
            ),
            f"the topics of {prefix}",
        )

    def _on_answer(self, message: JointReference) -> None:
        now = time.perf_counter_ns()
        began = self._on_their_way.pop((message.header.stamp.sec, message.header.stamp.nanosec), None)
        if began is not None:
            self._latencies.append(1e-9 * (now - began))

    def run(self) -> None:
        """Measure one block."""
        self._target.activate()
        self._publish(_WARM_UP_S)
        self.blocks.append(self._publish(_BLOCK_S))
        self._target.deactivate()

    def _publish(self, seconds: float) -> list[float]:
        self._latencies, self._on_their_way = [], {}
        message = JointReference(name=list(JOINTS))
        message.acceleration = array("d", bytes(8 * len(JOINTS)))
        clock = self._probe.node.get_clock()
        began = due = time.perf_counter()
        sent = 0
        while (now := time.perf_counter()) < began + seconds:
            if now < due:
                self._probe.handle(due - now)
                continue
            message.position, message.velocity = motion(now)
            stamp = message.header.stamp = clock.now().to_msg()
            self._on_their_way[stamp.sec, stamp.nanosec] = time.perf_counter_ns()
            self._references.publish(message)
            sent += 1
            due = max(due + 1.0 / RATE_HZ, now - _MAX_LAG_S)
        self._probe.handle(_DRAIN_S)
        if seconds == _BLOCK_S:
            self.sent += sent
        return self._latencies

    def typical(self, share: float) -> float:
        """Median over the blocks of the latency (s) that a share of the messages stays below."""
        return statistics.median(quantile(block, share) for block in self.blocks)


def print_governor_latency(bars: Bars, rounds: int) -> None:
    """Print a line for the relay, and one for the governor."""
    print(
        f"From reference in to feasible reference out, 7 joints, {RATE_HZ:g} Hz, {rounds} blocks of "
        f"{_BLOCK_S:g} s in turn"
    )
    print(
        f"{'node':10}{'median':>10}{'/relay':>8}  {'bar':12}{'99 %':>10}{'/relay':>8}  {'bar':12}{'lost':>5}"
    )
    with processes() as started, Probe() as probe:
        relay = _Node("relay", REFERENCE_RELAY, started, probe)
        governor = _Node("governor", GOVERNOR, started, probe)
        for _ in range(rounds):
            relay.run()
            governor.run()
    for node in (relay, governor):
        cells = []
        for what, share, bar in (("median", 0.5, LATENCY_MEDIAN), ("99 %", 0.99, LATENCY_P99)):
            ratio = node.typical(share) / relay.typical(share)
            bar *= GOVERNOR_ADDS
            mark = "" if node is relay else bars.mark(f"governor, {what} of the latency", ratio, bar)
            cells.append(f"{1e6 * node.typical(share):>7.0f} us{ratio:>8.3f}  {mark:12}")
        lost = node.sent - sum(map(len, node.blocks))
        print(f"{node.name:10}{''.join(cells)}{lost:>5}", flush=True)
