# SPDX-License-Identifier: Apache-2.0
"""Run programs in Python, without a compiler.

A program becomes Python source, then a function of vectors, each a sequence of floats or of NumPy arrays over
the samples of a batch. `Unknowns` solves for the passive joints of loops, as `c/closure.h` does in C.
"""

from __future__ import annotations

import marshal
import math
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property, partial
from types import FunctionType
from typing import Any

import numpy as np

from dyn_core.algorithms.loops.continuation import ADVANCE, Numbers, Step, distance, follow, follow_far
from dyn_core.codegen.straight_line import ARITHMETIC, FUNCTIONS, Dialect, literal, written
from dyn_core.codegen.traced_program import Equations, Program, given_program, open_program
from dyn_core.core.arrays import Array
from dyn_core.symbolic import scalar
from dyn_core.symbolic.expression_graph import Op


class PythonFunction:
    """A program as a Python function of arrays."""

    def __init__(self, program: Callable[[], Program], shape: tuple[int, ...], tunable: bool = False) -> None:
        """Store the function that returns the program; its first call traces and compiles it for Python.

        `shape` is that of the results for one sample, and `tunable` whether it takes prepared values.
        """
        self._program = program
        self._shape = shape
        self._tunable = tunable

    @classmethod
    def of(cls, program: Program) -> PythonFunction:
        """Return the function of a program that is traced."""
        return cls(lambda: program, program.shape, program.prepared is not None)

    def __reduce__(self) -> tuple[Any, ...]:
        call, unknowns = self._made
        return _ready, (_stored(call), unknowns, self._shape, self._tunable)

    @cached_property
    def _made(self) -> tuple[Callable[..., list[Any]], Unknowns | None]:
        program = self._program()
        return executable(open_program(program)), Unknowns(program) if program.closure else None

    def into(self, *arguments: Array) -> int | None:
        """Compute one sample (size,) or a batch (N, size); the last array takes the results.

        A tunable program takes the prepared values before it. A sample with an input that is not finite gives
        NaN in all results. Return None, or the number of a sample whose unknowns cannot be found.
        """
        unknowns = self._made[1]
        if unknowns is not None:
            inputs = arguments[: -2 if self._tunable else -1]
            x, failed = unknowns.of_samples(inputs, lambda given, _: unknowns.solve(given))
            if failed is not None:
                return failed
            arguments = (*inputs, x, *arguments[len(inputs) :])
        self.into_at(*arguments)
        return None

    def into_at(self, *arguments: Array) -> None:
        """Compute the same with given unknowns, one array more after the inputs."""
        *inputs, out = arguments
        prepared = [inputs.pop().tolist()] if self._tunable else []
        if out.ndim > len(self._shape):
            self._batch(inputs, prepared, out)
            return
        nan_or_zero = sum(0.0 * value for vector in inputs for value in vector.tolist())
        try:
            vectors = (vector.tolist() for vector in inputs)
            results = self._made[0](*vectors, *prepared) if nan_or_zero == 0.0 else nan_or_zero
        except ZeroDivisionError:  # where C and NumPy go on with an infinite number
            self._batch([vector[np.newaxis] for vector in inputs], prepared, out[np.newaxis])
        else:
            out.reshape(-1)[:] = results

    def _batch(self, inputs: Sequence[Array], prepared: list[list[float]], out: Array) -> None:
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            columns = self._made[0](*(list(vector.T) for vector in inputs), *prepared)
            flat = out.reshape(len(out), math.prod(self._shape))
            for k, column in enumerate(columns):
                flat[:, k] = column
            nan_or_zero = sum(0.0 * vector.sum(axis=1) for vector in inputs)
            flat[np.not_equal(nan_or_zero, 0.0)] = np.nan

    def bind(self, general: Callable[..., Array], _prepared: list[Array]) -> Callable[..., Array]:
        """Return the general function: Python has no faster one."""
        return general


def _ready(stored: bytes, unknowns: Unknowns | None, shape: tuple[int, ...], tunable: bool) -> PythonFunction:
    """Return a function whose program was traced by another process."""
    made = PythonFunction.__new__(PythonFunction)
    made.__dict__.update(_made=(_restored(stored), unknowns), _shape=shape, _tunable=tunable)
    return made


class Unknowns:
    """Solves the equations for the unknowns of a program, with Newton's `step`.

    Attributes:
        robot, start, scales: those of the `Equations`.
        step: change of the unknowns, and values that have to be 0.
    """

    def __init__(self, program: Program) -> None:
        """Take a program that has unknowns."""
        assert program.closure is not None
        equations = program.closure.equations
        self.robot, self.start, self.scales = equations.robot, equations.start, equations.scales
        self._given = executable(given_program(program))
        self._newton = executable(equations.step)
        self.step: Step = partial(_newton_step, self._newton)
        self._last: tuple[Numbers, Numbers] | None = None

    def __getstate__(self) -> tuple[Any, ...]:
        return self.robot, self.start, self.scales, _stored(self._given), _stored(self._newton)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.robot, self.start, self.scales, given, newton = state
        self._given, self._newton = _restored(given), _restored(newton)
        self.step = partial(_newton_step, self._newton)
        self._last = None

    def fresh(self) -> Unknowns:
        """Return the same without a last solution."""
        found = copy(self)
        found._last = None
        return found

    def of_samples(
        self, inputs: Sequence[Array], find: Callable[[list[float], int | None], list[float] | None]
    ) -> tuple[Array, int | None]:
        """Return the unknowns of one sample or a batch, and the number of a sample that has none.

        `find` takes the given values, and the number of a sample of a batch. The unknowns of a sample with an
        input that is not finite are 0.
        """
        rows = [np.atleast_2d(vector) for vector in inputs]
        batch = inputs[0].ndim == 2
        x = np.zeros((len(rows[0]), len(self.scales.unknowns)))
        for k in range(len(x)):
            sample = [row[k].tolist() for row in rows]
            if all(math.isfinite(value) for vector in sample for value in vector):
                found = find(self._given(*sample), k if batch else None)
                if found is None:
                    return x, k
                x[k] = found
        return x if batch else x[0], None

    def solve(self, given: Numbers) -> list[float] | None:
        """Return the unknowns on the branch of the start; None where they are not found."""
        last, scales, found = self._last, self.scales, None
        if last is not None and distance(last[0], given, scales.given) <= ADVANCE:
            found = follow(self.step, last, given, scales, attempts=1)
        if found is None:
            found = follow_far(self.step, self.start, given, scales)
        if found is None and last is not None:
            found = follow(self.step, last, given, scales)
        if found is not None:
            self._last = (given, found)
        return found


def numeric_step(equations: Equations) -> Step:
    """Return Newton's step of numbers: change of the unknowns, and values that have to be 0."""
    return partial(_newton_step, executable(equations.step))


def _newton_step(call: Callable[..., list[Any]], given: Numbers, x: Numbers) -> tuple[Numbers, Numbers]:
    try:
        results = call(given, x)
    except ZeroDivisionError:  # where C goes on with an infinite number
        return [math.inf] * len(x), []
    return results[: len(x)], results[len(x) :]


# Programs as Python source, with one assignment for each operation

_FUNCTIONS = (scalar.sin, scalar.cos, scalar.sqrt, scalar.sign, scalar.larger)


def executable(program: Program) -> Callable[..., list[Any]]:
    """Return a program without unknowns as a Python function of vectors."""
    namespace = _namespace()
    exec(compile(python_source(program), f"<program {program.name}>", "exec"), namespace)
    function: Callable[..., list[Any]] = namespace[program.name]
    return function


def _namespace() -> dict[str, Any]:
    return {function.__name__: function for function in _FUNCTIONS}


def _stored(function: Callable[..., list[Any]]) -> bytes:
    """Return the code of an `executable` program, for another process of the same Python."""
    return marshal.dumps(function.__code__)


def _restored(stored: bytes) -> Callable[..., list[Any]]:
    """Return the function of a stored code."""
    return FunctionType(marshal.loads(stored), _namespace())


DIALECT = Dialect(
    ARITHMETIC | FUNCTIONS | {Op.SIGN: "sign({0})", Op.LARGER: "larger({0}, {1}, {2}, {3})"}, number=literal
)


def python_source(program: Program) -> str:
    """Return the text of a function that computes the program."""
    assignments, results = written(program, DIALECT)
    vectors = [*program.inputs, *(["p"] if program.prepared is not None else [])]
    lines = [
        f"def {program.name}({', '.join(vectors)}):",
        *(f"    {name} = {text}" for name, text in assignments),
        f"    return [{', '.join(results)}]",
    ]
    return "\n".join(lines) + "\n"
