# SPDX-License-Identifier: Apache-2.0
"""MATLAB files up to version 7, by SciPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.errors import DynError
from dyn_core.logs.flatten import table_of
from dyn_core.logs.gather import cut_finding
from dyn_core.logs.stream import Recording, Selection

LARGEST_FILE = 1_000_000_000
"""Bytes of a file, which is read whole."""


def read_matlab(path: Path, select: Selection, max_values: int) -> Recording:
    """Answer the selected columns of a MATLAB file; fields of structures are called `structure.field`.

    Raises:
        DynError: it cannot be read.
    """
    from scipy.io import loadmat

    if (size := path.stat().st_size) > LARGEST_FILE:
        raise DynError(
            f"the file has {size} bytes, more than the {LARGEST_FILE} that are read: save fewer samples"
        )
    try:
        contents = loadmat(path, squeeze_me=True, struct_as_record=True)
    except NotImplementedError as error:
        raise DynError("it is a MATLAB file of version 7.3: save it with -v7") from error
    except Exception as error:  # SciPy raises what its parser stumbles over
        raise DynError(f"it is no MATLAB file, or one that was cut: {error}") from error
    arrays: dict[str, Any] = {}
    for name, value in contents.items():
        if not name.startswith("__"):
            _collect(name, value, arrays, 0)
    stream, count = table_of(arrays, select, max_values)
    findings = (cut_finding(len(stream.values)),) if len(stream.values) < count else ()
    return Recording("MATLAB", (stream,), findings)


def _collect(name: str, value: Any, arrays: dict[str, Any], depth: int) -> None:
    """Collect the arrays of a variable and of its fields."""
    if not isinstance(value, (np.ndarray, np.void)):
        return
    if value.dtype.names and depth < 5:
        if value.size == 1:
            record = value if isinstance(value, np.void) else value.reshape(-1)[0]
            for field in value.dtype.names:
                _collect(f"{name}.{field}", record[field], arrays, depth + 1)
    elif isinstance(value, np.ndarray) and value.dtype == object and value.size == 1:
        _collect(name, value.reshape(-1)[0], arrays, depth + 1)
    elif isinstance(value, np.ndarray):
        arrays[name] = value
