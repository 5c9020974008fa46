# SPDX-License-Identifier: Apache-2.0
"""How long one request or message can keep a node from its torques, at 1 kHz.

A client in its own process floods the node with requests, or sends a message that is as large as can be. The
figure is the longest time without torques meanwhile, beside that of a node that is left alone. Descriptions
of many joints are sent once, with an empty cache of compiled programs; the time until the robot is in use is
measured, too.
"""

from __future__ import annotations

import math
import os
import re
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bars import GAP_PERIODS, Bars
from nodes.disturber import MESSAGES, REQUESTS
from nodes.graph import ARM, FEEDFORWARD, Processes, processes
from nodes.probe import RATE_HZ, Block, Probe, Target
from std_msgs.msg import String

from dyn_msgs.msg import ModelInfo
from dyn_nodes.common import qos

_CHAINS = (6, 30, 100)
"""Joints of the robots that are loaded."""
_LONGEST_LOAD_S = 300.0
_LINK = """<link name="link_{k}"><inertial><origin xyz="0.1 0.02 0.03"/><mass value="1.5"/>
<inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial></link>"""
_JOINT = """<joint name="joint_{k}" type="revolute"><parent link="link_{k}"/><child link="link_{next}"/>
<origin xyz="0.3 0.1 0" rpy="0.3 0.2 0.1"/><axis xyz="0 {y} {z}"/>
<limit lower="-3" upper="3" effort="100" velocity="3"/></joint>"""
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


def print_loading(bars: Bars) -> None:
    """Print a line for each size of a robot that is loaded while torques are computed."""
    print(
        f"Chains that are loaded once, at {RATE_HZ:g} Hz: time until use, and longest time between torques."
    )
    print(f"{'joints':>8}{'loaded, s':>12}{'alone, ms':>12}{'longest, ms':>13}")
    for joints in _CHAINS:
        with _empty_cache(), processes() as started, Probe() as probe:
            target = _target(started, probe)
            began = time.perf_counter()
            loaded = _described(probe, chain(joints))
            pause = probe.block(target, _LONGEST_LOAD_S, loaded).pause
            took = time.perf_counter() - began
            # As long, since what else the machine does has its longest gap at some time.
            probe.wait_for(_described(probe, ARM.read_text()), "the first robot")
            alone = probe.block(target, took).pause
        met = bars.mark(f"longest gap, {joints} joints are loaded", (pause - alone) * RATE_HZ, GAP_PERIODS)
        print(f"{joints:8}{took:12.1f}{1e3 * alone:12.2f}{1e3 * pause:13.2f}  {met}", flush=True)


@contextmanager
def _empty_cache() -> Iterator[None]:
    """Let the nodes that are started in the block compile everything."""
    before = os.environ.get("DYN_CACHE_DIR")
    with TemporaryDirectory() as cache:
        os.environ["DYN_CACHE_DIR"] = cache
        yield
    os.environ.pop("DYN_CACHE_DIR")
    if before is not None:
        os.environ["DYN_CACHE_DIR"] = before


def _described(probe: Probe, text: str) -> Callable[[], object]:
    """Publish a description, and return what says whether its robot is in use."""
    used: list[ModelInfo] = []
    probe.node.create_subscription(ModelInfo, "/disturbed/feedforward/model_info", used.append, qos.LATCHED)
    probe.wait_for(lambda: used, "the robot")
    descriptions = probe.node.create_publisher(String, "/disturbed/robot_description", qos.LATCHED)
    probe.wait_for(descriptions.get_subscription_count, "the topic of descriptions")
    descriptions.publish(String(data=text))
    return lambda: len(used) > 1


def chain(count: int) -> str:
    """Return the description of a chain of revolute joints, none parallel to another."""
    links = "".join(_LINK.format(k=k) for k in range(count + 1))
    joints = "".join(_JOINT.format(k=k, next=k + 1, y=k % 2, z=1 - k % 2) for k in range(count))
    return f'<robot name="chain_{count}">{links}{joints}</robot>'


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
