# SPDX-License-Identifier: Apache-2.0
"""Dynamic parameters that go over from the present ones to others.

The torque is linear in the parameters p, tau = Y(q, qd, qdd) p, so with p = (1 - s) p_0 + s p_1 it is the
same mixture of the torques: without a step, and with a rate of at most 1.875 |Y (p_1 - p_0)| / duration
beyond that of the motion. It is linear in gravity too, not in both: where both change the mixture is of
second degree in s. The sets of parameters that bodies can have are convex: between two such sets all
are possible.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from dyn_core.control.ramp import progress, smooth_step
from dyn_core.control.settings import number
from dyn_core.core.arrays import Array
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.model.gravity import checked_gravity
from dyn_core.model.tunable_parameters import accepted


class ParameterBlend:
    """Sets the parameters of a model, and nobody else does. It has a state: where the blend is.

    A change during a blend begins with the values that the model has at that moment. Values by name change
    those that the running blend goes to.

    Attributes:
        model: a model with ``parameters="runtime"``.
    """

    def __init__(self, model: Model) -> None:
        """Begin with the parameters that the model has; DynError where they are baked in."""
        model.set_parameters()
        self.model = model
        self._target: Array = np.array([*model.parameters, *model.gravity])
        options = {"friction": model.friction, "rotor_inertia": model.rotor_inertia}
        self._left_out = frozenset(option for option, wanted in options.items() if not wanted)
        self._initial = self._target
        self._begin = -math.inf
        self._duration = 0.0
        self._settled = True

    @property
    def target(self) -> Array:
        """Parameters that the model has, or will have when the blend is over (SI units)."""
        return np.array(self._target[:-3])

    @property
    def gravity(self) -> Array:
        """Gravity that the model has, or will have (m/s^2)."""
        return np.array(self._target[-3:])

    def change(
        self,
        now: float,
        values: Mapping[str, float] | Iterable[float] | None = None,
        gravity: Iterable[float] | None = None,
        duration: float = 1.0,
    ) -> None:
        """Begin to go over to other parameters; `update` does it.

        Args:
            now: the present (s).
            values: as for `Model.set_parameters`.
            gravity: acceleration of gravity in the frame of the root link (m/s^2).
            duration: how long it takes (s); 0 for at once.

        Raises:
            DynError: a value will not do; the present blend goes on.
        """
        seconds = number("the duration of a blend (s)", duration, least=0.0)
        model, target = self.model, self._target
        names = model.parameter_names
        new = accepted(names, target[:-3].tolist(), {} if values is None else values, self._left_out)
        field = target[-3:] if gravity is None else checked_gravity(gravity)
        self._initial = self._at(now)
        self._target = np.array([*new, *field])
        self._begin, self._duration, self._settled = now, seconds, False

    def update(self, now: float) -> bool:
        """Give the model its parameters at time `now` (s), and answer whether they still change.

        It takes no time while no blend runs, and that of `Model.set_parameters` while one does.
        """
        if self._settled:
            return False
        values = self._at(now)
        self.model.set_parameters(values[:-3], gravity=values[-3:])
        self._settled = progress(self._begin, self._duration, now) >= 1.0
        return not self._settled

    def _at(self, now: float) -> Array:
        s = smooth_step(progress(self._begin, self._duration, now))
        return self._target if s == 1.0 else (1.0 - s) * self._initial + s * self._target
