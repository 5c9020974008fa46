# SPDX-License-Identifier: Apache-2.0
"""Each check of `fuzz/torque_checker.py` passes good messages of a node, and finds the bad ones.

The bytes are those of rclpy; the checker decodes them by itself.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from message_makers import joint_state, point, reference, stamp_at, trajectory
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray, Header
from torque_checker import ACTIVATED, DEACTIVATED, EVENT, HEARD, PUBLISHED, Case, Checker, check_stream, frame

from dyn_msgs.msg import JointTorques

URDF = """<robot name="two">
<joint name="a" type="revolute"><limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
<joint name="b" type="continuous"><limit effort="20" velocity="1"/></joint>
<joint name="f" type="fixed"/></robot>"""
CASE = Case.of_description(URDF, timeout=0.25)
NAMES = ("a", "b")
PERIOD_S = 0.01
OK, LIMITED, HELD, ZERO, RAMPING = range(5)
Told = list[str]


class Node:
    """What a checker is told of a node whose steady clock and clock of stamps advance together."""

    def __init__(self, case: Case = CASE) -> None:
        self.checker = Checker(case)
        self.now, self.clock = 100.0, 10**12

    def wait(self, seconds: float = PERIOD_S) -> None:
        self.now += seconds
        self.clock += round(1e9 * seconds)

    def hears(self, topic: str, message: Any) -> None:
        raw = message if isinstance(message, bytes) else serialize_message(message)
        self.checker.heard(topic, raw, self.now, self.clock)

    def measures(
        self, q: Sequence[float] = (0.0, 0.0), age_s: float = 0.0, names: Sequence[str] = NAMES
    ) -> None:
        self.hears("/joint_states", joint_state(stamp_at(self.clock - round(1e9 * age_s)), q, (), names))

    def torques(self, total: Sequence[float], status: int = OK, age_s: float = 0.0, **others: Any) -> bytes:
        stamp = stamp_at(self.clock - round(1e9 * age_s))
        zeros = [0.0] * len(total)
        terms = dict.fromkeys(("inertial", "coriolis", "gravity", "friction"), zeros)
        given = {"name": list(NAMES), "total": list(total), "status": status, **terms, **others}
        raw: bytes = serialize_message(JointTorques(header=Header(stamp=stamp), **given))
        return raw

    def sends(self, total: Sequence[float], status: int = OK, age_s: float = 0.0, **others: Any) -> str:
        """Send torques and the same commands; return what the checker says of either."""
        raw = self.torques(total, status, age_s, **others)
        problem = self.checker.published("torques", raw, self.now, self.clock)
        return problem or self.commands(total)

    def commands(self, values: Sequence[float]) -> str:
        raw = serialize_message(Float64MultiArray(data=list(values)))
        return self.checker.published("commands", raw, self.now, self.clock)

    def runs(self, total: Sequence[float], seconds: float, status: int = RAMPING) -> str:
        """Go to torques in a ramp from zero, with joint states; return the first problem."""
        steps = round(seconds / PERIOD_S)
        for k in range(steps + 1):
            u = k / steps
            part = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
            self.measures()
            if problem := self.sends([part * x for x in total], status if k < steps else OK):
                return problem
            self.wait()
        return ""

    @classmethod
    def at(cls, total: Sequence[float], case: Case = CASE) -> Node:
        """Return a node that has begun well."""
        node = cls(case)
        assert node.runs(total, 0.5) == ""
        return node


def test_good_torques_pass() -> None:
    node = Node.at([4.0, -8.0])
    for change in (0.5, -0.4, 0.6):
        node.measures()
        assert node.sends([4.0 + change, -8.0], LIMITED) == ""
        node.wait()
    node.wait(1.0)
    assert node.sends([4.6, -8.0], HELD) == ""
    node.checker.told(DEACTIVATED)
    assert node.sends([0.0, 0.0], ZERO) == ""
    node.checker.told(ACTIVATED)
    node.wait(2.0)
    assert node.runs([3.0, 3.0], 0.5) == ""


def test_a_change_is_bounded_by_the_time_since_the_last_message() -> None:
    """0.5 N m in 1 ms is the rate of joint a; 2 N m is the most after a pause, and nothing without one."""
    of_time = (
        (0.0, 0.0, 1e-3),
        (0.001, 0.5, 0.501),
        (0.004, 2.0, 2.001),
        (0.01, 2.0, 2.001),
        (0.2, 2.0, 2.001),
    )
    for seconds, good, bad in of_time:
        for change, is_bad in ((good, False), (bad, True)):
            node = Node.at([4.0, -8.0])
            node.wait(seconds - PERIOD_S)
            node.measures()
            assert ("changes by" in node.sends([4.0 + change, -8.0])) == is_bad


def test_torques_after_an_activation_begin_with_those_of_before() -> None:
    """Zero before any; a change that is within the rate is wrong all the same."""
    assert "begin" in Node().sends([0.1, 0.0], RAMPING)
    for first, is_bad in (([4.0, -8.0], False), ([2.5, -8.0], True), ([4.0, -7.9], True)):
        node = Node.at([4.0, -8.0])
        node.checker.told(DEACTIVATED)
        node.checker.told(ACTIVATED)
        node.wait(2.0)
        node.measures()
        assert ("begin" in node.sends(first, RAMPING)) == is_bad


def test_torques_after_an_activation_come_in_a_ramp() -> None:
    """Each step is within the rate, but after a tenth of the ramp there is more than a ramp can have."""
    assert "of the ramp" in Node().runs([9.0, 0.0], 0.2)
    assert Node(replace(CASE, ramp=0.2)).runs([9.0, 0.0], 0.2) == ""


def test_the_last_message_alone_may_step() -> None:
    node = Node.at([4.0, -8.0])
    node.checker.told(DEACTIVATED)
    assert node.sends([0.0, 0.0], ZERO) == ""
    assert "changes by" in node.sends([4.0, -8.0], ZERO)
    assert "changes by" in Node.at([4.0, -8.0]).sends([0.0, 0.0], ZERO)
    unseen = Node.at([4.0, -8.0], replace(CASE, sees_all=False))
    assert unseen.sends([0.0, 0.0], ZERO) == ""


@pytest.mark.parametrize("age_s", [0.26, -0.11, 1e6, -1e6])
def test_an_old_or_a_future_stamp_is_found(age_s: float) -> None:
    node = Node.at([1.0, 1.0])
    node.measures()
    assert "stamp is" in node.sends([1.0, 1.0], RAMPING, age_s)
    assert node.sends([1.0, 1.0], OK, 0.05) == ""


BAD_STATES: dict[str, Callable[[Node], None]] = {
    "none": lambda node: None,
    "old": lambda node: node.measures(age_s=0.2),
    "of the future": lambda node: node.measures(age_s=-0.2),
    "not finite": lambda node: node.measures([math.nan, 0.0]),
    "implausible": lambda node: node.measures([1e10, 0.0]),
    "without a joint": lambda node: node.measures([0.0], names=["a"]),
    "with a joint twice": lambda node: node.measures([0.0, 0.0, 0.0], names=["a", "b", "b"]),
    "too short": lambda node: node.measures([0.0]),
    "damaged": lambda node: node.hears("/joint_states", b"\0\1\0\0\1"),
}


@pytest.mark.parametrize("bad", BAD_STATES)
def test_live_torques_for_bad_joint_states_alone_are_found(bad: str) -> None:
    node = Node.at([1.0, 1.0])
    for _ in range(30):
        BAD_STATES[bad](node)
        node.wait()
    assert "live" in node.sends([1.0, 1.0], OK)
    assert "live" not in node.sends([1.0, 1.0], HELD)
    node.measures()
    assert node.sends([1.0, 1.0], OK) == ""


def motion(**changes: Any) -> Any:
    """Return a trajectory of two points that can be followed, or with changes in the second one."""
    second = point(1.0, [0.5, 2.0], [0.0, 0.0])
    for name, value in changes.items():
        setattr(second, name, value)
    return trajectory(point(0.5, [0.1, 0.1]), second, names=NAMES)


BAD_TRAJECTORIES: dict[str, Any] = {
    "any bytes": b"\0\1\0\0" + bytes(range(100)),
    "no bytes": b"",
    "cut": serialize_message(motion())[:120],
    "not finite": motion(positions=[math.nan, 0.0]),
    "infinite velocity": motion(velocities=[math.inf, 0.0]),
    "too few positions": motion(positions=[0.0]),
    "too many velocities": motion(velocities=[0.0, 0.0, 0.0]),
    "out of range": motion(positions=[1.02, 0.0]),
    "out of order": trajectory(point(1.0, [0.0, 0.0]), point(0.5, [0.0, 0.0]), names=NAMES),
    "without a joint": trajectory(point(1.0, [0.0]), names=["a"]),
    "with a joint twice": trajectory(point(1.0, [0.0] * 3), names=["a", "b", "b"]),
}


@pytest.mark.parametrize("bad", BAD_TRAJECTORIES)
def test_live_torques_for_a_bad_trajectory_alone_are_found(bad: str) -> None:
    node = Node.at([1.0, 1.0], replace(CASE, follows_desired=True))
    node.hears("joint_trajectory", BAD_TRAJECTORIES[bad])
    node.wait(1.0)
    assert "live" in node.sends([1.0, 1.0], OK)
    for good in (motion(), trajectory(names=NAMES)):
        node.hears("joint_trajectory", good)
        assert node.sends([1.0, 1.0], OK) == ""
    node.checker.told(DEACTIVATED)
    node.checker.told(ACTIVATED)
    assert "live" in node.sends([1.0, 1.0], OK)


def test_references_keep_torques_live_until_the_timeout_where_the_mode_follows_them() -> None:
    for follows in (True, False):
        node = Node.at([1.0, 1.0], replace(CASE, follows_desired=follows))
        node.wait(1.0)
        node.hears("reference", reference(stamp_at(node.clock), [0.0, 0.0], (), (), NAMES))
        assert ("live" in node.sends([1.0, 1.0], OK)) != follows
        node.wait(0.3)
        assert "live" in node.sends([1.0, 1.0], OK)


BAD_TORQUES: dict[str, tuple[str, dict[str, Any]]] = {
    "other joints": ("joints are", {"name": ["a", "c"]}),
    "a vector is short": ("lengths", {"gravity": [0.0]}),
    "a term is not finite": ("not finite", {"friction": [0.0, math.nan]}),
    "an unknown status": ("status", {"status": 5}),
}


@pytest.mark.parametrize("bad", BAD_TORQUES)
def test_bad_fields_of_torques_are_found(bad: str) -> None:
    problem, changes = BAD_TORQUES[bad]
    node = Node.at([1.0, 1.0])
    node.measures()
    assert problem in node.sends([1.0, 1.0], **changes)


def test_torques_beyond_their_limit_are_found() -> None:
    node = Node.at([9.5, 0.0])
    node.measures()
    assert "gets" in node.sends([10.1, 0.0])
    node.wait()
    assert node.sends([10.0, 0.0]) == ""


def test_bytes_that_are_cut_or_too_many_are_found() -> None:
    node = Node.at([1.0, 1.0])
    raw = node.torques([1.0, 1.0])
    for bad in (raw[:-9], raw + bytes(5), b"", raw[4:]):
        assert "decoded" in node.checker.published("torques", bad, node.now, node.clock)


def test_commands_are_the_torques_in_their_order() -> None:
    node = Node(replace(CASE, commanded=["b", "a"]))
    node.measures()
    assert node.checker.published("torques", node.torques([0.0, 0.0], RAMPING), node.now, node.clock) == ""
    node.wait()
    node.measures()
    assert node.checker.published("torques", node.torques([1e-9, 0.0], RAMPING), node.now, node.clock) == ""
    assert node.commands([0.0, 1e-9]) == ""
    assert "are not the torques" in node.commands([1e-9, 0.0])
    assert "1 commands" in node.commands([0.0])


def test_a_stream_is_checked_as_the_messages_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Frames on standard input have the same effect, events included."""
    node = Node()
    state = serialize_message(joint_state(stamp_at(node.clock), [0.0, 0.0], (), NAMES))
    zero, other = node.torques([0.0, 0.0], RAMPING), node.torques([0.5, 0.0], RAMPING)

    def stream(*parts: tuple[int, str, bytes]) -> io.BytesIO:
        return io.BytesIO(b"".join(frame(node.now, node.clock, *part) for part in parts))

    good = ((HEARD, "/joint_states", state), (PUBLISHED, "torques", zero), (EVENT, DEACTIVATED, b""))
    assert check_stream(stream(*good, (PUBLISHED, "torques", other)), CASE) == 0
    assert check_stream(stream(*good[:2], (PUBLISHED, "torques", other)), CASE) == 1
    assert "changes by" in capsys.readouterr().out
