# SPDX-License-Identifier: Apache-2.0
"""Calls to measure: functions of one state, prepared so that only the library's work is timed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np

import dyn_core
from dyn_core.model.fixed_base.dynamics_programs import traced, with_terms
from dyn_core.model.tunable_parameters import runnables

Call: TypeAlias = Callable[[], np.ndarray]
State: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]

FUNCTIONS = {
    "inverse dynamics": "inverse_dynamics",
    "direct dynamics": "forward_dynamics",
    "inertia matrix": "inertia_matrix",
    "regressor": "regressor",
}
"""Names of the measured functions, and their names in dyn_core."""

TOLERANCE = 1e-9
"""Relative difference above which two libraries compute different quantities."""


class Peer(Protocol):
    """A robot in another library.

    Attributes:
        name: of the library.
        order: where our joints are in its vectors.
    """

    name: str
    order: np.ndarray

    def calls(self, state: State) -> dict[str, Call]:
        """Return the functions of the library by quantity.

        Args:
            state: positions, velocities, and accelerations or torques, in our order.
        """


def our_calls(model: dyn_core.Model, state: State) -> dict[str, Call]:
    """Return the functions of a model."""
    return {what: _call(getattr(model, name), what, state) for what, name in FUNCTIONS.items()}


def some_calls(robot: dyn_core.Robot, state: State, wanted: list[str]) -> dict[str, Call]:
    """Return some functions of a robot; no others are compiled."""
    made_of = with_terms(robot, friction=False, rotor_inertia=False)
    compiled = runnables([traced(made_of, FUNCTIONS[what]) for what in wanted], "c")
    # Fallback of a function whose array does not fit; here all arrays fit.
    bound = [runnable.function.bind(runnable.run, []) for runnable in compiled]
    return {what: _call(function, what, state) for what, function in zip(wanted, bound, strict=True)}


def disagreement(ours: np.ndarray, theirs: np.ndarray, order: np.ndarray) -> float:
    """Largest difference between a result and that of a peer, relative to the largest entry."""
    theirs = theirs[order] if theirs.ndim == 1 else theirs[np.ix_(order, order)]
    return float(np.abs(ours - theirs).max() / np.abs(ours).max())


def _call(function: Callable[..., np.ndarray], what: str, state: State) -> Call:
    return partial(function, *(state[:1] if what == "inertia matrix" else state))
