# SPDX-License-Identifier: Apache-2.0
"""URDF text of random trees, with many of the special cases that real robots have."""

from __future__ import annotations

import math
from random import Random

ANGLES = (
    0.0,
    0.0,
    0.0,
    math.pi / 2,
    -math.pi / 2,
    math.pi,
    1.5708,
    -1.57,
    3.14159,
    1.5707963,
    1e-9,
)
EXACT_ANGLES = (0.0, 0.0, 0.0, math.pi / 2, -math.pi / 2, math.pi, 0.3)
LENGTHS = (0.0, 0.0, 0.3, -0.5)
AXES = ("1 0 0", "0 1 0", "0 0 1", "0 0 1", "-1 0 0", "0 -1 0", "0 0 -1")
TYPES = ("revolute", "revolute", "continuous", "prismatic", "fixed")
COMPOUND = ("planar", "floating")


def random_urdf(
    seed: int,
    joints: int,
    massless_leaves: bool = True,
    compound: bool = False,
    chain: bool = False,
    angles: tuple[float, ...] = ANGLES,
) -> str:
    """Answer a tree of `joints` joints, of which some are fixed.

    Args:
        seed: of the random numbers.
        joints: how many.
        massless_leaves: whether links without children may be without mass, as others may.
        compound: whether planar and floating joints are among them.
        chain: whether each joint carries the next, instead of there being branches.
        angles: angles that most are among.
    """
    random = Random(seed)
    straight = 1.0 if chain else 0.7
    parents = [j - 1 if random.random() < straight else random.randrange(j) for j in range(1, joints + 1)]
    parts = []
    for j in range(joints + 1):
        light = random.random() < 0.15 and (massless_leaves or j in parents)
        parts.append(f'<link name="l{j}">{"" if light else _inertial(random, angles)}</link>')
    types = (*TYPES, *COMPOUND) if compound else TYPES
    parts += [_joint(random, j, parent, types, angles) for j, parent in enumerate(parents, start=1)]
    return f'<robot name="random">\n{chr(10).join(parts)}\n</robot>'


def _inertial(random: Random, angles: tuple[float, ...]) -> str:
    mass = random.uniform(0.1, 5.0)
    spread = [[random.gauss(0.0, 0.2) for _ in range(3)] for _ in range(4)]
    moment = [[sum(r[a] * r[b] for r in spread) * mass / 4 for b in range(3)] for a in range(3)]
    trace = sum(moment[a][a] for a in range(3))
    entries = " ".join(
        f'i{"xyz"[a]}{"xyz"[b]}="{(trace if a == b else 0.0) - moment[a][b]!r}"'
        for a in range(3)
        for b in range(a, 3)
    )
    return f'<inertial>{_origin(random, angles)}<mass value="{mass!r}"/><inertia {entries}/></inertial>'


def _joint(random: Random, index: int, parent: int, types: tuple[str, ...], angles: tuple[float, ...]) -> str:
    axis = random.choice(AXES)
    if random.random() < 0.3:
        axis = " ".join(repr(random.gauss(0.0, 2.0)) for _ in range(3))
    kind = random.choice(types)
    limit = "" if kind in COMPOUND else '<limit lower="-2" upper="2" effort="9" velocity="9"/>'
    return (
        f'<joint name="j{index}" type="{kind}">'
        f'<parent link="l{parent}"/><child link="l{index}"/>{_origin(random, angles)}'
        f'<axis xyz="{axis}"/>{limit}</joint>'
    )


def _origin(random: Random, angles: tuple[float, ...]) -> str:
    xyz = " ".join(repr(_one_of(random, LENGTHS, 1.0)) for _ in range(3))
    rpy = " ".join(repr(_one_of(random, angles, math.pi)) for _ in range(3))
    return f'<origin xyz="{xyz}" rpy="{rpy}"/>'


def _one_of(random: Random, special: tuple[float, ...], reach: float) -> float:
    return random.choice(special) if random.random() < 0.7 else random.uniform(-reach, reach)
