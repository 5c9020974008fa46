# SPDX-License-Identifier: Apache-2.0
"""Predicted efforts as CSV."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dyn_core.logs.conditioning.signals import Signals
from dyn_core.results.prediction import Prediction

BLOCK = 1000
"""Lines that are made at once."""


def prediction_lines(signals: Signals, torques: Prediction) -> Iterator[str]:
    """Answer the lines: time, the predicted effort of each joint, and where there is one, the measured.

    Columns are ``time``, ``effort.NAME`` (predicted), ``measured.NAME`` (N m or N).
    """
    known = [i for i, has in enumerate(signals.has_effort) if has]
    names = signals.joint_names
    head = ["time", *(f"effort.{name}" for name in names), *(f"measured.{names[i]}" for i in known)]
    yield ",".join(map(_quoted, head)) + "\n"
    for first in range(0, len(signals), BLOCK):
        part = slice(first, first + BLOCK)
        rows = np.column_stack([signals.time[part], torques.tau[part], signals.tau[part][:, known]])
        yield "".join(",".join(f"{x:.9g}" for x in row) + "\n" for row in rows.tolist())


def _quoted(name: str) -> str:
    return f'"{name.replace(chr(34), chr(34) * 2)}"' if set(name) & set(',"\n') else name
