# SPDX-License-Identifier: Apache-2.0
"""What of the inertial parameters of each body the joint torques show.

Parameters have no effect where they give no inertia A_ij between any two joints and no gravity torque,
which is an inertia between a joint and a base that accelerates (SYMORO+ 2003, eqs. (3.64), (3.65);
(3.69)). With I the inertia of all that joint j carries, as a body in frame j, whose parameters vary
with the positions of the joints behind j alone, this says:

* ``p I s_j = 0`` for the twist s_j of joint j, and each twist p that the joints before j, in any position,
  or gravity can give frame j;
* ``s_j I s_j + Ia_j = 0``, so that ``s_j I s_j`` does not vary.

Each is a row f with ``f . I`` that is 0, or else constant. As I is the sum of body j and of what the
joints k behind j carry, ``I = K_j + L_k I_k(q_k) + ...``, what varies of ``f . L_k I_k(q_k)`` is 0 for
body k, which gives rows for its I_k, and what does not vary is constant, and so on to the leaves.
Rows that have to be 0 are what the torques show of a body; each stands for one base parameter.

The theorems of sections 3.5.2.2 and 4.2.3 are what this gives in particular cases: see
docs/base_parameters.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from dyn_core.algorithms.base_parameters.torque_effects import (
    cross_inertia,
    in_all_positions,
    own_twist,
    seen_from,
)
from dyn_core.grouping.inertial_maps import Matrix, average, moved_parameters, variations
from dyn_core.linalg.transform import Transform
from dyn_core.robot.joints import Joint
from dyn_core.symbolic.vec3 import Vec3

Mount: TypeAlias = Literal["fixed", "tilted", "moving"]
"""How the base is mounted: it stands still; it stands still in various attitudes; it moves in any way."""

NEGLIGIBLE = 1e-12
"""What counts as 0 of what a parameter does at unit speeds, lengths divided by the size of the robot."""


class Effects(NamedTuple):
    """What the torques show of one body.

    Attributes:
        rows: rows that span what they show of the ten parameters, together with the rotor.
        own: the row ``s_j I s_j`` that the rotor is added to.
        without_rotor: rows that span what they show apart from the rotor.
    """

    rows: Matrix
    own: Matrix
    without_rotor: Matrix


class _Reach(NamedTuple):
    """What is known of a body on the way to the leaves.

    Attributes:
        twists: twists that span those that the joints up to it, and gravity, give it.
        constant: rows that do not vary on all that it carries.
    """

    twists: Matrix
    constant: Matrix


def effects(
    joints: Sequence[Joint], placements: Sequence[Transform], gravity: Vec3, mount: Mount
) -> list[Effects]:
    """Answer what the torques show of the bodies 1 to n.

    Args:
        joints: n joints, each after its antecedent.
        placements: iTj of each joint at its position 0, lengths divided by the size of the robot.
        gravity: acceleration of gravity in frame 0; of one that is not 0 the direction counts.
        mount: how the base is mounted.
    """
    reach = [_of_base(gravity, mount)]
    found = []
    for joint, T_i_j in zip(joints, placements, strict=True):
        before = reach[joint.antecedent]
        own_axis = own_twist(joint.sigma)
        twists = span(in_all_positions(joint.sigma, seen_from(T_i_j, before.twists)))
        moved = before.constant @ moved_parameters(T_i_j)
        zero = [moved @ part for part in variations(joint.sigma)]
        without_rotor = span(np.vstack([*zero, cross_inertia(twists, own_axis)]))
        own = cross_inertia(own_axis, own_axis)
        rows = span(np.vstack([without_rotor, own]))
        constant = span(np.vstack([moved @ average(joint.sigma), rows]))
        reach.append(_Reach(span(np.vstack([twists, own_axis])), constant))
        found.append(Effects(rows, own[0], without_rotor))
    return found


def _of_base(gravity: Vec3, mount: Mount) -> _Reach:
    """Answer what a base can do that shows in the torques of the joints; nobody measures what moves it."""
    if mount == "moving":
        return _Reach(np.eye(6), np.eye(10))
    if mount == "tilted":
        return _Reach(np.eye(6)[:3], np.zeros((0, 10)))
    length = np.linalg.norm(gravity)
    direction = np.array([[*gravity, 0.0, 0.0, 0.0]]) / (length or 1.0)
    return _Reach(span(direction), np.zeros((0, 10)))


def span(rows: Matrix) -> Matrix:
    """Answer few rows that span what these do, as long as they, but for what is negligible or long.

    Lengths are kept, so that what is small, such as the sine of an angle that is almost 0, stays small,
    and with it the rounding that it brings with it.
    """
    if not np.any(rows):
        return np.zeros((0, rows.shape[1]))
    _, lengths, directions = np.linalg.svd(rows, full_matrices=False)
    count = int(np.sum(lengths > NEGLIGIBLE))
    kept: Matrix = np.minimum(lengths[:count], 1.0)[:, None] * directions[:count]
    return kept
