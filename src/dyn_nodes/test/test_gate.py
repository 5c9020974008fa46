# SPDX-License-Identifier: Apache-2.0
"""What torques are published whatever they come from: the last look at them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyn_core.control.command_limits import EffortLimits
from dyn_nodes.gate import passed
from dyn_nodes.rejection import Rejection

LIMITS = EffortLimits(["turn", "lift"], [2.0, math.inf])


@pytest.mark.parametrize("given", [[0.5, 1e6], [[0.5, 1.0], [-2.0, 3.0]], [-0.0, 5e-324]])
def test_torques_within_their_limits_pass_unchanged(given: list[float]) -> None:
    assert passed(np.array(given), LIMITS).tolist() == given


def test_what_is_above_a_limit_is_cut_at_it() -> None:
    beyond = np.nextafter(2.0, 3.0)
    assert passed(np.array([beyond, 0.0]), LIMITS).tolist() == [2.0, 0.0]
    assert passed(np.array([[-1e300, 1.0], [3.0, 1.0]]), LIMITS).tolist() == [[-2.0, 1.0], [2.0, 1.0]]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused_by_name(bad: float) -> None:
    with pytest.raises(Rejection, match="the torque of joint 'lift' is not finite"):
        passed(np.array([[0.0, 0.0], [1.0, bad]]), LIMITS)


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 3), ()])
def test_torques_of_other_joints_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(Rejection, match="for 2 joints"):
        passed(np.zeros(shape), LIMITS)
