# SPDX-License-Identifier: Apache-2.0
"""Arrays of the user: checked shapes, outputs, and their columns as scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.core.errors import ArgumentError

# Masks

BoolArray: TypeAlias = npt.NDArray[np.bool_]


# Arrays of users to scalars of algorithms, and back.

Array: TypeAlias = npt.NDArray[np.float64]


def as_floats(name: str, value: npt.ArrayLike) -> Array:
    """Return `value` as an array of float64; raise ValueError, with `name`, if that is not possible."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    try:
        given = np.asarray(value)
        if given.dtype.kind != "c":  # NumPy would only warn that it drops the imaginary part
            return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError("argument-not-numbers", argument=name, reason=error) from error
    raise ArgumentError("argument-complex", argument=name)


def joint_vectors(
    dof: int, names: Callable[[], Sequence[str]] = tuple, /, **values: npt.ArrayLike
) -> tuple[Array, ...]:
    """Return joint vectors by name, all of the shape (dof,) or of one shape (N, dof).

    `names` returns the names of the joints, if messages are to have them.
    """
    arrays = {name: as_floats(name, value) for name, value in values.items()}
    first = next(iter(arrays))
    for name, array in arrays.items():
        if array.ndim not in (1, 2) or array.shape[-1] != dof:
            if names():
                raise ArgumentError(
                    "joint-vector-shape", argument=name, count=dof, given=array.shape, joints=names()
                )
            raise ArgumentError(
                "argument-shape", argument=name, expected=f"({dof},) or (N, {dof})", given=array.shape
            )
        if array.shape != arrays[first].shape:
            raise ArgumentError(
                "argument-shapes-differ",
                argument=name,
                expected=arrays[first].shape,
                reference=first,
                given=array.shape,
            )
    return tuple(arrays.values())


def checked_out(out: Array | None, shape: tuple[int, ...]) -> Array:
    """Return `out`, or a new array if it is None; ArgumentError if `out` has another type or shape."""
    if out is None:
        return np.empty(shape)
    if not isinstance(out, np.ndarray) or out.dtype != np.float64:
        kind = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
        raise ArgumentError("argument-type", argument="out", expected="an array of float64", given=kind)
    if out.shape != shape:
        raise ArgumentError("argument-shape", argument="out", expected=shape, given=out.shape)
    if not out.flags.writeable:
        raise ArgumentError("array-read-only")
    return out


def scalars(array: Array) -> list[Any]:
    """Return one scalar a column: numbers for one sample, arrays over the samples for a batch."""
    return array.tolist() if array.ndim == 1 else list(array.T)
