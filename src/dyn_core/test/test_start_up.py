# SPDX-License-Identifier: Apache-2.0
"""Modules that the package and the command import at start-up, which determine the start-up time."""

from __future__ import annotations

import pytest
from dyn_process import started
from robots import ROBOTS

from dyn_core.cli.main import COMMANDS

SLOW = {"numpy", "scipy", "yaml", "sympy", "rosbags", "pyarrow", "rich", "jinja2", "argcomplete", "rclpy"}
_MODEL = {"algorithms", "codegen", "model"}
_IDENTIFICATION = {*_MODEL, "control", "logs", "identification"}
ROOMS_OF_COMMANDS: dict[str, set[str]] = {
    "info": set(),
    "mdh": set(),
    "loops": _MODEL,
    "parallel": _MODEL,
    "eval": _MODEL,
    "counts": {*_MODEL, "formulations", "identification", "logs"},
    "base": {"algorithms"},
    "lagrange": {"algorithms", "codegen", "lagrange"},
    "emit": {*_MODEL, "identification", "logs"},
    "check": {*_MODEL, "check"},
    "simulate": {*_MODEL, "simulation"},
    "excite": {*_IDENTIFICATION, "excitation", "simulation"},
    "feasible": {*_MODEL, "control", "feasibility", "report", "simulation"},
    "log": {*_MODEL, "control", "logs"},
    "identify": {*_IDENTIFICATION, "report"},
    "predict": _IDENTIFICATION,
    "payload": {*_IDENTIFICATION, "report"},
    "cache": {"codegen"},
}
"""Rooms that a command may import before it runs, in addition to `cli`, `core`, `robot` and `symbolic`."""


def imported(code: str) -> tuple[set[str], set[str], set[str]]:
    """Return the modules that code imports, their rooms, and the slow libraries among them."""
    process = started(
        "import contextlib, io, sys; before = set(sys.modules)\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        f"    {code}\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    modules = set(out.split())
    rooms = {module.split(".")[1] for module in modules if module.startswith("dyn_core.")}
    return modules, rooms, {module.partition(".")[0] for module in modules} & SLOW


def imported_by_command(*words: str) -> tuple[set[str], set[str], set[str]]:
    return imported(f"import dyn_command; sys.argv = {['dyn', *words]!r}; dyn_command.main()")


def test_importing_the_package_imports_no_room() -> None:
    modules, rooms, libraries = imported("import dyn_core")
    assert (rooms, libraries) == (set(), set())
    assert "urdf_parser_py" not in modules


@pytest.mark.parametrize(("name", "beside"), [("load_robot", set()), ("compile_model", _MODEL)])
def test_a_public_name_imports_only_what_it_needs(name: str, beside: set[str]) -> None:
    _, rooms, libraries = imported(f"import dyn_core; dyn_core.{name}")
    assert rooms <= {"core", "symbolic", "robot"} | beside
    assert libraries == {"numpy"}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_without_a_subcommand_imports_no_library(option: str) -> None:
    modules, rooms, libraries = imported_by_command(option)
    assert "dyn_core.cli.main" in modules
    assert not {module for module in modules if module.startswith("dyn_core.cli.") and "_commands" in module}
    assert (rooms, libraries) == ({"cli", "core"}, set())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_subcommand_imports_only_itself(name: str) -> None:
    _, rooms, libraries = imported_by_command(name, "--help")
    assert rooms <= {"cli", "core", "robot", "symbolic"} | ROOMS_OF_COMMANDS[name]
    assert libraries == {"numpy"}


def test_mdh_needs_few_modules() -> None:
    _, rooms, libraries = imported_by_command("mdh", str(ROBOTS / "rrp.urdf"))
    assert (rooms, libraries) == ({"cli", "core", "robot", "symbolic"}, {"numpy"})
