# SPDX-License-Identifier: Apache-2.0
"""The exception and the warning that dyn_core gives its users."""

from __future__ import annotations

from collections.abc import Iterable


class DynError(Exception):
    """What the user gave cannot be used; one sentence says why, and how to mend it.

    Attributes:
        message: the sentence, without the file.
        element: what the message is about, e.g. ``"joint 'elbow'"``.
        line: line of the input, counted from 1.
        file: path of the input.
    """

    def __init__(
        self,
        message: str,
        *,
        element: str | None = None,
        line: int | None = None,
        file: str | None = None,
    ) -> None:
        """Keep the message and the data that it was made from."""
        super().__init__(message)
        self.message = message
        self.element = element
        self.line = line
        self.file = file

    def __str__(self) -> str:
        """Answer the sentence, preceded by the file where one is known."""
        return f"{self.file}: {self.message}" if self.file else self.message

    def in_file(self, file: str) -> DynError:
        """Answer the same error with the file that it was found in."""
        return type(self)(self.message, element=self.element, line=self.line, file=file)


class ModelWarning(UserWarning):
    """The robot's description can be used, but no real robot is like it."""


def shortened(text: str, length: int = 80) -> str:
    """Answer `text` on one line and cut to `length` characters, fit for use in a message."""
    text = " ".join(text.split()) if not text.isprintable() else text
    return text if len(text) <= length else f"{text[: length - 3]}..."


def listed(names: Iterable[str], count: int = 6) -> str:
    """Answer the first `count` names, quoted, and how many more there are."""
    quoted = [f"'{shortened(name, 40)}'" for name in names]
    rest = len(quoted) - count
    return ", ".join(quoted[:count]) + (f" and {rest} more" if rest > 0 else "")


def counted(count: int, one: str, many: str | None = None) -> str:
    """Answer a number of things in words: ``1 joint``, ``2 joints``.

    Args:
        count: how many.
        one: what one is called.
        many: what others are called, where that is not the same with an s.
    """
    return f"{count} {one if count == 1 else many or f'{one}s'}"
