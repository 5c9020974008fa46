# SPDX-License-Identifier: Apache-2.0
"""The Lagrange form with intermediate variables, one operation each (SYMORO+ 2003, sec. 3.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from dyn_core.codegen.straight_line import ARITHMETIC, FUNCTIONS, Dialect, operand
from dyn_core.dynamics.coordinate_lagrange import coordinate_lagrange
from dyn_core.expansion.latex_name import latex_expression, latex_name, latex_number
from dyn_core.expr.analysis import needed
from dyn_core.lagrange.listing import Listing
from dyn_core.lagrange.named_robot import named_robot
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Expr, Graph, Op, Symbolic

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
    """Answer the Lagrange form of a tree in customised form.

    Args:
        robot: the robot.
        grouped: whether base parameters take the place of the standard ones.
        numbers: whether parameters, lengths and gravity are numbers.
        latex: whether the text is LaTeX.
    """
    named = named_robot(robot, Graph().input, grouped, numbers)
    form = coordinate_lagrange(named.robot, named.q)
    n = range(robot.dof)
    B = [[2.0 * form.christoffel[i][j][k] for j, k in combinations(n, 2)] for i in n]
    C = [[form.christoffel[i][j][j] for j in n] for i in n]
    nodes = needed(value for rows in (form.A, B, C, [form.Q]) for row in rows for value in row)
    written = _Writing(nodes, latex)
    named = named.used({node.name for node in nodes if node.op is Op.INPUT})
    return Listing(
        robot.coordinates,
        tuple(
            (latex_name(name), latex_expression(text)) if latex else (name, text)
            for name, text in named.definitions
        ),
        named.values,
        tuple(written.statements),
        written.rows(form.A),
        written.rows(B),
        written.rows(C),
        written.rows([form.Q])[0],
    )


class _Writing:
    """The statements of some nodes, and what results are called."""

    def __init__(self, nodes: Sequence[Expr], latex: bool) -> None:
        self.statements: list[tuple[str, str]] = []
        self._dialect = LATEX if latex else TEXT
        self._names: dict[int, str] = {}
        count = 0
        for node in nodes:
            if node.op is Op.CONSTANT:
                continue
            name = node.name
            if node.op is not Op.INPUT:
                name = _sine_name(node)
                if not name:
                    count += 1
                    name = f"t{count}"
                arguments = (operand(argument, self._dialect, self._names) for argument in node.args)
                text = self._dialect.formats[node.op].format(*arguments)
                self.statements.append((latex_name(name) if latex else name, text))
            self._names[node.number] = latex_name(name) if latex else name

    def rows(self, matrix: Sequence[Sequence[Symbolic]]) -> list[list[str]]:
        """Answer the entries of a matrix as names and numbers."""
        return [[self._entry(value) for value in row] for row in matrix]

    def _entry(self, value: Symbolic) -> str:
        if isinstance(value, float) and value == 0.0:
            return "0"
        return operand(value, self._dialect, self._names)


def _sine_name(node: Expr) -> str:
    """Answer ``S2`` or ``C2`` for the sine or cosine of an angle that has a name; empty for another node."""
    if node.op not in (Op.SIN, Op.COS) or node.args[0].op is not Op.INPUT:
        return ""
    angle = node.args[0].name
    return f"{'S' if node.op is Op.SIN else 'C'}{angle.lstrip('qth')}"
