# SPDX-License-Identifier: Apache-2.0
"""Measure which of a fixed list of small faults the tests catch, so that two commits can be compared.

    python tools/seeded_faults.py generate                 # makes tools/seeded_faults.json anew (seldom)
    python tools/seeded_faults.py record HEAD              # which tests reach which faulty function
    python tools/seeded_faults.py run HEAD [--only 3 17] [--jobs 2]
    python tools/seeded_faults.py compare OLD NEW

A fault is one changed operator, function or number. It is found again by the name of its function and the
expression around it, so the list fits commits where modules, classes or lines have moved; where the
function has another name, by the expression alone if that stands only once. Each commit is run in a copy
under build/faults. A hang counts as caught. Tests that fail without a fault are left out.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue

import pytest

ROOT = Path(__file__).resolve().parent.parent
FAULTS = Path(__file__).with_suffix(".json")
WORK = ROOT / "build" / "faults"
PACKAGES = ("src/dyn_core/dyn_core", "src/dyn_nodes/dyn_nodes")
TESTS = ("src/dyn_core/test", "src/dyn_nodes/test", "test")
MEMORY = 8 << 30
SHARES = {"+-": 42, "*/": 22, "<": 20, "sin": 6, "half": 6, "and": 12, "one": 12}
"""Number of faults of each kind."""

SWAPS: dict[type[ast.AST], tuple[str, str, str]] = {
    ast.Add: ("+-", "+", "-"),
    ast.Sub: ("+-", "-", "+"),
    ast.Mult: ("*/", "*", "/"),
    ast.Div: ("*/", "/", "*"),
    ast.Lt: ("<", "<", "<="),
    ast.LtE: ("<", "<=", "<"),
    ast.Gt: ("<", ">", ">="),
    ast.GtE: ("<", ">=", ">"),
    ast.And: ("and", "and", "or"),
    ast.Or: ("and", "or", "and"),
}


@dataclass(frozen=True)
class Candidate:
    """A place for a possible fault.

    Attributes:
        kind: one of the kinds of `SHARES`.
        before, after: the text that is there, and that of the fault.
        start, end: the bytes of the file that hold `before`, perhaps among spaces and brackets.
        expression: the outermost expression around it, in the spelling of `ast.unparse`.
        index: how many candidates of the same kind come before it in its function.
    """

    kind: str
    before: str
    after: str
    start: int
    end: int
    expression: str
    index: int = 0


@dataclass(frozen=True)
class Function:
    """A function in a file; its name contains those of the classes and functions around it."""

    file: Path
    name: str
    body_line: int
    indent: int
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Fault:
    """A fault, described so that it can be found in another commit."""

    key: int
    file: str
    line: int
    column: int
    function: str
    kind: str
    index: int
    expression: str
    before: str
    after: str


# Places for faults.


def functions(tree: Path) -> list[Function]:
    """Return the functions of the packages in a tree."""
    files = (file for package in PACKAGES for file in sorted((tree / package).rglob("*.py")))
    return [function for file in files for function in functions_of(file)]


def functions_of(file: Path) -> list[Function]:
    """Return the functions of a file."""
    source = file.read_bytes()
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    found = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append(_function(file, prefix + child.name, child, source, lines))
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")
            else:
                visit(child, prefix)

    visit(ast.parse(source), "")
    return found


def _function(
    file: Path, name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, source: bytes, lines: Sequence[int]
) -> Function:
    documented = ast.get_docstring(node) is not None and len(node.body) > 1
    first = node.body[1 if documented else 0]
    decorators = getattr(first, "decorator_list", [])
    line = min([first.lineno, *(decorator.lineno for decorator in decorators)])
    indent = first.col_offset if first.lineno > node.lineno else -1
    counts: dict[str, int] = defaultdict(int)
    candidates = []
    for candidate in sorted(_candidates(node, source, lines), key=lambda found: found.start):
        candidates.append(Candidate(**{**asdict(candidate), "index": counts[candidate.kind]}))
        counts[candidate.kind] += 1
    return Function(file, name, line, indent, tuple(candidates))


def _candidates(
    function: ast.FunctionDef | ast.AsyncFunctionDef, source: bytes, lines: Sequence[int]
) -> Iterator[Candidate]:
    """Yield the candidates in the body of a function, without those of functions inside it."""

    def start(node: ast.expr) -> int:
        return lines[node.lineno - 1] + node.col_offset

    def end(node: ast.expr) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return lines[node.end_lineno - 1] + node.end_col_offset

    def between(operator: ast.AST, left: ast.expr, right: ast.expr, outer: str) -> Iterator[Candidate]:
        if type(operator) in SWAPS and not (_is_text(left) or _is_text(right)):
            kind, before, after = SWAPS[type(operator)]
            if source[end(left) : start(right)].count(before.encode()) == 1:
                yield Candidate(kind, before, after, end(left), start(right), outer)

    def visit(node: ast.AST, outer: str) -> Iterator[Candidate]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.JoinedStr):
            return
        if not outer and isinstance(node, ast.expr):
            outer = ast.unparse(node)
        match node:
            case ast.BinOp(left, operator, right):
                yield from between(operator, left, right, outer)
            case ast.AugAssign(target, operator, value):
                yield from between(operator, target, value, ast.unparse(node))
            case ast.Compare(left, operators, others):
                for comparison, one, other in zip(operators, [left, *others], others, strict=False):
                    yield from between(comparison, one, other, outer)
            case ast.BoolOp(junction, values):
                for one, other in pairwise(values):
                    yield from between(junction, one, other, outer)
            case ast.Call(ast.Name(id=("sin" | "cos") as name) | ast.Attribute(attr=("sin" | "cos") as name)):
                assert isinstance(node, ast.Call)
                other_name = "cos" if name == "sin" else "sin"
                yield Candidate("sin", name, other_name, end(node.func) - 3, end(node.func), outer)
            case ast.Constant(value=float(number)) if number == 0.5:
                yield Candidate(
                    "half", source[start(node) : end(node)].decode(), "1.0", start(node), end(node), outer
                )
            case ast.Constant(value=int(number)) if not isinstance(number, bool) and number in (0, 1, 2, 3):
                yield Candidate("one", str(number), str(number + 1), start(node), end(node), outer)
        annotation = getattr(node, "annotation", None)
        for child in ast.iter_child_nodes(node):
            if child is not annotation:
                yield from visit(child, outer)

    for statement in function.body:
        yield from visit(statement, "")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


# The list of faults.


def generate(tree: Path, seed: int) -> list[Fault]:
    """Return random faults, at most one per function, with the numbers of `SHARES` for each kind."""
    by_kind: dict[str, list[tuple[Function, Candidate]]] = defaultdict(list)
    for function in functions(tree):
        for candidate in function.candidates:
            if function.indent >= 0 and len(candidate.expression) >= 8:
                by_kind[candidate.kind].append((function, candidate))
    choose = random.Random(seed)
    taken: set[str] = set()
    faults: list[Fault] = []
    for kind, share in SHARES.items():
        pool = by_kind[kind]
        choose.shuffle(pool)
        chosen = 0
        for function, candidate in pool:
            if chosen < share and function.name not in taken:
                taken.add(function.name)
                chosen += 1
                faults.append(_fault(len(faults), tree, function, candidate))
    return faults


def _fault(key: int, tree: Path, function: Function, candidate: Candidate) -> Fault:
    before = function.file.read_bytes()[: candidate.start]
    return Fault(
        key=key,
        file=function.file.relative_to(tree).as_posix(),
        line=before.count(b"\n") + 1,
        column=len(before) - before.rfind(b"\n") - 1,
        function=function.name,
        kind=candidate.kind,
        index=candidate.index,
        expression=candidate.expression,
        before=candidate.before,
        after=candidate.after,
    )


def read_faults() -> list[Fault]:
    """Return the faults of the stored list."""
    return [Fault(**entry) for entry in json.loads(FAULTS.read_text())]


def place(fault: Fault, known: Sequence[Function]) -> tuple[Function, Candidate] | None:
    """Find a fault among the functions of a tree; return None where the match is not certain."""
    fitting = [
        (function, candidate)
        for function in known
        for candidate in function.candidates
        if (candidate.kind, candidate.expression, candidate.before)
        == (fault.kind, fault.expression, fault.before)
    ]
    named = [one for one in fitting if one[0].name == fault.function] or [
        one for one in fitting if one[0].name.rpartition(".")[2] == fault.function.rpartition(".")[2]
    ]
    same_file = [one for one in named if one[0].file.as_posix().endswith(fault.file)]
    for group in (same_file, named, fitting):
        exact = [one for one in group if one[1].index == fault.index]
        for choice in (exact, group):
            if len({one[0] for one in choice}) == 1:
                return min(choice, key=lambda one: abs(one[1].index - fault.index))
    return None


def changed(source: bytes, candidate: Candidate, after: str) -> bytes:
    """Return the source of a file with a fault in it."""
    part = source[candidate.start : candidate.end].replace(candidate.before.encode(), after.encode(), 1)
    return source[: candidate.start] + part + source[candidate.end :]


# Copies of a commit, in which the tests run.


def copy_of(commit: str, name: str) -> Path:
    """Return a fresh copy of a commit."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "x"], cwd=folder, input=archive, check=True)
    return folder


def commit_name(commit: str) -> str:
    """Return the short hash of a commit."""
    command = ["git", "rev-parse", "--short=10", commit]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def test_files(tree: Path, folders: Sequence[str]) -> list[str]:
    """Return the test files in folders of a tree."""
    found = [file for folder in folders for file in sorted((tree / folder).rglob("test_*.py"))]
    return [file.relative_to(tree).as_posix() for file in found]


def run_tests(tree: Path, arguments: Sequence[str], limit_s: float, **variables: str) -> int | None:
    """Run tests and return the exit code of pytest, or None where they hang."""
    own = [str(tree / package.rpartition("/")[0]) for package in PACKAGES]
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    environment = {
        **os.environ,
        "DYN_CACHE_DIR": str(WORK / "compiled"),
        "PYTHONPATH": os.pathsep.join([*own, *others]),
        "PYTHONDONTWRITEBYTECODE": "1",
        **variables,
    }
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *("-m", "not exhaustive", "-W", "ignore::pytest.PytestUnknownMarkWarning", *arguments),
    ]
    with (tree / "pytest.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            # Also the processes that a test left running.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


# Tests that reach a fault.

REACHED = '''"""Pytest plugin: note which tests call which functions, and their times and outcomes."""

import os

_folder = os.environ["DYN_FAULTS_REACHED"]
_noted = set()


def note(key):
    test = os.environ.get("PYTEST_CURRENT_TEST")
    if test and (key, test) not in _noted:
        _noted.add((key, test))
        with open(f"{_folder}/{os.getpid()}", "a") as file:
            file.write(f"{key} {test}\\n")


def pytest_runtest_logreport(report):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with open(f"{_folder}/outcomes", "a") as file:
            file.write(f"{report.duration} {report.outcome} {report.nodeid}\\n")
'''


def record(commit: str, jobs: int, limit_s: float, only: Sequence[str] = ()) -> Path:
    """Run the tests and record which of them call the functions with faults; return the record's file."""
    name = commit_name(commit)
    tree = copy_of(commit, f"{name}-record")
    known = functions(tree)
    places = {fault.key: found for fault in read_faults() if (found := place(fault, known))}
    _note_calls(places)
    (tree / "src/dyn_core/dyn_faults_reached.py").write_text(REACHED)
    notes = tree / "reached"
    notes.mkdir()
    for group in (TESTS[:1], TESTS[1:]):
        files = [file for file in test_files(tree, group) if not only or any(part in file for part in only)]
        workers = ["-n", str(jobs), "--dist", "loadfile", "-p", "dyn_faults_reached"]
        code = run_tests(tree, [*workers, *files], limit_s, DYN_FAULTS_REACHED=str(notes)) if files else 0
        print(f"{', '.join(group)}: exit code {code}", flush=True)

    seconds: dict[str, float] = defaultdict(float)
    failing = set()
    for line in (notes / "outcomes").read_text().splitlines():
        duration, outcome, test = line.split(" ", 2)
        seconds[test] += float(duration)
        if outcome == "failed":
            failing.add(test)
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in seconds:
        by_file[test.partition("::")[0]].append(test)
    reached: dict[int, set[str]] = defaultdict(set)
    for file in notes.iterdir():
        for line in file.read_text().splitlines() if file.name != "outcomes" else []:
            key, _, test = line.partition(" ")
            test, _, phase = test.rpartition(" ")
            # Calls in a fixture count for all tests of the file.
            reached[int(key)] |= {test} if phase == "(call)" else set(by_file[test.partition("::")[0]])
    target = WORK / f"{name}-reached.json"
    tests = {key: sorted(reached[key] & set(seconds) - failing, key=seconds.__getitem__) for key in places}
    target.write_text(
        json.dumps({"seconds": seconds, "failing": sorted(failing), "reached": tests}, indent=1)
    )
    return target


def _note_calls(places: Mapping[int, tuple[Function, Candidate]]) -> None:
    """Let the functions with faults record their calls."""
    by_file: dict[Path, list[tuple[int, int, int]]] = defaultdict(list)
    for key, (function, _) in places.items():
        by_file[function.file].append((function.body_line, function.indent, key))
    for file, notes in by_file.items():
        lines = file.read_text().splitlines(keepends=True)
        for line, indent, key in sorted(notes, reverse=True):
            lines.insert(line - 1, f"{' ' * indent}__import__('dyn_faults_reached').note({key})\n")
        file.write_text("".join(lines))


# Running faults.


def run(commit: str, keys: Sequence[int], jobs: int, budget_s: float) -> Path:
    """Run the tests that reach each fault, and return the file with the outcomes."""
    name = commit_name(commit)
    known = json.loads((WORK / f"{name}-reached.json").read_text())
    faults = [fault for fault in read_faults() if not keys or fault.key in keys]
    trees: SimpleQueue[Path] = SimpleQueue()
    for number in range(jobs):
        trees.put(copy_of(commit, f"{name}-{number}"))

    def outcome(fault: Fault) -> str:
        tree = trees.get()
        try:
            tests = known["reached"].get(str(fault.key), [])
            result = _outcome(fault, tree, tests, known["seconds"], budget_s)
        finally:
            trees.put(tree)
        change = f"{fault.expression!r}: {fault.before} -> {fault.after}"
        print(f"{fault.key:4} {fault.function}: {change}: {result}", flush=True)
        return result

    target = WORK / f"{name}-outcomes.json"
    outcomes = json.loads(target.read_text()) if target.exists() else {}
    with ThreadPoolExecutor(jobs) as pool:
        for fault, result in zip(faults, pool.map(outcome, faults), strict=True):
            outcomes[str(fault.key)] = result
            target.write_text(json.dumps(outcomes, indent=1))
    return target


def _outcome(
    fault: Fault, tree: Path, tests: Sequence[str], seconds: Mapping[str, float], budget_s: float
) -> str:
    found = place(fault, functions(tree))
    if found is None:
        return "absent"
    function, candidate = found
    source = function.file.read_bytes()
    function.file.write_bytes(changed(source, candidate, fault.after))
    done = 0
    spent = 0.0
    try:
        for part in _parts(tests):
            spent += sum(map(seconds.__getitem__, part))
            if done and spent > budget_s:
                return f"survived the {done} quickest of {len(tests)} tests"
            code = _run_part(tree, part, 60.0 + 10.0 * sum(map(seconds.__getitem__, part)))
            if code not in (0, 5):
                return f"caught by one of {part[0]} ... {part[-1]}{' (hangs)' if code is None else ''}"
            done += len(part)
    finally:
        function.file.write_bytes(source)
    return f"survived {len(tests)} tests"


def _parts(tests: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield tests in groups, each twice as large as the one before."""
    begin, size = 0, 20
    while begin < len(tests):
        yield tests[begin : begin + size]
        begin, size = begin + size, 2 * size


def _run_part(tree: Path, tests: Sequence[str], limit_s: float) -> int | None:
    """Run tests up to the first failure; run whole files where the name of a test is unknown."""
    code = run_tests(tree, ["-x", *tests], limit_s)
    if code == pytest.ExitCode.USAGE_ERROR:
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        return run_tests(tree, ["-x", *files], 10.0 * limit_s)
    return code


def summary(outcomes: Mapping[str, str]) -> str:
    """Return the counts of outcomes."""
    words = [text.split()[0] for text in outcomes.values()]
    return ", ".join(f"{words.count(word)} {word}" for word in ("caught", "survived", "absent"))


def compare(old: str, new: str) -> bool:
    """Print the counts of two commits and the faults that only one catches.

    Return whether the new one is as good.
    """
    names = [commit_name(commit) for commit in (old, new)]
    before, after = (json.loads((WORK / f"{name}-outcomes.json").read_text()) for name in names)
    shared = [
        key
        for key in before
        if key in after and "absent" not in (before[key].split()[0], after[key].split()[0])
    ]
    kept = [{key: outcomes[key] for key in shared} for outcomes in (before, after)]
    for name, outcomes in zip(names, kept, strict=True):
        print(f"{name}: {summary(outcomes)}")
    for fault in read_faults():
        results = [outcomes.get(str(fault.key), "") for outcomes in kept]
        if len({text.startswith("caught") for text in results}) == 2:
            print(f"{fault.key} {fault.function} {fault.expression!r}: {results[0]} -> {results[1]}")
    counts = [sum(text.startswith("caught") for text in outcomes.values()) for outcomes in kept]
    return bool(counts[1] >= counts[0])


def main() -> int:
    """Run the command given by the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    generated = commands.add_parser("generate")
    generated.add_argument("--seed", type=int, default=15)
    for name in ("record", "run"):
        command = commands.add_parser(name)
        command.add_argument("commit")
        command.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
        if name == "record":
            command.add_argument("--limit", type=float, default=7200.0, help="seconds for the tests")
            command.add_argument(
                "--files", nargs="*", default=[], help="only test files with these in their paths"
            )
        else:
            command.add_argument("--only", type=int, nargs="*", default=[], help="numbers of faults")
            command.add_argument("--budget", type=float, default=600.0, help="seconds of tests for a fault")
    compared = commands.add_parser("compare")
    compared.add_argument("old")
    compared.add_argument("new")
    arguments = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    if arguments.command == "generate":
        faults = generate(ROOT, arguments.seed)
        FAULTS.write_text(
            json.dumps([asdict(fault) for fault in faults], indent=1, ensure_ascii=False) + "\n"
        )
        print(f"{len(faults)} faults in {FAULTS}")
    elif arguments.command == "record":
        print(record(arguments.commit, arguments.jobs, arguments.limit, arguments.files))
    elif arguments.command == "run":
        print(
            summary(
                json.loads(
                    run(arguments.commit, arguments.only, arguments.jobs, arguments.budget).read_text()
                )
            )
        )
    elif not compare(arguments.old, arguments.new):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
