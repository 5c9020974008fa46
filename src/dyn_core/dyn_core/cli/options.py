# SPDX-License-Identifier: Apache-2.0
"""Subcommands of ``dyn`` as values, and the options that several of them share.

`main.py` imports this module at start-up: the robot room is imported only where a robot is loaded.
"""

from __future__ import annotations

import math
from argparse import SUPPRESS, Action, ArgumentParser, BooleanOptionalAction, Namespace, _ActionsContainer
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dyn_core.cli.console import INPUT_NAME, STANDARD_INPUT, Output, input_stream, report
from dyn_core.core.errors import DynError, counted
from dyn_core.core.messages import sentence

if TYPE_CHECKING:
    from dyn_core.robot.robot import BaseKind, Robot

# Lists of numbers on the command line: ``--q 0.1 -2e-3`` and ``--q=0.1,-2e-3`` alike


def joined(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Join the numbers after each of `options` into ``--option=a,b``.

    By itself argparse would take ``-2e-3`` for the name of an option. The first word is joined even if it is
    not a number, such as ``pi/2``, so that the error is about this word.
    """
    result: list[str] = []
    open_list = False
    for argument in arguments:
        is_first = open_list and result[-1].endswith("=") and not argument.startswith("-")
        if argument in options:
            result.append(f"{argument}=")
            open_list = True
        elif open_list and (is_first or _is_list(argument)):
            result[-1] += argument if result[-1].endswith("=") else f",{argument}"
        else:
            result.append(argument)
            open_list = False
    return result


def first_non_number(
    arguments: Sequence[str], options: Sequence[str], unread: Sequence[str]
) -> tuple[str, str] | None:
    """Return the one of `options` whose list has an argument that argparse left unread, and its bad word."""
    option: str | None = None
    first: str | None = None
    for argument in arguments:
        if argument in options or argument.startswith("--"):
            option, first = argument if argument in options else None, None
        elif option is not None:
            first = first or argument
            if argument in unread and not (_is_list(first) and _is_list(argument)):
                return option, argument if _is_list(first) else first
            if argument is not first and not _is_list(argument):
                option = None  # an argument of the command ends the list
    return None


class Once(Action):
    """An option that may be given once."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the value; end with an error of the command line where there is one already."""
        if getattr(namespace, self.dest) is not None:
            parser.error(sentence("option-repeated", {"option": option_string}))
        setattr(namespace, self.dest, values)


class _Renamed(Action):
    """The old name of an option: its value is that of the new one, and a warning names that."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the value and warn."""
        renamed = f"--{self.dest.replace('_', '-')}"
        report("warning", sentence("option-renamed", {"option": option_string, "renamed": renamed}))
        setattr(namespace, self.dest, values)


class Numbers(Once):
    """An option that takes several numbers, such as a joint vector."""


REPEATED: dict[str, Any] = {"action": "append", "default": []}
"""Settings of an option that can be given several times."""


def add_options(parser: _ActionsContainer, *options: tuple[str, str, str], **settings: Any) -> None:
    """Add options with names, metavar and help each; an empty metavar makes a switch."""
    for names, metavar, text in options:
        kind: dict[str, Any] = {"metavar": metavar} if metavar else {"action": "store_true"}
        parser.add_argument(*names.split(), help=text, **kind, **settings)


def joint_vector(option: str, text: str | None, dof: int, joints: str = "") -> list[float]:
    """Return the numbers of an option, one for each joint; zeros where the option is not given.

    `joints` says in a message which joints these are; by default all of the robot.
    """
    if text is None:
        return [0.0] * dof
    return numbers(option, text, dof, joints or f"the robot has {counted(dof, 'joint')}")


def numbers(option: str, text: str, count: int, expected: str = "") -> list[float]:
    """Return the numbers of an option; `expected` says in a message why there have to be `count`."""
    words = text.replace(",", " ").split()
    values = [_finite(option, word) for word in words]
    if len(values) != count:
        code = "option-numbers-count" if expected else "option-count"
        words_of_count = {1: "one", 3: "three"}.get(count, str(count))
        raise DynError(code, option=option, given=len(values), expected=expected or words_of_count)
    return values


def number(option: str, text: str) -> float:
    """Return the number of an option."""
    return numbers(option, text, 1)[0]


def file_path(path: str | None) -> Path | None:
    """Return the path of an option as a Path, so that no name of a file is taken for YAML text."""
    return None if path is None else Path(path)


def refuse_replacement(out: str, arguments: Namespace, options: Iterable[str]) -> None:
    """Raise DynError where an output file is also the input of one of these options."""
    for given in (getattr(arguments, option) for option in options):
        if given is not None and Path(given).resolve() == Path(out).resolve():
            raise DynError("output-replaces-input", path=given)


def shown(value: float) -> float:
    """Return a number as it is printed, without a sign where that is zero."""
    return round(value, 6) + 0.0


def _is_list(argument: str) -> bool:
    words = argument.replace(",", " ").split()
    return bool(words) and all(map(_is_number, words))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _finite(option: str, word: str) -> float:
    value = float(word) if _is_number(word) else math.nan
    if not math.isfinite(value):
        raise DynError("option-not-finite", option=option, given=word)
    return value


# The robot on the command line

NO_SIDE_FILE = "none"
"""The value of --side-file for no side file, even if there is one beside the description."""
STANDING = "fixed"
"""The value of --base for a fixed base."""


def add_robot(parser: ArgumentParser, gravity: bool) -> None:
    """Add the options that describe a robot; with gravity, if the output depends on it."""
    add_robot_file(parser, "robot")
    loops = "loops, passive joints, rotor inertias, friction, springs, and the kind of the base"
    usual = "default: ROBOT.yaml beside ROBOT.urdf, if there is one; none: no side file"
    add_side_file(parser, f"side file (YAML) with {loops} ({usual})")
    snap = (
        "make angles exact that are within this tolerance of a multiple of pi/4 (rad); 0: none; digits "
        "(default): those that are printed like a rounding of one"
    )
    add_options(parser, ("--snap", "RAD", snap), default="digits")
    locked = "a joint that does not move, and where it stands (rad or m); may be given several times"
    parser.add_argument("--lock", metavar="JOINT=POSITION", action="append", default=[], help=locked)
    moving = "names of the joints that move, with commas between them; all others are locked"
    add_options(parser, ("--joints", "NAMES", moving))
    if gravity:
        frame = "acceleration of gravity in the frame of the root link, m/s^2"
        text = f"{frame} (default: 0 0 -9.81, or that of the .par file)"
        add_options(parser, ("--gravity", "X Y Z", text), action=Numbers)


def add_side_file(parser: ArgumentParser, text: str) -> None:
    """Add the side file of a robot, also by the name that the option had before, which no help lists."""
    add_options(parser, ("--side-file", "FILE", text))
    parser.add_argument("--loops", dest="side_file", action=_Renamed, metavar="FILE", help=SUPPRESS)


def add_robot_file(parser: ArgumentParser, name: str) -> None:
    """Add the path of a robot, which shells complete."""
    robot = parser.add_argument(
        name,
        metavar="ROBOT",
        help="name of an installed robot, or path of a URDF, xacro or .par file; - for standard input",
    )
    robot.completer = _robot_files  # type: ignore[attr-defined] # of argcomplete


def _robot_files(prefix: str, **_: object) -> Iterable[str]:
    from argcomplete.completers import FilesCompleter

    from dyn_core.robot.robot_files import robot_files

    names: Iterable[str] = FilesCompleter(("urdf", "xacro", "par", "xml"))(prefix)
    return [*(name for name in robot_files() if name.startswith(prefix)), *names]


def _add_base(parser: ArgumentParser, moving: bool) -> None:
    kinds = {
        STANDING: "it does not move",
        "free": "it moves freely under forces",
        "planar": "it moves in a plane",
        "given": "its motion is given",
    }
    choices = kinds if moving else {STANDING: "it does not move, even if the side file says that it does"}
    words = ", ".join(f"{kind}: {meaning}" for kind, meaning in choices.items())
    default = " (default: that of the side file, else fixed)" if moving else ""
    parser.add_argument(
        "--base", action=Once, choices=tuple(choices), metavar="KIND", help=f"the base; {words}{default}"
    )


def moving_kind(robot: Robot, arguments: Namespace) -> BaseKind | None:
    """Return how the base moves, by the command line or else the side file; None for a fixed base."""
    if arguments.base == STANDING:
        return None
    kind: BaseKind | None = arguments.base or robot.base
    return kind


def refuse_grouping(arguments: Namespace) -> None:
    """Raise DynError where parameters of a robot on a moving base are to be grouped."""
    if arguments.base_parameters:
        raise DynError("base-parameters-on-moving-base", base=STANDING)


def source_of(robot: str) -> str:
    """Return the path of a robot, also of an installed one, and the text on standard input for ``-``.

    DynError where there is no text, or no installed robot of that name.
    """
    if robot != STANDARD_INPUT:
        return str(_description_file(robot) or robot)
    from dyn_core.core.text import is_par_text, is_xml_text, read_stream

    text = read_stream(input_stream("a URDF or .par text"), INPUT_NAME, "URDF or .par")
    if not (is_xml_text(text) or is_par_text(text)):
        raise DynError("input-not-a-robot", file=INPUT_NAME)
    return text


def _description_file(robot: str) -> Path | None:
    """Return the file that a word names: a robot that is installed, or else a path; None for a text."""
    from dyn_core.core.text import is_par_text, is_xml_text
    from dyn_core.robot.robot_files import find_robot, robot_files

    if not robot.strip() or is_xml_text(robot) or is_par_text(robot):
        return None
    is_name = bool(robot_files()) and not Path(robot).exists()
    return find_robot(robot) if is_name else Path(robot)


def side_file(arguments: Namespace) -> Path | None:
    """Return the side file of the command line, or else the one beside the description; a note names that."""
    given: str | None = arguments.side_file
    if given is not None or arguments.robot == STANDARD_INPUT:
        return None if given in (None, NO_SIDE_FILE) else file_path(given)
    from dyn_core.robot.robot_files import side_file_beside

    description = _description_file(arguments.robot)
    beside = side_file_beside(description) if description else None
    if beside:
        report("note", sentence("side-file-beside", {"path": beside}))
    return beside


def standing(robot: Robot, arguments: Namespace) -> Robot:
    """Return a robot on a fixed base; DynError where only the command requires that the base is fixed."""
    if robot.base is not None and arguments.base is None:
        raise DynError("base-moves-in-side-file", robot=robot.name, given=robot.base, base=STANDING)
    return robot.with_fixed_base()


def loading(arguments: Namespace) -> dict[str, Any]:
    """Return the arguments of `load_robot` that the command line gives; DynError for a mistake in them."""
    from dyn_core.robot.urdf.conversion import checked_snap

    gravity, snap = getattr(arguments, "gravity", None), arguments.snap
    if snap != "digits" and not _is_number(snap):
        raise DynError(
            "option-invalid", option="--snap", given=snap, expected="digits, 0, or a tolerance in rad"
        )
    return {
        "loops": side_file(arguments),
        "gravity": None if gravity is None else numbers("--gravity", gravity, 3),
        "snap": snap if snap == "digits" else checked_snap(float(snap)),
        "locked_joints": dict(map(locked_joint, arguments.lock)) or None,
        "joints": None if arguments.joints is None else tuple(arguments.joints.split(",")),
    }


def locked_joint(word: str) -> tuple[str, float]:
    """Return the joint and the position of a word JOINT=POSITION."""
    name, _, position = word.rpartition("=")
    if not name or not _is_number(position):
        raise DynError("option-invalid", option="--lock", given=word, expected="JOINT=POSITION, in rad or m")
    return name, float(position)


def described_robot(arguments: Namespace) -> Robot:
    """Return the robot of the description, on a base of any kind."""
    from dyn_core.robot.robot_files import load_robot

    options = loading(arguments)
    return load_robot(source_of(arguments.robot), **options)


FORCED = ("--force-parameters", "", "use such a file although its verdict is 'do not use', with a warning")
"""Option of all commands that take a file of parameters."""


def parametrised_robot(arguments: Namespace) -> Robot:
    """Return the robot of the description with the identified parameters, if there are any."""
    robot = described_robot(arguments)
    file = getattr(arguments, "parameters", None)
    if file is None:
        return robot
    from dyn_core.identification.output.parameter_file import load_parameters

    return load_parameters(file, force=arguments.force_parameters).applied_to(robot)


def robot_of(arguments: Namespace) -> Robot:
    """Return the same on a fixed base."""
    return standing(parametrised_robot(arguments), arguments)


def dynamic_robot_of(arguments: Namespace) -> Robot:
    """Return the robot on a fixed base, with the terms that the command line chooses."""
    return with_terms_of(robot_of(arguments), arguments)


def with_terms_of(robot: Robot, arguments: Namespace) -> Robot:
    """Return a robot on a fixed base with the terms that the command line chooses."""
    from dyn_core.model.fixed_base.dynamics_programs import grouped, with_terms

    robot = with_terms(robot, arguments.friction, arguments.rotor_inertia)
    return grouped(robot, gravity_changes=False) if arguments.base_parameters else robot


@dataclass(frozen=True)
class Command:
    """A subcommand of ``dyn``; the module of each subcommand has one as `COMMAND`."""

    description: str  # its description, in sentences
    run: Callable[[Namespace], Output]  # its function
    # adds the arguments that no other subcommand has
    add_arguments: Callable[[ArgumentParser], None] | None = None
    robot: bool = True  # whether it takes a robot
    gravity: bool = True  # whether gravity can be set
    parameters: bool = False  # whether its robot takes identified parameters
    terms: bool = False  # whether friction and rotors can be left out
    json: bool = True  # whether it can print JSON
    # values of --base: the fixed base only, or moving ones as well; None: there is no such option
    base: Literal["standing", "moving"] | None = "standing"

    def fill(self, parser: ArgumentParser) -> None:
        """Give a parser the description, the arguments and the function of the subcommand."""
        parser.description = self.description
        if self.robot:
            add_robot(parser, gravity=self.gravity)
        if self.robot and self.base is not None:
            _add_base(parser, moving=self.base == "moving")
        if self.parameters:
            instead = "instead of the masses, inertias, rotors and friction of the description"
            text = f"parameters.yaml that dyn identify has written, {instead}"
            add_options(parser, ("--parameters", "FILE", text), FORCED)
        if self.terms:
            for name in ("friction", "rotor-inertia"):
                text = f"with {name.replace('-', ' ')}, or without"
                parser.add_argument(f"--{name}", action=BooleanOptionalAction, default=True, help=text)
            grouped = "group the inertial parameters first: the same results from fewer operations"
            add_options(parser, ("--base-parameters", "", grouped))
        if self.json:
            add_options(parser, ("--json", "", "print JSON"))
        if self.add_arguments is not None:
            self.add_arguments(parser)
        parser.set_defaults(run=self.run)
