# SPDX-License-Identifier: Apache-2.0
"""The table of the geometric parameters, as text (SYMORO+ 2003, tables 1.1 to 1.6).

After the n joints of the tree come the frames k = n+1, ... of the cut joints, with their variables, and then,
in the same order, their frames k+B, which do not move (tables 1.3 and 1.4).
"""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.robot.joints import CutFrame, Joint, Loop, LoopType, MdhParameters, Sigma
from dyn_core.symbolic.scalar import QUARTER

HEADER = ("j", "a(j)", "joint", "mu", "sigma", "gamma", "b", "alpha", "d", "theta", "r")
SPRINGS = ("j", "elastic joint", "stiffness", "rest", "damping", "motor", "gear")
QUARTERS = {0: "0", 1: "Pi/2", -1: "-Pi/2", 2: "Pi", -2: "-Pi"}
_SHOWN = 1e-12  # distance from a multiple of pi/2 (rad), or from 0 (m), that is not shown
FIXED = 2
"""Sigma of a frame that does not move."""

SIGMA = {LoopType.REVOLUTE: 0, LoopType.PRISMATIC: 1, LoopType.FIXED: FIXED}
"""Sigma of the cut joints that have one; others have more than one variable."""

_TURNS = (LoopType.REVOLUTE, LoopType.CYLINDRICAL, LoopType.UNIVERSAL, LoopType.PLANAR)
_SLIDES = (LoopType.PRISMATIC, LoopType.CYLINDRICAL)


def mdh_table(joints: Sequence[Joint], loops: Sequence[Loop] = ()) -> str:
    """Return the table, one line a frame: angles in rad, lengths in m."""
    lines = _lines(
        [HEADER, *(_row(j, joints) for j in range(1, len(joints) + 1)), *_cut_rows(len(joints), loops)]
    )
    springs = []
    for j, joint in enumerate(joints, start=1):
        spring = joint.elastic
        if spring is not None:
            values = (spring.stiffness, spring.rest, spring.damping)
            motor = (str(spring.motor), f"{spring.gear:.6g}" if spring.motor else "-")
            springs.append((str(j), joint.name, *(f"{value:.6g}" for value in values), *motor))
    return "\n".join([*lines, *(["", *_lines([SPRINGS, *springs])] if springs else [])])


def _lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = (map(str.ljust, row, widths) for row in rows)
    return ["  ".join(cells).rstrip() for cells in padded]


def _row(j: int, joints: Sequence[Joint]) -> tuple[str, ...]:
    joint = joints[j - 1]
    mdh = joint.mdh
    theta, r = angle_text(mdh.theta), length_text(mdh.r)
    offset = joint.mimic.offset if joint.mimic else 0.0
    if joint.sigma is Sigma.REVOLUTE:
        theta = _sum(position_text(j, joints), angle_text(mdh.theta + offset))
    else:
        r = _sum(position_text(j, joints), length_text(mdh.r + offset))
    return _cells(j, joint.antecedent, joint.name, joint.mu, str(int(joint.sigma)), mdh, theta, r)


def _cut_rows(n: int, loops: Sequence[Loop]) -> list[tuple[str, ...]]:
    """Return the rows of the frames k of all cut joints, then of the frames k+B."""
    moving, fixed = [], []
    for k, loop in enumerate(loops, start=n + 1):
        if loop.frames is None:
            continue
        frame, other = loop.frames
        theta = f"t{k}" if loop.type in _TURNS else angle_text(frame.mdh.theta)
        r = f"R{k}" if loop.type in _SLIDES else length_text(frame.mdh.r)
        moving.append(_cut_row(k, frame, loop, str(SIGMA.get(loop.type, "-")), theta, r))
        constant = (angle_text(other.mdh.theta), length_text(other.mdh.r))
        fixed.append(_cut_row(k + len(loops), other, loop, str(FIXED), *constant))
    return moving + fixed


def _cut_row(j: int, frame: CutFrame, loop: Loop, sigma: str, theta: str, r: str) -> tuple[str, ...]:
    return _cells(j, frame.antecedent, f"{loop.name} ({loop.type.value})", 0, sigma, frame.mdh, theta, r)


def _cells(
    j: int, antecedent: int, name: str, mu: int, sigma: str, mdh: MdhParameters, theta: str, r: str
) -> tuple[str, ...]:
    constant = (angle_text(mdh.gamma), length_text(mdh.b), angle_text(mdh.alpha), length_text(mdh.d))
    return (str(j), str(antecedent), name, str(mu), sigma, *constant, theta, r)


def angle_text(angle: float) -> str:
    """Return an angle (rad) as text, multiples of pi/2 in terms of ``Pi``."""
    k = round(angle / QUARTER)
    if k in QUARTERS and abs(angle - k * QUARTER) < _SHOWN:
        return QUARTERS[k]
    return f"{angle:.6g}"


def length_text(length: float) -> str:
    """Return a length (m) as text."""
    return "0" if abs(length) < _SHOWN else f"{length:.6g}"


def position_text(j: int, joints: Sequence[Joint]) -> str:
    """Return the variable part of the position of joint j: ``t2``, ``R3``, ``-0.5*t1``, or an empty text."""
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
