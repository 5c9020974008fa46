# SPDX-License-Identifier: Apache-2.0
"""Base parameters by rules, without random numbers (SYMORO+ 2003, sec. 3.5.2.2, 3.5.2.3 and 4.2.3).

From each body, parameters go to its antecedent as far as the torques cannot tell where they are; what
arrives at the base has no effect. Of a body behind a general revolute joint these are YY, MZ and M,
by eq. (4.14), of one behind a general prismatic joint its inertia, by (4.16). Which others go, near the
base, is what `effects` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dyn_core.geometry.joint_transform import joint_transform
from dyn_core.grouping.base_parameters import PER_BODY
from dyn_core.grouping.chosen import CLEAR, first_independent, without_rounding
from dyn_core.grouping.effects import Effects, Mount, effects
from dyn_core.grouping.inertial_maps import Matrix, average, moved_parameters
from dyn_core.grouping.relations import Relations, size_of, units_of
from dyn_core.linalg.transform import Transform
from dyn_core.robot.joints import Joint
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3


def tree_relations(robot: Robot, mount: Mount, rotors: bool = True) -> Relations:
    """Answer the grouping relations of a robot whose joints all move by themselves.

    Args:
        robot: the robot.
        mount: how the base is mounted.
        rotors: whether there are inertias of rotors.
    """
    size = size_of(robot)
    links = divisions(robot, mount, rotors)
    moves = [moved_parameters(_placement(joint, size)) @ average(joint.sigma) for joint in robot.joints]
    kept = tuple(len(PER_BODY) * j + place for j, link in enumerate(links) for place in link.kept)
    units = units_of(robot.joints, size)
    matrix = without_rounding(gathered(robot.joints, links, moves))
    return Relations(kept, units[list(kept), None] * matrix / units)


def gathered(joints: Sequence[Joint], links: Sequence[Division], moves: Sequence[Matrix]) -> Matrix:
    """Answer base parameters from standard ones, each sent towards the base until nothing of it is left.

    Args:
        joints: n joints.
        links: how the parameters of bodies 1 to n are divided.
        moves: by body, its parameters in the frame of its antecedent, of what does not vary with the joint.
    """
    width = len(PER_BODY)
    starts = np.cumsum([0, *(len(link.kept) for link in links)])
    matrix = np.zeros((int(starts[-1]), width * len(links)), dtype=np.result_type(*moves) if moves else float)
    for j in range(1, len(links) + 1):
        moving, i = np.eye(width), j
        while i > 0:
            stays = links[i - 1].relations @ moving
            matrix[starts[i - 1] : starts[i], width * (j - 1) : width * j] = stays
            rest = moving.astype(matrix.dtype)
            rest[list(links[i - 1].kept)] -= stays
            moving = np.zeros_like(rest)
            moving[:10] = moves[i - 1] @ rest[:10]
            i = joints[i - 1].antecedent
    return matrix


def divisions(robot: Robot, mount: Mount, rotors: bool) -> list[Division]:
    """Answer how the parameters of bodies 1 to n are divided, lengths divided by the size of the robot."""
    placements = [_placement(joint, size_of(robot)) for joint in robot.joints]
    found = effects(robot.joints, placements, robot.gravity_0, mount)
    return [link_division(effect, rotors) for effect in found]


class Division(NamedTuple):
    """How the parameters of one body, and the rotor of its joint, are divided.

    The torques show a rotor in one joint alone: where it is taken as a part of the body, the body becomes
    lighter for the joints before.

    Attributes:
        kept: places of what stays, the rotor's being 10.
        relations: what stays of all 11; the rest goes to the antecedent.
    """

    kept: tuple[int, ...]
    relations: Matrix


def link_division(effect: Effects, rotors: bool) -> Division:
    """Choose what stays of the parameters of one body."""
    if not rotors:
        columns, relations = first_independent(directions_of(effect.rows))
        return Division(columns, np.hstack([relations, np.zeros((len(columns), 1))]))
    seen = directions_of(effect.without_rotor)
    alone = effect.own - seen.T @ (seen @ effect.own)  # what of it no other torque shows
    if np.linalg.norm(alone) > CLEAR:
        columns, relations = first_independent(directions_of(effect.rows))
        rotor = without_rounding(relations @ alone / (alone @ alone))
        return Division(columns, np.hstack([relations, rotor[:, None]]))
    columns, relations = first_independent(seen)
    own = without_rounding(alone - alone[list(columns)] @ relations)
    zeros = np.zeros((len(columns), 1))
    return Division((*columns, 10), np.block([[relations, zeros], [own[None, :], np.ones((1, 1))]]))


def directions_of(rows: Matrix) -> Matrix:
    """Answer orthogonal rows with unit lengths."""
    unit: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _placement(joint: Joint, size: float) -> Transform:
    """Placement of a joint at its position 0, lengths divided by a size (m)."""
    R, p = joint_transform(joint, 0.0)
    return Transform(R, vec3.scale(1.0 / size, p))
