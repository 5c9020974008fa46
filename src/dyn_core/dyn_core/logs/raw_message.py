# SPDX-License-Identifier: Apache-2.0
"""A message of a bag before it is decoded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RawMessage:
    """A message as it was recorded.

    Attributes:
        topic: its topic.
        kind: its type.
        definition: of its type, as text of .msg files; empty where it is in another form or not there.
        received: when it was recorded (ns).
        data: CDR.
    """

    topic: str
    kind: str
    definition: str
    received: int
    data: bytes
