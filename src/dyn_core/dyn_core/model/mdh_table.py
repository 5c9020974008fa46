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
    rows = [HEADER] + [_row(j, joints) for j in range(1, len(joints) + 1)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADER))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(j: int, joints: Sequence[Joint]) -> tuple[str, ...]:
    joint = joints[j - 1]
    mdh = joint.mdh
    theta, r = angle_text(mdh.theta), length_text(mdh.r)
    offset = joint.mimic.offset if joint.mimic else 0.0
    if joint.sigma is Sigma.REVOLUTE:
        theta = _sum(position_text(j, joints), angle_text(mdh.theta + offset))
    else:
        r = _sum(position_text(j, joints), length_text(mdh.r + offset))
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


def position_text(j: int, joints: Sequence[Joint]) -> str:
    """Answer what varies in the position of joint j: ``t2``, ``R3``, ``-0.5*t1``; empty for none."""
    mimic = joints[j - 1].mimic
    leader, multiplier = (mimic.leader, mimic.multiplier) if mimic else (j, 1.0)
    if leader == 0:
        return ""
    symbol = f"{'t' if joints[leader - 1].sigma is Sigma.REVOLUTE else 'R'}{leader}"
    return {1.0: symbol, -1.0: f"-{symbol}"}.get(multiplier, f"{multiplier:.6g}*{symbol}")


def _sum(symbol: str, offset: str) -> str:
    if offset == "0" or not symbol:
        return symbol or offset
    return f"{symbol} - {offset[1:]}" if offset.startswith("-") else f"{symbol} + {offset}"
