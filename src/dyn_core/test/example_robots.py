# SPDX-License-Identifier: Apache-2.0
"""The URDF files of example-robot-data, where it is installed."""

from __future__ import annotations

import sys
from pathlib import Path

EMPTY = {"ur3.urdf"}
"""What xacro left of it has no link."""


def descriptions() -> list[Path]:
    """URDF files from a wheel or a ROS installation; none where there is neither."""
    for directory in map(Path, sys.path):
        for prefix in (
            directory / "cmeel.prefix",
            directory.parents[2] if len(directory.parents) > 2 else directory,
        ):
            robots = prefix / "share" / "example-robot-data" / "robots"
            if robots.is_dir():
                return sorted(robots.rglob("*.urdf"))
    return []
