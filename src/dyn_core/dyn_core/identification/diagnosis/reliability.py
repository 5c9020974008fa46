# SPDX-License-Identifier: Apache-2.0
"""Reliability of an identification: conditioning, standing joints, offsets, and the verdict on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.identification.estimators.described_parameters import expected_bodies, without_motor
from dyn_core.identification.estimators.least_squares import Solution
from dyn_core.identification.estimators.physical_consistency import is_nearly_possible, pseudo_inertia
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.output.identified_parameters import Errors, Identified, TorqueError, Verdict
from dyn_core.identification.regressor.base_columns import BaseColumns, some_states
from dyn_core.identification.regressor.motion_equations import moving
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.logs.log import Log
from dyn_core.logs.repair.plausibility import at_limit
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


# The verdict: whether parameters may be used on a robot, and why not
#
# It is made here alone, for the command, the node, the report and the files. What was found wrong with the
# signals counts first. Then the parameters are compared with the description on data that no fit has seen,
# and their bodies with bodies that can be built.


@dataclass(frozen=True)
class Compared:
    """Torque errors of the parameters in the forms in which they are used, and of the description."""

    friction_models: Errors  # with the friction that was chosen
    standard: Errors  # with viscous and Coulomb friction and offset alone
    at_once: Errors  # the same with a sharp sign of Coulomb friction
    description: Errors
    # of least squares in cross-validation, where nothing was held out
    cross_validated: float | None = None


def verdict_of(robot: Robot, log: Log, identified: Identified, errors: Compared) -> Verdict:
    """Return the verdict on parameters that were identified from a log; `robot` is the description."""
    of_signals = [one for one in identified.findings if one.severity is Severity.ERROR]
    found = [*of_signals, *_of_efforts(robot, log)]
    consequences = [*_of_errors(errors), *_of_bodies(robot, identified, errors)]
    reasons = [one for one in consequences if one.severity is Severity.ERROR]
    if found:  # what is wrong explains all but that the description is better
        reasons = [*found, *(one for one in reasons if one.code == WORSE_CODE)]
    doubts = [one for one in consequences if one.severity is Severity.WARNING]
    return Verdict(tuple(reasons), (*doubts, *_warnings(identified, errors)))


def _error(kind: str, names: Sequence[str], message: Message) -> Finding:
    return Finding(Severity.ERROR, kind, tuple(names), message)


def _warning(kind: str, names: Sequence[str], message: Message) -> Finding:
    return Finding(Severity.WARNING, kind, tuple(names), message)


# Efforts at the limits of the drives, where the motion is not the one that was asked for

MOST_AT_LIMIT = 0.05  # part of the samples of a joint


def _of_efforts(robot: Robot, log: Log) -> Iterator[Finding]:
    for k, joint in enumerate(log.joint_names):
        limits = robot.limits.get(joint)
        found = at_limit(log.tau[:, k], limits.effort) if limits and log.has_effort[k] else None
        if found is not None and found.share > MOST_AT_LIMIT:
            unit = "N" if log.units[k] == "m" else "N m"
            message = Message("efforts-at-limits", share=found.share, limit=found.limit, unit=unit)
            yield _error("joint", (joint,), message)


# Errors on data that no fit has seen

WORSE_CODE = "result-worse-than-description"
WORSE, NEGLIGIBLE = 0.01, 1e-3  # growth of the error that is chance: relative, and in parts of the torque
UNEXPLAINED = 0.5  # relative error from which parameters explain too little
FAR, CLEAR = 4.0, 0.1  # ratio of the errors on the two parts of the log, and their least difference


def _of_errors(errors: Compared) -> Iterator[Finding]:
    fitted, held_out, before = _shown(errors)
    if before is not None and held_out > before * (1.0 + WORSE) + NEGLIGIBLE:
        message = Message(WORSE_CODE, error=held_out, description=before)
        yield _error("robot", (), message)
    if held_out > UNEXPLAINED:
        yield _error("robot", (), Message("torques-unexplained", error=held_out))
    low, high = sorted((fitted, held_out))
    if high > FAR * low and high - low > CLEAR:
        code = "held-out-error-far-above" if held_out > fitted else "fitted-error-far-above"
        yield _error("robot", (), Message(code, fitted=fitted, held_out=held_out))


def _shown(errors: Compared) -> tuple[float, float, float | None]:
    """Return the errors on the fitted part, on unseen data, and that of the description there.

    Of the forms in which parameters are used the worst counts. NaN, where no joint has efforts, is 0.
    """
    forms = (errors.friction_models, errors.standard, errors.at_once)
    fitted = max(one.fitted.relative for one in forms)
    parts = [one.held_out for one in forms if one.held_out is not None]
    if parts and errors.description.held_out is not None:
        return fitted, max(part.relative for part in parts), errors.description.held_out.relative
    if errors.cross_validated is None:
        return fitted, fitted, None
    return fitted, errors.cross_validated, errors.description.fitted.relative


# Bodies that nobody builds
#
# Where a log shows little of a body alone, as of wrists, its parameters are odd although torques are right.
# So a body counts where it has changed by much of the mass of the whole robot, too, and is a reason only
# where the torques are not explained far better than by the description.

LEAD, FOAM = 11340.0, 10.0  # kg/m^3
BETTER = 0.25  # ratio to the error of the description up to which odd bodies are a warning
MUCH_MASS, MOST_MASS = 0.25, 1.0  # parts of the mass that moves: change of an odd body, and of any body


def density(parameters: Array) -> float:
    """Return the density (kg/m^3) of a solid ellipsoid with ten parameters; NaN without mass.

    That of a solid body of another shape differs by some per cent.
    """
    P = pseudo_inertia(parameters)
    mass = float(P[3, 3])
    if mass <= 0.0:
        return math.nan
    centre = P[:3, 3] / mass
    squares = np.linalg.eigvalsh(P[:3, :3] / mass - np.outer(centre, centre))
    volume = 4.0 / 3.0 * math.pi * math.sqrt(float(np.prod(5.0 * np.maximum(squares, 0.0))))
    return mass / volume if volume > 0.0 else math.inf


def _of_bodies(robot: Robot, identified: Identified, errors: Compared) -> Iterator[Finding]:
    """Yield findings about bodies that are not possible, or that cannot be built."""
    _, unseen, described = _shown(errors)
    far_better = described is not None and unseen < BETTER * described
    found_as = _warning if far_better else _error
    before = np.reshape(robot.parameters, (-1, PER_JOINT))[:, : len(INERTIAL)]
    after = np.reshape([one.value for one in identified.standard], (-1, PER_JOINT))[:, : len(INERTIAL)]
    whole = float(np.abs(before[:, 9]).sum())
    for joint, old, new in zip(robot.joints, before, after, strict=True):
        if not is_nearly_possible(new):
            yield _error("joint", (joint.name,), Message("body-impossible"))
            continue
        found, change = density(new), abs(float(new[9] - old[9]))
        values = {"mass": float(new[9]), "before": float(old[9]), "density": found}
        if not whole > 0.0 or change < MUCH_MASS * whole:
            continue
        if found > LEAD or found < FOAM:
            code = "body-too-dense" if found > LEAD else "body-too-light"
            yield found_as("joint", (joint.name,), Message(code, **values))
        elif change > MOST_MASS * whole:
            yield found_as("joint", (joint.name,), Message("body-changed", **values, whole=whole))


# What limits the use of parameters that may be used

OVERFITTED = 1.8  # ratio of held-out and fitted error from which the fit is not reliable
WORTH = 0.002  # part of the torque that physical consistency may cost
POOR = 0.25  # error of a joint that is reported
OF_NODES = 1.1  # ratio of the error with the friction of the nodes that is reported


def _warnings(identified: Identified, errors: Compared) -> Iterator[Finding]:
    plain, physical = identified.errors.held_out, identified.consistent_errors.held_out
    if plain is None or physical is None:
        yield _warning("robot", (), Message("nothing-held-out"))
        return
    fitted = identified.consistent_errors.fitted.relative
    ratio = physical.relative / max(fitted, 1e-12)
    if ratio > OVERFITTED:
        yield _warning("robot", (), Message("held-out-error-larger", ratio=ratio))
    cost = physical.relative - plain.relative
    if cost > WORTH:
        yield _warning("robot", (), Message("possible-bodies-costly", cost=cost))
    for joint, error in zip(identified.joint_names, physical.by_joint, strict=True):
        if error > POOR:
            yield _warning("joint", (joint,), Message("joint-torque-unexplained", error=error))
    yield from _of_nodes(identified, errors.standard.held_out, physical)


def _of_nodes(identified: Identified, nodes: TorqueError | None, physical: TorqueError) -> Iterator[Finding]:
    if nodes is not None and nodes.relative > OF_NODES * physical.relative:
        code = "nodes-error-larger-with-motors" if identified.motors else "nodes-error-larger"
        message = Message(code, nodes=nodes.relative, identified=physical.relative)
        yield _warning("robot", (), message)
