# SPDX-License-Identifier: Apache-2.0
"""Read a side file: YAML with data about a robot that a URDF cannot hold.

.. code-block:: yaml

    loops:
      - name: closure
        type: revolute            # prismatic, universal, spherical, cylindrical, planar, fixed
        parent: {link: link_a, xyz: [0.1, 0, 0], rpy: [0, 0, 0]}
        child:  {link: link_b, xyz: [0.3, 0, 0], rpy: [0, 0, 0]}
        axis: [0, 0, 1]           # in the parent's cut frame; a universal joint has an axis2 in the child's
    passive: [joint_3, joint_8]   # all other joints are actuated
    assembly: {joint_1: 0.2, joint_3: 1.1, joint_8: -0.4}   # near one closed configuration (rad or m)
    rotor_inertia: {joint_1: 0.4} # seen at the joint (kg m^2 or kg)
    friction:
      joint_1: {viscous: 2.0, coulomb: 5.0, offset: 0.1}   # a missing value stays as in the URDF
    elastic:
      sway: {stiffness: 1.0e6, rest: 0.01, damping: 20.0}   # a spring instead of an actuator
      joint_2: {stiffness: 2.0e4, motor: {inertia: 1.0e-4, gear: 100}}  # a spring behind a motor
    base: free                    # motion of the base: free, planar or given

Names and frames are those of the URDF. ``xyz``, ``rpy`` and ``axis`` default to zero, zero and z.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from dyn_core.core.errors import DynError, ModelWarning, shortened
from dyn_core.core.findings import Place
from dyn_core.core.text import path_text, read_text
from dyn_core.robot.description import Triple, UrdfLoop, UrdfLoopEnd, UrdfOrigin
from dyn_core.robot.robot import BASE_KINDS, BaseKind
from dyn_core.robot.yaml_text import (
    Node,
    Scalar,
    as_node,
    entries,
    items,
    name,
    not_negative,
    number,
    parse_yaml,
    place_in,
    triple,
    words,
)

Value = TypeVar("Value")
Default = TypeVar("Default")
LOOP_TYPES = ("revolute", "prismatic", "universal", "spherical", "cylindrical", "planar", "fixed")
SIDE_FILE_ENTRIES = ("loops", "passive", "assembly", "rotor_inertia", "friction", "elastic", "base")
_NOTHING = Scalar("")


@dataclass(frozen=True)
class SideFriction:
    """Friction of a joint; None keeps the URDF's (N m s/rad, N m, N m, or N s/m, N, N)."""

    viscous: float | None = None
    coulomb: float | None = None
    offset: float | None = None


@dataclass(frozen=True)
class SideMotor:
    """The motor of a series-elastic joint.

    Attributes:
        inertia: of the rotor about its own shaft (kg m^2); None if the rotor inertia of the joint gives it.
        gear: speed of the shaft over that of the joint (1, or rad/m).
    """

    inertia: float | None = None
    gear: float = 1.0


@dataclass(frozen=True)
class SideSpring:
    """The spring of a joint.

    Attributes:
        stiffness: N m/rad or N/m.
        rest: position at which it is at rest (rad or m).
        damping: N m s/rad or N s/m.
        motor: the motor behind it; None if it replaces an actuator.
        line: its line in the file; 0 without a file.
    """

    stiffness: float
    rest: float = 0.0
    damping: float = 0.0
    motor: SideMotor | None = None
    line: int = 0


@dataclass(frozen=True)
class SideFile:
    """Contents of a side file, by joint name; `passive` is None if it is not given.

    `remarks` are warnings about entries that are most likely mistakes, such as a heading with nothing below
    it.
    """

    loops: tuple[UrdfLoop, ...] = ()
    passive: tuple[str, ...] | None = None
    assembly: dict[str, float] = field(default_factory=dict)
    rotor_inertia: dict[str, float] = field(default_factory=dict)
    friction: dict[str, SideFriction] = field(default_factory=dict)
    elastic: dict[str, SideSpring] = field(default_factory=dict)
    base: BaseKind | None = None
    remarks: tuple[ModelWarning, ...] = ()


_YAML_TEXT = re.compile(r"\n|:\s|:$|^\s*[{#]")  # found in no path of a file


def read_side_file(source: str | os.PathLike[str] | Mapping[str, object]) -> tuple[SideFile, str | None]:
    """Return the contents of a side file, and its path if it has one.

    Args:
        source: path of a YAML file, YAML text, or its contents as Python data.
    """
    if isinstance(source, Mapping):
        return _side_file(as_node(source)), None
    if isinstance(source, str) and _YAML_TEXT.search(source):
        return _side_file(parse_yaml(source)), None
    path = path_text(source)
    text = read_text(source, "YAML", "YAML")
    try:
        return _side_file(parse_yaml(text)), path
    except DynError as error:
        raise error.in_file(path) from error


def _side_file(root: Node) -> SideFile:
    """Return the contents of a YAML document; DynError, with the line, if it is not a side file."""
    given = entries("the file", root, SIDE_FILE_ENTRIES)
    loops = items("loops", given.get("loops", _NOTHING))
    passive = _names("passive", given["passive"]) if "passive" in given else None
    if "loops" in given and not loops and passive:
        raise DynError("loops-empty", place=place_in("loops", given["loops"]), passive=passive)
    elastic = given.get("elastic")
    is_empty = isinstance(elastic, Scalar) and not elastic.text and elastic.line
    return SideFile(
        loops=tuple(_loop(f"loops[{k}]", node) for k, node in enumerate(loops)),
        passive=passive,
        assembly=_by_joint("assembly", given, number),
        rotor_inertia=_by_joint("rotor_inertia", given, not_negative),
        friction=_by_joint("friction", given, _friction),
        elastic=_by_joint("elastic", given, _spring, "elbow: {stiffness: 2.0e+4}"),
        base=_base(given["base"]) if "base" in given else None,
        remarks=(ModelWarning("elastic-empty", place=place_in("elastic", elastic)),)
        if elastic and is_empty
        else (),
    )


def _base(node: Node) -> BaseKind:
    kind = node.text.strip() if isinstance(node, Scalar) else None
    for known in BASE_KINDS:
        if kind == known:
            return known
    place = place_in("base", node)
    if kind:
        raise DynError("base-kind-unknown", place=place, given=kind, known=BASE_KINDS)
    raise DynError("base-kind-not-word" if kind is None else "base-kind-empty", place=place, known=BASE_KINDS)


def _by_joint(
    entry: str, given: dict[str, Node], read: Callable[[str, Node], Value], example: str = "name: value"
) -> dict[str, Value]:
    """Return a mapping from joint names to values that `read` reads."""
    values = entries(entry, given.get(entry, _NOTHING), example=example)
    return {joint: read(f"{entry} of joint '{shortened(joint, 40)}'", node) for joint, node in values.items()}


def _read(
    owner: str, given: dict[str, Node], key: str, read: Callable[..., Value], default: Default, unit: str = ""
) -> Value | Default:
    """Return the entry of that key, read by `read`, or the default."""
    if key not in given:
        return default
    return read(f"{owner}, {key}", given[key], *([unit] if unit else []))


def _names(owner: str, node: Node) -> tuple[str, ...]:
    return tuple(name(f"{owner}[{k}]", item) for k, item in enumerate(items(owner, node)))


def _friction(owner: str, node: Node) -> SideFriction:
    given = entries(owner, node, ("viscous", "coulomb", "offset"))
    viscous = _read(owner, given, "viscous", not_negative, None)
    coulomb = _read(owner, given, "coulomb", not_negative, None)
    return SideFriction(viscous, coulomb, _read(owner, given, "offset", number, None))


def _spring(owner: str, node: Node) -> SideSpring:
    known = ("stiffness", "rest", "damping", "motor")
    given = entries(owner, node, known, "{stiffness: 2.0e+4, damping: 5.0}")
    if "stiffness" not in given:
        raise DynError("stiffness-missing", place=place_in(owner, node))
    stiffness = number(f"{owner}, stiffness", given["stiffness"], "N m/rad, or N/m for a prismatic joint")
    if stiffness <= 0.0:
        place = place_in(f"{owner}, stiffness", given["stiffness"])
        raise DynError("stiffness-not-positive", place=place, given=stiffness)
    return SideSpring(
        stiffness=stiffness,
        rest=_read(owner, given, "rest", number, 0.0, "rad or m"),
        damping=_read(owner, given, "damping", not_negative, 0.0, "N m s/rad or N s/m"),
        motor=_read(owner, given, "motor", _motor, None),
        line=node.line,
    )


def _motor(owner: str, node: Node) -> SideMotor:
    given = entries(owner, node, ("inertia", "gear"), "{inertia: 1.0e-4, gear: 100}")
    unit = "the speed of the motor over that of the joint"
    gear = _read(owner, given, "gear", number, 1.0, unit)
    if gear == 0.0:
        raise DynError("gear-zero", place=place_in(f"{owner}, gear", given["gear"]))
    inertia = _read(owner, given, "inertia", number, None, "kg m^2")
    if inertia is not None and inertia <= 0.0:
        place = place_in(f"{owner}, inertia", given["inertia"])
        raise DynError("shaft-inertia-not-positive", place=place, given=inertia)
    return SideMotor(inertia, gear)


def _loop(entry: str, node: Node) -> UrdfLoop:
    given = entries(entry, node, ("name", "type", "parent", "child", "axis", "axis2"))
    for key in ("name", "type", "parent", "child"):
        if key not in given:
            raise DynError("part-missing", place=place_in(entry, node), part=key)
    loop = name(f"{entry}, name", given["name"])
    owner = Place("loop", shortened(loop, 40))
    kind = name(f"{owner}, type", given["type"])
    if kind not in LOOP_TYPES:
        place = place_in(owner, given["type"])
        raise DynError("side-file-loop-type-unknown", place=place, given=kind, known=LOOP_TYPES)
    if kind == "universal" and "axis2" not in given:
        raise DynError("universal-axis2-missing", place=place_in(owner, node))
    if kind != "universal" and "axis2" in given:
        raise DynError("axis2-not-universal", place=place_in(owner, given["axis2"]))
    return UrdfLoop(
        name=loop,
        line=node.line,
        type=kind,
        parent=_end(f"{owner}, parent", given["parent"]),
        child=_end(f"{owner}, child", given["child"]),
        axis=_read(str(owner), given, "axis", _axis, (0.0, 0.0, 1.0)),
        child_axis=_read(str(owner), given, "axis2", _axis, None),
    )


def _end(owner: str, node: Node) -> UrdfLoopEnd:
    given = entries(owner, node, ("link", "xyz", "rpy"))
    if "link" not in given:
        raise DynError("part-missing", place=place_in(owner, node), part="link")
    link = name(f"{owner}, link", given["link"])
    xyz, rpy = (_read(owner, given, key, triple, (0.0, 0.0, 0.0)) for key in ("xyz", "rpy"))
    return UrdfLoopEnd(link, UrdfOrigin(xyz, rpy, words(given.get("rpy", _NOTHING))))


def _axis(owner: str, node: Node) -> Triple:
    axis = triple(owner, node)
    if axis == (0.0, 0.0, 0.0):
        raise DynError("axis-zero", place=place_in(owner, node), example="[0, 0, 1]")
    return axis
