# SPDX-License-Identifier: Apache-2.0
"""The main function of every node: start, spin, and end in one sentence and an exit code."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.utilities import ok, try_shutdown

from dyn_core import DynError

try:
    from rclpy._rclpy_pybind11 import RCLError
except ImportError:  # not public: where it moved, only the wording of a bad `--ros-args` suffers
    RCLError = RuntimeError

_ENDING = (signal.SIGINT, signal.SIGTERM)


def run(make_node: Callable[[], LifecycleNode], name: str, arguments: list[str] | None = None) -> int:
    """Spin the node until SIGINT or SIGTERM; answer 0, or 1 when it could not be started."""
    # rclpy's own handlers end the context, and then call these: a second signal, such as launch sends
    # after the terminal's Ctrl-C, finds nothing left to interrupt.
    for number in _ENDING:
        signal.signal(number, lambda *_: None)
    try:
        rclpy.init(args=arguments)
    except RCLError as error:
        first_line = str(error).splitlines()[0]
        print(f"{name}: the arguments after --ros-args cannot be used: {first_line}", file=sys.stderr)
        return 1
    try:
        node = make_node()
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        executor.spin()
    except ExternalShutdownException:
        pass
    except RCLError:
        # What a callback was about to publish when the context ended.
        if ok():
            raise
    except (DynError, ParameterException) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    finally:
        try_shutdown()
        for number in _ENDING:
            # Python gives signals with a handler back to the system while it exits, ignored ones not.
            signal.signal(number, signal.SIG_IGN)
    return 0
