# SPDX-License-Identifier: Apache-2.0
"""Fast reading of joint states from their bytes, and fast writing of repeated messages.

Publishers repeat their names: the bytes before the numbers are compared with those of an earlier message.
Where they are the same, the numbers are at the same offsets. An offset is used only after rclpy has read
a message with the same numbers there.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from dyn_nodes.common.decoding import STAMP, STAMP_AT, decoded


class MessageBytes:
    """The bytes `raw` of a message whose vectors of floats and bytes are overwritten in place.

    An offset is where the bytes follow the field through several values. It is checked that these are all
    bytes of the field, one after the other, so that no write can reach another field. Bytes between fields,
    which are there for alignment, are not initialised: they can differ from one serialization to the next.
    """

    def __init__(self, message: Any, sizes: Mapping[str, int]) -> None:
        """Take a message with all other fields set; `sizes` are the lengths, > 0, of the vectors by field."""
        self._message = message
        for name, size in sizes.items():
            setattr(message, name, array("d", bytes(8 * size)))
        self.raw = bytearray(serialize_message(message))
        self._vectors = {
            name: np.frombuffer(self.raw, np.float64, size, self._offset(name, 8 * size, partial(array, "d")))
            for name, size in sizes.items()
        }

    def vector(self, name: str) -> NDArray[np.float64]:
        """Return the vector of a field: a view of the bytes."""
        return self._vectors[name]

    def byte(self, name: str) -> int:
        """Return the offset of a field of one byte, which is 0 in the message."""
        return self._offset(name, 1, ord)

    def _offset(self, name: str, length: int, value: Callable[[bytes], Any]) -> int:
        """Return the offset of a field of zeros, whose `length` bytes are those of `value`."""
        zeros = getattr(self._message, name)
        found = list(range(len(self.raw)))
        for fill in _FILLS:
            setattr(self._message, name, value(fill * length))
            raw = serialize_message(self._message)
            found = [k for k in found if raw[k] == fill[0]]
        setattr(self._message, name, zeros)
        if not found or found != list(range(found[0], found[0] + length)):
            raise ValueError(f"field '{name}' is not {length} bytes of the message, but {len(found)}")
        return found[0]


_CDR = b"\0\1\0\0" if sys.byteorder == "little" else b"\0\0\0\0"
"""First bytes of a message in plain CDR in the byte order of this machine."""
_COUNT = struct.Struct("=I")
_FILLS = (b"\x11", b"\0", b"\x25", b"\x4a")
"""Values of each byte of a field in the search for its offset; as float64 they are numbers."""
_MOST = 16
"""Most layouts of messages that are kept."""


@dataclass(slots=True)
class Stamp:
    """A stamp, with the fields of builtin_interfaces/Time."""

    sec: int
    nanosec: int


@dataclass(slots=True)
class JointStates:
    """The fields of a sensor_msgs/JointState that are used."""

    stamp: Stamp
    name: list[str]
    position: NDArray[np.float64]  # their positions (rad or m), with the length that the message gives them
    velocity: NDArray[np.float64]  # their velocities (rad/s or m/s), with any length
    effort: NDArray[np.float64]  # their efforts (N m or N), with any length


@dataclass(frozen=True, slots=True)
class _Layout:
    """Offsets of the numbers in messages of one kind."""

    stamp: Stamp  # is overwritten with the stamp of each message
    name: list[str]  # the names in all of these messages
    positions: slice
    velocities: slice
    efforts: slice
    effort_count: bytes  # their number, which follows the velocities
    mask: int  # ones at the bytes before the velocities that are the same in all messages of this kind
    same: int  # those bytes. Both are integers, because this makes the fastest comparison with a mask


class JointStateBytes:
    """Reads serialized joint states. State: the known layouts, by length; publishers may have the same."""

    def __init__(self, what: str = "joint state") -> None:
        """Begin without layouts; `what` is the name of the messages in errors."""
        self._what = what
        self._layouts: dict[int, list[_Layout]] = {}

    def read(self, raw: bytes) -> JointStates:
        """Read a message; Rejection if it is not a joint state. A later call may overwrite the stamp."""
        for layout in self._layouts.get(len(raw), ()):
            velocities = layout.velocities
            if (
                int.from_bytes(raw[: velocities.start], "little") & layout.mask == layout.same
                and raw[velocities.stop : velocities.stop + _COUNT.size] == layout.effort_count
            ):
                break
        else:
            return self._deserialized(raw)
        stamp = layout.stamp
        stamp.sec, stamp.nanosec = STAMP.unpack_from(raw, STAMP_AT)
        # Floats in messages are not aligned: they are copied.
        return JointStates(
            stamp,
            layout.name,
            np.frombuffer(raw[layout.positions], np.float64),
            np.frombuffer(raw[velocities], np.float64),
            np.frombuffer(raw[layout.efforts], np.float64),
        )

    def _deserialized(self, raw: bytes) -> JointStates:
        message = decoded(JointState, raw, self._what)
        layout = _layout(raw, message)
        if layout is not None:
            if sum(map(len, self._layouts.values())) >= _MOST:
                self._layouts.clear()
            self._layouts.setdefault(len(raw), []).append(layout)
        stamp = message.header.stamp
        arrays = (message.position, message.velocity, message.effort)
        numbers = (np.array(array, dtype=np.float64) for array in arrays)
        return JointStates(Stamp(stamp.sec, stamp.nanosec), message.name, *numbers)


def _layout(raw: bytes, message: JointState) -> _Layout | None:
    """Return the offsets of the numbers of a message; None where they do not follow plain CDR."""
    walk = _Walk()
    walk.text(message.header.frame_id)
    walk.texts(message.name)
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
    count = _COUNT.pack(len(message.effort))
    return _Layout(stamp, message.name, positions, velocities, efforts, count, mask, same)


class _Walk:
    """Steps through a joint state in plain CDR, from the end of the stamp on.

    Numbers are aligned to multiples of their size, counted from the end of the first four bytes. Padding
    bytes can have any value.
    """

    def __init__(self) -> None:
        self._mask = bytearray(b"\xff" * STAMP_AT + bytes(STAMP.size))

    def count(self) -> None:
        """Skip a count."""
        self._align(_COUNT.size)
        self._mask += b"\xff" * _COUNT.size

    def text(self, text: str) -> None:
        """Skip a text, which ends with a zero."""
        self.count()
        self._mask += b"\xff" * (len(text.encode()) + 1)

    def texts(self, texts: Sequence[str]) -> None:
        """Skip a list of texts, in about 0.3 us each: there can be many thousand."""
        self.count()
        self._align(_COUNT.size)
        lengths = [len(text.encode()) + 1 for text in texts]
        masks = {length: b"\xff" * (_COUNT.size + length) + bytes(-length % 4) for length in set(lengths)}
        self._mask += b"".join([masks[length] for length in lengths])
        if lengths:
            padding = -lengths[-1] % 4
            del self._mask[len(self._mask) - padding :]

    def numbers(self, count: int) -> slice:
        """Skip floats, and return their range."""
        self.count()
        if count:
            self._align(8)
        begin = len(self._mask)
        self._mask += bytes(8 * count)
        return slice(begin, begin + 8 * count)

    def mask(self, size: int) -> bytes:
        """Return a mask of `size` bytes, with ones at texts and counts."""
        return bytes(self._mask[:size])

    def _align(self, size: int) -> None:
        self._mask += bytes((STAMP_AT - len(self._mask)) % size)
