# SPDX-License-Identifier: Apache-2.0
"""Log files by their contents, whatever they are called."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from dyn_core.core.errors import DynError
from dyn_core.core.text import path_text
from dyn_core.logs.gather import MAX_VALUES
from dyn_core.logs.mapping.assignment import wanted_columns
from dyn_core.logs.mapping.log_map import LogMap
from dyn_core.logs.read_matlab import read_matlab
from dyn_core.logs.read_numpy import read_npy, read_npz
from dyn_core.logs.readers.array_files import read_parquet
from dyn_core.logs.readers.bag import read_bag
from dyn_core.logs.readers.csv import read_csv
from dyn_core.logs.stream import Recording

_SQLITE = b"SQLite format 3\0"
_MCAP = b"\x89MCAP0\r\n"
_NO_SUCH_PATH = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


def open_log(
    path: str | os.PathLike[str], said: LogMap, joints: Sequence[str], max_values: int = MAX_VALUES
) -> Recording:
    """Answer the columns of a log that may be of use.

    Args:
        path: a file, or the directory of a bag.
        said: what the user says of the columns.
        joints: names of joints, where they are known.
        max_values: how many values are read at most.

    Raises:
        DynError: it cannot be read.
    """
    shown = path_text(path)
    try:
        return _read(Path(os.fsdecode(path)), said, joints, max_values)
    except DynError as error:
        raise error.in_file(shown) from error
    except OSError as error:
        if error.errno in _NO_SUCH_PATH:
            raise DynError(f"no such file: '{shown}' is neither a log nor the directory of a bag") from error
        raise DynError(f"the file cannot be read: {error.strerror or error}", file=shown) from error
    except ValueError as error:
        if "\0" in os.fsdecode(path):
            raise DynError("no such file: its path has a null character") from error
        raise


def _read(path: Path, said: LogMap, joints: Sequence[str], max_values: int) -> Recording:
    def select(names: Sequence[str]) -> Sequence[int]:
        return wanted_columns(names, said, joints)

    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        return read_bag(path, "", max_values)
    if not stat.S_ISREG(mode):
        raise DynError("this is no regular file: give a log, or the directory of a bag")
    with path.open("rb") as file:
        start = file.read(128)
    if not start:
        raise DynError("the file is empty: record the robot while it moves")
    if start.startswith(_SQLITE):
        return read_bag(path, ".db3", max_values)
    if start.startswith(_MCAP):
        return read_bag(path, ".mcap", max_values)
    if start.startswith(b"PAR1"):
        return read_parquet(path, select, max_values)
    if start.startswith(b"\x93NUMPY"):
        return read_npy(path, select, max_values)
    if start.startswith(b"PK\x03\x04"):
        return read_npz(path, select, max_values)
    if start.startswith((b"MATLAB", b"\x89HDF")) or path.suffix.lower() == ".mat":
        return read_matlab(path, select, max_values)
    return read_csv(path, select, max_values)
