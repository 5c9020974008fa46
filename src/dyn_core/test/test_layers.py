# SPDX-License-Identifier: Apache-2.0
"""Import layers are respected, and importing dyn_core is fast."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

import dyn_core

PACKAGE = Path(dyn_core.__file__).parent
WORKSPACE = Path(__file__).parents[3]
BORROWED = {
    "cli": {"rich", "argcomplete"},
    "lagrange": {"sympy"},
    "robot": {"urdf_parser_py"},
    "logs": {"rosbags", "pyarrow", "apsw", "lz4", "compression", "backports", "scipy"},
    "excitation": {"scipy"},
    "report": {"jinja2", "markupsafe"},
}
"""External packages that each room may import beside NumPy and PyYAML."""
ROOMS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield (node.module or "").split(".")[0]


@pytest.mark.skipif(importlib.util.find_spec("importlinter") is None, reason="import-linter is not installed")
def test_layers_of_pyproject() -> None:
    code = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    command, env = [sys.executable, "-c", code, "--no-cache"], os.environ | {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, cwd=WORKSPACE, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_its_allowed_packages(room: str) -> None:
    allowed = {*sys.stdlib_module_names, "numpy", "yaml", "dyn_core", *BORROWED.get(room, ())}
    used = {name: path for path in (PACKAGE / room).rglob("*.py") for name in imported(path)}
    assert used.keys() <= allowed, {name: str(used[name]) for name in used.keys() - allowed}


def test_files_named_in_the_architecture_exist() -> None:
    page = (WORKSPACE / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)*\w+\.(?:py|h))`", page))
    assert len(named) > 40
    files = [f"/{path.relative_to(WORKSPACE)}" for path in (WORKSPACE / "src").rglob("*.[ph]*")]
    assert [name for name in named if not any(file.endswith(f"/{name}") for file in files)] == []


@pytest.mark.parametrize(
    "path", sorted((WORKSPACE / "config" / "robots").glob("*.urdf")), ids=lambda p: p.stem
)
def test_loading_a_robot_uses_at_most_a_dozen_files(path: Path) -> None:
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(PACKAGE)):
            files.add(name)

    dyn_core.load_robot(path)  # imports are not counted
    sys.setprofile(note)
    try:
        dyn_core.load_robot(path)
    finally:
        sys.setprofile(None)
    between = files - {str(PACKAGE / "robot" / "robot_files.py")}
    assert 8 <= len(between) <= 12, sorted(between)


@pytest.mark.parametrize("package", ["dyn_core", "dyn_nodes"])
def test_each_room_says_where_to_begin(package: str) -> None:
    root = WORKSPACE / "src" / package / package
    for file in root.rglob("*/__init__.py"):
        text = file.read_text(encoding="utf-8")
        assert "Begin " in text, file
        for name in re.findall(r"[\w/]+\.py", text):
            assert (file.parent / name).exists() or (root / name).exists(), (file, name)
