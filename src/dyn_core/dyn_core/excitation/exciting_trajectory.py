# SPDX-License-Identifier: Apache-2.0
"""Find an exciting trajectory for identification, and write it as CSV, JSON or YAML."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dyn_core.control.trajectories.fourier_motion import FourierMotion
from dyn_core.core.arrays import Array
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.excitation.condition_number import HIDDEN, gram, own_parts, parameter_columns
from dyn_core.excitation.excitation_settings import ExcitationSettings, coordinate_boxes
from dyn_core.excitation.motion_limits import (
    MotionLimits,
    drive_torques,
    loop_limits,
    motion_limits,
    where_closed,
    within_loops,
    without_boxes_of_one_joint,
)
from dyn_core.excitation.optimisation_problem import Series, problem
from dyn_core.excitation.rest_position import Margin, margins, refuse_beyond, rest_position
from dyn_core.excitation.trajectory_search import Keeper, Progress, Report, Search, condition_times
from dyn_core.model.fixed_base.compiled_model import run_by
from dyn_core.model.fixed_base.dynamics_programs import traced
from dyn_core.robot.robot import Robot, refuse_moving_base, refuse_springs
from dyn_core.simulation.simulation_run import Lines, Sample, header

DEFAULTS = ExcitationSettings()
MOST_ROWS = 5_000_000
PIECE = 10_000
"""Samples that are computed at a time, so that memory stays bounded."""
NANO = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion from rest to rest within limits, which excites the dynamic parameters of a robot.

    Attributes:
        robot: the robot.
        settings: settings of the search.
        trajectory: the motion: ``trajectory.at(t)`` has positions, velocities and accelerations q, qd, qdd
            (n,) at any time, ``trajectory.at_many(times)`` those at N times (N, n).
        condition: condition number of the columns of `parameter_names`, scaled to unit length, with the rows
            of all joints every hundredth of a second.
        initial_condition: condition number of the first random motion within the limits.
        parameter_names: identifiable base parameters of bodies and rotors, and friction.
        left_out: friction parameters with the same effect as others.
        unshown: parameters that no motion within the limits shows: 99.9 % of their columns are combinations
            of others everywhere. They are not in the condition number.
        hidden: parameters that this motion hardly shows: 99.9 % of the column of each is a combination of
            others, and its relative errors are a thousand times those of the torques.
        limits: the limits that are kept, and the assumptions about them.
        margins: the tightest joint of each kind of limit, and the nearest box, on a dense grid of times.
        complete: whether the search was not ended early.
    """

    robot: Robot
    settings: ExcitationSettings
    trajectory: FourierMotion
    condition: float
    initial_condition: float
    parameter_names: tuple[str, ...]
    left_out: tuple[str, ...]
    unshown: tuple[str, ...]
    hidden: tuple[str, ...]
    limits: MotionLimits
    margins: tuple[Margin, ...]
    complete: bool

    @property
    def duration(self) -> float:
        """Time from rest to rest (s)."""
        return self.trajectory.duration

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of every vector."""
        return self.robot.coordinate_names

    def __repr__(self) -> str:
        """Return robot, duration and condition number."""
        return f"<Excitation of {self.robot!r}, {self.duration:g} s, condition number {self.condition:.4g}>"


def _silent(_: Progress) -> bool:
    return False


@one_thread()
def excite(robot: Robot, settings: ExcitationSettings = DEFAULTS, report: Report = _silent) -> Excitation:
    """Return a trajectory from rest to rest that excites the dynamic parameters of a robot.

    The trajectory is a Fourier series, blended with a position at rest by polynomials of fifth order. Its
    coefficients minimise the condition number of the columns of base parameters and friction, within the
    limits of positions, velocities, accelerations and torques, and outside of boxes. The same arguments give
    the same trajectory.

    Args:
        robot: the robot; its parameters give the torques.
        settings: limits, boxes, times, seed and effort of the search.
        report: called with the progress of the search. If it returns True, the search ends with the best
            trajectory so far.

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
        raise DynError("trajectory-not-found" if found.complete else "search-ended")
    trajectory = task.series.motion(found.coefficients)
    efforts = run_by(robot, traced(robot, "inverse_dynamics"))
    tightest = margins(trajectory, limits, boxes, efforts, loops)
    refuse_beyond(tightest)
    for part in (trajectory, limits):
        for value in vars(part).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
    parts = own_parts(gram(columns, trajectory.at_many(condition_times(trajectory.duration))))
    return Excitation(
        robot,
        settings,
        trajectory,
        found.condition,
        found.before,
        columns.names,
        columns.left_out,
        columns.unshown,
        tuple(name for name, part in zip(columns.names, parts, strict=True) if part < HIDDEN),
        limits,
        tightest,
        found.complete,
    )


def sample_times(duration: float, rate: float) -> Array:
    """Return times from 0 to the duration (s); all steps except the last are ``1 / rate`` (rate in Hz).

    Raises:
        ValueError: the rate is not positive and finite, or gives too many samples.
    """
    if not 0.0 < rate < math.inf:
        expected = "a finite number of samples in a second > 0"
        raise ArgumentError("setting-range", setting="rate", given=rate, expected=expected)
    if rate * duration > MOST_ROWS:
        raise ArgumentError("rate-too-high", rate=rate, most=MOST_ROWS, duration=duration)
    count = max(1, math.ceil(rate * duration - 1e-6))
    return np.append(np.arange(count) / rate, duration)


def csv_text(excitation: Excitation, rate: float) -> Iterator[str]:
    """Yield pieces of a CSV file with the columns of ``dyn simulate``: time, position.<joint> and so on.

    The efforts are computed with the robot's parameters, including friction.
    """
    efforts = run_by(excitation.robot, traced(excitation.robot, "inverse_dynamics"))
    lines = Lines(excitation.joint_names)
    yield header(excitation.joint_names)
    for t, *motion in _pieces(excitation, rate):
        samples = map(Sample, t.tolist(), *motion, efforts(*motion))
        yield "".join(map(lines.line, samples))


def yaml_text(excitation: Excitation, rate: float) -> Iterator[str]:
    """Yield pieces of the YAML text of a ``trajectory_msgs/msg/JointTrajectory``, for ``ros2 topic pub``."""
    names = ", ".join(json.dumps(name) for name in excitation.joint_names)
    yield f"joint_names: [{names}]\npoints:\n"
    for t, *motion in _pieces(excitation, rate):
        for time, *vectors in zip(t.tolist(), *motion, strict=True):
            nanoseconds = round(time * NANO)
            parts = zip(("positions", "velocities", "accelerations"), vectors, strict=True)
            # Digits without exponents: YAML reads 1e-05 as text.
            yield "- " + "  ".join(
                f"{what}: [{', '.join(f'{x:.9f}' for x in (vector + 0.0).tolist())}]\n"
                for what, vector in parts
            )
            yield f"  time_from_start: {{sec: {nanoseconds // NANO}, nanosec: {nanoseconds % NANO}}}\n"


def json_text(excitation: Excitation, rate: float) -> Iterator[str]:
    """Yield a JSON text with `summary`, and samples: lists over time, one item for each joint."""
    efforts = run_by(excitation.robot, traced(excitation.robot, "inverse_dynamics"))
    names = ("time", "position", "velocity", "acceleration", "effort")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for t, *motion in _pieces(excitation, rate):
        for column, values in zip(columns.values(), (t, *motion, efforts(*motion)), strict=True):
            column += values.tolist()
    yield json.dumps({**summary(excitation), **columns})
    yield "\n"


FORMS: Mapping[str, Callable[[Excitation, float], Iterator[str]]] = {
    ".csv": csv_text,
    ".yaml": yaml_text,
    ".yml": yaml_text,
    ".json": json_text,
}
"""Writers of files by the end of their names."""


def summary(excitation: Excitation) -> dict[str, Any]:
    """Return settings, parameters, series, limits and margins of a trajectory as data for JSON."""
    limits, motion, settings = excitation.limits, excitation.trajectory, excitation.settings
    scaled = ("position", "velocity", "acceleration", "effort")
    return {
        "robot": excitation.robot.name,
        "joint_names": list(excitation.joint_names),
        "duration": excitation.duration,
        "condition": _finite(excitation.condition),
        "initial_condition": _finite(excitation.initial_condition),
        "complete": excitation.complete,
        "seed": settings.seed,
        "tries": settings.tries,
        "iterations": settings.iterations,
        "scales": {kind: getattr(settings, f"{kind}_scale") for kind in scaled},
        "boxes": [
            {"name": box.name, "joints": {joint: list(ends) for joint, ends in box.ranges.items()}}
            for box in settings.boxes
        ],
        "parameters": list(excitation.parameter_names),
        "left_out": list(excitation.left_out),
        "unshown": list(excitation.unshown),
        "hidden": list(excitation.hidden),
        "series": {
            "rest": None if motion.rest is None else motion.rest.tolist(),
            "centre": motion.centre.tolist(),
            "amplitudes": motion.amplitudes.tolist(),
            "phases": motion.phases.tolist(),
            "period": settings.period,
            "periods": settings.periods,
            "blend": settings.blend,
        },
        "limits": [
            {
                "joint": name,
                "lower": float(limits.lower[k]),
                "upper": float(limits.upper[k]),
                "velocity": float(limits.velocity[k]),
                "acceleration": float(limits.acceleration[k]),
                "effort": _finite(float(limits.effort[k])),
                "unit": limits.position_units[k],
                "effort_unit": limits.effort_units[k],
            }
            for k, name in enumerate(limits.joint_names)
        ],
        "margins": [asdict(margin) for margin in excitation.margins],
        "assumed": list(limits.notes),
    }


def _finite(value: float) -> float | None:
    """Return a finite number for JSON; None for an infinite one."""
    return value if math.isfinite(value) else None


def _pieces(excitation: Excitation, rate: float) -> Iterator[tuple[Array, Array, Array, Array]]:
    times = sample_times(excitation.duration, rate)
    for begin in range(0, len(times), PIECE):
        t = times[begin : begin + PIECE]
        yield t, *excitation.trajectory.at_many(t)
