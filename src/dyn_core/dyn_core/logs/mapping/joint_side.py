# SPDX-License-Identifier: Apache-2.0
"""From what drives measure to what joints do.

For drive a of a joint, with x the value in the log and x_0 the `zero` of the map,

    y   = sign_x gain (unit x - unit x_0)                     at the motor, or at the joint where `side` says
    so

    q_a = sign y / N,  qd_a = sign y / N,  tau_a = sign N y   with the `ratio` N of motor to joint (1)

and for joints that several drives move together, with their `matrix` C,

    q = C q_a,  qd = C qd_a,  tau = C^-T tau_a.               (2)

(1) and (2) keep the power: tau_m qd_m = tau_a qd_a, and tau^T qd = tau_a^T C^-1 C qd_a = tau_a^T qd_a. Values
that the map calls those of the joint's side skip (1) but for the sign, and (2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed, shortened
from dyn_core.logs.mapping.assignment import Source
from dyn_core.logs.mapping.log_map import JOINT, Coupling, JointMap
from dyn_core.logs.units import EFFORT, Unit


def coupled_drives(couplings: Sequence[Coupling]) -> dict[str, dict[str, float]]:
    """Answer how fast drives turn that move several joints: rows of C^-1, by the joint of the drive."""
    found = {}
    for coupling in couplings:
        for joint, row in zip(
            coupling.joints, np.linalg.inv(np.array(coupling.matrix)).tolist(), strict=True
        ):
            speeds = {name: x for name, x in zip(coupling.joints, row, strict=True) if abs(x) > _NONE}
            if set(speeds) != {joint}:
                found[joint] = speeds
    return found


_NONE = 1e-9


def drive_side(x: Array, joint: str, quantity: str, source: Source, said: JointMap) -> Array:
    """Answer equation (1) for the values of one column.

    Raises:
        DynError: the unit asks for a gain that the map does not have.
    """
    column, unit = source.said, source.unit
    gain = column.gain
    if gain is None:
        gain = _gain(joint, quantity, unit)
    factor = 1.0 if unit is None else unit.factor
    y = column.sign * gain * factor * (x - column.zero)
    if column.side == JOINT:
        return np.asarray(said.sign * y, dtype=np.float64)
    return np.asarray(
        said.sign * (y * said.ratio if quantity == EFFORT else y / said.ratio), dtype=np.float64
    )


def _gain(joint: str, quantity: str, unit: Unit | None) -> float:
    if unit is None or not unit.is_raw:
        return 1.0
    what = {"A": "the torque of the motor for 1 A (N m/A)", "V": "the effort for 1 V (N m/V or N/V)"}.get(
        unit.result, "the torque for 100 % (N m)" if unit.result == "1" else "what one count is"
    )
    remedy = (
        "counts_per_revolution, or a gain in rad or m for one count"
        if quantity != EFFORT
        else f"a gain: {what}"
    )
    raise DynError(
        f"joint '{shortened(joint, 40)}': its {quantity} is in {unit.name}: give a map with {remedy}",
        element=f"joint '{joint}'",
    )


def coupled(
    values: Array,
    joints: Sequence[str],
    quantity: str,
    couplings: Sequence[Coupling],
    sides: Mapping[str, str | None],
) -> Array:
    """Answer equation (2) for the values of all joints, (N, n).

    Raises:
        DynError: the map couples joints of which some are on the motor's side and some are not, or that are
            not there.
    """
    result = values
    for coupling in couplings:
        lost = [joint for joint in coupling.joints if joint not in joints]
        if lost:
            raise DynError(
                f"coupling: the log has no joint {listed(lost)}: its joints are {listed(joints, 12)}"
            )
        if coupling.side == JOINT:
            continue
        on_joint = [sides.get(joint) == JOINT for joint in coupling.joints]
        if all(on_joint):
            continue
        if any(on_joint):
            raise DynError(
                f"coupling of {listed(coupling.joints)}: the {quantity} of some is on the side of the joint "
                "and that "
                "of others is not: give all on one side"
            )
        place = [list(joints).index(joint) for joint in coupling.joints]
        C = np.array(coupling.matrix)
        map_to_joints = np.linalg.inv(C).T if quantity == EFFORT else C
        result = result.copy()
        result[:, place] = result[:, place] @ map_to_joints.T
    return result
