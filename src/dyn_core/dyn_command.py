# SPDX-License-Identifier: Apache-2.0
# PYTHON_ARGCOMPLETE_OK
"""Where the program ``dyn`` begins: Ctrl-C is quiet from here on, also while everything else is imported.

It is outside of the package, for whatever is inside is imported after the package itself.
"""

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130  # as shells say it of SIGINT


def main() -> int:
    """Run the command and return its exit code."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _stop)
    from dyn_core.cli.main import called_command
    from dyn_core.cli.main import main as command

    called_command(sys.argv[1:])
    signal.signal(signal.SIGINT, before)
    try:
        return command()
    except KeyboardInterrupt:
        print("dyn: interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    """End at once: imports turn an exception into another, and at exit Python handles none."""
    os.write(2, b"dyn: interrupted\n")
    os._exit(INTERRUPTED)
