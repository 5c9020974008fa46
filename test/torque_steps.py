# SPDX-License-Identifier: Apache-2.0
"""Send joint states to a loose node."""

from __future__ import annotations

from collections.abc import Sequence

from loose_node import LooseNode

Q = [0.1, 0.3, 0.05]
PERIOD = 0.01


def send_state(loose: LooseNode, q: Sequence[float] = Q, qd: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
    """Send a joint state of the arm rrp, and let 0.01 s pass."""
    loose.measure(q, qd)
    loose.pass_time(PERIOD)
