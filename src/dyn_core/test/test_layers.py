# SPDX-License-Identifier: Apache-2.0
"""Imports go one way, and importing dyn_core is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dyn_core

PACKAGE = Path(dyn_core.__file__).parent
LAYERS = (
    *("errors", "expr", "linalg", "model", "io", "geometry", "kinematics", "loops", "dynamics"),
    *("representations", "grouping"),
    *(
        "parallel",
        "codegen",
        "facade",
        "expansion",
        "simulation",
        "check",
        "control",
        "report",
        "feasibility",
        "logs",
        "signals",
        "identification",
        "excitation",
        "results",
        "cli",
    ),
)
BORROWED = {
    "logs": {"rosbags", "pyarrow", "apsw", "lz4", "compression", "backports"},
    "expansion": {"sympy"},
    "signals": {"scipy"},
    "excitation": {"scipy"},
}
"""What a layer imports of other people's, beside NumPy and YAML, and only where it is used."""
ENTRIES = {"__init__": "cli", "__main__": "cli"}  # files above a layer may import from it
MOVED = {
    "dyn_core.algorithms": "kinematics",
    "dyn_core.algorithms.base_parameters": "grouping",
    "dyn_core.algorithms.dynamics": "dynamics",
    "dyn_core.algorithms.loops": "loops",
    "dyn_core.algorithms.parallel": "parallel",
    "dyn_core.core": "facade",
    "dyn_core.core.errors": "errors",
    "dyn_core.core.findings": "check",
    "dyn_core.core.number_table": "io",
    "dyn_core.core.text": "io",
    "dyn_core.formulations": "representations",
    "dyn_core.identification.output": "results",
    "dyn_core.identification.output.identified_parameters": "identification",
    "dyn_core.identification.output.parameter_tables": "identification",
    "dyn_core.identification.pipeline": "results",
    "dyn_core.lagrange": "expansion",
    "dyn_core.logs.conditioning": "signals",
    "dyn_core.model.built_model": "facade",
    "dyn_core.model.external_wrenches": "facade",
    "dyn_core.model.fixed_base": "facade",
    "dyn_core.model.moving_base": "facade",
    "dyn_core.model.moving_base.moving_base": "model",
    "dyn_core.model.parallel": "facade",
    "dyn_core.model.tunable_parameters": "facade",
    "dyn_core.robot": "model",
    "dyn_core.robot.description": "io",
    "dyn_core.robot.mdh": "geometry",
    "dyn_core.robot.mdh.cut_frames": "loops",
    "dyn_core.robot.moving_base": "geometry",
    "dyn_core.robot.par": "io",
    "dyn_core.robot.par.conversion": "geometry",
    "dyn_core.robot.robot_files": "facade",
    "dyn_core.robot.side_file": "geometry",
    "dyn_core.robot.side_file.reader": "io",
    "dyn_core.robot.urdf": "io",
    "dyn_core.robot.xml_text": "io",
    "dyn_core.robot.yaml_text": "io",
    "dyn_core.symbolic": "linalg",
    "dyn_core.symbolic.expression_graph": "expr",
    "dyn_core.symbolic.transform": "geometry",
}
"""The layer of what is in a folder with another name."""
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(module: str) -> int:
    parts = module.split(".")
    above = (".".join(parts[:count]) for count in range(len(parts), 1, -1))
    name = next((MOVED[folder] for folder in above if folder in MOVED), parts[1])
    return LAYERS.index(ENTRIES.get(name, name))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_layer_imports_only_earlier_layers(path: Path) -> None:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    own = layer(".".join(("dyn_core", *parts)))
    for module in imported(path):
        if module.startswith("dyn_core."):
            assert layer(module) <= own, f"{path} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_what_the_layer_may_borrow(path: Path) -> None:
    own = LAYERS[layer(".".join(("dyn_core", *path.relative_to(PACKAGE).with_suffix("").parts)))]
    allowed = {*sys.stdlib_module_names, "numpy", "yaml", "dyn_core", *BORROWED.get(own, ())}
    assert {module.split(".")[0] for module in imported(path)} <= allowed


def test_import_loads_no_slow_module() -> None:
    slow = ("scipy", "rclpy", "rosbags", "yaml", "sympy")
    code = f"import sys, dyn_core; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
