# SPDX-License-Identifier: Apache-2.0
"""Listing of a Lagrange form as text or LaTeX, and the customised form (SYMORO+ 2003, sec. 3.5.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, count

from dyn_core.codegen.straight_line import ARITHMETIC, FUNCTIONS, Dialect, operand
from dyn_core.core.errors import listed
from dyn_core.lagrange.named_robot import named_robot
from dyn_core.robot.robot import Robot, parameter_unit
from dyn_core.symbolic.expression_graph import Expr, Graph, Op, needed
from dyn_core.symbolic.scalar import Scalar

# Names and numbers in LaTeX

_NAME = re.compile(r"([A-Za-z]+?)([0-9]*)")


def latex_name(name: str) -> str:
    r"""Return the LaTeX of a symbol: ``q_{2}`` of q2, ``\mathit{MX}_{2}`` of MX2, ``\theta_{2}`` of th2."""
    found = _NAME.fullmatch(name)
    assert found is not None, "symbols are letters with a number"
    letters, number = found.groups()
    stem = r"\theta" if letters == "th" else letters if len(letters) == 1 else rf"\mathit{{{letters}}}"
    return f"{stem}_{{{number}}}" if number else stem


def latex_expression(text: str) -> str:
    """Return the LaTeX of a polynomial in Python syntax, such as ``ZZ1 + d2**2*M2``."""
    text = re.sub(r"[A-Za-z]+[0-9]*", lambda found: latex_name(found.group()), text)
    return re.sub(r"\*\*([0-9]+)", r"^{\1}", text).replace("*", r" \, ")


def latex_number(value: float) -> str:
    """Return the LaTeX of a number, in parentheses if it is negative."""
    digits, _, exponent = f"{abs(value):.6g}".partition("e")
    text = rf"{digits} \cdot 10^{{{int(exponent)}}}" if exponent else digits
    return f"(-{text})" if value < 0.0 else text


# Line breaks in LaTeX

WIDTH = 60
"""Printed characters of a line, about the width of the text of an article on A4 paper."""

_OPERATOR = re.compile(r" [+-] ")
_FUNCTION = re.compile(r"\\[a-z]+(\^\{[0-9]+\})?$")
_NOT_PRINTED = re.compile(r"\\(mathit|frac)|[\\{}_^ ]")


def latex_lines(text: str) -> list[str]:
    """Break an expression into lines before its terms.

    A term that is longer than a line is also broken within its sums in parentheses, but not within arguments
    of functions and fractions.
    """
    lines, line = [], ""
    for term in _parts(text, within=False):
        for part in [term] if _printed(term) <= WIDTH else _parts(term, within=True):
            if line and _printed(line + part) > WIDTH:
                lines.append(line)
                line = part.lstrip()
            else:
                line += part
    return [*lines, line]


def _parts(text: str, within: bool) -> Iterator[str]:
    """Yield the terms, each with the operator before it."""
    start, closed = 0, [False]
    for at, character in enumerate(text):
        if character in "({":
            is_sum = character == "(" and not _FUNCTION.search(text, max(0, at - 12), at)
            closed.append(closed[-1] or not (within and is_sum))
        elif character in ")}":
            closed.pop()
        elif not closed[-1] and at > start and _OPERATOR.match(text, at):
            yield text[start:at]
            start = at
    yield text[start:]


def _printed(text: str) -> int:
    return len(_NOT_PRINTED.sub("", text.replace(r"\theta", "t")))


# Listings

Rows = Sequence[Sequence[str]]
Pairs = tuple[tuple[str, str], ...]
"""Names with their expressions."""

MEANING = (
    "A is symmetric; B(i,j,k) is for qd_j qd_k in torque i, C(i,j) for qd_j^2; entries not listed are 0."
)


@dataclass(frozen=True)
class Listing:
    """The Lagrange form as text, with one expression for each entry.

    Attributes:
        coordinates: numbers of the joints of the rows.
        definitions: pairs of a symbol and its expression.
        values: values of lengths (m), parameters and gravity by symbol (SI units).
        statements: pairs of an intermediate variable and its expression, in order; none in the expanded form.
        A: inertia matrix, n rows of n entries.
        B: coefficients of the products of two velocities, n rows of n (n - 1) / 2 entries.
        C: coefficients of the squares of velocities, n rows of n entries.
        Q: n gravity torques.
    """

    coordinates: tuple[int, ...]
    definitions: Pairs
    values: Mapping[str, float]
    statements: Pairs
    A: Rows
    B: Rows
    C: Rows
    Q: Sequence[str]

    def entries(self) -> Iterator[tuple[str, tuple[int, ...], str]]:
        """Return matrix, joints and text of the entries that are not 0; of A only the upper triangle.

        The joints of B(i,j,k) are the joint of the torque and those of the two velocities.
        """
        each, pairs = [(j,) for j in self.coordinates], list(combinations(self.coordinates, 2))
        tables = (("A", self.A, each), ("B", self.B, pairs), ("C", self.C, each), ("Q", zip(self.Q), [()]))
        for matrix, rows, columns in tables:
            for i, row in zip(self.coordinates, rows, strict=True):
                for joints, text in zip(columns, row, strict=True):
                    if text != "0" and (matrix != "A" or (i,) <= joints):
                        yield matrix, (i, *joints), text


def written_definitions(definitions: Pairs, latex: bool) -> Pairs:
    """Return definitions as text or LaTeX."""
    if not latex:
        return definitions
    return tuple((latex_name(name), latex_expression(text)) for name, text in definitions)


def unit_of(symbol: str, robot: Robot) -> str:
    """Return the unit of a value of a listing."""
    letters = symbol.rstrip("0123456789")
    if letters == "g":
        return "m/s^2"
    if letters in ("b", "d", "r"):
        return "m"
    return parameter_unit(f"{letters.removesuffix('R')}{symbol[len(letters) :]}", robot)


def listing_text(listing: Listing, robot: Robot) -> str:
    """Return a listing as lines of text."""
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
    """Return a listing of LaTeX expressions as an environment ``align*``, after comments on the symbols."""
    comments = (*_heading(robot), *_positions(listing, robot), *_values(listing, robot), MEANING)
    equations = [*listing.definitions, *listing.statements]
    equations += ((f"{matrix}_{{{','.join(map(str, at))}}}", text) for matrix, at, text in listing.entries())
    # The last line has no line end, because that would add an empty line.
    *lines, last = [line for name, text in equations for line in _equation(name, text)] or [""]
    inside = filter(None, [*(rf"{line} \\" for line in lines), last])
    return "\n".join([*(f"% {line}" for line in comments), r"\begin{align*}", *inside, r"\end{align*}"])


def _equation(name: str, text: str) -> list[str]:
    """Return the lines of an equation of ``align*``; continuation lines are indented."""
    first, *others = latex_lines(text)
    return [f"  {name} &= {first}", *(rf"  &\quad {line}" for line in others)]


def _heading(robot: Robot) -> list[str]:
    """Return the lines that explain the matrices and the torques of springs."""
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


# Customised form: intermediate variables of one operation each (SYMORO+ 2003, sec. 3.5.1)

TEXT = Dialect({key: text.replace(" * ", "*") for key, text in (ARITHMETIC | FUNCTIONS).items()})
LATEX = Dialect(
    {
        **ARITHMETIC,
        Op.MUL: r"{0} \, {1}",
        Op.DIV: r"\frac{{{0}}}{{{1}}}",
        Op.SIN: r"\sin {0}",
        Op.COS: r"\cos {0}",
        Op.SQRT: r"\sqrt{{{0}}}",
    },
    number=latex_number,
)


def customised_listing(robot: Robot, grouped: bool, numbers: bool, latex: bool) -> Listing:
    """Return the Lagrange form of a tree in customised form.

    `grouped` replaces standard parameters by base parameters; with `numbers` only positions are symbols.
    """
    named = named_robot(robot, Graph().input, grouped, numbers)
    matrices = named.lagrange_matrices()
    nodes = needed(value for rows in matrices for row in rows for value in row)
    statements, names = _named_statements(nodes, latex)
    named = named.used({node.name for node in nodes if node.op is Op.INPUT})
    dialect = LATEX if latex else TEXT

    def entry(value: Scalar) -> str:
        return "0" if isinstance(value, float) and value == 0.0 else operand(value, dialect, names)

    A, B, C, Q = ([[entry(value) for value in row] for row in rows] for rows in matrices)
    definitions = written_definitions(named.definitions, latex)
    return Listing(robot.coordinates, definitions, named.values, statements, A, B, C, [row[0] for row in Q])


def _named_statements(nodes: Sequence[Expr], latex: bool) -> tuple[Pairs, dict[int, str]]:
    """Return the statements of nodes, and the names of their results by the numbers of the nodes."""
    dialect = LATEX if latex else TEXT
    made: list[tuple[str, str]] = []
    names: dict[int, str] = {}
    numbers = count(1)
    for node in nodes:
        if node.op is Op.CONSTANT:
            continue
        name = node.name if node.op is Op.INPUT else _sine_name(node) or f"t{next(numbers)}"
        name = latex_name(name) if latex else name
        if node.op is not Op.INPUT:
            arguments = (operand(argument, dialect, names) for argument in node.args)
            made.append((name, dialect.formats[node.op].format(*arguments)))
        names[node.number] = name
    return tuple(made), names


def _sine_name(node: Expr) -> str:
    """Return ``S2`` or ``C2`` for the sine or cosine of an angle that has a name; empty for another node."""
    if node.op not in (Op.SIN, Op.COS) or node.args[0].op is not Op.INPUT:
        return ""
    angle = node.args[0].name
    return f"{'S' if node.op is Op.SIN else 'C'}{angle.lstrip('qth')}"
