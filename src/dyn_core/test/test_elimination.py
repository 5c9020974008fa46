# SPDX-License-Identifier: Apache-2.0
"""Linear equations by elimination, and angles that are known by cosine and sine."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyn_core.codegen.python_backend import PythonFunction
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.linalg.known_angle import KnownAngle
from dyn_core.symbolic.elimination import inverse, solved
from dyn_core.symbolic.scalar import cos, sin


def program(n: int, zeros=()) -> Program:
    def algorithm(a, b):
        A = [[0.0 if (i, k) in zeros else a[n * i + k] for k in range(n)] for i in range(n)]
        return [row[0] for row in solved(A, [[x] for x in b])]

    return trace("solve", algorithm, {"a": n * n, "b": n}, (n,))


def run(of: Program, A: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.empty(b.shape)
    PythonFunction(lambda: of, of.shape).into(A.reshape(*b.shape[:-1], -1), b, out)
    return out


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_solutions_are_those_of_numpy(n: int) -> None:
    random = np.random.default_rng(n)
    A, b = random.standard_normal((30, n, n)), random.standard_normal((30, n))
    expected = np.linalg.solve(A, b[..., None])[..., 0]
    np.testing.assert_allclose(run(program(n), A, b), expected, rtol=1e-9)
    for k in range(5):
        np.testing.assert_allclose(run(program(n), A[k], b[k]), expected[k], rtol=1e-9)
        rows = solved(A[k].tolist(), [[x] for x in b[k].tolist()])
        np.testing.assert_allclose([row[0] for row in rows], expected[k], rtol=1e-9)
    np.testing.assert_allclose(inverse(A[0].tolist()), np.linalg.inv(A[0]), rtol=1e-9, atol=1e-12)


def test_zeros_on_the_diagonal_are_no_pivots() -> None:
    """Numbers that are 0, or almost, where the program did not know it."""
    random = np.random.default_rng(1)
    for least in (0.0, 1e-17, 1e-9):
        A, b = random.standard_normal((50, 6, 6)), random.standard_normal((50, 6))
        A[:, range(6), range(6)] = least
        found = run(program(6), A, b)
        residual = np.einsum("nij,nj->ni", A, found) - b
        assert np.max(np.abs(residual)) < 1e-11 * np.max(np.abs(found))


def test_what_is_alone_costs_nothing_to_eliminate() -> None:
    """(15) of Khalil-Guegan 2004: each equation has one unknown."""
    zeros = {(0, 0), (0, 2), (1, 1), (1, 2), (2, 0), (2, 1)}
    counts = program(3, zeros).operation_counts
    assert counts == {"mul": 3, "add": 0, "div": 3, "trig": 0, "sqrt": 0}


def test_singular_equations_have_no_finite_solution() -> None:
    A = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert not np.all(np.isfinite(run(program(2), A, np.array([1.0, 1.0]))))


@pytest.mark.parametrize("offset", [0.0, math.pi / 2, -math.pi, 0.3, 7.0])
def test_a_known_angle_is_the_angle(offset: float) -> None:
    angle = 0.8
    known = KnownAngle(math.cos(angle), math.sin(angle), offset)
    for found, expected in (
        (known, angle + offset),
        (-known, -angle - offset),
        (known + 0.2, angle + offset + 0.2),
    ):
        assert cos(found) == pytest.approx(math.cos(expected), abs=1e-15)
        assert sin(found) == pytest.approx(math.sin(expected), abs=1e-15)


def test_constants_that_cancel_leave_no_operation() -> None:
    def algorithm(v):
        angle = KnownAngle(v[0], v[1], 0.7) + (-0.7 + math.pi / 2)
        return [cos(angle), sin(angle)]

    counts = trace("angle", algorithm, {"v": 2}, (2,)).operation_counts
    assert sum(counts.values()) == 0
