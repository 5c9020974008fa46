# SPDX-License-Identifier: Apache-2.0
"""How long one request or message can keep a node from its torques, at 1 kHz.

A client in its own process floods the node with requests, or sends a message that is as large as can be. The
figure is the longest time without torques meanwhile, beside that of a node that is left alone.
"""

from __future__ import annotations

import math
import re
import statistics
from pathlib import Path

from bars import GAP_PERIODS, Bars
from nodes.disturber import MESSAGES, REQUESTS
from nodes.graph import ARM, FEEDFORWARD, Processes, processes
from nodes.probe import RATE_HZ, Block, Probe, Target
from std_msgs.msg import String

from dyn_nodes.common import qos

_BLOCK_S = 1.5
_BLOCKS = 3
"""Blocks of each kind. The best counts: what else the machine does is not in all of them."""
_FLOOD_HZ = 2000.0
_LARGE_HZ = 2.0
_DISTURBER = str(Path(__file__).resolve().parent / "disturber.py")
_FLOODS = ("set_parameters", "list_parameters", "describe_parameters", "get_state", "set_payload")


def print_gaps(bars: Bars, only: str = "") -> None:
    """Print a line for each kind of disturbance."""
    print(f"Way from joint state to torques at {RATE_HZ:g} Hz, and the longest time between torques, ms.")
    print(f"{'disturbance':36}{'per s':>7}{'median':>9}{'99 %':>9}{'longest':>9}{'lost':>6} of  sent")
    with processes() as started, Probe() as probe:
        target = _target(started, probe)
        for kind in ("", *REQUESTS, *MESSAGES):
            if only in kind:
                _print_line(bars, kind, _disturbed(started, probe, target, kind))


def _target(started: Processes, probe: Probe) -> Target:
    given = {"autostart": False, "mode": "gravity", "timeout": 5.0, "max_age": 5.0}
    started.start(FEEDFORWARD, "/disturbed", given)
    target = Target(probe, "/disturbed", "feedforward")
    target.configure()
    target.activate()
    descriptions = probe.node.create_publisher(String, "/disturbed/robot_description", qos.LATCHED)
    descriptions.publish(String(data=ARM.read_text()))
    probe.wait_for(lambda: probe.block(target, 0.1).latencies, "the robot")
    return target


def _disturbed(started: Processes, probe: Probe, target: Target, kind: str) -> Block:
    if not kind:
        return _best(probe, target)
    rate = _FLOOD_HZ if kind in _FLOODS else _LARGE_HZ
    namespace = "/" + re.sub(r"\W+", "_", kind)
    process = started.start((_DISTURBER, kind, target.prefix, str(rate)), namespace, {})
    probe.block(target, 2.0)  # it starts
    block = _best(probe, target)
    process.kill()
    process.wait()
    return block


def _best(probe: Probe, target: Target) -> Block:
    probe.block(target, 0.3)
    blocks = [probe.block(target, _BLOCK_S) for _ in range(_BLOCKS)]
    return min(blocks, key=lambda block: block.pause)


def _print_line(bars: Bars, kind: str, block: Block) -> None:
    latencies = sorted(1e3 * latency for latency in block.latencies) or [math.inf]
    rate = "" if not kind else f"{_FLOOD_HZ if kind in _FLOODS else _LARGE_HZ:g}"
    share = latencies[int(0.99 * len(latencies))]
    met = bars.mark(f"longest gap, {kind or 'alone'}", block.pause * RATE_HZ, GAP_PERIODS)
    cells = f"{statistics.median(latencies):9.2f}{share:9.2f}{1e3 * block.pause:9.2f}"
    print(f"{kind or 'none':36}{rate:>7}{cells}{block.lost:6} of {block.sent:5}  {met}", flush=True)
