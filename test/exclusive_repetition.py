# SPDX-License-Identifier: Apache-2.0
"""Repeat a failed real-time test while no other test runs.

Some tests let nodes run in real time, each in its process. Beside other tests, on a machine with few
processors, such a node may stand still for longer than its timeouts: the test then says something about the
machine. So it is run once more, alone. A test that fails alone, too, has failed. A test with a stepped clock
does not depend on the machine and is never repeated.

The processes of pytest-xdist share two locks. Each test holds `running` together with others, a repetition
holds it alone. `entrance` is held for a moment by each test that begins, and by a repetition from the time
that it waits: so it gets its turn.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

REPEATED = "repeated alone"
"""Name of the property of a test that was repeated; its value says why."""


@contextmanager
def locked(path: Path, kind: int) -> Iterator[None]:
    """Hold a lock file: `fcntl.LOCK_SH` together with others, `fcntl.LOCK_EX` alone."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, kind)
        yield
    finally:
        os.close(handle)


class ExclusiveRepetition:
    """Plugin that runs each test, and those that failed in real time once more, alone."""

    def __init__(self, folder: Path) -> None:
        self._entrance, self._running = folder / "tests-entrance", folder / "tests-running"

    @contextmanager
    def _beside_others(self) -> Iterator[None]:
        with ExitStack() as stack:
            with locked(self._entrance, fcntl.LOCK_EX):
                stack.enter_context(locked(self._running, fcntl.LOCK_SH))
            yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test, and report one outcome of it."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        with self._beside_others():
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failed = next((report for report in reports if report.failed), None)
        if failed is not None and is_real_time(item):
            with locked(self._entrance, fcntl.LOCK_EX), locked(self._running, fcntl.LOCK_EX):
                item.user_properties.append((REPEATED, f"{failed.when}: {cause(failed)}"))
                item._initrequest()  # type: ignore[attr-defined]
                reports = runtestprotocol(item, nextitem=nextitem, log=False)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the tests that were repeated, and why."""
        reports = [
            report
            for outcome in terminalreporter.stats.values()
            for report in outcome
            if isinstance(report, pytest.TestReport)
        ]
        repeated = {(r.nodeid, why) for r in reports for name, why in r.user_properties if name == REPEATED}
        for test, why in sorted(repeated):
            terminalreporter.write_line(f"REPEATED ALONE {test}: {why}")


def is_real_time(item: pytest.Item) -> bool:
    """Return whether a test lets nodes run in real time: the fixture `graph` starts processes and spins."""
    return "graph" in getattr(item, "fixturenames", ())


def cause(report: pytest.TestReport) -> str:
    """Return the last line of a failure."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(crash.message if crash else report.longrepr).strip().splitlines()
    return lines[0] if lines else "no reason given"
