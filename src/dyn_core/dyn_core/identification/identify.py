# SPDX-License-Identifier: Apache-2.0
"""From signals to parameters with their deviations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.identification.at_rest import at_rest
from dyn_core.identification.diagnosis.diagnosis import diagnosis
from dyn_core.identification.diagnosis.reliability import whiteness
from dyn_core.identification.essential import essential
from dyn_core.identification.estimators.estimation import Estimation
from dyn_core.identification.estimators.identification_settings import (
    check_closes,
    check_length,
    check_signals,
)
from dyn_core.identification.estimators.least_squares import own_columns
from dyn_core.identification.fixed_joints import fixed_positions, of_free_joints, with_all_joints
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.motor_coupling import motors_of
from dyn_core.identification.offsets import grouped_offsets
from dyn_core.identification.output.identified_parameters import Errors, Identified, Procedure
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.identification.remarks import cost_of_possible, of_fixed_joints, of_standing_held_out, remarks
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.identification.stages import IdentifyStage, Progress
from dyn_core.identification.tables import (
    Estimate,
    base_table,
    friction_table,
    motor_table,
    standard_frictions,
    standard_table,
)
from dyn_core.identification.torque_error import torque_error
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.robot import Robot

DEFAULTS = IdentificationSettings()


@one_thread()
def identify(
    robot: Robot,
    signals: Signals,
    settings: IdentificationSettings = DEFAULTS,
    progress: Progress = lambda stage: None,
) -> Identified:
    """Answer the parameters of a robot that a motion shows.

    Args:
        robot: the robot; its parameters are what is expected.
        signals: what was measured, what part of it fits, and how its equations are filtered; see `condition`.
        settings: how.
        progress: is told the stages as they begin.

    Raises:
        DynError: the signals are not those of the robot, too few, or no joint moves.
    """
    signals = signals.of_joints(robot.coordinate_names)
    check_signals(robot, signals, settings)
    coupled = {joint for motor in motors_of(robot, signals, settings.couplings) for joint in motor.joints}
    positions = fixed_positions(signals, coupled)
    found = _identified(*of_free_joints(robot, signals, settings, positions), progress)
    found = replace(found, remarks=(*found.remarks, *of_fixed_joints(positions)))
    return with_all_joints(found, robot, positions)


def _identified(
    robot: Robot, signals: Signals, settings: IdentificationSettings, progress: Progress
) -> Identified:
    """Answer the parameters of a robot of which all joints move, but for those that motors couple."""
    fitted, held_out = at_rest(signals).split()
    motors = motors_of(robot, signals, settings.couplings)
    base = base_columns(robot, motors)
    progress(IdentifyStage.EQUATIONS)
    equations = Equations(fitted, base)
    check_closes(equations)
    check_length(equations, 2 * settings.parts)
    unseen = Equations(held_out, base) if len(held_out) else None
    if unseen is not None:
        check_closes(unseen)
        check_length(unseen, 2)
    if settings.diagnose:
        progress(IdentifyStage.DIAGNOSIS)
    findings = diagnosis(equations, (FrictionModel(),) * robot.dof) if settings.diagnose else ()
    estimation = Estimation(robot, base, settings)
    if settings.friction is None:
        progress(IdentifyStage.FRICTION)
    models, tried = estimation.friction(equations)
    progress(IdentifyStage.FIT)
    fit = estimation.fit(equations, models, progress)
    solution = fit.solution
    left = fit.residuals
    decimation = fit.rows.equations.decimation
    segments = decimation.segments(fit.rows.equations.signals.segments)
    spread = fit.deviations(left)
    needed = essential(solution, spread / np.where(solution.identifiable, solution.deviations, 1.0))
    progress(IdentifyStage.BODIES)
    consistent = estimation.possible(models, fit)
    own = own_columns(fit.data)
    progress(IdentifyStage.NODES)
    frictions = standard_frictions(equations, models, consistent, own, motors)
    at_once = standard_frictions(equations, models, consistent, own, motors, at_once=True)
    plain = Estimate(solution.x, spread, needed, solution.identifiable)
    of_friction = np.concatenate([spread[: len(base.kept)], consistent.friction_deviations])
    possible = Estimate(consistent.x, of_friction, needed, solution.identifiable)

    offsets = grouped_offsets(base, models)
    stood = equations.stands.mean(axis=0).tolist()
    progress(IdentifyStage.ERRORS)

    def errors(x: Array) -> Errors:
        return Errors(
            torque_error(equations, models, x), None if unseen is None else torque_error(unseen, models, x)
        )

    of_plain, of_possible = errors(plain.x), errors(possible.x)
    return Identified(
        robot.name,
        robot.coordinate_names,
        base_table(robot, base, plain),
        friction_table(robot, models, own, plain, tried),
        standard_table(robot, consistent, frictions, motors, base.passive),
        friction_table(robot, models, own, possible, tried),
        base_table(robot, base, possible),
        tuple(friction.v0 for friction in frictions),
        {
            name: value
            for j, friction in zip(robot.coordinates, at_once, strict=True)
            for name, value in zip(FrictionModel().names(j), friction.values, strict=True)
        },
        motor_table(robot, consistent, motors),
        of_plain,
        of_possible,
        solution.condition,
        tuple(whiteness(left, fit.rows.used, decimation, segments).tolist()),
        tuple(stood),
        {},
        offsets,
        _procedure(signals, settings, len(fit.rows)),
        cost_of_possible(of_plain.fitted.relative, of_possible.fitted.relative)
        + remarks(robot, base, fitted, models, solution, stood, offsets)
        + (
            ()
            if unseen is None
            else of_standing_held_out(robot.coordinate_names, unseen.stands.mean(axis=0).tolist())
        ),
        findings,
    )


def _procedure(signals: Signals, settings: IdentificationSettings, equations: int) -> Procedure:
    return Procedure(
        signals.done,
        len(signals),
        signals.period,
        signals.cutoff,
        signals.train,
        signals.decimate,
        equations,
        settings.estimator,
        settings.parts,
        settings.prior_weight,
    )
