# SPDX-License-Identifier: Apache-2.0
"""The sentences of the readers, taken apart: ``joint 'elbow', <mimic> (line 7): ...``."""

from __future__ import annotations

import re

from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity

_PLACE = re.compile(
    r"(?P<owner>[^<>]*?)(?:, <(?P<tag>[^<>]+)>)? \(line (?P<line>\d+)\): (?P<what>.*)", re.DOTALL
)
_OWNER = re.compile(r"(?P<kind>\w+) '(?P<name>.*)'", re.DOTALL)


def finding_of_sentence(severity: Severity, sentence: str) -> Finding:
    """Answer what a reader said as a finding; about the robot, where it names no element."""
    place = _PLACE.fullmatch(sentence)
    if place is None:
        return Finding(severity, "robot", (), sentence)
    kind, names = owner_of(place["owner"])
    what = f"<{place['tag']}>: {place['what']}" if place["tag"] else place["what"]
    return Finding(severity, kind, names, what, int(place["line"]))


def owner_of(element: str) -> tuple[str, tuple[str, ...]]:
    """Answer kind and name of an element, e.g. of ``joint 'elbow'``; no name where it has none."""
    owner = _OWNER.fullmatch(element)
    return (owner["kind"], (owner["name"],)) if owner else (element, ())


def finding_of_error(error: DynError, path: str | None) -> Finding:
    """Answer why a robot cannot be read, as a finding; a file other than that at `path` is the side file."""
    if error.file is None or error.file == path:
        return finding_of_sentence(Severity.ERROR, error.message)
    return Finding(Severity.ERROR, "side file", (), str(error), error.line)
