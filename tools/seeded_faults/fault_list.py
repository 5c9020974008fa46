# SPDX-License-Identifier: Apache-2.0
"""Small faults: where they can be in the packages, a random list, and their places in another commit."""

from __future__ import annotations

import ast
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

FAULTS = Path(__file__).with_name("faults.json")
PACKAGES = ("src/dyn_core/dyn_core", "src/dyn_nodes/dyn_nodes")
SHARES = {"+-": 42, "*/": 22, "<": 20, "sin": 6, "half": 6, "and": 12, "one": 12}
"""How many faults of each kind there are."""

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
    """A place where a fault can be.

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
    """A function in a file; the name has those of the classes and functions around it."""

    file: Path
    name: str
    body_line: int
    indent: int
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Fault:
    """A fault, described so that it can be found in another commit.

    `equivalent` says why the fault changes no result; it is empty where it changes some. `caught_by` is a
    test that catches it; it is empty where none is known.
    """

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
    equivalent: str = ""
    caught_by: str = ""


# Where faults can be.


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
    """Return random faults, at most one in a function and as many of each kind as `SHARES` says."""
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
    """Return the faults of the list that is kept."""
    return [Fault(**entry) for entry in json.loads(FAULTS.read_text())]


def write_faults(faults: Sequence[Fault]) -> None:
    """Keep a list of faults."""
    entries = [{name: value for name, value in asdict(fault).items() if value != ""} for fault in faults]
    FAULTS.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")


def place(fault: Fault, known: Sequence[Function]) -> tuple[Function, Candidate] | None:
    """Find a fault among the functions of a tree; None where it cannot be found for certain."""
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
