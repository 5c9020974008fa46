# SPDX-License-Identifier: Apache-2.0
"""Robots whose motion is known by hand: a block on a rail, and a pendulum."""

from __future__ import annotations

import dyn_core


def block(
    mass: float = 2.0,
    damping: float = 0.0,
    friction: float = 0.0,
    limits: tuple[float, float] = (-100.0, 100.0),
    effort: float = 1e6,
) -> dyn_core.Robot:
    """A block on a level rail."""
    return dyn_core.load_robot(
        '<robot name="block"><link name="rail"/><link name="block"><inertial>'
        f'<mass value="{mass!r}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
        "</inertial></link>"
        '<joint name="slide" type="prismatic"><parent link="rail"/><child link="block"/><axis xyz="1 0 0"/>'
        f'<limit lower="{limits[0]!r}" upper="{limits[1]!r}" velocity="1000" effort="{effort!r}"/>'
        f'<dynamics damping="{damping!r}" friction="{friction!r}"/></joint></robot>'
    )


def two_links(first: str = "", second: str = "", mimic: str = "") -> dyn_core.Robot:
    """Two rods of 1 m and 1 kg that swing about y; `first` and `second` go into the joints."""
    rod = (
        '<inertial><origin xyz="0.5 0 0"/><mass value="1"/>'
        '<inertia ixx="0.001" ixy="0" ixz="0" iyy="0.0833" iyz="0" izz="0.0833"/></inertial>'
    )
    wide = '<limit lower="-9" upper="9" velocity="99" effort="999"/>'
    return dyn_core.load_robot(
        f'<robot name="two_links"><link name="base"/><link name="upper">{rod}</link>'
        f'<link name="lower">{rod}</link>'
        '<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>'
        f"{first or wide}</joint>"
        '<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>'
        f'<origin xyz="1 0 0"/><axis xyz="0 1 0"/>{second or wide}{mimic}</joint></robot>'
    )
