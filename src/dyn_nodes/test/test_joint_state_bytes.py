# SPDX-License-Identifier: Apache-2.0
"""Joint states read from bytes, compared with rclpy."""

from __future__ import annotations

import itertools
import struct
from array import array
from collections.abc import Sequence
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from refusals import refused
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from dyn_nodes.common import decoding
from dyn_nodes.common.messages import joint_state_bytes
from dyn_nodes.common.messages.joint_state_bytes import JointStateBytes, MessageBytes

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9)
NUMBERS = st.lists(st.floats(width=64), max_size=6)


@st.composite
def joint_states(draw: st.DrawFn) -> JointState:
    """Any joint state, with any number of values of each kind."""
    numbers = {field: array("d", draw(NUMBERS)) for field in ("position", "velocity", "effort")}
    message = JointState(name=draw(st.lists(TEXTS, max_size=4)), **numbers)
    message.header.frame_id = draw(TEXTS)
    message.header.stamp.sec = draw(st.integers(-(2**31), 2**31 - 1))
    message.header.stamp.nanosec = draw(st.integers(0, 2**32 - 1))
    return message


def assert_read(reader: JointStateBytes, raw: bytes) -> None:
    """Check that the reader gives the same as rclpy for the same bytes."""
    states, message = reader.read(raw), deserialize_message(raw, JointState)
    stamp = message.header.stamp
    assert (states.stamp.sec, states.stamp.nanosec, states.name) == (stamp.sec, stamp.nanosec, message.name)
    for field in ("position", "velocity", "effort"):  # as bytes, because NaN is not equal to itself
        assert getattr(states, field).tobytes() == getattr(message, field).tobytes()


@settings(max_examples=300, deadline=None)
@given(st.lists(joint_states(), min_size=1, max_size=4), st.lists(NUMBERS, min_size=3, max_size=3))
def test_the_reader_agrees_with_rclpy(messages: Sequence[JointState], others: list[list[float]]) -> None:
    reader = JointStateBytes()
    for message, k in itertools.product(messages, range(3)):
        if k:  # the same layout, other numbers
            arrays = (message.position, message.velocity, message.effort)
            for numbers, other in zip(arrays, others, strict=True):
                numbers[: len(other)] = array("d", other[: len(numbers)])
            message.header.stamp.nanosec ^= k
        assert_read(reader, serialize_message(message))


@pytest.fixture
def deserialized(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Its calls are the messages that rclpy deserialised."""
    monkeypatch.setattr(decoding, "deserialize_message", Mock(wraps=deserialize_message))
    return decoding.deserialize_message


def state(names: Sequence[str], value: float = 1.0, velocities: bool = True) -> JointState:
    x = [value] * len(names)
    return JointState(name=list(names), position=x, velocity=x if velocities else [], effort=x)


def test_rclpy_deserialises_each_layout_once(deserialized: Mock) -> None:
    reader = JointStateBytes()
    arm, gripper = ["shoulder", "elbow"], ["finger"]
    for value in range(10):
        for names in (arm, gripper):
            raw = serialize_message(state(names, float(value)))
            assert reader.read(raw).position.tolist() == [float(value)] * len(names)
    assert deserialized.call_count == 2


def test_padding_may_have_any_value(deserialized: Mock) -> None:
    reader = JointStateBytes()
    first = bytearray(serialize_message(state(["a", "bcd"])))
    begin = first.index(b"a\0")
    for value in range(5):
        first[begin + 2 : begin + 4] = bytes([value, 255 - value])
        assert reader.read(bytes(first)).name == ["a", "bcd"]
    assert deserialized.call_count == 1


def test_other_names_of_the_same_length_are_detected_and_earlier_results_are_kept() -> None:
    reader = JointStateBytes()
    for names in (["a", "b"], ["b", "a"], ["a", "c"], ["a", "b"]):
        assert reader.read(serialize_message(state(names))).name == names
    early = [reader.read(serialize_message(state(["a"], value))) for value in (1.0, 2.0, 3.0, 4.0)]
    assert [states.position[0] for states in early] == [1.0, 2.0, 3.0, 4.0]


def test_an_effort_is_not_taken_for_a_velocity() -> None:
    """One velocity and no effort have the same length as no velocity and one effort."""
    one, none = state(["a"]), state(["a"], velocities=False)
    one.effort = array("d")
    raws = [serialize_message(message) for message in (one, none)]
    assert len(raws[0]) == len(raws[1])
    for reader, order in ((JointStateBytes(), raws), (JointStateBytes(), raws[::-1])):
        for raw in order:
            assert_read(reader, raw)


@pytest.mark.parametrize("count", [0, 1, 3, 0x7FF00000])
def test_another_number_of_efforts_than_the_length_allows_is_refused(count: int) -> None:
    """The node `governor` sends the bytes on: subscribers could not decode them."""
    good = serialize_message(state(["a", "b"]))
    at = len(good) - 16 - 4 - 4  # before two efforts, and the bytes that align them
    assert good[at : at + 4] == struct.pack("=I", 2)
    bad = good[:at] + struct.pack("=I", count) + good[at + 4 :]
    reader = JointStateBytes()
    reader.read(good)
    if count <= 2:
        assert reader.read(bad).effort.size == count
    else:
        with refused("message-unreadable"):
            reader.read(bad)


def test_another_byte_order_is_left_to_rclpy(deserialized: Mock) -> None:
    """As from a big-endian machine, without names and numbers."""
    big = bytes(4) + struct.pack(">3i", 5, 7, 1) + bytes(20)  # the stamp, and the length of an empty text
    reader = JointStateBytes()
    for _ in range(3):
        states = reader.read(big)
        assert (states.stamp.sec, states.stamp.nanosec, states.name) == (5, 7, [])
    assert deserialized.call_count == 3


def test_half_a_message_is_refused_and_memory_for_layouts_is_limited() -> None:
    reader = JointStateBytes()
    raw = serialize_message(state(["shoulder", "elbow"]))
    reader.read(raw)
    for length in (0, 3, 4, 11, 12, 20, 40):
        with refused("message-unreadable", message="joint state"):
            reader.read(raw[:length])
        assert_read(reader, raw)
    for k in range(100):
        assert_read(reader, serialize_message(state(["x" * k])))
    assert len(reader._layouts) <= 16


@pytest.mark.parametrize("seed", range(20))
def test_offsets_do_not_depend_on_bytes_between_fields(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not initialised: here they change, as if values of the field were left there."""
    rng = np.random.default_rng(seed)
    padding = slice(16, 20)  # between the length of the vector and its first number

    def serialized(message: Float64MultiArray) -> bytes:
        raw = bytearray(serialize_message(message))
        raw[padding] = bytes(rng.choice([0x00, 0x11], 4).tolist())
        return bytes(raw)

    monkeypatch.setattr(joint_state_bytes, "serialize_message", serialized)
    for size in (1, 2, 7):
        message = MessageBytes(Float64MultiArray(), {"data": size})
        message.vector("data")[:] = np.arange(1.0, size + 1.0)
        read = deserialize_message(bytes(message.raw), Float64MultiArray)
        assert read.data.tolist() == np.arange(1.0, size + 1.0).tolist()
