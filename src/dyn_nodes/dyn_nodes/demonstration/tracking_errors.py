# SPDX-License-Identifier: Apache-2.0
"""Tracking errors of all runs, compared with one of them, as data and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_core import Robot
from dyn_core.control.trajectories.piecewise_polynomials import TrackingError, together, tracking_error
from dyn_core.core.arrays import Array
from dyn_nodes.demonstration.recording import Recording

SHOWN_UNITS = {"rad": "mrad", "m": "mm"}
"""Display units of errors, by unit of the position: a thousandth of it."""


@dataclass(frozen=True, eq=False)
class Result:
    """Errors of one run."""

    title: str  # name of the control
    error: TrackingError  # of each joint (rad or m)
    factors: Array  # RMS error of the baseline over that of this run, by joint
    overall: Mapping[str, float]  # RMS error of all joints of one unit together, by unit (rad or m)
    overall_factors: Mapping[str, float]  # the same factors for these

    @property
    def factor(self) -> float:
        """Smallest of the overall factors."""
        return min(self.overall_factors.values())


def results(robot: Robot, recordings: Sequence[Recording], baseline: int) -> tuple[Result, ...]:
    """Compare runs with the one of number `baseline`."""
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
            _ratio(errors[baseline].rms, error.rms),
            both,
            {unit: float(_ratio(overall[baseline][unit], rms)) for unit, rms in both.items()},
        )
        for recording, error, both in zip(recordings, errors, overall, strict=True)
    )


def _ratio(first: Any, other: Any) -> Any:
    """Return first / other, infinite where there is no error at all."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(other) > 0.0, np.divide(first, other), np.inf)


NO_CHANGE = 1.05
"""Factor below which errors count as the same."""


def compared(factor: float, times: str = " x") -> str:
    """Return in words how an error compares with that of the baseline, which is `factor` times as large."""
    if factor >= NO_CHANGE:
        return f"{_short(factor)}{times} smaller"
    if factor * NO_CHANGE > 1.0:
        return "not smaller"
    return f"{_short(1.0 / factor)}{times} larger" if factor > 0.0 else "larger"


def _short(factor: float) -> str:
    return f"{factor:.0f}" if factor >= 100.0 else f"{factor:.1f}"


def headline(found: Sequence[Result], baseline: int) -> str:
    """Return the main result: the first run after the baseline, compared with it."""
    first, result = found[baseline], found[baseline + 1]
    least = min(result.factors.tolist())
    return (
        f"{result.title}: RMS error {compared(result.factor)} than {first.title}; "
        f"the joint with the least: {compared(least)}"
    )


def as_data(robot: Robot, found: Sequence[Result]) -> dict[str, Any]:
    """Return the results for a JSON file, in SI units."""
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
    """Return None for infinity, which JSON does not have."""
    return value if np.isfinite(value) else None


_WIDTH, _WORDS = 9, 15
_TOGETHER = "all joints"


def error_table(robot: Robot, found: Sequence[Result], baseline: int) -> str:
    """Return a line for each joint, and for all joints of one unit together, with columns for each run."""
    width = max(len(_TOGETHER), *(len(name) for name in robot.coordinate_names))
    lines = [*_head(found, width, baseline)]
    for j, joint in enumerate(robot.independent_joints):
        cells = (
            _cells(k > baseline, r.error.rms[j], r.error.greatest[j], r.factors[j])
            for k, r in enumerate(found)
        )
        lines.append(f"{joint.name:{width}}  {SHOWN_UNITS[joint.position_unit]:4}{''.join(cells)}")
    for unit in found[0].overall:
        cells = (
            _cells(k > baseline, r.overall[unit], None, r.overall_factors[unit]) for k, r in enumerate(found)
        )
        lines.append(f"{_TOGETHER:{width}}  {SHOWN_UNITS[unit]:4}{''.join(cells)}")
    return "\n".join(line.rstrip() for line in lines)


def _head(found: Sequence[Result], width: int, baseline: int) -> Iterator[str]:
    margin = " " * (width + 6)
    titles = [result.title.partition(", ") for result in found]
    widths = [len(_cells(k > baseline, 0.0, 0.0, 1.0)) - 3 for k in range(len(found))]
    for words in ([first + comma.strip() for first, comma, _ in titles], [rest for *_, rest in titles]):
        yield margin + "".join(f"   {text:{width}}" for text, width in zip(words, widths, strict=True))
    yield margin + "".join(_row(k > baseline, "RMS", "largest", "RMS is") for k in range(len(found)))


def _cells(is_compared: bool, rms: float, greatest: float | None, factor: float) -> str:
    largest = "" if greatest is None else f"{1e3 * greatest:.3f}"
    return _row(is_compared, f"{1e3 * rms:.3f}", largest, compared(factor))


def _row(is_compared: bool, rms: str, largest: str, words: str) -> str:
    """Return the cells of one run."""
    last = f"{words:>{_WORDS}}" if is_compared else ""
    return f"{rms:>{_WIDTH}}{largest:>{_WIDTH}}{last}"
