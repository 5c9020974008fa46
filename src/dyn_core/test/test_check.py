# SPDX-License-Identifier: Apache-2.0
"""Every check finds what it is for, in a robot that has nothing else, and not what is only close to it."""

from __future__ import annotations

import math
import re
import time
import warnings
from pathlib import Path

import pytest
from checked_robot import CLEAN, Changes, extra, spoilt
from random_urdf import random_urdf

import dyn_core
from dyn_core import Finding, Severity, check_robot

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"

UPPER = 'ixx="0.01" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.065"'
FORE = 'ixx="0.004" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.031"'
SLIDER = 'ixx="0.0005" ixy="0" ixz="0" iyy="0.0007" iyz="0" izz="0.0008"'
COMMON = 'ixx="0.006" ixy="0" ixz="0" iyy="0.007" iyz="0" izz="0.008"'
SHOULDER = '<limit lower="-2" upper="2" velocity="3" effort="60"/>'
ELBOW = '<limit lower="-2.5" upper="2.5" velocity="4" effort="30"/>'
SLIDE = '<limit lower="0" upper="0.1" velocity="0.2" effort="50"/>'
ELBOW_AXIS = '<origin xyz="0.4 0 0" rpy="0 0 0"/><axis xyz="0 1 0"/>'
UPPER_INERTIAL = CLEAN[CLEAN.index("<inertial>") : CLEAN.index("</inertial>") + len("</inertial>")]
FORE_INERTIAL = UPPER_INERTIAL.replace("0.2 0 0", "0.15 0 0").replace('"4"', '"2"').replace(UPPER, FORE)
SLIDER_INERTIAL = UPPER_INERTIAL.replace("0.2 0 0", "0.05 0 0").replace('"4"', '"0.5"').replace(UPPER, SLIDER)
NO_FRICTION: Changes = tuple(
    (f'damping="{d}" friction="{f}"', "") for d, f in (("0.5", "0.2"), ("0.3", "0.1"), ("5", "1"))
)
NO_ROTORS: Changes = tuple((f' armature="{a}"', "") for a in ("0.1", "0.05", "0.2"))


def isotropic(value: str) -> str:
    return f'ixx="{value}" ixy="0" ixz="0" iyy="{value}" iyz="0" izz="{value}"'


def mimic(rest: str = "", joint: str = "shoulder") -> tuple[str, str]:
    return ELBOW, f'{ELBOW}<mimic joint="{joint}" {rest}/>'


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


FOUR_BAR = """
loops:
  - {{name: closure, type: {kind}, parent: {{link: base, xyz: [{x}, 0, 0.5], rpy: [0, 0, {turn}]}},
     child: {{link: fore}}, axis: [{axis}]}}
"""


@pytest.mark.parametrize(
    ("kind", "x", "turn", "axis", "expected"),
    [
        ("revolute", 0.4, 0.0, "0, 1, 0", None),
        ("revolute", 0.4005, 0.0, "0, 1, 0", None),
        ("revolute", 0.5, 0.0, "0, 1, 0", "its sides are 0.1 m apart"),
        ("revolute", 0.5, 0.3, "0, 1, 0", "its sides are 0.1 m apart and 0.3 rad turned"),
        ("revolute", 0.4, 0.3, "0, 0, 1", None),
        ("spherical", 0.4, 0.3, "0, 1, 0", None),
        ("spherical", 0.7, 0.3, "0, 1, 0", "its sides are 0.3 m apart"),
        ("fixed", 0.4, 0.3, "0, 0, 1", "its sides are 0.3 rad turned"),
        ("prismatic", 0.5, 0.0, "1, 0, 0", None),
        ("prismatic", 0.5, 0.0, "0, 1, 0", "its sides are 0.1 m apart"),
        ("cylindrical", 0.5, 0.0, "1, 0, 0", None),
        ("planar", 0.5, 0.0, "0, 1, 0", None),
        ("planar", 0.5, 0.0, "1, 0, 0", "its sides are 0.1 m apart"),
    ],
)
def test_loops(kind: str, x: float, turn: float, axis: str, expected: str | None) -> None:
    side = FOUR_BAR.format(kind=kind, x=x, turn=turn, axis=axis)
    findings = [f for f in check_robot(CLEAN, loops=side) if "not available yet" not in f.message]
    assert [finding.element for finding in findings] == ["loop 'closure'"] * bool(expected)
    for finding in findings:
        assert finding.severity is Severity.NOTE
        assert f"it is open with all joints at 0: {expected}: give an assembly" in finding.message


def test_the_assembly_is_where_loops_are_closed() -> None:
    """With the shoulder at pi/2 the elbow is 0.4 m below the shoulder (its axis is y)."""
    side = FOUR_BAR.format(kind="spherical", x=0.0, turn=0.0, axis="0, 1, 0").replace("0.5]", "0.1]")
    shoulder = math.pi / 2

    def messages(assembly: float) -> list[str]:
        found = check_robot(CLEAN, loops=f"{side}assembly: {{shoulder: {assembly}}}")
        return [str(finding) for finding in found if "not available yet" not in finding.message]

    assert messages(shoulder) == []
    (message,) = messages(shoulder - 0.5)
    assert message.startswith(
        "warning: loop 'closure': it is open in the assembly: its sides are 0.198 m apart"
    )


def test_universal_loops_keep_the_angle_of_their_axes() -> None:
    side = FOUR_BAR.format(kind="universal", x=0.4, turn=0.0, axis="0, 1, 0")
    normal, oblique = (
        side.replace("axis:", f"axis2: [{axis}], axis:") for axis in ("0, 0, 1", "0, 0.6, 0.8")
    )
    for text in (normal, oblique):
        assert all("open" not in finding.message for finding in check_robot(CLEAN, loops=text))
    turned = normal.replace("rpy: [0, 0, 0.0]", "rpy: [0.2, 0, 0]")
    assert any("0.2 rad turned" in finding.message for finding in check_robot(CLEAN, loops=turned))


def test_par_files_are_checked_as_far_as_they_go() -> None:
    start = "(* x *) NL = 1 ant = {0} sigma = {0} theta = {t1} G = {0, 9.81, 0} "
    messages = [str(f) for f in check_robot(start + "M = {1} MX = {0.1} XX = {0.02} YY = {0.03} ZZ = {0.1}")]
    assert any(
        re.search("warning: link 'link_1': no body has such an inertia", message) for message in messages
    )
    messages = [str(f) for f in check_robot(start + "MX = {0.1} ZZ = {0.1}")]
    assert any("note: link 'link_1': first moments without a mass" in message for message in messages)
    assert not any("inertia without a mass" in message for message in messages)
    (found,) = (f for f in check_robot(start + "M = {1} ZZ = {0.1} W0 = {1, 0, 0}") if "state" in f.message)
    assert found.severity is Severity.WARNING


def test_a_robot_is_checked_by_what_it_holds() -> None:
    robot = dyn_core.load_robot(CLEAN)
    assert check_robot(robot) == ()
    weak = dyn_core.load_robot(spoilt((SHOULDER, SHOULDER.replace("60", "2"))))
    (found,) = check_robot(weak)
    assert (found.names, found.line) == (("shoulder",), None)
    with pytest.raises(ValueError, match="a Robot is already loaded: give them to load_robot"):
        check_robot(robot, gravity=(0, 0, 0))


def test_findings_are_sorted_by_severity_then_in_tree_order() -> None:
    text = spoilt(
        (SLIDE, SLIDE.replace('"0.2"', '"0"')),
        (SHOULDER, SHOULDER.replace('"3"', '"0"')),
        (ELBOW, ELBOW.replace("-2.5", "0.1")),
        (UPPER, isotropic("0.1")),
        (SLIDER, isotropic("0.5e-7")),
        *NO_ROTORS,
    )
    assert [(f.severity, f.kind, f.names) for f in check_robot(text)] == [
        (Severity.WARNING, "joint", ("shoulder", "slide")),
        (Severity.WARNING, "link", ("slider",)),
        (Severity.NOTE, "robot", ()),
        (Severity.NOTE, "link", ("upper",)),
        (Severity.NOTE, "joint", ("elbow",)),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("nowhere.urdf", "error: robot: no such file: 'nowhere.urdf'"),
        ("<robot><link</robot>", "error: robot: malformed XML in line 1"),
        ("<robot name='r'/>", "error: robot: the robot has no link: add at least one <link>"),
        (
            spoilt((ELBOW, ELBOW.replace("-2.5", "3"))),
            "error: joint 'elbow' (line 16): <limit>: lower=3 is greater than upper=2.5",
        ),
        (
            spoilt(('<mass value="4"/>', '<mass value="-4"/>')),
            "error: link 'upper' (line 3): <mass>: the mass is -4",
        ),
    ],
)
def test_a_robot_that_cannot_be_read_is_one_finding(source: str, expected: str) -> None:
    (found,) = check_robot(source)
    assert str(found).startswith(expected)


def test_mistakes_in_other_files_name_the_file(tmp_path: Path) -> None:
    side = tmp_path / "side.yaml"
    side.write_text("passive: [nobody]")
    (found,) = check_robot(CLEAN, loops=side)
    assert str(found).startswith(f"error: side file: {side}: passive: the robot has no moving joint 'nobody'")
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(spoilt((ELBOW, ELBOW.replace("-2.5", "3"))))
    (found,) = check_robot(urdf)
    assert found.element == "joint 'elbow'"


def test_every_warning_of_load_robot_is_a_finding_once() -> None:
    text = spoilt(
        ('name="clean"', ""),
        (UPPER, 'ixx="0.01" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.1"'),
        mimic(joint="nobody"),
        (f"<inertia {SLIDER}/>", ""),
    )
    with pytest.warns(dyn_core.ModelWarning) as caught:
        dyn_core.load_robot(text)
    assert len(caught) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [str(finding) for finding in check_robot(text) if finding.severity is Severity.WARNING]
    for words in (
        "it has no name",
        "no body has such an inertia",
        "it has no <inertia>",
        "which is no joint",
    ):
        assert len([message for message in found if words in message]) == 1, found


def test_thirty_joints_take_less_than_three_seconds() -> None:
    text = random_urdf(3, 45, massless_leaves=False).replace('type="fixed"', 'type="revolute"')
    assert dyn_core.load_robot(text).dof == 45
    start = time.process_time()
    check_robot(text)
    assert time.process_time() - start < 3.0


def test_the_parts_of_planar_and_floating_joints_are_not_blamed_for_their_names() -> None:
    body = (
        '<inertial><mass value="1"/><inertia ixx=".1" iyy=".2" izz=".2" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links = "".join(f'<link name="{name}">{body}</link>' for name in "abc")
    joints = "".join(
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{axis}</joint>'
        for name, kind, parent, child, axis in (
            ("plane", "planar", "a", "b", '<axis xyz="0 0 1"/>'),
            ("space", "floating", "b", "c", ""),
        )
    )
    said = [str(finding) for finding in check_robot(f'<robot name="r">{links}{joints}</robot>')]
    assert not [line for line in said if "other characters" in line or "no <axis>" in line]
