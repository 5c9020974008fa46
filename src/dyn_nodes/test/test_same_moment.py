# SPDX-License-Identifier: Apache-2.0
"""Two clocks of a process that stands still."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dyn_nodes.same_moment import same_moment

OFFSET_S = 1000.0


class Machine:
    """Each look at a clock takes 1 us, and pauses come before some of them."""

    def __init__(self, pauses: Sequence[float]) -> None:
        self._now = 0.0
        self._pauses = list(pauses)

    def steady(self) -> float:
        self._now += 1e-6 + (self._pauses.pop(0) if self._pauses else 0.0)
        return self._now

    def other(self) -> int:
        return round(1e9 * (self.steady() + OFFSET_S))


@pytest.mark.parametrize(
    "pauses", [[], [0.1], [0.0, 0.1], [0.0, 0.0, 0.1], [0.0, 0.1, 0.0, 0.0, 0.0, 0.1], [0.0, 0.1, 0.0] * 4]
)
def test_the_times_belong_together(pauses: Sequence[float]) -> None:
    machine = Machine(pauses)
    steady, other = same_moment(machine.steady, machine.other)
    assert 1e-9 * other - OFFSET_S == pytest.approx(steady, abs=5e-5)


def test_it_ends_on_a_machine_that_stands_still_all_the_time() -> None:
    machine = Machine([0.1] * 1000)
    steady, other = same_moment(machine.steady, machine.other)
    assert 1e-9 * other - OFFSET_S == pytest.approx(steady, abs=0.3)
