# SPDX-License-Identifier: Apache-2.0
"""The public names of the package exist, also those that are imported on first use."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import dyn_core

STUB = Path(dyn_core.__file__).with_suffix(".pyi")


def test_the_stub_names_each_object_once_with_its_module() -> None:
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
        assert (known_as, level) == (name, 1)  # only this form is public for type checkers
        assert getattr(dyn_core, name) is getattr(import_module(module), name) is not None
    with pytest.raises(AttributeError, match="dyn_core attribute inverse"):
        dyn_core.inverse  # noqa: B018 - imports it
    assert not hasattr(dyn_core, "inverse")
