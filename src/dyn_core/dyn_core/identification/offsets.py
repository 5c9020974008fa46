# SPDX-License-Identifier: Apache-2.0
"""Offset torques that no motion tells from weights, as that of a joint that lifts a mass straight up.

There gravity is a constant torque ``M g``, and so is the offset Fo. Least squares take it as 0, and the base
parameters that make the same torque have it: with ``Fo column = columns @ r`` they are ``K + r Fo``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.base_columns import BaseColumns, some_states

GroupedOffsets = Mapping[str, Mapping[str, float]]
"""By name of an offset, by name of a base parameter: how much of the offset it has."""


def grouped_offsets(base: BaseColumns, models: Sequence[FrictionModel]) -> GroupedOffsets:
    """Answer the offsets that no motion tells from base parameters, and what these have of them.

    Args:
        base: the columns of the base parameters.
        models: friction of each joint.
    """
    robot = base.robot
    names = {
        f"Fo{j}": i
        for i, (j, model) in enumerate(zip(robot.coordinates, models, strict=True))
        if "offset" in model.terms
    }
    bodies = base.columns(*some_states(robot))
    samples, joints, count = bodies.shape
    constant = np.broadcast_to(np.eye(joints)[:, list(names.values())], (samples, joints, len(names)))
    W = np.concatenate([bodies, constant], axis=2).reshape(samples * joints, -1)
    chosen = dependent_columns(W, count)
    found = {}
    for k, name in enumerate(names, start=count):
        if k not in chosen.columns:
            parts = chosen.relations[:count, k]
            found[name] = {base.names[i]: float(parts[i]) for i in np.flatnonzero(parts)}
    return found


def of_grouped_offsets(grouped: GroupedOffsets) -> tuple[str, ...]:
    """Answer a sentence for each offset that no motion tells from base parameters."""
    return tuple(
        f"no motion tells the offset torque {name} from a weight: it is taken as 0, and what stands for "
        + ", ".join(parts)
        + " among the base parameters is "
        + ", ".join(
            f"{kept} {'-' if part < 0.0 else '+'} {abs(part):.4g} {name}" for kept, part in parts.items()
        )
        for name, parts in grouped.items()
    )
