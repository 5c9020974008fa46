# SPDX-License-Identifier: Apache-2.0
"""The client of the nodes: it sends references, steps simulated time, and records messages.

A period of simulated time ends when the controller has responded to its joint state, and the feedforward to
its reference. So the motion does not depend on the speed and load of the machine.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from itertools import compress
from typing import Any, Literal

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from dyn_core import DynError
from dyn_core.control.trajectories.fourier_motion import FourierMotion
from dyn_core.core.arrays import Array
from dyn_msgs.msg import JointReference, JointTorques
from dyn_msgs.srv import StepSimulation
from dyn_nodes.common import qos
from dyn_nodes.common.messages.message_stamps import nanoseconds_of, time_message
from dyn_nodes.demonstration.recording import Efforts, Recording, at_times

Fed = Literal["nothing", "gravity", "motion"]
"""What the feedforward is for: nothing, a robot that stands at each reference, or the motion."""
LEAD = 1.5
"""Periods by which references are sent ahead: the torque of a reference reaches the controller a period
later, and acts for one more period, with its middle here."""
_PATIENCE_S = 1.0
"""Time after which a response is lost (s)."""
_ON_TIME_S = 1e-6
"""Greatest difference between a stamp and its exact time (s)."""
_TERMS = ("inertial", "coriolis", "gravity", "friction", "total")
_DEPTH = 50


class Player:
    """Plays motions. State: the time, and the expected responses.

    Attributes:
        time: simulated time (s); None before it is known.
        torques_heard: whether the controller sends torques.
        feedforward: what the feedforward gets references for.
        lost: number of lost responses since the motion began.
        problem: why simulated time does not advance; None where it does.
    """

    def __init__(
        self, node: Node, names: Sequence[str], passive: Sequence[str], motion: FourierMotion, rate: float
    ) -> None:
        """Open the topics.

        Args:
            node: node of the demonstration.
            names: the joints, in the order of the motion.
            passive: the passive joints of loops.
            motion: the reference.
            rate: rate of joint states (Hz).
        """
        self._names, self._passive = list(names), list(passive)
        self._motion, self._rate = motion, rate
        self._start: float | None = None
        self._message = JointReference(name=self._names)
        self.time: float | None = None
        self.torques_heard = False
        self.feedforward: Fed = "nothing"
        self.lost = 0
        self.problem: DynError | None = None
        self._awaited: set[tuple[str, int]] = set()
        self._since = 0.0
        self._clear()
        self._for_controller = node.create_publisher(JointReference, "controller/reference", qos.COMMAND)
        self._for_feedforward = node.create_publisher(JointReference, "feedforward/reference", qos.COMMAND)
        self.steps = node.create_client(StepSimulation, "simulation/step")
        node.create_subscription(JointState, "joint_states", self._on_joint_state, _DEPTH)
        node.create_subscription(JointTorques, "controller/torques", self._on_torques, _DEPTH)
        node.create_subscription(JointTorques, "feedforward/torques", self._on_feedforward, _DEPTH)

    @property
    def references_heard(self) -> bool:
        """Whether both nodes subscribe to references."""
        publishers = (self._for_controller, self._for_feedforward)
        return all(publisher.get_subscription_count() > 0 for publisher in publishers)

    def begin(self) -> None:
        """Start simulated time, with the brakes on."""
        if not self.time:
            self._step()

    def play(self, wait: float) -> None:
        """Hold the robot at the beginning of the motion for `wait` (s), then let it move."""
        assert self.time is not None
        self._clear()
        self.lost = 0
        self._start = self.time + wait
        self._step()

    @property
    def over(self) -> bool:
        """Whether the motion has ended."""
        if self._start is None or self.time is None or self._awaited:
            return False
        return self.time > self._start + self._motion.duration

    def recording(self, title: str) -> Recording:
        """Return the recording of the last motion."""
        assert self._start is not None, "nothing was played"
        stamps = np.array([_seconds(state) for state in self._states])
        t = stamps - self._start
        within = (t > -_ON_TIME_S) & (t < self._motion.duration + _ON_TIME_S)
        states = list(compress(self._states, within))
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

    # Simulated time

    def _on_joint_state(self, state: JointState) -> None:
        stamp = nanoseconds_of(state.header.stamp)
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
        if self.feedforward != "nothing":
            self._awaited.add(("feedforward", reference))

    def _go_on_without(self) -> None:
        """Continue after a lost response: repeated joint states show that time stands still."""
        if self._start is not None and not self.over and time.monotonic() - self._since > _PATIENCE_S:
            self.lost += 1
            self._awaited.clear()
            self._step()

    def _refer(self, t: float) -> int:
        """Publish the references for a time (s), and return their stamp (ns)."""
        assert self._start is not None, "nothing is played"
        motion = self._motion.at(t - self._start)
        message = self._message
        message.header.stamp = time_message(round(1e9 * t))
        for field, values in zip(("position", "velocity", "acceleration"), motion, strict=True):
            setattr(message, field, array("d", values.tobytes()))
        self._for_controller.publish(message)
        if self.feedforward == "gravity":
            # The torques of a robot that stands still are those of gravity.
            message.velocity = message.acceleration = array("d", bytes(8 * len(self._names)))
        if self.feedforward != "nothing":
            self._for_feedforward.publish(message)
        return nanoseconds_of(message.header.stamp)

    def _on_torques(self, torques: JointTorques) -> None:
        self.torques_heard = True
        self._torques.append(torques)
        self._answered("controller", torques)

    def _on_feedforward(self, torques: JointTorques) -> None:
        self._feedforward.append(torques)
        self._answered("feedforward", torques)

    def _answered(self, who: str, torques: JointTorques) -> None:
        response = (who, nanoseconds_of(torques.header.stamp))
        if response in self._awaited:
            self._awaited.remove(response)
            if not self._awaited and not self.over:
                self._step()

    def _step(self) -> None:
        self._since = time.monotonic()
        self.steps.call_async(StepSimulation.Request(steps=1)).add_done_callback(self._on_stepped)

    def _on_stepped(self, future: Any) -> None:
        if not future.result().success:
            self.problem = DynError("simulation-not-stepping", reason=future.result().message)

    # The recording

    def _efforts(self, states: Sequence[JointState], stamps: Array) -> Efforts:
        # The controller adds the torques for the middle of the period that begins with a state.
        inertial, coriolis, gravity, friction, feedforward = (
            at_times(stamps + 0.75 / self._rate, *self._series(self._feedforward, term)) for term in _TERMS
        )
        total = at_times(stamps, *self._series(self._torques, "total"))
        control = total - np.nan_to_num(feedforward)
        measured = _rows(self._names, [(state.name, state.effort) for state in states])
        return Efforts(inertial, coriolis, gravity, friction, feedforward, control, total, measured)

    def _series(self, torques: Sequence[JointTorques], term: str) -> tuple[Array, Array]:
        """Return stamps (s) and values of one term of torques."""
        stamps = np.array([_seconds(message) for message in torques])
        return stamps, _rows(self._names, [(message.name, getattr(message, term)) for message in torques])


def _rows(joints: Sequence[str], named: Sequence[tuple[Sequence[str], Sequence[float]]]) -> Array:
    """Return values in the order of the joints, (N, n); NaN for joints without a value."""
    rows = np.full((len(named), len(joints)), np.nan)
    for row, (names, values) in zip(rows, named, strict=True):
        by_name = dict(zip(names, values, strict=True))
        row[:] = [by_name.get(name, np.nan) for name in joints]
    return rows


def _seconds(message: JointState | JointTorques) -> float:
    return 1e-9 * nanoseconds_of(message.header.stamp)
