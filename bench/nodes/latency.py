# SPDX-License-Identifier: Apache-2.0
"""From a joint state in to torques out, through DDS, beside a relay that computes nothing.

The nodes take turns, in rounds of blocks; only one is active at a time. Blocks are short, so that a
disturbance from outside is in few of them: what is compared are the medians, over all rounds, of the median
and of the 99th percentile of a block.
"""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

from bars import LATENCY_MEDIAN, LATENCY_P99, Bars
from nodes.graph import ARM, FEEDFORWARD, RELAY, Processes, processes
from nodes.probe import RATE_HZ, Block, Probe, Target, swing
from nodes.usage import processor_time

_BLOCK_S = 1.0
_WARM_UP_S = 0.3
_SWING_S = 30.0
"""A trajectory that does not end during a block."""
_MODES = ("gravity", "computed_torque")


@dataclass
class Measured:
    """A node, and what has been measured of it.

    Attributes:
        name: what it is called in the table.
        target: the node, as the probe sees it.
        process: the process of the node.
        follows: whether it gets a trajectory to follow.
        blocks: one for each round.
        processor: processor time (s).
    """

    name: str
    target: Target
    process: subprocess.Popen[str]
    follows: bool
    blocks: list[Block] = field(default_factory=list)
    processor: float = 0.0

    def run(self, probe: Probe) -> None:
        """Measure one block."""
        self.target.activate()
        probe.block(self.target, _WARM_UP_S)
        if self.follows:
            self.target.trajectories.publish(swing(_SWING_S))
            probe.block(self.target, _WARM_UP_S)
        before = processor_time(self.process.pid)
        self.blocks.append(probe.block(self.target, _BLOCK_S))
        self.processor += processor_time(self.process.pid) - before
        self.target.deactivate()

    def typical(self, share: float) -> float:
        """Median over the blocks of the latency (s) that a share of the messages stays below."""
        return statistics.median(_quantile(block.latencies, share) for block in self.blocks)

    @property
    def sent(self) -> int:
        """Joint states published."""
        return sum(block.sent for block in self.blocks)

    @property
    def lost(self) -> int:
        """Joint states without torques, or without a command."""
        return sum(block.lost for block in self.blocks)


def print_latency(bars: Bars, rounds: int) -> None:
    """Print a line for each node."""
    print(
        f"From joint state in to torques out, 7 joints, {RATE_HZ:g} Hz, DDS on the loopback interface, "
        f"{rounds} blocks of {_BLOCK_S:g} s in turn; CPU time is per message."
    )
    print(
        f"{'node':30}{'median':>10}{'/relay':>8}  {'bar':12}{'99 %':>10}{'/relay':>8}  {'bar':12}"
        f"{'lost':>5} of{'sent':>7}  {'bar':10}{'CPU':>8}"
    )
    with processes() as started, Probe() as probe:
        nodes = _started(started, probe)
        for node in nodes:
            node.target.configure()
        for _ in range(rounds):
            for node in nodes:
                node.run(probe)
    for node in nodes:
        _print_line(bars, node, nodes[0])


def _started(started: Processes, probe: Probe) -> list[Measured]:
    relay = started.start(RELAY, "/relay", autostart=False)
    nodes = [Measured("relay", Target(probe, "/relay", "relay"), relay, follows=False)]
    for mode in _MODES:
        namespace = f"/{mode}"
        process = started.start(
            FEEDFORWARD, namespace, autostart=False, description_file=ARM, mode=mode, max_age=1.0
        )
        target = Target(probe, namespace, "feedforward")
        nodes.append(Measured(f"feedforward, {mode}", target, process, mode == "computed_torque"))
    return nodes


def _print_line(bars: Bars, node: Measured, relay: Measured) -> None:
    cells = []
    for what, share, bar in (("median", 0.5, LATENCY_MEDIAN), ("99 %", 0.99, LATENCY_P99)):
        seconds = node.typical(share)
        ratio = seconds / relay.typical(share)
        mark = "" if node is relay else bars.mark(f"{node.name}, {what} of the latency", ratio, bar)
        cells.append(f"{1e6 * seconds:>7.0f} us{ratio:>8.3f}  {mark:12}")
    lost = "" if node is relay else bars.mark(f"{node.name}, messages lost", node.lost, relay.lost)
    processor = f"{1e6 * node.processor / node.sent:.0f} us"
    print(
        f"{node.name:30}{''.join(cells)}{node.lost:>5} of{node.sent:>7}  {lost:10}{processor:>8}", flush=True
    )


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]
