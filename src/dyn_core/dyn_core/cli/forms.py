# SPDX-License-Identifier: Apache-2.0
"""``dyn counts --forms``: operations of the formulations that the literature compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dyn_core.formulations.chain import chain_of
from dyn_core.formulations.operation_counts import FORMS, PRODUCTION, Count, Operations, counted
from dyn_core.representations.growth import polynomial, slope
from dyn_core.robot.robot import Robot

JOINTS = range(1, 13)
REGULAR = 4  # joints from which on one joint more adds what the next one adds, or a multiple of it

Table = Mapping[str, Mapping[str, Sequence[Count]]]


def table_of_forms(robot: Robot) -> Table:
    """Count all formulations, by what they compute and by name, for 1 to 12 joints.

    Raises:
        DynError: the robot has branches, no joints, or grouped parameters.
    """
    chain_of(robot)
    return {
        what: {name: [counted(what, name, n, robot) for n in JOINTS] for name in (*forms, *PRODUCTION[what])}
        for what, forms in FORMS.items()
    }


def as_mapping(table: Table) -> dict[str, object]:
    """Answer the table for JSON: ``[multiplications, additions]`` for each number of joints."""
    return {
        what: {
            name: {
                field: [None if x is None else list(x) for x in column]
                for field, column in zip(Count._fields, zip(*counts, strict=True), strict=True)
            }
            for name, counts in forms.items()
        }
        for what, forms in table.items()
    }


def as_text(robot: Robot, table: Table) -> str:
    """Answer the table for readers: multiplications and additions together, and how they grow."""
    parts = []
    titles = ("as written", "traced, all constants symbols", f"traced, '{robot.name}'")
    for what, forms in table.items():
        for title, column in zip(titles, range(len(titles)), strict=True):
            rows = {name: [count[column] for count in counts] for name, counts in forms.items()}
            parts.append(_part(f"{what}, {title}", rows))
    return "\n\n".join(parts)


def _part(title: str, rows: Mapping[str, Sequence[Operations | None]]) -> str:
    width = max(map(len, rows))
    lines = [title, f"{'joints':<{width}}" + "".join(f"{n:>8}" for n in JOINTS) + "  growth"]
    for name, operations in rows.items():
        totals = [x.total for x in operations if x is not None]
        if totals:
            cells = "".join(f"{total:>8}" for total in totals)
            lines.append(f"{name:<{width}}{cells}  {growth(totals)}")
    return "\n".join(lines)


def growth(totals: Sequence[int]) -> str:
    """Answer the first term of the polynomial, or else the exponent from 6 to 12 joints."""
    found = polynomial(totals[REGULAR - 1 :])
    if found is None:
        return f"n^{slope(totals[5], totals[11]):.2f}"
    power = "n" if found.degree == 1 else f"n^{found.degree}"
    return f"{power} / 3" if abs(3.0 * found.leading - 1.0) < 1e-9 else f"{found.leading:.4g} {power}"
