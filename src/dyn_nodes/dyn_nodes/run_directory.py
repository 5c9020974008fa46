# SPDX-License-Identifier: Apache-2.0
"""The directory of one run."""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from pathlib import Path

from dyn_core import DynError

LOG = "log.csv"


def new_directory(below: Path, robot_name: str) -> Path:
    """Make a directory named after robot and time, and answer it; DynError where it cannot be made."""
    safe = re.sub(r"[^\w.-]+", "_", robot_name)[:60] or "robot"
    name = f"{safe}_{time.strftime('%Y%m%d_%H%M%S', time.localtime())}"
    try:
        below.mkdir(parents=True, exist_ok=True)
        for k in itertools.count(1):
            directory = below / (name if k == 1 else f"{name}_{k}")
            with contextlib.suppress(FileExistsError):
                directory.mkdir()
                return directory
    except OSError as error:
        raise DynError(
            f"cannot make a directory in '{below}': {error.strerror}; give another one as parameter directory"
        ) from error
    raise AssertionError("there is always another number")


def remove_empty(directory: Path) -> None:
    """Remove a directory where there is nothing in it."""
    with contextlib.suppress(OSError):
        directory.rmdir()
