# SPDX-License-Identifier: Apache-2.0
"""Torques of a model without what the drive adds itself, and the gravity torques that it adds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dyn_core.control.laws.inverse_dynamics_control import ElasticTerms, Switches, Terms, TorqueTerms
from dyn_core.control.trajectories.piecewise_polynomials import Motion, SmoothMotion
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.model.fixed_base.driven_base import DrivenBase
from dyn_nodes.common.data_checks import Rejection
from dyn_nodes.feedforward.gravity_watch import GravityWatch

_BRAKING = 10.0
"""Rate at which a robot is braked whose weight was not carried (1/s)."""
_GRAVITY = Switches(inertial=False, coriolis=False, gravity=True, friction=False)


class DriveShare:
    """The torques that are left to send. State: the motion of the base, if it moves.

    Terms that the drive adds are zero. Where it adds gravity, `Terms.by_drive` is that gravity. If the drive
    knows of no payload, the gravity of payloads is left to send.

    `of_motors` are the terms of a robot with motors behind springs, None for rigid joints.
    """

    def __init__(
        self,
        model: Model,
        unloaded: Model | None,
        compensated: frozenset[str],
        coulomb_velocity: Array,
        *,
        base_moves: bool,
    ) -> None:
        """Take the model in use.

        Args:
            model: the model with all payloads.
            unloaded: a model without payloads if the drive adds gravity and knows of none, else None.
            compensated: names of the terms that the drive adds.
            coulomb_velocity: as of `TorqueTerms`.
            base_moves: whether `feel` sets the motion of the base.
        """
        models = [model] if unloaded is None else [model, unloaded]
        self._bases = [DrivenBase(one) for one in models] if base_moves else []
        gravity, friction = "gravity" not in compensated, "friction" not in compensated
        switches = Switches(coriolis="coriolis" not in compensated, gravity=gravity, friction=friction)
        # At rest on a fixed base, the other terms are zero and need not be computed.
        still = switches if base_moves else Switches(False, False, gravity, friction)

        def made(k: int, which: Switches) -> TorqueTerms | ElasticTerms:
            if model.elastic_joint_names:
                return ElasticTerms(models[k], which, coulomb_velocity)
            return TorqueTerms(models[k], which, coulomb_velocity, self._bases[k] if base_moves else None)

        self._all: Any = made(0, switches)
        self._still: Any = made(0, still)
        self._by_drive: Any = None if gravity else made(len(models) - 1, _GRAVITY)
        self._whole: Any = None if unloaded is None else made(0, _GRAVITY)
        self.of_motors = self._all if isinstance(self._all, ElasticTerms) else None
        self._model, self._compensated, self._coulomb_velocity = model, compensated, coulomb_velocity

    def made_watch(self, *, adds_gravity: bool) -> GravityWatch | None:
        """Return what notices that the drive does not do with gravity what it is taken to do.

        None for a base that moves, which has no gravity of its own, and for springs.
        """
        if self._bases or self.of_motors is not None:
            return None
        compensated, by_drive = self._compensated - {"gravity"}, None
        if adds_gravity:
            compensated |= {"gravity"}
            by_drive = self._by_drive or TorqueTerms(self._model, _GRAVITY)
        return GravityWatch(TorqueTerms(self._model, None, self._coulomb_velocity), by_drive, compensated)

    def rescuing(self, q: Array, qd: Array, *, gravity: bool) -> Terms:
        """Return the torques that brake a robot, and carry its weight where nothing else does.

        Positions are in rad or m, velocities in rad/s or m/s, both (n,).
        """
        inertial, zero = self._model.inertial_torques(q, -_BRAKING * qd), np.zeros(len(q))
        weight = self._model.gravity_torques(q)
        if gravity:
            return Terms(inertial, zero, weight, zero, inertial + weight)
        return Terms(inertial, zero, zero, zero, inertial, weight)

    def feel(self, motion: Array | None) -> None:
        """Set the motion of the base, (9,); None for a base at rest."""
        for base in self._bases:
            if motion is None:
                base.at_rest()
            else:
                base.feel(motion)

    def of(self, motion: Any, friction_velocity: Array | None = None) -> Terms:
        """Return the torques of a motion, or of N of them, as `TorqueTerms.of`."""
        return self._left(self._all.of(motion, friction_velocity), motion)

    def at_rest(self, motion: Any, friction_velocity: Array | None = None) -> Terms:
        """Return the torques of a motion whose velocities and accelerations are zero."""
        return self._left(self._still.of(motion, friction_velocity), motion)

    def _left(self, terms: Terms, motion: Any) -> Terms:
        if self._by_drive is None:
            return terms
        by_drive = self._by_drive.of(motion).gravity
        if self._whole is None:
            return terms._replace(by_drive=by_drive)
        gravity = self._whole.of(motion).gravity - by_drive
        return terms._replace(gravity=gravity, total=terms.total + gravity, by_drive=by_drive)


def finite_terms(
    terms: Callable[[Any, Array | None], Terms],
    motion: Motion | SmoothMotion,
    friction_velocity: Array | None,
) -> Terms:
    """Return the terms of a motion; Rejection where they cannot be computed."""
    try:
        return terms(motion, friction_velocity)
    except ValueError as problem:
        raise Rejection("torques-not-computed", cause=problem) from problem
    except DynError as problem:
        raise Rejection("loops-not-closed", cause=problem) from problem
