# SPDX-License-Identifier: Apache-2.0
"""``dyn log``: what is in a log, and what is suspicious about it."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.cli.answer import Answer
from dyn_core.cli.standard_input import source_of
from dyn_core.core.findings import Severity
from dyn_core.core.text import path_text
from dyn_core.logs.log import Log
from dyn_core.logs.log_reading import LogReport, examine_log
from dyn_core.logs.repair.column_anomalies import resolution
from dyn_core.logs.repair.plausibility import jitter
from dyn_core.robot.robot_files import load_robot


def add_arguments(parser: ArgumentParser) -> None:
    """Let the command take a log, and what is known of it."""
    parser.add_argument(
        "log", metavar="LOG", help="a CSV, Parquet, NumPy or MATLAB file, or a ROS 2 bag (file or directory)"
    )
    parser.add_argument("--map", metavar="FILE", help="what the columns mean (YAML)")
    parser.add_argument("--robot", metavar="ROBOT", help="path of a URDF or .par file; - for standard input")
    parser.add_argument(
        "--loops", metavar="FILE", help="side file of the robot: its loops and passive joints"
    )


def log(arguments: Namespace) -> Answer:
    """Answer what is in a log, as text or JSON; the exit code is 1 where it cannot be used."""
    robot = None if arguments.robot is None else load_robot(source_of(arguments.robot), _side_file(arguments))
    mapping = None if arguments.map is None else Path(arguments.map)
    report = examine_log(arguments.log, mapping, robot)
    shown = path_text(arguments.log)
    failed = any(finding.severity is Severity.ERROR for finding in report.findings)
    text = json.dumps(_entries(report), indent=2) if arguments.json else _lines(report, shown)
    return Answer(text, int(failed))


def _side_file(arguments: Namespace) -> Path | None:
    """A path, so that no name of a file is taken for YAML text."""
    return None if arguments.loops is None else Path(arguments.loops)


def _lines(report: LogReport, shown: str) -> str:
    lines = [*map(str, report.findings)]
    if report.log is not None:
        lines += _table(report.log)
        lines += report.log.done
        lines.append(_summary(report.log, shown, report.form))
    else:
        form = f", {report.form}" if report.form else ""
        lines.append(f"{shown}{form}: it cannot be used")
    return "\n".join(lines)


def _summary(log: Log, shown: str, form: str) -> str:
    segments = f" in {len(log.segments)} segments" if len(log.segments) > 1 else ""
    return (
        f"{shown}, {form}: {len(log.joint_names)} joints, {len(log.time)} samples in {log.duration:.4g} "
        f"s{segments}, "
        f"{log.rate:.5g} Hz, steps within {1e3 * jitter(log)[1]:.3g} ms"
    )


def _table(log: Log) -> list[str]:
    """Answer a line for each joint: ranges, speed and resolutions."""
    rows = [("joint", "position", "", "step", "speed", "effort", "", "step", "")]
    for joint in _joints(log):
        position, effort = joint["position"], joint["effort"]
        unit = joint["unit"]
        rows.append(
            (
                joint["name"],
                f"{position['min']:.4g}",
                f"to {position['max']:.4g} {unit}",
                f"{position['resolution']:.2g}" if position["resolution"] else "-",
                f"{joint['greatest_speed']:.3g} {unit}/s",
                "-" if effort is None else f"{effort['min']:.4g}",
                "" if effort is None else f"to {effort['max']:.4g} {'N' if unit == 'm' else 'N m'}",
                "-" if effort is None or not effort["resolution"] else f"{effort['resolution']:.2g}",
                "" if log.qd is None else "velocity measured",
            )
        )
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(f"{word:<{width}}" for word, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _joints(log: Log) -> list[dict[str, Any]]:
    speeds = _greatest_speeds(log)
    return [
        {
            "name": joint,
            "unit": log.units[k],
            "position": _range(log.q[:, k]),
            "greatest_speed": speeds[k],
            "effort": _range(log.tau[:, k]) if log.has_effort[k] else None,
        }
        for k, joint in enumerate(log.joint_names)
    ]


def _range(values: np.ndarray) -> dict[str, float]:
    return {"min": float(values.min()), "max": float(values.max()), "resolution": resolution(values)}


def _greatest_speeds(log: Log) -> list[float]:
    """Answer the greatest speeds, over a tenth of a second, so that noise does not make them."""
    width = max(round(0.1 / log.period), 1)
    speeds = np.zeros(len(log.joint_names))
    for a, b in log.segments:
        w = min(width, b - a - 1)
        change = (
            np.abs(log.q[a + w : b] - log.q[a : b - w]) / (log.time[a + w : b] - log.time[a : b - w])[:, None]
        )
        speeds = np.maximum(speeds, change.max(axis=0))
    return [float(speed) for speed in speeds]


def _entries(report: LogReport) -> dict[str, Any]:
    counts = Counter(finding.severity for finding in report.findings)
    answer: dict[str, Any] = {
        "form": report.form or None,
        "usable": report.log is not None and not counts[Severity.ERROR],
        "findings": [
            {
                "severity": str(finding.severity),
                "element": finding.element,
                "message": finding.message,
                "kind": finding.kind,
                "names": finding.names,
            }
            for finding in report.findings
        ],
        "counts": {str(severity): counts[severity] for severity in Severity},
    }
    log = report.log
    if log is not None:
        usual, worst = jitter(log)
        answer |= {
            "joints": _joints(log),
            "samples": len(log.time),
            "duration": log.duration,
            "rate": log.rate,
            "jitter": {"rms": usual, "max": worst},
            "segments": [
                {"start": float(log.time[a]), "end": float(log.time[b - 1]), "samples": b - a}
                for a, b in log.segments
            ],
            "has_velocity": log.qd is not None,
            "done": log.done,
        }
    return answer
