# SPDX-License-Identifier: Apache-2.0
"""The main function of every node: start, spin, exit code; and the executor."""

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
from rclpy.executors import Executor, ExternalShutdownException, ShutdownException
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.utilities import remove_ros_args, try_shutdown

from dyn_core import DynError
from dyn_core.codegen.c_compiler import end_compilers
from dyn_nodes.common.data_checks import Notice, one_line
from dyn_nodes.common.lifecycle.computation_job import end_jobs
from dyn_nodes.common.lifecycle.managed_node import ManagedNode, RCLError
from dyn_nodes.common.lifecycle.service_thread import FOR_EVER_S, make_executor, nothing

__all__ = ["make_executor"]

_SWITCH_S = 1e-4
"""Longest time for which another thread keeps the interpreter from the executor (s). That of Python, 5 ms, is
five control periods."""

_COLLECTIONS = (700, 10, 1000)
"""Thresholds of the garbage collection. A full one takes 10 ms where a message or a robot has many parts; by
default it comes in the middle of most of these."""


def spin_until(executor: Executor, ended: Future) -> None:
    """Execute callbacks until `ended` is done, which another thread may set."""
    # The events executor only returns after it has executed a task.
    ended.add_done_callback(lambda _: executor.create_task(nothing))
    while not ended.done():
        spin_once(executor, FOR_EVER_S)


def spin_once(executor: Executor, longest: float) -> None:
    """Execute the next callbacks within a time (s), or none.

    rclpy raises here for what it cannot decode, such as text that is not UTF-8, and for responses of
    services that a transition has closed: these are dropped.
    """
    try:
        executor.spin_once(timeout_sec=longest)
    except (ExternalShutdownException, ShutdownException):
        raise
    except Exception as error:
        if not executor.context.ok():
            raise
        for node in executor.get_nodes():
            if isinstance(node, ManagedNode):
                node.drop_undecodable(error)


_ENDING = (signal.SIGINT, signal.SIGTERM)
_PATIENCE_S = 1.5
_PARAMETERS = """Parameters and remappings:
    {name} --ros-args --params-file FILE -p NAME:=VALUE -r FROM:=TO
    config/{name}.yaml has all parameters with their defaults; `ros2 param describe` tells what they mean."""


def run(make_node: Callable[[], ManagedNode], name: str, arguments: list[str] | None = None) -> int:
    """Spin the node until SIGINT or SIGTERM; return 0, or 1 when it could not be started.

    With `--help`, only print the help: the docstring of the module of `make_node`, the class of the node.
    `name` is that of the program; without `arguments`, those of the process are used.
    """
    given = sys.argv if arguments is None else [name, *arguments]
    if {"-h", "--help"} & set(given):
        print(f"{sys.modules[make_node.__module__].__doc__}\n{_PARAMETERS.format(name=name)}")
        return 0

    def make_nodes() -> list[ManagedNode]:
        if unknown := remove_ros_args(given)[1:]:
            raise DynError("node-argument-unknown", given=unknown[0])
        return [make_node()]

    return run_together(make_nodes, name, arguments)


def run_together(
    make_nodes: Callable[[], Sequence[ManagedNode]], name: str, arguments: list[str] | None = None
) -> int:
    """Spin nodes in one process until SIGINT or SIGTERM; return 0, or 1 when one could not be started.

    `make_nodes` is called within a context of ROS with the given arguments.
    """
    try:
        # The handlers of rclpy shut the context down: the node could not send its last messages.
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    except RCLError as error:
        first_line = str(error).splitlines()[0]
        print(f"{name}: {Notice('ros-arguments-unusable', reason=first_line)}", file=sys.stderr)
        return 1
    try:
        with _ending_signal(name) as ended:
            # Values that are not finite are checked and reported by the nodes.
            np.seterr(all="ignore")
            sys.setswitchinterval(_SWITCH_S)
            nodes = make_nodes()
            executor = make_executor()
            for node in nodes:
                executor.add_node(node)
            # These objects stay: a garbage collection over them would take 10 ms each time.
            gc.collect()
            gc.freeze()
            gc.set_threshold(*_COLLECTIONS)
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
            # While Python exits, it restores signals that have a handler, but not ignored ones.
            signal.signal(number, signal.SIG_IGN)
    return 0


@contextmanager
def _ending_signal(name: str) -> Iterator[Future]:
    """Yield a future that is done when SIGINT or SIGTERM has come, also while C++ waits in the main thread.

    The process ends `_PATIENCE_S` later, whatever is unfinished then. This can be Python itself, which waits
    at its end for the threads that compile a robot. A second signal changes nothing; launch sends one after
    the Ctrl-C of the terminal.
    """
    ended, over = Future(), Event()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for number in _ENDING:
        signal.signal(number, lambda *_: None)
    # The handler in C writes to the pipe at once; a Python handler would wait until C++ returns.
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    unfinished = str(Notice("program-ended-unfinished"))

    def wait() -> None:
        os.read(reader, 1)
        ended.set_result(None)
        if not over.wait(_PATIENCE_S):
            print(f"{name}: {unfinished}", file=sys.stderr, flush=True)
            end_compilers()
            end_jobs()
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
