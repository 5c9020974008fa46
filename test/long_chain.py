# SPDX-License-Identifier: Apache-2.0
"""A robot whose dynamics take long to compile."""

from __future__ import annotations

_LINK = """<link name="link_{k}"><inertial><origin xyz="0.1 0.02 0.03"/><mass value="1.5"/>
<inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial></link>"""
_JOINT = """<joint name="joint_{k}" type="revolute"><parent link="link_{k}"/><child link="link_{next}"/>
<origin xyz="0.3 0.1 0" rpy="0.3 0.2 0.1"/><axis xyz="0 {y} {z}"/>
<limit lower="-3" upper="3" effort="100" velocity="3"/></joint>"""


def long_chain(count: int) -> str:
    """The text of the description of a chain of revolute joints, none parallel to another."""
    links = "".join(_LINK.format(k=k) for k in range(count + 1))
    joints = "".join(_JOINT.format(k=k, next=k + 1, y=k % 2, z=1 - k % 2) for k in range(count))
    return f'<robot name="chain_{count}">{links}{joints}</robot>'
