# SPDX-License-Identifier: Apache-2.0
"""Make the helper modules importable, use one thread for linear algebra, and enable Ctrl-C."""

import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

# Several tests run at the same time. Threads of OpenBLAS that wait for each other in a busy loop would double
# the processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell starts background jobs with Ctrl-C (SIGINT) ignored, and child processes inherit this. Some tests
# send SIGINT to child processes, so the default handler is restored.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def dyn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> object:
    """Return the command ``dyn`` in this process, with a folder for its files."""
    from commands import Command

    return Command(tmp_path, capsys)


def pytest_configure(config: pytest.Config) -> None:
    """Let the exhaustive run (`pytest -m ""`) try all examples and use optimised C.

    Otherwise it is compiled without optimisation: values are the same to within rounding, and the compiler
    takes half the time.
    """
    if config.option.markexpr == "not exhaustive":
        os.environ.setdefault("DYN_CFLAGS", "-O0")
    else:
        os.environ.setdefault("DYN_EXAMPLES", "1")
