# SPDX-License-Identifier: Apache-2.0
"""Parameters that change while a model is in use.

What the programs of a model are given in the place of parameters is one array, which begins with the
parameters and gravity themselves (see `dyn_core.codegen.staging`). It is never written to, only
replaced, so that a call computes with the parameters before a change or with those after it, never
with some of both; a call that has begun keeps those it began with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from threading import Lock

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.facade.runnable import Runnable
from dyn_core.model.gravity import checked_gravity
from dyn_core.model.named_values import renewed

OPTIONAL = {"Fv": "friction", "Fs": "friction", "Fo": "friction", "Ia": "rotor_inertia"}
"""The option of `compile_model` without which a model does not have these parameters."""


def accepted(
    names: Sequence[str],
    present: Sequence[float],
    given: Mapping[str, float] | Iterable[float],
    left_out: Collection[str],
) -> tuple[float, ...]:
    """Answer the parameters of a model after some, by name, or all of them were given anew.

    Among all, those that the model was compiled without are passed over: they stay 0. One that is
    named is a DynError.

    Args:
        names: names of the parameters.
        present: their present values.
        given: the new values.
        left_out: options of `compile_model` that are off.
    """
    new = renewed(names, present, given)
    absent = [OPTIONAL.get(name.rstrip("0123456789")) in left_out for name in names]
    if isinstance(given, Mapping):
        for name, value, missing in zip(names, new, absent, strict=True):
            if missing and value != 0.0:
                option = OPTIONAL[name.rstrip("0123456789")]
                raise DynError(
                    f"the parameter {name} is {value}, but the model was compiled with {option}=False",
                    element=name,
                )
    return tuple(0.0 if missing else value for value, missing in zip(new, absent, strict=True))


class Tuning:
    """The present parameters of a model."""

    def __init__(self, names: tuple[str, ...], prepare: Runnable, left_out: frozenset[str]) -> None:
        """Take what does not change; `renew` has to give the first values.

        Args:
            names: names of the parameters.
            prepare: computes what the programs are given from the parameters and gravity.
            left_out: options of `compile_model` that are off.
        """
        self._names = names
        self._prepare = prepare
        self._left_out = left_out
        self._lock = Lock()
        self.prepared: list[Array] = []
        """One item: what the programs are given."""

    @property
    def values(self) -> Array:
        """The parameters and gravity."""
        return np.array(self.prepared[0][: len(self._names) + 3], dtype=np.float64)

    def __eq__(self, other: object) -> bool:
        """Whether the other has the same parameters now."""
        if not isinstance(other, Tuning):
            return NotImplemented
        return self._names == other._names and bool(np.array_equal(self.values, other.values))

    def __hash__(self) -> int:
        """Answer a number that does not change when the parameters do."""
        return hash(self._names)

    def renew(
        self,
        values: Mapping[str, float] | Iterable[float],
        gravity: Iterable[float] | None,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        """Replace parameters: by name, or all of them; and gravity, unless it is None.

        Args:
            values: the parameters.
            gravity: acceleration of gravity (m/s^2).
            then: what follows from new parameters; no other change comes before it is done.
        """
        with self._lock:
            present = self.values if self.prepared else np.zeros(len(self._names) + 3)
            new = accepted(self._names, present[:-3].tolist(), values, self._left_out)
            acceleration = present[-3:] if gravity is None else checked_gravity(gravity)
            prepared = self._prepare.run((), np.array([*new, *acceleration]))
            prepared.flags.writeable = False
            self.prepared[:] = [prepared]
            then()
