# SPDX-License-Identifier: Apache-2.0
"""`pip install ./src/dyn_core` in an environment with only the requirements of setup.py: no ROS, no colcon.

No package index is needed: the requirements are linked from this interpreter into the environment, one by
one. Undeclared packages are absent there, and pip fails if a declared one is missing.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
EXAMPLES = PACKAGE.parents[1] / "examples"
ELSEWHERE = ("PYTHON", "AMENT", "COLCON", "CMAKE", "ROS", "LD_LIBRARY", "VIRTUAL_ENV", "PIP_")
"""Prefixes of variables that point programs to other installations."""


class Environment:
    def __init__(self, directory: Path, requirements: list[str]) -> None:
        self.directory, self.python = directory, directory / "bin" / "python"
        # Without a record of files by the system's package manager, all system packages are visible.
        linked = all(distribution(name).files for name in requirements)
        venv.create(directory, symlinks=True, system_site_packages=not linked)
        for name in requirements if linked else []:
            self._link(name)

    def _link(self, name: str) -> None:
        """Link a distribution and all its requirements from this interpreter."""
        found = distribution(name)
        (site,) = self.directory.glob("lib/python*/site-packages")
        # A distribution built from sources lists files that are not installed, and omits its metadata folder.
        entries = {file.parts[0] for file in found.files or ()} | {Path(found._path).name}
        for entry in entries - {"..", "__pycache__"}:
            there = Path(str(found.locate_file(entry)))
            if there.exists() and not (site / entry).exists():
                (site / entry).symlink_to(there)
        for required in found.requires or ():
            if ";" not in required:  # neither for an extra nor for another system
                self._link(re.split(r"[^\w.-]", required)[0])

    def run(self, *command: str | Path) -> str:
        variables = {name: value for name, value in os.environ.items() if not name.startswith(ELSEWHERE)}
        options = {"cwd": self.directory, "env": variables, "timeout": 300}
        done = subprocess.run(command, **options, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def requirements() -> list[str]:
    nodes = ast.walk(ast.parse((PACKAGE / "setup.py").read_text()))
    (wanted,) = (node for node in nodes if isinstance(node, ast.keyword) and node.arg == "install_requires")
    version = tuple(map(int, distribution("setuptools").version.split(".")[:2]))
    build = ["setuptools"] if version >= (70, 1) else ["setuptools", "wheel"]  # needed to build a wheel
    return [*ast.literal_eval(wanted.value), *build]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    if importlib.util.find_spec("pip") is None:
        pytest.skip("pip is not installed")
    directory = tmp_path_factory.mktemp("installation")
    # A copy, as a build leaves files in the checkout; it contains leftovers of an earlier build.
    checkout = directory / "checkout"
    shutil.copytree(PACKAGE, checkout, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    stale = checkout / "build" / "lib" / "dyn_core" / "moved_since.py"
    stale.parent.mkdir(parents=True)
    stale.write_text("")
    made = Environment(directory / "environment", requirements())
    options = ("--quiet", "--no-index", "--no-build-isolation")
    made.run(sys.executable, "-m", "pip", "--python", made.python, "install", *options, checkout)
    return made


PRINTED = {
    "first_torque": "joint_2:  140.020 N m, of which  117.934 N m hold the weight",
    "identification": "mass of the last link, real: 1.379 kg",  # with SciPy
}


@pytest.mark.parametrize("example", PRINTED)
def test_an_example_runs(example: str, environment: Environment) -> None:
    program = EXAMPLES / f"{example}.py"
    if not program.is_file():
        pytest.skip("the examples are not beside this package")
    assert PRINTED[example] in environment.run(environment.python, program)


IMPORT_ALL = """
from importlib import import_module
from pkgutil import walk_packages
import dyn_core
names = [found.name for found in walk_packages(dyn_core.__path__, "dyn_core.")]
print(dyn_core.__file__, len([import_module(name) for name in names if not name.endswith("__main__")]))
"""


def test_each_module_imports_only_declared_packages(environment: Environment) -> None:
    file, count = environment.run(environment.python, "-c", IMPORT_ALL).split()
    assert Path(file).is_relative_to(environment.directory)
    assert int(count) > 100


def test_the_installation_has_exactly_the_files_of_the_package(environment: Environment) -> None:
    (version,) = re.findall(r'version="(.*)"', (PACKAGE / "setup.py").read_text())
    assert environment.run(environment.directory / "bin" / "dyn", "--version") == f"dyn {version}\n"
    (installed,) = environment.directory.glob("lib/python*/site-packages/dyn_core")
    found, expected = (
        {path.relative_to(root) for path in root.rglob("*.*") if path.suffix != ".pyc"}
        for root in (installed, PACKAGE / "dyn_core")
    )
    assert found == expected
    assert not list(installed.parent.glob("test*"))
