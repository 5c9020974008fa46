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
from dyn_core.cli.check import check
from dyn_core.cli.counts import counts
from dyn_core.cli.emit import emit
from dyn_core.cli.evaluate import evaluate
from dyn_core.cli.functions import EMITTED, EVALUATED, OF_LINK, VECTORS
from dyn_core.cli.link_options import add_link
from dyn_core.cli.mdh import mdh
from dyn_core.cli.numbers import joined
from dyn_core.cli.robot_options import GRAVITY, add_robot
from dyn_core.cli.simulate import add_arguments as add_simulation
from dyn_core.cli.simulate import simulate
from dyn_core.codegen.languages import LANGUAGES
from dyn_core.errors import DynError

INTERRUPTED = 130  # as shells say it of SIGINT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and answer its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot show is no reason to stop.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if arguments is None else arguments
    parsed = _parser().parse_args(joined(given, (*VECTORS, GRAVITY)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer: Answer = parsed.run(parsed)
        except DynError as error:
            print(f"dyn: error: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("dyn: interrupted", file=sys.stderr)
            return INTERRUPTED
    for warning in caught:
        print(f"dyn: warning: {warning.message}", file=sys.stderr)
    return _print(answer)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dyn", description="Robot dynamics from a URDF.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    table = commands.add_parser("mdh", help="print the modified Denavit-Hartenberg parameters")
    add_robot(table, gravity=False)
    _add_json(table)
    table.set_defaults(run=mdh)

    value = commands.add_parser("eval", help="evaluate a dynamics function in one state")
    add_robot(value, gravity=True)
    _add_json(value)
    functions = (*EVALUATED, *OF_LINK)
    value.add_argument("function", choices=functions, metavar="FUNCTION", help=", ".join(functions))
    add_link(value)
    for option, what in VECTORS.items():
        value.add_argument(option, metavar="X", help=f"joint {what} in tree order, SI units (default: zeros)")
    value.set_defaults(run=evaluate)

    table = commands.add_parser("counts", help="count the operations of the dynamics functions")
    add_robot(table, gravity=True)
    _add_json(table)
    add_link(table)
    table.set_defaults(run=counts)

    source = commands.add_parser("emit", help="write a dynamics function as source code")
    add_robot(source, gravity=True)
    source.add_argument(
        "--function", required=True, choices=EMITTED, metavar="FUNCTION", help=", ".join(EMITTED)
    )
    add_link(source)
    source.add_argument("--lang", required=True, choices=LANGUAGES, metavar="LANG", help=", ".join(LANGUAGES))
    source.add_argument("-o", "--output", metavar="FILE", help="file to write (default: standard output)")
    source.set_defaults(run=emit)

    verdict = commands.add_parser(
        "check",
        help="list what is suspicious about a robot",
        description="List what is suspicious about a robot, the worst first; exit code 1 for an error.",
    )
    add_robot(verdict, gravity=True)
    _add_json(verdict)
    verdict.add_argument("--strict", action="store_true", help="exit code 1 where there is a warning, too")
    verdict.set_defaults(run=check)

    motion = commands.add_parser("simulate", help="simulate the motion that efforts give")
    add_robot(motion, gravity=True)
    _add_json(motion)
    add_simulation(motion)
    motion.set_defaults(run=simulate)
    return parser


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _print(answer: Answer) -> int:
    """Print the answer, if there is one; a reader that has gone away, as `head` does, is no error."""
    if answer.text:
        try:
            print(answer.text, flush=True)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return answer.exit_code
