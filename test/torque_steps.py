# SPDX-License-Identifier: Apache-2.0
"""The nodes of the arm rrp at times of the test: joint states for them, and the steps of their torques."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from loose_node import LooseNode, Make, loose_node
from robot_files import ROBOTS

from dyn_msgs.msg import JointTorques
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward

Q = [0.1, 0.3, 0.05]
PERIOD = 0.01
STEEPEST = 1.875 / 0.5 * 0.01
"""Fraction of a smooth ramp of 0.5 s in 0.01 s at its steepest point."""
AWAY = [0.4, 0.6, 0.15]
"""Where the robot is pushed to from Q, further than `reference_slack`."""
STILL = [0.0] * 3
RAMPS = {"ramp_start": 0.5, "ramp_up": 0.5, "ramp_down": 0.5}
PD = {"p": 100.0, "d": 5.0}
NODES: dict[str, tuple[Callable[..., ManagedNode], dict[str, Any]]] = {
    "controller": (Controller, PD),
    "computed torque": (Feedforward, {"mode": "computed_torque"}),
    "inverse dynamics": (Feedforward, {"mode": "inverse_dynamics"}),
    "gravity": (Feedforward, {"mode": "gravity"}),
}


def send_state(loose: LooseNode, q: Sequence[float] = Q, qd: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
    """Send a joint state of the arm rrp, and let 0.01 s pass."""
    loose.measure(q, qd)
    loose.pass_time(PERIOD)


@contextmanager
def nodes_of_the_arm() -> Iterator[Make]:
    """Make nodes by the names of `NODES`, and keep them until the end."""
    with ExitStack() as nodes:

        def made(case: str, **parameters: Any) -> LooseNode:
            make_node, own = NODES[case]
            given = {"description_file": str(ROBOTS["rrp"]), **RAMPS, **own, **parameters}
            return nodes.enter_context(loose_node(make_node, **given))

        yield made


def push(loose: LooseNode, referred: Sequence[float] | None = None) -> None:
    """Move the robot from Q to AWAY in 1 s against its desired motion, with references or without."""
    for k in range(1, 101):
        if referred is not None:
            loose.refer(referred, STILL, STILL)
        send_state(loose, [a + (b - a) * k / 100 for a, b in zip(Q, AWAY, strict=True)])


def wanted(loose: LooseNode) -> Any:
    """The present desired position, or None."""
    motion = loose.node.active.maker.desired.at(loose.node.node_time)
    return None if motion is None else motion.q.tolist()


def states_for(loose: LooseNode, seconds: float, q: Sequence[float] = Q) -> list[JointTorques]:
    """Send joint states at 100 Hz, and return the torques that are published meanwhile."""
    count = len(loose.published["torques"])
    for _ in range(round(seconds / PERIOD)):
        send_state(loose, q)
    return loose.published["torques"][count:]


def smooth(torques: Sequence[JointTorques], swing: float = 120.0) -> bool:
    """Whether torques have no step larger than that of a ramp over `swing` (N m or N)."""
    steps = np.diff([torque.total for torque in torques], axis=0)
    return bool(np.abs(steps).max(initial=0.0) < swing * STEEPEST + 1e-9)


def since(loose: LooseNode, count: int) -> list[JointTorques]:
    return loose.published["torques"][count - 1 :]
