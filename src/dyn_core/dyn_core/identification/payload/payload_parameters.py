# SPDX-License-Identifier: Apache-2.0
"""A payload: mass, centre of mass, inertia and deviations; as YAML, a service call and JSON entries."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding
from dyn_core.core.messages import Message, message_entries
from dyn_core.identification.estimators.physical_consistency import parameters_of
from dyn_core.identification.output.identification_result import error_entries, finite
from dyn_core.identification.output.identified_parameters import Errors
from dyn_core.identification.output.parameter_file import quoted
from dyn_core.robot.dynamic_parameters import INERTIAL

# names of the ten numbers of a payload; the inertia is about the centre of mass
QUANTITIES = ("mass", *(f"centre {axis}" for axis in "xyz"), "XX", "XY", "XZ", "YY", "YZ", "ZZ")
UNITS = ("kg", *("m",) * 3, *("kg m^2",) * 6)
# deviation relative to prior knowledge of bodies below which the motion shows a number: half a mass
INFORMED = 0.1
PRIOR = 0.7  # part of the deviation of a shown number that may come from prior knowledge of bodies
_STEP = 1e-6


@dataclass(frozen=True)
class PayloadValue:
    """A number of a payload."""

    name: str  # one of `QUANTITIES`
    value: float
    deviation: float  # standard deviation; inf where the motion does not show it
    unit: str
    shown: bool  # whether the motion shows it; otherwise the value is the one that suits the others


@dataclass(frozen=True)
class PayloadErrors:
    """Torque errors of models on the motion with the payload."""

    with_it: Errors  # of the arm with the payload
    without: Errors  # of the same arm without it
    # of the arm with the ten parameters that fit best, which need not be physically consistent
    least_squares: Errors


@dataclass(frozen=True, eq=False)
class Payload:
    """The payload of a link: the argument of `Robot.with_payload`.

    Attributes:
        link: name of the link.
        mass: (kg).
        centre: centre of mass in the frame of the link (m).
        inertia: XX XY XZ YY YZ ZZ about the centre of mass, on the axes of the link (kg m^2).
        parameters: ten possible parameters in the frame of the link, about its origin.
        covariance: their covariance.
        expected: their covariance by prior knowledge of bodies alone.
        hidden: directions of them that the motion does not show, as others compensate them, (10, r).
        least_squares: the ten parameters by least squares alone, which need not be possible.
        least_squares_deviations: their standard deviations; inf where the motion does not show one alone.
        possible: whether those of least squares are possible, as far as the motion shows them.
        distance: distance of the body from the best fit, in deviations; noise gives up to about 2.
        errors: on the motion with the payload.
        findings: suspicious findings about the signals.
        remarks: limits of the estimate.
    """

    link: str
    mass: float
    centre: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]
    parameters: Array
    covariance: Array
    expected: Array
    hidden: Array
    least_squares: Array
    least_squares_deviations: Array
    possible: bool
    distance: float
    errors: PayloadErrors | None = None
    findings: tuple[Finding, ...] = ()
    remarks: tuple[Message, ...] = ()

    @property
    def deviations(self) -> Array:
        """Standard deviations of the ten parameters."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def values(self) -> tuple[PayloadValue, ...]:
        """Mass, centre of mass and inertia about it, with deviations, and whether the motion shows them."""
        J = _derivative(self.parameters)
        variances = np.einsum("ij,jk,ik->i", J, self.covariance, J)
        alone = np.einsum("ij,jk,ik->i", J, self.expected, J)
        shown = (variances < INFORMED**2 * alone) & (self._unseen(J) < PRIOR**2 * variances)
        shown[0] |= bool(np.isfinite(self.least_squares_deviations[-1]))  # a mass of 0 can be shown, too
        deviations = np.where(shown, np.sqrt(variances), np.inf)
        numbers = (self.mass, *self.centre, *self.inertia)
        return tuple(
            PayloadValue(name, value, float(deviation), unit, bool(seen))
            for name, value, deviation, unit, seen in zip(
                QUANTITIES, numbers, deviations, UNITS, shown, strict=True
            )
        )

    def _unseen(self, J: Array) -> Array:
        """Return variances of combinations J, (m, 10), that come from prior knowledge of bodies alone."""
        size = np.sqrt(np.diag(self.expected))
        N = np.linalg.qr(self.hidden / size[:, None])[0]
        correlation = self.expected / size[:, None] / size
        curvature = N.T @ np.linalg.solve(correlation, N)
        scaled = J * size @ N
        return np.asarray(np.einsum("ij,ij->i", scaled, np.linalg.solve(curvature, scaled.T).T))


def central(parameters: Array) -> Array:
    """Return mass, centre of mass, and inertia about it, of ten parameters about the origin."""
    XX, XY, XZ, YY, YZ, ZZ = parameters[:6]
    mass = parameters[9]
    c = parameters[6:9] / mass
    J = np.array([[XX, XY, XZ], [XY, YY, YZ], [XZ, YZ, ZZ]])
    P = np.zeros((4, 4))
    P[:3, :3] = 0.5 * np.trace(J) * np.eye(3) - J - mass * np.outer(c, c)
    return np.concatenate([[mass], c, parameters_of(P)[:6]])


def _derivative(parameters: Array) -> Array:
    """Return the derivative of `central`, (10, 10), by central differences: it is of third order at most."""
    steps = _STEP * np.maximum(np.abs(parameters), 1e-3 * np.abs(parameters).max())
    columns = [
        (central(parameters + step) - central(parameters - step)) / (2.0 * size)
        for step, size in zip(np.diag(steps), steps, strict=True)
    ]
    return np.column_stack(columns)


DIGITS = 12
NODE = "/feedforward"
_NAMES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def payload_text(payload: Payload, made: Sequence[str]) -> str:
    """Return a payload as YAML: the request of `dyn_msgs/srv/SetPayload`, with deviations as comments.

    `made` says how it was made, a line each.
    """
    return "".join(f"{line}\n" for line in _lines(payload, made))


def service_call(payload: Payload, node: str = NODE) -> str:
    """Return the shell command that sends a payload to a node."""
    return f"ros2 service call {node}/set_payload dyn_msgs/srv/SetPayload {shlex.quote(request(payload))}"


def request(payload: Payload) -> str:
    """Return a payload as a request on one line of YAML."""
    m, x, y, z, *inertia = (_number(value.value) for value in payload.values)
    moments = ", ".join(f"{name}: {value}" for name, value in zip(_NAMES, inertia, strict=True))
    body = f"m: {m}, com: {{x: {x}, y: {y}, z: {z}}}, {moments}"
    return f"{{payload: {{link_name: {quoted(payload.link)}, inertia: {{{body}}}}}}}"


def _lines(payload: Payload, made: Sequence[str]) -> Iterator[str]:
    m, x, y, z, *inertia = (
        f"{_number(v.value)}   # {v.unit}, {f'deviation {v.deviation:.2g}' if v.shown else 'not shown'}"
        for v in payload.values
    )
    yield "# What a link holds: mass, centre of mass in the frame of the link, inertia about it."
    yield from (f"# {' '.join(line.split())}" for line in made)
    yield from (f"# {' '.join(str(remark).split())}" for remark in payload.remarks)
    yield f'# ros2 service call {NODE}/set_payload dyn_msgs/srv/SetPayload "$(cat FILE)"'
    yield "payload:"
    yield f"  link_name: {quoted(payload.link)}"
    yield "  inertia:"
    yield f"    m: {m}"
    yield "    com:"
    yield from (f"      {name}: {value}" for name, value in zip("xyz", (x, y, z), strict=True))
    yield from (f"    {name}: {value}" for name, value in zip(_NAMES, inertia, strict=True))


def _number(value: float) -> str:
    """Return a number with a decimal point, so that every YAML reader takes it for a number."""
    text = f"{value + 0.0:.{DIGITS}g}"
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{e}{exponent}"


FORMAT = "dyn_payload 1"


def payload_entries(payload: Payload, joints: Sequence[str]) -> dict[str, Any]:
    """Return a payload as dictionaries, lists, texts and numbers; None for numbers that are not finite."""
    errors = payload.errors
    found: dict[str, Any] = {
        "format": FORMAT,
        "link": payload.link,
        "mass": payload.mass,
        "centre": payload.centre,
        "inertia": payload.inertia,
        "values": [asdict(value) for value in payload.values],
        "parameters": dict(zip(INERTIAL, payload.parameters.tolist(), strict=True)),
        "least_squares": {
            "parameters": dict(zip(INERTIAL, payload.least_squares.tolist(), strict=True)),
            "deviations": dict(zip(INERTIAL, payload.least_squares_deviations.tolist(), strict=True)),
            "possible": payload.possible,
            "distance": payload.distance,
        },
        "remarks": [message_entries(remark) for remark in payload.remarks],
        "findings": [finding.entries() for finding in payload.findings],
        "request": request(payload),
        "service_call": service_call(payload),
    }
    if errors is not None:
        models = {"with_payload": errors.with_it, "without_payload": errors.without}
        models["least_squares"] = errors.least_squares
        found["errors"] = {
            name: {part: error and error_entries(error, joints) for part, error in vars(model).items()}
            for name, model in models.items()
        }
    cleaned: dict[str, Any] = finite(found)
    return cleaned
