# SPDX-License-Identifier: Apache-2.0
"""What is suspicious about all bodies together: gravity, sizes, missing masses, inertia matrices."""

from __future__ import annotations

import re

import pytest
from checked_robot import (
    CLEAN,
    ELBOW,
    FORE,
    FORE_INERTIAL,
    NO_ROTORS,
    SHOULDER,
    SLIDER_INERTIAL,
    UPPER,
    UPPER_INERTIAL,
    spoilt,
)

import dyn_core
from dyn_core import Severity, check_robot


@pytest.mark.parametrize(
    ("gravity", "expected"),
    [
        ((0, 0, 0), "there is no gravity"),
        ((0, 0, -1.62), "gravity is 1.62 m/s^2"),
        ((0, 0, 981), "gravity is 981 m/s^2"),
        ((9.81, 0, 0), None),
        ((0, -9.7, 1.4), None),
    ],
)
def test_gravity(gravity: tuple[float, ...], expected: str | None) -> None:
    strong = spoilt((SHOULDER, SHOULDER.replace("60", "1e5")), (ELBOW, ELBOW.replace("30", "1e5")))
    findings = check_robot(strong.replace('effort="50"', 'effort="1e4"'), gravity=gravity)
    assert [finding.message.startswith(expected or "") for finding in findings] == [True] * bool(expected)


def test_lengths_in_millimetres_are_found() -> None:
    text = (
        CLEAN.replace("0 0 0.5", "0 0 500")
        .replace('"0.4 0 0"', '"400 0 0"')
        .replace('"0.3 0 0"', '"300 0 0"')
    )
    messages = [str(finding) for finding in check_robot(text)]
    assert any(
        re.search(r"^warning: robot: its links put together are 1200 m long: lengths look like mm", message)
        for message in messages
    ), messages


ON_A_MOUNT = """<robot name="r"><link name="base"/><link name="disc"><inertial><mass value="{mass}"/>
 <inertia ixx="{half}" ixy="0" ixz="0" iyy="{half}" iyz="0" izz="{inertia}"/></inertial>{shape}</link>
<joint name="spin" type="continuous"><parent link="base"/><child link="disc"/>
 <origin xyz="0 0 {mount}"/><axis xyz="0 0 1"/><limit effort="9" velocity="9"/>
 <dynamics damping="0.1" armature="0.1"/></joint></robot>"""


@pytest.mark.parametrize(
    ("mass", "inertia", "mount", "shape", "is_found"),
    [
        (5.0, 0.1, 0.1, "", False),  # a disc of radius 0.2 m: m r^2 / 2
        (1.0, 0.011, 0.3, "", False),
        (20.0, 10.0, 0.1, '<cylinder radius="1" length="0.1"/>', False),
        (20.0, 10.0, 0.1, '<box size="2 2 0.1"/>', False),
        (20.0, 20.0, 0.1, '<sphere radius="1.01"/>', False),
        (20.0, 10.0, 0.1, '<cylinder radius="0.1" length="0.1"/>', True),
        (20.0, 10.0, 0.1, '<box size="0.1 x"/>', True),
        (0.005, 0.000274, 0.1, '<cylinder radius="0.1" length="0.01"/>', True),  # ten times that of a rotor
        (5.0, 0.1e6, 0.1, "", True),  # kg mm^2
        (5.0, 0.1e3, 0.1, '<cylinder radius="0.2" length="0.1"/>', True),  # g m^2
    ],
)
def test_short_robots_may_carry_what_is_wider_than_they_are_long(
    mass: float, inertia: float, mount: float, shape: str, is_found: bool
) -> None:
    visual = f"<visual><origin/><geometry>{shape}</geometry></visual>" if shape else ""
    text = ON_A_MOUNT.format(mass=mass, inertia=inertia, half=0.6 * inertia, mount=mount, shape=visual)
    found = [
        finding for finding in check_robot(text) if "further than such a link is long" in finding.message
    ]
    assert len(found) == is_found


def test_the_mass_of_a_base_counts_where_a_side_file_says_that_it_moves() -> None:
    text = CLEAN.replace('<link name="base">', f'<link name="base">{UPPER_INERTIAL}')
    assert any("has no effect" in found.message for found in check_robot(text))
    assert not any("has no effect" in found.message for found in check_robot(text, {"base": "free"}))


def test_a_robot_that_does_not_move() -> None:
    findings = check_robot('<robot name="r"><link name="a"/></robot>')
    assert [str(finding) for finding in findings] == ["note: robot: it has no joint that moves"]


def test_a_kinematic_model_has_one_error() -> None:
    text = CLEAN
    for inertial in (UPPER_INERTIAL, FORE_INERTIAL, SLIDER_INERTIAL):
        text = text.replace(inertial, "").replace("<visual/>", "")
    findings = check_robot(spoilt(*NO_ROTORS, text=text))
    errors = [str(finding) for finding in findings if finding.severity is Severity.ERROR]
    assert errors == [
        "error: robot: no joint moves a mass, so that there are no dynamics: give the links <inertial>"
    ]
    assert check_robot(text) == ()  # rotors alone are dynamics, too


BALL = """<robot name="ball">
<link name="a"/>
<link name="b">{between}</link>
<link name="c"/>
<link name="d"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
 <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.012" iyz="0" izz="0.008"/></inertial></link>
<joint name="yaw" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
 <limit effort="9" velocity="9"/><dynamics damping="0.1"/></joint>
<joint name="nod" type="continuous"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
 <limit effort="9" velocity="9"/></joint>
<joint name="roll" type="continuous"><parent link="c"/><child link="d"/><axis xyz="0 0 1"/>
 <limit effort="9" velocity="9"/></joint>
</robot>"""


def test_joints_that_together_move_no_mass() -> None:
    """With the axes of yaw and roll on one line, turning one against the other turns nothing."""
    (found,) = (f for f in check_robot(BALL.format(between="")) if f.severity < Severity.NOTE)
    assert found.severity is Severity.WARNING
    assert set(found.names) == {"yaw", "roll"}
    assert "next to no mass in some positions" in found.message
    inertial = f'<inertial><mass value="1"/><inertia {UPPER}/></inertial>'
    assert all(f.severity is Severity.NOTE for f in check_robot(BALL.format(between=inertial)))


def test_an_inertia_matrix_that_no_body_has() -> None:
    """A negative moment about the axis of the last joint: accelerating it takes a torque the other way."""
    text = (
        CLEAN.replace('xyz="0.15 0 0"', 'xyz="0 0 0"').replace(SLIDER_INERTIAL, "").replace("<visual/>", "")
    )
    text = spoilt((FORE, 'ixx="0.004" ixy="0" ixz="0" iyy="-0.3" iyz="0" izz="0.031"'), text=text)
    findings = check_robot(text)
    assert findings[0].severity is Severity.ERROR
    assert "the inertia matrix is not positive definite" in findings[0].message
    assert "elbow" in findings[0].names


def test_the_torque_that_gravity_takes_is_that_of_the_model() -> None:
    weak = spoilt((SHOULDER, SHOULDER.replace("60", "2")))
    (found,) = check_robot(weak)
    match = re.search(r"takes up to (\S+) N m .*\(at (.*)\)", found.message)
    assert match
    model = dyn_core.compile_model(dyn_core.load_robot(weak), backend="python")
    torque = model.gravity_torques([float(word) for word in match[2].split()])[0]
    assert abs(torque) == pytest.approx(float(match[1]), rel=5e-3)
