# SPDX-License-Identifier: Apache-2.0
"""Parameters that change while a model is in use.

What the programs of a model are given in the place of parameters is one array, which begins with the
parameters and gravity themselves (see `dyn_core.codegen.staging`). It is never written to, only
replaced, so that a call computes with the parameters before a change or with those after it, never
with some of both; a call that has begun keeps those it began with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock

import numpy as np

from dyn_core.errors import DynError
from dyn_core.facade.arrays import Array
from dyn_core.facade.runnable import Runnable
from dyn_core.model.gravity import checked_gravity
from dyn_core.model.named_values import renewed

OPTIONAL = {"Fv": "friction", "Fs": "friction", "Fo": "friction", "Ia": "rotor_inertia"}
"""The option of `compile_model` without which a model does not have these parameters."""


def check_left_out(names: Iterable[str], values: Iterable[float], left_out: frozenset[str]) -> None:
    """Refuse values other than zero of parameters that a model does not have.

    Args:
        names: names of the parameters.
        values: their values.
        left_out: options of `compile_model` that are off.
    """
    for name, value in zip(names, values, strict=True):
        option = OPTIONAL.get(name.rstrip("0123456789"))
        if value != 0.0 and option in left_out:
            raise DynError(
                f"the parameter {name} is {value}, but the model was compiled with {option}=False",
                element=name,
            )


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

    def renew(self, values: Mapping[str, float] | Iterable[float], gravity: Iterable[float] | None) -> None:
        """Replace parameters: by name, or all of them; and gravity, unless it is None."""
        with self._lock:
            present = self.values if self.prepared else np.zeros(len(self._names) + 3)
            new = renewed(self._names, present[:-3].tolist(), values)
            check_left_out(self._names, new, self._left_out)
            acceleration = present[-3:] if gravity is None else checked_gravity(gravity)
            prepared = self._prepare.run((), np.array([*new, *acceleration]))
            prepared.flags.writeable = False
            self.prepared[:] = [prepared]
