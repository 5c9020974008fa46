# SPDX-License-Identifier: Apache-2.0
"""A URDF with new parameters: what it says is new, and everything else in its text is as it was."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from example_robots import descriptions
from pinocchio_oracle import Oracle

import dyn_core
from dyn_core.identification.output.identified_urdf import identified_urdf
from dyn_core.identification.pseudo_inertia import nearest_possible
from dyn_core.robot.joints import Joint
from dyn_core.robot.robot_files import read_robot

ROBOTS = sorted((Path(__file__).resolve().parents[3] / "config" / "robots").glob("*.urdf"))
ODD = """\ufeff
<?xml version='1.0'?><!-- <link name="a"><inertial/></link> > -->
<robot name="odd" note="1 > 0" other='"'>\r
<link name="base"/><link name='a'/><link name="b" note="a > b"></link>
\t<link name="c &amp; d"><inertial note="x>y"><mass value="2"/><!-- kept? no: it is of the old one -->
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual><![CDATA[ <inertial> ]]></visual>
</link>
<link name="e"><inertial><mass value="0.5"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="j1" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint><joint
 name="j2" type="prismatic"><parent link="a"/><child link="b"/><dynamics
   friction="3" spring='a"b'></dynamics><limit effort="1" velocity="1" lower="0" upper="1"/></joint>
<joint name="j3" type="revolute"><parent link="b"/><child link="c &amp; d"/><origin rpy="0 0.3 0"/>
  <limit effort="1" velocity="1" lower="0" upper="1"/><dynamics damping="1" armature="0.3"/></joint>
<joint name="f" type="fixed"><parent link="c &amp; d"/><child link="e"/><origin xyz="0.1 0 0"/></joint>
<joint name="j4" type="revolute"><parent link="base"/><child link="g"/><mimic joint="j3"/>
  <limit effort="1" velocity="1" lower="0" upper="1"/></joint><link name="g"/>
<gazebo><link name="a"><inertial/></link></gazebo>
</robot>"""


def other(robot: dyn_core.Robot, seed: int = 0) -> dyn_core.Robot:
    """Answer the robot with other parameters, which bodies can have."""
    random = np.random.default_rng(seed)
    values = np.array(robot.parameters).reshape(len(robot.joints), 14)
    for joint, body in zip(robot.joints, values, strict=True):
        # What a floating joint is made of has no element in the URDF: no mass between, and no friction.
        if "/" in joint.name and body[9] == 0.0:
            continue
        body[:10] = random.uniform(-0.1, 0.1, 10)
        body[[0, 3, 5]] += 0.5
        body[9] = random.uniform(0.5, 3.0)
        body[:10] = nearest_possible(body[:10], 0.01, 0.01)
        body[10:] = 0.0 if "/" in joint.name else random.uniform(0.1, 1.0, 4)
    return robot.with_parameters(values.ravel())


def check(text: str) -> str:
    """Write a description with other parameters; what is read from it has them. Answer the text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        loaded = read_robot(text)
        expected = other(loaded.robot)
        new = identified_urdf(loaded, expected).text
        found = dyn_core.load_robot(new)
    assert found.joints == tuple(
        joint if joint.friction.Fo == 0.0 else _without_offset(joint) for joint in expected.joints
    )
    assert found.link_frames == expected.link_frames
    carried = set(range(1, len(found.bodies))) & {frame.body for frame in found.link_frames}
    for j in carried:
        assert found.bodies[j].values == pytest.approx(expected.bodies[j].values, rel=1e-9, abs=1e-12)
    assert found.bodies[0] == expected.bodies[0]
    return new


def _without_offset(joint: Joint) -> Joint:
    return replace(joint, friction=replace(joint.friction, Fo=0.0))


def stripped(text: str) -> str:
    """Answer what is left of a text without what identification writes."""
    text = text.removeprefix("\ufeff").lstrip()
    text = re.sub(r"<inertial\b.*?</inertial>|<dynamics\b[^>]*>(</dynamics>)?", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*<!-- (inertia and friction identified|the inertial parameters).*?-->", "", text)
    return re.sub(r"\s+", "", text).replace("></link>", "/>")  # which holds nothing else


@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.stem)
def test_robots_of_the_workspace(path: Path) -> None:
    text = path.read_text()
    assert stripped(check(text)) == stripped(text)


def test_odd_text() -> None:
    new = check(ODD)
    assert '<link name="a"><inertial/></link></gazebo>' in new
    assert "<![CDATA[ <inertial> ]]>" in new
    assert '<robot name="odd" note="1 > 0" other=\'"\'>' in new
    assert 'spring="a&quot;b"' in new
    assert '<link name="b" note="a > b">' in new
    assert "<link name='a'>" in new
    assert new.count("\r") == 1


def test_a_robot_in_one_line() -> None:
    text = re.sub(r"\s+", " ", ROBOTS[0].read_text())
    assert stripped(check(text)) == stripped(text)


def test_pinocchio_has_the_same_dynamics() -> None:
    text = ROBOTS[0].read_text()
    loaded = read_robot(text, snap=0)
    robot = other(loaded.robot)
    new = identified_urdf(loaded, robot).text
    rigid = robot.with_parameters(
        {n: 0.0 for n in robot.parameter_names if n[:2] in ("Ia", "Fv", "Fs", "Fo")}
    )
    model = dyn_core.compile_model(rigid, backend="python")
    oracle = Oracle(new, robot.joint_names, robot.gravity)
    for q, qd, qdd in np.random.default_rng(1).uniform(-1.0, 1.0, (10, 3, robot.dof)):
        expected = oracle.inverse_dynamics(q, qd, qdd, {})
        assert np.abs(model.inverse_dynamics(q, qd, qdd) - expected).max() < 1e-9 * np.abs(expected).max()


def test_remarks_say_what_a_urdf_cannot() -> None:
    loaded = read_robot(ROBOTS[0].read_text())
    offsets, armature = identified_urdf(loaded, other(loaded.robot)).remarks
    assert "offset torques" in offsets
    assert loaded.robot.joint_names[0] in offsets
    assert "armature" in armature
    assert (
        identified_urdf(loaded, loaded.robot.with_parameters([0.0] * len(loaded.robot.parameters))).remarks
        == ()
    )


@pytest.mark.parametrize("path", descriptions(), ids=lambda path: path.stem)
def test_all_robots_that_are_installed(path: Path) -> None:
    try:
        check(path.read_text())
    except dyn_core.DynError as problem:
        pytest.skip(str(problem))
