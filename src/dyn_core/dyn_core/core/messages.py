# SPDX-License-Identifier: Apache-2.0
"""Messages: a code and values, and the sentence that is made from them.

The folder `sentences/` has the sentence of each code. Nothing but `sentence` makes text of a message, and
nothing reads that text again: programs and tests look at codes and values.

Fields of a sentence have the format specifications of Python, and these:

* ``{name:text40}``: on one line, cut to 40 characters;
* ``{names:names}``, ``{names:names12}``: the first 6 or 12 names, quoted, and how many more there are;
* ``{count:count joint}``, ``{count:count axis|axes}``: ``1 joint``, ``2 axes``;
* ``{items:list}``, ``{items:list4}``: all, or the first 4, with commas between, and how many more there are;
* ``{sets:groups4}``: groups of names, each with its first 4, with semicolons between;
* ``{factor:short}``: a number with two digits, or as many as there are before its point;
* ``{q:each .4g}``: numbers with spaces between, each with the format behind `each`;
* ``{limit:maybe .4g}``: a number with the format behind `maybe`, or ``none``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from string import Formatter
from typing import Any

CATALOGUES = ("shared", "robot", "check", "models", "motions", "logs", "identification", "nodes")
"""Modules of `sentences/`."""

_SPECIFICATION = re.compile(
    r"(?P<kind>text|names|groups|list)(?P<length>\d*)|(?P<number>each|maybe) (?P<format>.*)"
    r"|(?P<short>short)|count (?P<one>[^|]*)(?:\|(?P<many>.*))?"
)


class Message(str):
    """A note or a finding: its sentence as text, with the code and the values that it was made from.

    It is a text, so that notes can be printed and joined like any other; programs look at the code.
    """

    code: str  # code of the message, in `kebab-case`; it does not change between versions
    values: Mapping[str, Any]  # names, numbers and other messages that the sentence tells, by name

    def __new__(cls, code: str, /, **values: Any) -> Message:
        """Make the sentence, and keep the code and the values."""
        kept = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        made = super().__new__(cls, sentence(code, kept))
        made.code, made.values = code, kept
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _message, (self.code, dict(self.values))


def _message(code: str, values: Mapping[str, Any]) -> Message:
    return Message(code, **values)


def message_entries(message: Any) -> dict[str, Any]:
    """Return code, values and sentence of a message, an error or a finding as data for JSON."""
    return {
        "code": message.code,
        "values": plain_value(message.values),
        "message": getattr(message, "message", None) or str(message),
    }


def plain_value(value: Any) -> Any:
    """Return a value of a message as data for JSON; None for numbers that are not finite."""
    if hasattr(value, "code") and hasattr(value, "values"):
        return message_entries(value)
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain_value(value.tolist())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain_value(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, int | str) else str(value)


def sentence(code: str, values: Mapping[str, object]) -> str:
    """Return the sentence of a code, with its values, and the name that an unknown name may stand for."""
    text = _WORDS.vformat(catalogue()[code], (), values)
    meant = _meant(code, values) if code.endswith("-unknown") else None
    if meant is None:
        return text
    return f"{text} Did you mean '{meant}'?" if text.endswith(".") else f"{text}; did you mean '{meant}'?"


_LONGEST_NAME = 100
"""Length of a name that may be misspelt."""
_ALIKE = 0.65
"""Similarity of two names from which one is taken as a misspelling of the other."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a name is most likely a misspelling of; None if it is like none of them."""
    from difflib import get_close_matches  # only for messages: it takes some ms

    if len(name) > _LONGEST_NAME:  # names in messages can have any length, and comparing takes time
        return None
    by_lower = {word.lower(): word for word in known}
    return next((by_lower[word] for word in get_close_matches(name.lower(), by_lower, 1, _ALIKE)), None)


def _meant(code: str, values: Mapping[str, object]) -> str | None:
    """Return what an unknown name may stand for: the value `unknown`, or that of the code's last word."""
    subject = code.removesuffix("-unknown").rpartition("-")[2].removesuffix("s")
    given = values.get("unknown", values.get(subject, values.get("given")))
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Sequence) else []
    known = values.get("known", ())
    words = known.replace(",", " ").split() if isinstance(known, str) else known
    if len(names) != 1 or not isinstance(words, Iterable):
        return None
    return nearest(str(names[0]), map(str, words))


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, str]:
    """Return the sentences by code, of all modules of `sentences/`."""
    found: dict[str, str] = {}
    for name in CATALOGUES:
        found |= import_module(f"dyn_core.core.sentences.{name}").SENTENCES
    return found


class _Words(Formatter):
    """Format values as the specifications of the module say."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        found = _SPECIFICATION.fullmatch(format_spec)
        if found is None:
            return super().format_field(value, format_spec)
        if found["kind"] == "text":
            return shortened(str(value), int(found["length"] or 80))
        if found["kind"] == "names":
            return listed(value, int(found["length"] or 6))
        if found["kind"] == "list":
            return _joined(list(map(str, value)), int(found["length"] or len(value)))
        if found["kind"] == "groups":
            return "; ".join(listed(group, int(found["length"] or 6)) for group in value)
        if found["short"]:
            return format(value, ".0f" if abs(value) >= 10.0 else ".2g")
        if found["number"] == "each":
            return " ".join(format(number, found["format"]) for number in value)
        if found["number"] == "maybe":
            return "none" if value is None else format(value, found["format"])
        return counted(value, found["one"], found["many"])


_WORDS = _Words()


def shortened(text: str, length: int = 80) -> str:
    """Return a text on one line, cut to `length` characters."""
    text = " ".join(text.split()) if not text.isprintable() else text
    return text if len(text) <= length else f"{text[: length - 3]}..."


def listed(names: Iterable[str], count: int = 6) -> str:
    """Return the first `count` names, quoted, and how many more there are."""
    return _joined([f"'{shortened(name, 40)}'" for name in names], count)


def _joined(texts: Sequence[str], count: int) -> str:
    rest = len(texts) - count
    return ", ".join(texts[:count]) + (f" and {rest} more" if rest > 0 else "")


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: ``1 joint``, ``2 joints``; `many` is the plural if it has no s."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"
