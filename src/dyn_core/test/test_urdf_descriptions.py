# SPDX-License-Identifier: Apache-2.0
"""Reading our URDFs and damaged copies of them gives the recorded results.

``golden/urdf_descriptions.json`` has a hash of each description, or of the refusal with its element and line.
It was made by the reader of commit 3539cf5, which did not warn of elements that are not read. Sentences are
not part of it, only their number. Where a lower limit is above the upper one, which that reader refused, the
hash is that of the robot without these limits.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from originals import URDF as FULL
from robots import ROBOTS

from dyn_core import DynError
from dyn_core.robot.description import UrdfOrigin
from dyn_core.robot.urdf.conversion import snapped_description
from dyn_core.robot.urdf.reader import UNREAD_CODES, parse_urdf

TEXTS = {"full": FULL, **{path.stem: path.read_text() for path in sorted(ROBOTS.glob("*.urdf"))}}
GOLDEN = Path(__file__).parent / "golden" / "urdf_descriptions.json"
VALUES = ("nan", "", "-1", "1.5708", "0 0 0", "fixed", "1e308 0 0", "${x}", "1 1e-12 0", "base_link")
COUNT = 40
"""Values and lines that are damaged in each text."""


def damaged(text: str) -> Iterator[str]:
    """Return copies of a text with a changed value, with a line missing, and with a line repeated."""
    values = list(re.finditer('(?<=")[^"]*(?=")', text))
    for match, value in zip(values[:: len(values) // COUNT + 1], cycle(VALUES), strict=False):
        yield text[: match.start()] + value + text[match.end() :]
    lines = text.split("\n")
    for k in range(0, len(lines), len(lines) // COUNT + 1):
        for times in (0, 2):
            yield "\n".join([*lines[:k], *[lines[k]] * times, *lines[k + 1 :]])


def contents(text: str) -> Iterator[object]:
    """Return all that is read from a text, as plain values."""
    try:
        read, snapped = snapped_description(parse_urdf(text), "digits")
    except DynError as error:
        yield "refused", error.element, error.line
        return
    yield read.name, read.root, sorted(read.passive), sorted(read.driven), read.part_rotor_inertias
    before = [remark for remark in read.remarks if remark.code not in UNREAD_CODES]
    yield len(before), [(s.element, s.parameter, s.line, s.value, s.snapped_to) for s in snapped]
    for link in read.links:
        yield link.name, link.line
        if link.inertial is not None:
            m = link.inertial
            yield placed(m.origin), m.mass, m.ixx, m.ixy, m.ixz, m.iyy, m.iyz, m.izz
    for joint in read.joints:
        limit = joint.limit
        yield joint.name, joint.line, joint.type, joint.parent, joint.child, placed(joint.origin)
        yield joint.axis, joint.axis_words, joint.damping, joint.friction, joint.rotor_inertia
        yield limit.lower, limit.upper, limit.velocity, limit.effort
        if joint.mimic is not None:
            yield joint.mimic.joint, joint.mimic.line, joint.mimic.multiplier, joint.mimic.offset
    for loop in read.loops:
        yield loop.name, loop.line, loop.type, loop.axis, loop.child_axis
        yield from ((end.link, placed(end.origin)) for end in (loop.parent, loop.child))


def placed(origin: UrdfOrigin) -> tuple[object, ...]:
    return origin.xyz, origin.rpy, origin.rpy_words


@pytest.mark.parametrize("name", TEXTS)
def test_descriptions_agree_with_the_recorded_hashes(name: str) -> None:
    texts = [TEXTS[name], *damaged(TEXTS[name])]
    hashes = [hashlib.sha256(repr(list(contents(text))).encode()).hexdigest()[:10] for text in texts]
    assert hashes == json.loads(GOLDEN.read_text())[name]
