# SPDX-License-Identifier: Apache-2.0
"""Errors and warnings of dyn_core: values with a code; `messages` makes sentences from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from dyn_core.core.findings import Place
from dyn_core.core.messages import Message, counted, listed, message_entries, sentence, shortened

__all__ = [
    "ArgumentError",
    "DynError",
    "ModelWarning",
    "at_joint",
    "check_choice",
    "counted",
    "listed",
    "shortened",
]

_About = TypeVar("_About", bound="_Report")


class _Report(Exception):
    """Common base of errors and warnings; `DynError` has the list of the attributes."""

    def __init__(
        self,
        code: str,
        *,
        place: Place | None = None,
        element: str | None = None,
        line: int | None = None,
        file: str | None = None,
        **values: Any,
    ) -> None:
        """Keep the code and the values; a code with spaces is taken for the sentence itself.

        Args:
            code: the code.
            place: the place, with which the message begins.
            element: what it is about; by default the element of the place.
            line: its line; by default that of the place.
            file: path of the input.
            values: the values.
        """
        super().__init__(code)
        self.code = "" if " " in code else code
        self.values = values
        self.place = place
        self.element: str | None = element or (place.element or None if place else None)
        self.line: int | None = line or (place.line if place else None)
        self.file = file

    @property
    def detail(self) -> Message:
        """The sentence without place and file."""
        return (
            Message(self.code, **self.values)
            if self.code
            else Message("reader-remark", text=str(self.args[0]))
        )

    @property
    def message(self) -> str:
        """The sentence, preceded by the place where one is known."""
        return f"{self.place}: {self.detail}" if self.place else str(self.detail)

    def entries(self) -> dict[str, Any]:
        """Return code, values, sentence and place as data for JSON."""
        place = {"element": self.element, "line": self.line, "file": self.file}
        return {**message_entries(self), **place}

    def __str__(self) -> str:
        return f"{self.file}: {self.message}" if self.file else self.message

    def in_file(self: _About, file: str | None) -> _About:
        """Return the same with the file that it was found in."""
        return type(self)(
            str(self.args[0]),
            place=self.place,
            element=self.element,
            line=self.line,
            file=file,
            **self.values,
        )

    def at_place(self: _About, place: Place) -> _About:
        """Return the same with the place that it was found at."""
        return type(self)(str(self.args[0]), place=place, file=self.file, **self.values)


class DynError(_Report):
    """An input that cannot be used: what is wrong with it, and how to mend it.

    Attributes:
        code: what is wrong, in `kebab-case`; it does not change between versions. Empty where the
            sentence itself was given.
        values: names, numbers and other contents of the sentence, by name.
        place: where in the input it is; None where that is not known.
        element: what it is about, e.g. ``"joint 'elbow'"``.
        line: line of the input, counted from 1.
        file: path of the input.
    """


def at_joint(joint: str, code: str, **values: Any) -> DynError:
    """Return the error with a code about a joint, whose name is the value `joint` and the element."""
    return DynError(code, joint=joint, element=f"joint '{joint}'", **values)


class ArgumentError(ValueError):
    """An argument of a function that cannot be used.

    Attributes:
        code: what is wrong, as of a `DynError`.
        values: contents of the sentence, by name.
    """

    def __init__(self, code: str, **values: Any) -> None:
        """Keep the code and the values."""
        super().__init__(code)
        self.code = code
        self.values = values

    def __str__(self) -> str:
        return sentence(self.code, self.values)


def check_choice(argument: str, given: object, choices: Sequence[str]) -> None:
    """Raise ArgumentError if an argument is not one of two or more choices."""
    if given not in choices:
        *first, last = (f"'{choice}'" for choice in choices)
        known = f"{', '.join(first)} or {last}"
        raise ArgumentError("argument-choice-unknown", argument=argument, known=known, given=given)


class ModelWarning(_Report, UserWarning):
    """The robot's description can be used, but no real robot is like it; attributes as of a `DynError`."""
