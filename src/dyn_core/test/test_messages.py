# SPDX-License-Identifier: Apache-2.0
"""Messages: each code has one sentence, and errors have the values that their sentence needs."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from sentence_examples import FILE, examples, values_of

import dyn_core
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.core.messages import _WORDS, CATALOGUES, catalogue, nearest, sentence

SOURCES = Path(__file__).parents[2]
PLACE = {"element", "line", "file", "place"}
MADE = {
    **dict.fromkeys(("DynError", "ArgumentError", "ModelWarning", "Damaged", "Message"), 0),
    **dict.fromkeys(("Rejection", "BaseUnknown", "PassedOver", "Notice", "Failure"), 0),
    **dict.fromkeys(("NoCompiler", "CacheUnusable"), 0),
    **dict.fromkeys(("at_line", "at_joint"), 1),
}
"""Callables that take a code and values, and the argument position of the code."""


def made() -> Iterator[tuple[str, str, set[str] | None]]:
    """Return where messages are made: place, code and names of values, or None for a mapping."""
    for path in sorted(SOURCES.glob("dyn_*/dyn_*/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                continue
            if node.func.id not in MADE:
                continue
            given = all(keyword.arg for keyword in node.keywords)
            names = {keyword.arg for keyword in node.keywords if keyword.arg}
            names -= set() if node.func.id == "Message" else PLACE
            names |= {"joint"} if node.func.id == "at_joint" else set()
            for code in codes(node.args[MADE[node.func.id]]):
                yield f"{path}:{node.lineno}", code, names if given else None


def codes(argument: ast.expr) -> Iterator[str]:
    if isinstance(argument, ast.IfExp):
        yield from (*codes(argument.body), *codes(argument.orelse))
    elif isinstance(argument, ast.Constant) and " " not in str(argument.value):
        yield str(argument.value)


def test_each_error_has_a_sentence_with_its_values() -> None:
    known, found = catalogue(), list(made())
    assert len(found) > 400
    for place, code, names in found:
        assert code in known, f"{place}: no sentence for '{code}'"
        fields = {name.partition(".")[0] for _, name, _, _ in Formatter().parse(known[code]) if name}
        assert names is None or fields <= names, f"{place}: '{code}' lacks values"


@pytest.mark.promise("refused-codes-stay")
def test_the_sentences_are_those_of_the_golden_file_and_no_code_stands_twice() -> None:
    text = FILE.read_text()
    assert examples(values_of(text)) == text, "run test/sentence_examples.py and read what changes"
    sentences = Path(dyn_core.__file__).parent / "core" / "sentences"
    modules = (ast.parse((sentences / f"{name}.py").read_text()) for name in CATALOGUES)
    nodes = (node for module in modules for node in ast.walk(module))
    dictionaries = (node for node in nodes if isinstance(node, ast.Dict))
    keys = [key.value for node in dictionaries for key in node.keys if isinstance(key, ast.Constant)]
    assert len(keys) == len(set(keys)) == len(catalogue())


def test_errors_are_values() -> None:
    for error, text in (
        (DynError("pyarrow-missing"), ""),
        (DynError("file-missing", path="a.urdf"), "'a.urdf'"),
        (ArgumentError("argument-shape", argument="q", expected="(6,)", given=(5,)), "q "),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert (again.code, again.values) == (error.code, error.values)
        assert str(again) == str(error) == sentence(error.code, error.values)
        assert text in str(error)
    error = DynError("file-missing", path="x", element="robot", line=3).in_file("robot.urdf")
    assert (error.code, error.element, error.line, error.file) == ("file-missing", "robot", 3, "robot.urdf")
    assert str(error).startswith("robot.urdf: ")


def test_names_counts_and_long_texts_in_sentences() -> None:
    formats = {"{n:count axis|axes}": "2 axes", "{xs:names2}": "'a', 'b' and 1 more", "{t:text8}": "abcde..."}
    for text, expected in formats.items():
        assert _WORDS.vformat(text, (), {"n": 2, "xs": ["a", "b", "c"], "t": "abcdefghijk"}) == expected


def test_a_very_long_name_is_not_compared_with_the_known_ones() -> None:
    """Found by fuzzing: a wrench on a link with a name of 100 000 characters took the simulation 19 ms."""
    assert nearest("shoulders", ["elbow", "shoulder"]) == "shoulder"
    assert nearest("shoulder" + "s" * 100_000, ["elbow", "shoulder" + "s" * 99_999]) is None
