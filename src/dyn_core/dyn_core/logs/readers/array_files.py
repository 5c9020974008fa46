# SPDX-License-Identifier: Apache-2.0
"""Parquet files, by pyarrow, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.logs.flatten import names_joints
from dyn_core.logs.gather import Gather, cut_finding
from dyn_core.logs.stream import Recording, Selection, Stream

BATCH = 65_536


def read_parquet(path: Path, select: Selection, max_values: int) -> Recording:
    """Answer the selected columns of a Parquet file; DynError where it cannot be read."""
    try:
        from pyarrow import ArrowException
        from pyarrow import types as arrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise DynError(
            "Parquet cannot be read without pyarrow: install it with 'python3 -m pip install pyarrow'"
        ) from error
    try:
        with ParquetFile(path) as file:
            fields = [field for field in file.schema_arrow if _is_number(arrow, field.type)]
            columns = [_Column(_named(arrow, field), field.name) for field in fields]
            columns += _list_columns(file, arrow)
            names = [column.name for column in columns]
            chosen = list(select(names))
            gather = Gather(len(chosen), max_values)
            wanted = [columns[k] for k in chosen]
            needed = list(dict.fromkeys(column.field for column in wanted))
            origins: dict[str, int] = {}
            for batch in file.iter_batches(batch_size=BATCH, columns=needed):
                block = [_values(batch.column(column.field), column, origins) for column in wanted]
                if not gather.add(np.column_stack(block) if block else np.empty((0, 0))):
                    break
    except (ArrowException, OSError, ValueError) as error:
        raise DynError(f"it is no Parquet file, or one that was cut: {error}") from error
    stream = Stream(
        source="",
        names=tuple(names[k] for k in chosen),
        values=gather.rows(),
        ignored=tuple(name for k, name in enumerate(names) if k not in chosen),
    )
    return Recording("Parquet", (stream,), (cut_finding(len(stream.values)),) if gather.is_full else ())


@dataclass(frozen=True)
class _Column:
    """A column of numbers.

    Attributes:
        name: what it is called.
        field: the field of the file.
        place: which item of its lists; None where it has numbers.
        length: of its lists.
    """

    name: str
    field: str
    place: int | None = None
    length: int = 0


def _list_columns(file: Any, arrow: Any) -> Iterator[_Column]:
    """Answer the items of lists as columns: by the names of the joints where a list has them, or numbers."""
    schema = file.schema_arrow
    lists = [field for field in schema if _is_list(arrow, field.type)]
    numeric = [field.name for field in lists if _is_number(arrow, field.type.value_type)]
    texts = [
        f.name
        for f in lists
        if arrow.is_string(f.type.value_type) or arrow.is_large_string(f.type.value_type)
    ]
    of_joints = next((name for name in texts if names_joints(name)), None)
    first = next(file.iter_batches(batch_size=1, columns=[*numeric, *texts]), None) if numeric else None
    if first is None or not first.num_rows:
        return
    joints = () if of_joints is None else tuple(first.column(of_joints)[0].as_py() or ())
    if of_joints is not None:
        _check_joints(file, of_joints, joints)
    for name in numeric:
        length = len(first.column(name)[0].as_py() or ())
        named = joints if len(joints) == length else None
        for k in range(length):
            yield _Column(f"{name}.{named[k]}" if named else f"{name}[{k}]", name, k, length)


def _check_joints(file: Any, field: str, joints: tuple[str, ...]) -> None:
    """Refuse rows of which the joints are others, or in another order."""
    for batch in file.iter_batches(batch_size=BATCH, columns=[field]):
        column = batch.column(field)
        flat = column.flatten().to_numpy(zero_copy_only=False)
        if len(flat) == len(column) * len(joints) and np.all(
            flat.reshape(len(column), -1) == np.array(joints)
        ):
            continue
        for names in column.to_pylist():
            if tuple(names or ()) != joints:
                raise DynError(
                    f"the joints in '{field}' are not the same in each row: {listed(names or (), 8)} and "
                    f"{listed(joints, 8)}; write one column for each signal"
                )


def _values(column: Any, of: _Column, origins: dict[str, int]) -> Array:
    """Answer the numbers of a column; NaN where a list has another length than the first one."""
    if of.place is None:
        return _floats(column, of.field, origins)
    offsets = np.asarray(column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    flat = _floats(column.flatten(), of.name, origins)
    starts = np.concatenate([[0], np.cumsum(offsets)[:-1]]) if len(offsets) else offsets
    whole = offsets == of.length
    found = np.full(len(offsets), np.nan)
    found[whole] = flat[starts[whole] + of.place]
    return found


def _is_number(arrow: Any, kind: Any) -> bool:
    return bool(arrow.is_integer(kind) or arrow.is_floating(kind) or _is_time(arrow, kind))


def _is_list(arrow: Any, kind: Any) -> bool:
    return bool(arrow.is_list(kind) or arrow.is_large_list(kind) or arrow.is_fixed_size_list(kind))


def _is_time(arrow: Any, kind: Any) -> bool:
    return bool(arrow.is_timestamp(kind) or arrow.is_duration(kind))


def _named(arrow: Any, field: Any) -> str:
    """Answer the name of a column, with the unit of what is a time by its type."""
    return f"{field.name} [{field.type.unit}]" if _is_time(arrow, field.type) else str(field.name)


def _floats(column: Any, name: str, origins: dict[str, int]) -> Array:
    """Answer a column, NaN where it has no value; large integers (time in ns) after the first."""
    if column.type.__class__.__name__ in ("TimestampType", "DurationType"):
        column = column.cast("int64")
    if not str(column.type).startswith(("int", "uint")):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    if name not in origins:
        first = int(values[0]) if len(values) else 0
        origins[name] = first if abs(first) >= 2**53 else 0
    floats = np.asarray(values - np.asarray(origins[name], dtype=values.dtype), dtype=np.float64)
    if column.null_count:
        floats[~np.asarray(column.is_valid().to_numpy(zero_copy_only=False))] = np.nan
    return floats
