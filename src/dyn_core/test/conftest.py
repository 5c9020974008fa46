# SPDX-License-Identifier: Apache-2.0
"""Make the helper modules importable, and enable Ctrl-C."""

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

# A shell starts background jobs with Ctrl-C (SIGINT) ignored, and child processes inherit this. Some tests
# send SIGINT to child processes, so the default handler is restored.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def dyn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> object:
    """Return the command ``dyn`` in this process, with a folder for its files."""
    from commands import Command

    return Command(tmp_path, capsys)
