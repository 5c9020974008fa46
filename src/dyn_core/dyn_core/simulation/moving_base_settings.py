# SPDX-License-Identifier: Apache-2.0
"""How a robot whose base moves is simulated."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dyn_core.core.errors import DynError
from dyn_core.facade.compile_options import Backend
from dyn_core.simulation.settings import MOST_SUBSTEPS, is_number

_UNITS = {"step": "s", "slip_speed": "rad/s or m/s", "greatest_speed": "rad/s or m/s"}


@dataclass(frozen=True)
class MovingBaseSettings:
    """How a robot whose base moves is simulated; DynError where a value makes no sense.

    Attributes:
        step: time between two states (s); efforts and forces are constant meanwhile.
        substeps: steps of the Runge-Kutta method for each step.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
        effort_limits: whether efforts are cut at the limits of the joints.
        slip_speed: velocity of a joint (rad/s or m/s) over which its Coulomb friction changes sign: it is
            ``Fs tanh(qd / slip_speed)``, which lets a joint creep instead of holding it.
        greatest_speed: speed (rad/s or m/s) above which the simulation is taken to have gone wrong.
        backend: what computes, as in `compile_model`.
    """

    step: float = 1e-3
    substeps: int = 1
    friction: bool = True
    rotor_inertia: bool = True
    effort_limits: bool = True
    slip_speed: float = 0.01
    greatest_speed: float = 1e4
    backend: Backend = "auto"

    def __post_init__(self) -> None:
        """Check the values."""
        for name, unit in _UNITS.items():
            value = getattr(self, name)
            if not is_number(value) or not 0.0 < value < math.inf:
                raise _unfit(name, value, f"give a finite number > 0 ({unit})")
        if isinstance(self.substeps, bool) or not isinstance(self.substeps, int):
            raise _unfit("substeps", self.substeps, "give a whole number")
        if not 1 <= self.substeps <= MOST_SUBSTEPS:
            raise _unfit("substeps", self.substeps, f"give a number from 1 to {MOST_SUBSTEPS}")
        for name in ("friction", "rotor_inertia", "effort_limits"):
            if not isinstance(getattr(self, name), bool):
                raise _unfit(name, getattr(self, name), "give True or False")
        if self.backend not in ("auto", "c", "python"):
            raise _unfit("backend", self.backend, "choose one of auto, c, python")


def _unfit(name: str, value: object, remedy: str) -> DynError:
    return DynError(f"the setting {name} is {value!r}: {remedy}", element=name)
