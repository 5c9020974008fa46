# SPDX-License-Identifier: Apache-2.0
"""Planar chains, open and closed, and sliding bodies."""

from __future__ import annotations

from collections.abc import Sequence

import dyn_core

LINK = """<link name="{}"><inertial><origin xyz="{} 0 0"/><mass value="1.5"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>"""
JOINT = """<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/>
<origin xyz="{}" rpy="0 0 0"/><axis xyz="{}"/>
<limit lower="-3" upper="3" velocity="5" effort="100"/></joint>"""

Joint = tuple[str, str, str, str, tuple[float, float, float], str]  # Name, type, parent, child, origin, axis


def urdf(name: str, joints: Sequence[Joint], half: float = 0.2) -> str:
    """Return a URDF with these joints and one link with mass for each."""
    parts = [f'<robot name="{name}"><link name="base"/>']
    for *ends, xyz, axis in joints:
        parts += [LINK.format(ends[-1], half), JOINT.format(*ends, " ".join(map(repr, xyz)), axis)]
    return "\n".join([*parts, "</robot>"])


FIVE_BAR = urdf(
    "five_bar",
    [
        ("left_shoulder", "revolute", "base", "left_arm", (0.0, 0.0, 0.0), "0 0 1"),
        ("left_elbow", "revolute", "left_arm", "left_fore", (0.4, 0.0, 0.0), "0 0 1"),
        ("right_shoulder", "revolute", "base", "right_arm", (0.3, 0.0, 0.0), "0 0 1"),
        ("right_elbow", "revolute", "right_arm", "right_fore", (0.4, 0.0, 0.0), "0 0 1"),
    ],
)
FIVE_BAR_SIDE = """
loops:
  - {name: tip, type: revolute, parent: {link: left_fore, xyz: [0.5, 0, 0]},
     child: {link: right_fore, xyz: [0.5, 0, 0]}}
passive: [left_elbow, right_elbow]
assembly: {left_shoulder: 2.2, left_elbow: -1.544, right_shoulder: 0.9, right_elbow: 1.56}
"""

FOUR_BAR = urdf(
    "four_bar",
    [
        ("crank", "revolute", "base", "a", (0.0, 0.0, 0.0), "0 0 1"),
        ("first", "revolute", "a", "b", (0.3, 0.0, 0.0), "0 0 1"),
        ("second", "revolute", "b", "c", (0.8, 0.0, 0.0), "0 0 1"),
    ],
)
"""A loop that is cut next to its root: its branches have 3 and 0 links."""
FOUR_BAR_SIDE = """
loops:
  - {name: foot, type: revolute, parent: {link: c, xyz: [0.6, 0, 0]}, child: {link: base, xyz: [0.7, 0, 0]}}
passive: [first, second]
assembly: {crank: 1.2, first: -0.9, second: -1.9}
"""

SLIDER_CRANK = urdf(
    "slider_crank",
    [
        ("crank", "revolute", "base", "crank_arm", (0.0, 0.0, 0.0), "0 0 1"),
        ("pin", "revolute", "crank_arm", "rod", (0.2, 0.0, 0.0), "0 0 1"),
        ("slide", "prismatic", "base", "piston", (0.0, 0.05, 0.0), "1 0 0"),
    ],
)
SLIDER_CRANK_SIDE = """
loops:
  - {name: wrist, type: revolute, parent: {link: rod, xyz: [0.6, 0, 0]}, child: {link: piston}}
passive: [pin, slide]
assembly: {crank: 0.8, pin: -1.0, slide: 0.7}
"""


# A planar arm, as in textbooks.


def planar_urdf(joints: int) -> str:
    """Return the URDF of an arm that turns about z, with centres of mass on the links' lines."""
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


# Robots whose motion is known in closed form: a block on a rail, and a pendulum.


def block(mass=2.0, damping=0.0, friction=0.0, limits=(-100.0, 100.0), effort=1000000.0) -> dyn_core.Robot:
    """A block on a horizontal rail."""
    return dyn_core.load_robot(
        f'<robot name="block"><link name="rail"/><link name="block"><inertial><mass value="{mass!r}"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        '<joint name="slide" type="prismatic"><parent link="rail"/><child link="block"/><axis xyz="1 0 0"/>'
        f'<limit lower="{limits[0]!r}" upper="{limits[1]!r}" velocity="1000" effort="{effort!r}"/>'
        f'<dynamics damping="{damping!r}" friction="{friction!r}"/></joint></robot>'
    )


def two_links(first: str = "", second: str = "", mimic: str = "") -> dyn_core.Robot:
    """Two rods of 1 m and 1 kg that swing about y; `first` and `second` are added to the joint elements."""
    rod = '<inertial><origin xyz="0.5 0 0"/><mass value="1"/><inertia ixx="0.001" ixy="0" ixz="0" '
    rod += 'iyy="0.0833" iyz="0" izz="0.0833"/></inertial></link>'
    axis, wide = '<axis xyz="0 1 0"/>', '<limit lower="-9" upper="9" velocity="99" effort="999"/>'
    return dyn_core.load_robot(
        f'<robot name="two_links"><link name="base"/><link name="upper">{rod}<link name="lower">{rod}'
        f'<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>{axis}'
        f'{first or wide}</joint><joint name="elbow" type="revolute"><parent link="upper"/>'
        f'<child link="lower"/><origin xyz="1 0 0"/>{axis}{second or wide}{mimic}</joint></robot>'
    )
