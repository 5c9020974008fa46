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
from dyn_core.cli.base import add_arguments as add_base
from dyn_core.cli.base import base
from dyn_core.cli.check import check
from dyn_core.cli.counts import counts
from dyn_core.cli.emit import emit
from dyn_core.cli.evaluate import evaluate
from dyn_core.cli.excite import START, excite
from dyn_core.cli.excite import add_arguments as add_excitation
from dyn_core.cli.functions import EMITTED, EVALUATED, OF_LINK, VECTORS
from dyn_core.cli.identify import add_arguments as add_identification
from dyn_core.cli.identify import identify
from dyn_core.cli.link_options import add_link
from dyn_core.cli.log import add_arguments as add_log
from dyn_core.cli.log import log
from dyn_core.cli.mdh import mdh
from dyn_core.cli.numbers import Once, joined, no_number
from dyn_core.cli.predict import add_arguments as add_prediction
from dyn_core.cli.predict import predict
from dyn_core.cli.robot_options import GRAVITY, add_parameters, add_robot, add_terms
from dyn_core.cli.simulate import add_arguments as add_simulation
from dyn_core.cli.simulate import simulate
from dyn_core.cli.version import VERSION
from dyn_core.codegen.languages import LANGUAGES
from dyn_core.errors import DynError, shortened

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
    options = (*VECTORS, GRAVITY, START)
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

    table = commands.add_parser(
        "mdh",
        help="print the modified Denavit-Hartenberg parameters",
        description="Print the modified Denavit-Hartenberg parameters of a robot (Khalil and Kleinfinger "
        "1986), a line for each joint: angles in rad, lengths in m.",
    )
    add_robot(table, gravity=False)
    _add_json(table)
    table.set_defaults(run=mdh)

    value = commands.add_parser(
        "eval",
        help="evaluate a dynamics function in one state",
        description="Print the value of a dynamics function in one state, a line for each joint, in SI "
        "units; of the regressor a line for each entry that is not 0: joint, parameter, value. A function "
        "uses what it takes of --q, --qd and --qdd; only forward_dynamics takes --tau. Several numbers "
        "follow these options, one for each joint: --q 0.1 -0.2 or --q=0.1,-0.2.",
    )
    add_robot(value, gravity=True)
    add_parameters(value)
    add_terms(value)
    _add_json(value)
    functions = (*EVALUATED, *OF_LINK)
    value.add_argument("function", choices=functions, metavar="FUNCTION", help=", ".join(functions))
    add_link(value)
    for option, what in VECTORS.items():
        value.add_argument(
            option,
            action=Once,
            metavar="X ...",
            help=f"joint {what} in tree order, SI units (default: zeros)",
        )
    value.set_defaults(run=evaluate)

    table = commands.add_parser(
        "counts",
        help="count the operations of the dynamics functions",
        description="Print how many operations one evaluation of each dynamics function of a robot takes: "
        "multiplications, additions, divisions, sines and cosines, square roots.",
    )
    add_robot(table, gravity=True)
    add_parameters(table)
    add_terms(table)
    _add_json(table)
    add_link(table)
    table.set_defaults(run=counts)

    table = commands.add_parser(
        "base",
        help="print the base (minimum) inertial parameters",
        description="Print the base parameters of a robot: independent combinations of inertial parameters "
        "that give all joint torques, with their values (SI units), then what was grouped in them and what "
        "has no effect on any torque.",
    )
    add_robot(table, gravity=True)
    add_parameters(table)
    _add_json(table)
    add_base(table)
    table.set_defaults(run=base)

    source = commands.add_parser(
        "emit",
        help="write a dynamics function as source code",
        description="Write a dynamics function of a robot as source code with the numbers of this robot, "
        "which needs nothing else to be used.",
    )
    add_robot(source, gravity=True)
    add_parameters(source)
    add_terms(source)
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

    motion = commands.add_parser(
        "simulate",
        help="simulate the motion that efforts give",
        description="Simulate the motion that the efforts of a CSV file give a robot, faster than in real "
        "time, and write the states to a CSV file.",
    )
    add_robot(motion, gravity=True)
    add_parameters(motion)
    _add_json(motion)
    add_simulation(motion)
    motion.set_defaults(run=simulate)

    exciting = commands.add_parser(
        "excite",
        help="find a trajectory for identification",
        description="Find a trajectory that shows the dynamic parameters of a robot, within its limits: a "
        "Fourier series from rest to rest with the least condition number of the columns of its base "
        "parameters "
        "and friction. The same arguments give the same trajectory.",
    )
    add_robot(exciting, gravity=True)
    _add_json(exciting)
    add_excitation(exciting)
    exciting.set_defaults(run=excite)

    recorded = commands.add_parser(
        "log",
        help="tell what is in a log",
        description="Tell what is in a log of a robot: joints, rate, gaps, ranges, and what is suspicious, "
        "the worst "
        "first; exit code 1 where it cannot be used for identification.",
    )
    add_log(recorded)
    _add_json(recorded)
    recorded.set_defaults(run=log)

    identification = commands.add_parser(
        "identify",
        help="identify the dynamic parameters of a robot from a log",
        description="Identify masses, inertias, rotors and friction of a robot from a log of its motion and "
        "efforts, and write a file of parameters for dyn and the nodes, an identified URDF, a report, and "
        "data for machines; exit code 1 where signals are wrong, such as an effort with the wrong sign.",
    )
    add_robot(identification, gravity=True)
    _add_json(identification)
    add_identification(identification)
    identification.set_defaults(run=identify)

    prediction = commands.add_parser(
        "predict",
        help="predict the efforts of a log by identified parameters",
        description="Compute the efforts that identified parameters give along the motion of a log, write "
        "them to a CSV file, and print how far they are from those that were measured.",
    )
    add_robot(prediction, gravity=True)
    _add_json(prediction)
    add_prediction(prediction)
    prediction.set_defaults(run=predict)
    return parser


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


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
