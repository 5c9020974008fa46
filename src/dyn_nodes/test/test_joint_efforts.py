# SPDX-License-Identifier: Apache-2.0
"""Efforts from messages, by order and by name."""

from __future__ import annotations

import math

import pytest

import dyn_core
from dyn_core import DynError
from dyn_nodes.joint_efforts import CommandOrder, named_efforts
from dyn_nodes.rejection import Rejection

ARM = """<robot name="arm"><link name="base"/>{}</robot>"""
LINK = """
<link name="link_{0}"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="{0}" type="continuous"><parent link="{1}"/><child link="link_{0}"/></joint>"""
ROBOT = dyn_core.load_robot(
    ARM.format(LINK.format("a", "base") + LINK.format("b", "link_a") + LINK.format("c", "link_b")),
    loops={"passive": ["b"]},
)


def test_arrays_are_in_the_order_of_the_parameter() -> None:
    order = CommandOrder(ROBOT, ["c", "a"])
    assert order.efforts([3.0, 1.0]).tolist() == [1.0, 0.0, 3.0]


def test_without_a_parameter_they_have_all_actuated_joints() -> None:
    assert CommandOrder(ROBOT, []).names == ("a", "c")


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["a", "d"], "command_joints names 'd', which the robot 'arm' does not have"),
        (["b"], "command_joints names 'b', which has no actuator"),
        (["a", "a"], "command_joints names 'a' twice"),
    ],
)
def test_orders_that_will_not_do(names: list[str], sentence: str) -> None:
    with pytest.raises(DynError, match=sentence):
        CommandOrder(ROBOT, names)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([], "command has 0 values, but there are 2 joints: a, c"),
        ([1.0, 2.0, 3.0], "command has 3 values"),
        ([1.0, math.nan], "the value of joint 'c' is nan"),
        ([math.inf, 1.0], "the value of joint 'a' is inf"),
    ],
)
def test_arrays_that_will_not_do(values: list[float], sentence: str) -> None:
    with pytest.raises(Rejection, match=sentence):
        CommandOrder(ROBOT, []).efforts(values)


def test_efforts_by_name_are_zero_for_the_others() -> None:
    assert named_efforts("torques", ("a", "b", "c"), ["c"], [5.0]).tolist() == [0.0, 0.0, 5.0]


@pytest.mark.parametrize(
    ("names", "values", "sentence"),
    [
        (["a", "x"], [1.0, 2.0], "torques name joint 'x', which the robot does not have"),
        (["a", "a"], [1.0, 2.0], "torques name joint 'a' more than once"),
        (["a", "b"], [1.0], "torques have 2 names but 1 values"),
        (["a", "b"], [1.0, -math.inf], "the value of joint 'b' is -inf"),
    ],
)
def test_efforts_by_name_that_will_not_do(names: list[str], values: list[float], sentence: str) -> None:
    with pytest.raises(Rejection, match=sentence):
        named_efforts("torques", ("a", "b"), names, values)
