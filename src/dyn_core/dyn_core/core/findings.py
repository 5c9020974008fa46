# SPDX-License-Identifier: Apache-2.0
"""Findings: a code, values and a severity, and the place in a description that a message is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from dyn_core.core.messages import Message, listed, message_entries, shortened


@dataclass(frozen=True)
class Place:
    """A place in a text: ``joint 'elbow', <mimic> (line 7)``."""

    kind: str = ""  # the element: ``"joint"``, ``"loops[2]"``; empty if only the line is known
    name: str = ""  # its name; empty where it has none
    tag: str = ""  # the XML element in it that is meant; empty where it is meant itself
    line: int | None = None  # line of the text, counted from 1; None where there is no text

    @property
    def element(self) -> str:
        """The element in words: ``joint 'elbow'``."""
        return f"{self.kind} '{shortened(self.name, 60)}'" if self.name else self.kind

    def within(self, tag: str, line: int) -> Place:
        """Return the place of an XML element in this one, which may be itself."""
        return replace(self, tag="" if tag == self.kind else tag, line=line)

    def __str__(self) -> str:
        tag = f", <{self.tag}>" if self.tag else ""
        if self.line is None:
            return f"{self.element}{tag}"
        return f"{self.element}{tag} (line {self.line})" if self.kind else f"line {self.line}"


# Findings of checks: a code and values, about some elements of a robot.


class Severity(IntEnum):
    """Severity of a finding; the lowest number is the worst, so that errors sort first."""

    ERROR = 1
    """The dynamics, or some of them, cannot be computed, or have no meaning."""
    WARNING = 2
    """This is most likely a mistake, or costs speed or accuracy that it need not."""
    NOTE = 3
    """This may be meant so, and is good to know."""

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Finding:
    """Something that is suspicious about a robot, or a log of one.

    Attributes:
        severity: how much it matters.
        kind: what it is about: ``"robot"``, ``"joint"``, ``"link"``, ``"loop"``, ...
        names: names of the elements of that kind that it is about; none where it is about all.
        detail: what is suspicious: a code, and values in SI units.
        line: line of the element in the URDF, from 1; None where there are several or none.
        example: the one of several elements that the values belong to; empty where they belong to all.
        tag: the XML element in the element that it is about; empty if it is about the element itself.
        motion: the one of several motions in which it was found; empty where there is only one.
    """

    severity: Severity
    kind: str
    names: tuple[str, ...]
    detail: Message
    line: int | None = None
    example: str = ""
    motion: str = ""
    tag: str = ""

    @property
    def code(self) -> str:
        """Code of the finding, in `kebab-case`; it does not change between versions."""
        return self.detail.code

    @property
    def values(self) -> Mapping[str, Any]:
        """Names and numbers that the sentence tells, by name."""
        return self.detail.values

    @property
    def message(self) -> str:
        """The sentence: what is suspicious, with values and units, and what to do."""
        motion = f"{self.motion}: " if self.motion else ""
        example = f"'{shortened(self.example, 40)}': " if self.example else ""
        tag = f"<{self.tag}>: " if self.tag else ""
        return f"{motion}{example}{tag}{self.detail}"

    @property
    def element(self) -> str:
        """The elements of the finding in words: ``joint 'elbow'``, ``links 'a', 'b' and 9 more``."""
        if not self.names:
            return self.kind
        return f"{self.kind}{'s' if len(self.names) > 1 else ''} {listed(self.names, 4)}"

    def __str__(self) -> str:
        line = "" if self.line is None else f" (line {self.line})"
        return f"{self.severity}: {self.element}{line}: {self.message}"

    def entries(self) -> dict[str, Any]:
        """Return the finding as data for JSON."""
        optional = {"example": self.example, "motion": self.motion, "tag": self.tag}
        return {
            "severity": str(self.severity),
            "element": self.element,
            "kind": self.kind,
            "names": self.names,
            "line": self.line,
            **message_entries(self),
            **{name: value for name, value in optional.items() if value},
        }


def of_first(severity: Severity, kind: str, names: Sequence[str], detail: Message) -> Finding:
    """Return a finding about one or several elements, with values that are those of the first."""
    return Finding(severity, kind, tuple(names), detail, example=names[0] if len(names) > 1 else "")
