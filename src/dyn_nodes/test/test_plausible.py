# SPDX-License-Identifier: Apache-2.0
"""Numbers and text from messages."""

from __future__ import annotations

import math

import pytest

from dyn_nodes.common.data_checks import LARGEST, culprit, one_line, plausible, too_large


@pytest.mark.parametrize("good", [[], [0.0], [-1.0, 1e8], [LARGEST], [5e-324, -0.0]])
def test_what_a_robot_can_have_is_plausible(good: list[float]) -> None:
    assert plausible(good)
    assert not too_large(good)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1.1e9, -1e308])
def test_what_it_cannot_have_is_found(bad: float) -> None:
    numbers = [3.0, -1e8, bad, 0.0]
    assert not plausible(numbers)
    assert culprit(numbers) == 2
    assert too_large(numbers) == math.isfinite(bad)


def test_infinity_does_not_hide_what_is_no_number() -> None:
    assert not plausible([math.inf, math.nan])


def test_text_that_can_be_seen_stays_as_it_is() -> None:
    assert one_line("joint 'Gelenk_ü 关节' is 3 N·m") == "joint 'Gelenk_ü 关节' is 3 N·m"


def test_text_that_cannot_be_seen_is_spelled_out() -> None:
    assert one_line("a\nb\x00\u202ec") == r"a\nb\x00\u202ec"


def test_long_text_loses_its_middle() -> None:
    short = one_line("begin " + "x" * 100_000 + " end")
    assert len(short) < 410
    assert short.startswith("begin xxx")
    assert short.endswith("xxx end")
    assert " ... " in short
