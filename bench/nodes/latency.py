# SPDX-License-Identifier: Apache-2.0
"""Latency from a joint state to torques through DDS, compared with a relay that computes nothing.

The nodes take turns, in rounds of blocks; only one is active at a time. Blocks are short, so that an external
disturbance affects few of them. The medians of the block medians and of the block 99th percentiles, over all
rounds, are compared.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bars import LATENCY_MEDIAN, LATENCY_P99, Bars
from nodes.graph import (
    ARM,
    BYTES_RELAY,
    FEEDFORWARD,
    JOINTS,
    RELAY,
    SINGLE_THREADED_RELAY,
    Processes,
    processes,
)
from nodes.probe import RATE_HZ, Block, Probe, Target, swing
from nodes.usage import processor_time

_BLOCK_S = 1.0
_WARM_UP_S = 0.3
_SWING_S = 30.0
"""A trajectory that does not end during a block."""


@dataclass(frozen=True)
class Candidate:
    """A node to be measured.

    Attributes:
        name: what it is called in the table.
        program: what runs it.
        node: its own name; the namespace is made of `name`.
        parameters: its parameters.
        follows: whether it gets a trajectory to follow.
        split: number of joints of the first of two publishers of joint states; all: there is one.
    """

    name: str
    program: Sequence[str] = RELAY
    node: str = "relay"
    parameters: Mapping[str, object] = field(default_factory=dict)
    follows: bool = False
    split: int = len(JOINTS)

    @staticmethod
    def feedforward(
        mode: str, *, follows: bool = False, split: int = len(JOINTS), note: str = ""
    ) -> Candidate:
        """The node `feedforward` in one of its modes."""
        parameters = {"description_file": ARM, "mode": mode}
        name = f"feedforward, {mode}{note}"
        return Candidate(name, FEEDFORWARD, "feedforward", parameters, follows, split)


_NODES = (
    Candidate("relay"),
    Candidate.feedforward("gravity"),
    Candidate.feedforward("computed_torque", follows=True),
    Candidate.feedforward("gravity", split=4, note=", split"),
)
_CHOICES = (
    Candidate("relay"),
    Candidate("relay, reliable subscription", parameters={"reliable": True}),
    Candidate("relay, SingleThreadedExecutor", SINGLE_THREADED_RELAY),
    Candidate("relay of bytes", BYTES_RELAY),
)


class Measured:
    """A node, and what has been measured of it."""

    def __init__(self, candidate: Candidate, started: Processes, probe: Probe) -> None:
        """Start the node, and let it open its topics."""
        self.name = candidate.name
        self._follows = candidate.follows
        namespace = "/" + re.sub(r"\W+", "_", candidate.name)
        parameters = {"autostart": False, **candidate.parameters}
        self._process = started.start(candidate.program, namespace, parameters)
        self._target = Target(probe, namespace, candidate.node, candidate.split)
        self._target.configure()
        self._blocks: list[Block] = []
        self._processor = 0.0

    def run(self, probe: Probe) -> None:
        """Measure one block."""
        self._target.activate()
        probe.block(self._target, _WARM_UP_S)
        if self._follows:
            self._target.trajectories.publish(swing(_SWING_S))
            probe.block(self._target, _WARM_UP_S)
        before = processor_time(self._process.pid)
        self._blocks.append(probe.block(self._target, _BLOCK_S))
        self._processor += processor_time(self._process.pid) - before
        self._target.deactivate()

    def typical(self, share: float) -> float:
        """Median over the blocks of the latency (s) that a share of the messages stays below."""
        return statistics.median(quantile(block.latencies, share) for block in self._blocks)

    @property
    def sent(self) -> int:
        """Joint states published."""
        return sum(block.sent for block in self._blocks)

    @property
    def lost(self) -> int:
        """Joint states without torques, or without a command."""
        return sum(block.lost for block in self._blocks)

    @property
    def processor(self) -> float:
        """Processor time for each message (s)."""
        return self._processor / self.sent


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
    relay, *others = _measured(_NODES, rounds)
    _print_line(relay, relay)
    for node in others:
        _print_line(node, relay, bars)


def print_choices(rounds: int) -> None:
    """Print lines for other executors and qualities of service, like the last table, without bars."""
    relay, *others = _measured(_CHOICES, rounds)
    for node in (relay, *others):
        _print_line(node, relay)


def _measured(candidates: Sequence[Candidate], rounds: int) -> list[Measured]:
    with processes() as started, Probe() as probe:
        nodes = [Measured(candidate, started, probe) for candidate in candidates]
        for _ in range(rounds):
            for node in nodes:
                node.run(probe)
    return nodes


def _print_line(node: Measured, relay: Measured, bars: Bars | None = None) -> None:
    """Print the figures of a node, and whether the bars, if any, are met."""

    def mark(what: str, value: float, bar: float) -> str:
        return "" if bars is None else bars.mark(f"{node.name}, {what}", value, bar)

    cells = []
    for what, share, bar in (("median", 0.5, LATENCY_MEDIAN), ("99 %", 0.99, LATENCY_P99)):
        seconds = node.typical(share)
        ratio = seconds / relay.typical(share)
        met = mark(f"{what} of the latency", ratio, bar)
        cells.append(f"{1e6 * seconds:>7.0f} us{ratio:>8.3f}  {met:12}")
    lost = f"{node.lost:>5} of{node.sent:>7}  {mark('messages lost', node.lost, relay.lost):10}"
    print(f"{node.name:30}{''.join(cells)}{lost}{1e6 * node.processor:>5.0f} us", flush=True)


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]
