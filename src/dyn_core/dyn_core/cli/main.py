# SPDX-License-Identifier: Apache-2.0
"""The command ``dyn``: parse arguments, print the result, return an exit code.

The module of a subcommand is imported when the subcommand is called.

Where --json is given, an error is printed as JSON on standard output, besides the sentence on standard error,
and JSON output has an entry ``warnings`` where there are any.

Exit codes: 0 done, 1 the input cannot be used or does not pass, 2 the command line is wrong, 130
interrupted by Ctrl-C, 143 ended by SIGTERM, 129 by SIGHUP.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from argparse import Action, ArgumentError, ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from dyn_core.cli.console import VERSION, Output, print_output, report
from dyn_core.cli.options import Numbers, first_non_number, joined
from dyn_core.core.errors import DynError, ModelWarning
from dyn_core.core.messages import nearest, sentence

if TYPE_CHECKING:
    from dyn_core.cli.options import Command


COMMANDS = {
    "info": ("robot_commands.info", "describe a robot: joints, limits, links, mass, reach"),
    "mdh": ("robot_commands.mdh", "print the modified Denavit-Hartenberg parameters"),
    "loops": ("robot_commands.loops", "describe the closed loops"),
    "parallel": ("robot_commands.parallel", "describe a parallel robot, or evaluate its dynamics"),
    "eval": ("robot_commands.evaluate", "evaluate a dynamics function in one state"),
    "counts": ("robot_commands.counts", "count the operations of the dynamics functions"),
    "base": ("robot_commands.base", "print the base (minimum) inertial parameters"),
    "lagrange": ("robot_commands.lagrange", "print the Lagrange form in symbols"),
    "emit": ("robot_commands.emit", "write a dynamics function as source code"),
    "check": ("robot_commands.check", "list suspicious properties of a robot"),
    "simulate": ("motion_commands.simulate", "simulate the motion that efforts give"),
    "excite": ("motion_commands.excite", "find a trajectory for identification"),
    "feasible": ("motion_commands.feasible", "check a trajectory against the actuator limits"),
    "log": ("motion_commands.log", "describe the contents of a log"),
    "identify": ("motion_commands.identify", "identify the dynamic parameters of a robot from a log"),
    "predict": ("motion_commands.predict", "predict the efforts of a log by identified parameters"),
    "payload": ("motion_commands.payload", "identify a payload from a log"),
    "cache": ("robot_commands.cache", "show or clear the cache of compiled programs"),
}
"""Module and help of each subcommand, in the order of the help."""

FAILED = 1
BY_SIGNAL = 128
"""Number that shells add to a signal in the exit code of a program that it ended."""


class Ended(KeyboardInterrupt):
    """SIGTERM or SIGHUP has come: it ends a command as Ctrl-C does, with all that the command has started."""

    def __init__(self, number: int, frame: FrameType | None) -> None:
        """Take the arguments of a signal handler."""
        super().__init__()
        self.number = number


@contextmanager
def _ending() -> Iterator[None]:
    """Raise `Ended` for SIGTERM and SIGHUP in the block, where they would end the process at once."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Ended(number, frame)

    is_main = threading.current_thread() is threading.main_thread()
    taken = [n for n in (signal.SIGTERM, signal.SIGHUP) if is_main and signal.getsignal(n) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot show does not stop the command.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if "_ARGCOMPLETE" in os.environ:
        from argcomplete import autocomplete

        autocomplete(_parser(os.environ.get("COMP_LINE", "").split()[1:])[0])  # ends the process
    parsed = Namespace(json=False)
    try:
        parsed = _parsed(sys.argv[1:] if arguments is None else arguments)
        with _ending():
            return _print(_run(parsed))
    except DynError as error:
        report("error", str(error))
        return _print(Output({"error": error.entries()} if getattr(parsed, "json", False) else "", FAILED))
    except SystemExit:
        # argparse ends so when it has printed help, which must have been written as well.
        if _print(Output()) != 0:
            return FAILED
        raise
    except Ended as end:
        print(f"dyn: ended by {signal.Signals(end.number).name}", file=sys.stderr)
        return BY_SIGNAL + end.number
    except KeyboardInterrupt:
        print("dyn: interrupted", file=sys.stderr)
        return BY_SIGNAL + signal.SIGINT


class _Parser(ArgumentParser):
    """A parser that says what a misspelt command, choice or option may stand for."""

    def _check_value(self, action: Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except ArgumentError as error:
            if meant := nearest(str(value), map(str, action.choices or ())):
                error.message += f"; did you mean '{meant}'?"
            raise

    def refuse_unread(self, unread: Sequence[str], options: Iterable[str]) -> NoReturn:
        """End with an error about arguments that no option takes."""
        meant = nearest(unread[0].partition("=")[0], options) if unread[0].startswith("--") else None
        ending = f"; did you mean '{meant}'?" if meant else ""
        self.error(f"unrecognized arguments: {' '.join(unread)}{ending}")


def called_command(arguments: Sequence[str]) -> tuple[str, Command] | None:
    """Return the name of the subcommand that arguments call, and the subcommand; import its module."""
    name = next((argument for argument in arguments if argument in COMMANDS), None)
    if name is None:
        return None
    command: Command = import_module(f"dyn_core.cli.{COMMANDS[name][0]}").COMMAND
    return name, command


def _parsed(arguments: Sequence[str]) -> Namespace:
    parser, options, known = _parser(arguments)
    parsed, unread = parser.parse_known_args(joined(arguments, options))
    if unread:
        if found := first_non_number(arguments, options, unread):
            parser.error(sentence("option-not-finite", {"option": found[0], "given": found[1]}))
        parser.refuse_unread(unread, known)
    return parsed


def _parser(arguments: Sequence[str]) -> tuple[_Parser, list[str], list[str]]:
    """Return a parser that knows the called subcommand, its options that take several numbers, and all."""
    parser = _Parser(prog="dyn", description="Robot dynamics from a URDF.")
    parser.add_argument("--version", action="version", version=f"dyn {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    parsers = {name: commands.add_parser(name, help=text) for name, (_, text) in COMMANDS.items()}
    called = called_command(arguments)
    if called is None:
        return parser, [], []
    name, command = called
    command.fill(parsers[name])
    actions = parsers[name]._actions
    lists = [option for action in actions if isinstance(action, Numbers) for option in action.option_strings]
    return parser, lists, [option for action in actions for option in action.option_strings]


def _run(parsed: Namespace) -> Output:
    """Run the command; its warnings are printed at the end, and added to JSON output.

    Those of NumPy are not: results that overflow show it themselves.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            output: Output = parsed.run(parsed)
        except FileNotFoundError as error:
            if _has_directory():
                raise
            raise DynError("working-directory-removed") from error
    for warning in caught:
        report("warning", str(warning.message))
    if caught and isinstance(output.content, Mapping):
        entries = [
            given.entries()
            if isinstance(given := warning.message, ModelWarning)
            else {"code": "", "values": {}, "message": str(given)}  # of a library
            for warning in caught
        ]
        return output._replace(content={**output.content, "warnings": entries})
    return output


def _has_directory() -> bool:
    """Return whether the working directory is still there, to which paths are relative."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _print(output: Output) -> int:
    """Print an output and return its exit code; a reader that ends early, such as `head`, is not an error."""
    try:
        print_output(output)
    except OSError as error:
        # The rest of the buffer would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            report(
                "error", sentence("file-unwritable", {"path": "standard output", "reason": error.strerror})
            )
            return FAILED
    return output.exit_code
