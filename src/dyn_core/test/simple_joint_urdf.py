# SPDX-License-Identifier: Apache-2.0
"""URDF with planar and floating joints, rewritten for programs that do not read them as dyn_core does.

Fixed joints turn the frames until the axis of a plane is z. dyn_core uses another method.
"""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np

PARTS = {
    "planar": (("x", "prismatic", "1 0 0"), ("y", "prismatic", "0 1 0"), ("theta", "continuous", "0 0 1")),
    "floating": (
        *(("trans_x", "prismatic", "1 0 0"), ("trans_y", "prismatic", "0 1 0")),
        *(("trans_z", "prismatic", "0 0 1"), ("yaw", "continuous", "0 0 1")),
        *(("pitch", "continuous", "0 1 0"), ("roll", "continuous", "1 0 0")),
    ),
}


def plane_rpy(axis: str) -> tuple[str, str]:
    """Return rpy of the smallest rotation that takes z to an axis, and of its inverse."""
    a = np.array([float(word) for word in axis.split()])
    a /= np.linalg.norm(a)
    sine = math.hypot(a[0], a[1])
    u = np.array([-a[1], a[0], 0.0]) / sine if sine > 1e-12 else np.array([1.0, 0.0, 0.0])
    angle = math.atan2(sine, a[2])
    U = np.array([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])
    R = np.eye(3) + math.sin(angle) * U + (1.0 - math.cos(angle)) * U @ U
    return _rpy(R), _rpy(R.T)


def with_planes_of_z(urdf: str) -> str:
    """Return a URDF in which every planar joint has the axis z, between rotated frames."""
    robot = ElementTree.fromstring(urdf)
    for joint in robot.findall("joint"):
        if joint.get("type") == "planar":
            there, back = _plane(joint)
            name, parent, child = _ends(joint)
            robot.remove(joint)
            _add(robot, f"{name}/turned", "fixed", parent, f"{name}/turned", joint.find("origin"))
            _add(robot, f"{name}/there", "fixed", f"{name}/turned", f"{name}/there", rpy=there)
            _add(robot, name, "planar", f"{name}/there", f"{name}/moved", axis="0 0 1")
            _add(robot, f"{name}/back", "fixed", f"{name}/moved", child, rpy=back, new=False)
    return ElementTree.tostring(robot, encoding="unicode")


def spelled_out(urdf: str) -> str:
    """Return a URDF of simple joints, with the joint and link names of dyn_core."""
    robot = ElementTree.fromstring(urdf)
    for joint in robot.findall("joint"):
        kind = joint.get("type")
        if kind not in PARTS:
            continue
        there, back = _plane(joint) if kind == "planar" else ("0 0 0", "0 0 0")
        name, parent, child = _ends(joint)
        robot.remove(joint)
        _add(robot, f"{name}/place", "fixed", parent, f"{name}/place", joint.find("origin"))
        _add(robot, f"{name}/there", "fixed", f"{name}/place", f"{name}/there", rpy=there)
        carrier = f"{name}/there"
        for k, (ending, part_type, axis) in enumerate(PARTS[kind], start=1):
            part, last = f"{name}/{ending}", k == len(PARTS[kind])
            _add(robot, part, part_type, carrier, f"{part}_carrier", axis=axis)
            carrier = f"{part}_carrier"
            own = child if last else f"{part}_link"
            _add(robot, f"{part}_back", "fixed", carrier, own, rpy=back, new=not last)
    return ElementTree.tostring(robot, encoding="unicode")


def _plane(joint: ElementTree.Element) -> tuple[str, str]:
    axis = joint.find("axis")
    return plane_rpy("1 0 0" if axis is None else axis.get("xyz", "1 0 0"))


def _ends(joint: ElementTree.Element) -> tuple[str, str, str]:
    return joint.get("name"), joint.find("parent").get("link"), joint.find("child").get("link")


def _add(robot, name, kind, parent, child, origin=None, rpy="0 0 0", axis="1 0 0", new=True) -> None:
    """Add a joint, and its child if it is new."""
    if new:
        ElementTree.SubElement(robot, "link", name=child)
    joint = ElementTree.SubElement(robot, "joint", name=name, type=kind)
    ElementTree.SubElement(joint, "parent", link=parent)
    ElementTree.SubElement(joint, "child", link=child)
    joint.append(ElementTree.Element("origin", xyz="0 0 0", rpy=rpy) if origin is None else origin)
    ElementTree.SubElement(joint, "axis", xyz=axis)
    ElementTree.SubElement(joint, "limit", lower="-2", upper="2", effort="9", velocity="9")


def _rpy(R: np.ndarray) -> str:
    """Fixed-axis angles of a rotation; near a pitch of +-pi/2 the roll contains the yaw."""
    yaw = math.atan2(R[1, 0], R[0, 0])
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    c, s = math.cos(yaw), math.sin(yaw)
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return f"{roll!r} {pitch!r} {yaw!r}"
