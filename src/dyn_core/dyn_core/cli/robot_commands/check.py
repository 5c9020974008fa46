# SPDX-License-Identifier: Apache-2.0
"""``dyn check``: what is suspicious about a robot."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from typing import Any

from dyn_core.check.check_robot import Report, report
from dyn_core.check.place import finding_of_error
from dyn_core.cli.answer import Answer
from dyn_core.cli.robot_options import loading
from dyn_core.cli.standard_input import SHOWN, STANDARD_INPUT, source_of
from dyn_core.core.errors import DynError, shortened
from dyn_core.core.findings import Finding, Severity


def add_arguments(parser: ArgumentParser) -> None:
    """Let warnings count."""
    parser.add_argument("--strict", action="store_true", help="exit code 1 where there is a warning, too")


def check(arguments: Namespace) -> Answer:
    """Answer the findings, one a line or as JSON; the exit code is 1 where there is an error."""
    found = _report(arguments)
    counts = Counter(finding.severity for finding in found.findings)
    failed = counts[Severity.ERROR] + (counts[Severity.WARNING] if arguments.strict else 0) > 0
    text = _json(found, counts) if arguments.json else _lines(found, counts, _shown(arguments.robot))
    return Answer(text, int(failed))


def _report(arguments: Namespace) -> Report:
    options = loading(arguments)
    try:
        source = source_of(arguments.robot)
    except DynError as error:
        return Report(None, (finding_of_error(error, SHOWN),))
    return report(source, **options)


def _shown(robot: str) -> str:
    return SHOWN if robot == STANDARD_INPUT else robot


def _lines(found: Report, counts: Counter[Severity], path: str) -> str:
    amounts = (_amount(counts[severity], severity) for severity in Severity if counts[severity])
    summary = (
        f"{shortened(found.robot) if found.robot else path}: {', '.join(amounts) or 'nothing suspicious'}"
    )
    return "\n".join([*map(str, found.findings), summary])


def _amount(count: int, severity: Severity) -> str:
    return f"{count} {severity}{'' if count == 1 else 's'}"


def _json(found: Report, counts: Counter[Severity]) -> str:
    answer = {
        "robot": found.robot,
        "findings": [_entry(finding) for finding in found.findings],
        "counts": {str(severity): counts[severity] for severity in Severity},
    }
    return json.dumps(answer, indent=2)


def _entry(finding: Finding) -> dict[str, Any]:
    return {
        "severity": str(finding.severity),
        "element": finding.element,
        "message": finding.message,
        "kind": finding.kind,
        "names": finding.names,
        "line": finding.line,
    }
