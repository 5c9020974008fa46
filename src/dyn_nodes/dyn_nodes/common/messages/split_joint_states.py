# SPDX-License-Identifier: Apache-2.0
"""Joint states that several publishers share: an arm and its gripper, or two arms, merged by name.

Each publisher has its own joints, rate and stamps. The one with the most joints leads: a merged state comes
with each of its messages. The other joints have their newest values, which may be `max_age` older.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.data_checks import Rejection
from dyn_nodes.common.messages.joint_reader import JointReader
from dyn_nodes.common.messages.joint_state_bytes import JointStates, Stamp

_MOST_PARTS = 16
"""Most sets of names that are remembered; a robot has few publishers."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The joints of one publisher."""

    names: list[str]  # all names in its messages
    reader: JointReader  # reads those of the robot
    own: NDArray[np.intp]  # where they are in the robot, (k,)


class SplitJointStates:
    """Merges joint states of parts of a robot. State: the newest values of each joint, and their stamps.

    `reader` reads the joint states of the whole robot.
    """

    def __init__(self, joint_names: Sequence[str], max_age: float) -> None:
        """Begin without values; `max_age` is how much older than the leading ones values may be (s)."""
        self.reader = _reader(joint_names)
        self.joint_names = list(joint_names)
        self._max_age = max_age
        self._index = {name: j for j, name in enumerate(joint_names)}
        self._whole: list[str] | None = None  # names in messages that have all joints
        self._whole_t = -math.inf
        self._parts: list[_Part] = []
        self.forget()

    def forget(self) -> None:
        """Forget all values, as after the clock was set."""
        count = len(self.joint_names)
        self._q, self._qd, self._tau = np.full((3, count), math.nan)
        self._t = np.full(count, -math.inf)
        self._whole_t = -math.inf

    def whole(self, message: JointStates, t: float) -> JointStates | None:
        """Return the joint states of the whole robot, or None where other messages complete them.

        Messages with all joints are returned as they are, and so are parts beside them, to be refused.

        Args:
            message: has at least one joint of the robot.
            t: its stamp on the clock of the node (s).

        Raises:
            Rejection: a value is bad, or a joint has no value or too old a one.
        """
        if message.name is self._whole or message.name == self._whole:
            self._whole_t = t
            return message
        part = self._part(message.name)
        if part is None:
            self._whole, self._whole_t = message.name, t
            return message
        if abs(t - self._whole_t) <= self._max_age:
            return message
        self._take(part, message, t)
        leader = max(self._parts, key=lambda one: len(one.own))
        if part is leader:
            return self._merged(message.stamp, t)
        self._check_age(t, leader.own)
        return None

    def _part(self, names: list[str]) -> _Part | None:
        """Return the part with these names, None where they contain all joints."""
        for part in self._parts:
            if names is part.names or names == part.names:
                return part
        own = [name for name in dict.fromkeys(names) if name in self._index]
        if len(own) == len(self.joint_names):
            return None
        if len(self._parts) == _MOST_PARTS:
            self._parts.clear()
            self.forget()
        part = _Part(names, _reader(own), np.array([self._index[name] for name in own], dtype=np.intp))
        self._parts.append(part)
        return part

    def _take(self, part: _Part, message: JointStates, t: float) -> None:
        q = part.reader.positions(message.name, message.position)
        qd = part.reader.values_or_none(message.velocity, "velocity")
        tau = part.reader.values_or_none(message.effort, "effort")
        late = float(self._t[part.own].max()) - t
        if late > 0.0:
            raise Rejection("message-out-of-order", message="joint state", time=late)
        self._q[part.own] = q
        self._qd[part.own] = math.nan if qd is None else qd
        self._tau[part.own] = math.nan if tau is None else tau
        self._t[part.own] = t

    def _merged(self, stamp: Stamp, t: float) -> JointStates:
        self._check_age(t, slice(None))
        return JointStates(stamp, self.joint_names, self._q.copy(), _known(self._qd), _known(self._tau))

    def _check_age(self, t: float, joints: NDArray[np.intp] | slice) -> None:
        """Refuse joints that have no value, or one that is too old at time t (s)."""
        oldest = self._t[joints]
        if t - oldest.min() <= self._max_age:
            return
        names = np.array(self.joint_names, dtype=object)[joints]
        never = [str(name) for name, when in zip(names, oldest, strict=True) if when == -math.inf]
        if never:
            raise Rejection("joints-never-reported", missing=never)
        j = int(oldest.argmin())
        raise Rejection("joint-reported-late", joint=names[j], age=t - oldest[j], limit=self._max_age)


def _reader(names: Sequence[str]) -> JointReader:
    return JointReader(names, "joint state", others=True)


def _known(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a copy of values, or none at all where those of a joint are unknown."""
    return np.empty(0) if np.isnan(values).any() else values.copy()
