# SPDX-License-Identifier: Apache-2.0
"""What a check finds: a sentence about some elements of a robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from dyn_core.core.errors import listed, shortened


class Severity(IntEnum):
    """How much a finding matters; the worst is the least, so that it sorts first."""

    ERROR = 1
    """The dynamics, or some of them, cannot be computed, or have no meaning."""
    WARNING = 2
    """This is most likely a mistake, or costs speed or accuracy that it need not."""
    NOTE = 3
    """This may be meant so, and is good to know."""

    def __str__(self) -> str:
        """Answer ``error``, ``warning`` or ``note``."""
        return self.name.lower()


@dataclass(frozen=True)
class Finding:
    """Something that is suspicious about a robot.

    Attributes:
        severity: how much it matters.
        kind: what it is about: ``"robot"``, ``"joint"``, ``"link"``, ``"loop"``, ...
        names: names of the elements of that kind that it is about; none where it is about all.
        message: what is suspicious, with values and units, and what to do.
        line: line of the element in the URDF, from 1; None where there are several or none.
    """

    severity: Severity
    kind: str
    names: tuple[str, ...]
    message: str
    line: int | None = None

    @property
    def element(self) -> str:
        """What the finding is about, in words: ``joint 'elbow'``, ``links 'a', 'b' and 9 more``."""
        if not self.names:
            return self.kind
        return f"{self.kind}{'s' if len(self.names) > 1 else ''} {listed(self.names, 4)}"

    def __str__(self) -> str:
        """Answer the finding on one line."""
        line = "" if self.line is None else f" (line {self.line})"
        return f"{self.severity}: {self.element}{line}: {self.message}"


def of_first(names: Sequence[str], message: str) -> str:
    """Answer a message about several elements, with values that are those of the first."""
    return message if len(names) == 1 else f"'{shortened(names[0], 40)}': {message}"
