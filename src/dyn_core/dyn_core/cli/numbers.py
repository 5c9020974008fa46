# SPDX-License-Identifier: Apache-2.0
"""Lists of numbers on the command line: ``--q 0.1 -2e-3`` and ``--q=0.1,-2e-3`` alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dyn_core.errors import DynError, shortened


def joined(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Join the numbers after each of `options` into ``--option=a,b``.

    By itself argparse would take ``-2e-3`` for the name of an option.
    """
    result: list[str] = []
    open_list = False
    for argument in arguments:
        if argument in options:
            result.append(f"{argument}=")
            open_list = True
        elif open_list and _is_list(argument):
            result[-1] += argument if result[-1].endswith("=") else f",{argument}"
        else:
            result.append(argument)
            open_list = False
    return result


def joint_vector(option: str, text: str | None, dof: int) -> list[float]:
    """Answer the numbers of an option, one for each joint; zeros where the option is not given."""
    if text is None:
        return [0.0] * dof
    words = text.replace(",", " ").split()
    if len(words) != dof:
        raise DynError(f"{option} has {len(words)} numbers, but the robot has {dof} joints")
    return [_finite(option, word) for word in words]


def numbers(option: str, text: str, count: int) -> list[float]:
    """Answer the numbers of an option, which has to have so many."""
    words = text.replace(",", " ").split()
    if len(words) != count:
        wanted = {1: "one", 3: "three"}.get(count, count)
        raise DynError(f"{option} has {len(words)} numbers: give {wanted}")
    return [_finite(option, word) for word in words]


def tolerance(option: str, text: str) -> float:
    """Answer the number of an option that can also be ``digits``."""
    if not _is_number(text):
        raise DynError(f"{option} is '{shortened(text, 40)}': give digits, 0, or a tolerance in rad")
    return float(text)


def shown(number: float) -> float:
    """Answer a number as it is printed, without a sign where that is zero."""
    return round(number, 6) + 0.0


def _is_list(argument: str) -> bool:
    words = argument.replace(",", " ").split()
    return bool(words) and all(map(_is_number, words))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _finite(option: str, word: str) -> float:
    value = float(word) if _is_number(word) else math.nan
    if not math.isfinite(value):
        raise DynError(f"{option} holds '{shortened(word, 40)}': give finite numbers")
    return value
