# SPDX-License-Identifier: Apache-2.0
"""The entries of a SYMORO+ .par file: ``name = {expression, ...}`` and ``name = number``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dyn_core.core.errors import DynError, shortened
from dyn_core.robot.par.linear_expression import Linear, linear_expression

MAX_CHARACTERS = 1_000_000

_ENTRY = re.compile(r"\s*([A-Za-z_]\w*)\s*=[ \t]*(\{[^{}=]*\}|[^\s{}=]+)", re.ASCII)
_ROBOT = re.compile(r"\s*Robot\s*name\s*=\s*'([^'\n]*)'\s*")
_JOINTS = re.compile(r"\s*Joint names:([^\n]*)")


@dataclass(frozen=True)
class ParItem:
    """One expression of an entry; `place` says where it is, as in ``alpha[2] (line 14)``."""

    text: str
    place: str
    line: int

    def fail(self, what: str) -> DynError:
        """Answer the error about this expression."""
        return DynError(f"{self.place}: {what}", element=self.place.split(" ")[0], line=self.line)

    def linear(self) -> Linear:
        """Answer the value, which may be linear in symbols."""
        try:
            return linear_expression(self.text)
        except DynError as error:
            raise self.fail(error.message) from error

    def number(self) -> float:
        """Answer the value, which must be a number."""
        value = self.linear()
        for symbol in value.coefficients:
            raise self.no_value(symbol)
        return value.constant

    def no_value(self, symbol: str) -> DynError:
        """Answer the error about a symbol, which is shown as the text has it: in capitals or not."""
        as_written = re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", self.text, re.ASCII | re.IGNORECASE)
        shown = as_written[0] if as_written else symbol
        return self.fail(f"symbol '{shortened(shown, 40)}' has no value: write a number")


@dataclass(frozen=True)
class ParEntries:
    """The entries by name in lower case, and what the comments say."""

    entries: Mapping[str, tuple[ParItem, ...]]
    robot_name: str | None
    joint_names: tuple[str, ...]

    def all(self, name: str) -> tuple[ParItem, ...]:
        """Answer the expressions of an entry; none where it is absent."""
        return self.entries.get(name.lower(), ())

    def count(self, name: str, default: int | None = None) -> int:
        """Answer an entry that must be one count; `default` where it is absent."""
        items = self.all(name)
        if not items:
            if default is None:
                raise DynError(f"there is no entry {name}: add {name} = ...", element=name)
            return default
        value = items[0].number()
        if len(items) != 1 or value != int(value) or value < 0:
            raise items[0].fail("give a whole number >= 0")
        return int(value)


def par_entries(text: str) -> ParEntries:
    """Answer the entries of a .par file; DynError, with the line, where it is none."""
    if len(text) > MAX_CHARACTERS:
        raise DynError(f"the text has {len(text)} characters, more than the {MAX_CHARACTERS} that are read")
    robot_name: str | None = None
    joint_names: tuple[str, ...] = ()
    body, comments = _without_comments(text.removeprefix("\ufeff"))
    for comment in comments:
        if robot := _ROBOT.fullmatch(comment):
            robot_name = robot.group(1).strip() or None
        if joints := _JOINTS.fullmatch(comment):
            joint_names = tuple(name.strip() for name in joints.group(1).split(","))
    entries: dict[str, tuple[ParItem, ...]] = {}
    position, line, end = 0, 1, len(body.rstrip())
    while position < end:
        if (match := _ENTRY.match(body, position)) is None:
            rest = body[position:]
            line += rest[: len(rest) - len(rest.lstrip())].count("\n")
            shown = shortened(rest.lstrip().split("\n")[0].strip(), 40)
            raise DynError(f"line {line}: '{shown}' is no entry: write name = {{...}}", line=line)
        name, value = match.groups()
        line_of_name = line + body.count("\n", position, match.start(1))
        if name.lower() in entries:
            what = f"line {line_of_name}: {name} is there twice: keep one"
            raise DynError(what, element=name, line=line_of_name)
        line_of_value = line + body.count("\n", position, match.start(2))
        entries[name.lower()] = _items(name, value, line_of_value)
        line += body.count("\n", position, match.end())
        position = match.end()
    return ParEntries(entries, robot_name, joint_names)


def _without_comments(text: str) -> tuple[str, list[str]]:
    """Answer the text with only the line ends of its comments, and the comments."""
    parts, comments = [], []
    position = 0
    while (begin := text.find("(*", position)) != -1:
        end = text.find("*)", begin + 2)
        if end == -1:
            line = text.count("\n", 0, begin) + 1
            raise DynError(f"line {line}: the comment has no end: add *)", line=line)
        comments.append(text[begin + 2 : end])
        parts += [text[position:begin], "\n" * comments[-1].count("\n")]
        position = end + 2
    return "".join([*parts, text[position:]]), comments


def _items(name: str, value: str, line: int) -> tuple[ParItem, ...]:
    if not value.startswith("{"):
        return (ParItem(value.strip(), f"{name} (line {line})", line),)
    items = []
    for k, text in enumerate(value[1:-1].split(","), start=1):
        begins = line + text[: len(text) - len(text.lstrip())].count("\n")
        items.append(ParItem(" ".join(text.split()), f"{name}[{k}] (line {begins})", begins))
        line += text.count("\n")
    return tuple(items) if len(items) > 1 or items[0].text else ()
