# SPDX-License-Identifier: Apache-2.0
"""A result as data for machines: result.json."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from dyn_core.core.findings import Finding
from dyn_core.identification.estimators.estimators import IN_WORDS
from dyn_core.identification.output.identified_parameters import (
    Errors,
    IdentifiedParameter,
    JointFriction,
    TorqueError,
)
from dyn_core.results.friction_formula import friction_formula
from dyn_core.results.result import Result

FORMAT = "dyn_result 1"


def result_text(result: Result) -> str:
    """Answer a result as JSON, in which what is not known or not finite is null."""
    return json.dumps(finite(result_entries(result)), indent=1, allow_nan=False) + "\n"


def result_entries(result: Result) -> dict[str, Any]:
    """Answer a result as dictionaries, lists, texts and numbers."""
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
        "remarks": [*identified.remarks, *result.urdf.remarks],
        "findings": _findings(identified.findings),
        "log_findings": _findings(result.log.findings),
    }


def finite(value: Any) -> Any:
    """Answer data in which numbers that JSON has no words for are None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(entry) for entry in value]
    return value


def _part(result: Result, which: str) -> dict[str, Any] | None:
    """Answer the errors on a part of the log; those of what parameters.yaml predicts come first."""
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
    return {
        **_error(main, joints),
        **{name: _error(error, joints) for name, error in _present(of_all, which)},
    }


def _present(errors: Mapping[str, Errors], which: str) -> Iterable[tuple[str, TorqueError]]:
    return ((name, found) for name, both in errors.items() if (found := getattr(both, which)) is not None)


def _error(error: TorqueError, joints: tuple[str, ...]) -> dict[str, Any]:
    return {
        "relative_torque_error": error.relative,
        "by_joint": dict(zip(joints, error.by_joint, strict=True)),
        "rms": dict(zip(joints, error.rms, strict=True)),
    }


def _protocol(result: Result) -> dict[str, Any]:
    signals, procedure = result.signals, result.identified.procedure
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
        "friction": _friction_setting(result),
        "asked": asdict(result.protocol),
        "conditioning": signals.done,
        "log": result.log.done,
    }


def _friction_setting(result: Result) -> str:
    if result.settings.friction is not None:
        return "given"
    return "chosen by cross-validation" + ("" if result.settings.loaded else ", without load")


def _parameter(parameter: IdentifiedParameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "value": parameter.value,
        "deviation": parameter.deviation,
        "relative_deviation": parameter.relative_deviation,
        "prior": parameter.prior,
        "unit": parameter.unit,
        "essential": bool(parameter.essential),
        "identifiable": bool(parameter.identifiable),
    }


def _friction(j: int, plain: JointFriction, consistent: JointFriction) -> dict[str, Any]:
    model = consistent.model
    return {
        "terms": model.terms,
        "formula": friction_formula(model, j),
        "v0": model.v0,
        "vt": model.vt,
        "vx": model.vx,
        "parameters": [_parameter(p) for p in consistent.parameters],
        "least_squares": [_parameter(p) for p in plain.parameters],
        "tried": [{"model": name, "relative_torque_error": error} for name, error in plain.tried],
    }


def _findings(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "severity": str(finding.severity),
            "kind": finding.kind,
            "names": finding.names,
            "message": finding.message,
        }
        for finding in findings
    ]
