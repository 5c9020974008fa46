# SPDX-License-Identifier: Apache-2.0
"""Totals of a test run, from the JUnit files that `colcon test-result` reads too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree


@dataclass(frozen=True)
class Totals:
    """Results of the tests of one or more packages."""

    passed: int = 0
    failed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """`name: reason` of each test that did not run."""

    def __add__(self, other: Totals) -> Totals:
        return Totals(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    @property
    def ran(self) -> int:
        """Number of executed tests."""
        return self.passed + len(self.failed)

    def __str__(self) -> str:
        return f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"


def _reason(skip: ElementTree.Element) -> str:
    """Return why a test did not run; pytest gives the reason for a whole file in the text."""
    hidden = re.search(r"Skipped: (.*)['\"]\)", skip.text or "")
    return hidden[1] if hidden else skip.get("message", "no reason given")


def read(file: Path) -> Totals:
    """Count the test cases of one JUnit file; a missing or unreadable file counts as a failure."""
    try:
        cases = list(ElementTree.parse(file).iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        return Totals(failed=(f"{file}: no test results ({error})",))
    failed, skipped = [], []
    for case in cases:
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        if (skip := case.find("skipped")) is not None:
            skipped.append(f"{name}: {_reason(skip)}")
        elif case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
    return Totals(len(cases) - len(failed) - len(skipped), tuple(failed), tuple(skipped))
