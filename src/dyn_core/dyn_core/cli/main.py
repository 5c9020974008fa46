# SPDX-License-Identifier: Apache-2.0
"""The command ``dyn``: arguments in, text and an exit code out.

Exit codes: 0 done, 1 the input cannot be used or does not pass, 2 the command line is wrong,
130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper

from dyn_core.cli.answer import Answer
from dyn_core.cli.base_options import OF_BASE
from dyn_core.cli.commands import COMMANDS
from dyn_core.cli.function_arguments import VECTORS
from dyn_core.cli.motion_commands.excite import START
from dyn_core.cli.options import joined, no_number
from dyn_core.cli.robot_commands.parallel import OF_PLATFORM
from dyn_core.cli.robot_options import GRAVITY
from dyn_core.cli.version import VERSION
from dyn_core.core.errors import DynError, shortened

FAILED = 1
INTERRUPTED = 130  # as shells say it of SIGINT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and answer its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot show is no reason to stop.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _print(_answer(_parsed(sys.argv[1:] if arguments is None else arguments)))
    except DynError as error:
        print(f"dyn: error: {error}", file=sys.stderr)
        return FAILED
    except SystemExit:
        # This is how argparse ends when it has printed help: that, too, must have got through.
        if _print(Answer("")) != 0:
            return FAILED
        raise
    except KeyboardInterrupt:
        print("dyn: interrupted", file=sys.stderr)
        return INTERRUPTED


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    options = (*VECTORS, *OF_BASE, *OF_PLATFORM, GRAVITY, START)
    parser = _parser()
    parsed, unread = parser.parse_known_args(joined(arguments, options))
    if unread:
        stray = no_number(arguments, options, unread)
        parser.error(
            f"{stray[0]} holds '{shortened(stray[1], 40)}': give finite numbers"
            if stray
            else f"unrecognized arguments: {' '.join(unread)}"
        )
    return parsed


def _answer(parsed: argparse.Namespace) -> Answer:
    """Run the command; its warnings are shown when it is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer: Answer = parsed.run(parsed)
    for warning in caught:
        print(f"dyn: warning: {warning.message}", file=sys.stderr)
    return answer


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dyn", description="Robot dynamics from a URDF.")
    parser.add_argument("--version", action="version", version=f"dyn {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    return parser


def _print(answer: Answer) -> int:
    """Print the answer, if there is one; a reader that has gone away, as `head` does, is no error."""
    try:
        print(answer.text, end="\n" if answer.text else "", flush=True)
    except OSError as error:
        # What is still in the buffer would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"dyn: error: cannot write to standard output: {error.strerror}", file=sys.stderr)
            return FAILED
    return answer.exit_code
