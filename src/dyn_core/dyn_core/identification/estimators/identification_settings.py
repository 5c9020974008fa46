# SPDX-License-Identifier: Apache-2.0
"""What no identification can be made of is refused, with what to do."""

from __future__ import annotations

from dyn_core.core.errors import DynError
from dyn_core.identification.at_rest import moving
from dyn_core.identification.estimators.estimators import SIMULATING
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.robot import Robot


def check_signals(robot: Robot, signals: Signals, settings: IdentificationSettings) -> None:
    """Refuse signals of which nothing moves or nothing was measured, and settings of another robot."""
    if settings.friction is not None and len(settings.friction) != robot.dof:
        raise DynError(f"friction was given for {len(settings.friction)} joints, but there are {robot.dof}")
    _check_estimator(signals, settings)
    if not 0.0 < signals.train <= 1.0:
        raise ValueError(f"train: expected a part of the time, in (0, 1], but it is {signals.train!r}")
    if not any(signals.has_effort):
        raise DynError("no effort was measured, of no joint: nothing can be identified from positions alone")
    if not any(moving(signals)):
        raise DynError("no joint moves in this motion: nothing can be identified from it")


def _check_estimator(signals: Signals, settings: IdentificationSettings) -> None:
    """Refuse an estimator that does not know what it needs."""
    name, control = settings.estimator, signals.control
    if name not in SIMULATING:
        return
    if control is None:
        raise DynError(
            f"the estimator {name} simulates the robot under the control that moved it, which nobody says: "
            "name in the map of the log, under control, the columns of what was asked for, and the gains; or "
            "use wls"
        )
    if control.q.shape != signals.q.shape:
        raise DynError(
            f"the control has {len(control.q)} samples of {control.q.shape[1]} joints, but the signals have "
            f"{len(signals)} of {signals.dof}: give it at the times of the signals, of all joints"
        )
    if settings.couplings or signals.drives:
        raise DynError(f"the estimator {name} cannot simulate motors that move several joints: use wls")


def check_closes(equations: Equations) -> None:
    """Refuse a motion in which the loops of the robot would have to be open."""
    signals, base = equations.signals, equations.base
    if base.closes(signals.q):
        return
    try:
        base.columns(signals.q, signals.qd, signals.qdd)
    except DynError as error:
        raise DynError(
            f"{error.message}; in a log, look at the zeros and signs of the positions", element=error.element
        ) from error


def check_length(equations: Equations, least: int) -> None:
    """Refuse equations that are fewer than `least`, or than parameters."""
    needed = max(least, equations.shared)
    if len(equations) < needed:
        signals = equations.signals
        duration = len(signals) * signals.period
        raise DynError(
            f"{duration:.3g} s of motion give {len(equations)} equations for each joint, but {needed} are "
            f"needed for {equations.shared} base parameters: measure for longer, or decimate less than by "
            f"{signals.decimate}"
        )
