# SPDX-License-Identifier: Apache-2.0
"""Parquet files, by pyarrow, in batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.errors import DynError
from dyn_core.facade.arrays import Array
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
            fields = [
                field
                for field in file.schema_arrow
                if arrow.is_integer(field.type)
                or arrow.is_floating(field.type)
                or _is_time(arrow, field.type)
            ]
            names = [_named(arrow, field) for field in fields]
            chosen = list(select(names))
            gather = Gather(len(chosen), max_values)
            wanted = [fields[k].name for k in chosen]
            origins: dict[str, int] = {}
            for batch in file.iter_batches(batch_size=BATCH, columns=wanted):
                block = [_floats(batch.column(name), name, origins) for name in wanted]
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
