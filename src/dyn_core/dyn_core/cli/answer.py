# SPDX-License-Identifier: Apache-2.0
"""What a command answers."""

from __future__ import annotations

from typing import NamedTuple


class Answer(NamedTuple):
    """The text to print, where there is any, and the exit code."""

    text: str
    exit_code: int = 0
