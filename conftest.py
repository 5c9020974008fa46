# SPDX-License-Identifier: Apache-2.0
"""What all tests share: a limit against hangs, a cache of compiled models, one thread for linear algebra."""

from __future__ import annotations

import faulthandler
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_HANGS_AFTER_S, _EXHAUSTIVE_HANGS_AFTER_S = 1800.0, 6 * 3600.0
"""No test takes so long, on any machine: after it the process ends with the stacks of its threads.

pytest-xdist then says which test that was, and goes on with the others.
"""
# Several tests run at the same time. Threads of OpenBLAS that wait for each other in a busy loop would double
# the processor time. NumPy reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A run by nohup, or in the background of a script, ignores these, and so would all processes of the tests.
for _number, _usual in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

_TERMINAL = pytest.StashKey[int]()
_COMPILED = Path(__file__).parent / "build" / "test-cache"
_MOST_BYTES = 10**9


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled models from one run to the next, and the terminal for what hangs.

    The exhaustive run (`pytest -m ""`) tries all examples and uses optimised C. Otherwise it is compiled
    without optimisation: values are the same to within rounding, and the compiler takes half the time.
    """
    os.environ.setdefault("DYN_CACHE_DIR", str(_COMPILED))
    if config.option.markexpr == "not exhaustive":
        os.environ.setdefault("DYN_CFLAGS", "-O0")
    else:
        os.environ.setdefault("DYN_EXAMPLES", "1")
    # Models of random robots pile up. The processes of pytest-xdist begin after this one.
    is_first = not hasattr(config, "workerinput")
    if is_first and sum(path.stat().st_size for path in _COMPILED.glob("*")) > _MOST_BYTES:
        shutil.rmtree(_COMPILED)
    config.stash[_TERMINAL] = os.dup(sys.__stderr__.fileno())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Watch over a test."""
    limit = _EXHAUSTIVE_HANGS_AFTER_S if item.get_closest_marker("exhaustive") else _HANGS_AFTER_S
    faulthandler.dump_traceback_later(limit, exit=True, file=item.config.stash[_TERMINAL])
    yield
    faulthandler.cancel_dump_traceback_later()
