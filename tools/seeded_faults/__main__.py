# SPDX-License-Identifier: Apache-2.0
"""Measure which of a fixed list of small faults the tests catch, so that two commits can be compared.

    python tools/seeded_faults generate                 # makes faults.json anew (seldom)
    python tools/seeded_faults run NEW [--only 3 17] [--jobs 2]
    python tools/seeded_faults record NEW               # which tests reach which faulty function
    python tools/seeded_faults run NEW                  # tries these tests, too
    python tools/seeded_faults learn NEW                # keeps the tests that catch faults in faults.json
    python tools/seeded_faults record OLD --files test_base_parameters test_mdh
    python tools/seeded_faults run OLD --settled NEW    # only the faults that are not caught at NEW
    python tools/seeded_faults compare OLD NEW

A fault is one changed operator, function or number. It is found again by the name of its function and the
expression around it, so the list fits commits where modules, classes or lines have moved; where the
function has another name, by the expression alone if that stands only once. Each commit is run in a copy
under build/faults. A hang counts as caught. Tests that fail without a fault are left out.

In faults.json, `equivalent` says why a fault changes no result; such a fault is not run. `caught_by` is a
test that catches a fault; it is tried first.
"""

from __future__ import annotations

import argparse
import os
import sys

from fault_list import FAULTS, generate, write_faults
from fault_outcomes import compare, learn, run
from recorded_tests import ROOT, WORK, record


def main() -> int:
    """Run the command that the arguments name."""
    arguments = _parser().parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    match arguments.command:
        case "generate":
            write_faults(generate(ROOT, arguments.seed))
            print(FAULTS)
        case "record":
            print(record(arguments.commit, arguments.jobs, arguments.limit, arguments.files))
        case "run":
            run(arguments.commit, arguments.only, arguments.jobs, arguments.budget, arguments.settled)
        case "learn":
            learn(arguments.commit)
        case "compare":
            return int(not compare(arguments.old, arguments.new))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="seeded_faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    generated = commands.add_parser("generate")
    generated.add_argument("--seed", type=int, default=15)
    recorded, tried = commands.add_parser("record"), commands.add_parser("run")
    for command in (recorded, tried):
        command.add_argument("commit")
        command.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    recorded.add_argument("--limit", type=float, default=7200.0, help="seconds for the tests")
    recorded.add_argument("--files", nargs="*", default=[], help="only test files with these in their paths")
    tried.add_argument("--only", type=int, nargs="*", default=[], help="numbers of faults")
    tried.add_argument("--budget", type=float, default=300.0, help="seconds of tests for a fault")
    tried.add_argument("--settled", metavar="COMMIT", help="leave out faults that are caught at this commit")
    commands.add_parser("learn").add_argument("commit")
    compared = commands.add_parser("compare")
    compared.add_argument("old")
    compared.add_argument("new")
    return parser


if __name__ == "__main__":
    sys.exit(main())
