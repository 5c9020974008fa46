# SPDX-License-Identifier: Apache-2.0
"""``dyn check``: suspicious properties of a robot."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter

from dyn_core.check.check_robot import Report, report
from dyn_core.check.subject import finding_of_error
from dyn_core.cli.console import INPUT_NAME, STANDARD_INPUT, Output
from dyn_core.cli.options import Command, loading, source_of
from dyn_core.core.errors import DynError, counted, shortened
from dyn_core.core.findings import Severity


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    parser.add_argument("--strict", action="store_true", help="exit code 1 where there is a warning as well")


def check(arguments: Namespace) -> Output:
    """Return the findings, one a line or as JSON; the exit code is 1 where there is an error."""
    found = _report(arguments)
    counts = Counter(finding.severity for finding in found.findings)
    failed = bool(counts[Severity.ERROR] or (arguments.strict and counts[Severity.WARNING]))
    if arguments.json:
        entries = {
            "robot": found.robot,
            "findings": [finding.entries() for finding in found.findings],
            "counts": {str(severity): counts[severity] for severity in Severity},
        }
        return Output(entries, int(failed))
    path = INPUT_NAME if arguments.robot == STANDARD_INPUT else arguments.robot
    amounts = [counted(counts[severity], str(severity)) for severity in Severity if counts[severity]]
    name = shortened(found.robot) if found.robot else path
    return Output([*found.findings, f"{name}: {', '.join(amounts) or 'nothing suspicious'}"], int(failed))


def _report(arguments: Namespace) -> Report:
    options = loading(arguments)
    try:
        source = source_of(arguments.robot)
    except DynError as error:
        return Report(None, (finding_of_error(error, INPUT_NAME),))
    return report(source, **options)


COMMAND = Command(
    description="List the suspicious properties of a robot, the worst first; exit code 1 for an error.",
    run=check,
    add_arguments=add_arguments,
    base=None,
)
