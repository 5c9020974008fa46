# SPDX-License-Identifier: Apache-2.0
"""The end of the demonstration in the graph: sends the reference, and keeps what the others say."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from sensor_msgs.msg import JointState

from dyn_core.control.fourier_motion import FourierMotion
from dyn_core.control.motion import Motion
from dyn_msgs.msg import JointReference, JointTorques
from dyn_nodes import qos
from dyn_nodes.demonstration.recording import Array, Efforts, Recording, at_times

LEAD = 1.5
"""Periods by which references are sent ahead: the torque that answers a reference is in the controller a period
later, and acts for one more, with its middle here."""
_TERMS = ("inertial", "coriolis", "gravity", "friction", "total")


class Player:
    """Answers each joint state with the reference of a moment later."""

    def __init__(self, node: Node, names: Sequence[str], motion: FourierMotion, rate: float) -> None:
        """Hold the robot at the centre of the motion.

        Args:
            node: of the demonstration.
            names: the joints, in the order of the motion.
            motion: the reference.
            rate: of joint states (Hz).
        """
        self._names = list(names)
        self._motion = motion
        self._rate = rate
        self._start: float | None = None
        self._message = JointReference(name=self._names)
        self.time: float | None = None
        self.torques_heard = False
        self._clear()
        self.references = node.create_publisher(JointReference, "reference", qos.COMMAND)
        node.create_subscription(JointState, "joint_states", self._on_joint_state, 50)
        node.create_subscription(JointTorques, "controller/torques", self._on_torques, 50)
        node.create_subscription(JointTorques, "feedforward/torques", self._on_feedforward, 50)

    def play(self, wait: float) -> None:
        """Begin the motion after `wait` (s), and record what happens then."""
        assert self.time is not None, "nobody has said what time it is"
        self._clear()
        self._start = self.time + wait

    @property
    def over(self) -> bool:
        """Whether the motion has come to its end, and the answers to it are there."""
        ended = self._start is not None and self.time is not None
        return ended and self.time > self._start + self._motion.duration + 5.0 * LEAD / self._rate

    def recording(self, title: str) -> Recording:
        """Answer what was recorded of the last motion."""
        assert self._start is not None, "nothing was played"
        stamps = np.array([_seconds(state.header.stamp) for state in self._states])
        t = stamps - self._start
        within = (t >= 0.0) & (t <= self._motion.duration)
        states = [state for state, counts in zip(self._states, within, strict=True) if counts]
        t, stamps = t[within], stamps[within]
        return Recording(
            title,
            t,
            self._motion.at_many(t).q,
            self._rows([(state.name, state.position) for state in states]),
            self._rows([(state.name, state.velocity) for state in states]),
            self._efforts(states, stamps),
            max(0, int(self._motion.duration * self._rate + 1e-6) - len(t)),
        )

    def _clear(self) -> None:
        self._states: list[JointState] = []
        self._torques: list[JointTorques] = []
        self._feedforward: list[JointTorques] = []

    def _on_joint_state(self, state: JointState) -> None:
        self.time = t = _seconds(state.header.stamp)
        self._states.append(state)
        self._refer(t + LEAD / self._rate)

    def _refer(self, t: float) -> None:
        start = self._start
        motion = Motion.at_rest(self._motion.centre) if start is None else self._motion.at(t - start)
        message = self._message
        message.header.stamp = _stamp(t)
        message.position = array("d", motion.q.tobytes())
        message.velocity = array("d", motion.qd.tobytes())
        message.acceleration = array("d", motion.qdd.tobytes())
        self.references.publish(message)

    def _on_torques(self, torques: JointTorques) -> None:
        self.torques_heard = True
        self._torques.append(torques)

    def _on_feedforward(self, torques: JointTorques) -> None:
        self._feedforward.append(torques)

    def _efforts(self, states: Sequence[JointState], stamps: Array) -> Efforts:
        n = len(self._names)
        # The controller answers a state with the torques for half a period later.
        of_feedforward = [
            at_times(stamps + 0.75 / self._rate, *self._series(self._feedforward, term), n) for term in _TERMS
        ]
        total = at_times(stamps, *self._series(self._torques, "total"), n)
        feedforward = of_feedforward[-1]
        return Efforts(
            *of_feedforward,
            control=total - np.nan_to_num(feedforward),
            total=total,
            measured=self._rows([(state.name, state.effort) for state in states]),
        )

    def _series(self, torques: Sequence[JointTorques], term: str) -> tuple[list[float], Array]:
        stamps = [_seconds(message.header.stamp) for message in torques]
        return stamps, self._rows([(message.name, getattr(message, term)) for message in torques])

    def _rows(self, named: Sequence[tuple[Sequence[str], Sequence[float]]]) -> Array:
        """Answer values in the order of our joints, (N, n)."""
        rows = np.full((len(named), len(self._names)), np.nan)
        for row, (names, values) in zip(rows, named, strict=True):
            by_name = dict(zip(names, values, strict=True))
            row[:] = [by_name.get(name, np.nan) for name in self._names]
        return rows


def _seconds(stamp: Time) -> float:
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def _stamp(t: float) -> Time:
    seconds, nanoseconds = divmod(round(1e9 * t), 10**9)
    return Time(sec=seconds, nanosec=nanoseconds)
