# SPDX-License-Identifier: Apache-2.0
"""From a robot to a model: trace, bake or tune, compile, bind and restore, for all kinds of base.

A `Family` lists the functions of the models of one kind of robot, and how each is traced. A `Source` is what
programs are traced from: a robot of numbers, or one of symbols where parameters can be set. `Functions`
compiles the functions of a model, at once or each at its first use. `BuiltModel`, in `built_model.py`, binds
them in place of its methods, and can be pickled.

A new kind of model needs a `Family`, a subclass of `BuiltModel`, and a function `compile_...`.
"""

from __future__ import annotations

import copy
import inspect
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any, Generic, Literal, TypeVar

from dyn_core.codegen.python_backend import PythonFunction, Unknowns
from dyn_core.codegen.traced_program import Program, staged
from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError
from dyn_core.core.handover import handed_over
from dyn_core.core.messages import Message
from dyn_core.model.tunable_parameters import (
    Backend,
    Described,
    OpenRows,
    Parameters,
    Runnable,
    Search,
    Tuning,
    runnables,
    searching,
)
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Expr, Graph
from dyn_core.symbolic.scalar import Scalar

_log = logging.getLogger("dyn_core")

R = TypeVar("R")

DIVISION = 4
"""Cost of a division in multiplications, to compare algorithms."""

LATE_S = 0.01
"""Duration of a compilation at first use from which it is logged as a warning (s)."""


Vector = Sequence[Scalar]
Algorithm = Callable[..., Vector]


@dataclass(frozen=True)
class Kind:
    """A function of a model.

    Attributes:
        algorithms: candidates; the one with the fewest operations is taken.
        sizes: length of each input, by name.
        shape: shape of the result for one sample.
        in_one_pass: algorithm by the modified Newton-Euler recursion, which is among `algorithms` for few
            joints.
    """

    algorithms: Sequence[Algorithm]
    sizes: Mapping[str, int]
    shape: tuple[int, ...]
    in_one_pass: Algorithm | None = None


@dataclass(frozen=True)
class Source(Generic[R]):
    """A robot from which programs are traced.

    Attributes:
        robot: the robot, with numbers or symbols for its dynamic parameters.
        graph: the graph of the symbols, if any.
        parameters: the symbols: the parameters of the robot, then the three components of gravity.
    """

    robot: R
    graph: Graph | None = None
    parameters: tuple[Expr, ...] = ()

    def operation_counts(self, program: Program) -> dict[str, int]:
        """Return the operations of one call, without those that depend on parameters alone."""
        if self.parameters:
            program = staged([program], self.parameters)[1][0]
        return program.operation_counts

    def cheapest(self, programs: Iterable[Program]) -> Program:
        """Return the program with the fewest operations."""

        def cost(program: Program) -> int:
            counts = self.operation_counts(program)
            return counts["mul"] + counts["add"] + DIVISION * counts["div"]

        return min(programs, key=cost)


@dataclass(frozen=True)
class Family(Generic[R]):
    """The functions of the models of one kind of robot, and how they are traced.

    Attributes:
        robot: what programs are traced from when parameters are numbers.
        described: the parameters of that robot.
        model: class whose methods document the functions.
        shapes: by name of function, shape of the result for one sample.
        program: traces the function of a name from a source.
        symbols: returns the robot with symbols for its parameters.
        without: returns a robot without the terms that are left out.
        grouped: returns the robot with base parameters, also for changing gravity; None to group nothing.
        left_out: options of `compile_model` that are off; these terms have no symbols.
        needs: by name, other functions that a function is compiled with.
        hidden: functions that users cannot name.
        loops: whether programs may have unknowns.
    """

    robot: R
    described: Described
    model: type
    shapes: Mapping[str, tuple[int, ...]]
    program: Callable[[Source[R], str], Program]
    symbols: Callable[[R], Source[R]]
    without: Callable[[R], R]
    grouped: Callable[[R, bool], R] | None = None
    left_out: frozenset[str] = frozenset()
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    loops: bool = False

    def source(self, tunable: bool, grouped: bool = True) -> Source[R]:
        """Return the source of programs, with symbols if `tunable` and with base parameters if `grouped`."""
        source = self.symbols(self.robot) if tunable else Source(self.robot)
        # The terms that are left out have symbols until here.
        robot = self.without(source.robot) if tunable else source.robot
        if grouped and self.grouped is not None:
            robot = self.grouped(robot, tunable)
        return replace(source, robot=robot)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions that users may name."""
        return tuple(name for name in self.shapes if name not in self.hidden)


def left_out(friction: bool, rotor_inertia: bool) -> frozenset[str]:
    """Return the options that are off."""
    options = {"friction": friction, "rotor_inertia": rotor_inertia}
    return frozenset(option for option, on in options.items() if not on)


def check_choice(argument: str, given: str, choices: Sequence[str]) -> None:
    """Raise ValueError if an argument is not one of its choices."""
    if given not in choices:
        *others, last = map(repr, choices)
        known = f"{', '.join(others)} or {last}"
        raise ArgumentError("argument-choice-unknown", argument=argument, known=known, given=given)


def check_options(
    robot: Robot, parameters: str, backend: str, functions: Sequence[str] | None = None
) -> None:
    """Raise ValueError for an invalid robot, an unknown choice, or a text as `functions`."""
    check_choice("backend", backend, ("auto", "c", "python"))
    check_choice("parameters", parameters, ("baked", "runtime"))
    if not isinstance(robot, Robot):
        raise ArgumentError("robot-type", given=type(robot).__name__)
    if isinstance(functions, str):
        given = f"the text {functions!r}"
        raise ArgumentError(
            "argument-type", argument="functions", expected="a sequence of names", given=given
        )


class Tracing(Generic[R]):
    """Traces the functions of a model in batches, in the order in which they are compiled.

    Where parameters can be set, each batch extends the values that are prepared from them, so it needs the
    graph of those before. The graph can be forgotten, or be that of another process: it is made again when
    another batch comes.

    Attributes:
        batches: names of the functions of each batch.
    """

    def __init__(self, family: Family[R], tunable: bool) -> None:
        """Begin without a graph."""
        self.batches: list[tuple[str, ...]] = []
        self._family = family
        self._tunable = tunable
        self.forget()

    def forget(self) -> None:
        """Forget the graph."""
        self._source: Source[R] | None = None
        self._nodes: tuple[Expr, ...] = ()
        self._traced = 0

    @property
    def source(self) -> Source[R]:
        """The source of programs."""
        if self._source is None:
            self._source = self._family.source(self._tunable)
        return self._source

    def programs(self) -> tuple[Program | None, list[Program]]:
        """Trace the last batch.

        Return the program that prepares values from the parameters, if they can be set, and those of the
        functions.
        """
        texts = _documentation(self._family.model)
        prepare, programs = None, list[Program]()
        for names in self.batches[self._traced :]:
            traced = zip(names, (self._family.program(self.source, name) for name in names), strict=True)
            programs = [replace(program, documentation=texts.get(name, "")) for name, program in traced]
            if self._tunable:
                prepare, programs = staged(programs, self.source.parameters, self._nodes)
                self._nodes = programs[0].prepared or ()
        self._traced = len(self.batches)
        return prepare, programs


Key = tuple[str, ...]


class Functions(Mapping[str, Runnable]):
    """The functions of a model by name, compiled at once or each at its first use.

    Several threads may use them: each function is compiled once.

    Attributes:
        chosen: the functions that were compiled at once; None for all.
        backend: ``"c"`` or ``"python"``.
        tuning: the parameters that can be set; None if they are baked in.
        others: other compiled programs of the robot, by a key.
    """

    def __init__(
        self, family: Family[Any], parameters: Parameters, backend: Backend, chosen: Sequence[str] | None
    ) -> None:
        """Compile the chosen functions.

        Raises:
            ValueError: the name of the function is unknown.
            NoCompiler: the backend is ``"c"``, and nothing can be compiled here.
        """
        for name in chosen or ():
            if name not in family.names:
                raise ArgumentError("functions-unknown", function=name, known=", ".join(family.names))
        self.family = family
        self.chosen = None if chosen is None else tuple(chosen)
        self.tuning = Tuning(family.described, family.left_out) if parameters == "runtime" else None
        self.backend: Literal["c", "python"] = "python" if backend == "python" else "c"
        self.others: dict[Key, Runnable] = {}
        self._requested: Backend = backend
        self._tracing = Tracing(family, self.tuning is not None)
        self._made: dict[str, Runnable] = {}
        self._lock = RLock()
        self._search: tuple[bool, OpenRows] = (True, "error")
        self._bind: Callable[[Sequence[str]], None] = lambda names: None
        made = self._make(family.shapes if chosen is None else self.chosen or ())
        self._tracing.forget()
        if made:
            self.backend = "python" if isinstance(made[0].function, PythonFunction) else "c"
        elif compiled_or_none(family.described.name, [], backend) is None:
            self.backend = "python"

    def __getitem__(self, name: str) -> Runnable:
        """Return a function; the first use compiles it."""
        found = self._made.get(name)
        return self._made_late(name) if found is None else found

    def __contains__(self, name: object) -> bool:
        """Whether there is such a function, compiled or not."""
        return name in self.family.shapes

    def __eq__(self, other: object) -> bool:
        """Whether the present parameters are the same; models compare everything else."""
        return isinstance(other, Functions) and self.tuning == other.tuning

    def __hash__(self) -> int:
        return hash(self.tuning)

    def __iter__(self) -> Iterator[str]:
        return iter(self.family.shapes)

    def __len__(self) -> int:
        return len(self.family.shapes)

    @property
    def made(self) -> tuple[str, ...]:
        """Names of the functions that are compiled."""
        return tuple(self._made)

    @property
    def changing(self) -> AbstractContextManager[object]:
        """Lock to hold while parameters change, and while something is made of their present values."""
        return nullcontext() if self.tuning is None else self.tuning.lock

    @property
    def prepared(self) -> list[Array]:
        """One item: the values prepared from parameters that can be set; empty if they are baked in."""
        return [] if self.tuning is None else self.tuning.prepared

    def bind_by(self, bind: Callable[[Sequence[str]], None]) -> None:
        """Call `bind` with the names of the compiled functions, now and after each later compilation."""
        with self._lock:
            self._bind = bind
            bind(self.made)

    def searching(self, detours: bool, open_rows: OpenRows) -> Functions:
        """Return the same functions, which search for unknowns in another way."""
        with self._lock:
            found = copy.copy(self)
            found._search = (detours, open_rows)
            found._made = {name: searching(made, detours, open_rows) for name, made in self._made.items()}
            found.others = {}
            return found

    def other(self, key: Key, program: Callable[[], Program]) -> Runnable:
        """Return another program of the robot; the first call with a key compiles it."""
        found = self.others.get(key)
        return self.compile_others({key: program})[0] if found is None else found

    def compile_others(self, programs: Mapping[Key, Callable[[], Program]]) -> list[Runnable]:
        """Return several such programs; the missing ones are compiled together."""
        with self._lock:
            missing = [key for key in programs if key not in self.others]
            made = handed_over(lambda: self._runnables([programs[key]() for key in missing]))
            self.others.update(zip(missing, made, strict=True))
            return [self.others[key] for key in programs]

    def _made_late(self, name: str) -> Runnable:
        if name not in self.family.shapes:
            raise KeyError(name)
        with self._lock:
            if name not in self._made:
                start = time.perf_counter()
                self._make([name])
                self._bind((name, *self.family.needs.get(name, ())))
                seconds = time.perf_counter() - start
                message = Message(
                    "function-compiled-late", robot=self.family.described.name, function=name, seconds=seconds
                )
                _log.log(logging.WARNING if seconds >= LATE_S else logging.INFO, message)
            return self._made[name]

    def _make(self, names: Iterable[str]) -> list[Runnable]:
        """Compile functions and those that they need; the caller holds the lock if other threads exist."""
        needed = dict.fromkeys(each for name in names for each in (name, *self.family.needs.get(name, ())))
        missing = tuple(name for name in needed if name not in self._made)
        if not missing:
            return []
        self._tracing.batches.append(missing)
        made = handed_over(self._compiled)
        if self.tuning is not None:
            self.tuning.extend(made.pop(0))
        self._made.update(zip(missing, made, strict=True))
        return made

    def _compiled(self) -> list[Runnable]:
        """Compile the last batch; where parameters can be set, the program that prepares values is first."""
        if self.backend == "python" and self.tuning is None and self.chosen is None:
            return [self._when_called(name) for name in self._tracing.batches[-1]]
        prepare, programs = self._tracing.programs()
        return self._runnables(programs if prepare is None else [prepare, *programs])

    def _runnables(self, programs: Sequence[Program]) -> list[Runnable]:
        if not programs:
            return []
        backend = self._requested if self.backend == "c" else "python"
        compiled = compiled_or_none(self.family.described.name, programs, backend)
        made = runnables(programs, "python") if compiled is None else compiled
        return [searching(runnable, *self._search) for runnable in made]

    def _when_called(self, name: str) -> Runnable:
        """Return a Python function that is traced at its first call."""

        def program() -> Program:
            return self.family.program(self._tracing.source, name)

        shape = self.family.shapes[name]
        search = Search(lambda: Unknowns(program())) if self.family.loops else None
        return Runnable(PythonFunction(program, shape), shape, tunable=False, search=search)


def _documentation(model: type) -> dict[str, str]:
    """Return what `help` shows of compiled functions, by name: signature and docstring of the method."""
    texts = {}
    for name, method in vars(model).items():
        if inspect.isfunction(method):
            parameters = list(inspect.signature(method).parameters.values())[1:]
            shown = (p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)
            texts[name] = f"{name}({', '.join(shown)})\n--\n\n{method.__doc__}"
    return texts


def compiled_or_none(name: str, programs: Sequence[Program], backend: Backend) -> list[Runnable] | None:
    """Compile programs of a robot; if that is impossible and not required, log a warning and return None.

    A program that is too large for the memory of the compiler is not for Python either: NoCompiler is raised.
    """
    # Imported here only, with subprocesses and loaders.
    from dyn_core.codegen.c_compiler import MEMORY_EXHAUSTED, NoCompiler

    if backend == "python":
        return None
    try:
        return runnables(programs, "c")
    except NoCompiler as problem:
        if backend == "c" or problem.code == MEMORY_EXHAUSTED:
            raise
        _log.warning(Message("model-in-python", robot=name, problem=problem))
        return None


def runnable_programs(robot: Robot, programs: Sequence[Program], backend: Backend = "auto") -> list[Runnable]:
    """Return programs of a robot, compiled if possible and allowed."""
    compiled = compiled_or_none(robot.name, programs, backend)
    return runnables(programs, "python") if compiled is None else compiled
