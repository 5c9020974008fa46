# SPDX-License-Identifier: Apache-2.0
"""An arm whose parameters are known without what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.motor_coupling import MotorCoupling
from dyn_core.identification.output.identified_parameters import Identified
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class KnownArm:
    """What is known of an arm that holds nothing.

    Attributes:
        standard: its standard parameters by name, with those of motors that move several joints.
        friction: the friction model of each joint.
        couplings: the motors that move several joints.
    """

    standard: Mapping[str, float]
    friction: tuple[FrictionModel, ...]
    couplings: tuple[MotorCoupling, ...] = ()

    def base_values(self, base: BaseColumns) -> Array:
        """Answer the values of base parameters; DynError where a motor is not known."""
        unknown = [name for name in base.standard_names if name not in self.standard]
        if unknown:
            raise DynError(
                f"{listed(unknown)} are not among the parameters of the arm that is known: give the coupling "
                "of its wrist as it was when it was identified"
            )
        values: Array = base.matrix @ np.array([self.standard[name] for name in base.standard_names])
        return values


class KnowsArm(Protocol):
    """What knows an arm, such as a file of parameters that was read."""

    def known_arm(self, robot: Robot) -> KnownArm:
        """Answer what is known of a robot; DynError where that is another one."""


def identified_values(robot: Robot, base: BaseColumns, found: Identified) -> Array:
    """Answer the values of the base parameters that `identify` has found."""
    if tuple(p.name for p in found.base) != base.names:
        raise DynError(
            f"the arm that was identified, '{found.robot_name}', has other base parameters than "
            f"'{robot.name}': give the same robot and couplings"
        )
    return np.array([p.value for p in found.base])
