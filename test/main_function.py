# SPDX-License-Identifier: Apache-2.0
"""Main functions that are called in the process of the test, where they end before they spin."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from dyn_nodes.common.lifecycle import process


@contextlib.contextmanager
def as_before() -> Iterator[None]:
    """Give the process of the test its handlers of signals back, and its reaction to what is not finite."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with np.errstate():
            yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def exit_code(main: Callable[[list[str]], int], arguments: Sequence[str]) -> int:
    """Call a main function, which must not come to spin a node, and return its exit code."""

    def fail(*_: object) -> None:
        pytest.fail("the node has started")

    with as_before(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "spin_until", fail)
        try:
            return main(list(arguments))
        except SystemExit as end:  # of argparse
            return int(end.code or 0)
