# SPDX-License-Identifier: Apache-2.0
"""Call main functions in the process of the test; they end before they spin."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from dyn_nodes.common.lifecycle import process


@contextlib.contextmanager
def as_before() -> Iterator[None]:
    """Restore the signal handlers and the floating-point error handling of the process."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with np.errstate():
            yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def exit_code(main: Callable[[list[str]], int], arguments: Sequence[str]) -> int:
    """Call a main function that must not spin a node, and return its exit code."""

    def fail(*_: object) -> None:
        pytest.fail("the node has started")

    with as_before(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "spin_until", fail)
        try:
            return main(list(arguments))
        except SystemExit as end:  # SystemExit of argparse
            return int(end.code or 0)
