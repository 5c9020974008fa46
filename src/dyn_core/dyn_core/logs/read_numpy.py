# SPDX-License-Identifier: Apache-2.0
"""Arrays that NumPy has saved: .npz with one array a quantity, .npy with fields or columns."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.core.errors import DynError, listed
from dyn_core.core.findings import Finding, Severity
from dyn_core.logs.flatten import names_joints, table_of
from dyn_core.logs.gather import cut_finding
from dyn_core.logs.stream import Recording, Selection

LARGEST_ARRAYS = 2_000_000_000
"""Bytes of all arrays of an .npz, which are read whole."""


def read_npz(path: Path, select: Selection, max_values: int) -> Recording:
    """Answer the selected columns of an .npz; DynError where it cannot be read."""
    try:
        with zipfile.ZipFile(path) as file:
            size = sum(member.file_size for member in file.infolist())
        if size > LARGEST_ARRAYS:
            raise DynError(
                f"its arrays have {size} bytes, more than the {LARGEST_ARRAYS} that are read: save fewer "
                "samples"
            )
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: array for name in file.files if (array := _array(file, name)) is not None}
            objects = [name for name in file.files if name not in arrays]
    except DynError:
        raise
    except Exception as error:  # NumPy raises what its parsers stumble over
        raise DynError(f"it is no .npz, or one that was cut: {error}") from error
    named = [name for name in objects if names_joints(name)]
    if named:
        raise DynError(
            f"{listed(named)} holds Python objects, which could run code when they are read: save the names "
            "of the joints as text, np.array(names, dtype=str)"
        )
    recording = _recording("NumPy .npz", arrays, select, max_values)
    if not objects:
        return recording
    said = f"{listed(objects)}: Python objects, which could run code when they are read, are left out"
    return replace(recording, findings=(*recording.findings, Finding(Severity.NOTE, "log", (), said)))


def read_npy(path: Path, select: Selection, max_values: int) -> Recording:
    """Answer the selected columns of an .npy; DynError where it cannot be read."""
    try:
        array = np.load(path, allow_pickle=False, mmap_mode="r")
    except Exception as error:  # NumPy raises what its parsers stumble over
        raise DynError(f"it is no .npy, or one that was cut: {error}") from error
    if array.dtype.names:
        return _recording("NumPy .npy", {name: array[name] for name in array.dtype.names}, select, max_values)
    if array.ndim != 2:
        raise DynError(
            f"the array has the shape {array.shape}: give one row a sample and one column a signal"
        )
    columns = {str(k + 1): array[:, k] for k in range(array.shape[1])}
    return _recording("NumPy .npy", columns, select, max_values)


def _array(file: Any, name: str) -> Any:
    """Answer an array; None for one of objects, which could run code when it is read."""
    try:
        return file[name]
    except ValueError as error:
        if "allow_pickle" in str(error):
            return None
        raise


def _recording(form: str, arrays: dict[str, Any], select: Selection, max_values: int) -> Recording:
    stream, count = table_of(arrays, select, max_values)
    findings = (cut_finding(len(stream.values)),) if len(stream.values) < count else ()
    return Recording(form, (stream,), findings)
