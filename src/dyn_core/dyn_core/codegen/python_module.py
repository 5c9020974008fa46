# SPDX-License-Identifier: Apache-2.0
"""A program as a Python module that needs `math` and nothing else."""

from __future__ import annotations

from dyn_core.codegen.header import commented
from dyn_core.codegen.program import Program
from dyn_core.codegen.python_source import DIALECT
from dyn_core.codegen.straight_line import nested, written
from dyn_core.expr.analysis import needed
from dyn_core.expr.graph import Op
from dyn_core.model.robot import Robot

_IMPORTED = {Op.COS: "cos", Op.SIN: "sin", Op.SQRT: "sqrt"}
_SIGN = """

def sign(x):
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else x"""


def python_module(program: Program, robot: Robot) -> str:
    """Answer the file; the function takes sequences of floats and answers a list, of rows for a matrix."""
    assignments, results = written(program, DIALECT)
    used = {node.op for node in needed(program.results)}
    imported = ", ".join(name for op, name in _IMPORTED.items() if op in used)
    lines = [
        *commented(program, robot, "#"),
        *(["", f"from math import {imported}"] if imported else []),
        *([_SIGN] if Op.SIGN in used else []),
        "",
        "",
        f"def {program.name}({', '.join(program.inputs)}):",
        *(f"    {name} = {text}" for name, text in assignments),
        f"    return {nested(program, results, '[', ']')}",
    ]
    return "\n".join(lines) + "\n"
