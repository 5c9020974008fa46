# SPDX-License-Identifier: Apache-2.0
"""Processor load of online estimation: the node `identification` at 1 kHz.

The node `simulation` is a 7-joint arm that `feedforward` moves along a trajectory by computed torque. Two
nodes `identification` receive its joint states; one of them estimates, the other ignores them.
"""

from __future__ import annotations

import subprocess
import time

from bars import RECURSIVE_SHARE, Bars
from diagnostic_msgs.msg import DiagnosticArray
from nodes.graph import ARM, FEEDFORWARD, IDENTIFICATION, JOINTS, SIMULATION, Processes, processes
from nodes.probe import RATE_HZ, Probe, motion, swing
from nodes.usage import processor_time
from trajectory_msgs.msg import JointTrajectory

from dyn_msgs.msg import DynamicParameters
from dyn_nodes.common import qos

_WARM_UP_S = 5.0
_NODES = {"hears joint states": False, "estimates parameters": True}


def print_online(bars: Bars, seconds: float) -> None:
    """Print a line for each node with its fraction of a core."""
    with processes() as started, Probe() as probe:
        nodes = _started(started)
        parameters: list[DynamicParameters] = []
        topic = "/arm/identification_1/parameters"
        probe.node.create_subscription(DynamicParameters, topic, parameters.append, qos.LATCHED)
        said: dict[str, str] = {}

        def on_diagnostics(message: DiagnosticArray) -> None:
            for status in message.status:
                for value in status.values:
                    if value.key == "online":
                        said[status.name] = value.value

        probe.node.create_subscription(DiagnosticArray, "/diagnostics", on_diagnostics, 100)
        publisher = probe.node.create_publisher(
            JointTrajectory, "/arm/feedforward/joint_trajectory", qos.EACH_MESSAGE
        )
        probe.wait_for(publisher.get_subscription_count, "feedforward")
        publisher.publish(swing(seconds + 3.0 * _WARM_UP_S))
        probe.wait_for(lambda: parameters, "parameters")
        probe.handle(_WARM_UP_S)
        before = [processor_time(process.pid) for process in nodes]
        began = time.monotonic()
        probe.handle(seconds)
        elapsed = time.monotonic() - began
        shares = [
            (processor_time(process.pid) - spent) / elapsed
            for process, spent in zip(nodes, before, strict=True)
        ]
    print(f"{elapsed:.0f} s at {RATE_HZ:g} Hz, 7 joints, the node identification:")
    for (what, estimates), share in zip(_NODES.items(), shares, strict=True):
        mark = bars.mark(f"identification, {what}", share, RECURSIVE_SHARE if estimates else None)
        print(f"{what:24}{100.0 * share:>6.1f} % of a core  {mark}")
    print(f"The last estimate: {said.get('arm/identification_1', 'none')}", flush=True)


def _started(started: Processes) -> list[subprocess.Popen[str]]:
    start = dict(zip(JOINTS, motion(0.0)[0], strict=True))
    common = {"description_file": ARM}
    arm = {"rate": RATE_HZ, "brakes": True}
    arm |= {f"initial.{name}.position": value for name, value in start.items()}
    started.start(SIMULATION, "/arm", common | arm, ["simulation/torques:=feedforward/torques"])
    started.start(FEEDFORWARD, "/arm", common | {"mode": "computed_torque"})
    return [
        started.start(
            IDENTIFICATION,
            "/arm",
            common | {"online.enabled": estimates, "online.rate": 0.5},
            [f"__node:=identification_{int(estimates)}"],
        )
        for estimates in _NODES.values()
    ]
