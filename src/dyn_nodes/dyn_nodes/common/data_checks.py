# SPDX-License-Identifier: Apache-2.0
"""Checks of data: problems with codes, plausible numbers, printable text, the last check of torques."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dyn_core import DynError
from dyn_core.control.command_limits import EffortLimits, is_finite
from dyn_core.core.errors import ArgumentError
from dyn_core.core.messages import Message, sentence

# Problems: values with a code. Their sentences are made where they are published or logged.


class Rejection(ArgumentError):
    """A message is not used: the code of the cause, and values that name the joint."""


class Notice:
    """A code with values for the log, for /diagnostics or for a response.

    Unlike a `Message`, it makes its sentence only in str().
    """

    def __init__(self, code: str, **values: Any) -> None:
        """Keep the code and the values."""
        self.code = code
        self.values = values

    def __str__(self) -> str:
        """Return the sentence."""
        return sentence(self.code, self.values)


Problem: TypeAlias = Notice | Message | DynError | ArgumentError


class Refusal(Notice):
    """A message of a topic that is not used."""

    def __init__(self, topic: str, problem: Rejection | DynError) -> None:
        """Keep the topic and the problem, without the frames of its traceback, which keep the message."""
        self.code, self.values = problem.code, problem.values
        self.topic = topic
        self.problem = problem.with_traceback(None)

    def __str__(self) -> str:
        """Return the sentence, preceded by the topic."""
        return f"{self.topic}: {self.problem}"


def cause_key(problem: Problem) -> tuple[object, ...]:
    """Return what problems have in common that differ in numbers only: code, names, codes of causes."""
    if not problem.code:
        return (str(problem),)
    values = problem.values.values()
    names = (v.code if isinstance(v, Problem) else v for v in values if isinstance(v, Problem | str))
    return (problem.code, *names)


def root_cause(problem: Problem) -> Problem:
    """Return the first problem in the chain of causes of this one."""
    cause = problem.values.get("cause")
    return root_cause(cause) if isinstance(cause, Problem) else problem


# Numbers from messages, and text from messages that is printed

LARGEST = 1e9
"""Limit of positions, efforts and parameters (SI units): products of smaller numbers do not overflow."""
_LONGEST, _GAP = 400, " ... "


def plausible(numbers: Sequence[float]) -> bool:
    """Return whether all numbers are finite and at most `LARGEST`."""
    return math.hypot(*numbers) <= LARGEST


def too_large(numbers: Iterable[float]) -> bool:
    """Return whether one of the numbers is finite and above `LARGEST`."""
    return any(LARGEST < abs(number) < math.inf for number in numbers)


def worst_index(numbers: Sequence[float]) -> int:
    """Return the index of the first NaN, or else of the largest number."""
    return max(range(len(numbers)), key=lambda k: math.inf if math.isnan(numbers[k]) else abs(numbers[k]))


def one_line(text: str) -> str:
    """Return a text on one line, of at most 400 characters, with escapes for what cannot be printed."""
    # An escape is longer than its character: the text is cut again. The first cut bounds the work.
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in _cut(text))
    return _cut("".join(escaped))


def _cut(text: str) -> str:
    half = (_LONGEST - len(_GAP)) // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}{_GAP}{text[-half:]}"


def effort_excess(
    torques: NDArray[np.float64],
    limits: EffortLimits,
    units: Sequence[str],
    by_drive: NDArray[np.float64] | None = None,
) -> Notice:
    """Return which joint exceeds its limit most, for torques without limits (N m or N), (n,).

    `by_drive` are torques that the drive adds to them, (n,), None if it adds none.
    """
    whole = torques if by_drive is None else torques + by_drive
    j = int(np.argmax(np.maximum(np.abs(torques), np.abs(whole)) - limits.limits))
    values = {"joint": limits.joint_names[j], "limit": limits.limits[j], "unit": units[j]}
    if by_drive is not None and abs(whole[j]) > abs(torques[j]):
        return Notice("effort-beyond-limit-with-drive", given=whole[j], by_drive=by_drive[j], **values)
    return Notice("effort-beyond-limit", given=torques[j], **values)


def clipped(torques: NDArray[np.float64], limits: EffortLimits) -> NDArray[np.float64]:
    """Return torques (N m or N), (n,) or (N, n), clipped to their limits: the last check before sending.

    Raises:
        Rejection: the shape is not that of the joints, or a torque is not finite.
    """
    if limits.within(torques):
        return torques
    if torques.shape[-1:] != limits.limits.shape:
        raise Rejection("torques-shape", given=torques.shape, count=len(limits.joint_names))
    if not is_finite(torques):
        k = int(np.flatnonzero(~np.isfinite(torques))[0]) % len(limits.joint_names)
        raise Rejection("torque-not-finite", joint=limits.joint_names[k])
    return np.minimum(np.maximum(torques, -limits.limits), limits.limits)
