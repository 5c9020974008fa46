# SPDX-License-Identifier: Apache-2.0
"""Settings of an identification: estimators, friction, prior; stages of progress; input checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias, get_args

from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.identification.estimators.described_parameters import WEIGHT
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.regressor.base_columns import MotorCoupling
from dyn_core.identification.regressor.motion_equations import Equations, moving
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.robot import Robot

Estimator = Literal["ols", "wls", "irls", "tls", "iv", "oe"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
# estimators that simulate the robot, and so need its control
SIMULATING: frozenset[Estimator] = frozenset({"iv", "oe"})
IN_SHORT = dict.fromkeys(ESTIMATORS, "least squares") | {"iv": "instrumental", "oe": "output error"}
IN_WORDS: dict[Estimator, str] = {
    "ols": "ordinary least squares",
    "wls": "weighted least squares",
    "irls": "iteratively reweighted least squares",
    "tls": "total least squares",
    "iv": "instrumental variables of a simulated motion",
    "oe": "output error of a simulated motion",
}


@dataclass(frozen=True)
class IdentificationSettings:
    """How parameters are identified.

    Attributes:
        friction: friction of each joint; None to choose it by cross-validation within the fitted part.
        loaded: whether the chosen friction may depend on the load.
        parts: parts of the fitted time in cross-validation.
        estimator: how base parameters and friction are estimated; friction models are always chosen by
            weighted least squares.
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
        """Reject invalid settings."""
        if self.estimator not in ESTIMATORS:
            known = f"one of {', '.join(ESTIMATORS)}"
            raise ArgumentError(
                "argument-choice-unknown", argument="estimator", known=known, given=self.estimator
            )
        for name, is_valid, expected in (
            ("parts", self.parts >= 2, "2 or more for cross-validation"),
            ("prior_weight", self.prior_weight > 0.0, "a number > 0"),
        ):
            if not is_valid:
                given = getattr(self, name)
                raise ArgumentError("argument-range", argument=name, expected=expected, given=given)


Progress: TypeAlias = Callable[[str], object]  # takes the description of the stage that begins


class _Words(str, Enum):
    def __str__(self) -> str:
        return str(self.value)


class IdentifyStage(_Words):
    """The stages of `identify`, in order."""

    EQUATIONS = "computing the equations"
    DIAGNOSIS = "looking for wrong signs, swapped joints, saturation and delays"
    FRICTION = "choosing friction models by cross-validation"
    FIT = "fitting base parameters and friction"
    BODIES = "finding parameters that bodies can have"
    NODES = "fitting friction as the nodes have it"
    ERRORS = "measuring the errors"


class ResultStage(_Words):
    """The stages around it, from the log to the result."""

    READING = "reading the log"
    CONDITIONING = "conditioning the signals"
    COMPARING = "comparing measured and predicted torques"


def check_signals(robot: Robot, signals: Signals, settings: IdentificationSettings) -> None:
    """Reject signals without motion or efforts, and settings of another robot."""
    if settings.friction is not None and len(settings.friction) != robot.dof:
        raise DynError("friction-count", given=len(settings.friction), expected=robot.dof)
    if settings.estimator in SIMULATING:
        _check_control(signals, settings)
    if not 0.0 < signals.train <= 1.0:
        raise ArgumentError(
            "argument-range", argument="train", expected="a part of the time, in (0, 1]", given=signals.train
        )
    if not any(signals.has_effort):
        raise DynError("signals-without-efforts")
    if not any(moving(signals)):
        raise DynError("signals-without-motion")


def _check_control(signals: Signals, settings: IdentificationSettings) -> None:
    """Reject an estimator that simulates the robot, without the control signals that it needs."""
    name, control = settings.estimator, signals.control
    if control is None:
        raise DynError("control-unknown", estimator=name)
    if control.q.shape != signals.q.shape:
        raise DynError(
            "control-signals-mismatch",
            samples=len(control.q),
            joints=control.q.shape[1],
            expected_samples=len(signals),
            expected_joints=signals.dof,
        )
    if settings.couplings or signals.drives:
        raise DynError("estimator-coupling-unsupported", estimator=name)


def check_closes(equations: Equations) -> None:
    """Reject a motion in which the loops of the robot do not close."""
    signals, base = equations.signals, equations.base
    if base.closes(signals.q):
        return
    try:
        base.columns(signals.q, signals.qd, signals.qdd)
    except DynError as error:
        raise DynError("motion-opens-loops", cause=error.detail, element=error.element) from error


def check_length(equations: Equations, least: int) -> None:
    """Reject equations that are fewer than `least`, or than the parameters."""
    needed = max(least, equations.shared)
    if len(equations) < needed:
        signals = equations.signals
        duration = len(signals) * signals.period
        raise DynError(
            "joint-equations-too-few",
            duration=duration,
            count=len(equations),
            needed=needed,
            parameters=equations.shared,
            decimation=signals.decimate,
        )
