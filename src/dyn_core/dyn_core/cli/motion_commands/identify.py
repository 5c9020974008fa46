# SPDX-License-Identifier: Apache-2.0
"""``dyn identify``: from a log to dynamic parameters, an identified URDF and a report."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from dyn_core.cli.console import VERSION, Output, ProgressBar, Table
from dyn_core.cli.motion_commands.log import (
    add_log_options,
    add_signal_options,
    log_memory,
    protocol_of,
    torque_error_table,
)
from dyn_core.cli.options import Command, Once, add_options, file_path, loading, number, source_of, standing
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding
from dyn_core.identification.estimators.identification_settings import (
    ESTIMATORS,
    IN_SHORT,
    IN_WORDS,
    IdentificationSettings,
)
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.output.identification_result import FILES, Result, finite, result_entries, told
from dyn_core.identification.output.result_directory import check_place, write_result
from dyn_core.identification.pipeline import make_result
from dyn_core.robot.robot import Robot
from dyn_core.robot.robot_files import read_robot

MARK = "dyn identify"
DO_NOT_USE = "verdict: do not use these parameters, for the errors above; nothing loads them without force"
FRICTIONS = {
    "auto": "chosen by cross-validation within the fitted part (default)",
    "unloaded": "the same, without terms that depend on the load",
    "standard": "viscous, Coulomb and offset only, the friction model of the nodes",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    add_log_options(parser)
    out = f"directory for {', '.join(FILES)}: new, empty, or of an earlier run, which is replaced"
    add_options(parser, ("-o --out", "DIR", out), required=True)
    add_options(
        parser,
        ("--force", "", "write into any directory, beside its other files"),
        ("--quiet", "", "print nothing but errors"),
    )
    add_signal_options(parser, train=True)
    group = parser.add_argument_group("estimation")
    frictions = "; ".join(f"{name}: {text}" for name, text in FRICTIONS.items())
    group.add_argument("--friction", choices=tuple(FRICTIONS), default="auto", help=frictions)
    estimators = "; ".join(f"{name}: {text}" for name, text in IN_WORDS.items())
    simulated = "iv and oe simulate the robot: the map describes its controller under control"
    estimators = f"{estimators} (default: wls). {simulated}"
    group.add_argument("--estimator", choices=ESTIMATORS, default="wls", help=estimators)
    usual = IdentificationSettings()
    weight = "weight of the description where the log has little information"
    add_options(
        group,
        ("--prior-weight", "W", f"{weight} (default: {usual.prior_weight:g})"),
        ("--parts", "N", f"parts of the fitted time in cross-validation (default: {usual.parts})"),
        action=Once,
    )


def identify(arguments: Namespace) -> Output:
    """Identify, write the files, and return a summary; the exit code is 1 for a verdict against them."""
    target = check_place(arguments.out, FILES, MARK, force=arguments.force)
    with ProgressBar(arguments.quiet) as stages:
        options = loading(arguments)
        loaded = read_robot(source_of(arguments.robot), **options)
        loaded = replace(loaded, robot=standing(loaded.robot, arguments))
        result = make_result(
            loaded,
            arguments.log,
            f"{MARK} {VERSION}",
            file_path(arguments.map),
            options["loops"],
            protocol_of(arguments),
            _settings(arguments, loaded.robot),
            stages,
            log_memory(arguments),
        )
        stages("writing the report")
        write_result(result, target)
    code = 0 if result.verdict.is_usable else 1
    if arguments.json:
        return Output(finite(_summary(result, target, stages.elapsed)), code)
    return Output("" if arguments.quiet else _parts(result, arguments.out, stages.elapsed), code)


def _settings(arguments: Namespace, robot: Robot) -> IdentificationSettings:
    usual = IdentificationSettings()
    weight, parts = usual.prior_weight, usual.parts
    if arguments.prior_weight is not None:
        weight = number("--prior-weight", arguments.prior_weight)
        if weight <= 0.0:
            raise DynError("option-range", option="--prior-weight", given=weight, expected="a number > 0")
    if arguments.parts is not None:
        given = number("--parts", arguments.parts)
        if given != int(given) or given < 2:
            raise DynError("option-range", option="--parts", given=given, expected="a whole number from 2")
        parts = int(given)
    return IdentificationSettings(
        friction=(FrictionModel(),) * robot.dof if arguments.friction == "standard" else None,
        loaded=arguments.friction == "auto",
        parts=parts,
        estimator=arguments.estimator,
        prior_weight=weight,
    )


def _parts(result: Result, out: str, duration: float) -> list[str | Table | Finding]:
    """Return the findings on the signals, the torque errors, and the paths of the files."""
    identified, comparison = result.identified, result.comparison
    which = "held_out" if comparison.is_held_out else "fitted"
    columns = {
        "identified": identified.consistent_errors,
        IN_SHORT[identified.procedure.estimator]: identified.errors,
        "as nodes have it": result.standard_errors,
        "description": result.description_errors,
    }
    errors = {name: getattr(both, which) for name, both in columns.items()}
    joints = {name: i for i, name in enumerate(identified.joint_names) if name not in identified.fixed}
    return [
        *told(result),
        *(f"remark: {remark}" for remark in identified.remarks),
        *torque_error_table(errors, joints, result.signals.train if comparison.is_held_out else None),
        *(() if result.verdict.is_usable else (DO_NOT_USE,)),
        f"{', '.join(FILES)} are in {out} ({duration:.1f} s)",
    ]


def _summary(result: Result, target: Path, duration: float) -> dict[str, object]:
    entries = result_entries(result)
    of_result = ("robot", "held_out", "fitted", "protocol", "condition", "remarks")
    kept = (*of_result, "verdict", "findings", "check", "log_findings")
    return {
        "files": {name: str(target / name) for name in FILES},
        **{key: entries[key] for key in kept},
        "wall_time": duration,
    }


COMMAND = Command(
    description="Identify masses, inertias, rotors and friction of a robot from a log of its motion and "
    "efforts, and write a file of parameters for dyn and the nodes, an identified URDF, a report, and "
    "data for machines; exit code 1 where the verdict is not to use the parameters, such as for an effort "
    "of the wrong sign, or a result that is worse than the description.",
    run=identify,
    add_arguments=add_arguments,
)
