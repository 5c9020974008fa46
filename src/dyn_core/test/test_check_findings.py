# SPDX-License-Identifier: Apache-2.0
"""Every check finds what it is for, in a robot that has nothing else, and not what is only close to it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from checked_robot import (
    CLEAN,
    COMMON,
    ELBOW,
    ELBOW_AXIS,
    FORE,
    FORE_INERTIAL,
    NO_FRICTION,
    NO_ROTORS,
    SHOULDER,
    SLIDE,
    SLIDER,
    SLIDER_INERTIAL,
    UPPER,
    UPPER_INERTIAL,
    Changes,
    extra,
    isotropic,
    mimic,
    spoilt,
)

from dyn_core import Finding, Severity, check_robot

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"


def gazebo(reference: str, content: str) -> tuple[str, str]:
    return extra(f'<gazebo reference="{reference}">{content}</gazebo>')


# By check: what is changed, what is then the one finding, and a change that is no reason for it.
TABLE: dict[str, tuple[Changes, str, Changes]] = {
    "negative moment": (
        ((UPPER, 'ixx="0.01" ixy="0.05" ixz="0" iyy="0.06" iyz="0" izz="0.065"'),),
        r"warning: link 'upper' \(line 3\): no body has a principal moment of inertia of -0.0209 kg m\^2",
        ((UPPER, 'ixx="0.01" ixy="0.01" ixz="0" iyy="0.06" iyz="0" izz="0.065"'),),
    ),
    "triangle inequality": (
        ((UPPER, 'ixx="0.01" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.084"'),),
        r"moments 0.01, 0.06 and 0.084 kg m\^2 the greatest exceeds the sum of the others by 20 %",
        ((UPPER, 'ixx="0.01" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.07"'),),
    ),
    "inertia without mass": (
        (('<mass value="2"/>', '<mass value="0"/>'),),
        r"warning: link 'fore' \(line 5\): an inertia of 0.031 kg m\^2 without a mass",
        ((f"{FORE_INERTIAL}<visual/>", ""),),
    ),
    "inertia in g m^2": (
        ((SLIDER, 'ixx="0.5" ixy="0" ixz="0" iyy="0.7" iyz="0" izz="0.8"'),),
        r"warning: link 'slider' .*: an inertia of 0.8 kg m\^2 with a mass of 0.5 kg has the mass 1.26 m",
        ((SLIDER, 'ixx="0.005" ixy="0" ixz="0" iyy="0.007" iyz="0" izz="0.008"'),),
    ),
    "denser than osmium": (
        ((SLIDER, 'ixx="0.5e-7" ixy="0" ixz="0" iyy="0.7e-7" iyz="0" izz="0.8e-7"'),),
        r"warning: link 'slider' .*: a mass of 0.5 kg with an inertia of at most 8e-08 .* denser than osmium",
        ((SLIDER, 'ixx="0.5e-4" ixy="0" ixz="0" iyy="0.7e-4" iyz="0" izz="0.8e-4"'),),
    ),
    "one inertia for all": (
        ((UPPER, COMMON), (FORE, COMMON), (SLIDER, COMMON)),
        r"warning: links 'upper', 'fore', 'slider': 'upper': one inertia of 0.008 kg m\^2 for links",
        ((UPPER, COMMON), (FORE, COMMON)),
    ),
    "made up inertia": (
        ((FORE, isotropic("0.01")),),
        r"note: link 'fore' .*: an inertia of 0.01 kg m\^2 about all axes looks made up",
        ((FORE, isotropic("0.012")),),
    ),
    "point mass": (
        ((SLIDER, isotropic("0")),),
        r"note: link 'slider' .*: a mass of 0.5 kg in one point",
        (),
    ),
    "centre of mass in mm": (
        (
            ('xyz="0.15 0 0"', 'xyz="150 0 0"'),
            (ELBOW, ELBOW.replace("30", "3e4")),
            (SHOULDER, SHOULDER.replace("60", "3e4")),
        ),
        r"warning: link 'fore' .*: the centre of mass is 150 m from .* whole robot reaches 1.3 m",
        (('xyz="0.15 0 0"', 'xyz="0.5 0 0"'),),
    ),
    "no centres of mass": (
        (('xyz="0.2 0 0"', 'xyz="0 0 0"'), ('xyz="0.15 0 0"', 'xyz="0 0 0"'), ('xyz="0.05 0 0"', "")),
        r"note: links 'upper', 'fore', 'slider': the centre of mass is in the origin of the frame of nearly",
        (('xyz="0.2 0 0"', 'xyz="0 0 0"'), ('xyz="0.15 0 0"', 'xyz="0 0 0"')),
    ),
    "shape without mass": (
        (('<link name="tool"/>', '<link name="tool"><collision/></link>'),),
        r"note: link 'tool' .*: a shape but no mass",
        (('<link name="tool"/>', '<link name="tool"><sensor/></link>'),),
    ),
    "moving shape without mass": (
        ((FORE_INERTIAL, ""),),
        r"warning: link 'fore' .*: a shape that moves, but no mass",
        ((f"{FORE_INERTIAL}<visual/>", ""),),
    ),
    "mass of the base": (
        (('<link name="base">', f'<link name="base">{UPPER_INERTIAL}'),),
        r"note: link 'base' .*: its mass of 4 kg, with what is fixed to it, has no effect",
        (),
    ),
    "no mass to move": (
        ((f"{SLIDER_INERTIAL}<visual/>", ""), (' armature="0.2"', "")),
        r"error: joint 'slide' .*: without a mass to move and without rotor inertia, forward dynamics",
        ((f"{SLIDER_INERTIAL}<visual/>", ""),),
    ),
    "no limits": (
        ((ELBOW, '<limit velocity="4" effort="30"/>'),),
        r"warning: joint 'elbow' .*: revolute without limits: give lower and upper, or make it continuous",
        (
            (ELBOW, '<limit velocity="4" effort="30"/>'),
            ('name="elbow" type="revolute"', 'name="elbow" type="continuous"'),
        ),
    ),
    "no limits of a prismatic joint": (
        ((SLIDE, '<limit velocity="0.2" effort="50" lower="0" upper="0"/>'),),
        r"warning: joint 'slide' .*: prismatic without limits: give lower and upper$",
        ((SLIDE, SLIDE.replace('"0"', '"-0.1"')),),
    ),
    "empty range": (
        ((SLIDE, SLIDE.replace('lower="0"', 'lower="0.1"')),),
        r"warning: joint 'slide' .*: lower and upper are both 0.1, so that it cannot move: make it fixed",
        (),
    ),
    "continuous with limits": (
        (('name="elbow" type="revolute"', 'name="elbow" type="continuous"'),),
        r"note: joint 'elbow' .*: continuous, so that the limits -2.5 to 2.5 do not count",
        (),
    ),
    "zero outside of the limits": (
        ((ELBOW, ELBOW.replace("-2.5", "0.1")),),
        r"note: joint 'elbow' .*: position 0 is outside of the limits 0.1 to 2.5 rad",
        ((ELBOW, ELBOW.replace("-2.5", "0")),),
    ),
    "degrees": (
        ((ELBOW, ELBOW.replace("-2.5", "-143")),),
        r"warning: joint 'elbow' .*: limits -143 to 2.5 rad look like degrees",
        ((ELBOW, ELBOW.replace('"2.5"', '"6.2832"')),),
    ),
    "beyond one turn": (
        ((ELBOW, ELBOW.replace('"2.5"', '"6.5"')),),
        r"note: joint 'elbow' .*: limits -2.5 to 6.5 rad are beyond one turn",
        ((ELBOW, ELBOW.replace('"2.5"', '"6.2832"')),),
    ),
    "limits for ever": (
        ((ELBOW, ELBOW.replace('"2.5"', '"1e16"')),),
        r"note: joint 'elbow' .*: limits -2.5 to 1e\+16 rad stand for none: make it continuous",
        (),
    ),
    "mm": (
        (
            (SLIDE, SLIDE.replace('"0.1"', '"100"')),
            (SHOULDER, SHOULDER.replace("60", "6e3")),
            (ELBOW, ELBOW.replace("30", "3e3")),
        ),
        r"warning: joint 'slide' .*: limits 0 to 100 m look like mm",
        ((SLIDE, SLIDE.replace('"0.1"', '"1"')),),
    ),
    "degrees/s": (
        ((ELBOW, ELBOW.replace('"4"', '"180"')),),
        r"warning: joint 'elbow' .*: a greatest velocity of 180 rad/s looks like degrees/s",
        ((ELBOW, ELBOW.replace('"4"', '"50"')),),
    ),
    "fast for ever": (
        ((ELBOW, ELBOW.replace('"4"', '"1e4"')),),
        r"note: joint 'elbow' .*: a greatest velocity of 1e\+04 rad/s stands for none",
        (
            (ELBOW, '<limit velocity="180" effort="30"/>'),
            ('name="elbow" type="revolute"', 'name="elbow" type="continuous"'),
            ('damping="0.3"', 'damping="0.1"'),
        ),
    ),
    "mm/s": (
        ((SLIDE, SLIDE.replace('"0.2"', '"200"')),),
        r"warning: joint 'slide' .*: a greatest velocity of 200 m/s looks like mm/s",
        ((SLIDE, SLIDE.replace('"0.2"', '"2"')),),
    ),
    "effort of 0": (
        ((ELBOW, ELBOW.replace('"30"', '"0"')),),
        r"warning: joint 'elbow' .*: an effort limit of 0 is taken for not known, by others for no actuator",
        (),
    ),
    "velocity of 0": (
        ((ELBOW, ELBOW.replace('"4"', '"0"')),),
        r"warning: joint 'elbow' .*: a velocity limit of 0 is taken for not known",
        (),
    ),
    "no effort": (
        ((ELBOW, ELBOW.replace('effort="30"', "")),),
        r"note: joint 'elbow' .*: no effort limit",
        (),
    ),
    "no velocity": (
        ((ELBOW, ELBOW.replace('velocity="4"', "")),),
        r"note: joint 'elbow' .*: no velocity limit",
        (),
    ),
    "weaker than gravity": (
        ((SHOULDER, SHOULDER.replace("60", "22")),),
        r"warning: joint 'shoulder' .*: gravity takes up to 22.8 N m within .*, but the effort .* 22 N m",
        ((SHOULDER, SHOULDER.replace("60", "23")),),
    ),
    "stuck": (
        (('friction="1"', 'friction="50"'),),
        r"warning: joint 'slide' .*: dry friction of 50 N against an effort limit of 50 N: it cannot move",
        (('friction="1"', 'friction="48"'),),
    ),
    "slowed down": (
        (('damping="0.3"', 'damping="7.5"'),),
        r"at the greatest velocity of 4 rad/s friction takes 30.1 N m, more than the effort limit of 30 N m",
        (('damping="0.3"', 'damping="7.4"'),),
    ),
    "no friction": (NO_FRICTION, r"note: robot: no joint has friction", NO_FRICTION[:2]),
    "no rotors": (NO_ROTORS, r"note: robot: no joint has a rotor inertia", NO_ROTORS[:2]),
    "passive": (
        (extra('<ros2_control type="system"><joint name="elbow"/></ros2_control>'),),
        r"note: joint 'elbow' .*: without an actuator, and without a loop that moves it: .* underactuated",
        (
            extra(
                '<ros2_control type="system"><joint name="elbow"><command_interface/></joint></ros2_control>'
            ),
        ),
    ),
    "still mimic": (
        (mimic('multiplier="0"'),),
        r"warning: joint 'elbow' .*: it follows nothing, and stands still at 0 rad",
        (mimic('multiplier="0.5"'),),
    ),
    "mimic of a mimic": (
        (mimic(), (SLIDE, f'{SLIDE}<mimic joint="elbow" multiplier="0.01" offset="0.05"/>')),
        r"note: joint 'slide' .*: it mimics 'elbow', which mimics another",
        (mimic(), (SLIDE, f'{SLIDE}<mimic joint="shoulder" multiplier="0.01" offset="0.05"/>')),
    ),
    "led beyond the limits": (
        (mimic('multiplier="-1" offset="1"'),),
        r"warning: joint 'elbow' .*: 'shoulder', which it mimics, leads it from -1 to 3 rad, .* -2.5 to 2.5",
        (mimic('multiplier="-1" offset="0.5"'),),
    ),
    "mimic of no joint": (
        (mimic(joint="shoulderr"),),
        r"warning: joint 'elbow' \(line 16\): <mimic>: it mimics 'shoulderr', which is no joint",
        (mimic(),),
    ),
    "no mass in <inertial>": (
        (('<mass value="2"/>', ""), (f"{FORE}/></inertial><visual/>", f"{isotropic('0')}/></inertial>")),
        r"warning: link 'fore' \(line 5\): <inertial>: it has no <mass>: zero is used",
        (),
    ),
    "axis not given": (
        (('<axis xyz="1 0 0"/>', ""),),
        r"note: joint 'slide' .*: no <axis>, so that x is the axis",
        (),
    ),
    "norm of an axis": (
        (('<axis xyz="1 0 0"/>', '<axis xyz="2 0 0"/>'),),
        r"note: joint 'slide' .*: an axis of norm 2, not 1",
        (('<axis xyz="1 0 0"/>', '<axis xyz="0.9999 0 0"/>'),),
    ),
    "nearly parallel": (
        (('<axis xyz="0 1 0"/>', '<axis xyz="0.0023 1 0"/>'),),
        r"note: joint 'elbow' .*: the axis is 2.3e-03 rad away from being parallel to the axis before it",
        (('<axis xyz="0 1 0"/>', '<axis xyz="0.02 1 0"/>'),),
    ),
    "nearly normal": (
        ((ELBOW_AXIS, ELBOW_AXIS.replace('rpy="0 0 0"', 'rpy="1.57321 0 0"')),),
        r"note: joint 'elbow' .*: the axis is 2.4e-03 rad away from being normal to the axis before it",
        ((ELBOW_AXIS, ELBOW_AXIS.replace('rpy="0 0 0"', f'rpy="{math.pi / 2!r} 0 0"')),),
    ),
    "nearly meeting": (
        ((ELBOW_AXIS, '<origin xyz="0.00001 0 0" rpy="0 0 0"/><axis xyz="0 0 1"/>'),),
        r"note: joint 'elbow' .*: the axis misses the axis before it by 1.0e-05 m",
        ((ELBOW_AXIS, '<origin xyz="0.001 0 0" rpy="0 0 0"/><axis xyz="0 0 1"/>'),),
    ),
    "collinear": (
        ((ELBOW_AXIS, '<origin xyz="0 0.4 0" rpy="0 0 0"/><axis xyz="0 -1 0"/>'),),
        r"warning: joint 'elbow' .*: it turns about the same axis as 'shoulder'",
        ((ELBOW_AXIS, '<origin xyz="0.1 0.4 0" rpy="0 0 0"/><axis xyz="0 -1 0"/>'),),
    ),
    "snapped angle": (
        ((ELBOW_AXIS, ELBOW_AXIS.replace('rpy="0 0 0"', 'rpy="0 1.5708 -3.1416"')),),
        r"note: joint 'elbow' .*: origin rpy taken as 3.1416 for pi, 1.5708 for pi/2, at most 7.3e-06",
        ((ELBOW_AXIS, ELBOW_AXIS.replace('rpy="0 0 0"', 'rpy="0 1.57079632679 0"')),),
    ),
    "snapped axis": (
        ((ELBOW_AXIS, ELBOW_AXIS.replace('"0 1 0"', '"0.7071 0.7071 1e-05"')),),
        r"note: joint 'elbow' .*: axis xyz taken as 1e-05 for 0, at most 1.0e-05 away",
        ((ELBOW_AXIS, ELBOW_AXIS.replace('"0 1 0"', '"0.7071 0.7071 0"')),),
    ),
    "too few digits": (
        ((ELBOW_AXIS, ELBOW_AXIS.replace('rpy="0 0 0"', 'rpy="0 -1.57 0"')),),
        r"warning: joint 'elbow' .*: the angle 1.57 is 8.0e-04 rad away from pi/2, .* load with snap=0.0008",
        ((ELBOW_AXIS, ELBOW_AXIS.replace('rpy="0 0 0"', 'rpy="0 -1.5 0"')),),
    ),
    "two <inertial>": (
        ((FORE_INERTIAL, FORE_INERTIAL * 2),),
        r"warning: link 'fore' .*: there are 2 <inertial>, of which only the first is read",
        (),
    ),
    "two <dynamics>": (
        ((ELBOW, f'{ELBOW}<dynamics damping="0.3"/>'),),
        r"warning: joint 'elbow' .*: there are 2 <dynamics>, of which only the first is read",
        (),
    ),
    "unread attribute": (
        (('damping="0.3"', 'damping="0.3" stiffness="2" K="1"'),),
        r"warning: joint 'elbow' .*: of <dynamics> 'stiffness', 'K' is not read, only 'damping', 'fric",
        ((ELBOW, ELBOW.replace("effort", 'jerk="1" effort')),),
    ),
    "unread child": (
        ((ELBOW, f"{ELBOW}<damping>2</damping>"),),
        r"note: joint 'elbow' .*: <damping> in <joint> is not read",
        ((ELBOW, f"{ELBOW}<safety_controller/>"),),
    ),
    "misspelt child of a joint": (
        ((ELBOW, f"{ELBOW}<limits/>"),),
        r"warning: joint 'elbow' .*: <limits> in <joint> is not read: write <limit>",
        ((ELBOW, f"{ELBOW}<vendor:limits xmlns:vendor='v'/>"),),
    ),
    "misspelt inertial": (
        (('<link name="tool"/>', '<link name="tool"><inertail/></link>'),),
        r"warning: link 'tool' .*: <inertail> in <link> is not read: write <inertial>",
        (('<link name="tool"/>', '<link name="tool"><contact/><self_collision_checking/></link>'),),
    ),
    "mass outside of inertial": (
        (('<link name="tool"/>', '<link name="tool"><mass value="1"/></link>'),),
        r"warning: link 'tool' .*: <mass> in <link> is not read: put it into <inertial>",
        (('<link name="tool"/>', '<link name="tool"><sensor/></link>'),),
    ),
    "unread child of a link": (
        (('<link name="tool"/>', '<link name="tool"><gravity>0</gravity></link>'),),
        r"note: link 'tool' .*: <gravity> in <link> is not read$",
        (),
    ),
    "misspelt link": (
        (extra('<lnk name="z"/>'),),
        r"warning: robot: <lnk> \(line 24\) is not read: write <link>",
        (extra('<drake:link xmlns:drake="d"/><loop:joint xmlns:loop="d"/>'),),
    ),
    "unknown element": (
        (extra("<spring/>", "<spring/>"),),
        r"note: robot: <spring> \(2 times, first in line 24\) is not read$",
        (extra("<group/><sensor/><gazebo/><material/>"),),
    ),
    "joint turned in degrees": (
        ((ELBOW_AXIS, ELBOW_AXIS.replace('rpy="0 0 0"', 'rpy="0 -90 0"')),),
        r"warning: joint 'elbow' .*: an angle of 90 in rpy looks like degrees: give rad",
        ((ELBOW_AXIS, ELBOW_AXIS.replace('rpy="0 0 0"', 'rpy="0 6.2831853071795862 0"')),),
    ),
    "inertia turned in degrees": (
        (('"0.15 0 0" rpy="0 0 0"', '"0.15 0 0" rpy="90 0 180"'),),
        r"warning: link 'fore' .*: <inertial>: an angle of 180 in rpy looks like degrees: give rad",
        (('"0.15 0 0" rpy="0 0 0"', '"0.15 0 0" rpy="1.5 0 3"'),),
    ),
    "misspelt joint": (
        (extra('<Joint name="x"/>'),),
        r"warning: robot: <Joint> \(line 24\) is not read: write <joint>",
        (extra("<material/>"),),
    ),
    "spring": (
        (gazebo("elbow", "<springStiffness>10</springStiffness>"),),
        r"warning: joint 'elbow' .*: a spring in <gazebo> is not read",
        (gazebo("elbow", "<springStiffness>0</springStiffness><material>x</material>"),),
    ),
    "no gravity for a link": (
        (gazebo("fore", "<turnGravityOff>true</turnGravityOff>"),),
        r"note: link 'fore' .*: gravity is switched off in <gazebo>, but not here",
        (gazebo("fore", "<turnGravityOff>false</turnGravityOff><gravity>1</gravity>"),),
    ),
    "loop for Gazebo": (
        (extra('<gazebo><joint name="closure" type="revolute"/></gazebo>'),),
        r"warning: robot: the joints 'closure' in <gazebo> are not read: where they close loops, say so",
        (extra('<gazebo><plugin name="closure"/></gazebo>'),),
    ),
    "transmission of no joint": (
        (extra('<transmission name="t"><joint name="albow"/></transmission>'),),
        r"warning: robot: <transmission> is for 'albow', which the robot does not have",
        (extra('<transmission name="t"><joint name="elbow"/></transmission>'),),
    ),
    "ros2_control of no joint": (
        (extra('<ros2_control><joint name="albow"><command_interface/></joint></ros2_control>'),),
        r"warning: robot: <ros2_control> is for 'albow', which the robot does not have",
        (extra('<ros2_control type="sensor"><joint name="albow"/></ros2_control>'),),
    ),
    "names alike": (
        (('<link name="tool"/>', '<link name="Base"/>'), ('<child link="tool"/>', '<child link="Base"/>')),
        r"warning: links 'base', 'Base': these names differ in case only",
        (),
    ),
    "space in a name": (
        (('name="elbow"', 'name="the elbow"'),),
        r"warning: joint 'the elbow' .*: a space in the name",
        (('name="elbow"', 'name="the-elbow"'),),
    ),
    "dot in a name": (
        (('name="elbow"', 'name="elbow.1"'),),
        r"note: joint 'elbow.1' .*: other characters than letters",
        (('name="mount"', 'name="mount.1"'),),
    ),
    "slash": (
        (('<link name="tool"/>', '<link name="/tool"/>'), ('<child link="tool"/>', '<child link="/tool"/>')),
        r"warning: link '/tool' .*: tf2 refuses names that begin with /",
        (),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_finds_it_and_nothing_else(name: str) -> None:
    changes, expected, _ = TABLE[name]
    findings = check_robot(spoilt(*changes))
    matching = [finding for finding in findings if _matches(expected, finding)]
    assert len(matching) == 1, "\n".join(map(str, findings))
    assert findings == tuple(matching), "\n".join(map(str, findings))


@pytest.mark.parametrize("name", TABLE)
def test_does_not_find_what_is_close(name: str) -> None:
    findings = check_robot(spoilt(*TABLE[name][2]))
    assert not findings, "\n".join(map(str, findings))


def _matches(expected: str, finding: Finding) -> bool:
    return re.search(expected, str(finding)) is not None


def test_the_clean_robot_is_clean() -> None:
    assert check_robot(CLEAN) == ()


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_our_robots_have_no_more_than_notes(name: str) -> None:
    assert {finding.severity for finding in check_robot(ROBOTS / f"{name}.urdf")} == {Severity.NOTE}
