# SPDX-License-Identifier: Apache-2.0
"""``dyn excite``: a trajectory that shows the dynamic parameters of a robot."""

from __future__ import annotations

import json
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

from dyn_core.cli.answer import Answer
from dyn_core.cli.console import whole_file
from dyn_core.cli.options import Once, joint_vector, numbers
from dyn_core.cli.progress_bar import ProgressBar
from dyn_core.cli.robot_options import robot_of
from dyn_core.core.errors import DynError, listed, shortened
from dyn_core.excitation.box_file import read_boxes
from dyn_core.excitation.excitation import Excitation
from dyn_core.excitation.excitation_settings import ForbiddenBox
from dyn_core.excitation.excite import excite as found
from dyn_core.excitation.exciting_trajectory import FORMS, sample_times, summary
from dyn_core.excitation.margins import Margin
from dyn_core.excitation.settings import ExcitationSettings
from dyn_core.excitation.trajectory_search import Progress
from dyn_core.model.refuse_springs import refuse_springs
from dyn_core.robot.robot import Robot

START = "--start"
RATE = 100.0
"""Samples in a second of a file (1/s)."""
INTERRUPTED = 130
SCALES = {
    "position": "ranges of positions",
    "velocity": "velocity limits",
    "acceleration": "acceleration limits",
    "effort": "effort limits",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command, without those that commands share."""
    settings = ExcitationSettings()
    parser.add_argument(
        "-o", "--out", metavar="FILE", help="file to write: .csv, .yaml (a JointTrajectory), or .json"
    )
    parser.add_argument("--rate", metavar="HZ", help=f"samples in a second of the file (default: {RATE:g})")
    for name, what in (
        ("duration", "seconds from rest to rest"),
        ("blend", "seconds in which the motion comes up from rest, and goes down to it"),
    ):
        parser.add_argument(f"--{name}", metavar="S", help=f"{what} (default: {getattr(settings, name):g})")
    for name, what in (
        ("periods", "repetitions of the series"),
        ("harmonics", "sines of each joint"),
        ("seed", "seed of the search"),
        ("tries", "random beginnings of the search"),
        ("iterations", "steps of the search from the best beginning"),
    ):
        default = getattr(settings, name)
        parser.add_argument(
            f"--{name}", type=int, metavar="N", default=default, help=f"{what} (default: {default})"
        )
    parser.add_argument(
        START,
        action=Once,
        metavar="X ...",
        help="position at rest in tree order, rad or m (default: the middle of all ranges, where that is "
        "allowed)",
    )
    for name, what in SCALES.items():
        parser.add_argument(
            f"--{name}-scale",
            metavar="S",
            help=f"part of the {what} that is used (default: {getattr(settings, f'{name}_scale'):g})",
        )
    parser.add_argument(
        "--acceleration",
        action="append",
        default=[],
        metavar="JOINT=LIMIT",
        help="acceleration limit, rad/s^2 or m/s^2 (default: the greatest speed in 0.5 s); can be given "
        "several times",
    )
    parser.add_argument("--boxes", metavar="FILE", help="boxes of joint space not to be entered (YAML)")
    parser.add_argument(
        "--box",
        action="append",
        default=[],
        metavar="JOINT=LOW:HIGH,...",
        help="one such box: all of these joints in their ranges; can be given several times",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on a terminal")
    parser.add_argument(
        "--keep-best",
        action="store_true",
        help="after Ctrl-C, write the best trajectory so far (default: nothing); the exit code is 130 all "
        "the same",
    )


def excite(arguments: Namespace) -> Answer:
    """Search, write the trajectory to a file if one was asked for, and answer what it is like."""
    robot = robot_of(arguments)
    refuse_springs(robot, "excitation")
    settings = _settings(arguments, robot)
    rate = RATE if arguments.rate is None else numbers("--rate", arguments.rate, 1)[0]
    form = _form(arguments)
    _check_rate(rate, settings.duration)
    with ExitStack() as stack:
        # Before the search, which takes a while, so that a mistake in the path is told of at once.
        file = None if arguments.out is None else stack.enter_context(whole_file(arguments.out))
        excitation = _search(arguments, robot, settings)
        if file is not None and form is not None:
            for text in FORMS[form](excitation, rate):
                file.write(text)
    if not excitation.complete:
        print("dyn: interrupted: this is the best trajectory so far", file=sys.stderr)
    text = json.dumps(summary(excitation), indent=2) if arguments.json else _text(excitation)
    return Answer(text, 0 if excitation.complete else INTERRUPTED)


def _search(arguments: Namespace, robot: Robot, settings: ExcitationSettings) -> Excitation:
    bar = ProgressBar(arguments.quiet)
    try:
        with _interrupts(arguments.keep_best) as interrupts:

            def report(progress: Progress) -> bool:
                bar.show(
                    progress.part, f"condition number {progress.condition:.4g}, best {progress.best:.4g}"
                )
                return bool(interrupts)

            try:
                return found(robot, settings, report)
            except DynError as error:
                if interrupts:
                    raise KeyboardInterrupt from error
                raise
    finally:
        bar.clear()


@contextmanager
def _interrupts(kept: bool) -> Iterator[list[int]]:
    """Answer a list that Ctrl-C is noted in, if it is not to end the program at once; a second one does."""
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
    given: dict[str, float] = {}
    for name in ("duration", "blend", *(f"{kind}_scale" for kind in SCALES)):
        text = getattr(arguments, name)
        if text is not None:
            (given[name],) = numbers(f"--{name.replace('_', '-')}", text, 1)
    start = None if arguments.start is None else joint_vector(START, arguments.start, robot.dof)
    boxes = () if arguments.boxes is None else read_boxes(Path(arguments.boxes))
    boxes += tuple(_box(text) for text in arguments.box)
    accelerations = dict(_pair("--acceleration", text) for text in arguments.acceleration)
    try:
        return ExcitationSettings(
            **given,
            periods=arguments.periods,
            harmonics=arguments.harmonics,
            start=start,
            accelerations={
                name: numbers("--acceleration", text, 1)[0] for name, text in accelerations.items()
            },
            boxes=boxes,
            seed=arguments.seed,
            tries=arguments.tries,
            iterations=arguments.iterations,
        )
    except ValueError as error:
        raise DynError(str(error)) from error


def _check_rate(rate: float, duration: float) -> None:
    try:
        sample_times(duration, rate)
    except ValueError as error:
        raise DynError(f"--{error}") from error


def _form(arguments: Namespace) -> str | None:
    if arguments.out is None:
        if arguments.rate is not None:
            raise DynError("--rate is given, and no file to write: give --out, too")
        return None
    form = Path(arguments.out).suffix.lower()
    if form not in FORMS:
        raise DynError(f"--out '{shortened(arguments.out)}': give a name that ends in one of {listed(FORMS)}")
    return form


def _pair(option: str, text: str) -> tuple[str, str]:
    name, separator, value = text.rpartition("=")
    if not separator or not name.strip():
        raise DynError(f"{option} '{shortened(text, 40)}': give JOINT=VALUE")
    return name.strip(), value


def _box(text: str) -> ForbiddenBox:
    ranges = {}
    for part in text.split(","):
        name, value = _pair("--box", part)
        if name in ranges:
            raise DynError(f"--box '{shortened(text, 40)}' names joint '{name}' twice: give each once")
        low_high = numbers("--box", value.replace(":", " "), 2)
        ranges[name] = (low_high[0], low_high[1])
    return ForbiddenBox(text, ranges)


def _text(excitation: Excitation) -> str:
    settings, limits = excitation.settings, excitation.limits
    times = "" if settings.periods == 1 else f" {settings.periods} times"
    lines = [
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
    lines += ["", *_table(excitation), ""]
    lines += [_margin(margin) for margin in excitation.margins]
    lines += [f"assumed: {note}" for note in limits.notes]
    return "\n".join(lines)


def _table(excitation: Excitation) -> list[str]:
    """Answer a line for each joint: where it begins, and the limits that are kept."""
    limits = excitation.limits
    rows = [("joint", "start", "range used", "", "speed", "acceleration", "effort")]
    rest = excitation.trajectory.at(0.0).q
    for k, name in enumerate(limits.joint_names):
        unit = limits.position_units[k]
        effort = limits.effort[k]
        rows.append(
            (
                name,
                f"{rest[k] + 0.0:.4g}",
                f"{limits.lower[k]:.4g}",
                f"to {limits.upper[k]:.4g} {unit}",
                f"{limits.velocity[k]:.4g} {unit}/s",
                f"{limits.acceleration[k]:.4g} {unit}/s^2",
                "-" if effort == float("inf") else f"{effort:.4g} {limits.effort_units[k]}",
            )
        )
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(f"{word:<{width}}" for word, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _margin(margin: Margin) -> str:
    if margin.kind == "box":
        return (
            f"nearest box '{margin.name}': {margin.reached:.4g} {margin.unit} away at {margin.time:.4g} s "
            f"(clearance {margin.limit:g})"
        )
    return (
        f"tightest {margin.kind}: joint '{margin.name}', {margin.reached:.4g} of {margin.limit:.4g} "
        f"{margin.unit} "
        f"at {margin.time:.4g} s, {100.0 * max(margin.room, 0.0):.2g} % left"
    )
