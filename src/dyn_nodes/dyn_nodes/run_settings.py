# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `identification` about runs: when one is stopped, and how."""

from __future__ import annotations

from rclpy.node import Node

from dyn_core import DynError
from dyn_nodes.common.parameters import PART, declare, declare_by_joint
from dyn_nodes.identification.motion_run import RunSettings


def declared_run(node: Node) -> RunSettings:
    """Declare the parameters and answer their values; DynError where one will not do."""
    usual = RunSettings()
    timeout: float = declare(
        node,
        "timeout",
        usual.timeout,
        "Without good joint states for longer than this, s on a steady clock, a run is stopped.",
        within=(0.02, 60.0),
    )
    error: float = declare(
        node,
        "max_tracking_error",
        usual.tracking_error,
        "Greatest distance of a joint from the motion, rad or m; beyond it a run is stopped.",
        within=(1e-4, 10.0),
    )
    by_joint = declare_by_joint(
        node,
        "joints",
        {"max_tracking_error": "Greatest distance of joint '{joint}' from the motion, rad or m."},
        within=(0.0, 10.0),
    )["max_tracking_error"]
    effort_part: float = declare(
        node,
        "max_effort.part",
        usual.effort_part,
        "Part of its effort limit from which on the measured effort of a joint is near to it.",
        within=PART,
    )
    effort_time: float = declare(
        node,
        "max_effort.time",
        usual.effort_time,
        "Longest time that it may be there, s; after it a run is stopped.",
        within=(0.0, 60.0),
    )
    shortest: float = declare(
        node,
        "stop.shortest",
        usual.stop_shortest,
        "Time of a stop that the robot can do, s.",
        within=(0.02, 10.0),
    )
    longest: float = declare(
        node,
        "stop.longest",
        usual.stop_longest,
        "Time of a stop where the efforts allow no shorter one, s.",
        within=(0.02, 10.0),
    )
    if longest < shortest:
        raise DynError(f"parameter stop.longest is {longest:g}, below stop.shortest = {shortest:g}")
    return RunSettings(timeout, error, by_joint, effort_part, effort_time, usual.lead, shortest, longest)
