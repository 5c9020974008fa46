# SPDX-License-Identifier: Apache-2.0
"""The dynamic parameters of a model, whether they are baked in or can be set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.model.tunable_parameters import Tuning
from dyn_core.symbolic.vec3 import Vec3


class Described(Protocol):
    """What has parameters: a robot, or one on a moving base."""

    @property
    def name(self) -> str:
        """The name of the robot."""
        ...

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the dynamic parameters."""
        ...

    @property
    def parameters(self) -> tuple[float, ...]:
        """Their values (SI units)."""
        ...

    @property
    def gravity(self) -> Vec3:
        """Acceleration of gravity (m/s^2)."""
        ...


class ModelParameters:
    """What every model says of its parameters, and how they are set."""

    _tuning: Tuning | None

    def _described(self) -> Described:
        """Answer what the model is of."""
        raise NotImplementedError

    def _computed(self) -> Described:
        """Answer the same without the terms that the model leaves out."""
        raise NotImplementedError

    def _after_change(self) -> None:
        """Do what follows from new values of parameters."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of `parameters` and of the columns of regressors: 14 for each joint of the tree.

        On a moving base those of the base, XX0 to M0, come first.
        """
        return self._described().parameter_names

    @property
    def parameters(self) -> Array:
        """Values of the dynamic parameters, in the order of `parameter_names` (SI units)."""
        if self._tuning is None:
            return np.array(self._computed().parameters)
        return self._tuning.values[:-3]

    @property
    def gravity(self) -> Array:
        """Acceleration of gravity in the frame of the root link, or in the world of a moving base (m/s^2)."""
        return np.array(self._described().gravity) if self._tuning is None else self._tuning.values[-3:]

    @property
    def tuned(self) -> Array | None:
        """What begins with the parameters and gravity that can be set, None where they are baked in.

        It is another array after each `set_parameters`; nobody writes to it.
        """
        return None if self._tuning is None else self._tuning.prepared[0]

    def set_parameters(
        self,
        values: Mapping[str, float] | Iterable[float] | None = None,
        gravity: Iterable[float] | None = None,
    ) -> None:
        """Replace dynamic parameters of a model with ``parameters="runtime"``, all at one moment.

        Calls that have begun in other threads end with the parameters that they began with.

        Args:
            values: values by name, where what is not named stays, or all of them in the order of
                `parameter_names` (SI units); those of a robot with a payload are
                ``robot.with_payload(...).parameters``.
            gravity: acceleration of gravity in the frame of the root link, or in the world of a moving base
                (m/s^2).

        Raises:
            DynError: the parameters are baked in, a name is not known, or a number is not finite.
        """
        if self._tuning is None:
            raise DynError(
                f"the parameters of the model of '{self._described().name}' are baked in: "
                'compile it with parameters="runtime" to change them'
            )
        if values is None:
            self._tuning.renew({}, gravity)
        else:
            self._tuning.renew(values, gravity, then=self._after_change)
