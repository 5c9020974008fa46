# SPDX-License-Identifier: Apache-2.0
"""A payload as data for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dyn_core.identification.output.identification_result import finite
from dyn_core.identification.output.identified_parameters import Errors, TorqueError
from dyn_core.identification.payload.payload_parameters import Payload
from dyn_core.model.standard_parameters import INERTIAL
from dyn_core.results.payload_request import request, service_call

FORMAT = "dyn_payload 1"


def payload_entries(payload: Payload, joints: Sequence[str]) -> dict[str, Any]:
    """Answer a payload as dictionaries, lists, texts and numbers; what is not finite is None."""
    errors = payload.errors
    found: dict[str, Any] = {
        "format": FORMAT,
        "link": payload.link,
        "mass": payload.mass,
        "centre": payload.centre,
        "inertia": payload.inertia,
        "values": [
            {
                "name": value.name,
                "value": value.value,
                "deviation": value.deviation,
                "unit": value.unit,
                "shown": value.shown,
            }
            for value in payload.values
        ],
        "parameters": dict(zip(INERTIAL, payload.parameters.tolist(), strict=True)),
        "least_squares": {
            "parameters": dict(zip(INERTIAL, payload.least_squares.tolist(), strict=True)),
            "deviations": dict(zip(INERTIAL, payload.least_squares_deviations.tolist(), strict=True)),
            "possible": payload.possible,
            "distance": payload.distance,
        },
        "remarks": payload.remarks,
        "findings": [str(finding) for finding in payload.findings],
        "request": request(payload),
        "service_call": service_call(payload),
    }
    if errors is not None:
        found["errors"] = {
            "with_payload": _errors(errors.with_it, joints),
            "without_payload": _errors(errors.without, joints),
            "least_squares": _errors(errors.least_squares, joints),
        }
    cleaned: dict[str, Any] = finite(found)
    return cleaned


def _errors(errors: Errors, joints: Sequence[str]) -> dict[str, Any]:
    parts = {"fitted": errors.fitted, "held_out": errors.held_out}
    return {which: None if error is None else _error(error, joints) for which, error in parts.items()}


def _error(error: TorqueError, joints: Sequence[str]) -> dict[str, Any]:
    return {
        "relative_torque_error": error.relative,
        "by_joint": dict(zip(joints, error.by_joint, strict=True)),
        "rms": dict(zip(joints, error.rms, strict=True)),
    }
