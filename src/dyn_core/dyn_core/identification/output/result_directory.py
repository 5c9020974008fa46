# SPDX-License-Identifier: Apache-2.0
"""Directories whose files appear together or not at all.

The files are written into a new directory beside the place, whose name is hidden, and reach the disk. Then

* where there is nothing, that directory is renamed;
* where there is a directory of which we know all files, the two are exchanged in one step (Linux), and the
  old one is removed;
* where there is any other that may be used, or one that cannot be renamed because it is a mount, because
  somebody works there, or because the directory above cannot be written, the files are renamed into it, one
  after the other, and Ctrl-C waits for the last.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from dyn_core.core.errors import DynError, listed, shortened

_AT_FDCWD = -100
_EXCHANGE = 2
_DEFERRED = (signal.SIGINT, signal.SIGTERM)


def check_place(
    path: str | os.PathLike[str], names: Sequence[str], mark: str, *, force: bool = False
) -> Path:
    """Answer where a directory is to be, before any work is done for it.

    Args:
        path: of the directory.
        names: of the files that it is to have, the last of which is JSON.
        mark: what the entry ``made_by`` of that JSON begins with where we made the directory.
        force: whether any directory will do.

    Raises:
        DynError: it is no directory, has files that we have not made, or cannot be written.
    """
    shown = shortened(os.fsdecode(path), 200)
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_dir():
            raise DynError(
                f"'{shown}' is a file: give a directory that is new, empty, or made by this command"
            )
        if target.is_dir():
            _check_contents(target, shown, names, mark, force)
        parent = target if target.is_dir() else target.parent
        if not parent.is_dir():
            raise DynError(f"cannot write '{shown}': the directory '{parent}' does not exist")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise DynError(f"cannot write '{shown}': no permission to write in '{parent}'")
    except (OSError, ValueError) as error:
        raise DynError(f"cannot write '{shown}': {getattr(error, 'strerror', None) or error}") from error
    return target


def write_directory(target: Path, files: Mapping[str, str]) -> None:
    """Write files into a directory, all or none of them; what is of the same name there is replaced.

    Args:
        target: as `check_place` answers it.
        files: their text, by name.

    Raises:
        DynError: they cannot be written; what was there before is still there.
    """
    temporary: Path | None = None
    try:
        temporary, beside = _temporary(target)
        for name, text in files.items():
            _write(temporary / name, text)
        if beside:
            temporary.chmod(0o777 & ~_mask())
            if not target.exists():
                temporary.rename(target)
                temporary = None
                return
            if _only(target, files) and not _in_use(target) and _exchanged(temporary, target):
                return  # the old one is the temporary one now
        target.mkdir(exist_ok=True)
        with _uninterrupted():
            for name in files:
                (temporary / name).replace(target / name)
    except OSError as error:
        raise DynError(f"cannot write '{target}': {error.strerror or error}") from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _check_contents(target: Path, shown: str, names: Sequence[str], mark: str, force: bool) -> None:
    present = sorted(entry.name for entry in target.iterdir())
    strange = [name for name in present if name not in names]
    if not present or force:
        return
    if strange:
        raise DynError(
            f"'{shown}' has other files ({listed(strange, 3)}): give another directory, or --force to write "
            "into this one"
        )
    if not _made_by_us(target / names[-1], mark):
        raise DynError(f"'{shown}' has files that this command has not made: use --force to replace them")


def _made_by_us(file: Path, mark: str) -> bool:
    try:
        answer: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(answer, dict) and str(answer.get("made_by", "")).startswith(mark)


def _temporary(target: Path) -> tuple[Path, bool]:
    """Answer a new directory on the same disk, and whether it is beside the place, and not in it."""
    prefix = f".{target.name[:100]}-"
    if not target.is_mount():
        try:
            return Path(tempfile.mkdtemp(dir=target.parent, prefix=prefix)), True
        except PermissionError:
            if not target.is_dir():
                raise
    return Path(tempfile.mkdtemp(dir=target, prefix=prefix)), False


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _only(target: Path, files: Mapping[str, str]) -> bool:
    return all(entry.name in files for entry in target.iterdir())


def _in_use(target: Path) -> bool:
    """Whether it is where this process, and so most likely a shell, works."""
    with contextlib.suppress(OSError):
        here = Path.cwd().resolve()
        return here == target or target in here.parents
    return False


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two directories in one step; False where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    done = rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE)
    if done == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.EBUSY, errno.EPERM, errno.EACCES):
        return False
    raise OSError(number, os.strerror(number))


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def later(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, later) for number in _DEFERRED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
