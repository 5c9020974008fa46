# SPDX-License-Identifier: Apache-2.0
"""Joints that do not move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dyn_core.signals.signals import Signals

STILL = 1e-4
"""Greatest range of the positions of a joint that does not move (rad or m)."""


def moving(signals: Signals) -> tuple[bool, ...]:
    """Answer whether each joint moves."""
    return tuple(bool(moves) for moves in np.ptp(signals.q, axis=0) > STILL)


def at_rest(signals: Signals) -> Signals:
    """Answer the signals with rates of exactly 0 for joints that do not move: noise has a sign, too."""
    moves = moving(signals)
    if all(moves):
        return signals
    still = np.array(moves)
    return replace(signals, qd=np.where(still, signals.qd, 0.0), qdd=np.where(still, signals.qdd, 0.0))
