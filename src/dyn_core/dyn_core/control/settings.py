# SPDX-License-Identifier: Apache-2.0
"""Settings of users, checked once, where something is made from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed

PerJoint: TypeAlias = float | Mapping[str, float] | Iterable[float]
"""One number for all joints, numbers by joint name, or one for each joint in order."""


def number(what: str, value: float, *, least: float = -math.inf, above: float = -math.inf) -> float:
    """Answer a finite number that is at least `least` and more than `above`; DynError where it is not.

    Args:
        what: what the number is, for the message: "the timeout (s)".
        value: the number.
        least: least value that will do.
        above: a value that will not do, nor do those below it.
    """
    if not _within(value, least, above, infinite=False):
        raise DynError(f"{what} is {value!r}: give {_wanted(least, above, infinite=False)}", element=what)
    return float(value)


def joint_values(
    what: str,
    joint_names: Sequence[str],
    values: PerJoint,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    infinite: bool = False,
) -> Array:
    """Answer one number for each joint, in their order, as an array that cannot be written to.

    Args:
        what: what the numbers are, for messages: "the gain kp".
        joint_names: names of the joints.
        values: the numbers, in one of the forms of `PerJoint`.
        least: least value that will do.
        above: a value that will not do, nor do those below it.
        infinite: whether infinity will do.
    """
    numbers = _in_order(what, joint_names, values)
    for name, value in zip(joint_names, numbers, strict=True):
        if not _within(value, least, above, infinite=infinite):
            raise DynError(
                f"{what} of joint '{name}' is {value!r}: give {_wanted(least, above, infinite=infinite)}",
                element=f"joint '{name}'",
            )
    array = np.array(numbers, dtype=np.float64)
    array.flags.writeable = False
    return array


def _in_order(what: str, joint_names: Sequence[str], values: PerJoint) -> list[float]:
    if isinstance(values, Mapping):
        unknown = [name for name in values if name not in joint_names]
        missing = [name for name in joint_names if name not in values]
        if unknown:
            raise DynError(f"{what} is given for {listed(unknown)}: the joints are {listed(joint_names)}")
        if missing:
            raise DynError(f"{what} is not given for {listed(missing)}")
        return [values[name] for name in joint_names]
    if isinstance(values, Iterable) and not isinstance(values, str):
        numbers = list(values)
        if len(numbers) != len(joint_names):
            raise DynError(
                f"{what} is given {len(numbers)} times, "
                f"but there are {len(joint_names)} joints: {listed(joint_names)}"
            )
        return numbers
    return [values] * len(joint_names)


def _within(value: object, least: float, above: float, *, infinite: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    x = float(value)
    return (
        (math.isfinite(x) or (infinite and x == math.inf))
        and x >= least
        and (x > above or above == -math.inf)
    )


def _wanted(least: float, above: float, *, infinite: bool) -> str:
    bound = f" > {above:g}" if above > -math.inf else f" >= {least:g}" if least > -math.inf else ""
    return f"a finite number{bound}{' or infinity' if infinite else ''}"
