# SPDX-License-Identifier: Apache-2.0
"""Joint values and efforts in messages, by name and by order."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message
from refusals import refused
from robot_files import ROBOTS
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import dyn_core
from dyn_core.control.laws.inverse_dynamics_control import Terms
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_msgs.msg import JointReference, JointTorques
from dyn_nodes.common.decoding import MOST_POINTS
from dyn_nodes.common.messages.joint_reader import JointReader
from dyn_nodes.common.messages.message_stamps import check_stamp
from dyn_nodes.common.messages.motion_message import (
    controller_motion,
    measured_motion,
    reference_motion,
    sampling_times,
)
from dyn_nodes.common.torques.effort_messages import CommandOrder, Outputs, named_efforts
from dyn_nodes.common.torques.output_stage import Output

JOINTS = ("shoulder", "elbow")
MISSING, REPEATED = "message-joints-missing", "message-joint-repeated"
UNKNOWN, SHORT, BAD = "message-joint-unknown", "message-values-missing", "message-value-implausible"


def state_reader() -> JointReader:
    return JointReader(JOINTS, "joint state", others=True)


def reference_reader(passive: Sequence[str] = ()) -> JointReader:
    return JointReader(JOINTS, "reference", others=False, passive=passive)


def test_positions_are_in_the_order_of_the_robot_for_any_order_in_the_message() -> None:
    """Values without a name are ignored, and names may change from message to message."""
    reader = state_reader()
    assert reader.positions(["elbow", "shoulder"], [2.0, 1.0, 9.0]).tolist() == [1.0, 2.0]
    assert reader.positions(["shoulder", "elbow"], [1.0, 2.0, 9.0]).tolist() == [1.0, 2.0]
    for names in (["shoulder", "elbow"], ["elbow", "shoulder"], ["a", "shoulder", "b", "elbow"]) * 2:
        numbers = [{"shoulder": 1.0, "elbow": 2.0}.get(name, math.inf) for name in names]
        assert reader.positions(names, array("d", numbers)).tolist() == [1.0, 2.0]
        with refused(MISSING, missing=["elbow"]):
            reader.positions(["shoulder"], [1.0])
    assert reader.positions(["gripper", "elbow", "shoulder"], [math.nan, 2.0, 1.0]).tolist() == [1.0, 2.0]
    assert reader.values([9.0, 4.0, 3.0], "velocity").tolist() == [3.0, 4.0]
    numbers = array("d", [1.0, 2.0])
    q = state_reader().positions(list(JOINTS), numbers)
    numbers[0] = 7.0
    assert q.tolist() == [1.0, 2.0]  # a copy


def test_messages_with_other_joints_are_ignored() -> None:
    for names, concerned in ((["elbow"], True), (["gripper"], False), ([], False)):
        assert state_reader().concerns(names) is concerned


@pytest.mark.parametrize(
    ("names", "numbers", "code", "values"),
    [
        (["shoulder"], [1.0], MISSING, {"missing": ["elbow"]}),
        ([], [], MISSING, {"missing": ["shoulder", "elbow"]}),
        (["elbow", "shoulder", "elbow"], [1.0, 2.0, 1.0], REPEATED, {"joint": "elbow"}),
        (["shoulder", "elbow"], [1.0], SHORT, {"names": 2, "count": 1, "joint": "elbow"}),
        (["shoulder", "elbow"], [1.0, math.nan], BAD, {"joint": "elbow", "quantity": "position"}),
        (["shoulder", "elbow"], [-math.inf, 1.0], BAD, {"joint": "shoulder", "given": -math.inf}),
    ],
)
def test_unusable_positions_are_refused(
    names: list[str], numbers: list[float], code: str, values: dict[str, Any]
) -> None:
    with refused(code, message="joint state", **values):
        state_reader().positions(names, numbers)


def measured(velocities: list[float], read: bool = True) -> np.ndarray | None:
    message = JointState(name=list(JOINTS), position=[1.0, 2.0], velocity=velocities)
    return measured_motion(message, state_reader(), velocities=read).qd


def test_measured_velocities() -> None:
    not_measured = [math.nan, math.nan]  # joint_state_broadcaster sends these
    for given in ([], [3.0, 4.0], not_measured, [3.0, math.nan], [3.0]):
        assert measured(given, read=False) is None
    assert measured([]) is measured(not_measured) is None
    assert np.array_equal(measured([3.0, 4.0]), [3.0, 4.0])
    with refused(BAD, joint="elbow", quantity="velocity"):
        measured([3.0, math.nan])
    with refused(SHORT, joint="elbow", names=2, count=1, quantities="velocities"):
        measured([3.0])


def test_references_may_lack_derivatives_but_no_joint() -> None:
    message, reader = JointReference(name=["elbow", "shoulder"], position=[2.0, 1.0]), reference_reader()
    given = reference_motion(message, reader)
    assert (given.q.tolist(), given.qd, given.qdd) == ([1.0, 2.0], None, None)
    message.velocity, message.acceleration = [4.0, 3.0], [6.0, 5.0]
    given = reference_motion(message, reader)
    assert [v.tolist() for v in given[:3]] == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert not given.passive


@pytest.mark.parametrize(
    ("fields", "code", "values"),
    [
        ({"name": ["wrist", *JOINTS], "position": [0.0, 1.0, 2.0]}, UNKNOWN, {"joint": "wrist"}),
        ({"name": ["shoulder"], "position": [1.0]}, MISSING, {"missing": ["elbow"]}),
        ({"velocity": [1.0]}, SHORT, {"joint": "elbow", "quantities": "velocities"}),
        ({"acceleration": [1.0, math.inf]}, BAD, {"joint": "elbow", "quantity": "acceleration"}),
    ],
)
def test_unusable_references_are_refused(fields: dict[str, Any], code: str, values: dict[str, Any]) -> None:
    message = JointReference(**{"name": list(JOINTS), "position": [1.0, 2.0], **fields})
    with refused(code, message="reference", **values):
        reference_motion(message, reference_reader())


def test_passive_joints_may_be_named_and_may_lack_values() -> None:
    reader = reference_reader(["rod", "link", "crank"])
    message = JointReference(name=["rod", "elbow", "shoulder", "link"], position=[7.0, 2.0, 1.0, math.nan])
    given = reference_motion(message, reader)
    assert (given.q.tolist(), given.passive) == ([1.0, 2.0], {"rod": 7.0})
    message.position[0] = math.inf
    with refused(BAD, message="reference", joint="rod", quantity="position", given=math.inf):
        reference_motion(message, reader)
    with refused(UNKNOWN, joint="wrist"):
        reference_motion(JointReference(name=["wrist", *JOINTS], position=[0.0] * 3), reader)
    with refused(MISSING, missing=["elbow"]):
        reference_motion(JointReference(name=["shoulder", "rod"], position=[0.0] * 2), reader)


@pytest.mark.parametrize("field", ["reference", "desired"])
def test_the_state_of_a_controller_is_a_reference(field: str) -> None:
    """From the old and the new version of control_msgs, which need not be installed."""
    q, qd = array("d", [2.0, 1.0]), array("d", [4.0, 3.0])
    point = SimpleNamespace(positions=q, velocities=qd, accelerations=array("d"))
    state = SimpleNamespace(joint_names=("elbow", "shoulder"), **{field: point})
    given = controller_motion(state, reference_reader())
    assert [v if v is None else v.tolist() for v in given[:3]] == [[1.0, 2.0], [3.0, 4.0], None]


NOW = 1_700_000_000 * 10**9


@pytest.mark.parametrize(
    ("stamp", "now", "code"),
    [
        (NOW - 200_000_000, NOW, "stamp-too-old"),
        (NOW + 200_000_000, NOW, "stamp-in-future"),
        (0, NOW, "message-without-stamp"),
        (0, 0, "message-without-stamp"),
        (10**9, NOW, "stamp-years-old"),
        (NOW, 10**9, "stamp-years-ahead"),
        (NOW, 0, "clock-not-received"),
    ],
)
def test_ages(stamp: int, now: int, code: str) -> None:
    for near in (-100_000_000, 0, 100_000_000):
        check_stamp("reference", NOW + near, NOW, 0.1)
    age = {"age": 1e-9 * abs(now - stamp), "limit": 0.1} if code.startswith("stamp") else {}
    with refused(code, message="reference", **age):
        check_stamp("reference", stamp, now, 0.1)


LINK = """<link name="link_{0}"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="{0}" type="continuous"><parent link="{1}"/><child link="link_{0}"/></joint>"""
LINKS = "".join(LINK.format(*ends) for ends in (("a", "base"), ("b", "link_a"), ("c", "link_b")))
ROBOT = dyn_core.load_robot(f'<robot name="arm"><link name="base"/>{LINKS}</robot>', {"passive": ["b"]})


def test_efforts_without_and_with_names() -> None:
    """By default arrays have all actuated joints; joints without a value get zero."""
    assert CommandOrder(ROBOT, ["c", "a"]).efforts([3.0, 1.0]).tolist() == [1.0, 0.0, 3.0]
    assert CommandOrder(ROBOT, []).names == ("a", "c")
    assert named_efforts("torques", ("a", "b", "c"), ["c"], [5.0]).tolist() == [0.0, 0.0, 5.0]


def ordered(names: list[str], numbers: list[float]) -> object:
    return CommandOrder(ROBOT, names).efforts(numbers)


def named(names: list[str], numbers: list[float]) -> object:
    return named_efforts("torques", ("a", "b"), names, numbers)


@pytest.mark.parametrize(
    ("efforts", "names", "numbers", "code", "values"),
    [
        (ordered, ["a", "d"], [], "command-joint-unknown", {"joint": "d"}),
        (ordered, ["b"], [], "command-joint-passive", {"joint": "b"}),
        (ordered, ["a", "a"], [], "command-joint-repeated", {"joint": "a"}),
        (ordered, [], [], "command-size", {"given": 0, "count": 2, "known": "a, c"}),
        (ordered, [], [1.0, 2.0, 3.0], "command-size", {"given": 3}),
        (ordered, [], [1.0, math.nan], "effort-implausible", {"joint": "c"}),
        (ordered, [], [math.inf, 1.0], "effort-implausible", {"joint": "a", "given": math.inf}),
        (named, ["a", "x"], [1.0, 2.0], "effort-joint-unknown", {"joint": "x"}),
        (named, ["a", "a"], [1.0, 2.0], "effort-joint-repeated", {"joint": "a"}),
        (named, ["a", "b"], [1.0], "effort-counts-differ", {"names": 2, "count": 1}),
        (named, ["a", "b"], [1.0, -math.inf], "effort-implausible", {"joint": "b", "given": -math.inf}),
    ],
)
def test_unusable_efforts_are_refused(
    efforts: Callable[..., object], names: list[str], numbers: list[float], code: str, values: dict[str, Any]
) -> None:
    with refused(code, **({"message": "torques"} if efforts is named else {}), **values):
        efforts(names, numbers)


class Topic:
    """A publisher that records the message that rclpy reads from its bytes."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self.messages: list[Any] = []

    def publish(self, raw: bytes) -> None:
        self.messages.append(deserialize_message(raw, self._kind))


@pytest.mark.parametrize("command_joints", [[], ["stretch", "turn"]])
def test_published_bytes(command_joints: list[str]) -> None:
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    torques, commands = Topic(JointTorques), Topic(Float64MultiArray)
    outputs = Outputs(robot, command_joints, torques, commands)  # type: ignore[arg-type]
    random = np.random.default_rng(0)
    order = [robot.joint_names.index(name) for name in command_joints or robot.joint_names]
    for k in range(5):
        values = random.uniform(-1e3, 1e3, (6, robot.dof))
        values[0, 0] = 0.0
        stamp = Time(sec=int(random.integers(2**31)), nanosec=int(random.integers(10**9)))
        outputs.publish(Output(Terms(*values[:5]), values[5], k, None), stamp)
        message = torques.messages[-1]
        assert (message.header.stamp, message.header.frame_id, message.status) == (stamp, "", k)
        assert message.name == list(robot.joint_names)
        fields = ("inertial", "coriolis", "gravity", "friction", "total")
        assert [getattr(message, name).tolist() for name in fields] == values[[0, 1, 2, 3, 5]].tolist()
        command = commands.messages[-1]
        assert command.data.tolist() == values[5][order].tolist()
        (dim,), n = command.layout.dim, len(order)
        assert (dim.label, dim.size, dim.stride, command.layout.data_offset) == ("joints", n, n, 0)


def test_the_times_of_efforts_along_a_trajectory() -> None:
    def times(end: float) -> np.ndarray:
        return sampling_times(Trajectory.standing(np.zeros(2), end), 1.0, 0.5)

    assert times(2.0).tolist() == [1.5, 2.0]
    assert times(2.25).tolist() == [1.5, 2.0, 2.25], "the end comes last, also within a period"
    assert len(times(1.0 + 0.5 * MOST_POINTS)) == MOST_POINTS
    with refused("effort-points-too-many", count=MOST_POINTS + 1):
        times(1.0 + 0.5 * (MOST_POINTS + 1))
