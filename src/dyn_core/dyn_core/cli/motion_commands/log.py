# SPDX-License-Identifier: Apache-2.0
"""``dyn log``: the contents of a log; and options about logs that several commands share."""

from __future__ import annotations

import math
import re
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_core.cli.console import Output, Table
from dyn_core.cli.options import (
    Command,
    Once,
    add_options,
    add_robot_file,
    add_side_file,
    file_path,
    number,
    side_file,
    source_of,
)
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import message_entries
from dyn_core.core.text import path_text
from dyn_core.logs.conditioning.signals import Protocol
from dyn_core.logs.log import Log
from dyn_core.logs.log_reading import LogReport, examine_log
from dyn_core.logs.reading_budget import LEAST_MEMORY, LOG_MEMORY
from dyn_core.logs.repair.column_anomalies import resolution
from dyn_core.logs.repair.plausibility import jitter
from dyn_core.robot.robot_files import load_robot

if TYPE_CHECKING:
    from dyn_core.identification.output.identified_parameters import TorqueError

# The log on the command line, and its conditioning

FORMS = "a CSV, Parquet, NumPy or MATLAB file, or a ROS 2 bag (file or directory)"
_SIZE = re.compile(r"(\d{1,20}(?:\.\d{1,20})?) ?([kmgt]?b?)", re.ASCII | re.IGNORECASE)
_BYTES = {f"{prefix}{b}": 1000.0**k for k, prefix in enumerate(("", "k", "m", "g", "t")) for b in ("", "b")}
_INTEGERS = ("order", "half_width", "margin", "decimate")


def add_log_options(parser: ArgumentParser) -> None:
    """Add a log and its map."""
    log = f"{FORMS}; see dyn log"
    add_options(parser, ("--log", "LOG", log), required=True, action=Once)
    add_options(parser, ("--map", "FILE", "meaning of the columns of the log (YAML)"))
    _add_log_memory(parser)


def _add_log_memory(parser: ArgumentParser) -> None:
    usual = f"{LOG_MEMORY / 1e9:g}GB"
    text = f"memory that reading a log may take, about; for large logs (default: {usual})"
    add_options(parser, ("--log-memory", "SIZE", text), default=usual)


def log_memory(arguments: Namespace) -> int:
    """Return the memory that the command line allows for a log (bytes); DynError for a mistake in it."""
    given: str = arguments.log_memory
    match = _SIZE.fullmatch(given.strip())
    size = float(match[1]) * _BYTES[match[2].lower()] if match else 0.0
    if not LEAST_MEMORY <= size < math.inf:
        expected = f"a size of at least {LEAST_MEMORY / 1e6:g}MB, as 500MB or 4GB"
        raise DynError("option-invalid", option="--log-memory", given=given, expected=expected)
    return int(size)


def add_signal_options(parser: ArgumentParser, *, train: bool) -> None:
    """Add the options of conditioning; with `train`, the part of the log that is fitted."""
    group = parser.add_argument_group(
        "conditioning of the log", "Options without a default are chosen from the log; the report lists them."
    )
    usual = Protocol()
    if train:
        text = f"part of the log that is fitted; the rest is held out (default: {usual.train})"
        add_options(group, ("--train", "PART", text), action=Once)
    order = f"order of that filter, which runs forwards and backwards (default: {usual.order})"
    half_width = f"samples on each side of a difference quotient (default: {usual.half_width})"
    add_options(
        group,
        ("--cutoff", "HZ", "cutoff of the low-pass filter of positions, which has no delay"),
        ("--order", "N", order),
        ("--rate", "HZ", "rate to which logs with irregular stamps are resampled (default: their own)"),
        ("--half-width", "N", half_width),
        ("--margin", "N", "samples left out at each end (default: until the filter has settled)"),
        ("--decimate", "N", "one equation out of N is kept, after a filter of both sides"),
        action=Once,
    )
    group.add_argument(
        "--filter-effort",
        action=BooleanOptionalAction,
        default=None,
        help="whether measured efforts get the filter of positions as well (default: no)",
    )


def protocol_of(arguments: Namespace, usual: Protocol | None = None) -> Protocol:
    """Return the protocol of the command line; DynError for a mistake in it. `usual` has the other values."""
    given = {
        field.name: value if isinstance(value, bool) else _number(field.name, value)
        for field in fields(Protocol)
        if (value := getattr(arguments, field.name, None)) is not None
    }
    return replace(usual or Protocol(), **given)


def _number(name: str, text: str) -> Any:
    option = f"--{name.replace('_', '-')}"
    value = number(option, text)
    if name not in _INTEGERS:
        return value
    if value != int(value):
        raise DynError("option-invalid", option=option, given=text, expected="a whole number")
    return int(value)


# Torque errors of identified parameters along a log


def torque_error_table(
    errors: Mapping[str, TorqueError], joints: Mapping[str, int | None], train: float | None
) -> list[str | Table]:
    """Return relative torque errors, by joint and of all.

    Args:
        errors: the errors, by the heads of the columns.
        joints: the index of each joint; None where it has no measured efforts.
        train: the part of the log that was fitted; None where nothing was held out.
    """
    rows = [["joint", *errors]]
    for joint, i in joints.items():
        rows.append([joint, *("-" if i is None else percent(e.by_joint[i]) for e in errors.values())])
    rows.append(["all", *(percent(error.relative) for error in errors.values())])
    part = (
        "the whole log, which was fitted: nothing was held out"
        if train is None
        else f"the last {100 * (1 - train):.3g} % of the log, which no fit has seen"
    )
    return [f"relative torque errors on {part}:", Table(rows)]


def percent(value: float) -> str:
    """Return a relative error as a percentage; a dash for NaN."""
    return "-" if value != value else f"{100 * value:.2f} %"


# ``dyn log``


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    parser.add_argument("log", metavar="LOG", help=FORMS)
    add_robot_file(parser, "--robot")
    add_side_file(parser, "side file of the robot: its loops and passive joints")
    add_options(parser, ("--map", "FILE", "meaning of the columns (YAML)"))
    _add_log_memory(parser)


def log(arguments: Namespace) -> Output:
    """Return the contents of a log; the exit code is 1 where it cannot be used."""
    robot = None
    if arguments.robot is not None:
        robot = load_robot(source_of(arguments.robot), side_file(arguments))
    memory = log_memory(arguments)
    report = examine_log(arguments.log, file_path(arguments.map), robot, memory=memory)
    failed = any(finding.severity is Severity.ERROR for finding in report.findings)
    content = _entries(report) if arguments.json else _parts(report, path_text(arguments.log))
    return Output(content, int(failed))


def _parts(report: LogReport, name: str) -> list[str | Table | Finding]:
    log = report.log
    if log is None:
        form = f", {report.form}" if report.form else ""
        return [*report.findings, f"{name}{form}: it cannot be used"]
    segments = f" in {len(log.segments)} segments" if len(log.segments) > 1 else ""
    summary = (
        f"{name}, {report.form}: {len(log.joint_names)} joints, {len(log.time)} samples in "
        f"{log.duration:.4g} s{segments}, {log.rate:.5g} Hz, steps within {1e3 * jitter(log)[1]:.3g} ms"
    )
    return [*report.findings, _table(log), *map(str, log.done), summary]


def _table(log: Log) -> Table:
    """Return a line for each joint: ranges, speed and resolutions."""
    rows = [("joint", "position", "", "step", "speed", "effort", "", "step", "")]
    for joint in _joints(log):
        effort, unit = joint["effort"], joint["unit"]
        effort_unit = "N" if unit == "m" else "N m"
        rows.append(
            (
                joint["name"],
                *_range_cells(joint["position"], unit),
                f"{joint['greatest_speed']:.3g} {unit}/s",
                *(("-", "", "-") if effort is None else _range_cells(effort, effort_unit)),
                "" if log.qd is None else "velocity measured",
            )
        )
    return Table(rows, left=range(len(rows[0])))


def _range_cells(values: dict[str, float], unit: str) -> tuple[str, str, str]:
    step = f"{values['resolution']:.2g}" if values["resolution"] else "-"
    return f"{values['min']:.4g}", f"to {values['max']:.4g} {unit}", step


def _joints(log: Log) -> list[dict[str, Any]]:
    return [
        {
            "name": joint,
            "unit": log.units[k],
            "position": _range(log.q[:, k]),
            "greatest_speed": speed,
            "effort": _range(log.tau[:, k]) if log.has_effort[k] else None,
        }
        for k, (joint, speed) in enumerate(zip(log.joint_names, _greatest_speeds(log), strict=True))
    ]


def _range(values: np.ndarray) -> dict[str, float]:
    return {"min": float(values.min()), "max": float(values.max()), "resolution": resolution(values)}


def _greatest_speeds(log: Log) -> list[float]:
    """Return the greatest speeds, over a tenth of a second, so that noise does not count."""
    width = max(round(0.1 / log.period), 1)
    speeds = np.zeros(len(log.joint_names))
    for a, b in log.segments:
        w = min(width, b - a - 1)
        change = np.abs(log.q[a + w : b] - log.q[a : b - w])
        duration = log.time[a + w : b] - log.time[a : b - w]
        speeds = np.maximum(speeds, (change / duration[:, None]).max(axis=0))
    return [float(speed) for speed in speeds]


def _entries(report: LogReport) -> dict[str, Any]:
    counts = Counter(finding.severity for finding in report.findings)
    log = report.log
    entries: dict[str, Any] = {
        "form": report.form or None,
        "usable": log is not None and not counts[Severity.ERROR],
        "findings": [finding.entries() for finding in report.findings],
        "counts": {str(severity): counts[severity] for severity in Severity},
    }
    if log is None:
        return entries
    rms, largest = jitter(log)
    return entries | {
        "joints": _joints(log),
        "samples": len(log.time),
        "duration": log.duration,
        "rate": log.rate,
        "jitter": {"rms": rms, "max": largest},
        "segments": [
            {"start": float(log.time[a]), "end": float(log.time[b - 1]), "samples": b - a}
            for a, b in log.segments
        ],
        "has_velocity": log.qd is not None,
        "done": [message_entries(step) for step in log.done],
    }


COMMAND = Command(
    description="Describe the contents of a log of a robot: joints, rate, gaps, ranges, and suspicious "
    "properties, the worst first; exit code 1 where it cannot be used for identification.",
    run=log,
    add_arguments=add_arguments,
    robot=False,
)
