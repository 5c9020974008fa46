# SPDX-License-Identifier: Apache-2.0
"""Joint states as they come from the wire, read without having rclpy make a message of each.

Publishers repeat their names. All bytes before the positions and velocities, but for the stamp, are compared
with those of an earlier message; where they are the same, the numbers are at the same places. Those places
are only believed where a message that rclpy has read itself has the same numbers there.
"""

from __future__ import annotations

import struct
import sys
from array import array
from dataclasses import dataclass

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from dyn_nodes.rejection import Rejection

_CDR = b"\0\1\0\0" if sys.byteorder == "little" else b"\0\0\0\0"
"""First bytes of a message in plain CDR in the byte order of this machine."""
_STAMP = struct.Struct("=iI")
_STAMP_AT = len(_CDR)
_COUNT = struct.Struct("=I")
_MOST = 16
"""Greatest number of kinds of messages on the topic that are kept in mind."""


@dataclass(frozen=True)
class _Layout:
    """Where the numbers of messages of one kind are.

    Attributes:
        message: is filled with them; its names are those of all messages of this kind.
        positions: where the positions are.
        velocities: where the velocities are.
        mask: ones where the bytes until the velocities are the same in all messages of this kind.
        same: those bytes. Both are numbers, because that is the fastest comparison with a mask.
    """

    message: JointState
    positions: slice
    velocities: slice
    mask: int
    same: int

    def fits(self, raw: bytes) -> bool:
        """Whether a message of the same length is of this kind."""
        return int.from_bytes(raw[: self.velocities.start], "little") & self.mask == self.same


class JointStateBytes:
    """Reads serialized joint states. It has a state: what kinds of them have come."""

    def __init__(self) -> None:
        """Begin without knowing any."""
        self._layouts: dict[int, _Layout] = {}

    def message(self, raw: bytes) -> JointState:
        """Answer a message, the efforts of which are left out; it may be filled again by a later call.

        Raises:
            Rejection: the bytes are no joint state.
        """
        layout = self._layouts.get(len(raw))
        if layout is None or not layout.fits(raw):
            return self._deserialized(raw)
        message = layout.message
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = _STAMP.unpack_from(raw, _STAMP_AT)
        message.position = array("d", raw[layout.positions])
        message.velocity = array("d", raw[layout.velocities])
        return message

    def _deserialized(self, raw: bytes) -> JointState:
        try:
            message = deserialize_message(raw, JointState)
        except Exception as problem:  # whatever rclpy, and what is below it, raise
            what = "joint state cannot be read"
            raise Rejection(f"{what}: {problem}", what) from problem
        message.effort = array("d")
        layout = _layout(raw, message)
        if layout is not None:
            if len(self._layouts) >= _MOST:
                self._layouts.clear()
            self._layouts[len(raw)] = layout
        return message


def _layout(raw: bytes, message: JointState) -> _Layout | None:
    """Answer where the numbers of a message are; None where they are not as plain CDR has them."""
    walk = _Walk()
    walk.text(message.header.frame_id)
    walk.count()
    for name in message.name:
        walk.text(name)
    positions = walk.numbers(len(message.position))
    velocities = walk.numbers(len(message.velocity))
    stamp = message.header.stamp
    if not (
        raw[: len(_CDR)] == _CDR
        and raw[_STAMP_AT : _STAMP_AT + _STAMP.size] == _STAMP.pack(stamp.sec, stamp.nanosec)
        and raw[positions] == message.position.tobytes()
        and raw[velocities] == message.velocity.tobytes()
    ):
        return None
    mask = int.from_bytes(walk.mask(velocities.start), "little")
    same = int.from_bytes(raw[: velocities.start], "little") & mask
    return _Layout(message, positions, velocities, mask, same)


class _Walk:
    """Goes through a joint state in plain CDR, from what comes after the stamp on.

    Numbers are at multiples of their size, from the end of the first four bytes on. What is between may have
    any value.
    """

    def __init__(self) -> None:
        self._at = _STAMP_AT + _STAMP.size
        self._fixed = [slice(0, len(_CDR))]

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
            length = len(mask[part])
            mask[part] = b"\xff" * length
        return bytes(mask)

    def _pass(self, alignment: int, size: int) -> None:
        begin = self._aligned(alignment)
        self._at = begin + size
        self._fixed.append(slice(begin, self._at))

    def _aligned(self, size: int) -> int:
        return self._at + (len(_CDR) - self._at) % size
