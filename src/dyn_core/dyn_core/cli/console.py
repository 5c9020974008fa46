# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from dyn_core.core.errors import DynError


def write_whole(path: str, text: str) -> None:
    """Write a file; DynError where this fails."""
    with whole_file(path) as file:
        file.write(text)


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[TextIO]:
    """Open a file for writing under another name beside its place, and rename it when all is written.

    Where something is raised meanwhile, nothing is left of it, and what was at the place before stays.

    Raises:
        DynError: the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    temporary: Path | None = None
    try:
        mode = target.stat().st_mode if target.exists() else 0o666 & ~_mask()
        if target.exists() and not target.is_file():
            raise DynError(f"cannot write '{path}': this is no regular file")
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}-")
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
        temporary.chmod(mode & 0o777)
        temporary.replace(target)
    except OSError as error:
        raise DynError(f"cannot write '{path}': {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _mask() -> int:
    """The permissions that new files of this process do not get."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
