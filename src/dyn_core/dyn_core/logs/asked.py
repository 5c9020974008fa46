# SPDX-License-Identifier: Apache-2.0
"""What was asked of the joints while a log was made, from the columns that a map names under ``control``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.logs.control import Control
from dyn_core.logs.log import Log
from dyn_core.logs.mapping.assignment import Source, source_of
from dyn_core.logs.mapping.joint_side import coupled, drive_side
from dyn_core.logs.mapping.log_map import JointMap, LogMap
from dyn_core.logs.stream import Recording
from dyn_core.logs.units import EFFORT, POSITION, VELOCITY

_ASKED = "asked "


def asked_sources(recording: Recording, said: LogMap) -> dict[tuple[str, str], Source]:
    """Answer where the columns are, by joint and quantity that was asked for."""
    return {
        (joint, f"{_ASKED}{quantity}"): source_of(recording, column, joint, quantity, said)
        for joint, control in said.control.items()
        for quantity, column in control.columns.items()
    }


def with_control(
    log: Log,
    said: LogMap,
    sources: Mapping[tuple[str, str], Source],
    time: Array,
    columns: Mapping[tuple[str, str], Array],
) -> Log:
    """Answer the log with what was asked of its joints.

    Args:
        log: the log.
        said: what the user says.
        sources: of `asked_sources`.
        time: times of the columns, as `Log.start` counts them (s), (N,).
        columns: the values of the sources.

    Raises:
        DynError: a joint is missing, or a column has no values.
    """
    if not said.control:
        return log
    missing = [joint for joint in log.joint_names if joint not in said.control]
    if missing:
        raise DynError(
            f"control: {listed(missing, 12)} is missing: name what was asked of each joint, and its gains"
        )
    now = log.start + log.time

    def asked(quantity: str) -> Array:
        """The columns of a quantity, 0 where there is none."""
        found = np.zeros((len(now), len(log.joint_names)))
        sides: dict[str, str | None] = {}
        for k, joint in enumerate(log.joint_names):
            key = joint, f"{_ASKED}{quantity}"
            if key in sources:
                drive = said.joints.get(joint, JointMap())
                values = drive_side(columns[key], joint, quantity, sources[key], drive)
                found[:, k] = _known(joint, quantity, now, time, values)
                sides[joint] = sources[key].said.side
        return coupled(found, log.joint_names, quantity, said.couplings, sides)

    q, qd, feedforward = asked(POSITION), asked(VELOCITY), asked(EFFORT)
    _check_together(log.joint_names, said)
    for k, joint in enumerate(log.joint_names):
        if said.control[joint].follows and VELOCITY not in said.control[joint].columns:
            qd[:, k] = np.gradient(q[:, k], log.time)
    of_joints = [said.control[joint] for joint in log.joint_names]
    kp, kd, limit = (
        np.array([getattr(control, name) for control in of_joints]) for name in ("kp", "kd", "limit")
    )
    return log.with_control(Control(q, qd, feedforward, kp, kd, limit))


def _known(joint: str, quantity: str, now: Array, time: Array, values: Array) -> Array:
    finite = np.isfinite(values)
    if not finite.any():
        raise DynError(f"control, joint '{joint}': the column of its {quantity} has no values")
    return np.interp(now, time[finite], values[finite])


def _check_together(joints: Sequence[str], said: LogMap) -> None:
    """Refuse joints that motors move together of which not the same was asked."""
    for coupling in said.couplings:
        kinds = {
            tuple(sorted(said.control[joint].columns))
            for joint in coupling.joints
            if joint in joints and joint in said.control
        }
        if len(kinds) > 1:
            raise DynError(
                f"control: {listed(coupling.joints)} are coupled: name the same quantities of all of them"
            )
