# SPDX-License-Identifier: Apache-2.0
"""Run a program by either backend, C or Python, and set the dynamic parameters of a model.

`Search` finds the passive joints of loops where the compiled Newton iteration does not converge.

Programs with parameters that can be set take one array, which begins with the parameters and gravity (see
`staged` in `dyn_core.codegen.traced_program`). It is replaced and never written to: a call computes with the
parameters before a change or with those after it, never with some of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import RLock
from types import ModuleType
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from dyn_core.algorithms.loops.passive_joint_positions import (
    closes_somewhere,
    not_closing_error,
    solution_by_detours,
)
from dyn_core.codegen.python_backend import PythonFunction, Unknowns
from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.robot.dynamic_parameters import renewed
from dyn_core.robot.moving_base import MovingBase
from dyn_core.robot.robot import Robot, checked_gravity

Backend = Literal["auto", "c", "python"]
Parameters = Literal["baked", "runtime"]
OpenRows = Literal["nan", "error"]
"""What a model makes of a sample of a batch at which the loops do not close: NaN in its row, or an error."""


class Function(Protocol):
    """A program that a backend can run."""

    def into(self, *arguments: Array) -> int | None:
        """Compute one sample or a batch; the last array takes the results.

        Return None, or the number of a sample whose unknowns cannot be found.
        """

    def into_at(self, *arguments: Array) -> None:
        """Compute the same with given unknowns, one array more after the inputs."""

    def bind(self, general: Callable[..., Array], prepared: list[Array]) -> Callable[..., Array]:
        """Return a function that does the same as `general`, faster where it can."""
        ...


@dataclass(frozen=True)
class Runnable:
    """A program that can be run.

    Attributes:
        function: the program in its backend.
        shape: shape of the result for one sample.
        tunable: whether it takes values prepared from parameters.
        search: finds unknowns that are not found at once, or raises an error with the reason.
    """

    function: Function
    shape: tuple[int, ...]
    tunable: bool
    search: Search | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        function: Any = self.function
        if isinstance(function, ModuleType):
            from dyn_core.codegen.c_source import kept_library

            function = kept_library(function)
        return _from_elsewhere, (function, self.shape, self.tunable, self.search)

    def run(self, prepared: Sequence[Array], *arrays: Array, out: Array | None = None) -> Array:
        """Compute the program for checked arrays.

        Args:
            prepared: one item: the values prepared from parameters; empty if there are none.
            arrays: the inputs, all of one sample or all of one batch.
            out: array of the right shape for the result, which may share memory with the inputs.
        """
        direct = out is not None and _is_plain(out) and not any(np.may_share_memory(out, a) for a in arrays)
        result = out if out is not None and direct else np.empty((*arrays[0].shape[:-1], *self.shape))
        given = prepared[:1] if self.tunable else ()
        inputs = [a if _is_plain(a) else np.array(a, order="C") for a in arrays]
        if self.function.into(*inputs, *given, result) is not None:
            assert self.search is not None
            x = self.search(inputs)
            if self.search.open_rows == "nan" and x.ndim == 2:
                is_open = np.asarray(np.isnan(x).any(axis=1, keepdims=True))
                inputs = [np.where(is_open, np.nan, array) for array in inputs]
            self.function.into_at(*inputs, x, *given, result)
        if out is None or direct:
            return result
        out[...] = result
        return out


def _from_elsewhere(function: Any, shape: tuple[int, ...], tunable: bool, search: Search | None) -> Runnable:
    """Return a program that another process of this user has compiled."""
    if not isinstance(function, PythonFunction):
        from dyn_core.codegen.c_source import library_module

        function = library_module(function)
    return Runnable(function, shape, tunable, search)


def _is_plain(array: Array) -> bool:
    """Whether an array is contiguous and aligned in memory."""
    return array.flags.c_contiguous and array.flags.aligned and type(array) is np.ndarray


def searching(runnable: Runnable, detours: bool, open_rows: OpenRows) -> Runnable:
    """Return the same program, which searches for unknowns in another way."""
    if runnable.search is None:
        return runnable
    return replace(runnable, search=replace(runnable.search, detours=detours, open_rows=open_rows))


def runnables(programs: Sequence[Program], backend: Literal["c", "python"]) -> list[Runnable]:
    """Return programs that a backend can run; raise NoCompiler if ``"c"`` cannot compile here."""
    if backend == "python":
        return [_runnable(PythonFunction.of(program), program) for program in programs]
    # Imported here only, with subprocesses and loaders.
    from dyn_core.codegen.c_source import c_functions

    return [_runnable(*pair) for pair in zip(c_functions(programs), programs, strict=True)]


def _runnable(function: Function, program: Program) -> Runnable:
    search = Search(lambda: Unknowns(program)) if program.closure else None
    return Runnable(function, program.shape, program.prepared is not None, search)


@dataclass(frozen=True)
class Search:
    """Search for the unknowns of inputs for which a compiled program does not find them at once.

    `detours` tells whether to search along detours, and to state in errors how far the loops stay open.
    `open_rows` tells what a sample of a batch at which the loops do not close is: NaN, or an error.
    """

    unknowns: Callable[[], Unknowns]
    detours: bool = True
    open_rows: OpenRows = "error"

    def __reduce__(self) -> tuple[Any, ...]:
        return Search, (self.unknowns().fresh, self.detours, self.open_rows)

    def __call__(self, inputs: Sequence[Array]) -> Array:
        """Return the unknowns of one sample or a batch; DynError or NaN where there are none."""
        unknowns = self.unknowns()
        robot = unknowns.robot

        def find(given: list[float], number: int | None) -> list[float]:
            found = unknowns.solve(given)
            if found is None and self.detours and closes_somewhere(robot, given):
                found = solution_by_detours(unknowns.step, unknowns.start, given, unknowns.scales)
            if found is None and number is not None and self.open_rows == "nan":
                return [math.nan] * len(unknowns.scales.unknowns)
            if found is None:
                raise not_closing_error(robot, given, number, self.detours)
            return found

        return unknowns.of_samples(inputs, find)[0]


# Parameters

OPTIONAL = {"Fv": "friction", "Fs": "friction", "Fo": "friction", "Ia": "rotor_inertia"}
"""Parameters that a model does not have if an option of `compile_model` is off, with this option."""


def accepted(
    names: Sequence[str],
    present: Sequence[float],
    given: Mapping[str, float] | Iterable[float],
    left_out: Collection[str],
) -> tuple[float, ...]:
    """Return the parameters of a model after some, by name, or all of them were given anew.

    Parameters that the model was compiled without stay 0: among all they are ignored, by name they are a
    DynError.

    Args:
        names: names of the parameters.
        present: their present values.
        given: the new values.
        left_out: options of `compile_model` that are off.
    """
    new = renewed(names, present, given)
    absent = [OPTIONAL.get(name.rstrip("0123456789")) in left_out for name in names]
    if isinstance(given, Mapping):
        for name, value, missing in zip(names, new, absent, strict=True):
            if missing and value != 0.0:
                option = OPTIONAL[name.rstrip("0123456789")]
                raise DynError(
                    "parameter-compiled-out", parameter=name, given=value, option=option, element=name
                )
    return tuple(0.0 if missing else value for value, missing in zip(new, absent, strict=True))


class Tuning:
    """The present parameters of a model.

    Attributes:
        prepared: one item: the array that programs take. It begins with the parameters and gravity; a program
            reads as much of it as was prepared when it was traced.
        lock: held while parameters change.
    """

    def __init__(self, robot: Described, left_out: frozenset[str]) -> None:
        """Begin with the parameters of a robot, which does not have the terms that are left out."""
        self._names = robot.parameter_names
        self._prepare: Runnable | None = None
        self._left_out = left_out
        self.lock = RLock()
        self.prepared: list[Array] = [np.zeros(len(self._names) + 3)]
        self.renew(robot.parameters, robot.gravity)

    @property
    def values(self) -> Array:
        """The parameters and gravity."""
        return np.array(self.prepared[0][: len(self._names) + 3], dtype=np.float64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tuning):
            return NotImplemented
        return self._names == other._names and bool(np.array_equal(self.values, other.values))

    def __hash__(self) -> int:
        return hash(self._names)

    def extend(self, prepare: Runnable) -> None:
        """Prepare more values, which begin with the present ones, by the program `prepare`."""
        with self.lock:
            self._prepare = prepare
            self._prepare_from(self.values)

    def renew(
        self,
        values: Mapping[str, float] | Iterable[float],
        gravity: Iterable[float] | None,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        """Replace parameters, by name or all, and gravity (m/s^2) unless it is None.

        `then` is called after the change, and before any other change.
        """
        with self.lock:
            present = self.values
            new = accepted(self._names, present[:-3].tolist(), values, self._left_out)
            acceleration = present[-3:] if gravity is None else checked_gravity(gravity)
            self._prepare_from(np.array([*new, *acceleration]))
            then()

    def _prepare_from(self, values: Array) -> None:
        prepared = values if self._prepare is None else self._prepare.run((), values)
        prepared.flags.writeable = False
        self.prepared[:] = [prepared]


Described: TypeAlias = Robot | MovingBase
"""A robot with parameters, on a fixed or moving base."""
