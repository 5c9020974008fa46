# SPDX-License-Identifier: Apache-2.0
"""Products of scores over lags are those of all equations, in whatever pieces these come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest

from dyn_core.identification.estimators.standard_deviations import score_products


@dataclass(frozen=True)
class Pieces:
    """Equations of one joint, as `Rows` answers them."""

    table: np.ndarray
    lengths: tuple[int, ...]
    shared: int = 2

    def pieces(self) -> Iterator[tuple[slice, list[np.ndarray]]]:
        ends = np.cumsum(self.lengths).tolist()
        for end, length in zip(ends, self.lengths, strict=True):
            yield slice(end - length, end), [self.table[end - length : end]]


@pytest.mark.parametrize("lengths", [(30,), (1, 29), (2, 1, 27), (10, 1, 1, 18), (29, 1), (1,) * 30])
@pytest.mark.parametrize("lag", [0, 1, 5, 12])
def test_pieces_that_are_shorter_than_the_lag(lengths: tuple[int, ...], lag: int) -> None:
    random = np.random.default_rng(0)
    table, errors = random.normal(size=(30, 4)), random.normal(size=(30, 1))
    rows = cast("Any", Pieces(table, lengths))
    found = score_products(rows, np.array([2.0]), errors, lag, np.zeros(3))
    scores = table[:, :3] * errors / 4.0
    expected = scores.T @ scores
    for k in range(1, lag + 1):
        product = (1.0 - k / (lag + 1.0)) * scores[k:].T @ scores[:-k]
        expected += product + product.T
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
