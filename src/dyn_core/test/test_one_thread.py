# SPDX-License-Identifier: Apache-2.0
"""Linear algebra on small matrices uses one thread, and the previous number of threads afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from dyn_process import started

from dyn_core.core import blas_threads as module
from dyn_core.core.blas_threads import one_thread


def counts() -> list[int]:
    return [get_count() for get_count, _ in module._libraries()]


@pytest.fixture
def several() -> Iterator[list[int]]:
    np.linalg.qr(np.eye(3))
    before = counts()
    if not before:
        pytest.skip("this NumPy has no OpenBLAS")
    for _, set_count in module._libraries():
        set_count(2)
    yield counts()
    for (_, set_count), count in zip(module._libraries(), before, strict=True):
        set_count(count)


def test_one_thread_inside_and_the_previous_number_afterwards(several: list[int]) -> None:
    @one_thread()
    def inner(depth: int) -> list[int]:
        return inner(depth - 1) if depth else counts()

    assert inner(2) == [1] * len(several)
    assert counts() == several
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert counts() == several


def test_libraries_loaded_later_have_one_thread_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy has its own OpenBLAS, and is imported on first use."""
    code = """
import sys
from dyn_core.core import blas_threads as module
with module.one_thread():
    assert "scipy.linalg" not in sys.modules
from scipy.optimize import minimize
for _, set_count in module._libraries():
    set_count(2)
with module.one_thread():
    print([len(module._openblas_files()), *(get_count() for get_count, _ in module._libraries())])
"""
    out, err = started(code).communicate(timeout=60)
    assert not err
    files, *found = json.loads(out)
    assert found == [1] * files
    monkeypatch.setattr(module, "_MAPS", "/nowhere")  # without OpenBLAS nothing happens
    assert module._openblas_files() == []
