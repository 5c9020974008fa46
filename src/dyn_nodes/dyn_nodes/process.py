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
from rclpy.utilities import ok, remove_ros_args, try_shutdown

from dyn_core import DynError
from dyn_nodes.rcl_error import RCLError

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
        print(
            f"{name}: ROS 2 cannot be started with these arguments and environment: {first_line}",
            file=sys.stderr,
        )
        return 1
    try:
        given = sys.argv if arguments is None else [name, *arguments]
        if unknown := remove_ros_args(given)[1:]:
            raise DynError(f"unknown argument '{unknown[0]}': parameters go after --ros-args")
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
