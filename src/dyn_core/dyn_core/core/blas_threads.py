# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of small matrices by one thread.

OpenBLAS, which comes with NumPy, spreads work of a few microseconds over all cores, and its threads wait for
each other in busy loops. On two cores that others use, too, thousands of small factorisations take
ten times as long and more.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import cache
from pathlib import Path
from types import TracebackType

_NAMES = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
)
_BRINGING = ("numpy.linalg", "scipy.linalg", "scipy.linalg.blas", "scipy.linalg.cython_blas")
"""Modules with which an OpenBLAS comes; SciPy has one of its own."""
_MAPS = "/proc/self/maps"
ONE_THREAD_VARIABLES = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Environment variables with which a new process has one thread for linear algebra, and saves its memory."""


class one_thread(ContextDecorator):  # noqa: N801 - used as a function
    """A context, or a decorator, in which OpenBLAS has one thread; without OpenBLAS it does nothing."""

    def __enter__(self) -> None:
        self._before = [(set_count, get_count()) for get_count, set_count in _libraries()]
        for set_count, _ in self._before:
            set_count(1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for set_count, count in self._before:
            set_count(count)

    def _recreate_cm(self) -> one_thread:
        """Return a context of its own for each call of what is decorated."""
        return one_thread()


def _libraries() -> tuple[tuple[Callable[[], int], Callable[[int], None]], ...]:
    """Return what gets and what sets the number of threads of each OpenBLAS in this process."""
    return _libraries_with(tuple(name in sys.modules for name in _BRINGING))


@cache
def _libraries_with(
    imported: tuple[bool, ...],
) -> tuple[tuple[Callable[[], int], Callable[[int], None]], ...]:
    """Return the functions of all libraries; each of the `imported` modules may have loaded one."""
    found = []
    for path in _openblas_files():
        library = ctypes.CDLL(path)
        for get_name, set_name in _NAMES:
            get_count, set_count = getattr(library, get_name, None), getattr(library, set_name, None)
            if get_count is not None and set_count is not None:
                set_count.argtypes, set_count.restype = [ctypes.c_int], None
                found.append((get_count, set_count))
                break
    return tuple(found)


def _openblas_files() -> list[str]:
    """Return the files of OpenBLAS that this process has loaded; none where Linux does not say which."""
    try:
        maps = Path(_MAPS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    paths = {line.split(maxsplit=5)[-1].strip() for line in maps.splitlines() if "openblas" in line}
    return sorted(path for path in paths if path.startswith("/"))
