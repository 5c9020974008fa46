# SPDX-License-Identifier: Apache-2.0
"""Read NumPy files (.npz, .npy) and Parquet files, and turn named arrays into columns."""

from __future__ import annotations

import math
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.logs.log import TIME
from dyn_core.logs.readers.parquet_footer import ColumnChunk, page_sizes, row_groups
from dyn_core.logs.reading_budget import ITEM_COST, Budget
from dyn_core.logs.recording import Gather, Recording, Selection, column_name, cut_finding, table

BATCH = 65_536
"""Rows of a Parquet file that are read at once."""
_END = 22 + 65_535
"""Bytes from the record at the end of a zip file to its end, at most."""
_DIRECTORY_COST = 24
"""Memory for a byte of the directory of a zip file (bytes)."""
_FOOTER_COST = 50
"""Memory that counts for a byte of the footer of a Parquet file, because of the time it takes (bytes)."""
_PAGE_COST = 100
"""Memory that counts for a page of a Parquet file, because of the time that it takes (bytes)."""
_LARGE_ZIP = b"PK\x06\x07"


def read_npz(path: Path, select: Selection, budget: Budget) -> Recording:
    """Return the selected columns of an .npz, with an array per quantity; DynError if it cannot be read."""
    try:
        _take_directory(path, budget)
        with zipfile.ZipFile(path) as file:
            arrays = {member.filename: _member(file, member, budget) for member in file.infolist()}
    except DynError:
        raise
    except Exception as error:  # NumPy raises any error of its parsers
        raise DynError("log-file-damaged", format=".npz", reason=error) from error
    arrays = {name.removesuffix(".npy"): array for name, array in arrays.items()}
    objects = [name for name, array in arrays.items() if array is None]
    named = [name for name in objects if names_joints(name)]
    if named:
        raise DynError("array-of-objects", arrays=named)
    recording = recording_of("NumPy .npz", arrays, select, budget)
    if not objects:
        return recording
    finding = Finding(Severity.NOTE, "log", (), Message("array-objects-left-out", arrays=objects))
    return replace(recording, findings=(*recording.findings, finding))


def _take_directory(path: Path, budget: Budget) -> None:
    """Reserve memory for the directory of a zip file, which is read as a whole."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - _END, 0))
        end = file.read()
    # Without the record of large files there are at most 65 535 members.
    if _LARGE_ZIP in end and size < 2**32:
        budget.take(_DIRECTORY_COST * size)
    budget.take(min(size, 2**16 * ITEM_COST))


def _member(file: zipfile.ZipFile, member: zipfile.ZipInfo, budget: Budget) -> Any:
    """Return an array of an .npz.

    Only deflate is unpacked within limits by the standard library, and NumPy writes nothing else.
    """
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"compression {member.compress_type} is not that of NumPy")
    budget.take(ITEM_COST + member.file_size)
    return _array(partial(file.open, member), member.file_size)


def _array(open_file: Callable[[], IO[bytes]], size: int) -> Any:
    """Return the array of a file of a number of bytes.

    None for an array of objects, which could run code when it is read, and b"" for another file. ValueError
    for a shape of more bytes than there are, before they are allocated.
    """
    with warnings.catch_warnings():
        # NumPy warns of headers that Python 2 has written, or of what looks like them.
        warnings.simplefilter("ignore", UserWarning)
        return _read_array(open_file, size)


def _read_array(open_file: Callable[[], IO[bytes]], size: int) -> Any:
    with open_file() as file:
        if file.read(len(npy.MAGIC_PREFIX)) != npy.MAGIC_PREFIX:
            return b""
        read_header = npy.read_array_header_1_0 if file.read(2) == b"\1\0" else npy.read_array_header_2_0
        shape, _, form = read_header(file)
        if form.hasobject:
            return None
        if min(shape, default=0) < 0 or math.prod(shape) * max(form.itemsize, 1) > size:
            raise ValueError(f"the shape {shape} has more values than the file")
    with open_file() as file:
        return npy.read_array(file, allow_pickle=False)


def read_npy(path: Path, select: Selection, budget: Budget) -> Recording:
    """Return the selected columns of an .npy, with fields or columns; DynError if it cannot be read."""
    try:
        size = path.stat().st_size
        budget.take(size)
        array = _array(lambda: path.open("rb"), size)
    except DynError:
        raise
    except Exception as error:  # NumPy raises any error of its parsers
        raise DynError("log-file-damaged", format=".npy", reason=error) from error
    if array is None:
        raise DynError("array-of-objects", arrays=[path.name])
    if not array.dtype.names and array.ndim != 2:
        raise DynError("array-not-table", given=array.shape)
    columns = {name: array[name] for name in array.dtype.names or ()}
    if not columns:
        budget.take(ITEM_COST * array.shape[1])
        columns = {str(k + 1): array[:, k] for k in range(array.shape[1])}
    return recording_of("NumPy .npy", columns, select, budget)


def recording_of(form: str, arrays: Mapping[str, Any], select: Selection, budget: Budget) -> Recording:
    """Return the selected columns of the arrays that have one row, or one column, per sample.

    The number of samples is the length of the time, or else of most arrays.

    Raises:
        DynError: there are no arrays of numbers.
    """
    usable = {
        name: array
        for name, array in arrays.items()
        if isinstance(array, np.ndarray)
        and array.dtype.kind in "fiu"
        and array.ndim in (1, 2)
        and array.size > 1
    }
    count = _samples(usable)
    names: list[str] = []
    columns: list[Any] = []
    joints = _joint_names(arrays, budget)
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
            budget.take(ITEM_COST * array.shape[1])
            for k in range(array.shape[1]):
                names.append(f"{name}.{named[k]}" if named else f"{name}[{k + 1}]")
                columns.append(array[:, k])
    chosen = list(select(names))
    rows = min(count, max(budget.max_values // max(len(chosen), 1), 1))
    values = np.empty((rows, len(chosen)))
    for place, k in enumerate(chosen):
        column = columns[k][:rows]
        if column.dtype.kind in "iu" and len(column) and abs(int(column[0])) >= 2**53:
            column = column - column[0]  # times in ns: no digit of the differences is lost
        values[:, place] = column
    findings = (cut_finding(rows),) if rows < count else ()
    return Recording(form, (table(names, chosen, values),), findings)


def names_joints(name: str) -> bool:
    """Return whether an array of this name has the names of the joints."""
    return name.rsplit(".", 1)[-1].lower() in ("joint_names", "joints", "names", "name")


def _samples(arrays: Mapping[str, Any]) -> int:
    for name, array in arrays.items():
        found = column_name(name)
        if found is not None and found.quantity == TIME and max(array.shape) == array.size:
            return int(array.size)
    lengths = Counter(max(array.shape) for array in arrays.values())
    if not lengths:
        raise DynError("file-without-arrays")
    return int(lengths.most_common(1)[0][0])


def _joint_names(arrays: Mapping[str, Any], budget: Budget) -> tuple[str, ...]:
    """Return the names of the joints, if an array of text has them."""
    for name, array in arrays.items():
        if names_joints(name) and isinstance(array, np.ndarray) and array.dtype.kind in "US":
            budget.take(10 * array.nbytes + 100 * array.size)
            return tuple(str(word).strip() for word in array.reshape(-1).astype(str))
    return ()


def read_parquet(path: Path, select: Selection, budget: Budget) -> Recording:
    """Return the selected columns of a Parquet file; DynError if it cannot be read."""
    try:
        from pyarrow import ArrowException
        from pyarrow import types as arrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise DynError("pyarrow-missing") from error
    try:
        _take_footer(path, budget)
        groups = row_groups(path)
        paths = {".".join(chunk.path) for group in groups for chunk in group if len(chunk.path) > 1}
        # Texts are kept once, however often they occur: short files can repeat a long text.
        with ParquetFile(path, read_dictionary=sorted(paths)) as file:
            fields = [field for field in file.schema_arrow if _is_number(arrow, field.type)]
            lists = [f.name for f in file.schema_arrow if hasattr(f.type, "value_type")]
            _take_pages(path, groups, lists, budget)
            columns = [_Column(_named(arrow, field), field.name) for field in fields]
            columns += _list_columns(file, arrow, budget)
            names = [column.name for column in columns]
            chosen = list(select(names))
            gather = Gather(len(chosen), budget.max_values)
            selected = [columns[k] for k in chosen]
            needed = list(dict.fromkeys(column.field for column in selected))
            _take_pages(path, groups, set(needed).difference(lists), budget)
            origins: dict[str, int] = {}
            for batch in file.iter_batches(batch_size=BATCH, columns=needed):
                block = [_values(batch.column(column.field), column, origins) for column in selected]
                if not gather.add(np.column_stack(block) if block else np.empty((0, 0))):
                    break
    except (ArrowException, OSError, ValueError) as error:
        raise DynError("log-file-damaged", format="Parquet file", reason=error) from error
    rows = gather.rows()
    findings = (cut_finding(len(rows)),) if gather.is_full else ()
    return Recording("Parquet", (table(names, chosen, rows),), findings)


def _take_footer(path: Path, budget: Budget) -> None:
    """Reserve memory for the description of a Parquet file, which is read as a whole."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 8, 0))
        budget.take(_FOOTER_COST * min(int.from_bytes(file.read(4), "little"), size))


def _take_pages(
    path: Path, groups: Sequence[Sequence[ColumnChunk]], fields: Collection[str], budget: Budget
) -> None:
    """Reserve memory for the largest row group, packed and not, of the columns that are read.

    The sizes are the larger ones of what the footer claims and of what its pages claim. All values of lists
    may be in one row.
    """
    largest = total = 0
    with path.open("rb") as file:
        for group in groups:
            size = 0
            for chunk in (chunk for chunk in group if chunk.path[0] in fields):
                unpacked = values = 0
                for page in page_sizes(file, chunk):
                    budget.take(_PAGE_COST)
                    unpacked, values = unpacked + page.unpacked, values + page.values
                size += chunk.packed + max(unpacked, chunk.unpacked)
                if len(chunk.path) > 2:
                    size += 8 * max(values, chunk.values)
            largest, total = max(largest, size), total + size
    budget.take(largest)
    if total > budget.most_unpacked:
        raise budget.exceeded(total / budget.most_unpacked * budget.memory)


@dataclass(frozen=True)
class _Column:
    """A column of numbers: its name and field, and index and length of lists (None for plain numbers)."""

    name: str
    field: str
    place: int | None = None
    length: int = 0


def _list_columns(file: Any, arrow: Any, budget: Budget) -> Iterator[_Column]:
    """Yield the items of lists as columns, named by the joints if a list has their names, or numbered."""
    lists = {
        field.name: field.type.value_type
        for field in file.schema_arrow
        if arrow.is_list(field.type)
        or arrow.is_large_list(field.type)
        or arrow.is_fixed_size_list(field.type)
    }
    numeric = [name for name, kind in lists.items() if _is_number(arrow, kind)]
    texts = [name for name, kind in lists.items() if arrow.is_dictionary(kind)]
    of_joints = next((name for name in texts if names_joints(name)), None)
    first = next(file.iter_batches(batch_size=1, columns=[*numeric, *texts]), None) if numeric else None
    if first is None or not first.num_rows:
        return
    lengths = {name: first.column(name).value_lengths()[0].as_py() or 0 for name in (*numeric, *texts)}
    budget.take_columns(sum(lengths[name] for name in (*numeric, *([of_joints] if of_joints else []))))
    joints: tuple[str, ...] = ()
    if of_joints is not None:
        joints = _texts_of(first.column(of_joints)[0].values, budget)
        _check_joints(file, of_joints, joints)
    for name in numeric:
        length = lengths[name]
        named = joints if len(joints) == length else None
        for k in range(length):
            yield _Column(f"{name}.{named[k]}" if named else f"{name}[{k}]", name, k, length)


def _texts_of(words: Any, budget: Budget) -> tuple[str, ...]:
    """Return the texts of a list, for which memory is reserved; none for a list without value."""
    if words is None:
        return ()
    lengths = [len(word.as_py() or "") for word in words.dictionary]
    budget.take(sum(4 * lengths[k] for k in words.indices.to_pylist() if k is not None))
    return tuple(words.to_pylist())


def _check_joints(file: Any, field: str, joints: tuple[str, ...]) -> None:
    """Refuse rows with other joints, or another order of them."""
    # By row group, since each has a dictionary of its own.
    groups = range(file.metadata.num_row_groups)
    batches = (file.iter_batches(BATCH, row_groups=[group], columns=[field]) for group in groups)
    for batch in chain.from_iterable(batches):
        column = batch.column(field)
        words = column.flatten()
        place = {word: k for k, word in enumerate(words.dictionary.to_pylist()[: len(joints) + 1])}
        expected = np.array([place.get(joint, -1) for joint in joints])
        given = words.indices.to_numpy(zero_copy_only=False)
        if len(given) == len(column) * len(joints) and np.all(given.reshape(len(column), -1) == expected):
            continue
        for row in column:
            names = row.as_py() or ()
            if tuple(names) != joints:
                raise DynError("row-joints-differ", column=field, given=names, expected=joints)


def _values(column: Any, of: _Column, origins: dict[str, int]) -> Array:
    """Return the numbers of a column; NaN where the length of a list differs from the first one."""
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


def _is_time(arrow: Any, kind: Any) -> bool:
    return bool(arrow.is_timestamp(kind) or arrow.is_duration(kind))


def _named(arrow: Any, field: Any) -> str:
    """Return the name of a column, with the unit if its type is a time."""
    return f"{field.name} [{field.type.unit}]" if _is_time(arrow, field.type) else str(field.name)


def _floats(column: Any, name: str, origins: dict[str, int]) -> Array:
    """Return a column, NaN for missing values; large integers (times in ns) relative to the first one."""
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
