# SPDX-License-Identifier: Apache-2.0
"""New values of named parameters, checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from dyn_core.core.errors import DynError, listed


def renewed(
    names: Sequence[str], values: Sequence[float], given: Mapping[str, float] | Iterable[float]
) -> tuple[float, ...]:
    """Answer the values after some, by name, or all, in order, were given anew.

    Args:
        names: the names of the parameters.
        values: their present values.
        given: values by name, where what is not named stays; or one value for each name.
    """
    if isinstance(given, Mapping):
        unknown = [str(name) for name in given if name not in set(names)]
        if unknown:
            raise DynError(
                f"there is no parameter {listed(unknown)}: the parameters are {listed(names, 14)}",
                element=unknown[0],
            )
        new = [given.get(name, value) for name, value in zip(names, values, strict=True)]
    else:
        try:
            new = list(given)
        except TypeError as error:
            raise DynError(f"the parameters are {given!r}: give values by name, or all in order") from error
        if len(new) != len(names):
            raise DynError(f"{len(new)} parameters were given, but there are {len(names)}")
    return tuple(_finite(name, value) for name, value in zip(names, new, strict=True))


def _finite(name: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DynError(f"the parameter {name} is {value!r}: give a finite number", element=name)
    return number
