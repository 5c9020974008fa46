# SPDX-License-Identifier: Apache-2.0
"""What the user wants to see."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wish:
    """What the user asks for.

    Attributes:
        robot: name of an installed robot, or path of a description.
        side_file: path of a side file; None for that of the installed robot, if it has one.
        duration: of the motion (s).
        model_error: greatest relative error of the dynamic parameters.
        seed: of these errors.
    """

    robot: str = "rx90"
    side_file: str | None = None
    duration: float = 4.0
    model_error: float = 0.1
    seed: int = 1
