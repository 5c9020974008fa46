# SPDX-License-Identifier: Apache-2.0
"""Base class of all models: compiled functions in place of methods, parameters, operation counts, pickle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MethodType
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array, checked_out
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.core.handover import handed_over
from dyn_core.model.builder import Functions, Source
from dyn_core.model.tunable_parameters import Described, Runnable, Tuning

M = TypeVar("M", bound="BuiltModel")


class BuiltModel:
    """Model whose compiled functions are bound in place of the methods of the same names.

    Subclasses are frozen dataclasses. Their methods check arguments, and compute what compiled functions do
    not take, such as lists or wrenches; compiled functions fall back to them.

    Attributes:
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
        backend: ``"c"``, compiled for this robot, or ``"python"``.
    """

    DIVIDING: ClassVar[tuple[str, ...]] = ()
    """Functions that divide by an inertia; for a robot without inertia the methods refuse them."""

    BESIDE: ClassVar[tuple[str, ...]] = ()
    """Names of other functions whose operations can be counted."""

    friction: bool
    rotor_inertia: bool
    backend: Literal["c", "python"]
    _functions: Functions
    _unresisted: dict[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        """Bind the functions of this robot."""
        self.__dict__["_unresisted"] = {}
        self._functions.bind_by(self._bind)

    def _bind(self, names: Sequence[str]) -> None:
        """Put compiled functions in place of the methods that they can replace for this robot."""
        with self._functions.changing:
            if any(name in self.DIVIDING for name in names):
                found = handed_over(self._find_unresisted).items()
                self.__dict__["_unresisted"] = {name: loose for name, loose in found if loose}
            for name in names:
                if hasattr(type(self), name):
                    general = MethodType(getattr(type(self), name), self)
                    function = self._functions[name].function
                    fast = self._is_fast(name)
                    self.__dict__[name] = function.bind(general, self._prepared) if fast else general

    def _is_fast(self, name: str) -> bool:
        """Whether a compiled function can compute all calls with suitable arrays."""
        return name not in self._unresisted

    def _find_unresisted(self) -> dict[str, tuple[str, ...]]:
        """Return, for each function of `DIVIDING`, the joints that no inertia resists."""
        return {}

    def _after_change(self) -> None:
        """Bind functions anew that divide by an inertia."""
        self._bind([name for name in self._functions.made if name in self.DIVIDING])

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of `parameters` and of the columns of regressors: 14 for each joint of the tree.

        On a moving base those of the base, XX0 to M0, come first.
        """
        return self._described().parameter_names

    @property
    def parameters(self) -> Array:
        """Values of the dynamic parameters, in the order of `parameter_names` (SI units)."""
        if self._tuning is None:
            return np.array(self._described().parameters)
        return self._tuning.values[:-3]

    @property
    def gravity(self) -> Array:
        """Acceleration of gravity in the frame of the root link, or in the world of a moving base (m/s^2)."""
        return np.array(self._described().gravity) if self._tuning is None else self._tuning.values[-3:]

    @property
    def tuned(self) -> Array | None:
        """The array that begins with the parameters and gravity that can be set; None if they are baked in.

        Each `set_parameters` replaces it; it is never written to.
        """
        return None if self._tuning is None else self._tuning.prepared[0]

    def set_parameters(
        self,
        values: Mapping[str, float] | Iterable[float] | None = None,
        gravity: Iterable[float] | None = None,
    ) -> None:
        """Replace dynamic parameters of a model with ``parameters="runtime"``, all at one moment.

        Calls that have begun in other threads end with the parameters that they began with.

        Args:
            values: values by name, where the others stay, or all in the order of `parameter_names` (SI
                units); those of a robot with a payload are ``robot.with_payload(...).parameters``.
            gravity: acceleration of gravity in the frame of the root link, or in the world of a moving base
                (m/s^2).

        Raises:
            DynError: the parameters are baked in, a name is not known, or a number is not finite.
        """
        if self._tuning is None:
            raise DynError("parameters-baked", robot=self._described().name)
        if values is None:
            self._tuning.renew({}, gravity)
        else:
            self._tuning.renew(values, gravity, then=self._after_change)

    def _present_inertia(self, q: list[float]) -> list[list[float]]:
        A: list[list[float]] = self._functions["inertia_matrix"].run(self._prepared, np.array(q)).tolist()
        return A

    def _described(self) -> Described:
        return self._functions.family.described

    @property
    def _tuning(self) -> Tuning | None:
        return self._functions.tuning

    @property
    def _prepared(self) -> list[Array]:
        """One item: the values prepared from parameters that can be set; empty if they are baked in."""
        return self._functions.prepared

    def _run(self, runnable: Runnable, arrays: Sequence[Array], out: Array | None) -> Array:
        """Compute a program of checked arrays, into `out` if it is given."""
        out = checked_out(out, (*arrays[0].shape[:-1], *runnable.shape))
        return runnable.run(self._prepared, *arrays, out=out)

    def _kind(self) -> str:
        """Return the part of `repr` that all models share."""
        return f"{'baked' if self._tuning is None else 'runtime'} parameters, backend '{self.backend}'"

    def operation_counts(self, function: str) -> dict[str, int]:
        """Operations of one evaluation of a function, by its name: mul, add, div, trig, sqrt.

        What depends on parameters alone is not counted: it is computed when they are set.
        """
        if function not in self._functions:
            known = ", ".join((*self._functions.family.names, *self.BESIDE))
            raise ArgumentError("function-unknown", function=function, known=known)
        source = self._functions.family.source(self._tuning is not None)
        return source.operation_counts(self._counted(source, function))

    def _counted(self, source: Source[Any], function: str) -> Program:
        """Return the program whose operations are counted."""
        return self._functions.family.program(source, function)

    def _remade(self, compile_it: Callable[..., M], **options: object) -> tuple[Any, ...]:
        """Return what `pickle` keeps: `compile_it` and its arguments; the other side has a cache of its own.

        `options` are the arguments that not all kinds of models have.
        """
        tuned = None if self._tuning is None else self._tuning.values
        shared = {
            "parameters": "baked" if tuned is None else "runtime",
            "backend": "auto" if self.backend == "c" else self.backend,
            "friction": self.friction,
            "rotor_inertia": self.rotor_inertia,
            "functions": self._functions.chosen,
        }
        return restored, (compile_it, options | shared, tuned)


def restored(compile_it: Callable[..., M], options: Mapping[str, Any], tuned: Array | None) -> M:
    """Return a model again from a function, its arguments, and the parameters and gravity that were set.

    Without a compiler the model is slower; a warning in the log says so.
    """
    model = compile_it(**options)
    if tuned is not None:
        model.set_parameters(tuned[:-3], gravity=tuned[-3:])
    return model
