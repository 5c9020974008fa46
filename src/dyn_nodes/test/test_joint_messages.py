# SPDX-License-Identifier: Apache-2.0
"""Joint values from messages, by name."""

from __future__ import annotations

import math
from array import array

import pytest
from sensor_msgs.msg import JointState

from dyn_msgs.msg import JointReference
from dyn_nodes.common.messages.joint_reader import JointReader, check_age
from dyn_nodes.motion_message import controller_motion, measured_motion, reference_motion
from dyn_nodes.rejection import Rejection

JOINTS = ("shoulder", "elbow")


@pytest.fixture
def reader() -> JointReader:
    return JointReader(JOINTS, "joint state", others=True)


@pytest.fixture
def references() -> JointReader:
    return JointReader(JOINTS, "reference", others=False)


def test_order_is_that_of_the_names_asked_for(reader: JointReader) -> None:
    names = ["gripper", "elbow", "shoulder"]
    assert reader.positions(names, [math.nan, 2.0, 1.0]).tolist() == [1.0, 2.0]
    assert reader.values([9.0, 4.0, 3.0], "velocity").tolist() == [3.0, 4.0]


def test_values_without_a_name_are_passed_over(reader: JointReader) -> None:
    assert reader.positions(["elbow", "shoulder"], [2.0, 1.0, 9.0]).tolist() == [1.0, 2.0]
    assert reader.positions(["shoulder", "elbow"], [1.0, 2.0, 9.0]).tolist() == [1.0, 2.0]


def test_names_may_change_from_message_to_message(reader: JointReader) -> None:
    for names in (["shoulder", "elbow"], ["elbow", "shoulder"], ["a", "shoulder", "b", "elbow"]) * 2:
        numbers = [{"shoulder": 1.0, "elbow": 2.0}.get(name, math.inf) for name in names]
        assert reader.positions(names, array("d", numbers)).tolist() == [1.0, 2.0]
        with pytest.raises(Rejection, match="lacks joint 'elbow'"):
            reader.positions(["shoulder"], [1.0])


def test_the_answer_is_not_the_message(reader: JointReader) -> None:
    numbers = array("d", [1.0, 2.0])
    q = reader.positions(list(JOINTS), numbers)
    numbers[0] = 7.0
    assert q.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("names", "concerned"), [(["elbow"], True), (["gripper"], False), ([], False)])
def test_messages_of_others_do_not_concern_us(names: list[str], concerned: bool, reader: JointReader) -> None:
    assert reader.concerns(names) is concerned


BAD = {
    "joint state lacks joint 'elbow'": (["shoulder"], [1.0]),
    "joint state lacks joint 'shoulder', 'elbow'": ([], []),
    "joint state names joint 'elbow' more than once": (["elbow", "shoulder", "elbow"], [1.0, 2.0, 1.0]),
    "joint state has 2 names but 1 positions: joint 'elbow' has none": (["shoulder", "elbow"], [1.0]),
    "joint state gives joint 'elbow' the position nan": (["shoulder", "elbow"], [1.0, math.nan]),
    "joint state gives joint 'shoulder' the position -inf": (["shoulder", "elbow"], [-math.inf, 1.0]),
}


@pytest.mark.parametrize("sentence", BAD)
def test_what_cannot_be_used_is_named(sentence: str, reader: JointReader) -> None:
    names, values = BAD[sentence]
    with pytest.raises(Rejection) as refused:
        reader.positions(names, values)
    assert str(refused.value) == sentence


VELOCITIES = {
    "none": ([], None),
    "measured": ([3.0, 4.0], [3.0, 4.0]),
    "not measured, as joint_state_broadcaster says it": ([math.nan, math.nan], None),
    "one not measured": ([3.0, math.nan], "gives joint 'elbow' the velocity nan"),
    "too few": ([3.0], "2 names but 1 velocities: joint 'elbow' has none"),
}


@pytest.mark.parametrize("case", VELOCITIES)
def test_measured_velocities(case: str, reader: JointReader) -> None:
    given, expected = VELOCITIES[case]
    message = JointState(name=list(JOINTS), position=[1.0, 2.0], velocity=given)
    assert measured_motion(message, reader, velocities=False).qd is None
    if isinstance(expected, str):
        with pytest.raises(Rejection, match=expected):
            measured_motion(message, reader, velocities=True)
        return
    qd = measured_motion(message, reader, velocities=True).qd
    assert (None if qd is None else qd.tolist()) == expected


def test_references_may_lack_derivatives_but_no_joint(references: JointReader) -> None:
    message = JointReference(name=["elbow", "shoulder"], position=[2.0, 1.0])
    given = reference_motion(message, references)
    assert (given.q.tolist(), given.qd, given.qdd) == ([1.0, 2.0], None, None)
    message.velocity, message.acceleration = [4.0, 3.0], [6.0, 5.0]
    given = reference_motion(message, references)
    assert [v.tolist() for v in given[:3]] == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert not given.passive


def test_passive_joints_may_be_named_and_left_open() -> None:
    reader = JointReader(JOINTS, "reference", others=False, passive=["rod", "link", "crank"])
    message = JointReference(name=["rod", "elbow", "shoulder", "link"], position=[7.0, 2.0, 1.0, math.nan])
    given = reference_motion(message, reader)
    assert given.q.tolist() == [1.0, 2.0]
    assert given.passive == {"rod": 7.0}
    message.position[0] = math.inf
    with pytest.raises(Rejection, match="reference gives joint 'rod' the position inf"):
        reference_motion(message, reader)
    with pytest.raises(Rejection, match="reference has joint 'wrist', which the robot does not have"):
        reference_motion(JointReference(name=["wrist", *JOINTS], position=[0.0] * 3), reader)
    with pytest.raises(Rejection, match="reference lacks joint 'elbow'"):
        reference_motion(JointReference(name=["shoulder", "rod"], position=[0.0] * 2), reader)


BAD_REFERENCES = {
    "reference has joint 'wrist', which the robot does not have": {
        "name": ["wrist", *JOINTS],
        "position": [0.0, 1.0, 2.0],
    },
    "reference lacks joint 'elbow'": {"name": ["shoulder"], "position": [1.0]},
    "reference has 2 names but 1 velocities: joint 'elbow' has none": {"velocity": [1.0]},
    "reference gives joint 'elbow' the acceleration inf": {"acceleration": [1.0, math.inf]},
}


@pytest.mark.parametrize("sentence", BAD_REFERENCES)
def test_references_that_cannot_be_used(sentence: str, references: JointReader) -> None:
    message = JointReference(**{"name": list(JOINTS), "position": [1.0, 2.0], **BAD_REFERENCES[sentence]})
    with pytest.raises(Rejection) as refused:
        reference_motion(message, references)
    assert str(refused.value) == sentence


@pytest.mark.parametrize("field", ["reference", "desired"])
def test_the_state_of_a_controller_is_a_reference(field: str, references: JointReader) -> None:
    """Of the old and the new version of control_msgs, which need not be installed."""

    class Point:
        positions, velocities, accelerations = array("d", [2.0, 1.0]), array("d", [4.0, 3.0]), array("d")

    class State:
        joint_names = ("elbow", "shoulder")

    setattr(State, field, Point)
    given = controller_motion(State, references)
    assert [v if v is None else v.tolist() for v in given[:3]] == [[1.0, 2.0], [3.0, 4.0], None]


NOW = 1_700_000_000 * 10**9


@pytest.mark.parametrize("age", [0, 100_000_000, -100_000_000])
def test_ages_up_to_the_limit_pass(age: int) -> None:
    check_age("joint state", NOW - age, NOW, 0.1)


AGES = {
    "reference is 0.200 s old by its stamp, more than max_age = 0.1 s$": (NOW - 200_000_000, NOW),
    "reference is 0.200 s in the future by its stamp, more than max_age = 0.1 s$": (NOW + 200_000_000, NOW),
    "reference has no stamp": (0, NOW),
    "no stamp": (0, 0),
    "s old by its stamp, .*: is use_sim_time the same where it comes from?": (10**9, NOW),
    "s in the future by its stamp, .*: is use_sim_time the same": (NOW, 10**9),
    "nothing on /clock yet": (NOW, 0),
}


@pytest.mark.parametrize("sentence", AGES)
def test_ages_beyond_the_limit_are_named(sentence: str) -> None:
    with pytest.raises(Rejection, match=sentence):
        check_age("reference", *AGES[sentence], 0.1)
