# SPDX-License-Identifier: Apache-2.0
"""URDF to robot to URDF to robot: the same dynamics, names, frames, limits and drives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from same_robot import assert_same_robot

import dyn_core

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_our_robots(name: str) -> None:
    robot = dyn_core.load_robot(ROBOTS / f"{name}.urdf")
    assert_same_robot(robot, dyn_core.load_robot(dyn_core.write_urdf(robot)))


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


def test_large_robots_are_read_and_written_in_time_that_grows_with_their_size() -> None:
    """With time that grows with its square, this would take minutes."""
    n = 3000
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
    again = dyn_core.load_robot(dyn_core.write_urdf(robot))
    assert (len(again.joints), len(again.loops), again.dof) == (n, n, 1)
    free = dyn_core.load_robot(dyn_core.write_par(robot), mimic=False)
    assert len(free.loops) == n
