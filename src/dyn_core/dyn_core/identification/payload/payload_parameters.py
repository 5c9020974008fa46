# SPDX-License-Identifier: Apache-2.0
"""What a link holds: mass, centre of mass and inertia, and how well they are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding
from dyn_core.identification.output.identified_parameters import Errors
from dyn_core.identification.pseudo_inertia import parameters_of

QUANTITIES = ("mass", *(f"centre {axis}" for axis in "xyz"), "XX", "XY", "XZ", "YY", "YZ", "ZZ")
"""What the ten numbers of a payload are called: the inertia is that about the centre of mass."""
UNITS = ("kg", *("m",) * 3, *("kg m^2",) * 6)
INFORMED = 0.1
"""Part of what is known of bodies alone that deviations have to be below for the motion to show a number: of
a mass, some half of it."""
PRIOR = 0.7
"""Part of the deviation of a number that may be one of what is known of bodies where the motion shows it."""
_STEP = 1e-6


@dataclass(frozen=True)
class PayloadValue:
    """A number of a payload.

    Attributes:
        name: one of `QUANTITIES`.
        value: its value.
        deviation: its standard deviation; inf where the motion does not show it.
        unit: its unit.
        shown: whether the motion shows it; where not, the value is what goes with the others.
    """

    name: str
    value: float
    deviation: float
    unit: str
    shown: bool


@dataclass(frozen=True)
class PayloadErrors:
    """How far the torques of a model are from those that were measured with the payload.

    Attributes:
        with_it: of the arm with the payload.
        without: of the same arm that holds nothing.
        least_squares: of the arm with the ten parameters that fit best, which need be those of no body.
    """

    with_it: Errors
    without: Errors
    least_squares: Errors


@dataclass(frozen=True, eq=False)
class Payload:
    """A body that a link holds: what `Robot.with_payload` takes.

    Attributes:
        link: the link.
        mass: its mass (kg).
        centre: its centre of mass in the frame of the link (m).
        inertia: XX XY XZ YY YZ ZZ about the centre of mass, on the axes of the link (kg m^2).
        parameters: ten parameters in the frame of the link, about its origin, that a body can have.
        covariance: their covariance.
        expected: their covariance by what is known of bodies alone, were there no motion.
        hidden: directions of them that the motion does not show: others make up for them, (10, r).
        least_squares: the ten parameters by least squares alone, which need be those of no body.
        least_squares_deviations: their standard deviations; inf where the motion does not show one alone.
        possible: whether those of least squares, as far as the motion shows them, are those of a body.
        distance: how far the body is from what fits best, in deviations; at most some 2 by noise.
        errors: on the motion with the payload; None where nobody has asked for them.
        findings: what is suspicious about the signals.
        remarks: what to know before believing it, in sentences.
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
    remarks: tuple[str, ...] = ()

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
        shown[0] |= bool(np.isfinite(self.least_squares_deviations[-1]))  # none is a mass, too
        deviations = np.where(shown, np.sqrt(variances), np.inf)
        numbers = (self.mass, *self.centre, *self.inertia)
        return tuple(
            PayloadValue(name, value, float(deviation), unit, bool(seen))
            for name, value, deviation, unit, seen in zip(
                QUANTITIES, numbers, deviations, UNITS, shown, strict=True
            )
        )

    def _unseen(self, J: Array) -> Array:
        """Variances of combinations J, (m, 10), of what no motion but knowledge of bodies says."""
        size = np.sqrt(np.diag(self.expected))
        N = np.linalg.qr(self.hidden / size[:, None])[0]
        correlation = self.expected / size[:, None] / size
        curvature = N.T @ np.linalg.solve(correlation, N)
        scaled = J * size @ N
        return np.asarray(np.einsum("ij,ij->i", scaled, np.linalg.solve(curvature, scaled.T).T))


def central(parameters: Array) -> Array:
    """Answer mass, centre of mass, and inertia about it, of ten parameters about the origin."""
    XX, XY, XZ, YY, YZ, ZZ = parameters[:6]
    mass = parameters[9]
    c = parameters[6:9] / mass
    J = np.array([[XX, XY, XZ], [XY, YY, YZ], [XZ, YZ, ZZ]])
    P = np.zeros((4, 4))
    P[:3, :3] = 0.5 * np.trace(J) * np.eye(3) - J - mass * np.outer(c, c)
    return np.concatenate([[mass], c, parameters_of(P)[:6]])


def _derivative(parameters: Array) -> Array:
    """Derivative of `central`, (10, 10), by central differences: it is of third order at most."""
    steps = _STEP * np.maximum(np.abs(parameters), 1e-3 * np.abs(parameters).max())
    columns = [
        (central(parameters + step) - central(parameters - step)) / (2.0 * size)
        for step, size in zip(np.diag(steps), steps, strict=True)
    ]
    return np.column_stack(columns)
