# SPDX-License-Identifier: Apache-2.0
"""The main function of every node: start, spin, and end in one sentence and an exit code."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

import numpy as np
import rclpy
from rclpy.exceptions import ParameterException
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.utilities import remove_ros_args, try_shutdown

from dyn_core import DynError
from dyn_nodes.common.data_checks import one_line
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.executor import make_executor, spin_until
from dyn_nodes.rcl_error import RCLError

_ENDING = (signal.SIGINT, signal.SIGTERM)
_PATIENCE_S = 1.5
_PARAMETERS = """Parameters and remappings:
    {name} --ros-args --params-file FILE -p NAME:=VALUE -r FROM:=TO
    config/{name}.yaml has all parameters with their defaults; `ros2 param describe` tells what they mean."""


def run(make_node: Callable[[], ManagedNode], name: str, arguments: list[str] | None = None) -> int:
    """Spin the node until SIGINT or SIGTERM; answer 0, or 1 when it could not be started.

    With `--help` only tell what it is.

    Args:
        make_node: makes it; the class of the node, whose module says what it does.
        name: of the program, for sentences.
        arguments: given to it; None for those of the process.
    """
    given = sys.argv if arguments is None else [name, *arguments]
    if {"-h", "--help"} & set(given):
        print(f"{sys.modules[make_node.__module__].__doc__}\n{_PARAMETERS.format(name=name)}")
        return 0

    def make_nodes() -> list[ManagedNode]:
        if unknown := remove_ros_args(given)[1:]:
            raise DynError(f"unknown argument '{unknown[0]}': parameters go after --ros-args")
        return [make_node()]

    return run_together(make_nodes, name, arguments)


def run_together(
    make_nodes: Callable[[], Sequence[ManagedNode]], name: str, arguments: list[str] | None = None
) -> int:
    """Spin nodes in one process until SIGINT or SIGTERM; answer 0, or 1 when one could not be started.

    Args:
        make_nodes: makes them, within a context of ROS.
        name: of the program, for sentences.
        arguments: arguments of ROS, for all nodes; None for those of the program.
    """
    try:
        # rclpy's own handlers end the context: the node could not send its last messages any more.
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    except RCLError as error:
        first_line = str(error).splitlines()[0]
        print(
            f"{name}: ROS 2 cannot be started with these arguments and environment: {first_line}",
            file=sys.stderr,
        )
        return 1
    try:
        with _ending_signal(name) as ended:
            # What is not finite is looked for, and told in a sentence.
            np.seterr(all="ignore")
            nodes = make_nodes()
            executor = make_executor()
            for node in nodes:
                executor.add_node(node)
            # All this stays: to look through it for garbage, again and again, would take 10 ms each time.
            gc.collect()
            gc.freeze()
            spin_until(executor, ended)
            for node in nodes:
                node.end()
            try_shutdown()
    except (DynError, ParameterException) as error:
        print(f"{name}: {one_line(str(error))}", file=sys.stderr)
        return 1
    finally:
        try_shutdown()
        for number in _ENDING:
            # Python gives signals with a handler back to the system while it exits, ignored ones not.
            signal.signal(number, signal.SIG_IGN)
    return 0


@contextmanager
def _ending_signal(name: str) -> Iterator[Future]:
    """Answer what is done when SIGINT or SIGTERM has come, also while C++ waits in the main thread.

    What takes longer than `_PATIENCE_S` from then on is left as it is: the process ends. That may also be
    Python itself, which waits at its end for the threads that compile a robot. A second signal, such as
    launch sends after the terminal's Ctrl-C, changes nothing.
    """
    ended, over = Future(), Event()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for number in _ENDING:
        signal.signal(number, lambda *_: None)
    # The handler in C writes there at once; that of Python would wait until C++ comes back.
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def wait() -> None:
        os.read(reader, 1)
        ended.set_result(None)
        if not over.wait(_PATIENCE_S):
            print(f"{name}: ended in the middle of what it was doing", file=sys.stderr, flush=True)
            os._exit(0)

    waiting = Thread(target=wait, daemon=True)
    waiting.start()
    try:
        yield ended
    finally:
        signal.set_wakeup_fd(before)
        if not ended.done():
            over.set()
            os.write(writer, b"\0")
            waiting.join()
        os.close(reader)
        os.close(writer)
