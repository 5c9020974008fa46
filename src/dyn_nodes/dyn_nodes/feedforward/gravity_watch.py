# SPDX-License-Identifier: Apache-2.0
"""Notices that torques and motion contradict what the drive is said to do about gravity.

The motion of 0.05 s is compared with the model: what is left of its torques, after those that were sent and
those that the drive is said to add, is near zero. Where gravity is sent to a drive that adds it, gravity is
left, and the arm rises. Where neither the node nor the drive carries the weight, gravity is missing, and
the arm falls. All joints that carry weight have to show this, several times in turn, after the arm has
moved that way; joints that carry little show nothing. Pushes and contacts load joints in other proportions.
Once torques and motion have agreed, the arm has to accelerate all the time, for longer.

This module has no node, no clock and no messages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.algorithms.loops.passive_joint_positions import assembly_positions
from dyn_core.control.laws.inverse_dynamics_control import Terms, TorqueTerms
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.core.arrays import Array

WINDOW_S = 0.05
"""Time over which motion and torques are compared (s)."""
LEAST_SAMPLES = 5
_GAP_S = 0.2
"""Time without data after which a window begins anew (s)."""
_MOST_SAMPLES = 2000
ROUNDS = 4
"""Contradictions in turn that are believed."""
ROUNDS_AFTERWARDS = 6
"""The same after torques and motion have agreed."""
LEAST, MOST = 0.6, 1.5
"""Range of what is left or missing, in parts of gravity. Model errors of 20 % leave 0.8 to 1.2 of it."""
_ELSEWHERE = 0.3
"""Greatest rest of a joint that carries little, in parts of the greatest gravity; pushes load such joints."""
_EXPLAINED = 0.5
"""Part of all other torques below which the rest is an error of the model."""
_AGREES = 0.4
"""Greatest part of gravity that is left or missing where torques and motion agree."""
_LOADED = 0.08
"""Least gravity of a joint that counts, as a part of the greatest of its kind."""
_LEAST_WEIGHT = 0.05
"""Gravity of an arm that is too small to be judged (N m or N), at the joint with most of it."""
_CREEP = 1e-6
"""A velocity at which friction is that of Coulomb (rad/s or m/s)."""
_FRICTION = 3.0
"""Least gravity of a joint that counts, in Coulomb friction."""
_MOVED = 2e-3
"""Least motion of a joint in the direction of the contradiction (rad or m)."""
_FROM_REST_S = 0.1
"""Greatest age of a motion that begins from rest (s)."""
_ACCELERATED = 0.3
"""Least inertial torque of an arm that nothing holds, in parts of gravity."""


@dataclass(frozen=True)
class Contradiction:
    """What torques and motion say of gravity."""

    is_added: bool  # whether the drive adds gravity, against drive_compensates; else nobody adds it
    is_free: bool  # whether the arm accelerates, so that no feedback holds it


class GravityWatch:
    """Compares torques and motion of one robot. State: the samples of a window, and the rounds so far."""

    def __init__(self, terms: TorqueTerms, by_drive: TorqueTerms | None, compensated: frozenset[str]) -> None:
        """Begin without data.

        Args:
            terms: all terms of the model.
            by_drive: those of the gravity that the drive is said to add, None if it adds none.
            compensated: names of the terms that the drive is said to add.
        """
        self._terms, self._by_drive = terms, by_drive
        self._says_added = "gravity" in compensated
        self._compensated = compensated
        robot, friction = terms.model.robot, terms.model.friction_torques
        creep = np.full(robot.dof, _CREEP)
        at_creep = friction(creep, np.array(assembly_positions(robot))) if robot.loops else friction(creep)
        self._friction = np.abs(at_creep)
        self._prismatic = np.array([joint.position_unit == "m" for joint in robot.independent_joints])
        self._driven = np.array([joint.mu == 1 for joint in robot.independent_joints])
        self._greatest = np.full(robot.dof, _LEAST_WEIGHT)
        self.restart()

    def restart(self) -> None:
        """Forget everything, as at an activation."""
        self._agreed = False
        self._forget()

    def _forget(self) -> None:
        """Forget what was not judged yet, as after a gap in the data."""
        self._times: list[float] = []
        self._positions: list[Array] = []
        self._torques: list[Array] = []
        self._rounds = 0
        self._begin: Array | None = None
        self._has_moved = False

    def take(self, t: float, q: Array, sent: Array, *, settled: bool) -> None:
        """Take a measurement at t (s), and the torques (N m or N), (n,), that were sent before it.

        `settled` is whether these are the computed ones and not on their way to them.
        """
        if not settled and not self._says_added:
            # A robot that brakes still hold does not move by torques that are not there yet.
            begin = self._begin
            self._forget()
            self._begin = q if begin is None else begin
            return
        if self._times and not 0.0 < t - self._times[-1] < _GAP_S:
            self._forget()
        if self._begin is None:
            self._begin = q
        self._times.append(t)
        self._positions.append(q)
        self._torques.append(sent)
        if len(self._times) > _MOST_SAMPLES:
            del self._times[0], self._positions[0], self._torques[0]

    def look(self) -> Contradiction | None:
        """Compare motion and torques where enough data is there; return a contradiction that is believed."""
        if len(self._times) < LEAST_SAMPLES or self._times[-1] - self._times[0] < WINDOW_S:
            return None
        found = self._compared()
        # The last sample is the first of the next window.
        del self._times[:-1], self._positions[:-1], self._torques[:-1]
        return found

    def _compared(self) -> Contradiction | None:
        times = np.array(self._times)
        middle = 0.5 * (times[0] + times[-1])
        qdd, qd, q = np.polyfit(times - middle, np.array(self._positions), 2)
        qdd = 2.0 * qdd
        terms = self._terms.of(Motion(q, qd, qdd))
        sent = np.mean(self._torques[1:], axis=0)
        side = -1.0 if self._says_added else 1.0
        rest = side * (self._needed(terms, Motion(q, qd, qdd)) - sent)
        gravity, others = terms.gravity, terms.inertial + terms.coriolis + terms.friction
        size = np.abs(gravity)
        self._greatest = np.maximum(self._greatest, size)
        least = np.maximum(_FRICTION * self._friction, _LOADED * self._of_kind(self._greatest))
        loaded = self._driven & (size > least)
        if not loaded.any():
            # Nothing can be said where the arm is upright.
            return None
        # What the drive does about friction may be another thing than what it is said to do, too.
        friction = side * terms.friction * (1.0 if "friction" in self._compensated else -1.0)
        rests = np.stack((rest, rest + friction))
        parts = np.divide(rests, gravity, out=np.ones(rests.shape), where=loaded)
        part = np.clip(1.0, parts.min(axis=0), parts.max(axis=0))
        elsewhere = np.abs(rests).min(axis=0) > self._friction + _ELSEWHERE * self._of_kind(size)
        contradicts = bool(
            ((part > LEAST) & (part < MOST)).all()
            and (np.abs(rests).max(axis=0) >= _EXPLAINED * np.abs(others))[loaded].all()
            and not (elsewhere & self._driven & ~loaded).any()
        )
        if not contradicts:
            self._rounds = 0
            if (np.abs(parts[0][loaded]) < _AGREES).all():
                self._agreed, self._begin, self._has_moved = True, self._positions[-1], False
            return None
        assert self._begin is not None
        # Gravity that is left lifts the arm, gravity that is missing lets it fall.
        up = side * np.sign(gravity)
        moved = (up * (self._positions[-1] - self._begin))[loaded] > _MOVED
        self._has_moved |= bool(moved.any())
        accelerates = (up * terms.inertial > _ACCELERATED * size)[loaded]
        # What comes after torques and motion have agreed is rather a push, unless nothing resists it.
        begins_fast = self._rounds == 0 and (np.abs(qd) > _FROM_REST_S * np.abs(qdd))[loaded].any()
        if not self._has_moved or (self._agreed and (begins_fast or not accelerates.all())):
            return None
        self._rounds += 1
        if self._rounds < (ROUNDS_AFTERWARDS if self._agreed else ROUNDS):
            return None
        return Contradiction(not self._says_added, bool(accelerates.any()))

    def _of_kind(self, sizes: Array) -> Array:
        """Return the greatest size of the joints of the same kind, because forces and torques differ."""
        turning, sliding = np.where(self._prismatic, 0.0, sizes), np.where(self._prismatic, sizes, 0.0)
        greatest: Array = np.where(self._prismatic, sliding.max(), turning.max())
        return greatest

    def _needed(self, terms: Terms, motion: Motion) -> Array:
        """Return the torques that a motion needs beside those that the drive is said to add."""
        needed = terms.total
        for name in self._compensated - {"gravity"}:
            needed = needed - getattr(terms, name)
        return needed if self._by_drive is None else needed - self._by_drive.of(motion).gravity
