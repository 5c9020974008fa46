# SPDX-License-Identifier: Apache-2.0
"""The base (minimum) inertial parameters of a robot, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.grouping.polynomial import polynomial
from dyn_core.model.standard_parameters import INERTIAL, parameter_names

PER_BODY = (*INERTIAL, "Ia")
"""Inertial parameters of a body and of the rotor of its joint."""


def standard_names(joints: int) -> tuple[str, ...]:
    """Names of the 11 n standard inertial parameters of n joints."""
    return tuple(f"{name}{j}" for j in range(1, joints + 1) for name in PER_BODY)


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Independent combinations of inertial parameters that give all joint torques.

    Attributes:
        robot_name: name of the robot.
        standard_names: names of the standard inertial parameters: XX1 to M1, Ia1, XX2 ....
        kept: the standard parameter that each base parameter stands in the place of, in their order.
        matrix: ``base = matrix @ standard`` (SI units), the unit matrix in the columns of `kept`.
        method: ``"symbolic"`` or ``"numeric"``.
        coefficients: entries of `matrix` as polynomials in lengths of the robot; None where they are numbers.
        lengths: those lengths by symbol (m): b, d and r of the joints.
    """

    robot_name: str
    standard_names: tuple[str, ...]
    kept: tuple[str, ...]
    matrix: Matrix
    method: str
    coefficients: Matrix | None = None
    lengths: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Answer how many there are, and of which robot."""
        return f"<{len(self.kept)} base parameters of '{self.robot_name}', {self.method}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters: ``XXR2`` where others are grouped in XX2, ``XX2`` where none is."""
        return tuple(
            grouped_name(name) if np.count_nonzero(row) > 1 else name
            for name, row in zip(self.kept, self.matrix, strict=True)
        )

    @property
    def expressions(self) -> tuple[str, ...]:
        """The base parameters as text that Python reads, ``XXR2 = XX2 - YY2``, with numbers of 15 digits."""
        coefficients = self.matrix if self.coefficients is None else self.coefficients
        return tuple(
            f"{name} = {combination(kept, self.standard_names, row, np.flatnonzero(numbers).tolist())}"
            for name, kept, row, numbers in zip(self.names, self.kept, coefficients, self.matrix, strict=True)
        )

    @property
    def columns(self) -> tuple[int, ...]:
        """Places of `kept` in `standard_names`."""
        place = {name: k for k, name in enumerate(self.standard_names)}
        return tuple(place[name] for name in self.kept)

    @property
    def regressor_columns(self) -> tuple[int, ...]:
        """Places of `kept` in `Robot.parameter_names`, and among the columns of a regressor."""
        joints = _split(self.standard_names[-1])[1] if self.standard_names else 0
        place = {name: k for k, name in enumerate(parameter_names(joints))}
        return tuple(place[name] for name in self.kept)

    @property
    def no_effect(self) -> tuple[str, ...]:
        """Names of the standard parameters that no torque depends on."""
        used = np.any(self.matrix != 0.0, axis=0)
        return tuple(name for name, in_use in zip(self.standard_names, used, strict=True) if not in_use)

    @property
    def grouped(self) -> dict[str, tuple[str, ...]]:
        """By standard parameter that is grouped with others: names of the base parameters that have it."""
        left = {*self.kept, *self.no_effect}
        names = np.array(self.names)
        return {
            name: tuple(names[self.matrix[:, k] != 0.0].tolist())
            for k, name in enumerate(self.standard_names)
            if name not in left
        }

    def values(self, standard: Mapping[str, float]) -> Matrix:
        """Values of the base parameters (SI units).

        Args:
            standard: values of the standard parameters by name; others may be among them.
        """
        values: Matrix = self.matrix @ np.array([standard[name] for name in self.standard_names])
        return values


def grouped_name(name: str) -> str:
    """Answer the name of a parameter that others were grouped in: XX2 becomes XXR2."""
    letters, number = _split(name)
    return f"{letters}R{number}"


def _split(name: str) -> tuple[str, int]:
    """Answer the letters and the number of the joint in the name of a parameter."""
    letters = name.rstrip("0123456789")
    return letters, int(name[len(letters) :])


def combination(first: str, names: Sequence[str], coefficients: Matrix, places: Iterable[int]) -> str:
    """Answer a linear combination as text that begins with one of its terms, of coefficient 1.

    Args:
        first: the name that the text begins with.
        names: all names.
        coefficients: their coefficients, numbers or polynomials.
        places: places of the names that are in the text.
    """
    terms = [first]
    for k in places:
        if names[k] != first:
            factor = polynomial(coefficients[k])
            sign, text = ("-", (-factor).text) if factor.text.startswith("-") else ("+", factor.text)
            text = f"({text})" if len(factor.terms) > 1 else text
            terms.append(f"{sign} {names[k]}" if text == "1" else f"{sign} {text}*{names[k]}")
    return " ".join(terms)
