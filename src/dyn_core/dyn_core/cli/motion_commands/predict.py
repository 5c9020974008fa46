# SPDX-License-Identifier: Apache-2.0
"""``dyn predict``: efforts by identified parameters along the motion of a log."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.cli.answer import Answer
from dyn_core.cli.console import whole_file
from dyn_core.cli.progress import Stages
from dyn_core.cli.robot_options import loading, standing
from dyn_core.cli.signal_options import add_log_options, add_signal_options, map_of, protocol_of
from dyn_core.cli.standard_input import source_of
from dyn_core.cli.table import table
from dyn_core.core.errors import DynError
from dyn_core.identification.at_rest import at_rest
from dyn_core.identification.output.identification_result import finite
from dyn_core.identification.output.identified_parameters import TorqueError
from dyn_core.identification.output.parameter_file import load_parameters
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.logs.log_reading import read_log
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.results.prediction import Prediction, predicted, torque_error, unfiltered_error
from dyn_core.results.prediction_csv import prediction_lines
from dyn_core.robot.robot import Robot
from dyn_core.robot.robot_files import load_robot
from dyn_core.signals.condition import condition


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command, without those that commands share."""
    parser.add_argument(
        "--parameters", required=True, metavar="FILE", help="parameters.yaml that dyn identify has written"
    )
    add_log_options(parser)
    parser.add_argument("-o", "--out", required=True, metavar="FILE", help="CSV of the efforts to write")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_signal_options(parser, train=False)


def predict(arguments: Namespace) -> Answer:
    """Predict, write the efforts to a file, and answer how far they are from measured ones."""
    stages = Stages(quiet=arguments.quiet)
    _check_out(arguments)
    robot = standing(load_robot(source_of(arguments.robot), **loading(arguments)), arguments)
    refuse_springs(robot, "a prediction along a log")
    parameters = load_parameters(arguments.parameters)
    parameters.applied_to(robot)
    protocol = protocol_of(arguments, parameters.protocol)
    stages("reading the log")
    log = read_log(arguments.log, map_of(arguments), robot)
    stages("conditioning the signals")
    signals = at_rest(condition(log, protocol))
    stages("predicting the efforts")
    torques = predicted(robot, parameters, signals.q, signals.qd, signals.qdd)
    with whole_file(arguments.out) as file:
        file.writelines(prediction_lines(signals, torques))
    if arguments.json:
        return Answer(json.dumps(finite(_entries(robot, signals, torques)), indent=2))
    return Answer("" if arguments.quiet else _text(signals, torques))


def _check_out(arguments: Namespace) -> None:
    out = Path(arguments.out).resolve()
    for option in ("parameters", "log", "map", "robot", "loops"):
        given = getattr(arguments, option)
        if given is not None and Path(given).resolve() == out:
            raise DynError(f"--out would replace '{given}': give another file")


def _errors(signals: Signals, torques: Prediction) -> dict[str, TorqueError]:
    return {
        "identified": torque_error(signals, torques.tau),
        "standard_friction": torque_error(signals, torques.standard),
        "unfiltered": unfiltered_error(signals, torques.tau),
    }


def _text(signals: Signals, torques: Prediction) -> str:
    if not any(signals.has_effort):
        return f"{len(signals)} samples predicted; the log has no efforts to compare them with"
    errors = _errors(signals, torques)
    rows = [["joint", "error", "as nodes have it", "unfiltered", "rms"]]
    for i, joint in enumerate(signals.joint_names):
        row = [f"{100 * error.by_joint[i]:.2f} %" for error in errors.values()]
        rms = f"{errors['identified'].rms[i]:.4g}"
        rows.append([joint, *row, rms] if signals.has_effort[i] else [joint, *"----"])
    rows.append(["all", *(f"{100 * error.relative:.2f} %" for error in errors.values()), ""])
    return "\n".join(table(rows))


def _entries(robot: Robot, signals: Signals, torques: Prediction) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "robot": robot.name,
        "joints": robot.coordinate_names,
        "samples": len(signals),
        "rate": 1.0 / signals.period,
        "cutoff": signals.cutoff,
        "decimate": signals.decimate,
        "conditioning": signals.done,
    }
    if np.any(signals.has_effort):
        answer |= {
            name: {
                "relative_torque_error": error.relative,
                "by_joint": dict(zip(robot.coordinate_names, error.by_joint, strict=True)),
                "rms": dict(zip(robot.coordinate_names, error.rms, strict=True)),
            }
            for name, error in _errors(signals, torques).items()
        }
    return answer
