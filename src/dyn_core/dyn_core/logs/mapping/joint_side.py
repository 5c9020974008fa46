# SPDX-License-Identifier: Apache-2.0
"""Conversion from the drive side to the joint side: gains, gear ratios, couplings, set points.

For drive a of a joint, with the value x in the log and the `zero` x_0 of the map,

    y   = sign_x gain (unit x - unit x_0)                     at the motor, or at the joint if `side` says so
    q_a = sign y / N,  qd_a = sign y / N,  tau_a = sign N y   with the `ratio` N of motor to joint (1)

and for joints that several drives move together, with their `matrix` C,

    q = C q_a,  qd = C qd_a,  tau = C^-T tau_a.               (2)

(1) and (2) preserve the power: tau_m qd_m = tau_a qd_a, and tau^T qd = tau_a^T C^-1 C qd_a = tau_a^T qd_a.
Values on the joint's side skip (2), and (1) except for the sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.messages import Message
from dyn_core.logs.log import EFFORT, POSITION, VELOCITY, Control, Log, Unit
from dyn_core.logs.mapping.assignment import Source, source_of
from dyn_core.logs.mapping.log_map import JOINT, Coupling, JointMap, LogMap
from dyn_core.logs.recording import Recording

_SET_POINT = "set point of "
_ZERO = 1e-9


def coupled_drives(couplings: Sequence[Coupling]) -> dict[str, dict[str, float]]:
    """Return the speeds of drives that move several joints: rows of C^-1, by the joint of the drive."""
    found = {}
    for coupling in couplings:
        inverse = np.linalg.inv(np.array(coupling.matrix)).tolist()
        for joint, row in zip(coupling.joints, inverse, strict=True):
            speeds = {name: x for name, x in zip(coupling.joints, row, strict=True) if abs(x) > _ZERO}
            if set(speeds) != {joint}:
                found[joint] = speeds
    return found


def joint_side(
    columns: Mapping[tuple[str, str], Array],
    sources: Mapping[tuple[str, str], Source],
    joints: Sequence[str],
    quantity: str,
    log_map: LogMap,
    prefix: str = "",
) -> Array:
    """Return a quantity of all joints in SI units on the joint side, (N, n), NaN where it is missing.

    Args:
        columns: values by joint and `prefix` + `quantity`, (N,) each.
        sources: their sources.
        joints: names of the n joints.
        quantity: the quantity.
        log_map: map of the user.
        prefix: first word of the keys.
    """
    count = len(next(iter(columns.values())))
    result = np.full((count, len(joints)), np.nan)
    sides: dict[str, str | None] = {}
    for k, joint in enumerate(joints):
        key = joint, f"{prefix}{quantity}"
        if key in columns:
            drive = log_map.joints.get(joint, JointMap())
            result[:, k] = drive_side(columns[key], joint, quantity, sources[key], drive)
            sides[joint] = sources[key].mapping.side
    return _coupled(result, joints, quantity, log_map.couplings, sides)


def drive_side(x: Array, joint: str, quantity: str, source: Source, drive: JointMap) -> Array:
    """Return equation (1) for the values of one column.

    Raises:
        DynError: the unit needs a gain that the map does not have.
    """
    column, unit = source.mapping, source.unit
    gain = _gain(joint, quantity, unit) if column.gain is None else column.gain
    factor = 1.0 if unit is None else unit.factor
    y = column.sign * gain * factor * (x - column.zero)
    if column.side != JOINT:
        y = y * drive.ratio if quantity == EFFORT else y / drive.ratio
    return np.asarray(drive.sign * y, dtype=np.float64)


def _gain(joint: str, quantity: str, unit: Unit | None) -> float:
    if unit is None or not unit.is_raw:
        return 1.0
    about: dict[str, Any] = {
        "joint": joint,
        "quantity": quantity,
        "unit": unit.name,
        "element": f"joint '{joint}'",
    }
    if quantity != EFFORT:
        raise DynError("position-gain-missing", **about)
    code = {"A": "gain-for-current", "V": "gain-for-voltage", "1": "gain-for-fraction"}.get(unit.result)
    raise DynError("effort-gain-missing", gain=Message(code or "gain-for-count"), **about)


def _coupled(
    values: Array,
    joints: Sequence[str],
    quantity: str,
    couplings: Sequence[Coupling],
    sides: Mapping[str, str | None],
) -> Array:
    """Return equation (2) for the values of all joints, (N, n).

    Raises:
        DynError: a coupled joint is missing, or only some of the coupled joints are on the motor side.
    """
    result = values
    for coupling in couplings:
        missing = [joint for joint in coupling.joints if joint not in joints]
        if missing:
            raise DynError("log-joint-unknown", entry="coupling", unknown=missing, known=joints)
        on_joint = [coupling.side == JOINT or sides.get(joint) == JOINT for joint in coupling.joints]
        if all(on_joint):
            continue
        if any(on_joint):
            raise DynError("coupling-sides-mixed", joints=coupling.joints, quantity=quantity)
        place = [list(joints).index(joint) for joint in coupling.joints]
        C = np.array(coupling.matrix)
        map_to_joints = np.linalg.inv(C).T if quantity == EFFORT else C
        result = result.copy()
        result[:, place] = result[:, place] @ map_to_joints.T
    return result


def set_point_sources(recording: Recording, log_map: LogMap) -> dict[tuple[str, str], Source]:
    """Return the sources of the set points under ``control`` of the map, by joint and quantity."""
    return {
        (joint, f"{_SET_POINT}{quantity}"): source_of(recording, column, joint, quantity, log_map)
        for joint, control in log_map.control.items()
        for quantity, column in control.columns.items()
    }


def with_control(
    log: Log,
    log_map: LogMap,
    sources: Mapping[tuple[str, str], Source],
    time: Array,
    columns: Mapping[tuple[str, str], Array],
) -> Log:
    """Return the log with its control law and set points.

    Args:
        log: the log.
        log_map: map of the user.
        sources: sources of the set points.
        time: times of the columns, counted like `Log.start` (s), (N,).
        columns: values of the sources, (N,) each.

    Raises:
        DynError: a joint is missing, or a column has no values.
    """
    if not log_map.control:
        return log
    joints = log.joint_names
    if missing := [joint for joint in joints if joint not in log_map.control]:
        raise DynError("control-joint-missing", missing=missing)
    now = log.start + log.time
    known: dict[tuple[str, str], Array] = {}
    for key in sources:
        finite = np.isfinite(columns[key])
        if key[0] in joints and not finite.any():
            raise DynError("control-column-empty", joint=key[0], quantity=key[1].removeprefix(_SET_POINT))
        if finite.any():
            known[key] = np.interp(now, time[finite], columns[key][finite])
    q, qd, feedforward = (
        np.nan_to_num(joint_side(known, sources, joints, quantity, log_map, _SET_POINT))
        for quantity in (POSITION, VELOCITY, EFFORT)
    )
    _check_couplings(joints, log_map)
    laws = [log_map.control[joint] for joint in joints]
    for k, law in enumerate(laws):
        if law.follows and VELOCITY not in law.columns:
            qd[:, k] = np.gradient(q[:, k], log.time)
    kp, kd, limit = (np.array([getattr(law, name) for law in laws]) for name in ("kp", "kd", "limit"))
    return log.with_control(Control(q, qd, feedforward, kp, kd, limit))


def _check_couplings(joints: Sequence[str], log_map: LogMap) -> None:
    """Refuse coupled joints whose set points have different quantities."""
    for coupling in log_map.couplings:
        quantities = {
            tuple(sorted(log_map.control[joint].columns))
            for joint in coupling.joints
            if joint in joints and joint in log_map.control
        }
        if len(quantities) > 1:
            raise DynError("control-coupling-incomplete", joints=coupling.joints)
