# SPDX-License-Identifier: Apache-2.0
"""Fast direct geometric model: the placement of any frame in any other (SYMORO+ 2003, sec. 2.2.3).

What costs nothing to leave out is left out before anything is multiplied: the joints that two
frames have in common, and rotations about axes that stay parallel, which are one rotation by the
sum of the angles. The product is then built up from the side that costs less.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.geometry.path import steps_between
from dyn_core.linalg.scalar import Scalar
from dyn_core.linalg.step import Rotation, Step, Translation, Z, compose, precede, turned
from dyn_core.linalg.transform import Transform, inverse
from dyn_core.linalg.transform import compose as product
from dyn_core.linalg.vec3 import Vec3
from dyn_core.model.link_frame import LinkFrame
from dyn_core.model.robot import Robot


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
    rotation: Rotation | None = None  # about z, to be done after the translation p
    p: Vec3 = (0.0, 0.0, 0.0)
    moved = [False, False, False]

    def done() -> list[Step]:
        translations = [Translation(k, length) for k, length in enumerate(p) if moved[k]]
        return [*translations, *([rotation] if rotation else [])]

    for step in steps:
        if isinstance(step, Rotation) and step.axis != Z:
            merged += [*done(), step]
            rotation, p, moved = None, (0.0, 0.0, 0.0), [False, False, False]
        elif isinstance(step, Rotation):
            rotation = step if rotation is None else _sum(rotation, step)
        else:
            along = [0.0, 0.0, 0.0]
            along[step.axis] = step.length
            d = (along[0], along[1], along[2])
            d = turned(rotation, d) if rotation else d
            p = (p[0] + d[0], p[1] + d[1], p[2] + d[2])
            across = rotation is not None and step.axis != Z
            moved = [m or k == step.axis or (across and k != Z) for k, m in enumerate(moved)]
    return merged + done()


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
