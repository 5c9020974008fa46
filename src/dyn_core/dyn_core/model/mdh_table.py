# SPDX-License-Identifier: Apache-2.0
"""The table of the geometric parameters, as text (SYMORO+ 2003, tables 1.1 to 1.6)."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.linalg.angle import QUARTER
from dyn_core.model.joint import Joint, Sigma

HEADER = ("j", "a(j)", "joint", "mu", "sigma", "gamma", "b", "alpha", "d", "theta", "r")
_QUARTERS = {0: "0", 1: "Pi/2", -1: "-Pi/2", 2: "Pi", -2: "-Pi"}
_SHOWN = 1e-12  # what is nearer to a multiple of pi/2 (rad), or to 0 (m), is shown as that


def mdh_table(joints: Sequence[Joint]) -> str:
    """Answer the table, one line a joint: angles in rad, lengths in m."""
    rows = [HEADER] + [_row(j, joint) for j, joint in enumerate(joints, start=1)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADER))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(j: int, joint: Joint) -> tuple[str, ...]:
    mdh = joint.mdh
    theta, r = angle_text(mdh.theta), length_text(mdh.r)
    if joint.sigma is Sigma.REVOLUTE:
        theta = _variable(f"t{j}", theta)
    else:
        r = _variable(f"R{j}", r)
    return (
        str(j),
        str(joint.antecedent),
        joint.name,
        str(joint.mu),
        str(int(joint.sigma)),
        angle_text(mdh.gamma),
        length_text(mdh.b),
        angle_text(mdh.alpha),
        length_text(mdh.d),
        theta,
        r,
    )


def angle_text(angle: float) -> str:
    """Answer an angle (rad) as text, multiples of pi/2 in terms of ``Pi``."""
    k = round(angle / QUARTER)
    if k in _QUARTERS and abs(angle - k * QUARTER) < _SHOWN:
        return _QUARTERS[k]
    return f"{angle:.6g}"


def length_text(length: float) -> str:
    """Answer a length (m) as text."""
    return "0" if abs(length) < _SHOWN else f"{length:.6g}"


def _variable(symbol: str, offset: str) -> str:
    if offset == "0":
        return symbol
    return f"{symbol} - {offset[1:]}" if offset.startswith("-") else f"{symbol} + {offset}"
