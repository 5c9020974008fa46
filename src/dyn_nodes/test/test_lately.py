# SPDX-License-Identifier: Apache-2.0
"""Things of some time ago."""

from __future__ import annotations

from dyn_nodes.lately import Lately


def test_what_is_kept_is_a_span_old_and_not_much_older() -> None:
    lately: Lately[int] = Lately(0.1)
    for k in range(1000):
        lately.add(0.01 * k, k)
        if k < 10:
            assert lately.earlier is None
        else:
            assert lately.earlier is not None
            assert 10 <= k - lately.earlier <= 22


def test_where_time_goes_back_all_begins_again() -> None:
    lately: Lately[int] = Lately(0.1)
    lately.add(5.0, 1)
    lately.add(6.0, 2)
    assert lately.earlier == 1
    lately.add(1.0, 3)
    assert lately.earlier is None
    lately.add(1.5, 4)
    assert lately.earlier == 3
