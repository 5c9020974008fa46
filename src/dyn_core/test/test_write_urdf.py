# SPDX-License-Identifier: Apache-2.0
"""URDF to robot and back: the same dynamics, names, frames, limits and drives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from depth import some
from properties import examples, given, st
from random_urdf import random_driven_urdf
from robots import example
from same_robot import assert_same_robot

import dyn_core


def written(robot: dyn_core.Robot, **options: object) -> dyn_core.Robot:
    return dyn_core.load_robot(dyn_core.write_urdf(robot), **options)


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_our_robots(name: str) -> None:
    assert_same_robot(example(name), written(example(name)))


def test_a_robot_without_motion_is_written_in_its_position() -> None:
    urdf = (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 0 1"/><mimic joint="j2" multiplier="0" offset="0.5"/></joint>'
        '<link name="c"/><joint name="j2" type="fixed"><parent link="b"/><child link="c"/></joint></robot>'
    )
    again = written(dyn_core.load_robot(urdf))
    np.testing.assert_allclose(again.link_frame("c").T_body_link.R[1][0], np.sin(0.5), atol=1e-15)


def test_names_are_escaped_and_new_names_are_free() -> None:
    urdf = (
        """<robot name='a&lt;"&#10;'><link name='x"&amp;'/><link name='y'/><link name='z'/>"""
        """<joint name='f' type='fixed'><parent link='x"&amp;'/><child link='y'/></joint>"""
        """<joint name='y_fixed' type='prismatic'><parent link='y'/><child link='z'/></joint></robot>"""
    )
    again = written(dyn_core.load_robot(urdf))
    assert (again.link_names, again.joint_names) == (('x"&', "z", "y"), ("y_fixed",))


LOOP = """loops: [{name: closure, type: universal, axis: [0, 1, 0], axis2: [1, 0, 0], child: {link: LAST},
  parent: {link: FIRST, xyz: [0.1, 0.2, 0.3], rpy: [0.5, 0, 1]}}]"""


def test_loops_are_written() -> None:
    links = example("two_branch").link_names
    robot = example("two_branch", loops=LOOP.replace("FIRST", links[0]).replace("LAST", links[-1]))
    (loop,), (again,) = robot.loops, written(robot).loops
    assert replace(again, parent=loop.parent) == loop
    assert again.parent.link == loop.parent.link
    np.testing.assert_allclose(again.parent.T_link_cut.R, loop.parent.T_link_cut.R, atol=1e-15)


def test_properties_without_urdf_element_give_a_warning() -> None:
    side = {"passive": ["lift"], "friction": {"turn": {"offset": 1}}, "assembly": {"lift": 1}}
    robot = example("rrp", loops=side)
    with pytest.warns(dyn_core.ModelWarning) as caught:
        dyn_core.write_urdf(robot)
    assert [warning.message.code for warning in caught] == ["urdf-parts-lost"]
    assert caught[0].message.values["lost"] == "passive joint 'lift', offset torque of joint 'turn', assembly"


@pytest.mark.parametrize("n", some((1000, 8000), 1000))
def test_time_to_read_and_write_grows_linearly_with_size(n: int) -> None:
    """With quadratic time, 10 000 joints would take minutes."""
    links = "".join(f'<link name="l{j}"/>' for j in range(n + 1))
    joints = "".join(
        f'<joint name="j{j}" type="revolute"><parent link="l{j // 2}"/><child link="l{j}"/>'
        f'<axis xyz="0 0 1"/><origin xyz="0 0 1"/>'
        f'<mimic joint="j1" multiplier="{0 if j % 2 else 1}"/></joint>'
        for j in range(2, n + 1)
    )
    first = '<joint name="j1" type="revolute"><parent link="l0"/><child link="l1"/></joint>'
    loops = "".join(
        f'<loop_joint name="c{j}" type="revolute"><link1 link="l0"/><link2 link="l{j}"/></loop_joint>'
        for j in range(1, n + 1)
    )
    robot = dyn_core.load_robot(
        f'<robot name="r">{links}{first}{joints}{loops}</robot>',
        {"rotor_inertia": {f"j{j}": 1 for j in range(1, n + 1)}},
    )
    again = written(robot)
    assert (len(again.joints), len(again.loops), again.dof) == (n, n, 1)
    free = dyn_core.load_robot(dyn_core.write_par(robot), mimic=False)
    assert len(free.loops) == n


# Random chains and trees to URDF and back.


@examples(150)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.booleans(), st.sampled_from([0, "digits"]))
def test_random_robots(seed: int, joints: int, chain: bool, snap: float) -> None:
    """Any joints, fixed frames, mimic joints, limits, friction and rotors."""
    robot = dyn_core.load_robot(random_driven_urdf(seed, joints, chain), snap=snap)
    again = written(robot, snap=snap)
    assert all(abs(s.value - s.snapped_to) < 1e-11 for s in again.snapped)  # up to rounding
    assert robot.dof == 0 or [j.mimic for j in again.joints] == [j.mimic for j in robot.joints]
    assert_same_robot(robot, again, seed)
