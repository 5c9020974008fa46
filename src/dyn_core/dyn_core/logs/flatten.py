# SPDX-License-Identifier: Apache-2.0
"""Named arrays, as NumPy and MATLAB files hold them, as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.logs.recording import column_name
from dyn_core.logs.stream import Selection, Stream
from dyn_core.logs.units import TIME


def table_of(arrays: Mapping[str, Any], select: Selection, max_values: int) -> tuple[Stream, int]:
    """Answer the selected columns of the arrays that have one row, or one column, for each sample.

    How many samples there are is what the time says, or else what most arrays say.

    Returns:
        the table, and how many samples there were before it was cut.

    Raises:
        DynError: there are no arrays of numbers in it.
    """
    usable = {name: array for name, array in arrays.items() if _is_numeric(array)}
    count = _samples(usable)
    names: list[str] = []
    columns: list[Any] = []
    joints = _joint_names(arrays)
    for name, array in usable.items():
        if array.ndim == 2 and 1 in array.shape:
            array = array.reshape(-1)
        if array.ndim == 2 and array.shape[0] != count and array.shape[1] == count:
            array = array.T
        if array.shape[0] != count:
            continue
        if array.ndim == 1:
            names.append(name)
            columns.append(array)
        else:
            named = joints if len(joints) == array.shape[1] else ()
            for k in range(array.shape[1]):
                names.append(f"{name}.{named[k]}" if named else f"{name}[{k + 1}]")
                columns.append(array[:, k])
    chosen = list(select(names))
    rows = min(count, max(max_values // max(len(chosen), 1), 1))
    values = np.empty((rows, len(chosen)))
    for place, k in enumerate(chosen):
        column = columns[k][:rows]
        values[:, place] = _relative(column) if column.dtype.kind in "iu" else column
    stream = Stream(
        source="",
        names=tuple(names[k] for k in chosen),
        values=values,
        ignored=tuple(name for k, name in enumerate(names) if k not in chosen),
    )
    return stream, count


def names_joints(name: str) -> bool:
    """Tell whether an array of this name has the names of the joints."""
    return name.rsplit(".", 1)[-1].lower() in ("joint_names", "joints", "names", "name")


def _relative(column: Any) -> Array:
    """Answer integers as floats; large ones (time in ns) after the first, so that no digit is lost."""
    if len(column) and abs(int(column[0])) >= 2**53:
        column = column - column[0]
    return np.asarray(column, dtype=np.float64)


def _is_numeric(array: Any) -> bool:
    return (
        isinstance(array, np.ndarray)
        and array.dtype.kind in "fiu"
        and (array.ndim == 1 or array.ndim == 2)
        and array.size > 1
    )


def _samples(arrays: Mapping[str, Any]) -> int:
    for name, array in arrays.items():
        found = column_name(name)
        if found is not None and found.quantity == TIME and max(array.shape) == array.size:
            return int(array.size)
    lengths = Counter(max(array.shape) for array in arrays.values())
    if not lengths:
        raise DynError("there are no arrays of numbers in the file: give time, positions and efforts")
    return int(lengths.most_common(1)[0][0])


def _joint_names(arrays: Mapping[str, Any]) -> tuple[str, ...]:
    """Answer the names of the joints, where an array of text has them."""
    for name, array in arrays.items():
        if names_joints(name) and isinstance(array, np.ndarray):
            flat = array.reshape(-1)
            if array.dtype.kind in "US":
                return tuple(str(word).strip() for word in flat.astype(str))
    return ()
