# SPDX-License-Identifier: Apache-2.0
"""States over time as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from dyn_core.simulation.run import Sample

COLUMNS = ("position", "velocity", "acceleration", "effort")


def header(joint_names: Sequence[str]) -> str:
    """Answer the first line: ``time``, then ``position.<joint>`` for all joints, and so on."""
    text = io.StringIO()
    names = [f"{column}.{joint}" for column in COLUMNS for joint in joint_names]
    csv.writer(text, lineterminator="\n").writerow(["time", *names])
    return text.getvalue()


class Lines:
    """Samples as lines, with 12 digits."""

    def __init__(self, joint_names: Sequence[str]) -> None:
        """Take the joints that the samples are of."""
        self._format = ",".join(["%.12g"] * (1 + len(COLUMNS) * len(joint_names))) + "\n"

    def line(self, sample: Sample) -> str:
        """Answer the line of a sample."""
        time, q, qd, qdd, effort = sample
        return self._format % (time, *q.tolist(), *qd.tolist(), *qdd.tolist(), *effort.tolist())
