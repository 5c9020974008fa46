# SPDX-License-Identifier: Apache-2.0
"""The Lagrange form of a robot as names and text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dyn_core.core.errors import listed
from dyn_core.expansion.latex_lines import latex_lines
from dyn_core.model.parameter_unit import parameter_unit
from dyn_core.robot.robot import Robot

Rows = Sequence[Sequence[str]]

MEANING = (
    "A is symmetric; B(i,j,k) is for qd_j qd_k in torque i, C(i,j) for qd_j^2; entries not listed are 0."
)


@dataclass(frozen=True)
class Listing:
    """The Lagrange form as text, of which each entry is one expression.

    Attributes:
        coordinates: numbers of the joints that the rows belong to.
        definitions: symbols that stand for expressions, with these.
        values: values of lengths (m), parameters and gravity by symbol (SI units).
        statements: intermediate variables in order, with what each is; none in the expanded form.
        A: inertia matrix, n rows of n.
        B: coefficients of the products of two velocities, n rows of n (n - 1) / 2.
        C: coefficients of the squares of velocities, n rows of n.
        Q: gravity torques, n.
    """

    coordinates: tuple[int, ...]
    definitions: tuple[tuple[str, str], ...]
    values: Mapping[str, float]
    statements: tuple[tuple[str, str], ...]
    A: Rows
    B: Rows
    C: Rows
    Q: Sequence[str]

    def entries(self) -> Iterator[tuple[str, tuple[int, ...], str]]:
        """Answer the entries that are not 0, of A those on and above the diagonal: matrix, joints, text.

        The joints of B(i,j,k) are that of the torque and those of the two velocities.
        """
        found: list[tuple[str, tuple[int, ...], str]] = []
        for at, i in enumerate(self.coordinates):
            found += (
                ("A", (i, j), text) for j, text in zip(self.coordinates, self.A[at], strict=True) if i <= j
            )
        for at, i in enumerate(self.coordinates):
            pairs = combinations(self.coordinates, 2)
            found += (("B", (i, *pair), text) for pair, text in zip(pairs, self.B[at], strict=True))
        for at, i in enumerate(self.coordinates):
            found += (("C", (i, j), text) for j, text in zip(self.coordinates, self.C[at], strict=True))
        found += (("Q", (i,), text) for i, text in zip(self.coordinates, self.Q, strict=True))
        return (entry for entry in found if entry[2] != "0")


def unit_of(symbol: str, robot: Robot) -> str:
    """Answer the unit of a value of a listing."""
    letters = symbol.rstrip("0123456789")
    if letters == "g":
        return "m/s^2"
    if letters in ("b", "d", "r"):
        return "m"
    return parameter_unit(f"{letters.removesuffix('R')}{symbol[len(letters) :]}", robot)


def listing_text(listing: Listing, robot: Robot) -> str:
    """Answer a listing as lines of text."""
    lines = [
        *_heading(robot),
        "",
        *_positions(listing, robot),
        *(f"{name} = {text}" for name, text in listing.definitions),
        *_values(listing, robot),
        "",
        *(f"{name} = {text}" for name, text in listing.statements),
        *([""] if listing.statements else []),
        *(f"{matrix}({','.join(map(str, at))}) = {text}" for matrix, at, text in listing.entries()),
        "",
        MEANING,
    ]
    return "\n".join(lines)


def listing_latex(listing: Listing, robot: Robot) -> str:
    """Answer the expressions of a listing, which are LaTeX already, as an environment ``align*``.

    Comments before it say what the symbols are.
    """
    comments = (*_heading(robot), *_positions(listing, robot), *_values(listing, robot), MEANING)
    equations = [*listing.definitions, *listing.statements]
    equations += ((f"{matrix}_{{{','.join(map(str, at))}}}", text) for matrix, at, text in listing.entries())
    # The last line has no end of a line, which would be an empty one.
    *lines, last = [line for name, text in equations for line in _equation(name, text)] or [""]
    inside = filter(None, [*(rf"{line} \\" for line in lines), last])
    return "\n".join([*(f"% {line}" for line in comments), r"\begin{align*}", *inside, r"\end{align*}"])


def _equation(name: str, text: str) -> list[str]:
    """Answer the lines of an equation of ``align*``, a term that begins another line indented."""
    first, *others = latex_lines(text)
    return [f"  {name} &= {first}", *(rf"  &\quad {line}" for line in others)]


def _heading(robot: Robot) -> list[str]:
    """Answer what the matrices mean, and what springs add."""
    lines = [f"Lagrange form of robot '{robot.name}': tau = A qdd + B [qd qd] + C [qd^2] + Q"]
    if robot.elastic_joint_names:
        lines[0] += " + springs"
        springs = listed(robot.elastic_joint_names)
        lines.append(f"springs of {springs}: K (dq - rest) + D d(dq)/dt, see dyn mdh")
    return lines


def _positions(listing: Listing, robot: Robot) -> list[str]:
    joints = [(f"q{j}", robot.joints[j - 1]) for j in listing.coordinates]
    return [f"{name}: position of joint '{joint.name}' ({joint.position_unit})" for name, joint in joints]


def _values(listing: Listing, robot: Robot) -> list[str]:
    return [f"{name}: {value:.6g} {unit_of(name, robot)}" for name, value in listing.values.items()]
