# SPDX-License-Identifier: Apache-2.0
"""From signals to what a link holds: beside signals without it, or beside an arm that is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.identification.at_rest import at_rest
from dyn_core.identification.diagnosis.diagnosis import diagnosis
from dyn_core.identification.estimators.estimation import Estimation
from dyn_core.identification.estimators.identification_settings import check_length, check_signals
from dyn_core.identification.fixed_joints import check_fixed, with_fixed_joints
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.known_arm import KnownArm, KnowsArm, identified_values
from dyn_core.identification.motor_coupling import motors_of
from dyn_core.identification.output.identified_parameters import Errors, Identified
from dyn_core.identification.payload.payload_estimate import (
    FAR,
    PayloadEstimate,
    payload_columns,
    payload_of_known_arm,
    payload_of_pair,
)
from dyn_core.identification.payload.payload_parameters import Payload, PayloadErrors
from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.remarks import COSTLY, MUCH
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.identification.stages import IdentifyStage, Progress
from dyn_core.identification.torque_error import torque_error
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.robot import Robot

DEFAULTS = IdentificationSettings()
WORSE = 0.005
"""Relative error of the fit by which it is worth a word that other bodies would do better."""
WITH, WITHOUT = "with the payload", "without it"


@one_thread()
def identify_payload(
    robot: Robot,
    link: str,
    signals: Signals,
    without: Signals | Identified | KnowsArm,
    settings: IdentificationSettings = DEFAULTS,
    progress: Progress = lambda stage: None,
) -> Payload:
    """Answer what a link holds, for `Robot.with_payload`.

    Args:
        robot: the robot.
        link: the link.
        signals: a motion with the payload, and what part of it fits.
        without: another motion without it, all of which is fitted; or what `identify` has found of the arm,
            or a file of parameters that `load_parameters` has read: its bodies are believed. Friction, which
            depends on load and temperature, is estimated anew in any case.
        settings: the friction and the couplings of the arm; friction that is not given is chosen by the
            motion without the payload.
        progress: is told the stages as they begin.

    Raises:
        DynError: the signals are not those of the robot, are wrong, or do not show what the link holds; or
            no body is what they show.
    """
    arm = without if isinstance(without, (Signals, Identified)) else without.known_arm(robot)
    if isinstance(arm, KnownArm):
        settings = replace(settings, couplings=(*settings.couplings, *arm.couplings))
    elif isinstance(arm, Identified):
        robot = _as_identified(robot, arm, signals)
        settings = replace(settings, friction=None)  # it is that of the arm
    base = base_columns(robot, motors_of(robot, signals, settings.couplings))
    payload_columns(link, base)  # a wrong name is told at once
    estimation = Estimation(robot, base, settings)
    progress(IdentifyStage.EQUATIONS)
    signals = _checked(robot, signals, settings, WITH)
    fitted, held_out = signals.split()
    loaded = _equations(fitted, base, settings, WITH)
    unseen = _equations(held_out, base, None, WITH) if len(held_out) else None
    # All of the motion is looked at: what is wrong with the signals is no choice of a model.
    findings = _findings(Equations(signals, base), settings, progress, WITH)
    if isinstance(arm, Signals):
        empty = _equations(_checked(robot, arm, settings, WITHOUT), base, settings, WITHOUT)
        findings += _findings(empty, settings, progress, WITHOUT)
        progress(IdentifyStage.FRICTION)
        models, _ = estimation.friction(empty)
        progress(IdentifyStage.FIT)
        of_empty, fit = estimation.fit(empty, models), estimation.fit(loaded, models)
        found = payload_of_pair(link, base, of_empty, fit)
    else:
        if isinstance(arm, KnownArm):
            models, x = arm.friction, arm.base_values(base)
        else:
            moving = zip(arm.joint_names, arm.friction, strict=True)
            models = tuple(friction.model for name, friction in moving if name not in arm.fixed)
            x = identified_values(robot, base, arm)
        progress(IdentifyStage.FIT)
        fit = estimation.fit(loaded, models)
        found = payload_of_known_arm(link, base, fit, x)
    progress(IdentifyStage.ERRORS)
    errors = _errors(found, loaded, unseen, models)
    _check_body(found.payload, errors)
    free = torque_error(loaded, models, fit.solution.x).relative
    remarks = (
        *_of_held_out(errors),
        *_of_link(link, errors.with_it.fitted.relative, free),
        *_remarks(found.payload, known=not isinstance(arm, Signals)),
    )
    return replace(found.payload, errors=errors, findings=findings, remarks=remarks)


def _as_identified(robot: Robot, arm: Identified, signals: Signals) -> Robot:
    """Answer the robot with the joints fixed that stood when it was identified; DynError if not here."""
    try:
        check_fixed(signals, arm.fixed)
    except DynError as error:
        raise _of_motion(WITH, error) from error
    return with_fixed_joints(robot, arm.fixed)


def _checked(robot: Robot, signals: Signals, settings: IdentificationSettings, which: str) -> Signals:
    """Answer signals that something can be identified from; DynError says of which motion it is."""
    try:
        signals = signals.of_joints(robot.coordinate_names)
        check_signals(robot, signals, settings)
    except DynError as error:
        raise _of_motion(which, error) from error
    return at_rest(signals)


def _equations(
    signals: Signals, base: BaseColumns, settings: IdentificationSettings | None, which: str
) -> Equations:
    """Answer the equations of signals: with settings, as many as have to be."""
    equations = Equations(signals, base)
    try:
        check_length(equations, 2) if settings is None else check_length(equations, 2 * settings.parts)
    except DynError as error:
        raise _of_motion(which, error) from error
    return equations


def _findings(
    equations: Equations, settings: IdentificationSettings, progress: Progress, which: str
) -> tuple[Finding, ...]:
    """Answer what is suspicious about signals; DynError where they are wrong."""
    if not settings.diagnose:
        return ()
    progress(IdentifyStage.DIAGNOSIS)
    found = diagnosis(equations, (FrictionModel(),) * equations.base.robot.dof)
    for finding in found:
        if finding.severity is Severity.ERROR:
            raise _of_motion(which, DynError(f"{finding.element}: {finding.message}"))
    return tuple(replace(finding, message=f"{which}: {finding.message}") for finding in found)


def _of_motion(which: str, error: DynError) -> DynError:
    return DynError(f"the motion {which}: {error.message}", element=error.element)


def _errors(
    found: PayloadEstimate, loaded: Equations, unseen: Equations | None, models: Sequence[FrictionModel]
) -> PayloadErrors:
    def errors(x: Array) -> Errors:
        return Errors(
            torque_error(loaded, models, x), None if unseen is None else torque_error(unseen, models, x)
        )

    return PayloadErrors(errors(found.x), errors(found.without), errors(found.least_squares))


def _check_body(payload: Payload, errors: PayloadErrors) -> None:
    """Refuse what no body comes near."""
    best, possible = errors.least_squares.fitted.relative, errors.with_it.fitted.relative
    if possible > COSTLY * best and possible - best > MUCH:
        raise DynError(
            f"no body at link '{payload.link}' explains the motion: the best one leaves {possible:.1%} of "
            f"the torques, parameters that no body has {best:.1%}; are the two interchanged, is it another "
            "link, or has something else changed, such as a zero or a sign?"
        )


def _of_held_out(errors: PayloadErrors) -> tuple[str, ...]:
    """Answer a sentence where what was held out speaks against the payload."""
    with_it, without = errors.with_it.held_out, errors.without.held_out
    if with_it is None or without is None or with_it.relative < without.relative:
        return ()
    return (
        f"what was held out speaks against the payload: with it {with_it.relative:.2%} of the torques are "
        f"left, without it {without.relative:.2%}",
    )


def _of_link(link: str, error: float, free: float) -> tuple[str, ...]:
    """Answer a sentence where the arm, were it free, would be another one than that with the payload."""
    if error <= COSTLY * free or error - free <= WORSE:
        return ()
    return (
        f"the arm with a payload at link '{link}' leaves {error:.2%} of the fitted torques, an arm of any "
        f"other bodies {free:.2%}: is it held by another link, or has something else changed?",
    )


def _remarks(payload: Payload, *, known: bool) -> tuple[str, ...]:
    found = []
    mass = payload.values[0]
    if mass.value < FAR * mass.deviation < math.inf:
        found.append(f"the mass is within {FAR:g} deviations of nothing: the motion shows hardly any payload")
    hidden = [value.name for value in payload.values if not value.shown]
    if hidden:
        found.append(
            f"the motion does not show {', '.join(hidden)}: in such motions others do as well, in other "
            "motions they may not; let more of the joints that carry the link move, fast and far"
        )
    if payload.distance > FAR:
        found.append(
            f"the body is {payload.distance:.1f} deviations from what fits best, which no body has: "
            "something else is not as in the motion without it"
        )
    if known:
        found.append(
            "the arm is believed as it is: deviations are those that go with an arm that was identified in a "
            "motion that shows as much as this one"
        )
    return tuple(found)
