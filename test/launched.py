# SPDX-License-Identifier: Apache-2.0
"""A test's end of a launch file that runs as `ros2 launch` would run it."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

from robot_files import ROOT
from ros_graph import Graph, NodeProcess

LAUNCH_FILES = {path.name.removesuffix(".launch.py"): path for path in (ROOT / "launch").glob("*.launch.py")}

_PROGRAM = """
import os
import sys
os.dup2(2, 1)  # one log of both
from launch import LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource
arguments = [argument.split(":=", 1) for argument in sys.argv[2:]]
service = LaunchService(noninteractive=True)  # as ros2 launch without a terminal
source = AnyLaunchDescriptionSource(sys.argv[1])
service.include_launch_description(IncludeLaunchDescription(source, launch_arguments=arguments))
sys.exit(service.run())
"""


class Launched:
    """A launch file that runs, with the nodes that it has started."""

    def __init__(self, graph: Graph, file: str, *arguments: str | Path) -> None:
        """Start it.

        Args:
            graph: where.
            file: its name, without the ending.
            arguments: as after `ros2 launch`.
        """
        self._graph = graph
        self.launch: NodeProcess = graph.start(
            "-c", _PROGRAM, str(LAUNCH_FILES[file]), *(str(argument) for argument in arguments)
        )

    @property
    def log(self) -> str:
        """What launch and its nodes have written."""
        return self.launch.log

    def process_of(self, node: str) -> int:
        """Wait until a node is started, and answer the identifier of its process."""
        pattern = rf"\[{node}-\d+\]: process started with pid \[(\d+)\]"
        self._graph.wait_for(lambda: re.search(pattern, self.log))
        found = re.search(pattern, self.log)
        assert found is not None
        return int(found[1])

    def interrupt(self) -> float:
        """Send Ctrl-C, wait for the end, and answer how long that took (s)."""
        start = time.monotonic()
        self.launch.process.send_signal(signal.SIGINT)
        assert self.launch.process.wait(20) == 0, self.log
        return time.monotonic() - start

    def ended(self) -> int:
        """Wait until it ends by itself, and answer its exit code."""
        return self.launch.process.wait(60)
