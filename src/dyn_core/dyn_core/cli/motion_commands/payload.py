# SPDX-License-Identifier: Apache-2.0
"""``dyn payload``: what a link holds, from a log with it."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from dyn_core.cli.answer import Answer
from dyn_core.cli.console import write_whole
from dyn_core.cli.motion_commands.identify import FRICTIONS
from dyn_core.cli.options import Once
from dyn_core.cli.progress import Stages
from dyn_core.cli.robot_options import loading, standing
from dyn_core.cli.signal_options import add_log_options, add_signal_options, map_of, protocol_of
from dyn_core.cli.standard_input import source_of
from dyn_core.cli.table import table
from dyn_core.cli.version import VERSION
from dyn_core.core.errors import DynError
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.output.identified_parameters import TorqueError
from dyn_core.identification.output.parameter_file import load_parameters
from dyn_core.identification.payload.payload_identification import identify_payload
from dyn_core.identification.payload.payload_parameters import Payload, PayloadValue
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.identification.stages import ResultStage
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.logs.log_reading import read_log
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.results.payload_entries import payload_entries
from dyn_core.results.payload_request import payload_text, service_call
from dyn_core.robot.robot import Robot
from dyn_core.robot.robot_files import load_robot
from dyn_core.signals.condition import condition
from dyn_core.signals.protocol import Protocol


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command, without those that commands share."""
    parser.add_argument("--link", required=True, action=Once, metavar="LINK", help="the link that holds it")
    add_log_options(parser)
    arm = parser.add_mutually_exclusive_group(required=True)
    arm.add_argument(
        "--unloaded",
        action=Once,
        metavar="LOG",
        help="a log of the same robot without the payload: the arm is identified along with it",
    )
    arm.add_argument(
        "--parameters",
        action=Once,
        metavar="FILE",
        help="parameters.yaml that dyn identify has written of the arm without the payload",
    )
    parser.add_argument(
        "--unloaded-map",
        action=Once,
        metavar="FILE",
        help="what the columns of the other log mean (default: that of --map)",
    )
    parser.add_argument(
        "-o", "--out", metavar="FILE", help="YAML to write, which the service set_payload of the nodes takes"
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_signal_options(parser, train=True)
    parser.add_argument(
        "--friction",
        choices=tuple(FRICTIONS),
        default=None,
        help="with --unloaded: " + "; ".join(f"{name}: {text}" for name, text in FRICTIONS.items()),
    )


def payload(arguments: Namespace) -> Answer:
    """Identify what a link holds, write the file, and answer what it is."""
    stages = Stages(quiet=arguments.quiet)
    _check(arguments)
    robot = standing(load_robot(source_of(arguments.robot), **loading(arguments)), arguments)
    refuse_springs(robot, "identification")
    known = None
    if arguments.parameters is not None:
        known = load_parameters(arguments.parameters)
        known.applied_to(robot)
    protocol = protocol_of(arguments, None if known is None else known.protocol)
    _check_link(robot, arguments.link)
    signals = _signals(arguments.log, map_of(arguments), robot, protocol, stages)
    found = identify_payload(
        robot,
        arguments.link,
        signals,
        known or _unloaded(arguments, robot, protocol, stages),
        _settings(arguments, robot),
        stages,
    )
    if arguments.out is not None:
        write_whole(arguments.out, payload_text(found, _made(arguments, robot)))
    if arguments.json:
        entries = {"robot": robot.name, **payload_entries(found, robot.coordinate_names)}
        return Answer(json.dumps(entries | {"wall_time": stages.elapsed}, indent=2))
    if arguments.quiet:
        return Answer("")
    return Answer(_text(found, robot, signals, arguments.out))


def _check(arguments: Namespace) -> None:
    if arguments.unloaded is None:
        for option, value in (("--unloaded-map", arguments.unloaded_map), ("--friction", arguments.friction)):
            if value is not None:
                raise DynError(f"{option} goes with --unloaded: leave it out")
    elif Path(arguments.unloaded).resolve() == Path(arguments.log).resolve():
        raise DynError("--log and --unloaded are the same file: give one with and one without the payload")
    if arguments.out is not None:
        out = Path(arguments.out).resolve()
        for option in ("log", "unloaded", "parameters", "map", "unloaded_map", "robot", "loops"):
            given = getattr(arguments, option)
            if given is not None and Path(given).resolve() == out:
                raise DynError(f"--out would replace '{given}': give another file")


def _check_link(robot: Robot, link: str) -> None:
    """Refuse a link that is not there, or does not move, before a long log is read."""
    if robot.link_frame(link).body == 0:
        raise DynError(
            f"link '{link}' does not move: no motion shows what it holds", element=f"link '{link}'"
        )


def _signals(log: str, mapping: Path | None, robot: Robot, protocol: Protocol, stages: Stages) -> Signals:
    stages(ResultStage.READING)
    recorded = read_log(log, mapping, robot)
    stages(ResultStage.CONDITIONING)
    try:
        return condition(recorded, protocol)
    except DynError as error:
        raise error.in_file(log) from error


def _unloaded(arguments: Namespace, robot: Robot, protocol: Protocol, stages: Stages) -> Signals:
    mapping = map_of(arguments) if arguments.unloaded_map is None else Path(arguments.unloaded_map)
    return _signals(arguments.unloaded, mapping, robot, protocol, stages)


def _settings(arguments: Namespace, robot: Robot) -> IdentificationSettings:
    return IdentificationSettings(
        friction=(FrictionModel(),) * robot.dof if arguments.friction == "standard" else None,
        loaded=arguments.friction != "unloaded",
    )


def _made(arguments: Namespace, robot: Robot) -> list[str]:
    arm = arguments.unloaded if arguments.parameters is None else arguments.parameters
    return [
        f"Robot {robot.name}, by dyn payload {VERSION} from {Path(arguments.log).name} and {Path(arm).name}."
    ]


def _text(found: Payload, robot: Robot, signals: Signals, out: str | None) -> str:
    lines = [str(finding) for finding in found.findings]
    lines += [f"remark: {remark}" for remark in found.remarks]
    lines.append(f"link '{found.link}' holds, in its frame, with the inertia about the centre of mass:")
    rows = [["", "value", "deviation", "unit"], *(_row(value) for value in found.values)]
    lines += table(rows, left=(0, 3))
    lines.append(
        "what fits best is such a body: none had to be enforced"
        if found.possible
        else f"what fits best is no body: the possible one is {found.distance:.2g} deviations away"
    )
    lines += _error_lines(found, robot, signals)
    if out is not None:
        lines.append(f"the request for set_payload is in {out}")
    return "\n".join([*lines, "to tell a node:", service_call(found)])


def _row(value: PayloadValue) -> list[str]:
    deviation = f"{value.deviation:.2g}" if value.shown else "not shown"
    return [value.name, f"{value.value:.5g}", deviation, value.unit]


def _error_lines(found: Payload, robot: Robot, signals: Signals) -> list[str]:
    errors = found.errors
    if errors is None:
        return []
    which = "fitted" if errors.with_it.held_out is None else "held_out"
    columns: dict[str, TorqueError] = {
        "with the payload": getattr(errors.with_it, which),
        "least squares": getattr(errors.least_squares, which),
        "without": getattr(errors.without, which),
    }
    rows = [["joint", *columns]]
    for i, joint in enumerate(robot.coordinate_names):
        known = signals.has_effort[signals.joint_names.index(joint)]
        rows.append([joint, *(_percent(e.by_joint[i]) if known else "-" for e in columns.values())])
    rows.append(["all", *(_percent(error.relative) for error in columns.values())])
    part = (
        f"the last {100 * (1 - signals.train):.3g} % of the log, which no fit has seen"
        if which == "held_out"
        else "the whole log, which was fitted: nothing was held out"
    )
    return [f"relative torque errors on {part}:", *table(rows)]


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"
