# SPDX-License-Identifier: Apache-2.0
"""Base parameters by rules, without random numbers (SYMORO+ 2003, sec. 3.5.2.2, 3.5.2.3 and 4.2.3).

From each body, parameters go to its antecedent as far as the torques cannot tell where they are; what
arrives at the base has no effect. Of a body behind a general revolute joint these are YY, MZ and M,
by eq. (4.14), of one behind a general prismatic joint its inertia, by (4.16). Which others go, near the
base, is what `effects` says.
"""

from __future__ import annotations

import numpy as np

from dyn_core.geometry.joint_transform import joint_transform
from dyn_core.grouping.base_parameters import PER_BODY
from dyn_core.grouping.chosen import first_independent, without_rounding
from dyn_core.grouping.effects import Effects, Mount, effects
from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.grouping.relations import Relations, size_of, units_of
from dyn_core.linalg import vec3
from dyn_core.linalg.transform import Transform
from dyn_core.model.robot import Robot


def tree_relations(robot: Robot, mount: Mount) -> Relations:
    """Answer the grouping relations of a robot whose joints all move by themselves."""
    size = size_of(robot)
    placements = [_scaled(joint_transform(joint, 0.0), size) for joint in robot.joints]
    links = [_Link(e) for e in effects(robot.joints, placements, robot.gravity_0, mount)]
    width = len(PER_BODY)
    starts = np.cumsum([0, *(len(link.kept) for link in links)])
    matrix = np.zeros((int(starts[-1]), width * len(links)))
    for j in range(1, len(links) + 1):
        moving, i = np.eye(width), j
        while i > 0:
            stays, moving = links[i - 1].regroup(moving)
            matrix[starts[i - 1] : starts[i], width * (j - 1) : width * j] = stays
            i = robot.joints[i - 1].antecedent
    kept = tuple(width * j + place for j, link in enumerate(links) for place in link.kept)
    units = units_of(robot.joints, size)
    exact = without_rounding(matrix)
    return Relations(kept, units[list(kept), None] * exact / units)


class _Link:
    """How the parameters of one body, and the rotor of its joint, are divided.

    Attributes:
        kept: places of what stays, the rotor's being 10.
    """

    def __init__(self, effect: Effects) -> None:
        """Choose what stays."""
        choice = first_independent(directions_of(effect.rows))
        self._to_antecedent = effect.to_antecedent
        seen = directions_of(effect.without_rotor)
        alone = effect.own - seen.T @ (seen @ effect.own)  # what of it no other torque shows
        rotor = np.zeros((len(choice.columns), 1))
        self.kept = choice.columns
        if np.linalg.norm(alone) <= _SHOWN:
            self.kept = (*choice.columns, 10)
            self._relations = np.block([[choice.relations, rotor], [np.zeros((1, 10)), np.ones((1, 1))]])
        else:
            rotor[:, 0] = without_rounding(choice.relations @ alone / (alone @ alone))
            self._relations = np.hstack([choice.relations, rotor])

    def regroup(self, parameters: Matrix) -> tuple[Matrix, Matrix]:
        """Answer what stays of parameters of this body, by columns, and what arrives at its antecedent.

        The torques show a rotor in one joint alone: where it is taken as a part of the body, the
        body becomes lighter for the joints before.
        """
        stays = self._relations @ parameters
        rest = parameters.copy()
        rest[list(self.kept)] -= stays
        arrives = np.zeros_like(parameters)
        arrives[:10] = self._to_antecedent @ rest[:10]
        return stays, arrives


_SHOWN = 1e-6


def directions_of(rows: Matrix) -> Matrix:
    """Answer orthogonal rows with unit lengths."""
    unit: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _scaled(T: Transform, size: float) -> Transform:
    return Transform(T.R, vec3.scale(1.0 / size, T.p))
