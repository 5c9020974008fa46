# SPDX-License-Identifier: Apache-2.0
"""Warnings about robots, which several threads load at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from dyn_core import ModelWarning

_LOCK = Lock()


@contextmanager
def caught_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Answer a list of what is warned of meanwhile, by this thread alone if others use this function too.

    What Python keeps about warnings belongs to the whole process: without a lock, one thread would get the
    warnings of another, and could leave them switched off.
    """
    with _LOCK, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        yield caught
