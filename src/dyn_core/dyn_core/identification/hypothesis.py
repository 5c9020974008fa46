# SPDX-License-Identifier: Apache-2.0
"""What may have happened to the signals of a motion, and how well that explains them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dyn_core.identification.diagnosis.signal_hypotheses import Assignment, Channels, channels
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.motion_equations import Equations

DRIVING = 1.4
"""What friction that drives a joint counts, in misfit."""
NEGATIVE = 5.0
"""Deviations by which friction is less than 0 where a sign is wrong."""
SAMPLES = 1500
"""Samples of a motion that are enough to see what is likely."""


@dataclass(frozen=True)
class Hypothesis:
    """What would mend the signals.

    Attributes:
        factors: by joint, what its torque has to be multiplied by.
        torques: by joint, whose torque it is.
        positions: by joint, whose motion it is.
        turns: by joint, the sign of its position.
        zeros: by joint, what has to be added to its position then (rad or m).
    """

    factors: tuple[float, ...]
    torques: tuple[int, ...]
    positions: tuple[int, ...]
    turns: tuple[float, ...]
    zeros: tuple[float, ...]

    @property
    def motion(self) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]:
        """What is done to the motion."""
        return self.positions, self.turns, self.zeros

    def scaled(self, joint: int, factor: float) -> Hypothesis:
        """Answer the same with another factor of a torque, times that which there is."""
        return replace(self, factors=_changed(self.factors, joint, self.factors[joint] * factor))

    def turned(self, joint: int) -> Hypothesis:
        """Answer the same with the position of a joint negated."""
        return replace(self, turns=_changed(self.turns, joint, -self.turns[joint]))

    def shifted(self, joint: int, zero: float) -> Hypothesis:
        """Answer the same with more added to the position of a joint."""
        return replace(self, zeros=_changed(self.zeros, joint, self.zeros[joint] + zero))


def nothing_wrong(n: int) -> Hypothesis:
    """Answer the hypothesis that the signals of n joints are right."""
    joints, ones = tuple(range(n)), (1.0,) * n
    return Hypothesis(ones, joints, joints, ones, (0.0,) * n)


def _changed(values: tuple[float, ...], place: int, value: float) -> tuple[float, ...]:
    return (*values[:place], value, *values[place + 1 :])


@dataclass(eq=False)
class Evidence:
    """The equations of a motion, asked what it would be if something had happened to the signals.

    Attributes:
        equations: all of them.
        friction: friction of each joint.
    """

    equations: Equations
    friction: Sequence[FrictionModel]

    @property
    def dof(self) -> int:
        """Number of joints."""
        return self.equations.signals.dof

    @cached_property
    def as_it_is(self) -> Channels:
        """The products of all equations."""
        return channels(self.equations, self.friction)

    @cached_property
    def few(self) -> Equations:
        """Equations of samples all over the motion, as few as are enough, which are not filtered."""
        return thinned(self.equations, SAMPLES)

    def of(self, hypothesis: Hypothesis) -> Channels:
        """Answer the products of all equations with the motion that is right then."""
        if hypothesis.motion == nothing_wrong(self.dof).motion:
            return self.as_it_is
        return channels(moved(self.equations, hypothesis), self.friction)

    def of_few(self, hypothesis: Hypothesis, few: Equations | None = None) -> Channels:
        """Answer the products of few equations with the motion that is right then."""
        return channels(moved(self.few if few is None else few, hypothesis), self.friction)


def thinned(equations: Equations, samples: int) -> Equations:
    """Answer about so many equations of samples all over the motion, which are not filtered."""
    signals = equations.signals
    every = slice(None, None, max(1, len(signals) // samples))
    t, q, qd, qdd, tau = (a[every] for a in (signals.time, signals.q, signals.qd, signals.qdd, signals.tau))
    few = replace(signals, time=t, q=q, qd=qd, qdd=qdd, tau=tau, segments=((0, len(t)),), decimate=1)
    return Equations(few, equations.base, stood=equations.stands[every])


def moved(equations: Equations, hypothesis: Hypothesis) -> Equations:
    """Answer the equations with the motion that is right if a hypothesis is."""
    signals, k = equations.signals, list(hypothesis.positions)
    turns, zeros = np.array(hypothesis.turns), np.array(hypothesis.zeros)
    changed = replace(
        signals,
        q=signals.q[:, k] * turns + zeros,
        qd=signals.qd[:, k] * turns,
        qdd=signals.qdd[:, k] * turns,
    )
    return Equations(changed, equations.base, stood=equations.stands[:, k])


def score(seen: Channels, hypothesis: Hypothesis) -> float:
    """Answer how badly a hypothesis fits, where `seen` has its motion: misfit, and friction that drives."""
    fit = seen.assigned(hypothesis.torques, hypothesis.factors)
    return fit.misfit + DRIVING * sum(drives(seen, fit))


def drives(seen: Channels, fit: Assignment) -> list[bool]:
    """By joint, whether its viscous or Coulomb friction is negative, and the other no more than nothing."""
    found = []
    for own in seen.own:
        sizes = [fit.x[k] / fit.deviations[k] for k in own[:2]]
        found.append(bool(sizes) and min(sizes) < -NEGATIVE and max(sizes) < NEGATIVE)
    return found
