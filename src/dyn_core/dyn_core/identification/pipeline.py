# SPDX-License-Identifier: Apache-2.0
"""From the description of a robot and a log to a result."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from dyn_core.algorithms.base_parameters.determination import base_parameters
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Severity
from dyn_core.identification.at_rest import at_rest
from dyn_core.identification.fixed_joints import with_fixed_joints
from dyn_core.identification.identify import identify
from dyn_core.identification.output.identified_parameters import (
    Errors,
    Identified,
    IdentifiedMotor,
    IdentifiedParameter,
    TorqueError,
)
from dyn_core.identification.output.identified_urdf import identified_urdf
from dyn_core.identification.output.parameter_set import ParameterSet, SetFriction, SetMotor, SetValue
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.identification.stages import Progress, ResultStage
from dyn_core.identification.units import unit_of
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.logs.log import Log
from dyn_core.logs.log_reading import read_log
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.results.friction_curves import friction_curves
from dyn_core.results.input_hash import input_hash
from dyn_core.results.kinematics_hash import kinematics_hash
from dyn_core.results.prediction import Prediction, predicted, standard_friction, torque_error
from dyn_core.results.result import Comparison, Inputs, Result
from dyn_core.robot.robot import Robot
from dyn_core.robot.robot_files import Loaded
from dyn_core.signals.condition import condition
from dyn_core.signals.protocol import Protocol


def make_result(
    loaded: Loaded,
    log_path: str | os.PathLike[str],
    made_by: str,
    mapping: str | os.PathLike[str] | None = None,
    side_file: str | os.PathLike[str] | None = None,
    protocol: Protocol = Protocol(),  # noqa: B008 - it is frozen
    settings: IdentificationSettings = IdentificationSettings(),  # noqa: B008 - it is frozen
    progress: Progress = lambda stage: None,
) -> Result:
    """Identify a robot from a log, and answer all that is to be told about it.

    Args:
        loaded: the description of the robot.
        log_path: the log.
        made_by: what does this, with its version.
        mapping: what the columns of the log mean; a file.
        side_file: from which `loaded` has what its URDF cannot say; for its hash.
        protocol: how the log is conditioned.
        settings: how the parameters are estimated.
        progress: is told the stages.

    Raises:
        DynError: the log cannot be used, or shows nothing.
    """
    robot = loaded.robot
    if not robot.dof:
        raise DynError(f"robot '{robot.name}' has no joint that moves: there is nothing to identify")
    refuse_springs(robot, "identification")  # before the log, in which nobody looks for motors
    progress(ResultStage.READING)
    log = read_log(log_path, mapping, robot)
    files = {"log": log_path, "map": mapping, "side file": side_file}
    inputs = _inputs(loaded, {what: path for what, path in files.items() if path is not None}, made_by)
    progress(ResultStage.CONDITIONING)
    signals = condition(log, protocol)
    identified = identify(robot, signals, settings, progress)
    progress(ResultStage.COMPARING)
    signals = _without_effort(at_rest(signals), identified.fixed)
    return _result(loaded, log, signals, protocol, settings, identified, inputs)


def _without_effort(signals: Signals, joints: Collection[str]) -> Signals:
    """Answer the signals without the efforts of some joints, of which no model knows anything."""
    if not joints:
        return signals
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
    robot = loaded.robot
    identified = _of_measured(identified, signals)
    bare = _parameter_set(robot, identified, protocol, inputs)
    fitted, held_out = signals.split()
    parts = [part for part in (fitted, held_out) if len(part)]
    torques = [predicted(robot, bare, part.q, part.qd, part.qdd) for part in parts]
    described = _of_description(robot)
    expected = [predicted(robot, described, part.q, part.qd, part.qdd).standard for part in parts]
    standard_errors = _errors(parts, [torque.standard for torque in torques])
    suddenly = robot.with_parameters({**identified.parameters, **identified.at_once})
    at_once = [t.load + standard_friction(suddenly, p.qd) for p, t in zip(parts, torques, strict=True)]
    at_once_errors = _errors(parts, at_once)
    # Who reads a URDF knows no transition of Coulomb friction.
    urdf = identified_urdf(loaded, suddenly)
    held_out_errors = {
        "with_friction_models": identified.consistent_errors.held_out,
        "with_standard_friction": standard_errors.held_out,
        "with_coulomb_friction_at_once": at_once_errors.held_out,
    }
    parameters = replace(
        bare,
        descriptions=(robot.description_hash, hashlib.sha256(urdf.text.encode()).hexdigest()),
        wrong=tuple(
            f"{finding.element}: {finding.message}"
            for finding in identified.findings
            if finding.severity is Severity.ERROR
        ),
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
        _errors(parts, expected),
        _comparison(parts[-1], torques[-1], is_held_out=len(parts) == 2),
        friction_curves(robot, parameters, fitted, torques[0].load),
        grouped,
        no_effect,
        inputs,
    )


def _of_measured(identified: Identified, signals: Signals) -> Identified:
    """Answer the same, without errors of joints whose effort was not measured."""

    def masked(error: TorqueError) -> TorqueError:
        by_joint, rms = (
            tuple(x if known else math.nan for x, known in zip(values, signals.has_effort, strict=True))
            for values in (error.by_joint, error.rms)
        )
        return TorqueError(error.relative, by_joint, rms)

    def both(errors: Errors) -> Errors:
        return Errors(masked(errors.fitted), None if errors.held_out is None else masked(errors.held_out))

    return replace(
        identified, errors=both(identified.errors), consistent_errors=both(identified.consistent_errors)
    )


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
            SetFriction(joint, friction.model, tuple(_of_term(p) for p in friction.parameters))
            for joint, friction in zip(robot.coordinate_names, identified.consistent_friction, strict=True)
        ),
        made,
        protocol,
        dict(zip(robot.coordinate_names, identified.coulomb_velocity, strict=True)),
        tuple(_motor(motor) for motor in identified.motors),
    )


def _value(parameter: IdentifiedParameter) -> SetValue:
    deviation = parameter.deviation if np.isfinite(parameter.deviation) else None
    return SetValue(parameter.name, parameter.value, deviation, parameter.unit)


def _motor(motor: IdentifiedMotor) -> SetMotor:
    Ia, Fv, Fs = (_value(parameter) for parameter in motor.parameters)
    return SetMotor(motor.name, motor.joints, (Ia, Fv, Fs))


def _of_term(parameter: IdentifiedParameter) -> SetValue:
    value = _value(parameter)
    return replace(value, name=value.name.rstrip("0123456789"))


def _of_description(robot: Robot) -> ParameterSet:
    """Answer what the description itself says, as a parameter set."""
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
    found = [torque_error(part, torque) for part, torque in zip(parts, torques, strict=True)]
    return Errors(found[0], found[1] if len(found) == 2 else None)


def _comparison(signals: Signals, torques: Prediction, *, is_held_out: bool) -> Comparison:
    # The filter is symmetric and leaves what is linear in time as it is: time itself.
    columns = signals.parallel(signals.time, signals.tau, torques.tau, torques.standard)
    pieces: list[list[Array]] = [[] for _ in columns]
    for a, b in signals.decimated_segments:
        for part, column in zip(pieces, columns, strict=True):
            # A gap is drawn at the place where it begins.
            part += [column[a:b], np.full_like(column[:1], np.nan)]
    time, measured, model, standard = (np.concatenate(part)[:-1] for part in pieces)
    places = np.flatnonzero(np.isnan(time))
    time[places] = time[places - 1]
    return Comparison(time, measured, model, standard, is_held_out)


def _grouping(robot: Robot) -> tuple[Mapping[str, tuple[str, ...]], tuple[str, ...]]:
    """Answer what is seen only in combination, and what is not seen at all."""
    try:
        found = base_parameters(robot)
    except DynError:
        return {}, ()
    return found.grouped, found.no_effect
