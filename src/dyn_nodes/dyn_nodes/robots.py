# SPDX-License-Identifier: Apache-2.0
"""The robots that are installed with this package, by name."""

from __future__ import annotations

import os
from pathlib import Path

from ament_index_python.packages import get_package_share_directory

from dyn_core import DynError


def directory() -> Path:
    """Where the installed robot descriptions are."""
    return Path(get_package_share_directory("dyn_nodes")) / "config" / "robots"


def names() -> tuple[str, ...]:
    """Names of the installed robots, sorted."""
    return tuple(sorted(path.stem for path in directory().glob("*.urdf")))


def side_file(description: Path) -> Path | None:
    """Answer the side file of an installed robot; None where it has none, or is another one."""
    beside = description.with_suffix(".yaml")
    return beside if description.parent == directory() and beside.is_file() else None


def find(name_or_path: str) -> Path:
    """Answer the description file of an installed robot, or the path that was given.

    A path is what has a directory or the ending .urdf, .xacro or .par; whether it exists is for its reader
    to say.
    """
    path = Path(os.path.expanduser(name_or_path))  # noqa: PTH111 - an unknown ~user is left as it is
    if path.suffix in (".urdf", ".xacro", ".par") or path.name != name_or_path:
        return path
    if name_or_path not in names():
        raise DynError(
            f"there is no robot named '{name_or_path}': choose one of {', '.join(names())}, "
            "or give the path of a URDF file",
            element=f"robot '{name_or_path}'",
        )
    return directory() / f"{name_or_path}.urdf"
