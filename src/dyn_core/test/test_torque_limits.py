# SPDX-License-Identifier: Apache-2.0
"""Limits of torques, their rates, and of references."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from properties import given, st

import dyn_core
from dyn_core import DynError
from dyn_core.control.command_limits import EffortLimits, Limited
from dyn_core.control.jump import JumpLimit
from dyn_core.control.rate_limit import RateLimit

NAMES = ("a", "b", "c")
LIMITS = np.array([10.0, 5.0, math.inf])
TORQUES = st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3).map(np.array)


@pytest.mark.parametrize("on_limit", ["clip", "scale", "withhold"])
def test_torques_within_their_limits_are_left_alone(on_limit) -> None:
    torques = np.array([10.0, -5.0, 1e9])
    assert EffortLimits(NAMES, LIMITS, on_limit).applied(torques) == Limited(torques, None)


def test_beyond_the_limits() -> None:
    torques = np.array([-20.0, 6.0, 8.0])
    clipped, scaled, withheld = (
        EffortLimits(NAMES, LIMITS, on_limit).applied(torques) for on_limit in ("clip", "scale", "withhold")
    )
    np.testing.assert_array_equal(clipped.torques, [-10.0, 5.0, 8.0])
    np.testing.assert_array_equal(scaled.torques, [-10.0, 3.0, 4.0])
    assert withheld.torques is None
    for limited in (clipped, scaled, withheld):
        np.testing.assert_array_equal(limited.excess, [10.0, 1.0, 0.0])
    np.testing.assert_array_equal(torques, [-20.0, 6.0, 8.0])


def test_the_sentence_names_the_joint_that_is_furthest_beyond() -> None:
    limits = EffortLimits(NAMES, LIMITS)
    torques = np.array([-20.0, 6.0, 1e9])
    assert limits.sentence(torques) == "joint 'a' asks for -20, its effort limit is 10"
    assert limits.sentence(torques, ["N m", "N", "N"]).endswith(
        "asks for -20 N m, its effort limit is 10 N m"
    )


def test_a_joint_without_any_torque() -> None:
    limits = EffortLimits(NAMES, [0.0, 5.0, 5.0], "scale")
    np.testing.assert_array_equal(limits.applied(np.array([0.0, 10.0, 2.0])).torques, [0.0, 5.0, 1.0])
    np.testing.assert_array_equal(limits.applied(np.array([0.1, 1.0, 2.0])).torques, [0.0, 0.0, 0.0])


@given(TORQUES, st.lists(st.floats(0.0, 1e5), min_size=3, max_size=3), st.sampled_from(["clip", "scale"]))
def test_nothing_is_above_its_limit(torques: np.ndarray, limits: list[float], on_limit) -> None:
    got, excess = EffortLimits(NAMES, limits, on_limit).applied(torques)
    assert (np.abs(got) <= limits).all()
    assert (got * torques >= 0.0).all()
    assert (np.abs(got) <= np.abs(torques)).all()
    if excess is not None:
        assert (excess >= 0.0).all()
        assert excess.any()
        if on_limit == "scale":  # the ratios stay
            np.testing.assert_allclose(
                np.outer(got, torques), np.outer(torques, got), rtol=1e-12, atol=1e-300
            )


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("on_limit", ["clip", "scale", "withhold"])
def test_torques_that_are_not_finite(bad: float, on_limit) -> None:
    with pytest.raises(ValueError, match=f"the torque of joint 'c' is {bad}: it has to be finite"):
        EffortLimits(NAMES, LIMITS, on_limit).applied(np.array([99.0, 0.0, bad]))
    with pytest.raises(ValueError, match=r"torques: expected the shape \(3,\), but it has \(1,\)"):
        EffortLimits(NAMES, LIMITS, on_limit).applied(np.zeros(1))


def test_limits_of_a_robot() -> None:
    urdf = """<robot name="r"><link name="base"/><link name="x"/><link name="y"/>
      <joint name="one" type="revolute"><parent link="base"/><child link="x"/>
        <limit lower="-1" upper="1" effort="30" velocity="2"/></joint>
      <joint name="two" type="continuous"><parent link="x"/><child link="y"/></joint></robot>"""
    limits = EffortLimits.of_robot(dyn_core.load_robot(urdf), "scale")
    assert limits.joint_names == ("one", "two")
    assert limits.limits.tolist() == [30.0, math.inf]
    assert limits.on_limit == "scale"
    rx90 = dyn_core.load_robot(Path(__file__).resolve().parents[3] / "config/robots/rx90.urdf")
    assert len(EffortLimits.of_robot(rx90).limits) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((NAMES, -1.0), "the effort limit of joint 'a' is -1.0: give a finite number >= 0 or infinity"),
        ((NAMES, math.nan), "the effort limit of joint 'a' is nan"),
        ((NAMES, 1.0, "cut"), "on_limit is 'cut': choose 'clip', 'scale' or 'withhold'"),
    ],
)
def test_wrong_effort_limits(arguments, message: str) -> None:
    with pytest.raises(DynError, match=message):
        EffortLimits(*arguments)


def test_rates() -> None:
    limit = RateLimit(NAMES, [100.0, 10.0, math.inf])
    sent = np.array([1.0, 1.0, 1.0])
    torques, excess = limit.applied(sent, np.array([2.0, -1.0, 1e6]), 0.01)
    np.testing.assert_allclose(torques, [2.0, 0.9, 1e6])
    np.testing.assert_allclose(excess, [0.0, 1.9, 0.0])
    wanted = np.array([2.0, 1.05, -1e6])
    assert limit.applied(sent, wanted, 0.01) == Limited(wanted, None)
    torques, _ = limit.applied(sent, wanted, 0.0)
    np.testing.assert_array_equal(torques, [1.0, 1.0, -1e6])


@given(TORQUES, TORQUES, st.floats(0.0, 1.0))
def test_a_limited_rate_goes_towards_what_is_wanted(sent: np.ndarray, wanted: np.ndarray, dt: float) -> None:
    rate = np.array([1.0, 1e3, 1e6])
    torques, _ = RateLimit(NAMES, rate).applied(sent, wanted, dt)
    assert (np.minimum(sent, wanted) <= torques).all()
    assert (torques <= np.maximum(sent, wanted)).all()
    assert (np.abs(torques - sent) <= rate * dt + 1e-9).all()


def test_wrong_rates() -> None:
    with pytest.raises(
        DynError, match=r"the greatest rate of torque of joint 'a' is 0.0: .* > 0 or infinity"
    ):
        RateLimit(NAMES, 0.0)
    limit, zero = RateLimit(NAMES, 1.0), np.zeros(3)
    for dt in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match="dt: expected a finite time >= 0"):
            limit.applied(zero, zero, dt)
    for bad in ((zero + math.nan, zero), (zero, zero + math.nan)):
        with pytest.raises(ValueError, match="of joint 'a' is nan"):
            limit.applied(*bad, 0.1)


def test_jumps() -> None:
    limit = JumpLimit(NAMES, [1.0, 2.0, math.inf], slack=0.01)
    before = np.zeros(3)
    assert limit.jump(before, np.array([0.11, -0.21, 1e6]), 0.1) is None
    jump = limit.jump(before, np.array([0.12, -0.3, 1e6]), 0.1)
    assert jump is not None
    assert jump.joint == "b"
    assert jump.step == -0.3
    assert jump.allowed == pytest.approx(0.21)
    assert jump.sentence == ("the reference of joint 'b' moves by -0.3 in 0.1 s, at most 0.21 is allowed")
    for dt in (0.0, -1.0):
        assert limit.jump(before, np.array([0.01, 0.0, 5.0]), dt) is None
        assert limit.jump(before, np.array([0.011, 0.0, 5.0]), dt) is not None
    for bad in (
        (before + math.nan, before, 0.1),
        (before, before + math.nan, 0.1),
        (before, before, math.nan),
    ):
        with pytest.raises(ValueError, match="nan"):
            limit.jump(*bad)
    with pytest.raises(DynError, match=r"the greatest reference speed of joint 'a' is -1.0"):
        JumpLimit(NAMES, -1.0)
