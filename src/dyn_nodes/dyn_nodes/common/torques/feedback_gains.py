# SPDX-License-Identifier: Apache-2.0
"""Gains of the feedback of one robot: from parameters to numbers, with the gain margin of their loop.

Gains of a natural frequency are weighted by the inertia matrix at the present position: all joints then have
the same natural frequency and the same margin in each position, however they are coupled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dyn_core import DynError, Model, Robot, compile_model
from dyn_core.algorithms.loops.passive_joint_positions import assembly_positions
from dyn_core.control.laws.pid import (
    ARMATURE_S,
    LEAST_MARGIN_DB,
    GainMargin,
    SampledLoop,
    armature_of,
    gain_margin,
    sampled_positions,
    weights,
)
from dyn_core.core.arrays import Array
from dyn_core.core.messages import Message
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.common.lifecycle.robot_source import refuse_moving_base
from dyn_nodes.common.parameters import parameter

KINDS = ("p", "i", "d")
ASSUMED_SHARE = 0.5
"""Part of an assumed rotor inertia that counts in the margin: drives may have less than is assumed."""
_SLOWER = 0.9
"""Factor from one natural frequency to the next in the search for one that is low enough."""


@dataclass(frozen=True)
class PidGains:
    """Gains ``p``, ``i`` and ``d`` of the controller.

    `general` are those of joints without their own, by kind; `by_joint` are by kind and joint. Where the
    natural frequency is not 0, it gives p and d in place of `general`. `armatures` are by joint.
    """

    general: Mapping[str, float] = field(default_factory=dict)
    by_joint: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    armatures: Mapping[str, float] = field(default_factory=dict)
    natural_frequency: float = parameter(
        0.0,
        "Natural frequency of the error, Hz: p and d of joints without their own gains follow from it and "
        "the inertia matrix at the present position; 0: they are as given.",
        (0.0, 1000.0),
        live=True,
    )
    damping: float = parameter(
        1.0, "Damping ratio of the error, where natural_frequency is given.", (0.01, 100.0), live=True
    )
    armature: float = parameter(
        -1.0,
        "Rotor inertia of joints for which none is described, seen at the joint, kg m^2 or kg; -1: assumed "
        "from effort and velocity limits; 0: none. It counts in gains and margin only.",
        (-1.0, 1e6),
    )
    joint_state_rate: float = parameter(
        0.0,
        "Rate of joint states, Hz, for the gain margin: gains with less than 6 dB are refused; 0: unknown.",
        (0.0, 10000.0),
    )

    @property
    def none(self) -> bool:
        """Return whether all gains are zero."""
        values = [*self.general.values(), *(g for named in self.by_joint.values() for g in named.values())]
        return not any(values) and self.natural_frequency == 0.0


@dataclass(frozen=True, eq=False)
class Feedback:
    """The gains of one robot, in the order of its joints."""

    kp: Array  # 1/s^2 where weighted, otherwise N m/rad or N/m, (n,)
    ki: Array  # N m/(rad s) or N/(m s), (n,)
    kd: Array  # 1/s where weighted, otherwise N m s/rad or N s/m, (n,)
    weighted: npt.NDArray[np.bool_]  # whether the gains of a joint are weighted by the inertia matrix, (n,)
    model: Model | None  # for the inertia matrix, with all rotor inertias; None where nothing needs it
    margin: GainMargin | None  # None where the rate is unknown, or all gains are 0
    notices: tuple[Notice, ...]  # what the log should say

    def weight(self, q: Array) -> Array | None:
        """Return the weight of the gains at a position (rad or m), (n, n); None for the unit matrix."""
        if self.model is None or not self.weighted.any():
            return None
        return weights(self.model.inertia_matrix(q), self.weighted)


def feedback(robot: Robot, gains: PidGains, cutoff: float | None = None) -> Feedback:
    """Return the gains of a robot; `cutoff` is that of the filter of the derivative (Hz).

    Raises:
        DynError: a joint is unknown, a gain is given twice, or the gain margin is too small.
    """
    own = _of_joints(robot, gains)
    numbers = {
        kind: np.array([named.get(name, gains.general.get(kind, 0.0)) for name in robot.coordinate_names])
        for kind, named in own.items()
    }
    weighted = np.zeros(robot.dof, dtype=bool)
    if gains.none or (gains.natural_frequency == 0.0 and gains.joint_state_rate == 0.0):
        unknown = () if gains.none else (Notice("gain-margin-unknown"),)
        return Feedback(numbers["p"], numbers["i"], numbers["d"], weighted, None, None, unknown)
    if robot.base != "given":  # a base with a given motion acts on the joint gains like a fixed one
        if gains.natural_frequency:
            refuse_moving_base(robot, "natural_frequency", "give p and d in its place")
        refuse_moving_base(robot, "joint_state_rate", "leave it at 0")
    robot = robot.with_fixed_base()
    added = armature_of(robot, gains.armature, gains.armatures)
    model = compile_model(robot.with_rotor_inertias(added), functions=("inertia_matrix",))
    q = np.array([assembly_positions(robot)]) if robot.loops else sampled_positions(robot)
    A = model.inertia_matrix(q)
    if gains.natural_frequency:
        weighted = np.array(
            [name not in own["p"] and name not in own["d"] for name in robot.coordinate_names]
        )
        numbers = _of_frequency(gains, numbers, own, robot, A, weighted)
    made = Feedback(numbers["p"], numbers["i"], numbers["d"], weighted, model, None, ())
    notices = [*_about_armature(added, gains)]
    if not gains.joint_state_rate:
        return replace(made, notices=(*notices, Notice("gain-margin-unknown")))
    assumed = {
        name: value for name, value in added.items() if gains.armature < 0.0 and name not in gains.armatures
    }
    missing = [(1.0 - ASSUMED_SHARE) * assumed.get(name, 0.0) for name in robot.coordinate_names]
    loop = SampledLoop(gains.joint_state_rate, cutoff=cutoff)
    margin = _margin(made, A, A - np.diag(missing), loop)
    told: dict[str, Any] = {"margin": margin.decibel, "rate": loop.rate, "delay": loop.delay}
    joint = robot.coordinate_names[margin.joint]
    if margin.decibel < LEAST_MARGIN_DB:
        remedy = _remedy(made, gains, margin, A, A - np.diag(missing), loop)
        raise DynError("gain-margin-low", joint=joint, least=LEAST_MARGIN_DB, remedy=remedy, **told)
    return replace(made, margin=margin, notices=(*notices, Notice("gain-margin", joint=joint, **told)))


def _of_joints(robot: Robot, gains: PidGains) -> dict[str, dict[str, float]]:
    """Return the gains of joints with their own, by kind and joint; DynError where a joint is unknown."""
    locked, known = dict(robot.locked), robot.coordinate_names
    own = {kind: {n: v for n, v in gains.by_joint.get(kind, {}).items() if n not in locked} for kind in KINDS}
    for joint in (*(joint for named in own.values() for joint in named), *gains.armatures):
        if joint not in known and joint not in locked:
            raise DynError("gain-joint-unknown", joint=joint, known=known, element=f"joint '{joint}'")
    return own


def _of_frequency(
    gains: PidGains,
    numbers: dict[str, Array],
    own: Mapping[str, Mapping[str, float]],
    robot: Robot,
    A: Array,
    weighted: npt.NDArray[np.bool_],
) -> dict[str, Array]:
    """Return gains with those of the natural frequency.

    A joint that has a gain of its own is not weighted; its other gain follows from its greatest inertia.
    """
    for kind in ("p", "d"):
        if gains.general.get(kind, 0.0):
            raise DynError("gain-given-twice", gain=kind)
    w = 2.0 * math.pi * gains.natural_frequency
    inertia = np.where(weighted, 1.0, np.einsum("njj->nj", A).max(0))
    rates = {"p": w * w * inertia, "d": 2.0 * gains.damping * w * inertia}
    for kind, values in rates.items():
        given = [name in own[kind] for name in robot.coordinate_names]
        numbers = {**numbers, kind: np.where(given, numbers[kind], values)}
    return numbers


def _margin(made: Feedback, A: Array, real: Array, loop: SampledLoop) -> GainMargin:
    weight = weights(A, made.weighted) if made.weighted.any() else None
    return gain_margin(real, made.kp, made.ki, made.kd, loop, weight)


def _remedy(
    made: Feedback, gains: PidGains, margin: GainMargin, A: Array, real: Array, loop: SampledLoop
) -> Message:
    """Return what raises the margin: a lower natural frequency, or lower gains."""
    if not made.weighted.any():
        if made.kd[margin.joint] == 0.0:
            return Message("remedy-damping")
        factor = 0.98 * 10.0 ** ((margin.decibel - LEAST_MARGIN_DB) / 20.0)
        return Message("remedy-gains", factor=factor)
    part = 1.0
    for _ in range(60):
        part *= _SLOWER
        slower = replace(
            made,
            kp=np.where(made.weighted, part * part * made.kp, made.kp),
            kd=np.where(made.weighted, part * made.kd, made.kd),
        )
        if _margin(slower, A, real, loop).decibel >= LEAST_MARGIN_DB:
            return Message("remedy-natural-frequency", frequency=part * gains.natural_frequency)
    return Message("remedy-rate")


def _about_armature(added: Mapping[str, float], gains: PidGains) -> list[Notice]:
    """Return the notice of the rotor inertias that are not described, if there are any."""
    if not added:
        return []
    values = ", ".join(f"{value:.3g}" for value in added.values())
    if gains.armature < 0.0:
        return [Notice("armature-assumed", joints=list(added), values=values, seconds=ARMATURE_S)]
    return [Notice("armature-given", joints=list(added), values=values)]
