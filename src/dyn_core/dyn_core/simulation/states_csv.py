# SPDX-License-Identifier: Apache-2.0
"""States over time as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from dyn_core.simulation.simulation_run import Sample

COLUMNS = ("position", "velocity", "acceleration", "effort")
OF_PASSIVE = COLUMNS[:3]


def header(joint_names: Sequence[str], passive: Sequence[str] = ()) -> str:
    """Answer the first line: ``time``, then ``position.<joint>`` for all joints, and so on.

    Those of passive joints come last, and have no efforts.
    """
    text = io.StringIO()
    names = [f"{column}.{joint}" for column in COLUMNS for joint in joint_names]
    names += [f"{column}.{joint}" for column in OF_PASSIVE for joint in passive]
    csv.writer(text, lineterminator="\n").writerow(["time", *names])
    return text.getvalue()


class Lines:
    """Samples as lines, with 12 digits."""

    def __init__(self, joint_names: Sequence[str], passive: Sequence[str] = ()) -> None:
        """Take the joints that the samples are of, and the passive joints of loops."""
        count = 1 + len(COLUMNS) * len(joint_names) + len(OF_PASSIVE) * len(passive)
        self._format = ",".join(["%.12g"] * count) + "\n"

    def line(self, sample: Sample) -> str:
        """Answer the line of a sample."""
        time, q, qd, qdd, effort, passive = sample
        values = [*q.tolist(), *qd.tolist(), *qdd.tolist(), *effort.tolist()]
        for vector in passive:
            values += vector.tolist()
        return self._format % (time, *values)
