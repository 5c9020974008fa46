# SPDX-License-Identifier: Apache-2.0
"""A robot without any suspicious value; tests change one value at a time."""

from __future__ import annotations

CLEAN = """<robot name="clean">
<link name="base"><visual/></link>
<link name="upper"><inertial><origin xyz="0.2 0 0" rpy="0 0 0"/><mass value="4"/>
 <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.065"/></inertial><visual/></link>
<link name="fore"><inertial><origin xyz="0.15 0 0" rpy="0 0 0"/><mass value="2"/>
 <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.031"/></inertial><visual/></link>
<link name="slider"><inertial><origin xyz="0.05 0 0" rpy="0 0 0"/><mass value="0.5"/>
 <inertia ixx="0.0005" ixy="0" ixz="0" iyy="0.0007" iyz="0" izz="0.0008"/></inertial><visual/></link>
<link name="tool"/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
 <origin xyz="0 0 0.5" rpy="0 0 0"/><axis xyz="0 1 0"/>
 <limit lower="-2" upper="2" velocity="3" effort="60"/>
 <dynamics damping="0.5" friction="0.2" armature="0.1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
 <origin xyz="0.4 0 0" rpy="0 0 0"/><axis xyz="0 1 0"/>
 <limit lower="-2.5" upper="2.5" velocity="4" effort="30"/>
 <dynamics damping="0.3" friction="0.1" armature="0.05"/></joint>
<joint name="slide" type="prismatic"><parent link="fore"/><child link="slider"/>
 <origin xyz="0.3 0 0" rpy="0 0 0"/><axis xyz="1 0 0"/>
 <limit lower="0" upper="0.1" velocity="0.2" effort="50"/>
 <dynamics damping="5" friction="1" armature="0.2"/></joint>
<joint name="mount" type="fixed"><parent link="slider"/><child link="tool"/>
 <origin xyz="0.1 0 0" rpy="0 0 0"/></joint>
</robot>
"""

# Parts of its URDF, for replacements.
UPPER = 'ixx="0.01" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.065"'
FORE = 'ixx="0.004" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.031"'
SLIDER = 'ixx="0.0005" ixy="0" ixz="0" iyy="0.0007" iyz="0" izz="0.0008"'
COMMON = 'ixx="0.006" ixy="0" ixz="0" iyy="0.007" iyz="0" izz="0.008"'
UPPER_INERTIAL = CLEAN[CLEAN.index("<inertial>") : CLEAN.index("</inertial>") + len("</inertial>")]
FORE_INERTIAL = UPPER_INERTIAL.replace("0.2 0 0", "0.15 0 0").replace('"4"', '"2"').replace(UPPER, FORE)
SLIDER_INERTIAL = UPPER_INERTIAL.replace("0.2 0 0", "0.05 0 0").replace('"4"', '"0.5"').replace(UPPER, SLIDER)
NO_ROTORS = (' armature="0.1"', "", ' armature="0.05"', "", ' armature="0.2"', "")
