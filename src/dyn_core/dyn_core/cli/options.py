# SPDX-License-Identifier: Apache-2.0
"""Lists of numbers on the command line: ``--q 0.1 -2e-3`` and ``--q=0.1,-2e-3`` alike."""

from __future__ import annotations

import math
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence

from dyn_core.core.errors import DynError, counted, listed, shortened
from dyn_core.model.motor_of import motor_of
from dyn_core.robot.robot import Robot


def joined(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Join the numbers after each of `options` into ``--option=a,b``.

    By itself argparse would take ``-2e-3`` for the name of an option. What comes first is joined even if
    it is no number, such as ``pi/2``, so that this is what is complained of.
    """
    result: list[str] = []
    open_list = False
    for argument in arguments:
        is_first = open_list and result[-1].endswith("=") and not argument.startswith("-")
        if argument in options:
            result.append(f"{argument}=")
            open_list = True
        elif open_list and (is_first or _is_list(argument)):
            result[-1] += argument if result[-1].endswith("=") else f",{argument}"
        else:
            result.append(argument)
            open_list = False
    return result


def no_number(
    arguments: Sequence[str], options: Sequence[str], unread: Sequence[str]
) -> tuple[str, str] | None:
    """Answer one of `options` in whose list is one of the arguments nobody wants, and what is no number."""
    option: str | None = None
    first: str | None = None
    for argument in arguments:
        if argument in options or argument.startswith("--"):
            option, first = argument if argument in options else None, None
        elif option is not None:
            first = first or argument
            if argument in unread and not (_is_list(first) and _is_list(argument)):
                return option, argument if _is_list(first) else first
            if argument is not first and not _is_list(argument):
                option = None  # an argument of the command ends the list
    return None


class Once(Action):
    """An option that is there once or not at all."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the value; a mistake of the command line where there is one already."""
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option_string} is given twice")
        setattr(namespace, self.dest, values)


def joint_vector(option: str, text: str | None, dof: int, which: str = "") -> list[float]:
    """Answer the numbers of an option, one for each joint; zeros where the option is not given.

    Args:
        option: the option.
        text: what was given; None for nothing.
        dof: number of joints.
        which: which joints these are, for a message; by default those of the robot.
    """
    if text is None:
        return [0.0] * dof
    return counted_numbers(option, text, dof, which or f"the robot has {counted(dof, 'joint')}")


def counted_numbers(option: str, text: str, count: int, wanted: str) -> list[float]:
    """Answer the numbers of an option; where there are not so many, `wanted` ends the sentence."""
    words = text.replace(",", " ").split()
    values = [_finite(option, word) for word in words]
    if len(values) != count:
        raise DynError(f"{option} has {counted(len(values), 'number')}, but {wanted}")
    return values


def all_joints(robot: Robot) -> str:
    """Answer which joints a vector is of, for `joint_vector`; "" where no motor behind a spring has one."""
    names = robot.coordinate_names
    return f"the robot has {counted(len(names), 'joint')}: {listed(names, 12)}" if motor_of(robot) else ""


def numbers(option: str, text: str, count: int) -> list[float]:
    """Answer the numbers of an option, which has to have so many."""
    words = text.replace(",", " ").split()
    values = [_finite(option, word) for word in words]
    if len(values) != count:
        wanted = {1: "one", 3: "three"}.get(count, count)
        raise DynError(f"{option} has {len(values)} numbers: give {wanted}")
    return values


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
