# SPDX-License-Identifier: Apache-2.0
"""Sentences expected in a log, on stderr or in a response, given by code and values."""

from __future__ import annotations

import re
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus

from dyn_core.core import messages

_ANY = re.compile(r"[\s\S]*")


class _Patterns(messages._Words):
    """Format the given values, and put a pattern for any text where a value is not given."""

    def __init__(self) -> None:
        self.patterns: list[str] = []

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        name = re.split(r"[.\[]", field_name)[0]
        return super().get_field(field_name, args, kwargs) if name in kwargs else (_ANY, name)

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value if isinstance(value, re.Pattern) else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> Any:
        if not isinstance(value, re.Pattern):
            return super().format_field(value, format_spec)
        self.patterns.append(value.pattern)
        return "\0"


class Told:
    """Contents of a status on /diagnostics."""

    def __init__(self, status: DiagnosticStatus) -> None:
        self.level: bytes = status.level
        self.message: str = status.message
        self.values = {value.key: value.value for value in status.values}

    @property
    def codes(self) -> set[str]:
        """The code of the problem, and that of its root cause."""
        return {self.values[key] for key in ("code", "cause") if key in self.values}

    def about(self, code: str, **values: Any) -> bool:
        return said(code, **values).search(self.message) is not None


def said(code: str, **values: Any) -> re.Pattern[str]:
    """Return the pattern of the sentence of a code with these values; other values may be anything."""
    words = _Patterns()
    parts = words.vformat(messages.catalogue()[code], (), values).split("\0")
    pairs = zip(parts, [*words.patterns, ""], strict=True)
    return re.compile("".join(re.escape(part) + pattern for part, pattern in pairs))
