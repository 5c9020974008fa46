# SPDX-License-Identifier: Apache-2.0
"""Random robots as URDF, with drives and mimic joints."""

from __future__ import annotations

import math
import re
from itertools import combinations_with_replacement
from random import Random

ANGLES = (0.0, 0.0, 0.0, math.pi / 2, -math.pi / 2, math.pi, 1.5708, -1.57, 3.14159, 1.5707963, 1e-9)
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
    """Return a tree of `joints` joints, some of them fixed, or a chain without branches.

    Links without children have no mass where `massless_leaves` allows it; other links may have none, too.
    With `compound`, some joints are planar or floating. Most angles are taken from `angles`.
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
    pairs = combinations_with_replacement(range(3), 2)
    inertias = ((a, b, (trace if a == b else 0.0) - moment[a][b]) for a, b in pairs)
    entries = " ".join(f'i{"xyz"[a]}{"xyz"[b]}="{inertia!r}"' for a, b, inertia in inertias)
    return f'<inertial>{_origin(random, angles)}<mass value="{mass!r}"/><inertia {entries}/></inertial>'


def _joint(random: Random, index: int, parent: int, types: tuple[str, ...], angles: tuple[float, ...]) -> str:
    axis = random.choice(AXES)
    if random.random() < 0.3:
        axis = " ".join(repr(random.gauss(0.0, 2.0)) for _ in range(3))
    kind = random.choice(types)
    limit = "" if kind in COMPOUND else '<limit lower="-2" upper="2" effort="9" velocity="9"/>'
    ends = f'<parent link="l{parent}"/><child link="l{index}"/>{_origin(random, angles)}'
    return f'<joint name="j{index}" type="{kind}">{ends}<axis xyz="{axis}"/>{limit}</joint>'


def _origin(random: Random, angles: tuple[float, ...]) -> str:
    xyz = " ".join(repr(_one_of(random, LENGTHS, 1.0)) for _ in range(3))
    rpy = " ".join(repr(_one_of(random, angles, math.pi)) for _ in range(3))
    return f'<origin xyz="{xyz}" rpy="{rpy}"/>'


def _one_of(random: Random, special: tuple[float, ...], reach: float) -> float:
    return random.choice(special) if random.random() < 0.7 else random.uniform(-reach, reach)


_JOINT = re.compile(r'(<joint name="j(\d+)".*?)(</joint>)')


def random_driven_urdf(
    seed: int, joints: int, chain: bool = False, angles: tuple[float, ...] = ANGLES
) -> str:
    """Return `random_urdf` with friction and rotors; about a third of the joints mimic another."""
    random, urdf = Random(seed), random_urdf(seed, joints, chain=chain, angles=angles)
    return _JOINT.sub(lambda at: at[1] + _drive(random) + _mimic(random, int(at[2])) + at[3], urdf)


def _drive(random: Random) -> str:
    damping, friction, armature = (random.random() for _ in range(3))
    return f'<dynamics damping="{damping!r}" friction="{friction!r}" armature="{armature!r}"/>'


def _mimic(random: Random, index: int) -> str:
    """Mimic of an earlier joint, which may itself be a mimic joint or fixed; some multipliers are 0."""
    if index == 1 or random.random() > 0.35:
        return ""
    multiplier, offset = random.choice((1.0, -1.0, 0.0, 0.3, -2.5)), random.choice((0.0, 0.4))
    leader = random.randrange(1, index)
    return f'<mimic joint="j{leader}" multiplier="{multiplier}" offset="{offset}"/>'
