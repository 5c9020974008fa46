# SPDX-License-Identifier: Apache-2.0
"""The end of the demonstration in the graph: it sends references, steps time, and keeps what is said.

A period of simulated time is over when the controller has answered its joint state, and the feedforward its
reference. So the motion does not depend on how fast the machine is, nor on what else it does.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from sensor_msgs.msg import JointState

from dyn_core.control.trajectories.fourier_motion import FourierMotion
from dyn_msgs.msg import JointReference, JointTorques
from dyn_msgs.srv import StepSimulation
from dyn_nodes.common import qos
from dyn_nodes.demonstration.recording import Array, Efforts, Recording, at_times

LEAD = 1.5
"""Periods by which references are sent ahead: the torque that answers a reference is in the controller a
period later, and acts for one more, with its middle here."""
_PATIENCE_S = 1.0
"""Time after which an answer is taken for lost."""
_ON_TIME_S = 1e-6
"""What a stamp may differ from the time that it means."""
_TERMS = ("inertial", "coriolis", "gravity", "friction", "total")
_DEPTH = 50


class Player:
    """Plays one motion after the other. It has a state: the time, and which answers are still to come.

    Attributes:
        time: simulated time (s); None before it is known.
        torques_heard: whether the controller sends torques.
        with_feedforward: whether references are answered with torques.
        lost: answers that did not come, since the motion began.
        problem: why simulated time does not go on, in a sentence; None where it does.
    """

    def __init__(
        self, node: Node, names: Sequence[str], passive: Sequence[str], motion: FourierMotion, rate: float
    ) -> None:
        """Open the topics.

        Args:
            node: of the demonstration.
            names: the joints, in the order of the motion.
            passive: the joints that follow through loops.
            motion: the reference.
            rate: of joint states (Hz).
        """
        self._names = list(names)
        self._passive = list(passive)
        self._motion = motion
        self._rate = rate
        self._start: float | None = None
        self._message = JointReference(name=self._names)
        self.time: float | None = None
        self.torques_heard = False
        self.with_feedforward = False
        self.lost = 0
        self.problem: str | None = None
        self._awaited: set[tuple[str, int]] = set()
        self._since = 0.0
        self._clear()
        self.references = node.create_publisher(JointReference, "reference", qos.COMMAND)
        self.steps = node.create_client(StepSimulation, "simulation/step")
        node.create_subscription(JointState, "joint_states", self._on_joint_state, _DEPTH)
        node.create_subscription(JointTorques, "controller/torques", self._on_torques, _DEPTH)
        node.create_subscription(JointTorques, "feedforward/torques", self._on_feedforward, _DEPTH)

    def begin(self) -> None:
        """Let time begin, with the brakes on."""
        if not self.time:
            self._step()

    def play(self, wait: float) -> None:
        """Hold the robot at the beginning of the motion for `wait` (s), then let it move."""
        assert self.time is not None, "nobody has said what time it is"
        self._clear()
        self.lost = 0
        self._start = self.time + wait
        self._step()

    @property
    def over(self) -> bool:
        """Whether the motion has come to its end."""
        return (
            self._start is not None
            and self.time is not None
            and self.time > self._start + self._motion.duration
            and not self._awaited
        )

    def recording(self, title: str) -> Recording:
        """Answer what was recorded of the last motion."""
        assert self._start is not None, "nothing was played"
        stamps = np.array([_seconds(state.header.stamp) for state in self._states])
        t = stamps - self._start
        within = (t > -_ON_TIME_S) & (t < self._motion.duration + _ON_TIME_S)
        states = [state for state, counts in zip(self._states, within, strict=True) if counts]
        t, stamps = t[within], stamps[within]
        positions = [(state.name, state.position) for state in states]
        return Recording(
            title,
            t,
            self._motion.at_many(t).q,
            _rows(self._names, positions),
            _rows(self._names, [(state.name, state.velocity) for state in states]),
            self._efforts(states, stamps),
            self.lost,
            _rows(self._passive, positions),
        )

    def _clear(self) -> None:
        self._states: list[JointState] = []
        self._torques: list[JointTorques] = []
        self._feedforward: list[JointTorques] = []

    # Simulated time.

    def _on_joint_state(self, state: JointState) -> None:
        stamp = _nanoseconds(state.header.stamp)
        t = 1e-9 * stamp
        if t == self.time:
            self._go_on_without()
            return
        self.time = t
        if self._start is None:
            return
        self._states.append(state)
        self._since = time.monotonic()
        self._awaited.add(("controller", stamp))
        reference = self._refer(t + LEAD / self._rate)
        if self.with_feedforward:
            self._awaited.add(("feedforward", reference))

    def _go_on_without(self) -> None:
        """Go on where an answer is lost: joint states that are repeated show that time stands."""
        if self._start is not None and not self.over and time.monotonic() - self._since > _PATIENCE_S:
            self.lost += 1
            self._awaited.clear()
            self._step()

    def _refer(self, t: float) -> int:
        """Publish the reference for a time (s), and answer its stamp (ns)."""
        assert self._start is not None, "nothing is played"
        motion = self._motion.at(t - self._start)
        message = self._message
        message.header.stamp = _stamp(t)
        message.position = array("d", motion.q.tobytes())
        message.velocity = array("d", motion.qd.tobytes())
        message.acceleration = array("d", motion.qdd.tobytes())
        self.references.publish(message)
        return _nanoseconds(message.header.stamp)

    def _on_torques(self, torques: JointTorques) -> None:
        self.torques_heard = True
        self._torques.append(torques)
        self._answered("controller", torques)

    def _on_feedforward(self, torques: JointTorques) -> None:
        self._feedforward.append(torques)
        self._answered("feedforward", torques)

    def _answered(self, who: str, torques: JointTorques) -> None:
        answer = (who, _nanoseconds(torques.header.stamp))
        if answer in self._awaited:
            self._awaited.remove(answer)
            if not self._awaited and not self.over:
                self._step()

    def _step(self) -> None:
        self._since = time.monotonic()
        self.steps.call_async(StepSimulation.Request(steps=1)).add_done_callback(self._on_stepped)

    def _on_stepped(self, future: Any) -> None:
        if not future.result().success:
            self.problem = f"the node simulation does not step: {future.result().message}"

    # What was recorded.

    def _efforts(self, states: Sequence[JointState], stamps: Array) -> Efforts:
        # To a state the controller adds the torques for the middle of the period that begins with it.
        inertial, coriolis, gravity, friction, feedforward = (
            at_times(stamps + 0.75 / self._rate, *self._series(self._feedforward, term)) for term in _TERMS
        )
        total = at_times(stamps, *self._series(self._torques, "total"))
        control = total - np.nan_to_num(feedforward)
        measured = _rows(self._names, [(state.name, state.effort) for state in states])
        return Efforts(inertial, coriolis, gravity, friction, feedforward, control, total, measured)

    def _series(self, torques: Sequence[JointTorques], term: str) -> tuple[Array, Array]:
        """Answer stamps (s) and values of one term of torques."""
        stamps = np.array([_seconds(message.header.stamp) for message in torques])
        return stamps, _rows(self._names, [(message.name, getattr(message, term)) for message in torques])


def _rows(joints: Sequence[str], named: Sequence[tuple[Sequence[str], Sequence[float]]]) -> Array:
    """Answer values in the order of the joints, (N, n); NaN for joints that are not named."""
    rows = np.full((len(named), len(joints)), np.nan)
    for row, (names, values) in zip(rows, named, strict=True):
        by_name = dict(zip(names, values, strict=True))
        row[:] = [by_name.get(name, np.nan) for name in joints]
    return rows


def _nanoseconds(stamp: Time) -> int:
    return int(stamp.sec * 1_000_000_000 + stamp.nanosec)


def _seconds(stamp: Time) -> float:
    return 1e-9 * _nanoseconds(stamp)


def _stamp(t: float) -> Time:
    seconds, nanoseconds = divmod(round(1e9 * t), 10**9)
    return Time(sec=seconds, nanosec=nanoseconds)
