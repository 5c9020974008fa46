# SPDX-License-Identifier: Apache-2.0
"""What the options of ``dyn simulate`` say, whatever the base of the robot does."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.cli.options import numbers
from dyn_core.core.errors import DynError, ModelWarning, listed
from dyn_core.robot.robot import Robot
from dyn_core.simulation.effort_csv import EffortTable, read_effort_csv
from dyn_core.simulation.model_error import with_model_error
from dyn_core.simulation.simulated_state import SensorSettings
from dyn_core.simulation.simulation_run import steps_in


def efforts_of(arguments: Namespace, robot: Robot, of_base: Sequence[str] = ()) -> EffortTable:
    """Answer the efforts of the file that the command line names; zeros where it names none.

    Args:
        arguments: of the command line.
        robot: the robot.
        of_base: names of the forces on its moving base that the file may have.
    """
    if arguments.effort is None:
        if arguments.duration is None:
            raise DynError("how long to simulate is not said: give --effort or --duration")
        return EffortTable(np.zeros(1), np.zeros((1, robot.dof)), ())
    table = read_effort_csv(arguments.effort, robot, of_base)
    if Path(arguments.out).resolve() == Path(arguments.effort).resolve():
        raise DynError(f"--out would replace the efforts in '{arguments.effort}': give another file")
    if table.missing:
        message = f"{arguments.effort}: no efforts for {listed(table.missing)}, they get 0"
        warnings.warn(message, ModelWarning, stacklevel=2)
    return table


def step_of(arguments: Namespace, default: float) -> float:
    """Answer the time between two states (s)."""
    return default if arguments.step is None else numbers("--step", arguments.step, 1)[0]


def sensors_of(arguments: Namespace) -> SensorSettings:
    """Answer noise and resolution of the sensors."""
    return SensorSettings(
        **_of_sensors("noise", arguments.noise),
        **_of_sensors("resolution", arguments.resolution),
        seed=arguments.seed,
    )


def with_options(robot: Robot, arguments: Namespace) -> Robot:
    """Answer the robot as it really is: with errors of its parameters, and payloads."""
    if arguments.model_error is not None:
        (error,) = numbers("--model-error", arguments.model_error, 1)
        robot = with_model_error(robot, error, arguments.seed)
    for payload in arguments.payload:
        robot = _with_payload(robot, payload)
    return robot


def _of_sensors(kind: str, text: str | None) -> dict[str, Any]:
    values = [0.0] * 3 if text is None else numbers(f"--{kind}", text, 3)
    quantities = ("position", "velocity", "effort")
    return {f"{quantity}_{kind}": value for quantity, value in zip(quantities, values, strict=True)}


def _with_payload(robot: Robot, text: str) -> Robot:
    link, *rest = text.split(",", 1)
    words = rest[0].replace(",", " ").split() if rest else []
    if len(words) not in (1, 4, 10):
        raise DynError(
            f"--payload '{text}': give LINK,MASS or LINK,MASS,X,Y,Z or these and six moments of inertia"
        )
    values = numbers("--payload", " ".join(words), len(words))
    values += [0.0] * (10 - len(values))
    return robot.with_payload(link.strip(), values[0], values[1:4], values[4:])


def steps_of(arguments: Namespace, table: EffortTable, step: float) -> int:
    """Answer how many steps there are: those of the duration, or of the efforts."""
    if arguments.duration is not None:
        return steps_in(numbers("--duration", arguments.duration, 1)[0], step)
    if len(table.times) == 1:
        raise DynError(
            "how long to simulate is not said: there is one line of efforts, give --duration",
        )
    return steps_in(float(table.times[-1] - table.times[0]), step)
