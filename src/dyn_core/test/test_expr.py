# SPDX-License-Identifier: Apache-2.0
"""Expressions simplify themselves as they are built, and are built once."""

from __future__ import annotations

import math

import pytest

from dyn_core.codegen.python_source import python_source
from dyn_core.codegen.traced_program import Program
from dyn_core.expr.analysis import needed, operation_counts
from dyn_core.symbolic.expression_graph import Expr, Graph, Op
from dyn_core.symbolic.scalar import larger, sign


@pytest.fixture
def xyz() -> tuple[Expr, Expr, Expr]:
    graph = Graph()
    return graph.input("x"), graph.input("y"), graph.input("z")


def test_what_changes_nothing_is_dropped(xyz) -> None:
    x, y, _ = xyz
    for same in (x + 0.0, 0.0 + x, x - 0.0, x * 1.0, 1 * x, x / 1.0, (x + y) - 0):
        assert same in (x, x + y)
    for zero in (x * 0.0, 0 * x, x - x, 0.0 / x):
        assert zero == 0.0
        assert isinstance(zero, float)
    assert x / x == 1.0
    opposite = -x
    assert -opposite is x


def test_an_expression_exists_once(xyz) -> None:
    x, y, _ = xyz
    assert x * y is y * x
    assert x + y is y + x
    assert (x - y) is -(y - x)
    assert 2.0 * (3.0 * x) is x * 6.0
    assert x.sin() is x.sin()
    assert 0.1 * x is x * 0.1


def test_signs_move_out_of_products_and_into_sums(xyz) -> None:
    x, y, z = xyz
    assert (-x) * y is -(x * y)
    assert (-x) * (-y) is x * y
    assert -2.0 * x is -(2.0 * x)
    assert x + (-y) is x - y
    assert (-x) + y is y - x
    assert x - (-y) is x + y
    assert (-x) - y is -(x + y)
    assert (-x).sin() is -(x.sin())
    assert (-x).cos() is x.cos()
    assert (-x) / y is -(x / y)
    assert abs(-x) is abs(x)
    assert 3.0 - (-z) is z + 3.0


def test_values_are_those_of_the_operations(xyz) -> None:
    x, y, z = xyz
    results = (
        x - y,
        y - x,
        2.0 * x - 3.0 * (y - x),
        -x / y,
        1.0 / z,
        x.sign(),
        z.sqrt(),
        abs(x),
        4.0 - x,
        2.5,
        larger(x, y, z, 0.0),
        larger(1.0, y, x, z),
        larger(z, y, x, x),
    )
    program = Program("f", {"v": xyz}, results, (len(results),), "")
    for node in needed(results):
        if node.op is Op.INPUT:
            node.name = {"x": "v[0]", "y": "v[1]", "z": "v[2]"}[node.name]
    space: dict = {}
    exec(python_source(program), space)
    a, b, c = -1.25, 0.5, 3.0
    functions = {"sin": math.sin, "cos": math.cos, "sqrt": math.sqrt, "sign": sign, "larger": larger}
    expected = [a - b, b - a, 2 * a - 3 * (b - a), -a / b, 1 / c, -1.0, math.sqrt(c), 1.25, 4 - a, 2.5]
    expected += [0.0, a, a]
    assert space["f"]((a, b, c), **functions) == pytest.approx(expected, rel=1e-15)


def test_only_what_is_needed_is_counted_and_changes_of_sign_are_free(xyz) -> None:
    x, y, z = xyz
    unused = x * y * z
    counts = operation_counts([-(x * y), x * y + z, (x * y).sin(), 1.0 / x, z.sqrt(), 3.0])
    assert counts == {"mul": 1, "add": 1, "div": 1, "trig": 1, "sqrt": 1}
    assert unused.number not in {node.number for node in needed([x * y])}


def test_arguments_come_before_what_is_made_of_them(xyz) -> None:
    x, y, z = xyz
    order = needed([(x + y) * z.cos(), z - y * x])
    place = {node: k for k, node in enumerate(order)}
    assert all(place[argument] < place[node] for node in order for argument in node.args)
