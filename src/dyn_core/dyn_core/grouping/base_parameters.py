# SPDX-License-Identifier: Apache-2.0
"""The base (minimum) inertial parameters of a robot, as data."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from dyn_core.algorithms.base_parameters.combinations import Combinations
from dyn_core.grouping.inertial_maps import Matrix
from dyn_core.model.standard_parameters import INERTIAL, parameter_names

PER_BODY = (*INERTIAL, "Ia")
"""Inertial parameters of a body and of the rotor of its joint."""


def standard_names(joints: int) -> tuple[str, ...]:
    """Names of the 11 n standard inertial parameters of n joints."""
    return tuple(f"{name}{j}" for j in range(1, joints + 1) for name in PER_BODY)


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters(Combinations):
    """Independent combinations of inertial parameters that give all joint torques.

    Attributes:
        standard_names: names of the standard inertial parameters: XX1 to M1, Ia1, XX2 ....
        kept: the standard parameter that each base parameter stands in the place of, in their order.
        matrix: ``base = matrix @ standard`` (SI units), the unit matrix in the columns of `kept`.
        robot_name: name of the robot.
        joints: number of its joints.
        method: ``"symbolic"`` or ``"numeric"``.
        coefficients: entries of `matrix` as polynomials in lengths of the robot; None where they are numbers.
        lengths: those lengths by symbol (m): b, d and r of the joints.
    """

    robot_name: str
    joints: int
    method: str
    coefficients: Matrix | None = None
    lengths: Mapping[str, float] = field(default_factory=dict)
    by_numbers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Answer how many there are, and of which robot."""
        return f"<{len(self.kept)} base parameters of '{self.robot_name}', {self.method}>"

    @property
    def expressions(self) -> tuple[str, ...]:
        """The base parameters as text that Python reads, ``XXR2 = XX2 - YY2``.

        Numbers have 15 digits, where they come of random states the 12 that are known.
        """
        return self.expressions_of(self.standard_names)

    def expressions_of(self, present: Collection[str]) -> tuple[str, ...]:
        """Answer the same with these parameters alone, for a robot of which the others are 0."""
        if self.coefficients is not None:
            return self.written(self.coefficients, present)
        if self.method == "symbolic" and not self.by_numbers:
            return self.written(self.matrix, present)
        known = [float(f"{x:.12g}") for x in self.matrix.flat]
        return self.written(np.array(known).reshape(self.matrix.shape), present)

    @property
    def columns(self) -> tuple[int, ...]:
        """Places of `kept` in `standard_names`."""
        place = {name: k for k, name in enumerate(self.standard_names)}
        return tuple(place[name] for name in self.kept)

    @property
    def regressor_columns(self) -> tuple[int, ...]:
        """Places of `kept` in `Robot.parameter_names`, and among the columns of a regressor."""
        place = {name: k for k, name in enumerate(parameter_names(self.joints))}
        return tuple(place[name] for name in self.kept)
