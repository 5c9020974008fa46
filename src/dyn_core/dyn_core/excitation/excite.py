# SPDX-License-Identifier: Apache-2.0
"""From a robot and its limits to a trajectory that shows its parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dyn_core.control.trajectories.fourier_motion import FourierMotion
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.errors import DynError
from dyn_core.excitation.condition_number import HIDDEN, Columns, gram, parameter_columns
from dyn_core.excitation.drive_torques import drive_torques
from dyn_core.excitation.excitation import Excitation
from dyn_core.excitation.excitation_settings import coordinate_boxes
from dyn_core.excitation.feasible import Keeper
from dyn_core.excitation.loop_limits import loop_limits, where_closed, within_loops
from dyn_core.excitation.margins import margins, refuse_beyond
from dyn_core.excitation.motion_limits import motion_limits, without_boxes_of_one_joint
from dyn_core.excitation.optimisation_problem import problem
from dyn_core.excitation.rest_position import rest_position
from dyn_core.excitation.series import Series
from dyn_core.excitation.settings import ExcitationSettings
from dyn_core.excitation.spectrum import own_parts
from dyn_core.excitation.trajectory_search import Progress, Report, Search, condition_times
from dyn_core.facade.run_by import run_by
from dyn_core.model.fixed_base.dynamics_programs import traced
from dyn_core.model.refuse_moving_base import refuse_moving_base
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.robot.robot import Robot

DEFAULTS = ExcitationSettings()


def _silent(_: Progress) -> bool:
    return False


@one_thread()
def excite(robot: Robot, settings: ExcitationSettings = DEFAULTS, report: Report = _silent) -> Excitation:
    """Answer a trajectory from rest to rest that shows the dynamic parameters of a robot.

    A Fourier series, blended by polynomials of fifth order with a position at rest, whose coefficients make
    the condition number of the columns of the base parameters and of friction small, within ranges of
    positions, velocities, accelerations and torques, and outside of boxes. The same arguments give the same
    trajectory.

    Args:
        robot: the robot; its parameters give the torques.
        settings: limits, boxes, times, seed and effort of the search.
        report: told of the progress now and then; where it answers True the best trajectory so far is
            answered.

    Raises:
        DynError: no trajectory keeps the limits; the message names joint or box, and the value.
    """
    refuse_springs(robot, "excitation")
    refuse_moving_base(robot, "excitation")
    limits = motion_limits(robot, settings)
    loops = loop_limits(robot, settings)
    boxes = coordinate_boxes(robot, settings.boxes)
    torques = drive_torques(robot)
    if loops is not None:
        limits = within_loops(limits, loops)
        torques = replace(torques, rigid=where_closed(torques.rigid, loops))
    start, note = rest_position(settings.start, limits, torques, boxes, settings.seed)
    limits, remaining = without_boxes_of_one_joint(limits, boxes, start)
    if note:
        limits = replace(limits, notes=(*limits.notes, note))
    columns = parameter_columns(robot, limits, loops)
    task = problem(Series(settings, start), columns, torques, limits, remaining, loops)
    found = Search(task, Keeper(task), report).run()
    if found.coefficients is None:
        raise DynError(_nothing_found(found.complete))
    trajectory = task.series.motion(found.coefficients)
    efforts = run_by(robot, traced(robot, "inverse_dynamics"))
    tightest = margins(trajectory, limits, boxes, efforts, loops)
    refuse_beyond(tightest)
    for part in (trajectory, limits):
        for value in vars(part).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
    return Excitation(
        robot,
        settings,
        trajectory,
        found.condition,
        found.before,
        columns.names,
        columns.left_out,
        columns.unshown,
        _hidden(columns, trajectory),
        limits,
        tightest,
        found.complete,
    )


def _hidden(columns: Columns, trajectory: FourierMotion) -> tuple[str, ...]:
    """Answer the parameters that a motion hardly shows."""
    parts = own_parts(gram(columns, trajectory.at_many(condition_times(trajectory.duration))))
    return tuple(name for name, part in zip(columns.names, parts, strict=True) if part < HIDDEN)


def _nothing_found(complete: bool) -> str:
    if not complete:
        return "the search was ended before a trajectory was found: give it more time"
    return (
        "no trajectory was found that keeps all limits from the start on, not even a small one: the start "
        "is next to a "
        "limit or to a box; give another start, or use more of the limits"
    )
