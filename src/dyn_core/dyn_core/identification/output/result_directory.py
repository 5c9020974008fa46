# SPDX-License-Identifier: Apache-2.0
"""Write the files of a result into a directory, all of them or none."""

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

from dyn_core.core.errors import DynError, shortened
from dyn_core.identification.output.identification_result import FILES, Result, result_text
from dyn_core.identification.output.parameter_file import parameter_text
from dyn_core.identification.output.report_page import report_page


def write_result(result: Result, target: Path) -> None:
    """Write the files of a result, all or none; DynError if they cannot be written.

    `target` is the directory from `check_place`.
    """
    unseen = {parameter.name for parameter in result.identified.standard if not parameter.identifiable}
    texts = (
        parameter_text(result.loaded.robot, result.parameters, unseen),
        result.urdf.text,
        report_page(result),
        result_text(result),
    )
    write_directory(target, dict(zip(FILES, texts, strict=True)))


# Directories whose files appear together or not at all
#
# The files are written into a new hidden directory beside the target, and flushed to the disk. Then
#
# * a new target is this directory, renamed;
# * a target that contains only our files is exchanged with it in one step (Linux), and the old one is
#   removed;
# * any other permitted target, or one that cannot be renamed because it is a mount, a working directory, or
#   in a directory without write permission, gets the files one after the other, and Ctrl-C waits for the
#   last.

_AT_FDCWD = -100
_EXCHANGE = 2
_DEFERRED = (signal.SIGINT, signal.SIGTERM)


def check_place(
    path: str | os.PathLike[str], names: Sequence[str], mark: str, *, force: bool = False
) -> Path:
    """Return the path for a directory, before any work is done for it.

    `names` are its files; the last one is JSON, whose entry ``made_by`` begins with `mark` if the
    directory is ours; `force` accepts any directory. Raise DynError if it is a file, has other files,
    or cannot be written.
    """
    shown = shortened(os.fsdecode(path), 200)
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_dir():
            raise DynError("directory-is-file", path=shown)
        if target.is_dir():
            _check_contents(target, shown, names, mark, force)
        parent = target if target.is_dir() else target.parent
        if not parent.is_dir():
            raise DynError("directory-missing", path=shown, parent=parent)
        if not os.access(parent, os.W_OK | os.X_OK):
            raise DynError("directory-not-writable", path=shown, parent=parent)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DynError("file-unwritable", path=shown, reason=reason) from error
    return target


def write_directory(target: Path, files: Mapping[str, str]) -> None:
    """Write or replace files, given by name, in a directory from `check_place`, all or none.

    Raise DynError if they cannot be written; the old files are still there then.
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
            is_ours = all(entry.name in files for entry in target.iterdir())
            if is_ours and not _in_use(target) and _exchanged(temporary, target):
                return  # the old one is the temporary one now
        target.mkdir(exist_ok=True)
        with _uninterrupted():
            for name in files:
                (temporary / name).replace(target / name)
    except OSError as error:
        raise DynError("file-unwritable", path=target, reason=error.strerror or error) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _check_contents(target: Path, shown: str, names: Sequence[str], mark: str, force: bool) -> None:
    present = sorted(entry.name for entry in target.iterdir())
    if not present or force:
        return
    foreign = [name for name in present if name not in names]
    if foreign:
        raise DynError("directory-occupied", path=shown, files=foreign)
    if not _made_by_us(target / names[-1], mark):
        raise DynError("directory-files-foreign", path=shown)


def _made_by_us(file: Path, mark: str) -> bool:
    try:
        content: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and str(content.get("made_by", "")).startswith(mark)


def _temporary(target: Path) -> tuple[Path, bool]:
    """Return a new directory on the same disk, and whether it is beside the target rather than in it."""
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


def _in_use(target: Path) -> bool:
    """Return whether this process, and so probably a shell, works in it."""
    with contextlib.suppress(OSError):
        here = Path.cwd().resolve()
        return here == target or target in here.parents
    return False


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two directories in one step; return False if the system cannot."""
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
    """Delay Ctrl-C until the end."""
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
