# SPDX-License-Identifier: Apache-2.0
"""Systems without pivots, their blocks, and solutions that are kept on one branch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from dyn_core.algorithms.loops.continuation import Scales, follow, newton
from dyn_core.loops.block_factors import factorised
from dyn_core.loops.block_triangular import Block, block_triangular

SCALES = Scales((1.0,), (1.0,))


def rows_of(A: np.ndarray) -> list[dict[int, float]]:
    return [dict(enumerate(row)) for row in A.tolist()]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 2), (3, 3), (6, 6), (12, 12), (5, 3), (7, 2)])
def test_blocks_are_solved_both_ways(rows: int, columns: int) -> None:
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
    """Gram-Schmidt by projections of the given column alone would lose the square of the condition number."""
    random = np.random.default_rng(4)
    U, _, V = np.linalg.svd(random.normal(size=(8, 8)))
    A = U @ np.diag(np.logspace(0, -7, 8)) @ V
    factors = factorised(rows_of(A), Block(tuple(range(8)), tuple(range(8))), range(8))
    x = random.normal(size=8)
    assert factors.solve((A @ x).tolist()) == pytest.approx(x.tolist(), abs=1e-7)
    y = random.normal(size=8)
    assert factors.solve_transposed((A.T @ y).tolist()) == pytest.approx(y.tolist(), abs=1e-7)


def test_blocks_come_in_an_order_in_which_they_can_be_solved() -> None:
    random = np.random.default_rng(7)
    for _ in range(100):
        n = int(random.integers(2, 12))
        sizes = []
        while sum(sizes) < n:
            sizes.append(int(random.integers(1, min(4, n - sum(sizes)) + 1)))
        pattern = np.zeros((n, n), dtype=bool)
        first = 0
        for size in sizes:  # full blocks on the diagonal, anything before them
            pattern[first : first + size, first : first + size] = True
            pattern[first : first + size, :first] = random.random((size, first)) < 0.3
            first += size
        rows, columns = random.permutation(n), random.permutation(n)
        shuffled = pattern[rows][:, columns]
        blocks = block_triangular(shuffled.tolist(), n)
        assert blocks is not None
        assert sorted(len(block.columns) for block in blocks) == sorted(sizes)
        known: set[int] = set()
        for block in blocks:
            known |= set(block.columns)
            for row in block.rows:
                assert set(np.flatnonzero(shuffled[row])) <= known
        assert known == set(range(n))


def test_a_pattern_that_is_singular_has_no_blocks() -> None:
    assert block_triangular([[True, True], [False, False]], 2) is None
    assert block_triangular([[True, True]], 2) is None
    assert block_triangular([[True, False], [True, False]], 2) is None
    assert block_triangular([], 0) == ()


def circle_step(given: Sequence[float], x: Sequence[float]) -> tuple[list[float], list[float]]:
    """Newton's step for the angle x of a crank of length 1 at the height given: two branches."""
    (height,), (angle,) = given, x
    slope = math.cos(angle)
    return [(height - math.sin(angle)) / slope if slope else math.inf], []


@pytest.mark.parametrize("height", [-0.999, -0.5, 0.0, 0.7, 0.999999])
def test_a_branch_is_kept(height: float) -> None:
    for start in (0.1, math.pi - 0.1):
        x = follow(circle_step, ([math.sin(start)], [start]), [height], SCALES)
        expected = math.asin(height) if start < 1.0 else math.pi - math.asin(height)
        assert x is not None
        assert x[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("height", [1.0001, 1.5, -7.0, math.nan, math.inf])
def test_a_branch_that_ends_has_no_solution(height: float) -> None:
    assert follow(circle_step, ([0.0], [0.0]), [height], SCALES) is None


def test_a_correction_is_small_beside_the_step_that_it_corrects() -> None:
    assert newton(circle_step, [0.2], [0.0], SCALES, 0.7) is None
    assert newton(circle_step, [0.2], [0.0], SCALES, 0.9) == pytest.approx([math.asin(0.2)], abs=1e-15)


def test_what_else_has_to_hold_is_checked() -> None:
    def other(given: Sequence[float], x: Sequence[float]) -> tuple[list[float], list[float]]:
        return circle_step(given, x)[0], [0.1]

    assert newton(other, [0.2], [0.2], SCALES, 1.0) is None
