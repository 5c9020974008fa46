# SPDX-License-Identifier: Apache-2.0
"""Compiled programs on disk, from one process to the next.

An entry is a shared library named after everything that it was made from, and beside it the SHA-256 of
the library. Entries are written under other names and renamed, so that any number of processes can
work at once; one that is truncated or altered does not match its checksum and is made again. Loading
a library runs it, so a directory that others could write to is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path


class CacheUnusable(OSError):
    """The cache directory cannot be used; the sentence says why."""


def directory() -> Path:
    """Where the entries are: DYN_CACHE_DIR, or dyn_core in the user's cache."""
    if chosen := os.environ.get("DYN_CACHE_DIR"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dyn_core"


def prepared_directory() -> Path:
    """Answer the directory, made if necessary, readable and writable by this user alone."""
    path = directory()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except (OSError, RuntimeError) as error:
        raise CacheUnusable(f"the cache directory '{path}' cannot be made ({error})") from error
    if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheUnusable(f"others can write to the cache directory '{path}': set its mode to 0700")
    return path


def find(folder: Path, key: str) -> Path | None:
    """Answer the library of that key if it is there and whole."""
    library, checksum = folder / f"{key}.so", folder / f"{key}.sha256"
    try:
        whole = checksum.read_text() == _digest(library.read_bytes())
    except (OSError, ValueError):
        return None
    return library if whole else None


def put(folder: Path, key: str, library: bytes) -> Path:
    """Keep a library under that key, and answer where it is."""
    target = folder / f"{key}.so"
    try:
        _write(target, library)
        _write(folder / f"{key}.sha256", _digest(library).encode())
    except OSError as error:
        # Without the temporary name that the error has: the same sentence each time is said once.
        reason = error.strerror or type(error).__name__
        raise CacheUnusable(f"the cache directory '{folder}' cannot be written ({reason})") from error
    return target


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(target)
    except OSError:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
