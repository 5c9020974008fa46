# SPDX-License-Identifier: Apache-2.0
"""A long run at 1 kHz: memory, rates, and whether a node ever reported stale data.

The node `simulation` is a 7-joint arm that `feedforward` moves along a trajectory by computed torque, a
torque for each joint state. A second `feedforward` publishes along a trajectory at its own rate. The probe
listens.
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass, field

from bars import MEMORY_MB, RATE_DRIFT, Bars
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nodes.graph import ARM, FEEDFORWARD, JOINTS, SIMULATION, Processes, processes
from nodes.probe import RATE_HZ, Probe, motion, swing
from nodes.usage import processor_time, resident_memory
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from dyn_msgs.msg import JointTorques
from dyn_nodes.common import qos
from dyn_nodes.common.messages.joint_state_bytes import MessageBytes
from dyn_nodes.common.torques.effort_messages import TERMS

_WARM_UP_S = 5.0
_SETTLE_S = 0.2
_SAMPLE_S = 1.0
_DEEP = 10_000


@dataclass
class Stream:
    """Messages on a topic, with the times at which the probe received them.

    Attributes:
        name: what it is called in the table.
        count: messages since `begin`.
        faults: those of them that say that data was stale or torques were limited.
    """

    name: str
    count: int = 0
    faults: int = 0
    first: float = 0.0
    last: float = 0.0

    def begin(self) -> None:
        """Begin to count."""
        self.count = self.faults = 0

    def hear(self, fault: bool = False) -> None:
        """Count a message."""
        self.last = time.monotonic()
        if not self.count:
            self.first = self.last
        self.count += 1
        self.faults += fault

    @property
    def drift(self) -> float:
        """How far the rate is from `RATE_HZ`, relative."""
        return abs((self.count - 1) / (self.last - self.first) / RATE_HZ - 1.0)


@dataclass
class Watched:
    """A process and its memory over time.

    Attributes:
        name: what it is called in the table.
        process: the process.
        memory: resident memory (MB), each second.
    """

    name: str
    process: subprocess.Popen[str]
    memory: list[float] = field(default_factory=list)
    processor: float = 0.0

    def look(self) -> None:
        """Take one sample."""
        self.memory.append(resident_memory(self.process.pid))

    @property
    def growth(self) -> float:
        """Greatest increase of the memory above the first sample (MB)."""
        return max(self.memory) - self.memory[0]


def print_soak(bars: Bars, seconds: float) -> None:
    """Print a line for each process and each topic."""
    with processes() as started, Probe() as probe:
        watched = _started(started)
        streams, problems = _listen(probe)
        _begin(probe, streams, seconds + 2.0 * _WARM_UP_S)
        probe.handle(_WARM_UP_S)
        for one in watched:
            one.look()
            one.processor = processor_time(one.process.pid)
        # Messages from this time would be received late.
        probe.handle(_SETTLE_S)
        for stream in streams:
            stream.begin()
        problems.clear()
        began = time.monotonic()
        while (elapsed := time.monotonic() - began) < seconds:
            probe.handle(min(_SAMPLE_S, seconds - elapsed))
            for one in watched:
                one.look()
        for one in watched:
            one.processor = (processor_time(one.process.pid) - one.processor) / elapsed
    print(f"{elapsed:.0f} s at {RATE_HZ:g} Hz, 7 joints, after {_WARM_UP_S:g} s.")
    print(f"{'process':34}{'memory':>10}{'growth':>11}  {'bar':12}{'CPU':>7}")
    for one in watched:
        mark = bars.mark(f"{one.name}, growth of the memory (MB)", one.growth, MEMORY_MB)
        memory = f"{one.memory[0]:>7.1f} MB{one.growth:>8.2f} MB  {mark:12}"
        print(f"{one.name:34}{memory}{100.0 * one.processor:>5.0f} %")
    print(f"{'topic':34}{'messages':>10}{'drift':>11}  {'bar':12}{'not live':>9}  {'bar':8}")
    for stream in streams:
        drift = bars.mark(f"{stream.name}, drift of the rate", stream.drift, RATE_DRIFT)
        live = bars.mark(f"{stream.name}, messages for stale data", stream.faults, 0)
        rate = f"{stream.count:>10}{100.0 * stream.drift:>9.4f} %  {drift:12}"
        print(f"{stream.name:34}{rate}{stream.faults:>9}  {live:8}")
    mark = bars.mark("problems on /diagnostics", len(problems), 0)
    print(f"problems on /diagnostics: {len(problems)}, bar: {mark}", *problems[:5], sep="\n  ", flush=True)


def _started(started: Processes) -> list[Watched]:
    start = dict(zip(JOINTS, motion(0.0)[0], strict=True))
    common = {"description_file": ARM, "rate": RATE_HZ}
    arm = {"brakes": True, **{f"initial.{name}.position": value for name, value in start.items()}}
    torques = ["simulation/torques:=feedforward/torques"]
    nodes = {
        "simulation": started.start(SIMULATION, "/arm", common | arm, torques),
        "feedforward, computed_torque": started.start(
            FEEDFORWARD, "/arm", common | {"mode": "computed_torque"}
        ),
        "feedforward, inverse_dynamics": started.start(
            FEEDFORWARD, "/planned", common | {"mode": "inverse_dynamics"}
        ),
    }
    return [Watched(name, process) for name, process in nodes.items()]


def _listen(probe: Probe) -> tuple[list[Stream], list[str]]:
    """Count messages as bytes, so that the probe needs little processor time."""
    states, by_state, by_timer = streams = [
        Stream("joint_states"),
        Stream("torques, one for each state"),
        Stream("torques, along a trajectory"),
    ]
    node = probe.node
    node.create_subscription(JointState, "/arm/joint_states", lambda _: states.hear(), _DEEP, raw=True)
    status_at = MessageBytes(JointTorques(name=list(JOINTS)), dict.fromkeys(TERMS, len(JOINTS))).byte(
        "status"
    )

    def torques(namespace: str, stream: Stream) -> None:
        def hear(raw: bytes) -> None:
            stream.hear(raw[status_at] != JointTorques.STATUS_OK)

        topic = f"{namespace}/feedforward/torques"
        node.create_subscription(JointTorques, topic, hear, _DEEP, raw=True)

    torques("/arm", by_state)
    torques("/planned", by_timer)
    problems: list[str] = []

    def on_diagnostics(message: DiagnosticArray) -> None:
        bad = (status for status in message.status if status.level != DiagnosticStatus.OK)
        problems.extend(f"{status.name}: {status.message}" for status in bad)

    node.create_subscription(DiagnosticArray, "/diagnostics", on_diagnostics, _DEEP)
    return streams, problems


def _begin(probe: Probe, streams: list[Stream], seconds: float) -> None:
    """Wait for the nodes, and send them trajectories of this duration."""
    states, by_state, by_timer = streams
    topics = [f"{namespace}/feedforward/joint_trajectory" for namespace in ("/arm", "/planned")]
    publishers = [probe.node.create_publisher(JointTrajectory, topic, qos.EACH_MESSAGE) for topic in topics]
    probe.wait_for(lambda: states.count and by_state.count, "the simulated arm")
    probe.wait_for(lambda: all(p.get_subscription_count() for p in publishers), "the topics of trajectories")
    for publisher in publishers:
        publisher.publish(swing(seconds))
    count = by_timer.count
    probe.wait_for(lambda: by_timer.count > count + RATE_HZ, "torques along a trajectory")
