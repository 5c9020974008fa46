# SPDX-License-Identifier: Apache-2.0
"""Friction, rotors and mimics for the joints of random trees."""

from __future__ import annotations

import re
from random import Random

from random_urdf import ANGLES, random_urdf

_JOINT = re.compile(r'(<joint name="j(\d+)".*?)(</joint>)')


def random_driven_urdf(
    seed: int, joints: int, chain: bool = False, angles: tuple[float, ...] = ANGLES
) -> str:
    """Answer `random_urdf` where joints have friction and rotors, and about a third mimic another."""
    random = Random(seed)
    return _JOINT.sub(
        lambda match: match[1] + _drive(random) + _mimic(random, int(match[2])) + match[3],
        random_urdf(seed, joints, chain=chain, angles=angles),
    )


def _drive(random: Random) -> str:
    damping, friction, armature = (random.random() for _ in range(3))
    return f'<dynamics damping="{damping!r}" friction="{friction!r}" armature="{armature!r}"/>'


def _mimic(random: Random, index: int) -> str:
    """Mimic of an earlier joint, which may mimic another or be fixed; some joints stand still."""
    if index == 1 or random.random() > 0.35:
        return ""
    multiplier, offset = random.choice((1.0, -1.0, 0.0, 0.3, -2.5)), random.choice((0.0, 0.4))
    leader = random.randrange(1, index)
    return f'<mimic joint="j{leader}" multiplier="{multiplier}" offset="{offset}"/>'
