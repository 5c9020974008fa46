# SPDX-License-Identifier: Apache-2.0
"""Paths in a checkout. Only pip writes outside of it, in the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

from failure import Failure

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
REQUIREMENTS = ROOT / "requirements"

BUILD = ROOT / "build"
INSTALL = ROOT / "install"
LOG = ROOT / "log"
ROS_VENV = ROOT / ".venv"
STATE = ROOT / ".workspace"
"""Lock, stamps, logs of the set-up and temporary files of this tool."""

TEMPORARY = STATE / "tmp"


def prepare() -> None:
    """Make the tool's own directory, or raise a Failure if this checkout cannot be used."""
    if os.pathsep in str(ROOT):
        raise Failure(
            f"the checkout is in '{ROOT}', and a ':' in a path cannot be said in ROS 2's "
            "environment variables; move the checkout to a path without ':'"
        )
    try:
        TEMPORARY.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(
            f"cannot write in the checkout '{ROOT}' ({error.strerror}); clone it to a directory that you own"
        ) from None
