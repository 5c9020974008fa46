# SPDX-License-Identifier: Apache-2.0
"""The result of an identification: inputs, comparison, friction curves, and its JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import message_entries
from dyn_core.identification.estimators.identification_settings import IN_WORDS, IdentificationSettings
from dyn_core.identification.friction.friction_model import (
    FrictionModel,
    friction_formula,
    friction_torques,
    velocities,
)
from dyn_core.identification.output.identified_parameters import (
    Errors,
    Identified,
    IdentifiedParameter,
    JointFriction,
    TorqueError,
    Verdict,
)
from dyn_core.identification.output.identified_urdf import IdentifiedUrdf
from dyn_core.identification.output.parameter_set import ParameterSet
from dyn_core.logs.conditioning.signals import Protocol, Signals
from dyn_core.logs.log import Log
from dyn_core.robot.robot import Robot
from dyn_core.robot.robot_files import Loaded

# the written files; the last one shows whether a directory is ours
FILES = ("parameters.yaml", "identified.urdf", "report.html", "result.json")


@dataclass(frozen=True)
class Inputs:
    """The inputs of a result."""

    files: Mapping[str, str]  # names of the files, by kind: log, description, map, side file
    hashes: Mapping[str, str]  # their SHA-256
    date: str  # date of the result, in UTC
    made_by: str  # the program


@dataclass(frozen=True, eq=False)
class Comparison:
    """Measured and predicted efforts behind the same filter (N m or N), (N, n) each."""

    time: Array  # (s), (N,); NaN between segments, like the efforts there
    measured: Array
    predicted: Array  # by the physically consistent parameters with the friction models
    standard: Array  # the same with viscous and Coulomb friction and offset alone
    is_held_out: bool  # whether no fit has seen this part of the log


@dataclass(frozen=True, eq=False)
class FrictionCurves:
    """Friction of a joint over its velocity."""

    velocity: Array  # (rad/s or m/s), (N,)
    chosen: Array  # by the chosen model (N m or N), (N,)
    standard: Array  # by viscous and Coulomb friction and offset, (N,)
    # mean of measured effort less bodies and rotors, (N,); NaN for velocities that do not occur
    measured: Array
    load: float | None  # torque of bodies and rotors for `chosen`, if it matters


@dataclass(frozen=True, eq=False)
class Result:
    """The whole result of an identification."""

    loaded: Loaded  # the description of the robot
    log: Log
    signals: Signals  # the conditioned log
    protocol: Protocol
    settings: IdentificationSettings
    identified: Identified
    parameters: ParameterSet  # content of parameters.yaml
    urdf: IdentifiedUrdf  # content of identified.urdf
    standard_errors: Errors  # of the physically consistent parameters with the friction of the nodes
    at_once_errors: Errors  # the same with the nearest friction with a sharp sign of Coulomb friction
    description_errors: Errors  # of the parameters of the description
    comparison: Comparison
    friction: tuple[FrictionCurves, ...]
    grouped: Mapping[str, tuple[str, ...]]  # by standard parameter, the base parameters that contain it
    no_effect: tuple[str, ...]  # standard parameters that no torque depends on
    inputs: Inputs
    verdict: Verdict
    check: tuple[Finding, ...]  # findings of `dyn check` about the identified robot
    known_check: frozenset[str]  # codes of those that are found in the description as well

    @property
    def new_check(self) -> tuple[Finding, ...]:
        """Findings about the identified robot that the description does not have, without notes."""
        worth = (one for one in self.check if one.severity < Severity.NOTE)
        return tuple(one for one in worth if one.code not in self.known_check)


POINTS = 301
BINS = 60
FEWEST = 5  # least number of samples in a mean


def friction_curves(
    robot: Robot, parameters: ParameterSet, signals: Signals, load: Array
) -> tuple[FrictionCurves, ...]:
    """Return the friction of each joint at the velocities and measured efforts of signals.

    `load` are the torques of bodies and rotors along them (N m or N), (N, n).
    """
    models, x = parameters.friction_of(robot)
    values = parameters.values
    curves = []
    start = 0
    for i, (j, model) in enumerate(zip(robot.coordinates, models, strict=True)):
        own = x[start : start + len(model.terms)]
        start += len(model.terms)
        speed = float(np.abs(signals.qd[:, i]).max(initial=0.0)) or 1.0
        velocity = np.linspace(-speed, speed, POINTS)
        typical = float(np.median(np.abs(load[:, i])))
        v0 = parameters.coulomb_velocity.get(robot.coordinate_names[i], 0.0)
        standard = np.array([values[name] for name in FrictionModel().names(j)])
        curves.append(
            FrictionCurves(
                velocity,
                _torque(model, own, velocity, typical),
                _torque(FrictionModel(v0=v0), standard, velocity, typical),
                _means(velocity, signals.qd[:, i], signals.tau[:, i] - load[:, i]),
                typical if model.loaded else None,
            )
        )
    return tuple(curves)


def _torque(model: FrictionModel, x: Array, velocity: Array, load: float) -> Array:
    column = velocity[:, None]
    found: Array = friction_torques((model,), x)(column, np.full_like(column, load))[:, 0]
    return found


def _means(velocity: Array, qd: Array, friction: Array) -> Array:
    """Return means in bins of velocities, linearly interpolated."""
    edges = np.linspace(velocity[0], velocity[-1], BINS + 1)
    place = np.clip(np.digitize(qd, edges) - 1, 0, BINS - 1)
    counts = np.bincount(place, minlength=BINS)
    sums = np.bincount(place, weights=friction, minlength=BINS)
    means = np.where(counts >= FEWEST, sums / np.maximum(counts, 1), np.nan)
    centres = 0.5 * (edges[:-1] + edges[1:])
    found: Array = np.interp(velocity, centres, means, left=np.nan, right=np.nan)
    return found


FORMAT = "dyn_result 1"


def result_text(result: Result) -> str:
    """Return a result as JSON; values that are not known or not finite are null."""
    return json.dumps(finite(result_entries(result)), indent=1, allow_nan=False) + "\n"


def result_entries(result: Result) -> dict[str, Any]:
    """Return a result as dictionaries, lists, texts and numbers."""
    identified, robot = result.identified, result.loaded.robot
    joints = identified.joint_names
    return {
        "format": FORMAT,
        "made_by": result.inputs.made_by,
        "date": result.inputs.date,
        "robot": {
            "name": robot.name,
            "joints": joints,
            "description_sha256": robot.description_hash,
            "kinematics_sha256": result.parameters.kinematics,
            "identified_urdf_sha256": result.parameters.descriptions[-1],
            "gravity": robot.gravity,
        },
        "inputs": {
            what: {"name": name, "sha256": result.inputs.hashes[what]}
            for what, name in result.inputs.files.items()
        },
        "held_out": _part(result, "held_out"),
        "fitted": _part(result, "fitted"),
        "protocol": _protocol(result),
        "coulomb_velocity": result.parameters.coulomb_velocity,
        "condition": identified.condition,
        "stood": dict(zip(joints, identified.stood, strict=True)),
        "fixed": identified.fixed,
        "residual_whiteness": dict(zip(joints, identified.whiteness, strict=True)),
        "parameters": {
            "standard": [_parameter(p) for p in identified.standard],
            "base": [_parameter(p) for p in identified.base],
            "consistent_base": [_parameter(p) for p in identified.consistent_base],
        },
        "motors": {
            motor.name: {"joints": motor.joints, "parameters": [_parameter(p) for p in motor.parameters]}
            for motor in identified.motors
        },
        "friction": {
            joint: _friction(j, plain, consistent)
            for joint, j, plain, consistent in zip(
                joints, robot.coordinates, identified.friction, identified.consistent_friction, strict=True
            )
        },
        "unseen": {"grouped": result.grouped, "no_effect": result.no_effect},
        "remarks": [message_entries(one) for one in (*identified.remarks, *result.urdf.remarks)],
        "verdict": result.verdict.entries(),
        "findings": [finding.entries() for finding in identified.findings],
        "check": [finding.entries() for finding in result.check],
        "log_findings": [finding.entries() for finding in result.log.findings],
    }


def told(result: Result) -> tuple[Finding, ...]:
    """Return what a user should know, for the console, the report and messages: each finding once."""
    verdict = result.verdict
    found = (*verdict.reasons, *result.identified.findings, *verdict.warnings)
    return tuple(dict.fromkeys((*found, *result.new_check, *result.log.findings)))


def finite(value: Any) -> Any:
    """Return data with None for numbers that are not finite, which JSON cannot have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(entry) for entry in value]
    return value


def _part(result: Result, which: str) -> dict[str, Any] | None:
    """Return the errors on a part of the log; those of the content of parameters.yaml come first."""
    joints = result.identified.joint_names
    of_all = {
        "least_squares": result.identified.errors,
        "standard_friction": result.standard_errors,
        "coulomb_friction_at_once": result.at_once_errors,
        "description": result.description_errors,
    }
    main: TorqueError | None = getattr(result.identified.consistent_errors, which)
    if main is None:
        return None
    errors = {name: getattr(both, which) for name, both in of_all.items()}
    others = {name: error_entries(error, joints) for name, error in errors.items() if error is not None}
    return {**error_entries(main, joints), **others}


def error_entries(error: TorqueError, joints: Sequence[str]) -> dict[str, Any]:
    """Return a torque error as entries, by joint name."""
    return {
        "relative_torque_error": error.relative,
        "by_joint": dict(zip(joints, error.by_joint, strict=True)),
        "rms": dict(zip(joints, error.rms, strict=True)),
    }


def _protocol(result: Result) -> dict[str, Any]:
    signals, procedure = result.signals, result.identified.procedure
    friction = "chosen by cross-validation" + ("" if result.settings.loaded else ", without load")
    friction = friction if result.settings.friction is None else "given"
    return {
        **{key: value for key, value in asdict(result.protocol).items() if value is not None},
        "rate": 1.0 / signals.period,
        "cutoff": signals.cutoff,
        "decimate": signals.decimate,
        "train": signals.train,
        "samples": len(signals),
        "segments": len(signals.segments),
        "equations": procedure.equations,
        "estimator": procedure.estimator,
        "estimator_in_words": IN_WORDS[procedure.estimator],
        "cross_validation_parts": procedure.parts,
        "prior_weight": procedure.prior_weight,
        "friction": friction,
        "asked": asdict(result.protocol),
        "conditioning": [message_entries(step) for step in signals.done],
        "log": [message_entries(step) for step in result.log.done],
    }


def _parameter(parameter: IdentifiedParameter) -> dict[str, Any]:
    names = ("name", "value", "deviation", "relative_deviation", "prior", "unit", "essential", "identifiable")
    return {name: getattr(parameter, name) for name in names}


def _friction(j: int, plain: JointFriction, consistent: JointFriction) -> dict[str, Any]:
    model = consistent.model
    return {
        "terms": model.terms,
        "formula": friction_formula(model, j),
        **velocities(model),
        "parameters": [_parameter(p) for p in consistent.parameters],
        "least_squares": [_parameter(p) for p in plain.parameters],
        "tried": [{"model": name, "relative_torque_error": error} for name, error in plain.tried],
    }
