# SPDX-License-Identifier: Apache-2.0
"""The tracking errors as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyn_core import Robot
from dyn_nodes.demonstration.tracking_errors import SHOWN_UNITS, Result

_WIDTH = 9
_TOGETHER = "all joints"


def error_table(robot: Robot, found: Sequence[Result]) -> str:
    """Answer a line for each joint, and for all joints of one unit together, with columns for each run."""
    width = max(len(_TOGETHER), *(len(name) for name in robot.coordinate_names))
    lines = [*_head(found, width)]
    for j, joint in enumerate(robot.independent_joints):
        cells = (
            _cells(number, r.error.rms[j], r.error.greatest[j], r.factors[j])
            for number, r in _numbered(found)
        )
        lines.append(f"{joint.name:{width}}  {SHOWN_UNITS[joint.position_unit]:4}{''.join(cells)}")
    for unit in found[0].overall:
        cells = (
            _cells(number, r.overall[unit], None, r.overall_factors[unit]) for number, r in _numbered(found)
        )
        lines.append(f"{_TOGETHER:{width}}  {SHOWN_UNITS[unit]:4}{''.join(cells)}")
    return "\n".join(line.rstrip() for line in lines)


def _numbered(found: Sequence[Result]) -> Iterator[tuple[int, Result]]:
    return enumerate(found)


def _head(found: Sequence[Result], width: int) -> Iterator[str]:
    margin = " " * (width + 6)
    titles = [result.title.partition(", ") for result in found]
    for words in ([first + comma.strip() for first, comma, _ in titles], [rest for *_, rest in titles]):
        yield margin + "".join(
            f"   {text:{len(_cells(k, 0.0, 0.0, 0.0)) - 3}}" for k, text in enumerate(words)
        )
    yield margin + "".join(_row(k, "RMS", "largest", "smaller by") for k in range(len(found)))


def _cells(number: int, rms: float, greatest: float | None, factor: float) -> str:
    largest = "" if greatest is None else f"{1e3 * greatest:.3f}"
    return _row(number, f"{1e3 * rms:.3f}", largest, f"{factor:.1f} x")


def _row(number: int, rms: str, largest: str, factor: str) -> str:
    """Answer the cells of one run; the first is compared with nothing."""
    compared = f"{factor:>{_WIDTH + 3}}" if number else ""
    return f"{rms:>{_WIDTH}}{largest:>{_WIDTH}}{compared}"
