# SPDX-License-Identifier: Apache-2.0
"""Arrays of users to scalars of algorithms, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.core.errors import listed
from dyn_core.symbolic.scalar import Scalar

Array: TypeAlias = npt.NDArray[np.float64]


def as_floats(name: str, value: npt.ArrayLike) -> Array:
    """Answer `value` as an array of float64; ValueError, with `name`, where it is none."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected numbers, {error}") from error


def joint_vectors(
    dof: int, names: Callable[[], Sequence[str]] = tuple, /, **values: npt.ArrayLike
) -> tuple[Array, ...]:
    """Answer joint vectors, all of the shape (dof,) or all of one shape (N, dof).

    Args:
        dof: number of joints.
        names: answers their names, where messages are to tell them.
        values: the vectors, by name.
    """
    arrays = {name: as_floats(name, value) for name, value in values.items()}
    first = next(iter(arrays))
    for name, array in arrays.items():
        if array.ndim not in (1, 2) or array.shape[-1] != dof:
            which = f": of the joints {listed(names(), 12)}" if names() else ""
            raise ValueError(
                f"{name}: expected the shape ({dof},) or (N, {dof}), but it has {array.shape}{which}"
            )
        if array.shape != arrays[first].shape:
            raise ValueError(
                f"{name}: expected the shape {arrays[first].shape} of {first}, but it has {array.shape}"
            )
    return tuple(arrays.values())


def checked_out(out: Array | None, shape: tuple[int, ...]) -> Array:
    """Answer the array that a result of this shape goes to: `out`, if it will do, or a new one."""
    if out is None:
        return np.empty(shape)
    if not isinstance(out, np.ndarray) or out.dtype != np.float64:
        kind = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out: expected an array of float64, but it is {kind}")
    if out.shape != shape:
        raise ValueError(f"out: expected the shape {shape}, but it has {out.shape}")
    if not out.flags.writeable:
        raise ValueError("out: the array is read-only")
    return out


def scalars(array: Array) -> list[Scalar]:
    """Answer one scalar a column: numbers for one sample, arrays over the samples for a batch."""
    return array.tolist() if array.ndim == 1 else list(array.T)
