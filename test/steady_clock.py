# SPDX-License-Identifier: Apache-2.0
"""A steady clock that the test sets."""

from __future__ import annotations


class SteadyClock:
    """Returns `now` (s)."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now
