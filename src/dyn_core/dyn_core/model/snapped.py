# SPDX-License-Identifier: Apache-2.0
"""A value of the description that was taken for the rounding of another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Snapped:
    """A value that was snapped.

    Attributes:
        element: what it belongs to, e.g. ``joint 'elbow'``.
        parameter: which value it is, e.g. ``origin rpy[0]``.
        line: line of the element in the description, from 1.
        value: the value as it was given (rad, or without unit for an axis).
        snapped_to: the value that is used.
    """

    element: str
    parameter: str
    line: int
    value: float
    snapped_to: float

    def __str__(self) -> str:
        """Answer the change on one line."""
        return f"{self.element} (line {self.line}): {self.parameter} {self.value!r} -> {self.snapped_to!r}"
