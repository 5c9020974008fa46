# SPDX-License-Identifier: Apache-2.0
"""Damaged URDF text ends in a robot with finite numbers or in a DynError, and in nothing else."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from random import Random

import pytest

import dyn_core

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"
VALUES = ("nan", "1e308", "-1e308", "1e-320", "0 0 0", "1e308 0 0", "1e9 0 0", "", "\x00", "\ud800")
PIECES = ("<", "/>", "&lt;", "&x;", "<!DOCTYPE a>", "<link/>", '"', "fixed", "prismatic", "٣")


def mutated(text: str, random: Random) -> str:
    kind = random.randrange(4)
    at = random.randrange(len(text))
    if kind == 0:  # another value for an attribute
        start = text.find('"', at)
        end = text.find('"', start + 1)
        if start != -1 and end != -1:
            return f"{text[: start + 1]}{random.choice(VALUES)}{text[end:]}"
    if kind == 1:  # a part is missing
        return text[:at] + text[at + random.randrange(60) :]
    if kind == 2:  # a part is repeated elsewhere
        source = random.randrange(len(text))
        return text[:at] + text[source : source + random.randrange(200)] + text[at:]
    return text[:at] + random.choice(PIECES) + text[at:]


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_mutations(name: str) -> None:
    random = Random(name)
    original = (ROBOTS / f"{name}.urdf").read_text()
    loaded = refused = 0
    for _ in range(500):
        text = original
        for _ in range(random.choice((1, 1, 3))):
            text = mutated(text, random)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", dyn_core.ModelWarning)
                robot = dyn_core.load_robot(text)
        except dyn_core.DynError:
            refused += 1
            continue
        loaded += 1
        assert robot.mdh_table()
        assert all(math.isfinite(x) for body in robot.bodies for x in body.values)
        assert all(math.isfinite(x) for joint in robot.joints for x in joint.origin)
    assert loaded > 20
    assert refused > 20
