# SPDX-License-Identifier: Apache-2.0
"""What to know before believing an identification, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dyn_core.core.errors import listed
from dyn_core.identification.at_rest import moving
from dyn_core.identification.estimators.described_parameters import expected_bodies, without_motor
from dyn_core.identification.estimators.least_squares import Solution
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.offsets import GroupedOffsets, of_grouped_offsets
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.model.standard_parameters import INERTIAL, PER_JOINT
from dyn_core.robot.robot import Robot

ILL_CONDITIONED = 1e3
"""Condition number from which on it is worth a word."""

WORTH_A_WORD = 0.01
"""Part of the time for which a joint stands that is worth a word."""

COSTLY, MUCH = 3.0, 0.01
"""Bodies that can exist cost much where they multiply and raise the relative error of the fit by more."""


def cost_of_possible(plain: float, possible: float) -> tuple[str, ...]:
    """Answer a sentence where bodies that can exist fit far worse than least squares.

    Args:
        plain: relative torque error of least squares where they were fitted.
        possible: the same of bodies that can exist.
    """
    if possible <= COSTLY * plain or possible - plain <= MUCH:
        return ()
    return (
        f"bodies that can exist leave {possible:.1%} of the fitted torques, base parameters that no body has "
        f"{plain:.1%}: something is not as the description or the log says, such as the sign or the zero of "
        "a position, the sign or the unit of torques, gravity, or a length",
    )


def of_fixed_joints(positions: Mapping[str, float]) -> tuple[str, ...]:
    """Answer a sentence about joints that stood all the time, by name with where they stood."""
    if not positions:
        return ()
    if len(positions) == 1:
        return (
            f"{listed(positions)} did not move and was taken as fixed: what it carries is known together "
            "with what carries it, as long as it stands there; its friction and rotor stay as described",
        )
    return (
        f"{listed(positions)} did not move and were taken as fixed: what they carry is known together with "
        "what carries them, as long as they stand there; their friction and rotors stay as described",
    )


def _of_standing(names: Sequence[str], shares: Sequence[float], robot: Robot) -> list[str]:
    """Answer a sentence where joints of these names stood for a part of the time."""
    of_all = dict(zip(robot.coordinate_names, shares, strict=True))
    stood = {name: f"{of_all[name]:.0%}" for name in names if of_all[name] >= WORTH_A_WORD}
    if not stood:
        return []
    said = ", ".join(f"{share} of the time of '{name}'" for name, share in stood.items())
    if len(stood) == robot.dof and len(set(stood.values())) == 1:
        said = f"{next(iter(stood.values()))} of the time of all joints"
    return [
        "while a joint stands its friction is anything within stiction: its torque is left out of the fit, "
        f"though not of the errors: {said}"
    ]


def of_standing_held_out(names: Sequence[str], shares: Sequence[float]) -> tuple[str, ...]:
    """Answer a sentence where joints stand for most of what was held out, by name and part of that time."""
    still = [name for name, share in zip(names, shares, strict=True) if share > 0.5]
    if not still:
        return ()
    verb = "stands" if len(still) == 1 else "stand"
    return (
        f"{listed(still)} {verb} for most of what was held out: errors there say little of the parameters; "
        "end the log with the motion, or hold out less of it (train)",
    )


def of_impossible(robot: Robot) -> tuple[str, ...]:
    """Answer a sentence about inertias of the description that no body can have.

    No mass at all is meant, as of the link between the two axes of a universal joint.
    """
    described = np.reshape(robot.parameters, (len(robot.joints), PER_JOINT))[:, : len(INERTIAL)]
    _, impossible = expected_bodies(robot)
    names = [robot.joints[j - 1].name for j in impossible if described[j - 1].any()]
    if not names:
        return ()
    carry = "carries" if len(names) == 1 else "carry"
    return (
        f"no body can have the inertia that the description gives to what {listed(names)} {carry}: "
        "the nearest possible one is expected instead",
    )


def remarks(
    robot: Robot,
    base: BaseColumns,
    signals: Signals,
    models: Sequence[FrictionModel],
    solution: Solution,
    shares: Sequence[float],
    grouped: GroupedOffsets,
) -> tuple[str, ...]:
    """Answer what to know, one sentence each.

    Args:
        robot: the robot.
        base: the columns of its base parameters.
        signals: the motion that was fitted.
        models: friction of each joint.
        solution: the fit.
        shares: part of that time for which each joint stood.
        grouped: offsets that no motion tells from weights.
    """
    found = list(of_impossible(robot))
    still = [name for name, moves in zip(robot.coordinate_names, moving(signals), strict=True) if not moves]
    if still:
        whose = "its friction and rotor" if len(still) == 1 else "their friction and rotors"
        found.append(f"{listed(still)} did not move: {whose} stay unknown")
    found += _of_standing([name for name in robot.coordinate_names if name not in still], shares, robot)
    silent = [
        name for name, known in zip(robot.coordinate_names, signals.has_effort, strict=True) if not known
    ]
    if silent:
        who = "it has" if len(silent) == 1 else "they have"
        found.append(f"the torque of {listed(silent)} was not measured: {who} no equations")
    own = [name for j, m in zip(robot.coordinates, models, strict=True) for name in m.names(j)]
    parameters = (*base.names, *own)
    coupled = {f"Fv{j}" for j in np.flatnonzero(without_motor(base, len(robot.joints))) + 1}
    missing = [
        name
        for name, known in zip(parameters, solution.identifiable, strict=True)
        if not known and name not in coupled and name not in grouped
    ]
    found += of_grouped_offsets(grouped)
    if missing:
        found.append(f"the motion does not show {listed(missing, 14)}: excite the joints more")
    if solution.condition > ILL_CONDITIONED:
        found.append(
            f"the condition number of the equations is {solution.condition:.3g}: parameters cannot be told "
            "from each other well; excite the joints more, see dyn excite"
        )
    return tuple(found)
