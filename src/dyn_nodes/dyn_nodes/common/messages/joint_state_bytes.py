# SPDX-License-Identifier: Apache-2.0
"""Joint states as they come from the wire, read without having rclpy make a message of each.

Publishers repeat their names. All bytes before the positions and velocities, but for the stamp, are compared
with those of an earlier message; where they are the same, the numbers are at the same places. Those places
are only believed where a message that rclpy has read itself has the same numbers there.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from dyn_nodes.message_bytes import STAMP, STAMP_AT
from dyn_nodes.rejection import Rejection

_CDR = b"\0\1\0\0" if sys.byteorder == "little" else b"\0\0\0\0"
"""First bytes of a message in plain CDR in the byte order of this machine."""
_COUNT = struct.Struct("=I")
_MOST = 16
"""Greatest number of kinds of messages on the topic that are kept in mind."""


@dataclass(slots=True)
class Stamp:
    """A time of a message, as builtin_interfaces/Time has it."""

    sec: int
    nanosec: int


@dataclass(slots=True)
class JointStates:
    """What is used of a sensor_msgs/JointState.

    Attributes:
        stamp: that of the header.
        name: joints.
        position: their positions (rad or m); of any length, as the message has them.
        velocity: their velocities (rad/s or m/s), as well.
        effort: their efforts (N m or N), as well.
    """

    stamp: Stamp
    name: list[str]
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    effort: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the numbers of messages of one kind are.

    Attributes:
        stamp: is filled with theirs.
        name: the names that all of them have.
        positions: where the positions are.
        velocities: where the velocities are.
        efforts: where the efforts are. How many there are follows from the length of the message, which all
            of this kind have.
        mask: ones where the bytes before the velocities are the same in all messages of this kind.
        same: those bytes. Both are numbers, because that is the fastest comparison with a mask.
    """

    stamp: Stamp
    name: list[str]
    positions: slice
    velocities: slice
    efforts: slice
    mask: int
    same: int


class JointStateBytes:
    """Reads serialized joint states. It has a state: what kinds of them have come."""

    def __init__(self, what: str = "joint state") -> None:
        """Begin without knowing any; `what` they are called in sentences."""
        self._what = what
        self._layouts: dict[int, _Layout] = {}

    def read(self, raw: bytes) -> JointStates:
        """Answer what a message says; the stamp may be filled again by a later call.

        Raises:
            Rejection: the bytes are no joint state.
        """
        layout = self._layouts.get(len(raw))
        if layout is None:
            return self._deserialized(raw)
        velocities = layout.velocities
        if int.from_bytes(raw[: velocities.start], "little") & layout.mask != layout.same:
            return self._deserialized(raw)
        stamp = layout.stamp
        stamp.sec, stamp.nanosec = STAMP.unpack_from(raw, STAMP_AT)
        # Floats in messages are not where the processor wants them: they are copied.
        return JointStates(
            stamp,
            layout.name,
            np.frombuffer(raw[layout.positions], np.float64),
            np.frombuffer(raw[velocities], np.float64),
            np.frombuffer(raw[layout.efforts], np.float64),
        )

    def _deserialized(self, raw: bytes) -> JointStates:
        try:
            message = deserialize_message(raw, JointState)
        except Exception as problem:  # whatever rclpy, and what is below it, raise
            what = f"{self._what} cannot be read"
            raise Rejection(f"{what}: {problem}", what) from problem
        layout = _layout(raw, message)
        if layout is not None:
            if len(self._layouts) >= _MOST:
                self._layouts.clear()
            self._layouts[len(raw)] = layout
        stamp = message.header.stamp
        arrays = (message.position, message.velocity, message.effort)
        numbers = (np.array(array, dtype=np.float64) for array in arrays)
        return JointStates(Stamp(stamp.sec, stamp.nanosec), message.name, *numbers)


def _layout(raw: bytes, message: JointState) -> _Layout | None:
    """Answer where the numbers of a message are; None where they are not as plain CDR has them."""
    walk = _Walk()
    walk.text(message.header.frame_id)
    walk.count()
    for name in message.name:
        walk.text(name)
    positions = walk.numbers(len(message.position))
    velocities = walk.numbers(len(message.velocity))
    efforts = walk.numbers(len(message.effort))
    stamp = Stamp(message.header.stamp.sec, message.header.stamp.nanosec)
    if not (
        raw[:STAMP_AT] == _CDR
        and raw[STAMP_AT : STAMP_AT + STAMP.size] == STAMP.pack(stamp.sec, stamp.nanosec)
        and raw[positions] == message.position.tobytes()
        and raw[velocities] == message.velocity.tobytes()
        and raw[efforts] == message.effort.tobytes()
    ):
        return None
    mask = int.from_bytes(walk.mask(velocities.start), "little")
    same = int.from_bytes(raw[: velocities.start], "little") & mask
    return _Layout(stamp, message.name, positions, velocities, efforts, mask, same)


class _Walk:
    """Goes through a joint state in plain CDR, from what comes after the stamp on.

    Numbers are at multiples of their size, from the end of the first four bytes on. What is between may have
    any value.
    """

    def __init__(self) -> None:
        self._at = STAMP_AT + STAMP.size
        self._fixed = [slice(0, STAMP_AT)]

    def count(self) -> None:
        """Pass a number of things."""
        self._pass(4, _COUNT.size)

    def text(self, text: str) -> None:
        """Pass a text, which ends with a zero."""
        self.count()
        self._pass(1, len(text.encode()) + 1)

    def numbers(self, count: int) -> slice:
        """Pass floats, and answer where they are."""
        self.count()
        if count:
            self._at = self._aligned(8)
        begin, self._at = self._at, self._at + 8 * count
        return slice(begin, self._at)

    def mask(self, size: int) -> bytes:
        """Answer so many bytes, with ones where texts and counts are."""
        mask = bytearray(size)
        for part in self._fixed:
            mask[part] = b"\xff" * (part.stop - part.start)
        return bytes(mask)

    def _pass(self, alignment: int, size: int) -> None:
        begin = self._aligned(alignment)
        self._at = begin + size
        self._fixed.append(slice(begin, self._at))

    def _aligned(self, size: int) -> int:
        return self._at + (STAMP_AT - self._at) % size
