# SPDX-License-Identifier: Apache-2.0
"""``dyn feasible``: whether the actuators can make a motion, and what it asks of them."""

from __future__ import annotations

import json
import sys
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from dyn_core.cli.answer import Answer
from dyn_core.cli.console import whole_file, write_whole
from dyn_core.cli.options import numbers
from dyn_core.cli.robot_options import dynamic_robot_of
from dyn_core.cli.standard_input import SHOWN, STANDARD_INPUT, stream_of_input
from dyn_core.cli.table import table
from dyn_core.core.errors import DynError, ModelWarning, shortened
from dyn_core.feasibility.actuator_limits import actuator_limits
from dyn_core.feasibility.assessment import Assessment, assess_motion
from dyn_core.feasibility.assessment_report import assessment_page
from dyn_core.feasibility.assessment_tables import (
    BEARING_HEAD,
    assessment_entries,
    bearing_rows,
    percent,
    repeated,
    unlimited,
    verdict,
)
from dyn_core.feasibility.limits_file import read_limits
from dyn_core.feasibility.sampled_motion import PLURALS, SampledMotion, read_motion
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.robot.robot import Robot
from dyn_core.simulation.simulation_run import Sample
from dyn_core.simulation.states_csv import Lines, header

NOT_FEASIBLE = 1
MOST_FAILURES = 30
"""Lines of failures that are printed."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command, without those that commands share."""
    parser.add_argument(
        "--trajectory",
        required=True,
        metavar="FILE",
        help="CSV as dyn excite writes it: time, position.<joint>, and perhaps velocity.<joint> and "
        "acceleration.<joint>, which are differences otherwise; - for standard input",
    )
    parser.add_argument(
        "--limits",
        metavar="FILE",
        help="limits of the actuators (YAML): ranges, speeds, torque-speed curves, powers (default: those of "
        "the description)",
    )
    parser.add_argument(
        "--wrench",
        action="append",
        default=[],
        metavar="LINK=FX,FY,FZ,MX,MY,MZ",
        help="what a link exerts on its environment all the time, in its frame, N and N m; can be given "
        "several times",
    )
    parser.add_argument("--report", metavar="FILE", help="report with plots to write (HTML)")
    parser.add_argument(
        "-o", "--out", metavar="FILE", help="CSV to write: the motion as slow as it has to be, with efforts"
    )


def feasible(arguments: Namespace) -> Answer:
    """Assess the motion, write what was asked for, and answer what was found."""
    if arguments.trajectory == arguments.robot == STANDARD_INPUT:
        raise DynError("standard input is either the robot or the motion: give a file for one of them")
    robot = dynamic_robot_of(arguments)
    refuse_springs(robot, "a motion that is given")
    limits = (
        actuator_limits(robot) if arguments.limits is None else read_limits(Path(arguments.limits), robot)
    )
    wrenches = _wrenches(arguments.wrench, robot)
    is_stream = arguments.trajectory == STANDARD_INPUT
    shown = SHOWN if is_stream else arguments.trajectory
    motion = read_motion(stream_of_input("a motion") if is_stream else arguments.trajectory, robot)
    for written in (arguments.out, arguments.report):
        if written is not None and not is_stream and Path(written).resolve() == Path(shown).resolve():
            raise DynError(f"this would replace the motion in '{written}': give another file")
    if motion.derived:
        what = " and ".join(PLURALS[d] for d in motion.derived)
        message = f"{shown}: no {what} for all joints, they are differences"
        warnings.warn(message, ModelWarning, stacklevel=2)
    found = assess_motion(robot, motion, limits, wrenches)
    if arguments.report is not None:
        write_whole(arguments.report, assessment_page(found, shown))
    done = 0 if found.repeatable else NOT_FEASIBLE
    if arguments.out is not None:
        if found.slower is None:
            print(
                f"dyn: error: there is nothing to write to '{arguments.out}': {found.blocked}",
                file=sys.stderr,
            )
        else:
            _write_slower(arguments.out, found, found.slower)
    text = json.dumps(assessment_entries(found), indent=2) if arguments.json else "\n".join(_text(found))
    return Answer(text, done)


def _wrenches(texts: Sequence[str], robot: Robot) -> dict[str, list[float]]:
    """Answer the wrenches by link; DynError where one has no effect, or is there twice."""
    found: dict[str, list[float]] = {}
    for text in texts:
        link, values = _wrench(text)
        if not robot.link_frame(link).body:
            raise DynError(
                f"--wrench '{shortened(text, 60)}': link '{link}' does not move, so that no motor feels what "
                "it exerts: give a link that a joint moves",
                element=f"link '{link}'",
            )
        if link in found:
            raise DynError(
                f"--wrench is given twice for link '{link}': give the sum", element=f"link '{link}'"
            )
        found[link] = values
    return found


def _wrench(text: str) -> tuple[str, list[float]]:
    link, separator, values = text.partition("=")
    if not separator or not link.strip():
        raise DynError(f"--wrench '{text}': give LINK=FX,FY,FZ,MX,MY,MZ")
    return link.strip(), numbers("--wrench", values, 6)


def _write_slower(path: str, found: Assessment, slower: SampledMotion) -> None:
    lines = Lines(found.limits.joint_names)
    with whole_file(path) as file:
        file.write(header(found.limits.joint_names))
        for row in _rows(slower, found):
            file.write(lines.line(row))


def _rows(slower: SampledMotion, found: Assessment) -> Iterator[Sample]:
    assert found.slower_torques is not None
    columns = (slower.times.tolist(), slower.q, slower.qd, slower.qdd, found.slower_torques)
    for time, *vectors in zip(*columns, strict=True):
        yield Sample(time, *vectors)


def _text(found: Assessment) -> Iterator[str]:
    yield verdict(found)
    for sentence in (repeated(found), unlimited(found)):
        if sentence:
            yield sentence
    for failure in found.failures[:MOST_FAILURES]:
        yield f"  {failure.sentence}"
    if len(found.failures) > MOST_FAILURES:
        yield f"  and {len(found.failures) - MOST_FAILURES} more: --json has them all"
    yield ""
    yield "Motors, on the side of the joints (peak, RMS, and parts of limits):"
    head = ("joint", "torque", "RMS", "", "of limit", "of cont.", "speed", "RMS", "", "of limit")
    rows = [
        (
            load.joint,
            *(f"{load.peak_effort:.4g}", f"{load.rms_effort:.4g}", load.effort_unit),
            *(percent(load.effort_use), percent(load.continuous_use)),
            *(f"{load.peak_speed:.4g}", f"{load.rms_speed:.4g}", load.speed_unit, percent(load.speed_use)),
        )
        for load in found.motors
    ]
    yield from table((head, *rows), left=(0, 3, 8))
    yield ""
    of_powers = ("joint", "power (W)", "braking", "RMS", "mean driving", "of limit")
    powers = [
        (
            load.joint,
            *(f"{value:.4g}" for value in (load.peak_power, load.peak_braking_power, load.rms_power)),
            *(f"{load.mean_power:.4g}", percent(load.power_use)),
        )
        for load in found.motors
    ]
    yield from table((of_powers, *powers))
    yield ""
    yield "Bearings, about the origin of the child link, without what the actuator takes:"
    yield from table((BEARING_HEAD, *bearing_rows(found)))
