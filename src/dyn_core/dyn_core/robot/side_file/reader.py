# SPDX-License-Identifier: Apache-2.0
"""The YAML file beside a URDF: what URDF cannot say about the same robot.

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
      joint_1: {viscous: 2.0, coulomb: 5.0, offset: 0.1}   # what is not given stays as in the URDF
    elastic:
      sway: {stiffness: 1.0e6, rest: 0.01, damping: 20.0}   # a spring in the place of an actuator
      joint_2: {stiffness: 2.0e4, motor: {inertia: 1.0e-4, gear: 100}}  # a spring behind a motor
    base: free                    # how the base moves: free, planar or given

Names and frames are those of the URDF. ``xyz``, ``rpy`` and ``axis`` default to zero, zero and z.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from dyn_core.core.errors import listed, shortened
from dyn_core.io.yaml_values import entries, fail, items, name, not_negative, number, triple, words
from dyn_core.model.base_kind import BASE_KINDS, BaseKind
from dyn_core.robot.description import Triple, UrdfLoop, UrdfLoopEnd, UrdfOrigin
from dyn_core.robot.yaml_text import Node, Scalar

Value = TypeVar("Value")
LOOP_TYPES = ("revolute", "prismatic", "universal", "spherical", "cylindrical", "planar", "fixed")
NOTHING = Scalar("")


@dataclass(frozen=True)
class SideFriction:
    """Friction of a joint; None where the URDF's stands (N m s/rad, N m, N m, or N s/m, N, N)."""

    viscous: float | None = None
    coulomb: float | None = None
    offset: float | None = None


@dataclass(frozen=True)
class SideMotor:
    """The motor of a series-elastic joint.

    Attributes:
        inertia: of the rotor about its own shaft (kg m^2); None where the rotor inertia of the joint says it.
        gear: speed of the shaft over that of the joint (1, or rad/m).
    """

    inertia: float | None = None
    gear: float = 1.0


@dataclass(frozen=True)
class SideSpring:
    """The spring of a joint.

    Attributes:
        stiffness: N m/rad or N/m.
        rest: where it is at rest (rad or m).
        damping: N m s/rad or N s/m.
        motor: what is behind it; None where it takes the place of an actuator.
        line: where it is in the file; 0 where there is none.
    """

    stiffness: float
    rest: float = 0.0
    damping: float = 0.0
    motor: SideMotor | None = None
    line: int = 0


@dataclass(frozen=True)
class SideFile:
    """What a side file says, by joint name; `passive` is None where it does not say.

    `remarks` are sentences about what nobody can have meant, such as a heading with nothing below it.
    """

    loops: tuple[UrdfLoop, ...] = ()
    passive: tuple[str, ...] | None = None
    assembly: dict[str, float] = field(default_factory=dict)
    rotor_inertia: dict[str, float] = field(default_factory=dict)
    friction: dict[str, SideFriction] = field(default_factory=dict)
    elastic: dict[str, SideSpring] = field(default_factory=dict)
    base: BaseKind | None = None
    remarks: tuple[str, ...] = ()


def side_file(root: Node) -> SideFile:
    """Answer what a YAML document says; DynError, with the line, where it is no side file."""
    given = entries(
        "the file", root, ("loops", "passive", "assembly", "rotor_inertia", "friction", "elastic", "base")
    )
    loops = items("loops", given.get("loops", NOTHING))
    passive = _names("passive", given["passive"]) if "passive" in given else None
    if "loops" in given and not loops and passive:
        raise fail(
            "loops",
            given["loops"],
            "it is empty, but `passive` names joints that follow through loops: give the loops, or leave "
            "`loops` out where the robot's description has them",
        )
    return SideFile(
        loops=tuple(_loop(f"loops[{k}]", node) for k, node in enumerate(loops)),
        passive=passive,
        assembly=_by_joint("assembly", given, number),
        rotor_inertia=_by_joint("rotor_inertia", given, not_negative),
        friction=_by_joint("friction", given, _friction),
        elastic=_by_joint("elastic", given, _spring, "elbow: {stiffness: 2.0e+4}"),
        base=_base(given["base"]) if "base" in given else None,
        remarks=tuple(_remarks(given)),
    )


def _remarks(given: dict[str, Node]) -> Iterator[str]:
    node = given.get("elastic")
    if isinstance(node, Scalar) and not node.text and node.line:
        yield (
            f"elastic (line {node.line}): nothing is in it, and no joint is elastic: name joints below it, "
            "or "
            "leave it out"
        )


def _base(node: Node) -> BaseKind:
    kind = node.text.strip() if isinstance(node, Scalar) else None
    for known in BASE_KINDS:
        if kind == known:
            return known
    given = "no word" if kind is None else f"'{shortened(kind, 40)}'" if kind else "empty"
    raise fail("base", node, f"it is {given}: use one of {listed(BASE_KINDS)}, or leave it out")


def _by_joint(
    entry: str, given: dict[str, Node], read: Callable[[str, Node], Value], example: str = "name: value"
) -> dict[str, Value]:
    """Answer a mapping from joint names, of which each value is read by `read`."""
    values = entries(entry, given.get(entry, NOTHING), example=example)
    return {joint: read(f"{entry} of joint '{shortened(joint, 40)}'", node) for joint, node in values.items()}


def _names(owner: str, node: Node) -> tuple[str, ...]:
    return tuple(name(f"{owner}[{k}]", item) for k, item in enumerate(items(owner, node)))


def _friction(owner: str, node: Node) -> SideFriction:
    given = entries(owner, node, ("viscous", "coulomb", "offset"))
    return SideFriction(
        viscous=not_negative(f"{owner}, viscous", given["viscous"]) if "viscous" in given else None,
        coulomb=not_negative(f"{owner}, coulomb", given["coulomb"]) if "coulomb" in given else None,
        offset=number(f"{owner}, offset", given["offset"]) if "offset" in given else None,
    )


def _spring(owner: str, node: Node) -> SideSpring:
    known = ("stiffness", "rest", "damping", "motor")
    given = entries(owner, node, known, "{stiffness: 2.0e+4, damping: 5.0}")
    unit = "N m/rad, or N/m for a prismatic joint"
    if "stiffness" not in given:
        raise fail(owner, node, f"it has no stiffness: add one ({unit})")
    stiffness = number(f"{owner}, stiffness", given["stiffness"], unit)
    if stiffness <= 0.0:
        raise fail(
            f"{owner}, stiffness",
            given["stiffness"],
            f"it is {stiffness:g}: give a number > 0, or, for a joint that moves freely, name it in passive",
        )
    return SideSpring(
        stiffness=stiffness,
        rest=number(f"{owner}, rest", given["rest"], "rad or m") if "rest" in given else 0.0,
        damping=not_negative(f"{owner}, damping", given["damping"], "N m s/rad or N s/m")
        if "damping" in given
        else 0.0,
        motor=_motor(f"{owner}, motor", given["motor"]) if "motor" in given else None,
        line=node.line,
    )


def _motor(owner: str, node: Node) -> SideMotor:
    given = entries(owner, node, ("inertia", "gear"), "{inertia: 1.0e-4, gear: 100}")
    ratio = "the speed of the motor over that of the joint"
    gear = number(f"{owner}, gear", given["gear"], ratio) if "gear" in given else 1.0
    if gear == 0.0:
        raise fail(f"{owner}, gear", given["gear"], f"it is 0: give {ratio}")
    inertia = number(f"{owner}, inertia", given["inertia"], "kg m^2") if "inertia" in given else None
    if inertia is not None and inertia <= 0.0:
        raise fail(f"{owner}, inertia", given["inertia"], f"it is {inertia:g}: give a number > 0 (kg m^2)")
    return SideMotor(inertia, gear)


def _loop(owner: str, node: Node) -> UrdfLoop:
    given = entries(owner, node, ("name", "type", "parent", "child", "axis", "axis2"))
    for key in ("name", "type", "parent", "child"):
        if key not in given:
            raise fail(owner, node, f"it has no {key}: add one")
    loop = name(f"{owner}, name", given["name"])
    owner = f"loop '{shortened(loop, 40)}'"
    kind = name(f"{owner}, type", given["type"])
    if kind not in LOOP_TYPES:
        raise fail(
            owner, given["type"], f"its type is '{shortened(kind, 40)}': use one of {listed(LOOP_TYPES, 7)}"
        )
    if kind == "universal" and "axis2" not in given:
        raise fail(owner, node, "a universal joint needs an axis2")
    if kind != "universal" and "axis2" in given:
        raise fail(owner, given["axis2"], "only a universal joint has an axis2")
    return UrdfLoop(
        name=loop,
        line=node.line,
        type=kind,
        parent=_end(f"{owner}, parent", given["parent"]),
        child=_end(f"{owner}, child", given["child"]),
        axis=_axis(f"{owner}, axis", given["axis"]) if "axis" in given else (0.0, 0.0, 1.0),
        child_axis=_axis(f"{owner}, axis2", given["axis2"]) if "axis2" in given else None,
    )


def _end(owner: str, node: Node) -> UrdfLoopEnd:
    given = entries(owner, node, ("link", "xyz", "rpy"))
    if "link" not in given:
        raise fail(owner, node, "it has no link: add one")
    zero = (0.0, 0.0, 0.0)
    return UrdfLoopEnd(
        link=name(f"{owner}, link", given["link"]),
        origin=UrdfOrigin(
            xyz=triple(f"{owner}, xyz", given["xyz"]) if "xyz" in given else zero,
            rpy=triple(f"{owner}, rpy", given["rpy"]) if "rpy" in given else zero,
            rpy_words=words(given["rpy"]) if "rpy" in given else (),
        ),
    )


def _axis(owner: str, node: Node) -> Triple:
    axis = triple(owner, node)
    if axis == (0.0, 0.0, 0.0):
        raise fail(owner, node, "the axis is zero: give a direction such as [0, 0, 1]")
    return axis
