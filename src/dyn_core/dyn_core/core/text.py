# SPDX-License-Identifier: Apache-2.0
"""Text files and text: bounded reading, decimal numbers, and their printed precision."""

from __future__ import annotations

import errno
import math
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO, NamedTuple

from dyn_core.core.errors import DynError, shortened

# Decimal numbers as text.

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def finite_number(word: str) -> float | None:
    """Return a decimal number; None if the word is not a number or too great for a float."""
    value = float(word) if _NUMBER.fullmatch(word) else math.nan
    return value if math.isfinite(value) else None


# Precision of printed decimal numbers.


class Digits(NamedTuple):
    """Precision of a printed number."""

    figures: int  # how many significant digits it has, without the zeros at its end
    unit: float  # value of one step of its last digit


def printed_digits(word: str) -> Digits:
    """Return the precision of a decimal number: ``-1.5708`` has 5 digits and a unit of 1e-4."""
    mantissa, _, power = word.lower().lstrip("+-").partition("e")
    whole, _, decimals = mantissa.partition(".")
    decimals = decimals.rstrip("0")
    figures = len((whole + decimals).lstrip("0"))
    exponent = int(power) if power and len(power) < 8 else 0
    return Digits(figures, 10.0 ** max(-330, min(300, exponent - len(decimals))))


# The text of a robot description, from a file or as it is given.

MAX_BYTES = 20_000_000

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_NO_SUCH_PATH = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


def is_xml_text(source: str | os.PathLike[str]) -> bool:
    """Tell XML text from a path: XML starts with ``<``."""
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")


def is_par_text(text: str) -> bool:
    """Tell SYMORO+ .par text by the comment that it begins with."""
    return text.lstrip("\ufeff \t\r\n").startswith("(*")


def read_text(path: str | os.PathLike[str], form: str = "URDF", text_form: str = "XML") -> str:
    """Return the text of a UTF-8 file of at most `MAX_BYTES`.

    Args:
        path: the file.
        form: what the file should be, for messages.
        text_form: what text could have been given instead.
    """
    if _URL.match(checked_path(path)):
        raise DynError("path-is-url", path=path_text(path))
    return _decoded(_read_bytes(path, form, text_form), path, form)


def read_stream(stream: BinaryIO, shown: str, form: str = "URDF") -> str:
    """Return the text of a UTF-8 stream of at most `MAX_BYTES`, which messages call `shown`."""
    try:
        data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise DynError("input-unreadable", reason=error.strerror, file=shown) from error
    if len(data) > MAX_BYTES:
        raise DynError("description-input-too-large", limit=MAX_BYTES, file=shown)
    return _decoded(data, shown, form)


def _decoded(data: bytes, file: str | os.PathLike[str], form: str) -> str:
    if not data.strip():
        raise DynError("file-empty", form=form, file=path_text(file))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte, line = data[error.start], data.count(b"\n", 0, error.start) + 1
        file = path_text(file)
        raise DynError("file-byte-not-utf8", byte=byte, line_number=line, line=line, file=file) from error


def path_text(path: str | os.PathLike[str]) -> str:
    """Return a path on one line, short enough for a message."""
    return shortened(" ".join(checked_path(path).split()), 200)


def checked_path(path: str | os.PathLike[str]) -> str:
    """Return a path as text; DynError if it is of another type."""
    if not isinstance(path, (str, os.PathLike)):
        raise DynError("path-type", given=repr(path))
    return os.fsdecode(path)


def _read_bytes(path: str | os.PathLike[str], form: str, text_form: str) -> bytes:
    name = Path(os.fsdecode(path))
    try:
        if not os.fsdecode(path).strip():
            raise FileNotFoundError(errno.ENOENT, "no path")
        status = name.stat()
        if stat.S_ISDIR(status.st_mode):
            raise DynError("path-is-directory", form=form, file=path_text(path))
        if not stat.S_ISREG(status.st_mode):
            raise DynError("path-irregular", form=form, file=path_text(path))
        if status.st_size > MAX_BYTES:
            size, file = status.st_size, path_text(path)
            raise DynError("description-file-too-large", size=size, limit=MAX_BYTES, file=file)
        with name.open("rb") as stream:
            return stream.read(MAX_BYTES)
    except OSError as error:
        if error.errno in _NO_SUCH_PATH:
            raise _no_such_file(path, form, text_form) from error
        raise DynError("file-unreadable", reason=error.strerror, file=path_text(path)) from error
    except ValueError as error:  # a null character in the path
        raise _no_such_file(path, form, text_form) from error


def _no_such_file(path: str | os.PathLike[str], form: str, text_form: str) -> DynError:
    """Return the error for a missing file; where the path is a str, it may have been meant as text."""
    if isinstance(path, str):
        return DynError("path-or-text-unknown", path=path_text(path), alternative=f"{text_form} text")
    return DynError("path-missing", path=path_text(path), form=form)
