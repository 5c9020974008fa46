# SPDX-License-Identifier: Apache-2.0
"""The tracking errors of all runs, and by how much they are smaller than those of the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_core import Robot
from dyn_core.control.tracking_error import TrackingError, together, tracking_error
from dyn_nodes.demonstration.recording import Array, Recording

SHOWN_UNITS = {"rad": "mrad", "m": "mm"}
"""Units in which errors are shown, by unit of the position: a thousandth of it."""


@dataclass(frozen=True, eq=False)
class Result:
    """Errors of one run.

    Attributes:
        title: how the robot was controlled.
        error: of each joint (rad or m).
        factors: RMS error of the first run over that of this one, by joint.
        overall: RMS error of all joints of one unit together, by unit (rad or m).
        overall_factors: the same for these.
    """

    title: str
    error: TrackingError
    factors: Array
    overall: Mapping[str, float]
    overall_factors: Mapping[str, float]

    @property
    def factor(self) -> float:
        """Least of the overall factors."""
        return min(self.overall_factors.values())


def results(robot: Robot, recordings: Sequence[Recording]) -> tuple[Result, ...]:
    """Compare runs with the first of them."""
    units = [joint.position_unit for joint in robot.independent_joints]
    errors = [tracking_error(recording.desired, recording.measured) for recording in recordings]
    overall = [
        {unit: together(error.rms[[u == unit for u in units]]) for unit in dict.fromkeys(units)}
        for error in errors
    ]
    return tuple(
        Result(
            recording.title,
            error,
            _ratio(errors[0].rms, error.rms),
            both,
            {unit: float(_ratio(overall[0][unit], rms)) for unit, rms in both.items()},
        )
        for recording, error, both in zip(recordings, errors, overall, strict=True)
    )


def _ratio(first: Any, other: Any) -> Any:
    """Answer first / other, infinite where there is no error at all."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(other) > 0.0, np.divide(first, other), np.inf)


def as_data(robot: Robot, found: Sequence[Result]) -> dict[str, Any]:
    """Answer the same for a JSON file, in SI units."""
    return {
        "joint_names": list(robot.coordinate_names),
        "position_units": [joint.position_unit for joint in robot.independent_joints],
        "runs": [
            {
                "title": result.title,
                "rms_error": result.error.rms.tolist(),
                "largest_error": result.error.greatest.tolist(),
                "factor": [_json_number(x) for x in result.factors.tolist()],
                "overall_rms_error": dict(result.overall),
                "overall_factor": {u: _json_number(x) for u, x in result.overall_factors.items()},
            }
            for result in found
        ],
    }


def _json_number(value: float) -> float | None:
    """JSON knows no infinity."""
    return value if np.isfinite(value) else None
