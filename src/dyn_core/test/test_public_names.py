# SPDX-License-Identifier: Apache-2.0
"""The names of the package: all there, also those that are imported when they are asked for."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import dyn_core

STUB = Path(dyn_core.__file__).with_suffix(".pyi")


def test_the_stub_names_each_thing_once_and_where_it_is() -> None:
    listed = [
        (alias.name, alias.asname, statement.level, f"dyn_core.{statement.module}")
        for statement in ast.parse(STUB.read_text()).body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    ]
    names = [name for name, *_ in listed]
    assert sorted(names) == list(dyn_core.__all__)
    assert len(set(names)) == len(names)
    assert set(names) <= set(dir(dyn_core))
    for name, known_as, level, module in listed:
        assert (known_as, level) == (name, 1)  # for type checkers, a name is public only so
        assert getattr(dyn_core, name) is getattr(import_module(module), name) is not None
    with pytest.raises(AttributeError, match="dyn_core attribute inverse"):
        dyn_core.inverse  # noqa: B018 - asked for
    assert not hasattr(dyn_core, "inverse")
