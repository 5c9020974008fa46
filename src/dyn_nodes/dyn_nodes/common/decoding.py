# SPDX-License-Identifier: Apache-2.0
"""Messages from bytes: sized before they are built, so that a refusal takes less than a control period.

The client library builds a message whole before a callback sees it, and raises in the executor for bytes that
it cannot decode. Nodes therefore subscribe to bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from dyn_nodes.common.data_checks import Rejection

MOST_POINTS = 10_000
"""Most points of a trajectory: more would block the node for some tenths of a second."""
MOST_BYTES = 16_000_000
"""Most bytes of a message: those of `MOST_POINTS` of sixty joints."""
_MOST_NAMES = 10_000
"""Most joints of a trajectory."""
STAMP = struct.Struct("=iI")
"""Seconds and nanoseconds of a stamp."""
STAMP_AT = 4
"""Offset of the stamp in a message that begins with a header: after the four bytes of the encoding."""
_ENDIANNESS = 1
"""Index of the byte that tells the byte order of a message: 1 for little-endian."""


def decoded(kind: type, raw: bytes, what: str) -> Any:
    """Return a message of a type from its bytes; `what` is its name in a Rejection."""
    if len(raw) > MOST_BYTES:
        raise Rejection("message-too-large", message=what, size=len(raw), limit=MOST_BYTES)
    try:
        points = _point_count(raw) if kind is JointTrajectory else 0
    except (struct.error, IndexError) as problem:
        raise Rejection("message-unreadable", message=what, reason=problem) from problem
    if points > MOST_POINTS:
        raise Rejection("trajectory-points-too-many", count=points, limit=MOST_POINTS)
    return deserialized(kind, raw, what)


def deserialized(kind: type, raw: bytes, what: str) -> Any:
    """Return a message of any size from its bytes; Rejection, with its name `what`, if they are damaged."""
    try:
        return deserialize_message(raw, kind)
    except Exception as problem:  # rclpy and the libraries below raise any type of exception
        raise Rejection("message-unreadable", message=what, reason=problem) from problem


def decoding(
    kind: type, what: str, callback: Callable[[Any], None], refuse: Callable[[Rejection], None]
) -> Callable[[bytes], None]:
    """Return a callback that takes the bytes of a message, and calls `callback` or `refuse`."""

    def take(raw: bytes) -> None:
        try:
            message = decoded(kind, raw, what)
        except Rejection as problem:
            refuse(problem)
            return
        callback(message)

    return take


def _point_count(raw: bytes) -> int:
    """Return the number of points of a trajectory in CDR: it follows the header and the names.

    A text is a count and its bytes; counts are aligned to four bytes from the end of the first four.
    """
    count = struct.Struct("<I" if raw[_ENDIANNESS] & 1 else ">I")

    def counted(at: int) -> tuple[int, int]:
        at += (STAMP_AT - at) % count.size
        return count.unpack_from(raw, at)[0], at + count.size

    length, at = counted(STAMP_AT + STAMP.size)
    names, at = counted(at + length)
    if names > _MOST_NAMES:
        raise struct.error(f"{names} joint names")
    for _ in range(names):
        length, at = counted(at)
        at += length
    return counted(at)[0]
