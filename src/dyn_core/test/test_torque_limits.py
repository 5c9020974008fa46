# SPDX-License-Identifier: Apache-2.0
"""Checked settings and joint vectors, and limits of torques, torque rates and references."""

from __future__ import annotations

import math

import numpy as np
import pytest
from properties import given, st
from refusals import refusal, refused
from robots import example

import dyn_core
from dyn_core.control.command_limits import (
    EffortLimits,
    JumpLimit,
    Limited,
    RateLimit,
    check_vector,
    is_finite,
    joint_values,
    number,
)

NAMES = ("a", "b", "c")
LIMITS = np.array([10.0, 5.0, math.inf])
PAIR = ("shoulder", "elbow")
TORQUES = st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3).map(np.array)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        *((given, [3.0, 3.0]) for given in (3.0, 3, np.float64(3.0), [3.0, 3.0], np.full(2, 3.0))),
        ({"elbow": 1, "shoulder": 2.0}, [2.0, 1.0]),
    ],
)
def test_settings_are_accepted_in_every_form(given, expected: list[float]) -> None:
    array = joint_values("the gain", PAIR, given)
    np.testing.assert_array_equal(array, expected)
    assert (array.dtype, array.flags.writeable) == (np.float64, False)


@pytest.mark.parametrize(
    ("values", "options", "joint", "given", "expected"),
    [
        (math.nan, {}, "shoulder", math.nan, "a finite number"),
        ([1.0, math.inf], {}, "elbow", math.inf, "a finite number"),
        ([1.0, -math.inf], {"infinite": True}, "elbow", -math.inf, "a finite number or infinity"),
        ([1.0, -1.0], {"least": 0.0}, "elbow", -1.0, "a finite number >= 0"),
        ([1.0, 0.0], {"above": 0.0}, "elbow", 0.0, "a finite number > 0"),
        ([1.0, "x"], {}, "elbow", "x", "a finite number"),
        ([1.0, True], {}, "elbow", True, "a finite number"),
        ("12", {}, "shoulder", "12", "a finite number"),
    ],
)
def test_wrong_settings_are_refused(values, options, joint: str, given: object, expected: str) -> None:
    with refused("joint-setting-range", setting="the gain", joint=joint, given=given, expected=expected):
        joint_values("the gain", PAIR, values, **options)


def test_values_of_other_joints() -> None:
    for values, code, expected in (
        ([1.0], "setting-count", {"given": 1, "expected": 2}),
        ({"elbow": 1.0}, "setting-joint-missing", {"missing": ["shoulder"]}),
        ({"elbow": 1.0, "shoulder": 1.0, "knee": 1.0}, "setting-joint-unknown", {"unknown": ["knee"]}),
    ):
        with refused(code, setting="the gain", **expected):
            joint_values("the gain", PAIR, values)


def test_numbers_and_vectors() -> None:
    assert number("the timeout (s)", np.float64(0.5), above=0.0) == 0.5
    with refused("setting-range", setting="the timeout (s)", given=0.0, expected="a finite number > 0"):
        number("the timeout (s)", 0.0, above=0.0)
    for bad in (math.nan, math.inf, -math.inf):
        assert not is_finite(np.array([1.0, bad]))
        assert not is_finite(np.array([bad, -bad, 1.0]))
        with refused("joint-value-not-finite", quantity="position", joint="elbow", given=bad):
            check_vector("position", PAIR, np.array([1.0, bad]))
    check_vector("position", PAIR, np.array([1.7e308, 1.7e308]))
    assert refusal(check_vector, "position", PAIR, np.zeros(1)) == "argument-shape: position, [2], [1]"


@pytest.mark.parametrize("on_limit", ["clip", "scale", "withhold"])
def test_limits_of_torques(on_limit) -> None:
    limits, torques = EffortLimits(NAMES, LIMITS, on_limit), np.array([10.0, -5.0, 1e9])
    assert limits.applied(torques) == Limited(torques, None)
    beyond = np.array([-20.0, 6.0, 8.0])
    limited = limits.applied(beyond)
    expected = {"clip": [-10.0, 5.0, 8.0], "scale": [-10.0, 3.0, 4.0], "withhold": None}[on_limit]
    np.testing.assert_array_equal(limited.torques, expected)
    np.testing.assert_array_equal(limited.excess, [10.0, 1.0, 0.0])
    np.testing.assert_array_equal(beyond, [-20.0, 6.0, 8.0])
    for bad in (math.nan, math.inf, -math.inf):
        with refused("joint-value-not-finite", quantity="torque", joint="c", given=bad):
            limits.applied(np.array([99.0, 0.0, bad]))
    assert refusal(limits.applied, np.zeros(1)) == "argument-shape: torques, [3], [1]"


def test_a_zero_limit_and_the_joint_with_the_greatest_excess() -> None:
    limits = EffortLimits(NAMES, [0.0, 5.0, 5.0], "scale")
    np.testing.assert_array_equal(limits.applied(np.array([0.0, 10.0, 2.0])).torques, [0.0, 5.0, 1.0])
    np.testing.assert_array_equal(limits.applied(np.array([0.1, 1.0, 2.0])).torques, [0.0, 0.0, 0.0])
    for units, words in ((None, ("'a'", "-20", "10")), (["N m", "N", "N"], ("'a'", "-20 N m", "10 N m"))):
        said = EffortLimits(NAMES, LIMITS).sentence(np.array([-20.0, 6.0, 1e9]), units)
        assert all(word in said for word in words)


@given(TORQUES, st.lists(st.floats(0.0, 1e5), min_size=3, max_size=3), st.sampled_from(["clip", "scale"]))
def test_no_torque_exceeds_its_limit(torques: np.ndarray, limits: list[float], on_limit) -> None:
    got, excess = EffortLimits(NAMES, limits, on_limit).applied(torques)
    assert (np.abs(got) <= limits).all()
    assert (got * torques >= 0.0).all()
    assert (np.abs(got) <= np.abs(torques)).all()
    if excess is not None:
        assert (excess >= 0.0).all()
        assert excess.any()
        if on_limit == "scale":  # the ratios are kept
            one, other = np.outer(got, torques), np.outer(torques, got)
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-300)


def test_limits_of_a_robot() -> None:
    urdf = """<robot name="r"><link name="base"/><link name="x"/><link name="y"/>
      <joint name="one" type="revolute"><parent link="base"/><child link="x"/>
        <limit lower="-1" upper="1" effort="30" velocity="2"/></joint>
      <joint name="two" type="continuous"><parent link="x"/><child link="y"/></joint></robot>"""
    limits = EffortLimits.of_robot(dyn_core.load_robot(urdf), "scale")
    assert (limits.joint_names, limits.on_limit) == (("one", "two"), "scale")
    assert limits.limits.tolist() == [30.0, math.inf]
    assert len(EffortLimits.of_robot(example("rx90")).limits) == 6
    for bad in (-1.0, math.nan):
        with refused("joint-setting-range", setting="the effort limit", joint="a", given=bad):
            EffortLimits(NAMES, bad)
    with refused("choice-unknown", setting="on_limit", given="cut"):
        EffortLimits(NAMES, 1.0, "cut")


def test_rates() -> None:
    limit, sent, zero = RateLimit(NAMES, [100.0, 10.0, math.inf]), np.ones(3), np.zeros(3)
    torques, excess = limit.applied(sent, np.array([2.0, -1.0, 1e6]), 0.01)
    np.testing.assert_allclose([torques, excess], [[2.0, 0.9, 1e6], [0.0, 1.9, 0.0]])
    wanted = np.array([2.0, 1.05, -1e6])
    assert limit.applied(sent, wanted, 0.01) == Limited(wanted, None)
    np.testing.assert_array_equal(limit.applied(sent, wanted, 0.0).torques, [1.0, 1.0, -1e6])
    for dt in (-0.1, math.nan, math.inf):
        with refused("argument-time-negative", argument="dt"):
            limit.applied(zero, zero, dt)
    for bad in ((zero + math.nan, zero), (zero, zero + math.nan)):
        with refused("joint-value-not-finite", joint="a"):
            limit.applied(*bad, 0.1)
    with refused("joint-setting-range", setting="the greatest rate of torque", joint="a", given=0.0):
        RateLimit(NAMES, 0.0)


@given(TORQUES, TORQUES, st.floats(0.0, 1.0))
def test_a_rate_limited_torque_moves_towards_the_target(
    sent: np.ndarray, wanted: np.ndarray, dt: float
) -> None:
    rate = np.array([1.0, 1e3, 1e6])
    torques, _ = RateLimit(NAMES, rate).applied(sent, wanted, dt)
    assert (np.minimum(sent, wanted) <= torques).all()
    assert (torques <= np.maximum(sent, wanted)).all()
    assert (np.abs(torques - sent) <= rate * dt + 1e-9).all()


def test_reference_jumps_are_detected() -> None:
    limit = JumpLimit(NAMES, [1.0, 2.0, math.inf], slack=0.01)
    before = np.zeros(3)
    assert limit.jump(before, np.array([0.11, -0.21, 1e6]), 0.1) is None
    jump = limit.jump(before, np.array([0.12, -0.3, 1e6]), 0.1)
    assert jump == ("b", -0.3, pytest.approx(0.21), 0.1)
    assert all(word in jump.sentence for word in ("'b'", "-0.3", "0.1 s", "0.21"))
    for dt in (0.0, -1.0):
        assert limit.jump(before, np.array([0.01, 0.0, 5.0]), dt) is None
        assert limit.jump(before, np.array([0.011, 0.0, 5.0]), dt) is not None
    for q in ((before + math.nan, before), (before, before + math.nan)):
        with refused("joint-value-not-finite", joint="a", given=math.nan):
            limit.jump(*q, 0.1)
    assert refusal(limit.jump, before, before, math.nan) == "argument-time-nan: dt"
    with refused("joint-setting-range", setting="the greatest reference speed", joint="a", given=-1.0):
        JumpLimit(NAMES, -1.0)
