# SPDX-License-Identifier: Apache-2.0
"""States of a robot on a moving base over time as CSV."""

from __future__ import annotations

import csv
import io

from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.model.moving_base.named_entries import input_entries
from dyn_core.simulation.moving_run import MovingSample
from dyn_core.simulation.states_csv import COLUMNS


def moving_header(base: MovingBase) -> str:
    """Answer the first line: ``time``, the base, then ``position.<joint>`` for all joints, and so on.

    Those of the base are ``pose.x`` to ``pose.qw`` and ``V.linear_x`` to ``V.angular_z``, of a planar one
    ``pose.x``, ``pose.y``, ``pose.angle`` and ``V.linear_x``, ``V.linear_y``, ``V.angular``.
    """
    names = [*column_names_of(base, "pose"), *column_names_of(base, "V")]
    names += [f"{column}.{joint}" for column in COLUMNS for joint in base.robot.coordinate_names]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["time", *names])
    return text.getvalue()


def column_names_of(base: MovingBase, part: str) -> tuple[str, ...]:
    """Answer the columns of the pose, of V, or of forces F, as ``F.force_x``."""
    return tuple(f"{part}.{entry.name.replace(' ', '_')}" for entry in input_entries(base, part))


class MovingLines:
    """Samples as lines, with 12 digits."""

    def __init__(self, base: MovingBase) -> None:
        """Take the robot and its base that the samples are of."""
        count = 1 + base.pose_size + base.freedom + len(COLUMNS) * base.robot.dof
        self._format = ",".join(["%.12g"] * count) + "\n"

    def line(self, sample: MovingSample) -> str:
        """Answer the line of a sample."""
        time, *vectors = sample
        return self._format % (time, *(value for vector in vectors for value in vector.tolist()))
