# SPDX-License-Identifier: Apache-2.0
"""Fast direct geometric model: the placement of any frame in any other (SYMORO+ 2003, sec. 2.2.3).

What costs nothing to leave out is left out before anything is multiplied: the joints that two
frames have in common, and rotations about axes that stay parallel, which are one rotation by the
sum of the angles. The product is then built up from the side that costs less.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.geometry.path import steps_between
from dyn_core.linalg.transform import Transform, inverse
from dyn_core.linalg.transform import compose as product
from dyn_core.model.link_frame import LinkFrame
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.step import Rotation, Step, Translation, Z, compose, precede, turned


def transform_between(robot: Robot, q: Sequence[Scalar], a: LinkFrame, b: LinkFrame) -> Transform:
    """Placement T_a_b of frame b in frame a.

    Args:
        robot: the robot.
        q: n joint positions (rad or m).
        a: frame in which to place.
        b: frame that is placed.
    """
    steps = parallel_axes_merged(steps_between(robot, q, a.body, b.body))
    T_a_body = inverse(a.T_body_link)
    if _cheaper_from_first(steps):
        for step in steps:
            T_a_body = compose(T_a_body, step)
        return product(T_a_body, b.T_body_link)
    T_body_b = b.T_body_link
    for step in reversed(steps):
        T_body_b = precede(step, T_body_b)
    return product(T_a_body, T_body_b)


def parallel_axes_merged(steps: Sequence[Step]) -> list[Step]:
    """Answer steps to the same frame, where no two rotations about z have only translations between.

    ``Rot(z,a) Trans(p) Rot(z,b) = Trans(Rot(z,a) p) Rot(z,a + b)``.
    """
    merged: list[Step] = []
    rotation: Rotation | None = None  # about z, between two translations, by axis
    before: dict[int, Scalar] = {}
    after: dict[int, Scalar] = {}
    for step in steps:
        if isinstance(step, Translation):
            side = before if rotation is None else after
            side[step.axis] = side.get(step.axis, 0.0) + step.length
        elif step.axis != Z:
            merged += [*_group(before, rotation, after), step]
            rotation, before, after = None, {}, {}
        elif rotation is None:
            rotation = step
        else:
            before = _sum_of_translations(before, rotation, after)
            rotation, after = _sum(rotation, step), {}
    return merged + _group(before, rotation, after)


def _group(before: dict[int, Scalar], rotation: Rotation | None, after: dict[int, Scalar]) -> list[Step]:
    translations = [[Translation(k, side[k]) for k in sorted(side)] for side in (before, after)]
    return [*translations[0], *([rotation] if rotation else []), *translations[1]]


def _sum_of_translations(
    before: dict[int, Scalar], rotation: Rotation, after: dict[int, Scalar]
) -> dict[int, Scalar]:
    """Translations before a rotation that do what those before it and after it do."""
    d = turned(rotation, (after.get(0, 0.0), after.get(1, 0.0), after.get(2, 0.0)))
    moves = {*before, *after, *((0, 1) if 0 in after or 1 in after else ())}
    return {k: before.get(k, 0.0) + d[k] for k in moves}


def _sum(a: Rotation, b: Rotation) -> Rotation:
    """One rotation by the sum of two angles about one axis."""
    c, s = a.c * b.c - a.s * b.s, a.s * b.c + a.c * b.s
    return Rotation(a.axis, c, s, a.quarters and b.quarters)


def _cheaper_from_first(steps: Sequence[Step]) -> bool:
    """Whether fewer multiplications place the last origin from the first frame than from the last.

    The rotation matrix costs the same. From the first frame, each translation is scaled by a
    column, 3 multiplications; from the last frame, what the later translations add up to is
    turned by each earlier rotation, 4 multiplications.
    """
    kinds = [isinstance(step, Translation) for step in steps]
    if True not in kinds:
        return True
    last = len(kinds) - kinds[::-1].index(True)
    turns = sum(not step.quarters for step in steps[:last] if isinstance(step, Rotation))
    return 3 * sum(kinds[kinds.index(False) :] if False in kinds else []) <= 4 * turns
