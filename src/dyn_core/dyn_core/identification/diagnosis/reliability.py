# SPDX-License-Identifier: Apache-2.0
"""Reliability of an identification: conditioning, standing joints, offsets, white residuals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.core.arrays import Array, BoolArray
from dyn_core.core.messages import Message
from dyn_core.identification.estimators.described_parameters import expected_bodies, without_motor
from dyn_core.identification.estimators.least_squares import Solution
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.base_columns import BaseColumns, some_states
from dyn_core.identification.regressor.motion_equations import moving
from dyn_core.logs.conditioning.sample_rate import Decimation
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.dynamic_parameters import INERTIAL, PER_JOINT
from dyn_core.robot.robot import Robot

# Offset torques that cannot be told from weights, as of a joint that lifts a mass straight up
#
# There gravity is a constant torque ``M g``, like the offset Fo. Least squares set Fo to 0, and base
# parameters contain it: with ``Fo column = columns @ r`` they are ``K + r Fo``.

# by name of an offset and of a base parameter: factor of the offset that this contains
GroupedOffsets = Mapping[str, Mapping[str, float]]


def grouped_offsets(base: BaseColumns, models: Sequence[FrictionModel]) -> GroupedOffsets:
    """Return the offsets that no motion tells from base parameters, and the parts that these contain."""
    robot = base.robot
    names = {
        f"Fo{j}": i
        for i, (j, model) in enumerate(zip(robot.coordinates, models, strict=True))
        if "offset" in model.terms
    }
    bodies = base.columns(*some_states(robot))
    samples, joints, count = bodies.shape
    constant = np.broadcast_to(np.eye(joints)[:, list(names.values())], (samples, joints, len(names)))
    W = np.concatenate([bodies, constant], axis=2).reshape(samples * joints, -1)
    chosen = dependent_columns(W, count)
    found = {}
    for k, name in enumerate(names, start=count):
        if k not in chosen.columns:
            parts = chosen.relations[:count, k]
            found[name] = {base.names[i]: float(parts[i]) for i in np.flatnonzero(parts)}
    return found


def of_grouped_offsets(grouped: GroupedOffsets) -> tuple[Message, ...]:
    """Return a remark for each offset that no motion tells from base parameters."""

    def summed(offset: str, parameter: str, part: float) -> Message:
        code = "parameter-minus-offset" if part < 0.0 else "parameter-plus-offset"
        return Message(code, parameter=parameter, part=abs(part), offset=offset)

    return tuple(
        Message(
            "offset-like-weight",
            offset=name,
            parameters=tuple(parts),
            sums=tuple(summed(name, parameter, part) for parameter, part in parts.items()),
        )
        for name, parts in grouped.items()
    )


ILL_CONDITIONED = 1e3  # condition number that is reported

WORTH_A_WORD = 0.01  # part of the time for which a joint stands that is reported

# possible bodies cost much if they raise the relative error of the fit by this factor and difference
COSTLY, MUCH = 3.0, 0.01


def cost_of_possible(plain: float, possible: float) -> tuple[Message, ...]:
    """Return a remark if possible bodies fit far worse than least squares, by relative torque errors."""
    if possible <= COSTLY * plain or possible - plain <= MUCH:
        return ()
    return (Message("bodies-fit-badly", residual=possible, least=plain),)


def of_fixed_joints(positions: Mapping[str, float]) -> tuple[Message, ...]:
    """Return a remark about joints that stood all the time, by name with their position."""
    return _about("joint-taken-as-fixed", "joints-taken-as-fixed", tuple(positions))


def _about(one: str, several: str, joints: Sequence[str]) -> tuple[Message, ...]:
    """Return a remark about joints, if there are any: one of two codes by their number."""
    return (Message(one if len(joints) == 1 else several, joints=joints),) if joints else ()


def _of_standing(names: Sequence[str], shares: Sequence[float], robot: Robot) -> list[Message]:
    """Return a remark if joints of these names stood for a part of the time."""
    of_all = dict(zip(robot.coordinate_names, shares, strict=True))
    stood = {name: of_all[name] for name in names if of_all[name] >= WORTH_A_WORD}
    if not stood:
        return []
    if len(stood) == robot.dof and len({round(100.0 * share) for share in stood.values()}) == 1:
        return [Message("joints-stood-alike", share=next(iter(stood.values())))]
    of_joints = tuple(Message("joint-stood", joint=name, share=share) for name, share in stood.items())
    return [Message("joints-stood", shares=of_joints)]


def of_standing_held_out(names: Sequence[str], shares: Sequence[float]) -> tuple[Message, ...]:
    """Return a remark if joints stand for most of the held-out time, by name and part of that time."""
    still = [name for name, share in zip(names, shares, strict=True) if share > 0.5]
    return _about("held-out-joint-stands", "held-out-joints-stand", still)


def of_impossible(robot: Robot) -> tuple[Message, ...]:
    """Return a remark about impossible inertias of the description.

    No mass at all is intended, as of the link between the two axes of a universal joint.
    """
    described = np.reshape(robot.parameters, (len(robot.joints), PER_JOINT))[:, : len(INERTIAL)]
    _, impossible = expected_bodies(robot)
    names = [robot.joints[j - 1].name for j in impossible if described[j - 1].any()]
    return _about("described-body-impossible", "described-bodies-impossible", names)


def reliability_remarks(
    base: BaseColumns,
    signals: Signals,
    models: Sequence[FrictionModel],
    solution: Solution,
    shares: Sequence[float],
    grouped: GroupedOffsets,
) -> tuple[Message, ...]:
    """Return remarks about the reliability of a fit of `signals`.

    `shares` are the parts of that time for which each joint stood; `grouped` the offsets that no motion tells
    from weights.
    """
    robot = base.robot
    found = list(of_impossible(robot))
    still = [name for name, moves in zip(robot.coordinate_names, moving(signals), strict=True) if not moves]
    found += _about("joint-did-not-move", "joints-did-not-move", still)
    found += _of_standing([name for name in robot.coordinate_names if name not in still], shares, robot)
    measured = zip(robot.coordinate_names, signals.has_effort, strict=True)
    silent = [name for name, is_measured in measured if not is_measured]
    found += _about("torque-not-measured", "torques-not-measured", silent)
    own = [name for j, m in zip(robot.coordinates, models, strict=True) for name in m.names(j)]
    parameters = (*base.names, *own)
    coupled = {f"Fv{j}" for j in np.flatnonzero(without_motor(base, len(robot.joints))) + 1}
    missing = [
        name
        for name, known in zip(parameters, solution.identifiable, strict=True)
        if not known and name not in coupled and name not in grouped
    ]
    found += of_grouped_offsets(grouped)
    if missing:
        found.append(Message("parameters-not-excited", parameters=missing))
    if solution.condition > ILL_CONDITIONED:
        found.append(Message("equations-ill-conditioned", condition=float(solution.condition)))
    return tuple(found)


# Whiteness of residuals behind the filter of both sides
#
# The filter correlates even white noise, by known weights. So the best linear prediction of each residual
# from those before it, for such noise, is subtracted first (Yule and Walker). The rest is white if the model
# explains all but white noise, which is tested (Ljung, Box 1978).

ORDER = 40  # number of residuals for the prediction; the filter has a memory of 12
LAGS = 20  # lags of the test
FEWEST = 5 * LAGS  # least number of residuals for the test


def whiteness(
    errors: Array, used: BoolArray, decimation: Decimation, segments: Sequence[tuple[int, int]]
) -> Array:
    """Return the probability that independent residuals look less independent, of each joint, (n,).

    `errors` are the residuals of all equations, (N, n), `used` marks those that exist, (N, n), and `segments`
    are stretches of equations without gaps, as (first, end). NaN for too few residuals.
    """
    predicts = _prediction(decimation)
    return np.array(
        [
            _ljung_box([np.convolve(e, predicts, "valid") for e in _stretches(e, u, segments, len(predicts))])
            for e, u in zip(errors.T, used.T, strict=True)
        ]
    )


def _prediction(decimation: Decimation) -> Array:
    """Return the factors of residuals, the last one first, that leave their prediction error."""
    if decimation.factor == 1:
        return np.ones(1)
    memory = np.zeros(ORDER + 1)
    known = decimation.autocorrelation[: ORDER + 1]
    memory[: len(known)] = known
    lags = np.abs(np.subtract.outer(np.arange(ORDER), np.arange(ORDER)))
    return np.concatenate(([1.0], -np.linalg.solve(memory[lags], memory[1:])))


def _stretches(
    errors: Array, used: BoolArray, segments: Sequence[tuple[int, int]], shortest: int
) -> list[Array]:
    """Return the residuals of a joint in stretches without gaps that are long enough."""
    found = []
    for first, last in segments:
        edges = np.flatnonzero(np.diff(used[first:last].astype(int))) + 1
        for a, b in itertools.pairwise([first, *(first + edges).tolist(), last]):
            if b - a >= shortest and used[a]:
                found.append(errors[a:b])
    return found


def _ljung_box(stretches: list[Array]) -> float:
    """Return the probability of a greater sum of squared autocorrelations, for independent residuals."""
    count = sum(len(stretch) for stretch in stretches)
    power = sum(float(stretch @ stretch) for stretch in stretches)
    if count < FEWEST or power == 0.0:
        return math.nan
    Q = 0.0
    for k in range(1, LAGS + 1):
        pairs = sum(max(len(stretch) - k, 0) for stretch in stretches)
        products = sum(float(stretch[k:] @ stretch[:-k]) for stretch in stretches if len(stretch) > k)
        Q += count * (count + 2.0) * (products / power) ** 2 / max(pairs, 1)
    # Wilson and Hilferty: the cube root of chi-square is almost normal.
    z = ((Q / LAGS) ** (1.0 / 3.0) - (1.0 - 2.0 / (9.0 * LAGS))) / math.sqrt(2.0 / (9.0 * LAGS))
    return 0.5 * math.erfc(z / math.sqrt(2.0))
