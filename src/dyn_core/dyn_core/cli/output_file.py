# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from dyn_core.errors import DynError


def write_whole(path: str, text: str) -> None:
    """Write a file under another name beside its place, and rename it; DynError where this fails."""
    target = Path(os.path.realpath(path))
    temporary: Path | None = None
    try:
        mode = target.stat().st_mode if target.exists() else 0o666 & ~_mask()
        if target.exists() and not target.is_file():
            raise DynError(f"cannot write '{path}': this is no regular file")
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}-")
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.chmod(mode & 0o777)
        temporary.replace(target)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        raise DynError(f"cannot write '{path}': {error.strerror or error}") from error


def _mask() -> int:
    """The permissions that new files of this process do not get."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
