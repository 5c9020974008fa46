# SPDX-License-Identifier: Apache-2.0
"""``dyn identify``: from a log to dynamic parameters, an identified URDF and a report."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from dyn_core.cli.answer import Answer
from dyn_core.cli.options import Once, numbers
from dyn_core.cli.progress import Stages
from dyn_core.cli.robot_options import loading, standing
from dyn_core.cli.signal_options import add_log_options, add_signal_options, map_of, protocol_of
from dyn_core.cli.standard_input import source_of
from dyn_core.cli.table import table
from dyn_core.cli.version import VERSION
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Severity
from dyn_core.identification.estimators.estimators import ESTIMATORS, IN_SHORT, IN_WORDS
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.output.identification_result import finite, result_entries
from dyn_core.identification.output.result_directory import check_place
from dyn_core.identification.pipeline import make_result
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.results.result import FILES, Result
from dyn_core.results.write_result import write_result
from dyn_core.robot.robot import Robot
from dyn_core.robot.robot_files import read_robot

MARK = "dyn identify"
FRICTIONS = {
    "auto": "chosen by cross-validation within the fitted part (default)",
    "unloaded": "the same, without what depends on the load",
    "standard": "viscous, Coulomb and offset alone, which is all that the nodes know",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command, without those that commands share."""
    add_log_options(parser)
    parser.add_argument(
        "-o",
        "--out",
        required=True,
        metavar="DIR",
        help=f"directory for {', '.join(FILES)}: new, empty, or of an earlier run, which is replaced",
    )
    parser.add_argument("--force", action="store_true", help="write into any directory, beside what it has")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_signal_options(parser, train=True)
    group = parser.add_argument_group("estimation")
    group.add_argument(
        "--friction",
        choices=tuple(FRICTIONS),
        default="auto",
        help="; ".join(f"{name}: {text}" for name, text in FRICTIONS.items()),
    )
    group.add_argument(
        "--estimator",
        choices=ESTIMATORS,
        default="wls",
        help="; ".join(f"{name}: {text}" for name, text in IN_WORDS.items())
        + " (default: wls). iv and oe simulate the robot: the map says under control what moved it",
    )
    group.add_argument(
        "--prior-weight",
        action=Once,
        metavar="W",
        help="how much the description counts where the log says little "
        f"(default: {IdentificationSettings().prior_weight:g})",
    )
    group.add_argument(
        "--parts",
        action=Once,
        metavar="N",
        help=f"parts of the fitted time in cross-validation (default: {IdentificationSettings().parts})",
    )


def identify(arguments: Namespace) -> Answer:
    """Identify, write the files, and answer a summary; the exit code is 1 where signals are wrong."""
    target = check_place(arguments.out, FILES, MARK, force=arguments.force)
    stages = Stages(quiet=arguments.quiet)
    loaded = read_robot(source_of(arguments.robot), **loading(arguments))
    loaded = replace(loaded, robot=standing(loaded.robot, arguments))
    result = make_result(
        loaded,
        arguments.log,
        f"{MARK} {VERSION}",
        map_of(arguments),
        None if arguments.loops is None else Path(arguments.loops),
        protocol_of(arguments),
        _settings(arguments, loaded.robot),
        stages,
    )
    stages("writing the report")
    write_result(result, target)
    wrong = any(finding.severity is Severity.ERROR for finding in result.identified.findings)
    if arguments.json:
        return Answer(json.dumps(finite(_summary(result, target, stages.elapsed)), indent=2), int(wrong))
    return Answer("" if arguments.quiet else _text(result, arguments.out, stages.elapsed), int(wrong))


def _settings(arguments: Namespace, robot: Robot) -> IdentificationSettings:
    usual = IdentificationSettings()
    weight, parts = usual.prior_weight, usual.parts
    if arguments.prior_weight is not None:
        (weight,) = numbers("--prior-weight", arguments.prior_weight, 1)
        if weight <= 0.0:
            raise DynError(f"--prior-weight is {weight:g}: give a number > 0")
    if arguments.parts is not None:
        (given,) = numbers("--parts", arguments.parts, 1)
        if given != int(given) or given < 2:
            raise DynError(f"--parts is {given:g}: give a whole number from 2")
        parts = int(given)
    return IdentificationSettings(
        friction=(FrictionModel(),) * robot.dof if arguments.friction == "standard" else None,
        loaded=arguments.friction == "auto",
        parts=parts,
        estimator=arguments.estimator,
        prior_weight=weight,
    )


def _text(result: Result, out: str, took: float) -> str:
    """Answer what was found on the signals, the errors, and where the files are."""
    identified = result.identified
    lines = [str(finding) for finding in (*identified.findings, *result.log.findings)]
    lines += [f"remark: {remark}" for remark in identified.remarks]
    lines += _table(result)
    lines.append(f"{', '.join(FILES)} are in {out} ({took:.1f} s)")
    return "\n".join(lines)


def _table(result: Result) -> list[str]:
    """Answer relative torque errors, by joint and of all."""
    which = "held_out" if result.comparison.is_held_out else "fitted"
    columns = {
        "identified": result.identified.consistent_errors,
        IN_SHORT[result.identified.procedure.estimator]: result.identified.errors,
        "as nodes have it": result.standard_errors,
        "description": result.description_errors,
    }
    errors = {name: getattr(both, which) for name, both in columns.items()}
    rows = [["joint", *columns]]
    for i, joint in enumerate(result.identified.joint_names):
        if joint in result.identified.fixed:
            continue
        rows.append([joint, *(_percent(error.by_joint[i]) for error in errors.values())])
    rows.append(["all", *(_percent(error.relative) for error in errors.values())])
    part = (
        f"the last {100 * (1 - result.signals.train):.3g} % of the log, which no fit has seen"
        if which == "held_out"
        else "the whole log, which was fitted: nothing was held out"
    )
    return [f"relative torque errors on {part}:", *table(rows)]


def _percent(value: float) -> str:
    return "-" if value != value else f"{100 * value:.2f} %"


def _summary(result: Result, target: Path, took: float) -> dict[str, object]:
    entries = result_entries(result)
    kept = ("robot", "held_out", "fitted", "protocol", "condition", "remarks", "findings", "log_findings")
    return {
        "files": {name: str(target / name) for name in FILES},
        **{key: entries[key] for key in kept},
        "wall_time": took,
    }
