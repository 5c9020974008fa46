# SPDX-License-Identifier: Apache-2.0
"""``dyn payload``: identify a payload from a log."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from dyn_core.cli.console import VERSION, Output, ProgressBar, Table, write_whole
from dyn_core.cli.motion_commands.identify import FRICTIONS
from dyn_core.cli.motion_commands.log import (
    add_log_options,
    add_signal_options,
    log_memory,
    protocol_of,
    torque_error_table,
)
from dyn_core.cli.options import (
    FORCED,
    Command,
    Once,
    add_options,
    described_robot,
    file_path,
    refuse_replacement,
    standing,
)
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding
from dyn_core.identification.estimators.identification_settings import IdentificationSettings, ResultStage
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.output.parameter_file import load_parameters
from dyn_core.identification.payload.payload_identification import identify_payload
from dyn_core.identification.payload.payload_parameters import (
    Payload,
    payload_entries,
    payload_text,
    service_call,
)
from dyn_core.logs.conditioning.signals import Protocol, Signals, condition
from dyn_core.logs.log_reading import read_log
from dyn_core.robot.robot import Robot, refuse_springs


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    add_options(parser, ("--link", "LINK", "the link that holds the payload"), required=True, action=Once)
    add_log_options(parser)
    unloaded = "a log of the same robot without the payload: the arm is identified along with it"
    parameters = "parameters.yaml that dyn identify has written for the arm without the payload"
    arm = parser.add_mutually_exclusive_group(required=True)
    add_options(arm, ("--unloaded", "LOG", unloaded), ("--parameters", "FILE", parameters), action=Once)
    add_options(parser, FORCED)
    unloaded_map = "map of the unloaded log (default: that of --map)"
    add_options(parser, ("--unloaded-map", "FILE", unloaded_map), action=Once)
    add_options(
        parser,
        ("-o --out", "FILE", "YAML to write: a request of the service set_payload of the nodes"),
        ("--quiet", "", "print nothing but errors"),
    )
    add_signal_options(parser, train=True)
    frictions = "; ".join(f"{name}: {text}" for name, text in FRICTIONS.items())
    parser.add_argument("--friction", choices=tuple(FRICTIONS), help=f"with --unloaded: {frictions}")


def payload(arguments: Namespace) -> Output:
    """Identify the payload, write the file, and return the payload."""
    stages = ProgressBar(arguments.quiet)
    _check(arguments)
    robot = standing(described_robot(arguments), arguments)
    refuse_springs(robot, "identification")
    known = None
    if arguments.parameters is not None:
        known = load_parameters(arguments.parameters, force=arguments.force_parameters)
        known.applied_to(robot)
    protocol = protocol_of(arguments, None if known is None else known.protocol)
    if robot.link_frame(arguments.link).body == 0:  # before a long log is read
        raise DynError("motion-shows-no-payload", link=arguments.link, element=f"link '{arguments.link}'")
    memory = log_memory(arguments)
    with stages:
        signals = _signals(arguments.log, file_path(arguments.map), robot, memory, protocol, stages)
        if known is None:
            mapping = file_path(arguments.unloaded_map or arguments.map)
            unloaded = _signals(arguments.unloaded, mapping, robot, memory, protocol, stages)
        settings = IdentificationSettings(
            friction=(FrictionModel(),) * robot.dof if arguments.friction == "standard" else None,
            loaded=arguments.friction != "unloaded",
        )
        found = identify_payload(robot, arguments.link, signals, known or unloaded, settings, stages)
    if arguments.out is not None:
        logs = f"{Path(arguments.log).name} and {Path(arguments.unloaded or arguments.parameters).name}"
        origin = f"Robot {robot.name}, by dyn payload {VERSION} from {logs}."
        write_whole(arguments.out, payload_text(found, [origin]))
    if arguments.json:
        entries = payload_entries(found, robot.coordinate_names)
        return Output({"robot": robot.name, **entries, "wall_time": stages.elapsed})
    return Output("" if arguments.quiet else _parts(found, robot, signals, arguments.out))


def _check(arguments: Namespace) -> None:
    if arguments.unloaded is None:
        for option, value in (("--unloaded-map", arguments.unloaded_map), ("--friction", arguments.friction)):
            if value is not None:
                raise DynError("option-needs-unloaded", option=option)
    elif Path(arguments.unloaded).resolve() == Path(arguments.log).resolve():
        raise DynError("logs-identical")
    if arguments.out is not None:
        inputs = ("log", "unloaded", "parameters", "map", "unloaded_map", "robot", "side_file")
        refuse_replacement(arguments.out, arguments, inputs)


def _signals(
    log: str, mapping: Path | None, robot: Robot, memory: int, protocol: Protocol, stages: ProgressBar
) -> Signals:
    stages(ResultStage.READING)
    recorded = read_log(log, mapping, robot, memory=memory)
    stages(ResultStage.CONDITIONING)
    try:
        return condition(recorded, protocol)
    except DynError as error:
        raise error.in_file(log) from error


def _parts(found: Payload, robot: Robot, signals: Signals, out: str | None) -> list[str | Table | Finding]:
    rows = [["", "value", "deviation", "unit"]]
    for value in found.values:
        deviation = f"{value.deviation:.2g}" if value.shown else "not shown"
        rows.append([value.name, f"{value.value:.5g}", deviation, value.unit])
    return [
        *found.findings,
        *(f"remark: {remark}" for remark in found.remarks),
        f"link '{found.link}' holds, in its frame, with the inertia about the centre of mass:",
        Table(rows, left=(0, 3)),
        "what fits best is such a body: none had to be enforced"
        if found.possible
        else f"the best fit is no possible body: the nearest one is {found.distance:.2g} deviations away",
        *_errors(found, robot, signals),
        *([] if out is None else [f"the request for set_payload is in {out}"]),
        "to tell a node:",
        service_call(found),
    ]


def _errors(found: Payload, robot: Robot, signals: Signals) -> list[str | Table]:
    errors = found.errors
    if errors is None:
        return []
    all_fitted = errors.with_it.held_out is None
    columns = {
        "with the payload": errors.with_it,
        "least squares": errors.least_squares,
        "without": errors.without,
    }
    which = "fitted" if all_fitted else "held_out"
    joints = {
        joint: i if signals.has_effort[signals.joint_names.index(joint)] else None
        for i, joint in enumerate(robot.coordinate_names)
    }
    of_part = {name: getattr(both, which) for name, both in columns.items()}
    return torque_error_table(of_part, joints, None if all_fitted else signals.train)


COMMAND = Command(
    description="Identify mass, centre of mass and inertia of a payload from a log with it and either a log "
    "without it or the identified parameters of the arm, and print them with deviations and as the command "
    "that sets them in a node; exit code 1 where signals are wrong, or do not fit to any body.",
    run=payload,
    add_arguments=add_arguments,
)
