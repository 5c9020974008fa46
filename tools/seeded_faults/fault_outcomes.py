# SPDX-License-Identifier: Apache-2.0
"""Outcomes of faults: the tests that reach each one are run, and two commits are compared.

The first word of an outcome says what came of the fault: caught, survived, absent (it cannot be placed),
equivalent (it changes no result) or settled (caught at another commit, and not tried again).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import pytest
from fault_list import Candidate, Fault, Function, changed, functions, place, read_faults, write_faults
from recorded_tests import WORK, Recorded, commit_name, copy_of, failed_test, read_recorded, run_tests

Outcomes = dict[str, str]
"""Outcomes of faults by their keys, as they are kept in JSON."""


def run(commit: str, keys: Sequence[int], jobs: int, budget_s: float, settled: str | None) -> None:
    """Run tests with each fault, keep the outcomes and print them.

    A test that is known to catch a fault comes first, then the recorded tests that reach the fault.

    Args:
        commit: the commit; its tests need not be recorded.
        keys: the faults to try; none means all.
        jobs: how many are tried at once.
        budget_s: seconds of tests for a fault.
        settled: faults that are caught at this commit are not tried again.
    """
    name = commit_name(commit)
    recorded = read_recorded(commit)
    elsewhere = read_outcomes(settled) if settled else {}
    trees: SimpleQueue[Path] = SimpleQueue()
    for number in range(jobs):
        trees.put(copy_of(commit, f"{name}-{number}"))

    def outcome(fault: Fault) -> str:
        if fault.equivalent:
            return f"equivalent: {fault.equivalent}"
        if is_caught(elsewhere.get(str(fault.key), "")):
            return f"settled: caught at {settled}"
        tree = trees.get()
        try:
            result = _outcome(fault, tree, recorded, budget_s)
        finally:
            trees.put(tree)
        change = f"{fault.expression!r}: {fault.before} -> {fault.after}"
        print(f"{fault.key:4} {fault.function}: {change}: {result}", flush=True)
        return result

    faults = [fault for fault in read_faults() if not keys or fault.key in keys]
    _check_without_fault(copy_of(commit, f"{name}-clean"), {fault.caught_by for fault in faults} - {""})
    outcomes, target = read_outcomes(commit), _outcomes_file(commit)
    with ThreadPoolExecutor(jobs) as pool:
        for fault, result in zip(faults, pool.map(outcome, faults), strict=True):
            outcomes[str(fault.key)] = result
            target.write_text(json.dumps(outcomes, indent=1))
    print(summary(outcomes.values()))


def _check_without_fault(tree: Path, tests: Collection[str]) -> None:
    """End the program where a test that is known to catch a fault fails without it."""
    if tests and (code := run_tests(tree, sorted(_present(tree, tests)), 3600.0)):
        raise SystemExit(f"tests fail without a fault, with exit code {code}: see {tree / 'pytest.log'}")


def _present(tree: Path, tests: Iterable[str]) -> list[str]:
    """Return the tests whose files are in a tree."""
    return [test for test in tests if test and (tree / test.partition("::")[0]).exists()]


def _outcomes_file(commit: str) -> Path:
    return WORK / f"{commit_name(commit)}-outcomes.json"


def read_outcomes(commit: str) -> Outcomes:
    """Return the outcomes that are kept of a commit."""
    file = _outcomes_file(commit)
    outcomes: Outcomes = json.loads(file.read_text()) if file.exists() else {}
    return outcomes


def is_caught(outcome: str) -> bool:
    """Return whether an outcome says that tests catch the fault."""
    return outcome.startswith(("caught", "settled"))


def _outcome(fault: Fault, tree: Path, recorded: Recorded, budget_s: float) -> str:
    found = place(fault, functions(tree))
    if found is None:
        return "absent"
    function, candidate = found
    source = function.file.read_bytes()
    function.file.write_bytes(changed(source, candidate, fault.after))
    tests = _in_turn(fault, recorded, tree)
    done = 0
    spent = 0.0
    try:
        for part in _parts(tests):
            expected = sum(recorded.seconds.get(test, 0.0) for test in part)
            spent += expected
            if done and spent > budget_s:
                return f"survived the first {done} of {len(tests)} tests"
            code = _run_part(tree, part, 60.0 + 10.0 * expected)
            if code not in (0, 5):
                return f"caught by {failed_test(tree) or part}" + (" (hangs)" if code is None else "")
            done += len(part)
    finally:
        function.file.write_bytes(source)
    return f"survived {len(tests)} tests"


def _in_turn(fault: Fault, recorded: Recorded, tree: Path) -> list[str]:
    """Return the test that is known to catch a fault, then those that reach it.

    Of these, tests that reach few other faults and are quick come first.
    """
    reached = Counter(test for tests in recorded.reached.values() for test in tests)
    tests = recorded.reached.get(fault.key, ())
    known = _present(tree, [fault.caught_by])
    return known + sorted(tests, key=lambda test: (reached[test], recorded.seconds[test]))


def _parts(tests: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the first test alone, then groups that are each twice as large as the one before."""
    begin, size = 0, 1
    while begin < len(tests):
        yield tests[begin : begin + size]
        begin, size = begin + size, max(20, 2 * size)


def _run_part(tree: Path, tests: Sequence[str], limit_s: float) -> int | None:
    """Run tests up to the first failure; whole files where a name of a test is not known any more."""
    code = run_tests(tree, ["-x", *tests], limit_s)
    if code == pytest.ExitCode.USAGE_ERROR:
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        return run_tests(tree, ["-x", *files], 10.0 * limit_s)
    return code


def learn(commit: str) -> None:
    """Keep the tests that catch faults, by the outcomes of a commit, in the list of faults."""
    found = {
        key: text.removeprefix("caught by ") for key, text in read_outcomes(commit).items() if "::" in text
    }
    write_faults(
        [replace(fault, caught_by=found.get(str(fault.key), fault.caught_by)) for fault in read_faults()]
    )


def summary(outcomes: Iterable[str]) -> str:
    """Return the counts of outcomes."""
    counts = Counter(outcome.split()[0].strip(":") for outcome in outcomes)
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))


def compare(old: str, new: str) -> bool:
    """Print what the tests of two commits catch; return whether the new ones catch all that the old ones do.

    A fault that the new tests catch needs no outcome of the old ones.
    """
    placed = [_placed(commit) for commit in (old, new)]
    before, after = (read_outcomes(commit) for commit in (old, new))
    shared = [fault for fault in read_faults() if all(fault.key in keys for keys in placed)]
    results = {fault: after.get(str(fault.key), "not run") for fault in shared}
    print(f"{len(shared)} faults can be placed in both; {new}: {summary(results.values())}")
    is_as_good = True
    for fault, result in results.items():
        if is_caught(result) or fault.equivalent:
            continue
        earlier = before.get(str(fault.key), "not run")
        is_as_good &= earlier.startswith("survived")
        print(f"{fault.key} {fault.function} {fault.expression!r}: {old} {earlier}; {new} {result}")
    return is_as_good


def _placed(commit: str) -> dict[int, tuple[Function, Candidate]]:
    known = functions(copy_of(commit, f"{commit_name(commit)}-placed"))
    return {fault.key: found for fault in read_faults() if (found := place(fault, known))}
