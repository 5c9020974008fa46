# SPDX-License-Identifier: Apache-2.0
"""Let tests import the helpers beside them, share the processor, and hear Ctrl-C."""

import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

# Tests run at the same time: threads of linear algebra, which wait for each other by turning in circles,
# would take twice the time of the processor.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What a shell runs in the background ignores Ctrl-C, and so do its children, of which tests interrupt some.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def dyn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> object:
    """Return the command ``dyn`` in this process, with a folder for its files."""
    from commands import Command

    return Command(tmp_path, capsys)


def pytest_configure(config: pytest.Config) -> None:
    """Let the exhaustive run (`pytest -m ""`) try all examples, with C as users have it.

    Otherwise it is compiled without optimisation: values are the same to within rounding, and the compiler
    takes half the time.
    """
    if config.option.markexpr == "not exhaustive":
        os.environ.setdefault("DYN_CFLAGS", "-O0")
    else:
        os.environ.setdefault("DYN_EXAMPLES", "1")
