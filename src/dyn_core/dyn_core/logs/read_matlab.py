# SPDX-License-Identifier: Apache-2.0
"""MATLAB files up to version 7."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.core.errors import DynError
from dyn_core.logs.flatten import table_of
from dyn_core.logs.gather import cut_finding
from dyn_core.logs.readers.matlab import Damaged, Value, variables
from dyn_core.logs.stream import Recording, Selection

LARGEST_FILE = 2_000_000_000
"""Bytes of a file, which is read whole."""
_VERSION_7_3 = b"MATLAB 7.3"
_HDF5 = b"\x89HDF"


def read_matlab(path: Path, select: Selection, max_values: int) -> Recording:
    """Answer the selected columns of a MATLAB file; fields of structures are called `structure.field`.

    Raises:
        DynError: it cannot be read.
    """
    if (size := path.stat().st_size) > LARGEST_FILE:
        raise DynError(
            f"the file has {size} bytes, more than the {LARGEST_FILE} that are read: save fewer samples"
        )
    data = path.read_bytes()
    if data.startswith((_VERSION_7_3, _HDF5)):
        raise DynError("it is a MATLAB file of version 7.3: save it with -v7")
    arrays: dict[str, Any] = {}
    try:
        for name, value in variables(data):
            _collect(name, value, arrays)
    except Damaged as error:
        raise DynError(
            f"it is no MATLAB file of version 5 to 7, or one that was cut: {error}; save it with -v7"
        ) from error
    stream, count = table_of(arrays, select, max_values)
    findings = (cut_finding(len(stream.values)),) if len(stream.values) < count else ()
    return Recording("MATLAB", (stream,), findings)


def _collect(name: str, value: Value, arrays: dict[str, Any]) -> None:
    """Collect the arrays of a variable and of its fields, and the text of cells and rows."""
    if isinstance(value, dict):
        for field, inner in value.items():
            _collect(f"{name}.{field}", inner, arrays)
    elif isinstance(value, list):
        words = [item[0] if isinstance(item, list) and len(item) == 1 else item for item in value]
        if len(words) == 1 and isinstance(words[0], (dict, np.ndarray)):
            _collect(name, words[0], arrays)
        elif words and all(isinstance(word, str) for word in words):
            arrays[name] = np.array(words)
    elif value is not None:
        arrays[name] = value
