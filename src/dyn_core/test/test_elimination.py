# SPDX-License-Identifier: Apache-2.0
"""Symbolic expressions, angles, and linear equations solved by elimination."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from dyn_core.algorithms.loops.block_solver import Block, block_triangular, factorised
from dyn_core.algorithms.loops.continuation import ADVANCE, TANGENT, Scales, follow, newton
from dyn_core.codegen.python_backend import PythonFunction, python_source
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.symbolic.elimination import determinant, inverse, solved
from dyn_core.symbolic.expression_graph import Expr, Graph, Op, needed, operation_counts
from dyn_core.symbolic.scalar import KnownAngle, cos, larger, sign, sin


def program(n: int, zeros=()) -> Program:
    def algorithm(a, b):
        A = [[0.0 if (i, k) in zeros else a[n * i + k] for k in range(n)] for i in range(n)]
        return [row[0] for row in solved(A, [[x] for x in b])]

    return trace("solve", algorithm, {"a": n * n, "b": n}, (n,))


def run(of: Program, A: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.empty(b.shape)
    PythonFunction(lambda: of, of.shape).into(A.reshape(*b.shape[:-1], -1), b, out)
    return out


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7])
def test_determinants_are_those_of_numpy(n: int) -> None:
    """As numbers and as a program, with zeros by structure and columns of few entries."""
    random = np.random.default_rng(n)
    for zeros in (
        {},
        {(0, n - 1)},
        {(i, k) for i in range(1, n) for k in range(n) if (i + k) % 3 == 1 and i != k},
    ):

        def algorithm(a: Sequence[Expr], zeros: set[tuple[int, int]] = zeros) -> list[Expr]:
            A = [[0.0 if (i, k) in zeros else a[n * i + k] for k in range(n)] for i in range(n)]
            return [determinant(A)]

        traced = trace("determinant", algorithm, {"a": n * n}, (1,))
        for _ in range(20):
            A = random.standard_normal((n, n))
            for at in zeros:
                A[at] = 0.0
            expected = pytest.approx(np.linalg.det(A), rel=1e-9, abs=1e-13)
            assert determinant(A.tolist()) == expected
            out = np.empty(1)
            PythonFunction(lambda traced=traced: traced, (1,)).into(A.ravel(), out)
            assert out[0] == expected


def test_the_largest_entry_of_a_full_column_is_the_pivot() -> None:
    x = solved([[1e-20, 1.0], [1.0, 1.0]], [[1.0], [2.0]])
    np.testing.assert_allclose(x, [[1.0], [1.0]], rtol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_solutions_agree_with_numpy(n: int) -> None:
    random = np.random.default_rng(n)
    A, b = random.standard_normal((30, n, n)), random.standard_normal((30, n))
    expected = np.linalg.solve(A, b[..., None])[..., 0]
    np.testing.assert_allclose(run(program(n), A, b), expected, rtol=1e-9)
    for k in range(5):
        np.testing.assert_allclose(run(program(n), A[k], b[k]), expected[k], rtol=1e-9)
        rows = solved(A[k].tolist(), [[x] for x in b[k].tolist()])
        np.testing.assert_allclose([row[0] for row in rows], expected[k], rtol=1e-9)
    np.testing.assert_allclose(inverse(A[0].tolist()), np.linalg.inv(A[0]), rtol=1e-9, atol=1e-12)


def test_zeros_are_not_used_as_pivots_and_cost_nothing() -> None:
    """Values that are 0 or almost 0 at run time, unknown when the program is made."""
    random = np.random.default_rng(1)
    for least in (0.0, 1e-17, 1e-9):
        A, b = random.standard_normal((50, 6, 6)), random.standard_normal((50, 6))
        A[:, range(6), range(6)] = least
        found = run(program(6), A, b)
        residual = np.einsum("nij,nj->ni", A, found) - b
        assert np.max(np.abs(residual)) < 1e-11 * np.max(np.abs(found))

    A = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert not np.all(np.isfinite(run(program(2), A, np.array([1.0, 1.0]))))  # singular
    # (15) of Khalil-Guegan 2004: each equation has one unknown, so its elimination costs nothing.
    counts = program(3, {(0, 0), (0, 2), (1, 1), (1, 2), (2, 0), (2, 1)}).operation_counts
    assert counts == {"mul": 3, "add": 0, "div": 3, "trig": 0, "sqrt": 0}


@pytest.mark.parametrize("offset", [0.0, math.pi / 2, -math.pi, 0.3, 7.0])
def test_a_known_sine_and_cosine_give_the_angle(offset: float) -> None:
    known, angle = KnownAngle(math.cos(0.8), math.sin(0.8), offset), 0.8 + offset
    for found, expected in ((known, angle), (-known, -angle), (known + 0.2, angle + 0.2)):
        assert cos(found) == pytest.approx(math.cos(expected), abs=1e-15)
        assert sin(found) == pytest.approx(math.sin(expected), abs=1e-15)

    def cancelled(v):
        found = KnownAngle(v[0], v[1], offset) + (-offset + math.pi / 2)
        return [cos(found), sin(found)]

    assert sum(trace("angle", cancelled, {"v": 2}, (2,)).operation_counts.values()) == 0


# Expressions are simplified when they are built, and equal expressions are built only once.


@pytest.fixture
def xyz() -> tuple[Expr, Expr, Expr]:
    graph = Graph()
    return graph.input("x"), graph.input("y"), graph.input("z")


def test_operations_without_effect_are_dropped(xyz) -> None:
    x, y, _ = xyz
    for same in (x + 0.0, 0.0 + x, x - 0.0, x * 1.0, 1 * x, x / 1.0, (x + y) - 0):
        assert same in (x, x + y)
    for zero in (x * 0.0, 0 * x, x - x, 0.0 / x):
        assert (zero, type(zero)) == (0.0, float)
    assert x / x == 1.0


def test_equal_expressions_are_one_object_with_signs_outside_products_and_inside_sums(xyz) -> None:
    x, y, z = xyz
    opposite = -x
    pairs = (
        *((x * y, y * x), (x + y, y + x), (x - y, -(y - x)), (2.0 * (3.0 * x), x * 6.0)),
        *((x.sin(), x.sin()), (0.1 * x, x * 0.1), (-opposite, x)),
        *(((-x) * y, -(x * y)), ((-x) * (-y), x * y), (-2.0 * x, -(2.0 * x)), (x + (-y), x - y)),
        *(((-x) + y, y - x), (x - (-y), x + y), ((-x) - y, -(x + y)), ((-x).sin(), -(x.sin()))),
        *(((-x).cos(), x.cos()), ((-x) / y, -(x / y)), (abs(-x), abs(x)), (3.0 - (-z), z + 3.0)),
    )
    for number, (one, same) in enumerate(pairs):
        assert one is same, number


def test_values_agree_with_the_operations(xyz) -> None:
    x, y, z = xyz
    results = (
        *(x - y, y - x, 2.0 * x - 3.0 * (y - x), -x / y, 1.0 / z, x.sign(), z.sqrt(), abs(x), 4.0 - x, 2.5),
        *(larger(x, y, z, 0.0), larger(1.0, y, x, z), larger(z, y, x, x)),
    )
    program = Program("f", {"v": xyz}, results, (len(results),), "")
    for node in needed(results):
        if node.op is Op.INPUT:
            node.name = {"x": "v[0]", "y": "v[1]", "z": "v[2]"}[node.name]
    space: dict = {"sin": math.sin, "cos": math.cos, "sqrt": math.sqrt, "sign": sign, "larger": larger}
    exec(python_source(program), space)
    a, b, c = -1.25, 0.5, 3.0
    expected = [a - b, b - a, 2 * a - 3 * (b - a), -a / b, 1 / c, -1.0, math.sqrt(c), 1.25, 4 - a, 2.5]
    expected += [0.0, a, a]
    assert space["f"]((a, b, c)) == pytest.approx(expected, rel=1e-15)


def test_only_needed_operations_are_counted_and_sign_changes_are_free(xyz) -> None:
    x, y, z = xyz
    unused = x * y * z
    counts = operation_counts([-(x * y), x * y + z, (x * y).sin(), 1.0 / x, z.sqrt(), 3.0])
    assert counts == {"mul": 1, "add": 1, "div": 1, "trig": 1, "sqrt": 1}
    assert unused.number not in {node.number for node in needed([x * y])}
    order = needed([(x + y) * z.cos(), z - y * x])  # arguments first
    place = {node: k for k, node in enumerate(order)}
    assert all(place[argument] < place[node] for node in order for argument in node.args)


# Systems without pivots, their blocks, and solutions that stay on one branch.


SCALES = Scales((1.0,), (1.0,))


def rows_of(A: np.ndarray) -> list[dict[int, float]]:
    return [dict(enumerate(row)) for row in A.tolist()]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 2), (3, 3), (6, 6), (12, 12), (5, 3), (7, 2)])
def test_blocks_are_solved_by_both_methods(rows: int, columns: int) -> None:
    random = np.random.default_rng(rows + 10 * columns)
    for _ in range(50):
        A = random.normal(size=(rows, columns))
        A[np.abs(A) < 0.3] = 0.0
        A[:columns] += 2.0 * np.eye(columns)
        factors = factorised(rows_of(A), Block(tuple(range(rows)), tuple(range(columns))), range(columns))
        x = random.normal(size=columns)
        assert factors.solve((A @ x).tolist()) == pytest.approx(x.tolist(), abs=1e-11)
        f = random.normal(size=columns)
        y = factors.solve_transposed(f.tolist())
        assert y == pytest.approx(np.linalg.lstsq(A.T, f, rcond=None)[0].tolist(), abs=1e-10)


def test_a_large_block_is_as_accurate_as_its_condition_allows() -> None:
    """Gram-Schmidt with projections of the original column would lose the square of the condition number."""
    random = np.random.default_rng(4)
    U, _, V = np.linalg.svd(random.normal(size=(8, 8)))
    A = U @ np.diag(np.logspace(0, -7, 8)) @ V
    factors = factorised(rows_of(A), Block(tuple(range(8)), tuple(range(8))), range(8))
    x, y = random.normal(size=(2, 8))
    assert factors.solve((A @ x).tolist()) == pytest.approx(x.tolist(), abs=1e-7)
    assert factors.solve_transposed((A.T @ y).tolist()) == pytest.approx(y.tolist(), abs=1e-7)


def test_blocks_are_ordered_for_their_solution() -> None:
    random = np.random.default_rng(7)
    for _ in range(100):
        n = int(random.integers(2, 12))
        sizes: list[int] = []
        pattern = np.zeros((n, n), dtype=bool)
        while (first := sum(sizes)) < n:  # full blocks on the diagonal, any entries before them
            sizes.append(size := int(random.integers(1, min(4, n - first) + 1)))
            pattern[first : first + size, first : first + size] = True
            pattern[first : first + size, :first] = random.random((size, first)) < 0.3
        shuffled = pattern[random.permutation(n)][:, random.permutation(n)]
        blocks = block_triangular(shuffled.tolist(), n)
        assert blocks is not None
        assert sorted(len(block.columns) for block in blocks) == sorted(sizes)
        known: set[int] = set()
        for block in blocks:
            known |= set(block.columns)
            for row in block.rows:
                assert set(np.flatnonzero(shuffled[row])) <= known
        assert known == set(range(n))
    for singular in ([[True, True], [False, False]], [[True, True]], [[True, False], [True, False]]):
        assert block_triangular(singular, 2) is None
    assert block_triangular([], 0) == ()


def circle_step(given: Sequence[float], x: Sequence[float]) -> tuple[list[float], list[float]]:
    """Newton's step for the angle x of a crank of length 1 at the given height, which has two branches."""
    (height,), (angle,) = given, x
    slope = math.cos(angle)
    return [(height - math.sin(angle)) / slope if slope else math.inf], []


def test_a_solution_stays_on_its_branch_and_ends_with_it() -> None:
    for height in (-0.999, -0.5, 0.0, 0.7, 0.999999):
        angle = math.asin(height)
        for start, expected in ((0.1, angle), (math.pi - 0.1, math.pi - angle)):
            x = follow(circle_step, ([math.sin(start)], [start]), [height], SCALES)
            assert x == pytest.approx([expected], abs=1e-9)
    for height in (1.0001, 1.5, -7.0, math.nan, math.inf):
        assert follow(circle_step, ([0.0], [0.0]), [height], SCALES) is None


def test_newton_corrections_are_small_and_leave_no_residual() -> None:
    def unsatisfied(given: Sequence[float], x: Sequence[float]) -> tuple[list[float], list[float]]:
        return circle_step(given, x)[0], [0.1]

    assert newton(circle_step, [0.2], [0.0], SCALES, 0.7) is None
    assert newton(circle_step, [0.2], [0.0], SCALES, 0.9) == pytest.approx([math.asin(0.2)], abs=1e-15)
    assert newton(unsatisfied, [0.2], [0.2], SCALES, 1.0) is None


def test_a_long_line_is_followed_in_short_steps() -> None:
    """The unknown changes little, so that nothing else limits the steps."""
    visited = [0.0]

    def step(given: Sequence[float], x: Sequence[float]) -> tuple[list[float], list[float]]:
        visited.append(given[0])
        return [0.01 * given[0] - x[0]], []

    assert follow(step, ([0.0], [0.0]), [3.0], SCALES) == pytest.approx([0.03])
    assert visited[-1] == 3.0
    assert np.diff(visited).max() <= ADVANCE * (1.0 + TANGENT)
