# SPDX-License-Identifier: Apache-2.0
"""Programs to emit, their inputs, and their expected results."""

from __future__ import annotations

import numpy as np

import dyn_core
from dyn_core.cli.function_arguments import OF_IDENTIFICATION, OF_LINK, link_program
from dyn_core.codegen.python_backend import PythonFunction
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.identification.regressor.momentum_energy import identification_program
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced
from dyn_core.symbolic.scalar import larger, sign

NAMES = ("rrp", "rx90", "two_branch")


def every_operation() -> Program:
    """A program with each operation, numbers of each kind, and an unused input."""

    def algorithm(q, qd):
        a, b, _ = q
        return [
            *(sign(a), abs(a) - 3.5, -a, (a * a).sqrt(), 1.0 / (2.0 + b * b), a / (b * b + 1e-07)),
            *(-2.5, 0.0, 1e-05, 3e22, a, b + 0.1 * b.sin() - a.cos()),
            *(larger(a, b, -1.5, a), larger(0.0, b, 2.0 * a, -0.25)),
        ]

    return trace("every_operation", algorithm, {"q": 3, "qd": 3}, (7, 2))


def programs(robot: dyn_core.Robot) -> list[Program]:
    first, second, *_, last = robot.link_names
    return [
        *(traced(robot, name) for name in kinds(robot)),
        *(link_program(robot, name, *ends) for ends in ((last, first), (second, last)) for name in OF_LINK),
        *(identification_program(robot, name) for name in OF_IDENTIFICATION),
        every_operation(),
    ]


def inputs(program: Program, seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.uniform(-3.0, 3.0, len(vector)) for vector in program.inputs.values()]


def answer(program: Program, vectors: list[np.ndarray]) -> np.ndarray:
    out = np.empty(program.shape)
    PythonFunction(lambda: program, program.shape).into(*vectors, out)
    return out
