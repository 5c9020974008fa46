# SPDX-License-Identifier: Apache-2.0
"""Every check finds its problem in a robot without other problems, and nothing in a very similar robot."""

from __future__ import annotations

import checked_robot
import pytest
from checked_robot import CLEAN
from refusals import replaced, rows, summary
from robots import ROBOTS

from dyn_core import Finding, Severity, check_robot

# Replacements in the clean robot (first column by second, and so on), and the expected finding.
FOUND = rows(
    r"""
{UPPER} => ixx="0.01" ixy="0.05" ixz="0" iyy="0.06" iyz="0" izz="0.065" =>
    inertia-negative at warning, link 'upper' (line 3): -0.0209
{UPPER} => ixx="0.01" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.084" =>
    inertia-unbalanced at warning, link 'upper' (line 3): 20, 0.084, 0.01, 0.06
value="2" => value="0" => inertia-without-mass at warning, link 'fore' (line 5): 0.031
{SLIDER} => ixx="0.5" ixy="0" ixz="0" iyy="0.7" iyz="0" izz="0.8" =>
    inertia-too-large at warning, link 'slider' (line 7): 1.265, 0.5, 0.8
{SLIDER} => ixx="0.5e-7" ixy="0" ixz="0" iyy="0.7e-7" iyz="0" izz="0.8e-7" =>
    inertia-too-dense at warning, link 'slider' (line 7): 6.202e+08, 0.5, 8e-08
{UPPER} => {COMMON} => {FORE} => {COMMON} => {SLIDER} => {COMMON} =>
    inertia-shared at warning, links 'upper', 'fore', 'slider': 0.008
{FORE} => ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01" =>
    inertia-placeholder at note, link 'fore' (line 5): 0.01
{SLIDER} => ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0" =>
    inertia-missing at note, link 'slider' (line 7): 0.5
xyz="0.15 => xyz="150 => effort="30" => effort="3e4" => effort="60" => effort="3e4" =>
    centre-of-mass-far at warning, link 'fore' (line 5): 150, 1.3
xyz="0.2 => xyz="0 => xyz="0.15 => xyz="0 => xyz="0.05 0 0" => - =>
    centres-of-mass-at-origins at note, links 'upper', 'fore', 'slider'
name="tool"/ => name="tool"><collision/></link => mass-missing-on-body at note, link 'tool' (line 9)
{FORE_INERTIAL} => - => mass-missing at warning, link 'fore' (line 5)
<link name="base"> => <link name="base">{UPPER_INERTIAL} =>
    base-mass-without-effect at note, link 'base' (line 2): 4
{SLIDER_INERTIAL}<visual/> => - => friction="1" armature="0.2" => friction="1" =>
    joint-without-mass at error, joint 'slide' (line 17)
lower="-2.5" upper="2.5" velocity="4" => velocity="4" =>
    revolute-limits-missing at warning, joint 'elbow' (line 14)
lower="0" upper="0.1" velocity="0.2" effort="50" => velocity="0.2" effort="50" lower="0" upper="0" =>
    prismatic-limits-missing at warning, joint 'slide' (line 18)
lower="0" => lower="0.1" => limits-equal at warning, joint 'slide' (line 18): 0.1
name="elbow" type="revolute" => name="elbow" type="continuous" =>
    limits-of-continuous-joint at note, joint 'elbow' (line 14): -2.5, 2.5
lower="-2.5" => lower="0.1" => limits-without-zero at note, joint 'elbow' (line 14): 0.1, rad, 2.5
lower="-2.5" => lower="-143" => limits-in-degrees at warning, joint 'elbow' (line 14): -143, rad, 2.5
upper="2.5" => upper="6.5" => limits-beyond-turn at note, joint 'elbow' (line 14): -2.5, rad, 6.5
upper="2.5" => upper="1e16" => limits-for-unlimited at note, joint 'elbow' (line 14): -2.5, rad, 1e+16
upper="0.1" => upper="100" => effort="60" => effort="6e3" => effort="30" => effort="3e3" =>
    limits-in-millimetres at warning, joint 'slide' (line 18): 0, m, 100
velocity="4" => velocity="180" => velocity-limit-in-degrees at warning, joint 'elbow' (line 14): 180
velocity="4" => velocity="1e4" => velocity-limit-for-unlimited at note, joint 'elbow' (line 14): 1e+04
velocity="0.2" => velocity="200" => velocity-limit-in-millimetres at warning, joint 'slide' (line 18): 200
effort="30" => effort="0" => effort-limit-zero at warning, joint 'elbow' (line 14)
velocity="4" => velocity="0" => velocity-limit-zero at warning, joint 'elbow' (line 14)
effort="30" => - => effort-limit-missing at note, joint 'elbow' (line 14)
velocity="4" => - => velocity-limit-missing at note, joint 'elbow' (line 14)
effort="60" => effort="22" =>
    effort-limit-below-gravity-at at warning, joint 'shoulder' (line 10): 22, 22.81, [0, 0, 0.1], N m
friction="1" => friction="50" => effort-limit-below-friction at warning, joint 'slide' (line 18): 50, 50, N
damping="0.3" => damping="7.5" =>
    effort-limit-below-friction-at-speed at warning, joint 'elbow' (line 14): 30.1, 30, N m, 4, rad/s
damping="0.5" friction="0.2" => - => damping="0.3" friction="0.1" => - => damping="5" friction="1" => - =>
    friction-missing at note, robot
friction="0.2" armature="0.1" => friction="0.2" => friction="0.1" armature="0.05" => friction="0.1" =>
    friction="1" armature="0.2" => friction="1" => rotor-inertia-missing at note, robot
</robot> => <ros2_control type="system"><joint name="elbow"/></ros2_control></robot> =>
    joint-unactuated at note, joint 'elbow' (line 14)
effort="30"/> => effort="30"/><mimic joint="shoulder" multiplier="0"/> =>
    mimic-fixed at warning, joint 'elbow' (line 14): 0, rad
effort="30"/> => effort="30"/><mimic joint="shoulder" /> => effort="50"/> =>
    effort="50"/><mimic joint="elbow" multiplier="0.01" offset="0.05"/> =>
    mimic-chained at note, joint 'slide' (line 18): elbow
effort="30"/> => effort="30"/><mimic joint="shoulder" multiplier="-1" offset="1"/> =>
    mimic-beyond-limits at warning, joint 'elbow' (line 14): 3, shoulder, -1, -2.5, rad, 2.5
effort="30"/> => effort="30"/><mimic joint="shoulderr" /> =>
    mimic-leader-unknown at warning, joint 'elbow' (line 16), <mimic>: shoulderr
<mass value="2"/> => - => {FORE}/></inertial><visual/> =>
    ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial> =>
    inertial-part-missing at warning, link 'fore' (line 5), <inertial>: mass
<axis xyz="1 0 0"/> => - => axis-missing at note, joint 'slide' (line 18)
xyz="1 => xyz="2 => axis-not-unit at note, joint 'slide' (line 18): 2
<axis xyz="0 => <axis xyz="0.0023 => axis-nearly-parallel at note, joint 'elbow' (line 14): 0.0023
xyz="0.4 0 0" rpy="0 => xyz="0.4 0 0" rpy="1.57321 =>
    axis-nearly-normal at note, joint 'elbow' (line 14): 0.002414
xyz="0.4 0 0" rpy="0 0 0"/><axis xyz="0 1 0" => xyz="0.00001 0 0" rpy="0 0 0"/><axis xyz="0 0 1" =>
    axes-nearly-meeting at note, joint 'elbow' (line 14): 1e-05
xyz="0.4 0 0" rpy="0 0 0"/><axis xyz="0 1 => xyz="0 0.4 0" rpy="0 0 0"/><axis xyz="0 -1 =>
    axes-collinear at warning, joint 'elbow' (line 14): shoulder
xyz="0.4 0 0" rpy="0 0 0" => xyz="0.4 0 0" rpy="0 1.5708 -3.1416" =>
    angles-snapped at note, joint 'elbow' (line 14): [angle-snapped, angle-snapped], 7.346e-06, origin rpy
0" rpy="0 0 0"/><axis xyz="0 1 0" => 0" rpy="0 0 0"/><axis xyz="0.7071 0.7071 1e-05" =>
    components-snapped at note, joint 'elbow' (line 14): [component-snapped], 1e-05, axis xyz
xyz="0.4 0 0" rpy="0 0 => xyz="0.4 0 0" rpy="0 -1.57 =>
    angle-rounded at warning, joint 'elbow' (line 14): 0.0007963, pi/2, 1.57, 0.0008
{FORE_INERTIAL} => {FORE_INERTIAL}{FORE_INERTIAL} =>
    element-repeated at warning, link 'fore' (line 5): 2, inertial
effort="30"/> => effort="30"/><dynamics damping="0.3"/> =>
    element-repeated at warning, joint 'elbow' (line 14): 2, dynamics
damping="0.3" => damping="0.3" stiffness="2" K="1" =>
attributes-unread at warning, joint 'elbow' (line 14): [damping, friction, armature], dynamics, [stiffness, K]
effort="30"/> => effort="30"/><damping>2</damping> =>
    child-unread at note, joint 'elbow' (line 14): joint, damping
effort="30"/> => effort="30"/><limits/> =>
    child-misspelt at warning, joint 'elbow' (line 14): limit, joint, limits
name="tool"/ => name="tool"><inertail/></link =>
    child-misspelt at warning, link 'tool' (line 9): inertial, link, inertail
name="tool"/ => name="tool"><mass value="1"/></link =>
    child-outside-inertial at warning, link 'tool' (line 9): link, mass
name="tool"/ => name="tool"><gravity>0</gravity></link =>
    child-unread at note, link 'tool' (line 9): link, gravity
</robot> => <lnk name="z"/></robot> => element-misspelt at warning, robot: link, place-once, lnk
</robot> => <spring/><spring/></robot> => element-unread at note, robot: place-several, spring
xyz="0.4 0 0" rpy="0 0 => xyz="0.4 0 0" rpy="0 -90 =>
    joint-angle-in-degrees at warning, joint 'elbow' (line 14): 90
xyz="0.15 0 0" rpy="0 0 0" => xyz="0.15 0 0" rpy="90 0 180" =>
    inertia-angle-in-degrees at warning, link 'fore' (line 5): 180
</robot> => <Joint name="x"/></robot> => element-misspelt at warning, robot: joint, place-once, Joint
</robot> => <gazebo reference="elbow"><springStiffness>10</springStiffness></gazebo></robot> =>
    gazebo-spring-unread at warning, joint 'elbow' (line 14)
</robot> => <gazebo reference="fore"><turnGravityOff>true</turnGravityOff></gazebo></robot> =>
    gazebo-gravity-off at note, link 'fore' (line 5)
</robot> => <gazebo><joint name="closure" type="revolute"/></gazebo></robot> =>
    gazebo-joints-unread at warning, robot: [closure]
</robot> => <transmission name="t"><joint name="albow"/></transmission></robot> =>
    hardware-joint-unknown at warning, robot: transmission, [albow]
</robot> => <ros2_control><joint name="albow"><command_interface/></joint></ros2_control></robot> =>
    hardware-joint-unknown at warning, robot: ros2_control, [albow]
name="tool" => name="Base" => link="tool" => link="Base" => names-alike at warning, links 'base', 'Base'
name="elbow" => name="the elbow" => name-with-space at warning, joint 'the elbow' (line 14)
name="elbow" => name="elbow.1" => name-with-odd-characters at note, joint 'elbow.1' (line 14)
name="tool" => name="/tool" => link="tool" => link="/tool" =>
    name-with-leading-slash at warning, link '/tool' (line 9)
"""
)

# Replacements that cause no finding.
CLOSE = rows(
    r"""
{UPPER} => ixx="0.01" ixy="0.01" ixz="0" iyy="0.06" iyz="0" izz="0.065"
{UPPER} => ixx="0.01" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.07"
{FORE_INERTIAL}<visual/> => -
{SLIDER} => ixx="0.005" ixy="0" ixz="0" iyy="0.007" iyz="0" izz="0.008"
{SLIDER} => ixx="0.5e-4" ixy="0" ixz="0" iyy="0.7e-4" iyz="0" izz="0.8e-4"
{UPPER} => {COMMON} => {FORE} => {COMMON}
{FORE} => ixx="0.012" ixy="0" ixz="0" iyy="0.012" iyz="0" izz="0.012"
xyz="0.15 => xyz="0.5
xyz="0.2 => xyz="0 => xyz="0.15 => xyz="0
name="tool"/ => name="tool"><sensor/></link
{SLIDER_INERTIAL}<visual/> => -
lower="-2.5" upper="2.5" velocity="4" => velocity="4" => name="elbow" type="revolute" =>
    name="elbow" type="continuous"
lower="0" => lower="-0.1"
lower="-2.5" => lower="0"
upper="2.5" => upper="6.2832"
upper="0.1" => upper="1"
velocity="4" => velocity="50"
lower="-2.5" upper="2.5" velocity="4" => velocity="180" => name="elbow" type="revolute" =>
    name="elbow" type="continuous" => damping="0.3" => damping="0.1"
velocity="0.2" => velocity="2"
effort="60" => effort="23"
friction="1" => friction="48"
damping="0.3" => damping="7.4"
damping="0.5" friction="0.2" => - => damping="0.3" friction="0.1" => -
friction="0.2" armature="0.1" => friction="0.2" => friction="0.1" armature="0.05" => friction="0.1"
</robot> =>
    <ros2_control type="system"><joint name="elbow"><command_interface/></joint></ros2_control></robot>
effort="30"/> => effort="30"/><mimic joint="shoulder" multiplier="0.5"/>
effort="30"/> => effort="30"/><mimic joint="shoulder" /> => effort="50"/> =>
    effort="50"/><mimic joint="shoulder" multiplier="0.01" offset="0.05"/>
effort="30"/> => effort="30"/><mimic joint="shoulder" multiplier="-1" offset="0.5"/>
effort="30"/> => effort="30"/><mimic joint="shoulder" />
xyz="1 => xyz="0.9999
<axis xyz="0 => <axis xyz="0.02
xyz="0.4 0 0" rpy="0 => xyz="0.4 0 0" rpy="1.5707963267948966
xyz="0.4 0 0" rpy="0 0 0"/><axis xyz="0 1 0" => xyz="0.001 0 0" rpy="0 0 0"/><axis xyz="0 0 1"
xyz="0.4 0 0" rpy="0 0 0"/><axis xyz="0 1 => xyz="0.1 0.4 0" rpy="0 0 0"/><axis xyz="0 -1
xyz="0.4 0 0" rpy="0 0 => xyz="0.4 0 0" rpy="0 1.57079632679
0" rpy="0 0 0"/><axis xyz="0 1 => 0" rpy="0 0 0"/><axis xyz="0.7071 0.7071
xyz="0.4 0 0" rpy="0 0 => xyz="0.4 0 0" rpy="0 -1.5
effort="30" => jerk="1" effort="30"
effort="30"/> => effort="30"/><safety_controller/>
effort="30"/> => effort="30"/><vendor:limits xmlns:vendor='v'/>
name="tool"/ => name="tool"><contact/><self_collision_checking/></link
</robot> => <drake:link xmlns:drake="d"/><loop:joint xmlns:loop="d"/></robot>
</robot> => <group/><sensor/><gazebo/><material/></robot>
xyz="0.4 0 0" rpy="0 0 => xyz="0.4 0 0" rpy="0 6.2831853071795862
xyz="0.15 0 0" rpy="0 0 0" => xyz="0.15 0 0" rpy="1.5 0 3"
</robot> =>
    <gazebo reference="elbow"><springStiffness>0</springStiffness><material>x</material></gazebo></robot>
</robot> =>
    <gazebo reference="fore"><turnGravityOff>false</turnGravityOff><gravity>1</gravity></gazebo></robot>
</robot> => <gazebo><plugin name="closure"/></gazebo></robot>
</robot> => <transmission name="t"><joint name="elbow"/></transmission></robot>
</robot> => <ros2_control type="sensor"><joint name="albow"/></ros2_control></robot>
name="elbow" => name="the-elbow"
name="mount" => name="mount.1"
"""
)


def findings(cells: tuple[str, ...]) -> tuple[Finding, ...]:
    return check_robot(replaced(CLEAN, *(cell.format_map(vars(checked_robot)) for cell in cells)))


@pytest.mark.parametrize("row", FOUND, ids=[row[-1] for row in FOUND])
def test_finds_it_and_nothing_else(row: tuple[str, ...]) -> None:
    assert [summary(finding) for finding in findings(row[:-1])] == [row[-1]]


@pytest.mark.parametrize("cells", CLOSE, ids=[cells[1] for cells in CLOSE])
def test_values_close_to_suspicious_ones_give_no_finding(cells: tuple[str, ...]) -> None:
    assert findings(cells) == ()


def test_our_robots_have_no_more_than_notes() -> None:
    for name in ("rrp", "rx90", "two_branch"):
        assert {found.severity for found in check_robot(ROBOTS / f"{name}.urdf")} == {Severity.NOTE}, name
