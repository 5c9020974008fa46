# SPDX-License-Identifier: Apache-2.0
"""Loops in a URDF: <constraint>, as proposed to urdfdom, and <loop_joint>, as Drake and Isaac Sim have it.

.. code-block:: xml

    <constraint name="closure" type="revolute">
      <parent link="a"/> <parent_origin xyz="0.1 0 0" rpy="0 0 0"/> <parent_axis xyz="0 0 1"/>
      <child link="b"/>  <child_origin xyz="0.3 0 0"/>             <child_axis xyz="0 0 1"/>
    </constraint>
    <loop_joint name="closure" type="revolute">
      <link1 link="a" xyz="0.1 0 0" rpy="0 0 0"/> <link2 link="b" xyz="0.3 0 0"/> <axis xyz="0 0 1"/>
    </loop_joint>

An axis is given in the cut frame of its side, and is z where it is not given; that of the child is
where it is not given that of the parent. A <loop_joint> may also be written with the children of a
<constraint>, and a second <link1> stands for <link2> (so it is printed in the manual of Isaac Sim).
Other children are not read, which a remark says.
"""

from __future__ import annotations

from collections.abc import Iterator

from dyn_core.core.errors import counted, listed, shortened
from dyn_core.io.attributes import fail, label, placement_vector, text, vector, words
from dyn_core.robot.description import Triple, UrdfLoop, UrdfLoopEnd, UrdfOrigin
from dyn_core.robot.side_file.reader import LOOP_TYPES
from dyn_core.robot.xml_text import Element

_READ = (
    *("parent", "child", "parent_origin", "child_origin", "parent_axis", "child_axis"),
    *("link1", "link2", "axis", "axis2"),
)

_NOT_READ = {
    "dynamics": "it is the joint that a loop is cut at, whose friction no equation has: cut the loop at a "
    "joint with less friction, and make this one a joint of the tree",
    "limit": "it is the joint that a loop is cut at, of which no limits are kept: cut the loop at another "
    "joint, and make this one a joint of the tree",
}


def urdf_loops(robot: Element, remarks: list[str]) -> tuple[UrdfLoop, ...]:
    """Answer the loops of a <robot> in document order, and remark on what of them is not read."""
    elements = [element for element in robot.children if element.tag in ("constraint", "loop_joint")]
    loops = tuple(_loop(element) for element in elements)
    for element in elements:
        for child in element.children:
            if child.tag not in _READ and _says_something(child):
                shown = shortened(child.tag, 40)
                why = _NOT_READ.get(child.tag, f"a loop has no <{shown}>: leave it out, or correct its name")
                remarks.append(f"{label(element)}: its <{shown}> (line {child.line}) is not read: {why}")
    return loops


def _says_something(child: Element) -> bool:
    """Whether an element is more than friction that is 0."""
    if child.tag != "dynamics":
        return True
    return any(value.strip(" +-0.") for value in child.attributes.values())


def _loop(element: Element) -> UrdfLoop:
    owner = label(element)
    name, kind = text(owner, element, "name"), text(owner, element, "type")
    kind = "revolute" if kind == "continuous" else kind
    if kind not in LOOP_TYPES:
        shown = shortened(kind, 40)
        raise fail(owner, element, f'type="{shown}" is unknown: use one of {listed(LOOP_TYPES, 7)}')
    links = [child for child in element.children if child.tag in ("link1", "link2")]
    if links:
        if len(links) != 2:
            raise fail(
                owner, element, f"it has {counted(len(links), 'link')}: give one <link1> and one <link2>"
            )
        parent, child = (_end(owner, link, link) for link in links)
    else:
        parent, child = (_side(owner, element, side) for side in ("parent", "child"))
    axis = _axis(owner, element, "axis", "parent_axis")
    child_axis = _axis(owner, element, "axis2", "child_axis")
    if kind == "universal" and child_axis is None:
        raise fail(owner, element, "a universal joint needs a <child_axis>")
    return UrdfLoop(name, element.line, kind, parent, child, axis or (0.0, 0.0, 1.0), child_axis)


def _side(owner: str, element: Element, side: str) -> UrdfLoopEnd:
    link = element.first(side)
    if link is None:
        raise fail(owner, element, f"it has no <{side}>: add one")
    return _end(owner, link, element.first(f"{side}_origin"))


def _end(owner: str, link: Element, origin: Element | None) -> UrdfLoopEnd:
    xyz, rpy = (placement_vector(owner, origin, name) for name in ("xyz", "rpy"))
    return UrdfLoopEnd(text(owner, link, "link"), UrdfOrigin(xyz, rpy, words(origin, "rpy")))


def _axis(owner: str, element: Element, *tags: str) -> Triple | None:
    found: Iterator[Element] = (child for child in element.children if child.tag in tags)
    for child in found:
        axis = vector(owner, child, "xyz", (0.0, 0.0, 1.0))
        if axis == (0.0, 0.0, 0.0):
            raise fail(owner, child, 'the axis is zero: give a direction such as xyz="0 0 1"')
        return axis
    return None
