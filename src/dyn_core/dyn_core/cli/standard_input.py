# SPDX-License-Identifier: Apache-2.0
"""The robot, or a motion, from standard input: ``xacro robot.xacro | dyn check -``."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import BinaryIO

from dyn_core.core.errors import DynError
from dyn_core.core.text import is_xml_text, read_stream
from dyn_core.robot.par.reader import is_par_text

STANDARD_INPUT = "-"
SHOWN = "standard input"
"""What messages call it."""


def source_of(robot: str) -> str:
    """Answer the path of a robot as it is, and the text on standard input for ``-``; DynError for no text."""
    if robot != STANDARD_INPUT:
        return robot
    text = read_stream(stream_of_input("a URDF or .par text"), SHOWN, "URDF or .par")
    if not (is_xml_text(text) or is_par_text(text)):
        raise DynError("it is no robot: a URDF begins with <, and .par text with (*", file=SHOWN)
    return text


def stream_of_input(wanted: str) -> BinaryIO:
    """Answer standard input as bytes; DynError, which says what was wanted, where it is closed."""
    if not isinstance(sys.stdin, TextIOWrapper):
        raise DynError(f"it is closed: give {wanted}", file=SHOWN)
    stream: BinaryIO = sys.stdin.buffer
    return stream
