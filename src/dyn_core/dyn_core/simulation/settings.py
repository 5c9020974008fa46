# SPDX-License-Identifier: Apache-2.0
"""How a robot is simulated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dyn_core.core.errors import DynError
from dyn_core.facade.compile_options import Backend

Method = Literal["rk4", "semi_implicit_euler", "implicit_midpoint"]
Integrator = Literal["auto", "rk4", "semi_implicit_euler", "implicit_midpoint"]
INTEGRATORS: tuple[Integrator, ...] = ("auto", "rk4", "semi_implicit_euler", "implicit_midpoint")
MOST_SUBSTEPS = 1_000_000


@dataclass(frozen=True)
class SimulationSettings:
    """How a robot is simulated; DynError where a value makes no sense.

    Attributes:
        step: time between two states (s); efforts are constant meanwhile.
        integrator: ``"rk4"``, the Runge-Kutta method of order 4; ``"semi_implicit_euler"``, of order 1,
            which no viscous friction makes unstable; ``"implicit_midpoint"``, of order 2, which no spring
            makes unstable, and which keeps the energy of springs; ``"auto"``, the last for robots with
            springs, and the first for all others.
        substeps: steps of the integrator for each step.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
        position_limits: whether joints stop at the limits of their positions.
        effort_limits: whether efforts are cut at the limits of the joints.
        greatest_speed: speed (rad/s or m/s) above which the simulation is taken to have gone wrong.
        backend: what computes, as in `compile_model`.
    """

    step: float = 1e-3
    integrator: Integrator = "auto"
    substeps: int = 1
    friction: bool = True
    rotor_inertia: bool = True
    position_limits: bool = True
    effort_limits: bool = True
    greatest_speed: float = 1e4
    backend: Backend = "auto"

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("step", "greatest_speed"):
            value = getattr(self, name)
            if not is_number(value) or not 0.0 < value < math.inf:
                unit = "s" if name == "step" else "rad/s or m/s"
                raise _unfit(name, value, f"give a finite number > 0 ({unit})")
        if self.integrator not in INTEGRATORS:
            raise _unfit("integrator", self.integrator, f"choose one of {', '.join(INTEGRATORS)}")
        if isinstance(self.substeps, bool) or not isinstance(self.substeps, int):
            raise _unfit("substeps", self.substeps, "give a whole number")
        if not 1 <= self.substeps <= MOST_SUBSTEPS:
            raise _unfit("substeps", self.substeps, f"give a number from 1 to {MOST_SUBSTEPS}")
        for name in ("friction", "rotor_inertia", "position_limits", "effort_limits"):
            if not isinstance(getattr(self, name), bool):
                raise _unfit(name, getattr(self, name), "give True or False")
        if self.backend not in ("auto", "c", "python"):
            raise _unfit("backend", self.backend, "choose one of auto, c, python")


def chosen_method(integrator: Integrator, with_springs: bool) -> Method:
    """Answer the method of a robot."""
    if integrator != "auto":
        return integrator
    return "implicit_midpoint" if with_springs else "rk4"


def is_number(value: object) -> bool:
    """Whether a value is a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _unfit(name: str, value: object, remedy: str) -> DynError:
    return DynError(f"the setting {name} is {value!r}: {remedy}", element=name)
