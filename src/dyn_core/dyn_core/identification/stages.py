# SPDX-License-Identifier: Apache-2.0
"""What an identification does, one thing after the other, as it tells those who wait."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

Progress: TypeAlias = Callable[[str], object]
"""Takes what begins now, in words."""


class _Words(str, Enum):
    def __str__(self) -> str:
        return str(self.value)


class IdentifyStage(_Words):
    """The stages of `identify`, in order; what nobody asked for is left out."""

    EQUATIONS = "computing the equations"
    DIAGNOSIS = "looking for wrong signs, swapped joints, saturation and delays"
    FRICTION = "choosing friction models by cross-validation"
    FIT = "fitting base parameters and friction"
    BODIES = "finding parameters that bodies can have"
    NODES = "fitting friction as the nodes have it"
    ERRORS = "measuring the errors"


class ResultStage(_Words):
    """The stages around it, from the log to the result."""

    READING = "reading the log"
    CONDITIONING = "conditioning the signals"
    COMPARING = "comparing measured and predicted torques"
