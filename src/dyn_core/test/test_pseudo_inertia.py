# SPDX-License-Identifier: Apache-2.0
"""Bodies that can exist, and those at the border of what can."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core.identification.pseudo_inertia import is_nearly_possible, is_possible

POINT = [0.0] * 9 + [2.0]
ROD = [0.0, 0.0, 0.0, 0.02, 0.0, 0.02, 0.2, 0.0, 0.0, 2.0]
BALL = [0.1, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("body", "possible", "nearly"),
    [
        (BALL, True, True),
        (ROD, False, True),
        (POINT, False, True),
        ([0.0] * 10, False, True),
        ([*BALL[:9], -2.0], False, False),
        ([-0.001, *BALL[1:]], False, False),
        ([0.3, *BALL[1:]], False, False),
        ([*BALL[:6], 5.0, *BALL[7:]], False, False),
        ([*BALL[:9], np.nan], False, False),
    ],
)
def test_rods_and_points_are_at_the_border(body: list[float], possible: bool, nearly: bool) -> None:
    assert is_possible(np.array(body)) == possible
    assert is_nearly_possible(np.array(body)) == nearly
