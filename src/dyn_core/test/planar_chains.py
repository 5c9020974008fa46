# SPDX-License-Identifier: Apache-2.0
"""Small planar robots with a loop, as URDF and side file, in the plane x y."""

from __future__ import annotations

from collections.abc import Sequence

LINK = """<link name="{name}"><inertial><origin xyz="{half} 0 0"/><mass value="{mass}"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>
<limit lower="-3" upper="3" velocity="5" effort="100"/></joint>"""

Joint = tuple[str, str, str, str, tuple[float, float, float], str]
"""Name, type, parent, child, origin, axis."""


def urdf(name: str, joints: Sequence[Joint], half: float = 0.2) -> str:
    """Answer a URDF with these joints, and a link with a mass for each."""
    parts = [f'<robot name="{name}"><link name="base"/>']
    for joint, kind, parent, child, xyz, axis in joints:
        parts.append(LINK.format(name=child, half=half, mass=1.5))
        where = " ".join(map(repr, xyz))
        parts.append(
            JOINT.format(name=joint, kind=kind, parent=parent, child=child, xyz=where, rpy="0 0 0", axis=axis)
        )
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
"""Cut at its foot, next to its root: branches of 3 and of 0 links."""
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
