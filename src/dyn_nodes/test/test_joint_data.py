# SPDX-License-Identifier: Apache-2.0
"""Joint values from messages, by name."""

from __future__ import annotations

import math

import pytest
from sensor_msgs.msg import JointState

from dyn_nodes.joint_data import check_age, positions
from dyn_nodes.rejection import Rejection

JOINTS = ("shoulder", "elbow")


def test_order_is_that_of_the_names_asked_for() -> None:
    message = JointState(name=["gripper", "elbow", "shoulder"], position=[math.nan, 2.0, 1.0])
    assert positions(message, JOINTS).tolist() == [1.0, 2.0]


def test_values_without_a_name_are_passed_over() -> None:
    message = JointState(name=["elbow", "shoulder"], position=[2.0, 1.0, 9.0])
    assert positions(message, JOINTS).tolist() == [1.0, 2.0]


BAD = {
    "joint state lacks joint 'elbow'": (["shoulder"], [1.0]),
    "joint state lacks joint 'shoulder', 'elbow'": ([], []),
    "joint state names joint 'elbow' more than once": (["elbow", "shoulder", "elbow"], [1.0, 2.0, 1.0]),
    "joint state has 2 names but 1 positions: joint 'elbow' has none": (["shoulder", "elbow"], [1.0]),
    "joint state gives joint 'elbow' the position nan": (["shoulder", "elbow"], [1.0, math.nan]),
    "joint state gives joint 'shoulder' the position -inf": (["shoulder", "elbow"], [-math.inf, 1.0]),
}


@pytest.mark.parametrize("sentence", BAD)
def test_what_cannot_be_used_is_named(sentence: str) -> None:
    names, values = BAD[sentence]
    with pytest.raises(Rejection) as refused:
        positions(JointState(name=names, position=values), JOINTS)
    assert str(refused.value) == sentence


@pytest.mark.parametrize("age", [0.0, 0.1, -0.1])
def test_ages_up_to_the_limit_pass(age: float) -> None:
    check_age(age, 0.1)


@pytest.mark.parametrize(("age", "when"), [(0.2, "0.200 s old"), (-0.2, "0.200 s in the future")])
def test_ages_beyond_the_limit_are_named(age: float, when: str) -> None:
    with pytest.raises(Rejection, match=f"joint state is {when} by its stamp, more than max_age = 0.1 s"):
        check_age(age, 0.1)
