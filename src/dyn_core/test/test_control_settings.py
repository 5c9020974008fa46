# SPDX-License-Identifier: Apache-2.0
"""Settings and joint vectors that are checked."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyn_core import DynError
from dyn_core.control.settings import joint_values, number
from dyn_core.control.vectors import check_vector, is_finite

NAMES = ("shoulder", "elbow")


@pytest.mark.parametrize(
    "values", [3.0, 3, np.float64(3.0), [3.0, 3.0], np.full(2, 3.0), {"elbow": 3, "shoulder": 3.0}]
)
def test_values_in_every_form(values) -> None:
    array = joint_values("the gain", NAMES, values)
    np.testing.assert_array_equal(array, [3.0, 3.0])
    assert array.dtype == np.float64
    assert not array.flags.writeable


def test_values_by_name_come_in_the_order_of_the_joints() -> None:
    np.testing.assert_array_equal(
        joint_values("the gain", NAMES, {"elbow": 1.0, "shoulder": 2.0}), [2.0, 1.0]
    )


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (math.nan, {}, "the gain of joint 'shoulder' is nan: give a finite number$"),
        ([1.0, math.inf], {}, "the gain of joint 'elbow' is inf: give a finite number$"),
        ([1.0, -math.inf], {"infinite": True}, "'elbow' is -inf: give a finite number or infinity$"),
        ([1.0, -1.0], {"least": 0.0}, "'elbow' is -1.0: give a finite number >= 0$"),
        ([1.0, 0.0], {"above": 0.0}, "'elbow' is 0.0: give a finite number > 0$"),
        ([1.0, "x"], {}, "'elbow' is 'x': give a finite number"),
        ([1.0, True], {}, "'elbow' is True: give a finite number"),
        ("12", {}, "'shoulder' is '12': give a finite number"),
        ([1.0], {}, "the gain is given 1 times, but there are 2 joints: 'shoulder', 'elbow'"),
        ({"elbow": 1.0}, {}, "the gain is not given for 'shoulder'"),
        (
            {"elbow": 1.0, "shoulder": 1.0, "knee": 1.0},
            {},
            "the gain is given for 'knee': the joints are 'shoulder', 'elbow'",
        ),
    ],
)
def test_wrong_values(values, options, message: str) -> None:
    with pytest.raises(DynError, match=message):
        joint_values("the gain", NAMES, values, **options)


def test_numbers() -> None:
    assert number("the timeout (s)", np.float64(0.5), above=0.0) == 0.5
    with pytest.raises(DynError, match=r"the timeout \(s\) is 0.0: give a finite number > 0"):
        number("the timeout (s)", 0.0, above=0.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_one_number_that_is_not_finite(bad: float) -> None:
    assert not is_finite(np.array([1.0, bad]))
    assert not is_finite(np.array([bad, -bad, 1.0]))
    with pytest.raises(ValueError, match=f"the position of joint 'elbow' is {bad}: it has to be finite"):
        check_vector("position", NAMES, np.array([1.0, bad]))


def test_great_numbers_are_finite() -> None:
    check_vector("position", NAMES, np.array([1.7e308, 1.7e308]))


def test_wrong_shape() -> None:
    with pytest.raises(ValueError, match=r"position: expected the shape \(2,\), but it has \(1,\)"):
        check_vector("position", NAMES, np.zeros(1))
