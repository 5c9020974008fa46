# SPDX-License-Identifier: Apache-2.0
"""The joints that close loops, which are cut so that a tree remains (SYMORO+ 2003, sec. 1.5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from dyn_core.linalg.transform import Transform
from dyn_core.model.mdh_parameters import MdhParameters
from dyn_core.symbolic.vec3 import Vec3


class LoopType(Enum):
    """Type of a cut joint."""

    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"
    UNIVERSAL = "universal"
    SPHERICAL = "spherical"
    CYLINDRICAL = "cylindrical"
    PLANAR = "planar"
    FIXED = "fixed"


@dataclass(frozen=True)
class LoopEnd:
    """One side of a cut joint.

    Attributes:
        link: name of the URDF link that it is on.
        T_link_cut: placement of the cut frame in the frame of the link.
    """

    link: str
    T_link_cut: Transform


@dataclass(frozen=True)
class CutFrame:
    """One of the two frames of a cut joint, in terms of MDH parameters.

    Attributes:
        antecedent: body that the parameters count from.
        mdh: the parameters, where the variables of the joint are 0.
        origin: origin of the frame in the frame of that body (m), kept as `Joint.origin` is.
    """

    antecedent: int
    mdh: MdhParameters
    origin: Vec3


@dataclass(frozen=True)
class Loop:
    """A cut joint between two links of the tree.

    Where the loop is closed and the joint at 0, the two cut frames coincide (those of a joint with
    an axis up to a turn that takes `child_axis` to `axis`).

    Attributes:
        name: name of the joint.
        type: type of the joint.
        parent: the side that the joint is described from.
        child: the other side.
        axis: unit vector along the joint's axis, or normal to its plane, in the parent's cut frame.
        child_axis: the same axis in the child's cut frame; of a universal joint its second axis.
        frames: frames k and k+B, which lie on one another where the loop is closed: frame k from the
            parent's body, as the joint moves it, and frame k+B fixed on the child's (SYMORO+ 2003, sec.
            1.5). They follow from all else; None before a robot is loaded whole.
    """

    name: str
    type: LoopType
    parent: LoopEnd
    child: LoopEnd
    axis: Vec3
    child_axis: Vec3
    frames: tuple[CutFrame, CutFrame] | None = field(default=None, compare=False)
