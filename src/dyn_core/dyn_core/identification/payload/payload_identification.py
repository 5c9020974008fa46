# SPDX-License-Identifier: Apache-2.0
"""Identification of a payload from signals with it, beside signals without it or a known arm."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from dyn_core.core.blas_threads import one_thread
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.identification.diagnosis.reliability import COSTLY, MUCH
from dyn_core.identification.diagnosis.signal_diagnosis import diagnosis
from dyn_core.identification.estimators.estimation import Estimation
from dyn_core.identification.estimators.identification_settings import (
    IdentificationSettings,
    IdentifyStage,
    Progress,
    check_length,
    check_signals,
)
from dyn_core.identification.fixed_joints import check_fixed, with_fixed_joints
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.output.identified_parameters import (
    ArmSource,
    Identified,
    KnownArm,
    identified_values,
)
from dyn_core.identification.output.parameter_tables import torque_error, torque_errors
from dyn_core.identification.payload.payload_estimate import (
    FAR,
    PayloadEstimate,
    payload_columns,
    payload_of_known_arm,
    payload_of_pair,
)
from dyn_core.identification.payload.payload_parameters import Payload, PayloadErrors
from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns, motors_of
from dyn_core.identification.regressor.motion_equations import Equations, at_rest
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.robot import Robot

WORSE = 0.005  # relative error of the fit above that of a free arm that is reported
WITH, WITHOUT = "with the payload", "without it"


@one_thread()
def identify_payload(
    robot: Robot,
    link: str,
    signals: Signals,
    without: Signals | Identified | ArmSource,
    settings: IdentificationSettings = IdentificationSettings(),  # noqa: B008 - it is frozen
    progress: Progress = lambda stage: None,
) -> Payload:
    """Return the payload of a link, for `Robot.with_payload`.

    Args:
        robot: the robot.
        link: name of the link.
        signals: a motion with the payload; its training part is fitted.
        without: another motion without it, which is fitted as a whole; or the result of `identify` for the
            arm, or a parameter file from `load_parameters`, whose bodies are taken as exact. Friction depends
            on load and temperature, and is always estimated anew.
        settings: friction and couplings of the arm; friction that is not given is chosen with the motion
            without the payload.
        progress: receives each stage when it begins.

    Raises:
        DynError: the signals do not fit the robot, are wrong, or do not show the payload; or no body fits
            them.
    """
    arm = without if isinstance(without, (Signals, Identified)) else without.known_arm(robot)
    if isinstance(arm, KnownArm):
        settings = replace(settings, couplings=(*settings.couplings, *arm.couplings))
    elif isinstance(arm, Identified):
        with _of_motion(WITH):
            check_fixed(signals, arm.fixed)
        robot = with_fixed_joints(robot, arm.fixed)
        settings = replace(settings, friction=None)  # it is that of the arm
    base = base_columns(robot, motors_of(robot, signals, settings.couplings))
    payload_columns(link, base)  # rejects a wrong name at once
    estimation = Estimation(base, settings)
    progress(IdentifyStage.EQUATIONS)
    signals = _checked(robot, signals, settings, WITH)
    fitted, held_out = signals.split()
    loaded = _equations(fitted, base, settings, WITH)
    unseen = _equations(held_out, base, None, WITH) if len(held_out) else None
    # The diagnosis uses the whole motion: it does not choose a model.
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


def _checked(robot: Robot, signals: Signals, settings: IdentificationSettings, which: str) -> Signals:
    """Return signals that can be identified from; DynError names the motion."""
    with _of_motion(which):
        signals = signals.of_joints(robot.coordinate_names)
        check_signals(robot, signals, settings)
    return at_rest(signals)


def _equations(
    signals: Signals, base: BaseColumns, settings: IdentificationSettings | None, which: str
) -> Equations:
    """Return the equations of signals; with settings, at least as many as those need."""
    equations = Equations(signals, base)
    with _of_motion(which):
        check_length(equations, 2 if settings is None else 2 * settings.parts)
    return equations


def _findings(
    equations: Equations, settings: IdentificationSettings, progress: Progress, which: str
) -> tuple[Finding, ...]:
    """Return suspicious findings about signals; DynError if they are wrong."""
    if not settings.diagnose:
        return ()
    progress(IdentifyStage.DIAGNOSIS)
    found = diagnosis(equations, (FrictionModel(),) * equations.base.robot.dof)
    with _of_motion(which):
        for finding in found:
            if finding.severity is Severity.ERROR:
                raise DynError("payload-signals-wrong", subject=finding.element, cause=finding.detail)
    return tuple(replace(finding, motion=which) for finding in found)


@contextmanager
def _of_motion(which: str) -> Iterator[None]:
    """Name the motion in errors."""
    try:
        yield
    except DynError as error:
        raise DynError(
            "payload-motion-unusable", motion=which, cause=error.detail, element=error.element
        ) from error


def _errors(
    found: PayloadEstimate, loaded: Equations, unseen: Equations | None, models: Sequence[FrictionModel]
) -> PayloadErrors:
    estimates = (found.x, found.without, found.least_squares)
    return PayloadErrors(*(torque_errors(loaded, unseen, models, x) for x in estimates))


def _check_body(payload: Payload, errors: PayloadErrors) -> None:
    """Reject signals that no body fits."""
    best, possible = errors.least_squares.fitted.relative, errors.with_it.fitted.relative
    if possible > COSTLY * best and possible - best > MUCH:
        raise DynError("payload-body-inconsistent", link=payload.link, residual=possible, least=best)


def _of_held_out(errors: PayloadErrors) -> tuple[Message, ...]:
    """Return a remark if the held-out data speak against the payload."""
    with_it, without = errors.with_it.held_out, errors.without.held_out
    if with_it is None or without is None or with_it.relative < without.relative:
        return ()
    return (Message("held-out-against-payload", residual=with_it.relative, without=without.relative),)


def _of_link(link: str, error: float, free: float) -> tuple[Message, ...]:
    """Return a remark if a free arm would differ from the arm with the payload."""
    if error <= COSTLY * free or error - free <= WORSE:
        return ()
    return (Message("payload-link-doubtful", link=link, residual=error, least=free),)


def _remarks(payload: Payload, *, known: bool) -> tuple[Message, ...]:
    found = []
    mass = payload.values[0]
    if mass.value < FAR * mass.deviation < math.inf:
        found.append(Message("payload-mass-uncertain", deviations=FAR))
    hidden = [value.name for value in payload.values if not value.shown]
    if hidden:
        found.append(Message("payload-values-hidden", hidden=hidden))
    if payload.distance > FAR:
        found.append(Message("payload-body-far", distance=float(payload.distance)))
    if known:
        found.append(Message("payload-arm-believed"))
    return tuple(found)
