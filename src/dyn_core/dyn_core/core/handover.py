# SPDX-License-Identifier: Apache-2.0
"""Results of slow work that another process has done before.

Tracing and compiling a robot keeps the interpreter busy for seconds. A process that has something else to do
lets another one run the same code first. `handed_over` marks what is slow in that code: the other process
keeps the results (`recorded`), and here they are taken in the same order instead of being computed again
(`replayed`). Results have to be picklable. In any other process the work is just done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_present: ContextVar[Callable[[Callable[[], Any]], Any] | None] = ContextVar("present", default=None)
"""Function by which `handed_over` gets results in this thread; None to compute them."""


def handed_over(compute: Callable[[], T]) -> T:
    """Return what a function computes, or the result that another process has for it."""
    present = _present.get()
    result: T = compute() if present is None else present(compute)
    return result


@contextmanager
def recorded(keep: Callable[[Any], object]) -> Iterator[None]:
    """Let a function take each result of slow work within the block, in order.

    Slow work that is a part of other slow work is not a result of its own.
    """

    def record(compute: Callable[[], Any]) -> Any:
        with _with(None):
            result = compute()
        keep(result)
        return result

    with _with(record):
        yield


@contextmanager
def replayed(results: Iterable[Any]) -> Iterator[None]:
    """Take the results of slow work within the block from another process.

    Raises:
        LookupError: the code within the block has asked for more results, or for fewer.
    """
    left = iter(results)
    end = object()

    def replay(_: Callable[[], Any]) -> Any:
        if (result := next(left, end)) is end:
            raise LookupError("a result of slow work was not handed over")
        return result

    with _with(replay):
        yield
    if next(left, end) is not end:
        raise LookupError("a result of slow work was not asked for")


@contextmanager
def _with(present: Callable[[Callable[[], Any]], Any] | None) -> Iterator[None]:
    token = _present.set(present)
    try:
        yield
    finally:
        _present.reset(token)
