# SPDX-License-Identifier: Apache-2.0
"""``dyn feasible``: check a trajectory against the actuator limits."""

from __future__ import annotations

import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from dyn_core.cli.console import (
    INPUT_NAME,
    STANDARD_INPUT,
    Output,
    Table,
    input_stream,
    report,
    whole_file,
    write_whole,
)
from dyn_core.cli.options import REPEATED, Command, add_options, dynamic_robot_of, numbers
from dyn_core.core.errors import DynError, ModelWarning
from dyn_core.feasibility.actuator_limits import actuator_limits
from dyn_core.feasibility.assessment import Assessment, assess_motion
from dyn_core.feasibility.assessment_report import (
    BEARING_HEAD,
    assessment_entries,
    assessment_page,
    bearing_rows,
    percent,
    repeated,
    unlimited,
    verdict,
)
from dyn_core.feasibility.limits_file import read_limits
from dyn_core.feasibility.sampled_motion import PLURALS, read_motion
from dyn_core.robot.robot import Robot, refuse_springs
from dyn_core.simulation.simulation_run import Lines, Sample, header

NOT_FEASIBLE = 1
MOST_FAILURES = 30
"""Number of failures that are printed."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    motion = (
        "CSV as dyn excite writes it: time, position.<joint>, and optionally velocity.<joint> and "
        "acceleration.<joint>, which are computed by differences if they are missing; - for standard input"
    )
    limits = "limits of the actuators (YAML): ranges, speeds, torque-speed curves, powers"
    wrench = "constant wrench that a link exerts on its environment, in its frame, N and N m; can be repeated"
    add_options(parser, ("--trajectory", "FILE", motion), required=True)
    add_options(parser, ("--wrench", "LINK=FX,FY,FZ,MX,MY,MZ", wrench), **REPEATED)
    add_options(
        parser,
        ("--limits", "FILE", f"{limits} (default: those of the description)"),
        ("--report", "FILE", "report with plots to write (HTML)"),
        ("-o --out", "FILE", "CSV to write: the motion, slowed down where necessary, with efforts"),
    )


def feasible(arguments: Namespace) -> Output:
    """Assess the motion, write the files that the command line names, and return the assessment."""
    if arguments.trajectory == arguments.robot == STANDARD_INPUT:
        raise DynError("input-ambiguous")
    robot = dynamic_robot_of(arguments)
    refuse_springs(robot, "a motion that is given")
    limits = (
        actuator_limits(robot) if arguments.limits is None else read_limits(Path(arguments.limits), robot)
    )
    wrenches = _wrenches(arguments.wrench, robot)
    is_stream = arguments.trajectory == STANDARD_INPUT
    source = INPUT_NAME if is_stream else arguments.trajectory
    motion = read_motion(input_stream("a motion") if is_stream else source, robot)
    for path in (arguments.out, arguments.report):
        if path is not None and not is_stream and Path(path).resolve() == Path(source).resolve():
            raise DynError("output-replaces-motion", path=path)
    if motion.derived:
        quantities = " and ".join(PLURALS[d] for d in motion.derived)
        warnings.warn(ModelWarning("motion-rates-derived", quantities=quantities, file=source), stacklevel=2)
    found = assess_motion(robot, motion, limits, wrenches)
    entries = assessment_entries(found)
    if arguments.report is not None:
        write_whole(arguments.report, assessment_page(found, source))
    if arguments.out is not None and found.slower is not None:
        _write_slower(arguments.out, found)
    elif arguments.out is not None:
        problem = DynError("output-nothing-to-write", path=arguments.out, reason=found.blocked)
        report("error", str(problem))
        entries["error"] = problem.entries()
    return Output(
        entries if arguments.json else tuple(_parts(found)), 0 if found.repeatable else NOT_FEASIBLE
    )


def _wrenches(texts: Sequence[str], robot: Robot) -> dict[str, list[float]]:
    """Return the wrenches by link; DynError where a link is fixed or named twice."""
    found: dict[str, list[float]] = {}
    for text in texts:
        name, separator, values = text.partition("=")
        link = name.strip()
        if not separator or not link:
            raise DynError(
                "option-malformed", option="--wrench", given=text, expected="LINK=FX,FY,FZ,MX,MY,MZ"
            )
        wrench = numbers("--wrench", values, 6)
        if not robot.link_frame(link).body:
            raise DynError("wrench-on-fixed-link", given=text, link=link, element=f"link '{link}'")
        if link in found:
            raise DynError("wrench-repeated", link=link, element=f"link '{link}'")
        found[link] = wrench
    return found


def _write_slower(path: str, found: Assessment) -> None:
    slower, names = found.slower, found.limits.joint_names
    assert slower is not None
    assert found.slower_torques is not None
    columns = (slower.times.tolist(), slower.q, slower.qd, slower.qdd, found.slower_torques)
    lines = Lines(names)
    with whole_file(path) as file:
        file.write(header(names))
        file.writelines(lines.line(Sample(*row)) for row in zip(*columns, strict=True))


def _parts(found: Assessment) -> Iterator[str | Table]:
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
    yield Table((head, *rows), left=(0, 3, 8))
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
    yield Table((of_powers, *powers))
    yield ""
    yield "Bearings, about the origin of the child link, without what the actuator takes:"
    yield Table((BEARING_HEAD, *bearing_rows(found)))


COMMAND = Command(
    description="Check a trajectory against the actuator limits of a robot: print where and by how much it "
    "exceeds them, how much longer it has to take, and the load of each motor and bearing; exit code 1 "
    "where it is not feasible.",
    run=feasible,
    add_arguments=add_arguments,
    parameters=True,
    terms=True,
)
