# SPDX-License-Identifier: Apache-2.0
"""Notices that feedback has lost a joint: growing swings, a limit cycle, motion against the torque, a jam.

Swings are judged by the torque of the feedback, in parts of the effort limit: an error at the rate at which a
sampled loop becomes unstable is less than 1 mrad when the torque is already at its limit. A swing is the way
from one turn of this torque to the next. Swings of a damped loop become smaller, whatever pushed it; those of
a motion are slow.

This module has no node, no clock and no messages.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dyn_core import Robot
from dyn_core.core.arrays import Array
from dyn_core.robot.joints import position_range
from dyn_nodes.common.data_checks import Notice

LONGEST_SWING_S = 0.3
"""Longest swing of a loop that is lost (s): half a period of 1.7 Hz."""
LEAST_SWING = 0.8
"""Least swing of a loop that is lost, in effort limits. Torques that come late on a busy machine make swings
of up to 0.4 grow for a while, which then become smaller again."""
GROWING_SWINGS, GROWTH = 6, 4.0
"""Swings in turn, none smaller than the one before, and how much greater the last one has to be."""
SWINGS_AT_LIMIT, AT_LIMIT = 12, 1.0
"""Swings in turn of a limit cycle, and their least size in effort limits: half of the whole range."""
_KEPT = 0.9
"""A swing that is smaller than this part of the one before ends a row."""
_TURN = 0.05
"""Way back of a torque that counts as a turn, in effort limits."""
SATURATED = 0.98
"""Part of the effort limit from which a torque is at it."""
LOST_S = 0.5
"""Time at the effort limit after which a joint at its stop, or moving against its torque, is lost (s)."""
_LEAST_LOSS = {"rad": 0.2, "m": 0.05}
"""Least growth of the error meanwhile."""
_AT_STOP = {"rad": 0.01, "m": 0.001}
"""Distance from the end of the range at which a joint is at its stop; least error that jams it there."""
_LONG_AGO_S = 1e12
_GAP_S = 0.2
"""Time without data after which everything begins anew (s)."""


class DivergenceWatch:
    """Watches the feedback of one robot. State: the swings of each joint, and how long it has been lost."""

    def __init__(self, robot: Robot, limits: Array) -> None:
        """Begin without data; `limits` are the effort limits (N m or N), (n,).

        Joints without an effort limit are not watched, since nothing says how great their torques may be.
        """
        joints = robot.independent_joints
        self._names = robot.coordinate_names
        self._units = [joint.position_unit for joint in joints]
        self._limits, self._quiet, self._saturated = limits, _TURN / 4.0 * limits, SATURATED * limits
        lower, upper = np.array([position_range(joint.limits) for joint in joints]).reshape(-1, 2).T
        near = np.array([_AT_STOP[unit] for unit in self._units])
        self._near, self._lower, self._upper = near, lower + near, upper - near
        self._loss = np.array([_LEAST_LOSS[unit] for unit in self._units])
        self.restart()

    def restart(self) -> None:
        """Forget everything, as where the robot is held anew."""
        n = len(self._names)
        self._t = -math.inf
        self._was_quiet = False
        self._last = np.zeros(n)  # torque of the feedback in effort limits, at the last sample
        self._up = np.ones(n, dtype=bool)  # whether it rises
        self._turn, self._turned_at = np.zeros(n), np.full(n, -_LONG_AGO_S)  # its last turn
        self._extreme, self._extreme_at = np.zeros(n), np.full(n, -_LONG_AGO_S)  # its extreme since then
        self._size, self._first, self._count = np.zeros(n), np.zeros(n), np.zeros(n, dtype=int)
        self._q, self._error = np.zeros(n), np.zeros(n)  # position and error at the last turn
        self._jammed_since, self._lost_since = np.full(n, math.inf), np.full(n, math.inf)
        self._error_then = np.zeros(n)

    def take(
        self, t: float, q: Array, qd: Array | None, error: Array, feedback: Array, torques: Array
    ) -> Notice | None:
        """Take a sample at t (s); return what is wrong, or None.

        Args:
            t: time of the measurement (s).
            q: positions (rad or m), (n,).
            qd: velocities (rad/s or m/s), (n,); None where they are not measured.
            error: reference minus position (rad or m), (n,).
            feedback: torques for the error (N m or N), (n,), before limits.
            torques: all torques, with a feedforward (N m or N), (n,), before limits.
        """
        if not 0.0 <= t - self._t < _GAP_S:
            self.restart()
        self._t = t
        saturated = np.abs(torques) >= self._saturated
        is_quiet = not saturated.any() and bool((np.abs(feedback) < self._quiet).all())
        was_quiet, self._was_quiet = self._was_quiet, is_quiet
        if is_quiet and was_quiet:
            return None
        part = np.clip(feedback / self._limits, -1.0, 1.0)
        found = self._swung(t, part, q, error)
        if found is None and saturated.any():
            return self._stuck(t, q, qd, error, torques, saturated)
        if not saturated.any():
            self._jammed_since.fill(math.inf)
            self._lost_since.fill(math.inf)
        return found

    def _swung(self, t: float, part: Array, q: Array, error: Array) -> Notice | None:
        """Follow the turns of the feedback; return growing swings or a limit cycle.

        A swing counts where the joint moves at least half as far as its error; otherwise its reference did.
        """
        further = np.where(self._up, part > self._extreme, part < self._extreme)
        self._extreme = np.where(further, part, self._extreme)
        self._extreme_at = np.where(further, t, self._extreme_at)
        turned = np.abs(part - self._extreme) > _TURN
        if not turned.any():
            return None
        size = np.abs(self._extreme - self._turn)
        quick = self._extreme_at - self._turned_at <= LONGEST_SWING_S
        by_itself = np.abs(q - self._q) >= 0.5 * np.abs(error - self._error)
        goes_on = quick & by_itself & (size >= _KEPT * self._size) & (size >= LEAST_SWING / GROWTH)
        count = np.where(goes_on, self._count + 1, 0)
        first = np.where(count <= 1, size, self._first)
        self._count = np.where(turned, count, self._count)
        self._first = np.where(turned, first, self._first)
        self._size = np.where(turned, size, self._size)
        self._turn = np.where(turned, self._extreme, self._turn)
        self._turned_at = np.where(turned, self._extreme_at, self._turned_at)
        self._q, self._error = np.where(turned, q, self._q), np.where(turned, error, self._error)
        self._up ^= turned
        self._extreme, self._extreme_at = (
            np.where(turned, part, self._extreme),
            np.where(turned, t, self._extreme_at),
        )
        grown = (self._count >= GROWING_SWINGS) & (
            self._size >= np.maximum(GROWTH * self._first, LEAST_SWING)
        )
        cycle = (self._count >= SWINGS_AT_LIMIT) & (self._size >= AT_LIMIT)
        for code, found in (("control-diverges", grown), ("control-limit-cycle", cycle)):
            if found.any():
                j = int(found.argmax())
                values = {"count": int(self._count[j]), "swing": 100.0 * float(self._size[j])}
                return Notice(code, joint=self._names[j], first=100.0 * float(self._first[j]), **values)
        return None

    def _stuck(
        self,
        t: float,
        q: Array,
        qd: Array | None,
        error: Array,
        torques: Array,
        saturated: npt.NDArray[np.bool_],
    ) -> Notice | None:
        """Return a joint that is jammed at its stop, or moves against its torque, for too long."""
        # With an effort of the wrong sign, its torque points away from the stop.
        at_stop = (q > self._upper) | (q < self._lower)
        jammed = saturated & at_stop & (np.abs(error) > self._near)
        self._jammed_since = np.where(jammed, np.minimum(self._jammed_since, t), math.inf)
        away = saturated & ((qd if qd is not None else -error) * torques < 0.0)
        self._error_then = np.where(np.isinf(self._lost_since), np.abs(error), self._error_then)
        self._lost_since = np.where(away, np.minimum(self._lost_since, t), math.inf)
        lost = (t - self._lost_since > LOST_S) & (np.abs(error) - self._error_then > self._loss)
        for code, found in (("control-jammed", t - self._jammed_since > LOST_S), ("control-lost", lost)):
            if found.any():
                j = int(found.argmax())
                values = {"duration": LOST_S, "error": float(error[j]), "unit": self._units[j]}
                return Notice(code, joint=self._names[j], position=float(q[j]), **values)
        return None
