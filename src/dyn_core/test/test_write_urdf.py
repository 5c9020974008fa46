# SPDX-License-Identifier: Apache-2.0
"""URDF to robot to URDF to robot: the same dynamics, names, frames, limits and drives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from properties import given, settings, st
from random_urdf import mimicking, random_urdf

import dyn_core
from dyn_core.geometry.forward import link_placements
from dyn_core.model.coupling import joint_positions

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"


def assert_same_robot(a: dyn_core.Robot, b: dyn_core.Robot, seed: int = 0) -> None:
    """Compare names, placements of links, and torques with wrenches, friction and rotors."""
    assert (a.name, a.joint_names, sorted(a.link_names)) == (b.name, b.joint_names, sorted(b.link_names))
    assert a.dof == 0 or a.limits == b.limits
    random = np.random.default_rng(seed)
    q, qd, qdd = random.uniform(-2.0, 2.0, (3, 3, a.dof))
    tip = a.link_names[-1]
    one, other = (
        dyn_core.compile_model(robot, backend="python").inverse_dynamics(
            q, qd, qdd, {tip: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
        )
        for robot in (a, b)
    )
    np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-10 * max(np.abs(one).max(initial=0.0), 1e-3))
    here, there = (link_placements(robot, joint_positions(robot, q[0].tolist())) for robot in (a, b))
    for link, T in here.items():
        np.testing.assert_allclose(T.R, there[link].R, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(T.p, there[link].p, rtol=0.0, atol=1e-12 * 60)


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_our_robots(name: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf")
    assert_same_robot(robot, dyn_core.load_robot(dyn_core.write_urdf(robot)))


def with_armature(random, index):
    return mimicking(random, index).replace("<dynamics ", f'<dynamics armature="{random.random()!r}" ')


@settings(max_examples=400, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 20), snap=st.sampled_from([0, "digits"]))
def test_random_trees(seed: int, joints: int, snap: float) -> None:
    """Any joints, fixed frames, mimics, limits, friction and rotors."""
    robot = dyn_core.load_robot(random_urdf(seed, joints, with_armature), snap=snap)
    text = dyn_core.write_urdf(robot)
    again = dyn_core.load_robot(text, snap=snap)
    assert all(abs(s.value - s.snapped_to) < 1e-14 for s in again.snapped)  # up to rounding
    assert robot.dof == 0 or [j.mimic for j in again.joints] == [j.mimic for j in robot.joints]
    assert_same_robot(robot, again, seed)


def test_a_robot_that_cannot_move_is_written_where_it_stands() -> None:
    urdf = (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 0 1"/><mimic joint="j2" multiplier="0" offset="0.5"/></joint>'
        '<link name="c"/><joint name="j2" type="fixed"><parent link="b"/><child link="c"/></joint></robot>'
    )
    robot = dyn_core.load_robot(urdf)
    again = dyn_core.load_robot(dyn_core.write_urdf(robot))
    np.testing.assert_allclose(again.link_frame("c").T_body_link.R[1][0], np.sin(0.5), atol=1e-15)


def test_names_are_escaped_and_new_names_are_free() -> None:
    urdf = (
        """<robot name='a&lt;"&#10;'><link name='x"&amp;'/><link name='y'/><link name='z'/>"""
        """<joint name='f' type='fixed'><parent link='x"&amp;'/><child link='y'/></joint>"""
        """<joint name='y_fixed' type='prismatic'><parent link='y'/><child link='z'/></joint></robot>"""
    )
    robot = dyn_core.load_robot(urdf)
    again = dyn_core.load_robot(dyn_core.write_urdf(robot))
    assert again.link_names == ('x"&', "z", "y")
    assert again.joint_names == ("y_fixed",)


def test_loops_are_written() -> None:
    urdf = (ROBOTS / "two_branch.urdf").read_text()
    links = dyn_core.load_robot(urdf).link_names
    side = {
        "loops": [
            {
                "name": "closure",
                "type": "universal",
                "parent": {"link": links[0], "xyz": [0.1, 0.2, 0.3], "rpy": [0.5, 0, 1]},
                "child": {"link": links[-1]},
                "axis": [0, 1, 0],
                "axis2": [1, 0, 0],
            }
        ]
    }
    robot = dyn_core.load_robot(urdf, side)
    (loop,) = robot.loops
    (again,) = dyn_core.load_robot(dyn_core.write_urdf(robot)).loops
    assert (again.name, again.type, again.axis, again.child_axis, again.child) == (
        loop.name,
        loop.type,
        loop.axis,
        loop.child_axis,
        loop.child,
    )
    np.testing.assert_allclose(again.parent.T_link_cut.R, loop.parent.T_link_cut.R, atol=1e-15)


def test_what_urdf_cannot_say_is_said() -> None:
    robot = dyn_core.load_robot(
        ROBOTS / "rrp.urdf",
        {"passive": ["lift"], "friction": {"turn": {"offset": 1}}, "assembly": {"lift": 1}},
    )
    message = "no place for passive joint 'lift', offset torque of joint 'turn', assembly: keep a side file"
    with pytest.warns(dyn_core.ModelWarning, match=message):
        dyn_core.write_urdf(robot)
