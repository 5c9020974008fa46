# SPDX-License-Identifier: Apache-2.0
"""Torques with the wrong sign, and joints whose signals were swapped.

A friction that drives its joint says that the sign of the torque is wrong, whatever the bodies are; between
joints that move the same bodies, a wrong sign shows in what is left. Where the signals of two joints are
swapped, exchanging them leaves much less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dyn_core.check.finding import Finding, Severity
from dyn_core.facade.arrays import Array
from dyn_core.identification.channels import Channels, channels, misfit
from dyn_core.identification.equations import Equations
from dyn_core.identification.friction import FrictionModel
from dyn_core.identification.least_squares import Solution
from dyn_core.identification.motion import Motion

BETTER = 0.7
"""Least gain in misfit: the residuals of two joints are halved together."""
NEGATIVE = 5.0
"""Deviations by which friction is less than 0 where a sign is wrong."""
SAMPLES = 3000
"""Samples of a motion that are enough to see what was mixed up."""


class Hypothesis(NamedTuple):
    """What may have happened to the signals.

    Attributes:
        signs: sign of the torque of each joint.
        torques: by joint, whose torque it is.
        positions: by joint, whose motion it is.
        misfit: how badly it fits.
    """

    signs: tuple[float, ...]
    torques: tuple[int, ...]
    positions: tuple[int, ...]
    misfit: float


def mixed_up(equations: Equations, friction: Sequence[FrictionModel]) -> list[Finding]:
    """Answer which signs are wrong and which joints swapped, as the equations say.

    Args:
        equations: the equations.
        friction: friction of each joint.
    """
    robot, n = equations.base.robot, equations.motion.dof
    seen = channels(equations, friction)
    start, _, _ = misfit(seen.assigned(range(n), [1.0] * n))
    signs = _signs(seen, tuple(range(n)), [1.0] * n)
    best = Hypothesis(
        tuple(signs), tuple(range(n)), tuple(range(n)), misfit(seen.assigned(range(n), signs))[0]
    )
    swapped = min(_swaps(equations, friction, seen, best), key=lambda h: h.misfit, default=best)
    found = swapped if swapped.misfit < best.misfit - BETTER else best
    names = robot.joint_names
    shrunk = np.exp((start - found.misfit) / n)
    gain = f", and the residuals are {shrunk:.3g} times smaller on average" if shrunk > 1.1 else ""
    findings = [
        Finding(
            Severity.ERROR,
            "joint",
            (names[i],),
            "its torque has the wrong sign: with the other one its friction brakes instead of driving"
            f"{gain}; negate it in the mapping of the log",
        )
        for i in range(n)
        if found.signs[i] < 0.0
    ]
    for i, k in combinations(range(n), 2):
        if k in (found.torques[i], found.positions[i]):
            message = f"their {_what(found, i)} are swapped: exchanged, the residuals are {shrunk:.3g} times "
            message += "smaller on average; correct the mapping of the log"
            findings.append(Finding(Severity.ERROR, "joint", (names[i], names[k]), message))
    return findings


def _what(hypothesis: Hypothesis, joint: int) -> str:
    if hypothesis.torques[joint] == joint:
        return "positions"
    return "torques" if hypothesis.positions[joint] == joint else "positions and torques"


def _signs(seen: Channels, torques: Sequence[int], signs: list[float]) -> list[float]:
    """Signs of the torques with which no friction drives and that fit best, one change after the other."""
    signs = list(signs)
    for _ in range(2 * seen.dof):
        before, _, solution = misfit(seen.assigned(torques, signs))
        driving = _drives(seen, solution)
        changed = [_with_other_sign(signs, i) for i in range(seen.dof)]
        after = [misfit(seen.assigned(torques, new)) for new in changed]
        gains = [
            before - value + (BETTER if driving[i] and not _drives(seen, fit)[i] else 0.0)
            for i, (value, _, fit) in enumerate(after)
        ]
        best = int(np.argmax(gains))
        if gains[best] < BETTER:
            break
        signs = changed[best]
    # The signs of all may be wrong together, which fits as well but for friction.
    before, _, solution = misfit(seen.assigned(torques, signs))
    if np.mean(_drives(seen, solution)) > 0.5:
        signs = [-sign for sign in signs]
    return signs


def _with_other_sign(signs: Sequence[float], joint: int) -> list[float]:
    return [-sign if i == joint else sign for i, sign in enumerate(signs)]


def _drives(seen: Channels, solution: Solution) -> list[bool]:
    """By joint, whether its viscous or Coulomb friction is negative, and the other no more than nothing."""
    spread = solution.deviations
    start, found = seen.shared, []
    for R in seen.factors:
        count = R.shape[1] - seen.dof - seen.shared
        places = [start + k for k in range(min(count, 2))]
        sizes = [solution.x[k] / spread[k] for k in places]
        found.append(bool(sizes) and min(sizes) < -NEGATIVE and max(sizes) < NEGATIVE)
        start += count
    return found


def _swaps(
    equations: Equations, friction: Sequence[FrictionModel], seen: Channels, start: Hypothesis
) -> Iterator[Hypothesis]:
    """Two joints with their torques, their positions, or both exchanged, with the signs that suit."""
    n = seen.dof
    some = _some(equations)
    scale = misfit(channels(some, friction).assigned(start.torques, start.signs))[0] - start.misfit
    for i, k in combinations(range(n), 2):
        order = list(range(n))
        order[i], order[k] = k, i
        if _could_be_swapped(equations.motion.tau, i, k):
            for signs in _sign_choices(start.signs, i, k):
                yield Hypothesis(signs, tuple(order), tuple(range(n)), misfit(seen.assigned(order, signs))[0])
        moved = channels(_exchanged(some, order), friction)
        for torques in (range(n), order):
            for signs in _sign_choices(start.signs, i, k):
                yield Hypothesis(
                    signs, tuple(torques), tuple(order), misfit(moved.assigned(torques, signs))[0] - scale
                )


def _sign_choices(signs: Sequence[float], i: int, k: int) -> list[tuple[float, ...]]:
    """The signs that were found, and none changed: which was found may be due to the exchange."""
    plain = tuple(1.0 for _ in signs)
    return [tuple(signs)] if tuple(signs) == plain else [tuple(signs), plain]


def _could_be_swapped(tau: Array, i: int, k: int) -> bool:
    return bool(np.any(tau[:, i] != tau[:, k]))


def _some(equations: Equations) -> Equations:
    """The equations of a part of the motion that is long enough."""
    motion = equations.motion
    keep = SAMPLES * max(equations.decimation.factor // 4, 1)
    return replace(equations, motion=motion.part(0, min(keep, len(motion))), _known={})


def _exchanged(equations: Equations, order: Sequence[int]) -> Equations:
    motion = equations.motion
    changed = Motion(
        motion.t, motion.q[:, order], motion.qd[:, order], motion.qdd[:, order], motion.tau, motion.segments
    )
    return replace(equations, motion=changed, _known={})
