# SPDX-License-Identifier: Apache-2.0
"""Joint states as `ros2 topic echo --csv` writes them: no header, names of joints in every line."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.io.number import finite_number

LEADING = ("header.stamp.sec", "header.stamp.nanosec", "frame_id")
QUANTITIES = ("position", "velocity", "effort")


def joint_state_columns(words: Sequence[str]) -> tuple[str, ...]:
    """Answer the names of the columns of such a line; nothing where it is none.

    A line has seconds, nanoseconds, a frame, the names of n joints, and n positions, velocities and efforts.
    """
    if len(words) < 7 or not (words[0].isdecimal() and words[1].isdecimal()):
        return ()
    rest = words[len(LEADING) :]
    joints = len(rest) // 4
    names, values = rest[:joints], rest[joints:]
    if len(rest) != 4 * joints or any(finite_number(name) is not None or not name for name in names):
        return ()
    if any(finite_number(value) is None for value in values):
        return ()
    return (
        *LEADING,
        *(f"name[{k}]" for k in range(joints)),
        *(f"{quantity}.{name}" for quantity in QUANTITIES for name in names),
    )
