# SPDX-License-Identifier: Apache-2.0
"""A message that is published many times, as bytes in which only some numbers are replaced."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message

STAMP = struct.Struct("=iI")
"""Seconds and nanoseconds of a stamp."""
STAMP_AT = 4
"""Where the stamp is in a message that begins with a header: after the four bytes that name the encoding."""


class MessageBytes:
    """The bytes of a message with vectors of floats.

    Attributes:
        raw: the bytes.
        places: where the numbers of each vector are, by the name of its field.
    """

    def __init__(self, message: Any, sizes: Mapping[str, int]) -> None:
        """Find the vectors in a message.

        Args:
            message: its other fields have their values; the vectors get theirs.
            sizes: length of each vector, by the name of its field.

        Raises:
            LookupError: they are not found, as the middleware writes messages in another way.
        """
        for k, (name, size) in enumerate(sizes.items()):
            setattr(message, name, array("d", (1000.1 * (k + 1) + j for j in range(size))))
        self.raw = bytearray(serialize_message(message))
        self.places = {name: self._place(getattr(message, name)) for name in sizes}

    def _place(self, numbers: array[float]) -> slice:
        sought = numbers.tobytes()
        if self.raw.count(sought) != 1:
            raise LookupError(f"the numbers {numbers.tolist()} are not in the bytes of their message")
        begin = self.raw.index(sought)
        return slice(begin, begin + len(sought))

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Answer the vector of a field, which writes to the bytes."""
        place = self.places[name]
        return np.frombuffer(self.raw, np.float64, (place.stop - place.start) // 8, place.start)

    def message(self, kind: type) -> Any:
        """Answer the message that the bytes are."""
        return deserialize_message(bytes(self.raw), kind)
