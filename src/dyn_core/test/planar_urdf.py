# SPDX-License-Identifier: Apache-2.0
"""A planar arm: the robot of textbooks."""

from __future__ import annotations


def planar_urdf(joints: int) -> str:
    """Answer the URDF of links in a row that turn about z, with their centres of mass on the row."""
    links = "".join(
        f'<link name="link{j}"><inertial><origin xyz="0.{j + 1} 0 0"/><mass value="{j}.5"/>'
        f'<inertia ixx="0" ixy="0" ixz="0" iyy="0.0{j}" iyz="0" izz="0.0{j}"/></inertial></link>'
        for j in range(1, joints + 1)
    )
    axes = "".join(
        f'<joint name="joint{j}" type="continuous"><parent link="link{j - 1}"/><child link="link{j}"/>'
        f'<origin xyz="{0.4 + 0.1 * j if j > 1 else 0:.1f} 0 0"/><axis xyz="0 0 1"/></joint>'
        for j in range(1, joints + 1)
    )
    return f'<robot name="planar"><link name="link0"/>{links}{axes}</robot>'
