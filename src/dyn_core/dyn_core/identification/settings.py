# SPDX-License-Identifier: Apache-2.0
"""How parameters are identified."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.identification.estimators.described_parameters import WEIGHT
from dyn_core.identification.estimators.estimators import ESTIMATORS, Estimator
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.motor_coupling import MotorCoupling


@dataclass(frozen=True)
class IdentificationSettings:
    """How parameters are identified.

    Attributes:
        friction: friction of each joint; None to choose it by cross-validation within the fitted part.
        loaded: whether friction that is chosen may depend on the load.
        parts: parts of the fitted time in cross-validation.
        estimator: how base parameters and friction are estimated; models of friction are chosen by weighted
            least squares in any case.
        prior_weight: weight of the description among physically consistent parameters.
        couplings: motors that move several joints.
        diagnose: whether to look for wrong signs, swapped joints, saturation and delays.
    """

    friction: tuple[FrictionModel, ...] | None = None
    loaded: bool = True
    parts: int = 5
    estimator: Estimator = "wls"
    prior_weight: float = WEIGHT
    couplings: tuple[MotorCoupling, ...] = ()
    diagnose: bool = True

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.estimator not in ESTIMATORS:
            raise ValueError(
                f"estimator: expected one of {', '.join(ESTIMATORS)}, but it is {self.estimator!r}"
            )
        if self.parts < 2:
            raise ValueError(f"parts: expected 2 or more for cross-validation, but it is {self.parts!r}")
        if not self.prior_weight > 0.0:
            raise ValueError(f"prior_weight: expected a number > 0, but it is {self.prior_weight!r}")
