# SPDX-License-Identifier: Apache-2.0
"""``dyn excite``: a trajectory that shows the dynamic parameters of a robot."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from dyn_core.cli.console import Output, ProgressBar, Table, whole_file
from dyn_core.cli.options import (
    REPEATED,
    Command,
    Numbers,
    add_options,
    file_path,
    joint_vector,
    number,
    numbers,
    robot_of,
)
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.excitation.excitation_settings import ExcitationSettings, ForbiddenBox, read_boxes
from dyn_core.excitation.exciting_trajectory import FORMS, MOST_ROWS, Excitation, sample_times, summary
from dyn_core.excitation.exciting_trajectory import excite as found
from dyn_core.excitation.rest_position import Margin
from dyn_core.excitation.trajectory_search import Progress
from dyn_core.robot.robot import Robot, refuse_springs

RATE = 100.0
"""Sample rate of a file (Hz)."""
INTERRUPTED = 128 + signal.SIGINT
SCALES = {
    "position": "ranges of positions",
    "velocity": "velocity limits",
    "acceleration": "acceleration limits",
    "effort": "effort limits",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    settings = ExcitationSettings()
    add_options(
        parser,
        ("-o --out", "FILE", "file to write: .csv, .yaml (a JointTrajectory), or .json"),
        ("--rate", "HZ", f"sample rate of the file (default: {RATE:g})"),
    )
    floats = {
        "duration": "seconds from rest to rest",
        "blend": "seconds of the transition from rest to the series, and back to rest",
        **{f"{name}_scale": f"part of the {limits} that is used" for name, limits in SCALES.items()},
    }
    for name, text in floats.items():
        help_text = f"{text} (default: {getattr(settings, name):g})"
        add_options(parser, (f"--{name.replace('_', '-')}", "S", help_text))
    integers = {
        "periods": "repetitions of the series",
        "harmonics": "sines of each joint",
        "seed": "seed of the search",
        "tries": "random starting points of the search",
        "iterations": "steps of the search from the best starting point",
    }
    for name, text in integers.items():
        default = getattr(settings, name)
        add_options(parser, (f"--{name}", "N", f"{text} (default: {default})"), type=int, default=default)
    start = "position at rest in tree order, rad or m (default: the middle of all ranges, if allowed)"
    add_options(parser, ("--start", "X ...", start), action=Numbers)
    add_options(
        parser,
        (
            "--acceleration",
            "JOINT=LIMIT",
            "acceleration limit, rad/s^2 or m/s^2 (default: the greatest speed in 0.5 s); can be repeated",
        ),
        (
            "--box",
            "JOINT=LOW:HIGH,...",
            "a forbidden box: all of these joints in their ranges; can be repeated",
        ),
        **REPEATED,
    )
    add_options(
        parser,
        ("--boxes", "FILE", "forbidden boxes of joint space (YAML)"),
        ("--quiet", "", "no progress on a terminal"),
        (
            "--keep-best",
            "",
            "after Ctrl-C, write the best trajectory so far; the exit code is 130",
        ),
    )


def excite(arguments: Namespace) -> Output:
    """Search, write the trajectory to a file if there is one, and return its description."""
    robot = robot_of(arguments)
    refuse_springs(robot, "excitation")
    settings = _settings(arguments, robot)
    rate = RATE if arguments.rate is None else number("--rate", arguments.rate)
    form = _form(arguments)
    try:
        if arguments.rate is None and settings.duration > (longest := MOST_ROWS / RATE):
            raise ArgumentError("duration-too-long", duration=settings.duration, limit=longest)
        sample_times(settings.duration, rate)
    except ArgumentError as error:
        raise DynError("option-unusable", cause=error) from error
    with ExitStack() as stack:
        # Before the search, which takes long, so that a mistake in the path is reported at once.
        file = None if arguments.out is None else stack.enter_context(whole_file(arguments.out))
        excitation = _search(arguments, robot, settings)
        if file is not None and form is not None:
            for text in FORMS[form](excitation, rate):
                file.write(text)
    if not excitation.complete:
        print("dyn: interrupted: this is the best trajectory so far", file=sys.stderr)
    content = summary(excitation) if arguments.json else _parts(excitation)
    return Output(content, 0 if excitation.complete else INTERRUPTED)


def _search(arguments: Namespace, robot: Robot, settings: ExcitationSettings) -> Excitation:
    with ProgressBar(arguments.quiet) as bar, _interrupts(arguments.keep_best) as interrupts:

        def report(progress: Progress) -> bool:
            bar.show(progress.part, f"condition number {progress.condition:.4g}, best {progress.best:.4g}")
            return bool(interrupts)

        try:
            return found(robot, settings, report)
        except DynError as error:
            if interrupts:
                raise KeyboardInterrupt from error
            raise


@contextmanager
def _interrupts(kept: bool) -> Iterator[list[int]]:
    """Yield a list to which the first Ctrl-C is added; with `kept` only the second one ends the program."""
    noted: list[int] = []
    if not kept:
        yield noted
        return

    def note(number: int, _: FrameType | None) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def _settings(arguments: Namespace, robot: Robot) -> ExcitationSettings:
    given: dict[str, Any] = {
        name: number(f"--{name.replace('_', '-')}", getattr(arguments, name))
        for name in ("duration", "blend", *(f"{kind}_scale" for kind in SCALES))
        if getattr(arguments, name) is not None
    }
    start = None if arguments.start is None else joint_vector("--start", arguments.start, robot.dof)
    file = file_path(arguments.boxes)
    boxes = () if file is None else read_boxes(file)
    boxes += tuple(_box(text) for text in arguments.box)
    accelerations = dict(_pair("--acceleration", text) for text in arguments.acceleration)
    integers = ("periods", "harmonics", "seed", "tries", "iterations")
    try:
        return ExcitationSettings(
            **given,
            **{name: getattr(arguments, name) for name in integers},
            start=start,
            accelerations={name: number("--acceleration", text) for name, text in accelerations.items()},
            boxes=boxes,
        )
    except ArgumentError as error:
        raise DynError(error.code, **error.values) from error


def _form(arguments: Namespace) -> str | None:
    if arguments.out is None:
        if arguments.rate is not None:
            raise DynError("output-missing")
        return None
    form = Path(arguments.out).suffix.lower()
    if form not in FORMS:
        raise DynError("output-form-unknown", path=arguments.out, known=tuple(FORMS))
    return form


def _pair(option: str, text: str) -> tuple[str, str]:
    name, separator, value = text.rpartition("=")
    if not separator or not name.strip():
        raise DynError("option-pair-malformed", option=option, given=text)
    return name.strip(), value


def _box(text: str) -> ForbiddenBox:
    ranges = {}
    for part in text.split(","):
        name, value = _pair("--box", part)
        if name in ranges:
            raise DynError("box-joint-repeated", box=text, joint=name)
        low, high = numbers("--box", value.replace(":", " "), 2)
        ranges[name] = (low, high)
    return ForbiddenBox(text, ranges)


def _parts(excitation: Excitation) -> list[str | Table]:
    settings, limits = excitation.settings, excitation.limits
    times = "" if settings.periods == 1 else f" {settings.periods} times"
    lines: list[str | Table] = [
        f"{excitation.robot.name}: {excitation.duration:g} s from rest to rest, {settings.harmonics} "
        f"harmonics of {settings.period:g} s{times}, seed {settings.seed}",
        f"condition number {excitation.condition:.4g} (of the first motion within the limits: "
        f"{excitation.initial_condition:.4g}) of {len(excitation.parameter_names)} columns of unit length",
    ]
    if excitation.left_out:
        lines.append(f"not told from other parameters: {' '.join(excitation.left_out)}")
    if excitation.unshown:
        lines.append(
            "shown by no motion within these limits, and left out of the condition number: "
            f"{' '.join(excitation.unshown)}; more of the limits may show them"
        )
    if excitation.hidden:
        lines.append(
            f"hardly shown by this motion, and not to be identified with it: {' '.join(excitation.hidden)}; "
            "more of the limits, a longer duration, more harmonics or iterations show more"
        )
    lines += ["", _table(excitation), ""]
    lines += [_margin(margin) for margin in excitation.margins]
    lines += [f"assumed: {note}" for note in limits.notes]
    return lines


def _table(excitation: Excitation) -> Table:
    """Return a line for each joint: start and limits."""
    limits = excitation.limits
    rows = [("joint", "start", "range used", "", "speed", "acceleration", "effort")]
    rest = excitation.trajectory.at(0.0).q
    columns = (limits.lower, limits.upper, limits.velocity, limits.acceleration, limits.effort)
    units = (limits.position_units, limits.effort_units)
    for name, unit, effort_unit, q, *of_joint in zip(limits.joint_names, *units, rest, *columns, strict=True):
        start, lower, upper, speed, acceleration, effort = (f"{x:.4g}" for x in (q + 0.0, *of_joint))
        rows.append(
            (
                *(
                    name,
                    start,
                    lower,
                    f"to {upper} {unit}",
                    f"{speed} {unit}/s",
                    f"{acceleration} {unit}/s^2",
                ),
                "-" if effort == "inf" else f"{effort} {effort_unit}",
            )
        )
    return Table(rows, left=range(len(rows[0])))


def _margin(margin: Margin) -> str:
    if margin.kind == "box":
        return (
            f"nearest box '{margin.name}': {margin.reached:.4g} {margin.unit} away at {margin.time:.4g} s "
            f"(clearance {margin.limit:g})"
        )
    return (
        f"tightest {margin.kind}: joint '{margin.name}', {margin.reached:.4g} of {margin.limit:.4g} "
        f"{margin.unit} at {margin.time:.4g} s, {100.0 * max(margin.room, 0.0):.2g} % left"
    )


COMMAND = Command(
    description="Find a trajectory that shows the dynamic parameters of a robot, within its limits: a "
    "Fourier series from rest to rest with the least condition number of the columns of its base "
    "parameters and friction. The same arguments give the same trajectory.",
    run=excite,
    add_arguments=add_arguments,
)
