# SPDX-License-Identifier: Apache-2.0
"""The text of a robot description, from a file or as it is given."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

from dyn_core.core.errors import DynError, shortened

MAX_BYTES = 20_000_000

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_NO_SUCH_PATH = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


def is_xml_text(source: str | os.PathLike[str]) -> bool:
    """Tell XML text from a path: XML starts with ``<``."""
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")


def read_text(path: str | os.PathLike[str], form: str = "URDF", text_form: str = "XML") -> str:
    """Answer the text of a UTF-8 file of at most `MAX_BYTES`.

    Args:
        path: the file.
        form: what the file should be, for messages.
        text_form: what text could have been given instead.
    """
    shown = path_text(path)
    if _URL.match(shown):
        raise DynError(f"no such file: '{shown}' is a URL: give the path of a file")
    # What is no str cannot have been meant as text.
    missing = _no_such_file(shown, f"{text_form} text" if isinstance(path, str) else "", form)
    if not shown:
        raise missing
    return _decoded(_read_bytes(Path(os.fsdecode(path)), shown, form, missing), shown, form)


def read_stream(stream: BinaryIO, shown: str, form: str = "URDF") -> str:
    """Answer the text of a UTF-8 stream of at most `MAX_BYTES`, which messages call `shown`."""
    try:
        data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise DynError(f"it cannot be read: {error.strerror}", file=shown) from error
    if len(data) > MAX_BYTES:
        raise DynError(
            f"there are more than the {MAX_BYTES} bytes that are read: move meshes and data out of it",
            file=shown,
        )
    return _decoded(data, shown, form)


def _decoded(data: bytes, shown: str, form: str) -> str:
    if not data.strip():
        raise DynError(f"the file is empty, where a {form} file was expected", file=shown)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DynError(
            f"byte 0x{data[error.start]:02x} in line {line} is not UTF-8: save the file as UTF-8",
            line=line,
            file=shown,
        ) from error


def path_text(path: str | os.PathLike[str]) -> str:
    """Answer a path on one line, fit for use in a message; DynError where it is none."""
    if not isinstance(path, (str, os.PathLike)):
        raise DynError(
            f"{shortened(repr(path), 40)} is neither the path of a file nor text: give a str or a Path"
        )
    return shortened(" ".join(os.fsdecode(path).split()), 200)


def _read_bytes(path: Path, shown: str, form: str, missing: DynError) -> bytes:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise DynError(f"this is a directory: give the {form} file in it", file=shown)
        if not stat.S_ISREG(status.st_mode):
            raise DynError(f"this is not a regular file: give a {form} file", file=shown)
        if status.st_size > MAX_BYTES:
            raise DynError(
                f"the file has {status.st_size} bytes, more than the {MAX_BYTES} that are read: "
                "move meshes and data out of it",
                file=shown,
            )
        with path.open("rb") as file:
            return file.read(MAX_BYTES)
    except OSError as error:
        if error.errno in _NO_SUCH_PATH:
            raise missing from error
        raise DynError(f"the file cannot be read: {error.strerror}", file=shown) from error
    except ValueError as error:  # a null character in the path
        raise missing from error


def _no_such_file(shown: str, text: str, form: str) -> DynError:
    """The error for a path that leads nowhere; it names the text that could have been given instead."""
    if text:
        return DynError(f"no such file: '{shown}' is neither the path of a file nor {text}")
    return DynError(f"no such file: '{shown}': give the path of a {form} file")
