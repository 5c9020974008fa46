# SPDX-License-Identifier: Apache-2.0
"""Trajectories as files: CSV, a ``trajectory_msgs/JointTrajectory`` in YAML, and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.excitation.excitation import Excitation
from dyn_core.facade.run_by import run_by
from dyn_core.model.fixed_base.dynamics_programs import traced
from dyn_core.simulation.simulation_run import Sample
from dyn_core.simulation.states_csv import Lines, header

MOST_ROWS = 5_000_000
PIECE = 10_000
"""Samples that are computed at a time, so that memory stays bounded."""
NANO = 1_000_000_000


def sample_times(duration: float, rate: float) -> Array:
    """Answer times from 0 to the duration (s); all steps but the last are ``1 / rate``.

    Args:
        duration: of the trajectory (s).
        rate: samples in a second.

    Raises:
        ValueError: the rate is no number > 0, or gives too many samples.
    """
    if not 0.0 < rate < math.inf:
        raise ValueError(f"rate is {rate!r}: give a finite number of samples in a second > 0")
    if rate * duration > MOST_ROWS:
        raise ValueError(f"rate is {rate:g}, which gives more than {MOST_ROWS} samples: give a lower one")
    count = max(1, math.ceil(rate * duration - 1e-6))
    return np.append(np.arange(count) / rate, duration)


def csv_text(excitation: Excitation, rate: float) -> Iterator[str]:
    """Answer pieces of a CSV file with the columns of ``dyn simulate``: time, position.<joint> and so on.

    The efforts are those of the robot's parameters, friction included.
    """
    efforts = run_by(excitation.robot, traced(excitation.robot, "inverse_dynamics"))
    lines = Lines(excitation.joint_names)
    yield header(excitation.joint_names)
    for t, q, qd, qdd in _pieces(excitation, rate):
        tau = efforts(q, qd, qdd)
        samples = map(Sample, t.tolist(), q, qd, qdd, tau)
        yield "".join(map(lines.line, samples))


def yaml_text(excitation: Excitation, rate: float) -> Iterator[str]:
    """Answer pieces of the YAML text of a ``trajectory_msgs/msg/JointTrajectory``, for ``ros2 topic pub``."""
    names = ", ".join(json.dumps(name) for name in excitation.joint_names)
    yield f"joint_names: [{names}]\npoints:\n"
    for t, q, qd, qdd in _pieces(excitation, rate):
        for time, *vectors in zip(t.tolist(), q, qd, qdd, strict=True):
            nanoseconds = round(time * NANO)
            parts = zip(("positions", "velocities", "accelerations"), vectors, strict=True)
            # Digits without exponents: YAML takes 1e-05 for a text.
            yield "- " + "  ".join(
                f"{what}: [{', '.join(f'{x:.9f}' for x in (vector + 0.0).tolist())}]\n"
                for what, vector in parts
            )
            yield f"  time_from_start: {{sec: {nanoseconds // NANO}, nanosec: {nanoseconds % NANO}}}\n"


def json_text(excitation: Excitation, rate: float) -> Iterator[str]:
    """Answer a JSON text with `summary`, and samples: lists over time, one item for each joint."""
    efforts = run_by(excitation.robot, traced(excitation.robot, "inverse_dynamics"))
    columns: dict[str, list[Any]] = {
        name: [] for name in ("time", "position", "velocity", "acceleration", "effort")
    }
    for t, q, qd, qdd in _pieces(excitation, rate):
        for column, values in zip(columns.values(), (t, q, qd, qdd, efforts(q, qd, qdd)), strict=True):
            column += values.tolist()
    yield json.dumps({**summary(excitation), **columns})
    yield "\n"


FORMS: Mapping[str, Callable[[Excitation, float], Iterator[str]]] = {
    ".csv": csv_text,
    ".yaml": yaml_text,
    ".yml": yaml_text,
    ".json": json_text,
}
"""Forms of files by the end of their names."""


def summary(excitation: Excitation) -> dict[str, Any]:
    """Answer what is known of a trajectory as numbers, lists and texts."""
    limits, motion, settings = excitation.limits, excitation.trajectory, excitation.settings
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
        "scales": {
            kind: getattr(settings, f"{kind}_scale")
            for kind in ("position", "velocity", "acceleration", "effort")
        },
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
        "margins": [
            {
                "kind": margin.kind,
                "name": margin.name,
                "reached": margin.reached,
                "limit": margin.limit,
                "unit": margin.unit,
                "room": margin.room,
                "time": margin.time,
            }
            for margin in excitation.margins
        ],
        "assumed": list(limits.notes),
    }


def _finite(value: float) -> float | None:
    """Answer a number that JSON has; None for one that is infinite."""
    return value if math.isfinite(value) else None


def _pieces(excitation: Excitation, rate: float) -> Iterator[tuple[Array, Array, Array, Array]]:
    times = sample_times(excitation.duration, rate)
    for begin in range(0, len(times), PIECE):
        t = times[begin : begin + PIECE]
        q, qd, qdd = excitation.trajectory.at_many(t)
        yield t, q, qd, qdd
