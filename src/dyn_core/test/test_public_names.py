# SPDX-License-Identifier: Apache-2.0
"""The names of the package: all there, also those that are imported when they are asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import dyn_core

SOURCE = Path(dyn_core.__file__)
LATER = ("dyn_core.identification", "dyn_core.excitation", "dyn_core.simulation", "scipy")


@pytest.mark.parametrize("name", dyn_core.__all__)
def test_each_name_is_there(name: str) -> None:
    assert getattr(dyn_core, name) is not None
    assert name in dir(dyn_core)


def test_what_is_imported_later_is_what_type_checkers_see() -> None:
    tree = ast.parse(SOURCE.read_text())
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    )
    seen = {
        alias.name: statement.module
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert seen == dyn_core._MODULES
    assert sorted(dyn_core.__all__) == list(dyn_core.__all__)
    at_once = set(dyn_core.__all__) - set(seen)
    assert {"DynError", "Model", "Robot", "compile_model", "load_robot"} <= at_once
    for name, module in seen.items():
        assert getattr(dyn_core, name) is getattr(import_module(module), name)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'dyn_core' has no attribute 'inverse'"):
        dyn_core.inverse  # noqa: B018 - asked for
    assert not hasattr(dyn_core, "inverse")


def test_importing_the_package_imports_little() -> None:
    look = f"import sys, dyn_core; print([name for name in {LATER} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
