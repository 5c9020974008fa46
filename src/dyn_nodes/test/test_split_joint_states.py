# SPDX-License-Identifier: Apache-2.0
"""Joint states of several publishers, merged by name."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import serialize_message
from refusals import refused
from sensor_msgs.msg import JointState

from dyn_nodes.common.data_checks import Rejection
from dyn_nodes.common.messages.joint_state_bytes import JointStateBytes, JointStates, Stamp
from dyn_nodes.common.messages.split_joint_states import SplitJointStates

NAMES = ["shoulder", "elbow", "wrist", "finger"]
ARM, HAND = NAMES[:3], NAMES[3:]
MAX_AGE = 0.1


def state(
    names: Sequence[str], q: Sequence[float], qd: Sequence[float] = (), tau: Sequence[float] = ()
) -> JointStates:
    return JointStates(Stamp(7, 0), list(names), *(np.array(x, dtype=float) for x in (q, qd, tau)))


@given(st.permutations(NAMES), st.integers(1, 3), st.floats(0.0, MAX_AGE), st.booleans())
def test_parts_give_the_values_of_the_whole(names: list[str], split: int, age: float, moves: bool) -> None:
    """The larger part leads; parts of equal size are led by the first."""
    parts = sorted((names[:split], names[split:]), key=len)
    q = {name: 0.1 * k for k, name in enumerate(NAMES)}
    qd = {name: -1.0 - k for k, name in enumerate(NAMES)}
    merged = SplitJointStates(NAMES, MAX_AGE)
    smaller, larger = (
        state(part, [q[n] for n in part], [qd[n] for n in part] if moves else (), [q[n] + 2.0 for n in part])
        for part in parts
    )
    if len(parts[0]) == len(parts[1]):
        smaller, larger = larger, smaller
    for first in (larger, smaller) if len(parts[0]) == len(parts[1]) else (smaller,):
        if first is smaller and len(parts[0]) == len(parts[1]):
            assert merged.whole(first, 5.0) is None
        else:
            with refused("joints-never-reported", missing=[n for n in NAMES if n not in first.name]):
                merged.whole(first, 5.0)
    whole = merged.whole(larger, 5.0 + 0.999 * age)
    assert whole is not None
    assert (whole.stamp, whole.name) == (larger.stamp, NAMES)
    assert whole.position.tolist() == list(q.values())
    assert whole.velocity.tolist() == (list(qd.values()) if moves else [])
    assert whole.effort.tolist() == [value + 2.0 for value in q.values()]


def arm_and_hand() -> SplitJointStates:
    """Merged states whose arm leads, both at 5 s."""
    merged = SplitJointStates(NAMES, MAX_AGE)
    with refused("joints-never-reported", missing=ARM):
        merged.whole(state(HAND, [0.4]), 5.0)
    assert merged.whole(state(ARM, [0.1, 0.2, 0.3]), 5.0) is not None
    return merged


def test_each_joint_has_its_own_age() -> None:
    merged = arm_and_hand()
    assert merged.whole(state(ARM, [0.1, 0.2, 0.3]), 5.09) is not None
    with refused("joint-reported-late", joint="finger", limit=MAX_AGE):
        merged.whole(state(ARM, [0.1, 0.2, 0.3]), 5.11)
    assert merged.whole(state(HAND, [0.5]), 5.11) is None
    whole = merged.whole(state(ARM, [0.1, 0.2, 0.3]), 5.12)
    assert whole is not None
    assert whole.position.tolist() == [0.1, 0.2, 0.3, 0.5]


def test_a_leading_part_that_falls_silent_is_named_by_the_others() -> None:
    merged = arm_and_hand()
    assert merged.whole(state(HAND, [0.4]), 5.09) is None
    with refused("joint-reported-late", joint="shoulder"):
        merged.whole(state(HAND, [0.4]), 5.2)


def test_stamps_of_each_part_are_in_order() -> None:
    merged = arm_and_hand()
    with refused("message-out-of-order"):
        merged.whole(state(ARM, [0.1, 0.2, 0.3]), 4.99)
    assert merged.whole(state(HAND, [0.4]), 5.05) is None
    assert merged.whole(state(ARM, [0.1, 0.2, 0.3]), 5.02) is not None  # older than the hand, as it may be


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (state(ARM, [0.1, math.nan, 0.3]), "message-value-implausible"),
        (state(ARM, [0.1, 0.2]), "message-values-missing"),
        (state([*ARM, "elbow"], [0.1] * 4), "message-joint-repeated"),
        (state(ARM, [0.1, 0.2, 0.3], [1.0, math.inf, 0.0]), "message-value-implausible"),
    ],
)
def test_a_bad_part_is_refused_and_changes_nothing(bad: JointStates, code: str) -> None:
    merged = arm_and_hand()
    with refused(code):
        merged.whole(bad, 5.01)
    whole = merged.whole(state(ARM, [0.6, 0.2, 0.3]), 5.02)
    assert whole is not None
    assert whole.position.tolist() == [0.6, 0.2, 0.3, 0.4]


def test_velocities_that_one_part_lacks_are_derived_for_all() -> None:
    merged = arm_and_hand()
    whole = merged.whole(state(ARM, [0.1, 0.2, 0.3], [1.0, 2.0, 3.0]), 5.0)
    assert whole is not None
    assert not whole.velocity.size


def test_messages_with_all_joints_are_returned_as_they_are() -> None:
    merged = SplitJointStates(NAMES, MAX_AGE)
    message = state(["other", *NAMES[::-1]], [0.0, 4.0, 3.0, 2.0, 1.0])
    part = state(HAND, [0.4])
    assert merged.whole(message, 5.0) is message
    assert merged.whole(part, 5.05) is part  # the reader refuses it: messages with all joints come, too


def test_publishers_whose_names_change_take_no_memory() -> None:
    merged = arm_and_hand()
    for k in range(1000):
        with contextlib.suppress(Rejection):
            merged.whole(state([*HAND, f"other {k}"], [0.4, 0.0]), 5.0)
    assert len(merged._parts) <= 16


def test_messages_of_two_arms_with_names_of_equal_length_are_read_without_rclpy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = JointStateBytes()
    raws = {
        side: serialize_message(JointState(name=[f"{side}_a", f"{side}_b"], position=[0.1, 0.2]))
        for side in ("left", "rite")
    }
    for raw in raws.values():
        reader.read(raw)
    monkeypatch.setattr(JointStateBytes, "_deserialized", lambda *_: pytest.fail("rclpy reads it again"))
    for side, raw in [*raws.items()] * 3:
        assert reader.read(raw).name == [f"{side}_a", f"{side}_b"]
