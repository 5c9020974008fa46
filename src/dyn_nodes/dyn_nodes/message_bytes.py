# SPDX-License-Identifier: Apache-2.0
"""A message that is published many times, as bytes in which only some numbers are replaced."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import serialize_message

STAMP = struct.Struct("=iI")
"""Seconds and nanoseconds of a stamp."""
STAMP_AT = 4
"""Where the stamp is in a message that begins with a header: after the four bytes that name the encoding."""


class MessageBytes:
    """The bytes of a message with vectors of floats.

    Attributes:
        raw: the bytes.
        end: where the last vector ends.
    """

    def __init__(self, message: Any, sizes: Mapping[str, int]) -> None:
        """Find the vectors in a message.

        Args:
            message: its other fields have their values; the vectors get theirs.
            sizes: length of each vector, by the name of its field, in order.
        """
        for k, (name, size) in enumerate(sizes.items()):
            setattr(message, name, array("d", (1000.1 * (k + 1) + j for j in range(size))))
        self.raw = bytearray(serialize_message(message))
        self._vectors: dict[str, NDArray[np.float64]] = {}
        self.end = 0
        for name, size in sizes.items():
            begin = self.raw.index(getattr(message, name).tobytes(), self.end)
            self._vectors[name] = np.frombuffer(self.raw, np.float64, size, begin)
            self.end = begin + 8 * size

    def vector(self, name: str) -> NDArray[np.float64]:
        """Answer the vector of a field; what is written to it is in the bytes."""
        return self._vectors[name]
