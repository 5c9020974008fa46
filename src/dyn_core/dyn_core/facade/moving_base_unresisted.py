# SPDX-License-Identifier: Apache-2.0
"""A base, or joints on it, that no inertia resists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dyn_core.core.errors import DynError
from dyn_core.dynamics.unresisted import unresisted
from dyn_core.model.moving_base.moving_base import MovingBase

NEEDED = ("inverse_dynamics", "forward_dynamics", "forward_dynamics_given_base")
"""The functions that divide by an inertia: of the base, of base and joints, and of the joints."""

_GOLDEN = 0.6180339887498949  # its multiples are spread evenly, and in no simple relation to pi


def unresisted_on_base(
    base: MovingBase, inertia: Callable[[list[float]], Sequence[Sequence[float]]]
) -> dict[str, tuple[str, ...]]:
    """By function, what can be accelerated without limit of all that it accelerates.

    Of the joints their names, of the base "". Two configurations of no symmetry tell.

    Args:
        base: the robot and its base.
        inertia: its inertia matrix of base and joints, by positions of the joints.
    """
    k, n = base.freedom, base.robot.dof
    names = ("",) * k + base.robot.coordinate_names
    found: dict[str, list[set[str]]] = {function: [] for function in NEEDED}
    for least in (1.0, -2.0):
        A = inertia([least + (_GOLDEN * j) % 1.0 for j in range(1, n + 1)])
        for function, (first, last) in zip(NEEDED, ((0, k), (0, k + n), (k, k + n)), strict=True):
            part = [row[first:last] for row in A[first:last]]
            nonzero = [[i for i in range(r) if part[r][i] != 0.0] for r in range(last - first)]
            found[function].append({names[first + i] for i in unresisted(part, nonzero)})
    here_and_there = {function: set.intersection(*sets) for function, sets in found.items()}
    order = dict.fromkeys(names)
    return {
        function: tuple(name for name in order if name in loose) for function, loose in here_and_there.items()
    }


def refuse_unresisted(base: MovingBase, function: str, loose: Sequence[str]) -> None:
    """Raise DynError where a function accelerates what no inertia resists."""
    for name in loose:
        what = f"joint '{name}'" if name else f"the base '{base.link.name}'"
        remedy = "its link mass and inertia, or the joint a rotor inertia" if name else "it mass and inertia"
        raise DynError(
            f"robot '{base.robot.name}' has no {function}: no inertia resists {what}: give {remedy}",
            element=what,
        )
