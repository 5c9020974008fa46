# SPDX-License-Identifier: Apache-2.0
"""The identification pipeline: from a robot description and a log to a result."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from dyn_core.algorithms.base_parameters.determination import base_parameters
from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.errors import DynError
from dyn_core.identification.diagnosis.reliability import (
    Compared,
    cost_of_possible,
    grouped_offsets,
    of_fixed_joints,
    of_standing_held_out,
    reliability_remarks,
    verdict_of,
)
from dyn_core.identification.diagnosis.signal_diagnosis import whole_diagnosis
from dyn_core.identification.estimators.estimation import Estimation
from dyn_core.identification.estimators.identification_settings import (
    IdentificationSettings,
    IdentifyStage,
    Progress,
    ResultStage,
    check_closes,
    check_length,
    check_signals,
)
from dyn_core.identification.estimators.least_squares import Solution, own_columns
from dyn_core.identification.estimators.standard_deviations import essential, whiteness
from dyn_core.identification.fixed_joints import (
    fixed_positions,
    of_free_joints,
    with_all_joints,
    with_fixed_joints,
)
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.friction.friction_selection import cross_validated
from dyn_core.identification.output.identification_result import Comparison, Inputs, Result, friction_curves
from dyn_core.identification.output.identified_parameters import (
    Errors,
    Identified,
    IdentifiedParameter,
    Procedure,
)
from dyn_core.identification.output.identified_urdf import identified_urdf
from dyn_core.identification.output.parameter_set import (
    ParameterSet,
    Prediction,
    Reason,
    SetFriction,
    SetMotor,
    SetValue,
    input_hash,
    kinematics_hash,
    predicted,
    standard_friction,
)
from dyn_core.identification.output.parameter_set import torque_error as relative_torque_error
from dyn_core.identification.output.parameter_tables import (
    Estimate,
    base_table,
    friction_table,
    motor_table,
    standard_frictions,
    standard_table,
    torque_errors,
)
from dyn_core.identification.regressor.base_columns import base_columns, motors_of, unit_of
from dyn_core.identification.regressor.motion_equations import Equations, at_rest, rigid_torques
from dyn_core.logs.conditioning.signals import Protocol, Signals, condition
from dyn_core.logs.log import Log
from dyn_core.logs.log_reading import read_log
from dyn_core.logs.reading_budget import LOG_MEMORY
from dyn_core.robot.robot import Robot, refuse_springs
from dyn_core.robot.robot_files import Loaded


@one_thread()
def identify(
    robot: Robot,
    signals: Signals,
    settings: IdentificationSettings = IdentificationSettings(),  # noqa: B008 - it is frozen
    progress: Progress = lambda stage: None,
) -> Identified:
    """Return the parameters of a robot that a motion shows.

    Args:
        robot: the robot; its parameters are the prior.
        signals: the measured motion, its training part, and the filter of the equations; see `condition`.
        settings: estimator, friction and prior.
        progress: receives each stage when it begins.

    Raises:
        DynError: the signals do not fit the robot, are too few, or no joint moves.
    """
    signals = signals.of_joints(robot.coordinate_names)
    check_signals(robot, signals, settings)
    coupled = {joint for motor in motors_of(robot, signals, settings.couplings) for joint in motor.joints}
    positions = fixed_positions(signals, coupled)
    found = _identified(*of_free_joints(robot, signals, settings, positions), progress)
    found = replace(found, remarks=(*found.remarks, *of_fixed_joints(positions)))
    return with_all_joints(found, robot, positions)


def _identified(
    robot: Robot, signals: Signals, settings: IdentificationSettings, progress: Progress
) -> Identified:
    """Return the parameters of a robot in which all joints move, except those that motors couple."""
    fitted, held_out = at_rest(signals).split()
    base = base_columns(robot, motors_of(robot, signals, settings.couplings))
    progress(IdentifyStage.EQUATIONS)
    equations = Equations(fitted, base)
    check_closes(equations)
    check_length(equations, 2 * settings.parts)
    unseen = Equations(held_out, base) if len(held_out) else None
    if unseen is not None:
        check_closes(unseen)
        check_length(unseen, 2)
    if settings.diagnose:
        progress(IdentifyStage.DIAGNOSIS)
    findings = whole_diagnosis(equations, (FrictionModel(),) * robot.dof) if settings.diagnose else ()
    estimation = Estimation(base, settings)
    if settings.friction is None:
        progress(IdentifyStage.FRICTION)
    models, tried = estimation.friction(equations)
    progress(IdentifyStage.FIT)
    fit = estimation.fit(equations, models, progress)
    solution = fit.solution
    residuals = fit.residuals
    decimation = fit.rows.equations.decimation
    segments = decimation.segments(fit.rows.equations.signals.segments)
    spread = fit.deviations(residuals)
    needed = essential(solution, spread / np.where(solution.identifiable, solution.deviations, 1.0))
    progress(IdentifyStage.BODIES)
    consistent = estimation.possible(models, fit)
    own = own_columns(fit.data)
    progress(IdentifyStage.NODES)
    frictions = standard_frictions(equations, models, consistent, own)
    at_once = standard_frictions(equations, models, consistent, own, at_once=True)
    plain = Estimate(solution.x, spread, needed, solution.identifiable)
    of_friction = np.concatenate([spread[: len(base.kept)], consistent.friction_deviations])
    possible = Estimate(consistent.x, of_friction, needed, solution.identifiable)
    offsets = grouped_offsets(base, models)
    stood = equations.stands.mean(axis=0).tolist()
    stood_unseen = [0.0] * robot.dof if unseen is None else unseen.stands.mean(axis=0).tolist()
    progress(IdentifyStage.ERRORS)
    of_plain, of_possible = (torque_errors(equations, unseen, models, x) for x in (plain.x, possible.x))
    return Identified(
        robot.name,
        robot.coordinate_names,
        base_table(base, plain),
        friction_table(robot, models, own, plain, tried),
        standard_table(base, consistent, frictions),
        friction_table(robot, models, own, possible, tried),
        base_table(base, possible),
        tuple(friction.v0 for friction in frictions),
        {
            name: value
            for j, friction in zip(robot.coordinates, at_once, strict=True)
            for name, value in zip(FrictionModel().names(j), friction.values, strict=True)
        },
        motor_table(base, consistent),
        of_plain,
        of_possible,
        solution.condition,
        tuple(whiteness(residuals, fit.rows.used, decimation, segments).tolist()),
        tuple(stood),
        {},
        offsets,
        _procedure(signals, settings, len(fit.rows)),
        cost_of_possible(of_plain.fitted.relative, of_possible.fitted.relative)
        + reliability_remarks(base, fitted, models, solution, stood, offsets)
        + of_standing_held_out(robot.coordinate_names, stood_unseen),
        findings,
        None if unseen is not None else _cross_validated(equations, models, solution, settings.parts),
    )


def _cross_validated(
    equations: Equations, models: Sequence[FrictionModel], solution: Solution, parts: int
) -> float:
    load = rigid_torques(equations, solution.x)
    return cross_validated(equations, models, load, solution.sigma, parts)


def _procedure(signals: Signals, settings: IdentificationSettings, equations: int) -> Procedure:
    return Procedure(
        signals.done,
        len(signals),
        signals.period,
        signals.cutoff,
        signals.train,
        signals.decimate,
        equations,
        settings.estimator,
        settings.parts,
        settings.prior_weight,
    )


def make_result(
    loaded: Loaded,
    log_path: str | os.PathLike[str],
    made_by: str,
    mapping: str | os.PathLike[str] | None = None,
    side_file: str | os.PathLike[str] | None = None,
    protocol: Protocol = Protocol(),  # noqa: B008 - it is frozen
    settings: IdentificationSettings = IdentificationSettings(),  # noqa: B008 - it is frozen
    progress: Progress = lambda stage: None,
    log_memory: int = LOG_MEMORY,
) -> Result:
    """Identify a robot from a log, and return the whole result; DynError if the log cannot be used.

    `made_by` is the program with its version, `mapping` a file with the meaning of the columns of the log,
    and `side_file` the one of `loaded`, for its hash; `progress` receives the stages,
    and `log_memory` is the `memory` of `read_log`.
    """
    robot = loaded.robot
    if not robot.dof:
        raise DynError("robot-without-moving-joint", robot=robot.name, purpose="identify")
    refuse_springs(robot, "identification")  # before the log is read, which would look for motors
    progress(ResultStage.READING)
    log = read_log(log_path, mapping, robot, memory=log_memory)
    files = {"log": log_path, "map": mapping, "side file": side_file}
    inputs = _inputs(loaded, {what: path for what, path in files.items() if path is not None}, made_by)
    progress(ResultStage.CONDITIONING)
    signals = condition(log, protocol)
    identified = identify(robot, signals, settings, progress)
    progress(ResultStage.COMPARING)
    signals = _without_effort(at_rest(signals), identified.fixed)
    return _result(loaded, log, signals, protocol, settings, identified, inputs)


def _without_effort(signals: Signals, joints: Collection[str]) -> Signals:
    """Return the signals without the efforts of joints that no model predicts."""
    without = np.array([name in joints for name in signals.joint_names])
    return replace(signals, tau=np.where(without, np.nan, signals.tau))


def _inputs(loaded: Loaded, files: Mapping[str, str | os.PathLike[str]], made_by: str) -> Inputs:
    names = {what: Path(os.fsdecode(path)).name for what, path in files.items()}
    hashes = {what: input_hash(path) for what, path in files.items()}
    described = "text" if loaded.path is None else Path(loaded.path).name
    return Inputs(
        {"description": described, **names},
        {"description": loaded.robot.description_hash, **hashes},
        datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC"),
        made_by,
    )


def _result(
    loaded: Loaded,
    log: Log,
    signals: Signals,
    protocol: Protocol,
    settings: IdentificationSettings,
    identified: Identified,
    inputs: Inputs,
) -> Result:
    from dyn_core.check.check_robot import check_robot  # payloads are identified without it

    robot = loaded.robot
    identified = _of_measured(identified, signals)
    bare = _parameter_set(robot, identified, protocol, inputs)
    fitted, held_out = signals.split()
    parts = [part for part in (fitted, held_out) if len(part)]
    torques = [predicted(robot, bare, part.q, part.qd, part.qdd) for part in parts]
    described = _of_description(robot)
    expected = [predicted(robot, described, part.q, part.qd, part.qdd).standard for part in parts]
    standard_errors = _errors(parts, [torque.standard for torque in torques])
    # A URDF has no transition velocity of Coulomb friction.
    sharp = robot.with_parameters({**identified.parameters, **identified.at_once})
    at_once = [t.load + standard_friction(sharp, p.qd) for p, t in zip(parts, torques, strict=True)]
    at_once_errors = _errors(parts, at_once)
    urdf = identified_urdf(loaded, sharp)
    held_out_errors = {
        "with_friction_models": identified.consistent_errors.held_out,
        "with_standard_friction": standard_errors.held_out,
        "with_coulomb_friction_at_once": at_once_errors.held_out,
    }
    description_errors = _errors(parts, expected)
    compared = Compared(
        identified.consistent_errors,
        standard_errors,
        at_once_errors,
        description_errors,
        identified.cross_validated,
    )
    verdict = verdict_of(robot, log, identified, compared)
    parameters = replace(
        bare,
        descriptions=(robot.description_hash, hashlib.sha256(urdf.text.encode()).hexdigest()),
        reasons=tuple(Reason(one.code, f"{one.element}: {one.message}") for one in verdict.reasons),
        errors={name: None if error is None else error.relative for name, error in held_out_errors.items()},
    )
    grouped, no_effect = _grouping(with_fixed_joints(robot, identified.fixed))
    return Result(
        loaded,
        log,
        signals,
        protocol,
        settings,
        identified,
        parameters,
        urdf,
        standard_errors,
        at_once_errors,
        description_errors,
        _comparison(parts[-1], torques[-1], is_held_out=len(parts) == 2),
        friction_curves(robot, parameters, fitted, torques[0].load),
        grouped,
        no_effect,
        inputs,
        verdict,
        check_robot(sharp),
        frozenset(finding.code for finding in check_robot(robot)),
    )


def _of_measured(identified: Identified, signals: Signals) -> Identified:
    """Remove the errors of joints whose effort was not measured."""

    def masked(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(x if known else math.nan for x, known in zip(values, signals.has_effort, strict=True))

    consistent_errors = identified.consistent_errors.by_joint(masked)
    return replace(identified, errors=identified.errors.by_joint(masked), consistent_errors=consistent_errors)


def _parameter_set(robot: Robot, identified: Identified, protocol: Protocol, inputs: Inputs) -> ParameterSet:
    made = {
        "by": inputs.made_by,
        "date": inputs.date,
        **{what.replace(" ", "_"): name for what, name in inputs.files.items()},
        **{f"{what.replace(' ', '_')}_sha256": text for what, text in inputs.hashes.items()},
        "gravity": " ".join(f"{x:g}" for x in robot.gravity),
        "parameters": "physically consistent: every link is a possible body",
    }
    return ParameterSet(
        robot.name,
        (robot.description_hash,),
        kinematics_hash(robot),
        tuple(_value(parameter) for parameter in identified.standard),
        tuple(
            SetFriction(joint, friction.model, tuple(_value(p, indexed=False) for p in friction.parameters))
            for joint, friction in zip(robot.coordinate_names, identified.consistent_friction, strict=True)
        ),
        made,
        protocol,
        dict(zip(robot.coordinate_names, identified.coulomb_velocity, strict=True)),
        tuple(
            SetMotor(motor.name, motor.joints, tuple(_value(parameter) for parameter in motor.parameters))
            for motor in identified.motors
        ),
    )


def _value(parameter: IdentifiedParameter, *, indexed: bool = True) -> SetValue:
    """Return a parameter for a file, with the number of its joint if `indexed`."""
    name = parameter.name if indexed else parameter.name.rstrip("0123456789")
    deviation = parameter.deviation if np.isfinite(parameter.deviation) else None
    return SetValue(name, parameter.value, deviation, parameter.unit)


def _of_description(robot: Robot) -> ParameterSet:
    """Return the parameters of the description as a parameter set."""
    return ParameterSet(
        robot.name,
        (robot.description_hash,),
        kinematics_hash(robot),
        tuple(
            SetValue(name, value, None, unit_of(name, robot))
            for name, value in zip(robot.parameter_names, robot.parameters, strict=True)
        ),
    )


def _errors(parts: list[Signals], torques: list[Array]) -> Errors:
    found = [relative_torque_error(part, torque) for part, torque in zip(parts, torques, strict=True)]
    return Errors(found[0], found[1] if len(found) == 2 else None)


def _comparison(signals: Signals, torques: Prediction, *, is_held_out: bool) -> Comparison:
    # The filter is symmetric and does not change linear functions of time, such as time itself.
    columns = signals.parallel(signals.time, signals.tau, torques.tau, torques.standard)
    pieces: list[list[Array]] = [[] for _ in columns]
    for a, b in signals.decimated_segments:
        for part, column in zip(pieces, columns, strict=True):
            # A gap is drawn where it begins.
            part += [column[a:b], np.full_like(column[:1], np.nan)]
    time, measured, model, standard = (np.concatenate(part)[:-1] for part in pieces)
    gaps = np.flatnonzero(np.isnan(time))
    time[gaps] = time[gaps - 1]
    return Comparison(time, measured, model, standard, is_held_out)


def _grouping(robot: Robot) -> tuple[Mapping[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the parameters that are seen only in combination, and those that are not seen at all."""
    try:
        found = base_parameters(robot)
    except DynError:
        return {}, ()
    return found.grouped, found.no_effect
