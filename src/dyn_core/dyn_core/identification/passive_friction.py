# SPDX-License-Identifier: Apache-2.0
"""Viscous and Coulomb friction of the passive joints of loops, as the torques of the actuated joints show it.

A passive joint that turns by ``qd_p = g . qd`` with the speeds of the actuated joints takes from these
``g (Fv qd_p + Fs sign(qd_p))``: beside friction of their own, this shows where g varies, or where several
actuated joints move it. What cannot be told from the friction of one of them is counted as that.
"""

from __future__ import annotations

import numpy as np

from dyn_core.algorithms.base_parameters.combinations import Combinations
from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.core.arrays import Array
from dyn_core.grouping.closed_regressor import on_motions, random_closed_states
from dyn_core.io.compound_joints import PART_NAMES
from dyn_core.robot.robot import Robot

OF_PASSIVE = ("Fv", "Fs")
"""Friction that passive joints are taken to have: no motor gives them an offset."""

_NONE = 1e-9
"""Coefficients below this are 0."""


def passive_friction(robot: Robot) -> Combinations:
    """Answer which combinations of the friction of passive joints show beside that of actuated joints.

    Of a robot without loops there are none; nor have the six joints any that a floating one is made of.
    """
    if not robot.loops:
        return Combinations((), (), np.zeros((0, 0)))
    qd = random_closed_states(robot, 0).qd
    independent = list(robot.independent)
    actuated = [j for j in independent if j in robot.coordinates]
    bearings = [j for j in independent if not _is_free(robot, robot.joints[j - 1].name)]
    passive = [j for j in bearings if j not in robot.coordinates]
    states = random_closed_states(robot, 0)
    own = [_column(independent.index(j), term, qd) for j in actuated for term in ("Fv", "Fs", "Fo")]
    others = [_column(independent.index(j), term, qd) for j in passive for term in OF_PASSIVE]
    names = [f"{term}{j}" for j in passive for term in OF_PASSIVE]
    if not others:
        return Combinations((), (), np.zeros((0, 0)))
    W = on_motions(states, np.array(own + others))
    chosen = dependent_columns(W, len(own))
    # What the friction of actuated joints does as well is counted as theirs.
    alone = np.abs(chosen.relations[: len(own), len(own) :]).max(axis=0, initial=0.0) < _NONE
    kept = [k - len(own) for k in chosen.columns[len(own) :]]
    used = [k for k in range(len(names)) if alone[k]]
    matrix = chosen.relations[len(own) :, len(own) :][:, used]
    return Combinations(tuple(names[k] for k in used), tuple(names[k] for k in kept), matrix)


def _is_free(robot: Robot, name: str) -> bool:
    """Whether a joint is one of those by which a platform floats: nothing is there that could rub."""
    floating, _, part = name.rpartition("/")
    parts = PART_NAMES["floating"]
    return part in parts and {f"{floating}/{other}" for other in parts} <= set(robot.joint_names)


def _column(place: int, term: str, qd: Array) -> Array:
    """Torques of the independent joints by the friction of one, (independent joints, K)."""
    column = np.zeros((qd.shape[1], len(qd)))
    speed = qd[:, place]
    column[place] = speed if term == "Fv" else np.sign(speed) if term == "Fs" else 1.0
    return column
