# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of the files that a result was made from."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from dyn_core.core.errors import DynError
from dyn_core.core.text import path_text

_BLOCK = 1 << 20


def input_hash(path: str | os.PathLike[str]) -> str:
    """Answer the SHA-256 of a file, in hexadecimal; of a directory, that of the names and hashes in it.

    Raises:
        DynError: it cannot be read.
    """
    place = Path(os.fsdecode(path))
    try:
        if not place.is_dir():
            return _of_file(place)
        whole = hashlib.sha256()
        for file in sorted(entry for entry in place.rglob("*") if entry.is_file()):
            whole.update(f"{file.relative_to(place)} {_of_file(file)}\n".encode(errors="surrogateescape"))
    except OSError as error:
        raise DynError(f"it cannot be read: {error.strerror or error}", file=path_text(path)) from error
    return whole.hexdigest()


def _of_file(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
