# SPDX-License-Identifier: Apache-2.0
"""Links and joints must form one tree; what breaks it is named."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.core.errors import DynError, listed
from dyn_core.robot.description import UrdfJoint, UrdfLink

_AS_LOOP = "take one of the joints out, or declare it as a loop"


def root_of_tree(links: Sequence[UrdfLink], joints: Sequence[UrdfJoint]) -> str:
    """Answer the name of the root link; DynError where the links do not form one tree."""
    if not links:
        raise DynError("the robot has no link: add at least one <link>", element="robot")
    _no_name_twice("link", links)
    _no_name_twice("joint", joints)
    _ends_exist(links, joints)
    parent_joint = _one_parent_each(joints)
    roots = [link for link in links if link.name not in parent_joint]
    if len(roots) > 1:
        raise DynError(
            f"the robot has {len(roots)} root links, {listed(link.name for link in roots)}: "
            "join them with fixed joints",
            element=f"link '{roots[1].name}'",
            line=roots[1].line,
        )
    _no_cycle(links, parent_joint)
    return roots[0].name


def _no_name_twice(kind: str, items: Sequence[UrdfLink] | Sequence[UrdfJoint]) -> None:
    first_line: dict[str, int] = {}
    for item in items:
        if item.name in first_line:
            raise DynError(
                f"{kind} '{item.name}' (line {item.line}) has the name of another {kind} "
                f"(line {first_line[item.name]}): rename one",
                element=f"{kind} '{item.name}'",
                line=item.line,
            )
        first_line[item.name] = item.line


def _ends_exist(links: Sequence[UrdfLink], joints: Sequence[UrdfJoint]) -> None:
    names = {link.name for link in links}
    for joint in joints:
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in names:
                raise _at(joint, f"its {end} link '{name}' does not exist: add it or correct the name")
        if joint.parent == joint.child:
            raise _at(joint, f"its parent and its child are the same link '{joint.child}'")


def _one_parent_each(joints: Sequence[UrdfJoint]) -> dict[str, UrdfJoint]:
    """Answer the joint that carries each link but the root."""
    parent_joint: dict[str, UrdfJoint] = {}
    for joint in joints:
        other = parent_joint.setdefault(joint.child, joint)
        if other is not joint:
            raise _at(
                joint,
                f"link '{joint.child}' is also the child of joint '{other.name}' "
                f"(line {other.line}): a link can have only one parent: {_AS_LOOP}",
            )
    return parent_joint


def _no_cycle(links: Sequence[UrdfLink], parent_joint: dict[str, UrdfJoint]) -> None:
    """Walk from every link to its root, or back to a link of the same walk: a cycle."""
    known_good: set[str] = set()
    for link in links:
        walk: dict[str, None] = {}
        name = link.name
        while name in parent_joint and name not in known_good:
            if name in walk:
                raise _at(
                    parent_joint[name],
                    f"links {listed(_loop(name, parent_joint))} form a cycle: {_AS_LOOP}",
                )
            walk[name] = None
            name = parent_joint[name].parent
        known_good.update(walk)


def _loop(name: str, parent_joint: dict[str, UrdfJoint]) -> list[str]:
    loop = [name]
    while (above := parent_joint[loop[-1]].parent) != name:
        loop.append(above)
    return loop[::-1]


def _at(joint: UrdfJoint, what: str) -> DynError:
    owner = f"joint '{joint.name}'"
    return DynError(f"{owner} (line {joint.line}): {what}", element=owner, line=joint.line)
