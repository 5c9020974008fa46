# SPDX-License-Identifier: Apache-2.0
"""``dyn predict``: efforts by identified parameters along the motion of a log."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np

from dyn_core.cli.console import Output, ProgressBar, Table, whole_file
from dyn_core.cli.motion_commands.log import (
    add_log_options,
    add_signal_options,
    log_memory,
    percent,
    protocol_of,
)
from dyn_core.cli.options import (
    FORCED,
    Command,
    add_options,
    described_robot,
    file_path,
    refuse_replacement,
    standing,
)
from dyn_core.core.messages import message_entries
from dyn_core.identification.output.identification_result import finite
from dyn_core.identification.output.identified_parameters import TorqueError
from dyn_core.identification.output.parameter_file import load_parameters
from dyn_core.identification.output.parameter_set import Prediction, predicted, torque_error, unfiltered_error
from dyn_core.identification.regressor.motion_equations import at_rest
from dyn_core.logs.conditioning.signals import Signals, condition
from dyn_core.logs.log_reading import read_log
from dyn_core.robot.robot import Robot, refuse_springs

_BLOCK = 1000
"""Number of lines that are formatted at once."""


def prediction_lines(signals: Signals, torques: Prediction) -> Iterator[str]:
    """Yield CSV text: ``time`` (s), predicted ``effort.NAME``, and known ``measured.NAME`` (N m or N)."""
    known = [i for i, has in enumerate(signals.has_effort) if has]
    names = signals.joint_names
    head = ["time", *(f"effort.{name}" for name in names), *(f"measured.{names[i]}" for i in known)]
    yield ",".join(map(_quoted, head)) + "\n"
    for first in range(0, len(signals), _BLOCK):
        part = slice(first, first + _BLOCK)
        rows = np.column_stack([signals.time[part], torques.tau[part], signals.tau[part][:, known]])
        yield "".join(",".join(f"{x:.9g}" for x in row) + "\n" for row in rows.tolist())


def _quoted(name: str) -> str:
    return f'"{name.replace(chr(34), chr(34) * 2)}"' if set(name) & set(',"\n') else name


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    add_options(
        parser,
        ("--parameters", "FILE", "parameters.yaml that dyn identify has written"),
        ("-o --out", "FILE", "CSV of the efforts to write"),
        required=True,
    )
    add_log_options(parser)
    add_options(parser, FORCED, ("--quiet", "", "print nothing but errors"))
    add_signal_options(parser, train=False)


def predict(arguments: Namespace) -> Output:
    """Predict the efforts, write them to a file, and compare them with the measured ones."""
    refuse_replacement(arguments.out, arguments, ("parameters", "log", "map", "robot", "side_file"))
    robot = standing(described_robot(arguments), arguments)
    refuse_springs(robot, "a prediction along a log")
    parameters = load_parameters(arguments.parameters, force=arguments.force_parameters)
    parameters.applied_to(robot)
    protocol = protocol_of(arguments, parameters.protocol)
    with ProgressBar(arguments.quiet) as stages:
        stages("reading the log")
        log = read_log(arguments.log, file_path(arguments.map), robot, memory=log_memory(arguments))
        stages("conditioning the signals")
        signals = at_rest(condition(log, protocol))
        stages("predicting the efforts")
        torques = predicted(robot, parameters, signals.q, signals.qd, signals.qdd)
    with whole_file(arguments.out) as file:
        file.writelines(prediction_lines(signals, torques))
    if arguments.json:
        return Output(finite(_entries(robot, signals, torques)))
    return Output("" if arguments.quiet else _parts(signals, torques))


def _errors(signals: Signals, torques: Prediction) -> dict[str, TorqueError]:
    return {
        "identified": torque_error(signals, torques.tau),
        "standard_friction": torque_error(signals, torques.standard),
        "unfiltered": unfiltered_error(signals, torques.tau),
    }


def _parts(signals: Signals, torques: Prediction) -> str | list[Table]:
    if not any(signals.has_effort):
        return f"{len(signals)} samples predicted; the log has no efforts to compare them with"
    errors = _errors(signals, torques)
    rows = [["joint", "error", "as nodes have it", "unfiltered", "rms"]]
    for i, joint in enumerate(signals.joint_names):
        cells = [
            *(percent(error.by_joint[i]) for error in errors.values()),
            f"{errors['identified'].rms[i]:.4g}",
        ]
        rows.append([joint, *(cells if signals.has_effort[i] else "----")])
    rows.append(["all", *(percent(error.relative) for error in errors.values()), ""])
    return [Table(rows)]


def _entries(robot: Robot, signals: Signals, torques: Prediction) -> dict[str, Any]:
    entries: dict[str, Any] = {
        "robot": robot.name,
        "joints": robot.coordinate_names,
        "samples": len(signals),
        "rate": 1.0 / signals.period,
        "cutoff": signals.cutoff,
        "decimate": signals.decimate,
        "conditioning": [message_entries(step) for step in signals.done],
    }
    if np.any(signals.has_effort):
        entries |= {
            name: {
                "relative_torque_error": error.relative,
                "by_joint": dict(zip(robot.coordinate_names, error.by_joint, strict=True)),
                "rms": dict(zip(robot.coordinate_names, error.rms, strict=True)),
            }
            for name, error in _errors(signals, torques).items()
        }
    return entries


COMMAND = Command(
    description="Compute the efforts that identified parameters give along the motion of a log, write "
    "them to a CSV file, and compare them with the measured ones.",
    run=predict,
    add_arguments=add_arguments,
)
