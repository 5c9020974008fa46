# SPDX-License-Identifier: Apache-2.0
# PYTHON_ARGCOMPLETE_OK
"""Where the program ``dyn`` begins: signals end it quietly, also while everything else is imported.

It is outside of the package, because importing a module of the package imports the package first.
"""

import os
import signal
import sys
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BY_SIGNAL = 128
"""Number that shells add to a signal in the exit code of a program that it ended."""


def main() -> int:
    """Run the command and return its exit code."""
    before = {number: signal.getsignal(number) for number in _ENDING}
    ours = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    for number in ours:
        signal.signal(number, _stop)
    from dyn_core.cli.main import called_command
    from dyn_core.cli.main import main as command

    called_command(sys.argv[1:])
    for number in ours:
        signal.signal(number, before[number])
    try:
        return command()
    except KeyboardInterrupt:
        print("dyn: interrupted", file=sys.stderr)
        return _BY_SIGNAL + signal.SIGINT
    finally:
        for number in ours:
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    """End at once: imports turn an exception into another, and at exit Python handles none."""
    how = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    os.write(2, f"dyn: {how}\n".encode())
    os._exit(_BY_SIGNAL + number)
