# SPDX-License-Identifier: Apache-2.0
"""A program as a Python module that needs NumPy and nothing else, for one sample and for batches."""

from __future__ import annotations

from dyn_core.codegen.languages.file_header import commented
from dyn_core.codegen.straight_line import ARITHMETIC, FUNCTIONS, Dialect, rows_of, written
from dyn_core.codegen.traced_program import Program
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Op

DIALECT = Dialect(
    ARITHMETIC
    | {op: f"np.{text}" for op, text in FUNCTIONS.items()}
    | {Op.SIGN: "np.sign({0})", Op.LARGER: "np.where({0} > {1}, {2}, {3})"}
)

_INPUT = """

def _input(name, value, size):
    array = np.asarray(value, dtype=float)
    if array.ndim not in (1, 2) or array.shape[0] != size:
        raise ValueError(f"{name}: expected the shape ({size},) or ({size}, N), but it has {array.shape}")
    return array"""


def python_module(program: Program, robot: Robot) -> str:
    """Return the file.

    The function takes sequences of floats, or arrays whose last axis is that of the samples. It returns an
    array of the shape of the result, with such an axis where an input has one.
    """
    assignments, results = written(program, DIALECT)
    rows = rows_of(program, results)
    matrix = len(program.shape) == 2
    samples = ", ".join(f"{name}.shape[1:]" for name in program.inputs)
    lines = [
        *commented(program, robot, "#"),
        "#",
        "# An input is one sample, (n,), or a batch, (n, N); the result of a batch has N as its last axis.",
        "",
        "import numpy as np",
        _INPUT,
        "",
        "",
        f"def {program.name}({', '.join(program.inputs)}):",
        *(f'    {name} = _input("{name}", {name}, {len(vector)})' for name, vector in program.inputs.items()),
        f"    out = np.empty({program.shape} + np.broadcast_shapes({samples}))",
        *(f"    {name} = {text}" for name, text in assignments),
        *(
            f"    out[{f'{i}, {k}' if matrix else i}] = {entry}"
            for i, row in enumerate(rows)
            for k, entry in enumerate(row)
        ),
        "    return out",
    ]
    return "\n".join(lines) + "\n"
