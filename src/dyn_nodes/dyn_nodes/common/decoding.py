# SPDX-License-Identifier: Apache-2.0
"""Messages from bytes: sized before they are built, so that a refusal takes less than a control period.

The client library builds a message whole before a callback sees it, and raises in the executor for bytes that
it cannot decode. Nodes therefore subscribe to bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from dyn_nodes.common.data_checks import Rejection

MOST_POINTS = 10_000
"""Most points of a trajectory: more would block the node for some tenths of a second."""
MOST_BYTES: Mapping[type, int] = MappingProxyType(
    {JointTrajectory: 16_000_000, String: 2_000_000, JointState: 2_000_000}
)
"""Most bytes of a message by type: trajectories of `MOST_POINTS` of sixty joints; descriptions of robots have
at most some 100 kB."""
MOST_BYTES_OF_OTHERS = 128_000
"""Most bytes of a message of another type: several hundred joints. More strings take longer than a period."""
MOST_NAMES: Mapping[type, int] = MappingProxyType({JointTrajectory: 1000, JointState: 20_480})
"""Most joints of a message by type; joint states may have those of many other robots."""
STAMP = struct.Struct("=iI")
"""Seconds and nanoseconds of a stamp."""
STAMP_AT = 4
"""Offset of the stamp in a message that begins with a header: after the four bytes of the encoding."""
_ENDIANNESS = 1
"""Index of the byte that tells the byte order of a message: 1 for little-endian."""


def decoded(kind: type, raw: bytes, what: str) -> Any:
    """Return a message of a type from its bytes; `what` is its name in a Rejection."""
    most = MOST_BYTES.get(kind, MOST_BYTES_OF_OTHERS)
    if len(raw) > most:
        raise Rejection("message-too-large", message=what, size=len(raw), limit=most)
    try:
        names, points = _counts(kind, raw)
    except (struct.error, IndexError) as problem:
        raise Rejection("message-unreadable", message=what, reason=problem) from problem
    if names > MOST_NAMES.get(kind, names):
        raise Rejection("message-names-too-many", message=what, count=names, limit=MOST_NAMES[kind])
    if points > MOST_POINTS:
        raise Rejection("trajectory-points-too-many", count=points, limit=MOST_POINTS)
    try:
        return deserialize_message(raw, kind)
    except Exception as problem:  # rclpy and the libraries below raise any type of exception
        raise Rejection("message-unreadable", message=what, reason=problem) from problem


def is_stop(raw: bytes) -> bool:
    """Return whether bytes are a trajectory without points."""
    try:
        names, points = _counts(JointTrajectory, raw)
    except (struct.error, IndexError):
        return False
    return not points and names <= MOST_NAMES[JointTrajectory]


def stamp_of(raw: bytes) -> Time:
    """Return the stamp of a message that begins with a header; zero where the bytes are damaged."""
    try:
        sec, nanosec = STAMP.unpack_from(raw, STAMP_AT)
    except struct.error:
        return Time()
    return Time(sec=sec, nanosec=nanosec)


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


def _counts(kind: type, raw: bytes) -> tuple[int, int]:
    """Return the number of names of a message in CDR, and of points of a trajectory; 0 where it has none.

    The names follow the header, and the points of a trajectory the names. A text is a count and its bytes;
    counts are aligned to four bytes from the end of the first four.
    """
    if kind not in MOST_NAMES:
        return 0, 0
    count = struct.Struct("<I" if raw[_ENDIANNESS] & 1 else ">I")

    def counted(at: int) -> tuple[int, int]:
        at += (STAMP_AT - at) % count.size
        return count.unpack_from(raw, at)[0], at + count.size

    length, at = counted(STAMP_AT + STAMP.size)
    names, at = counted(at + length)
    if count.size * names > len(raw):
        raise struct.error(f"{names} names in {len(raw)} bytes")
    if kind is not JointTrajectory or names > MOST_NAMES[kind]:
        return names, 0
    for _ in range(names):
        length, at = counted(at)
        at += length
    return names, counted(at)[0]
