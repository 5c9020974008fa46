# SPDX-License-Identifier: Apache-2.0
"""Launch files in a process, as `ros2 launch` runs them."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

from robot_files import ROOT
from ros_graph import GENEROUS_S, Graph, NodeProcess, quick

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
    """A launch file, given by name without ending, with the arguments of `ros2 launch`."""

    def __init__(self, graph: Graph, file: str, *arguments: str | Path) -> None:
        self._graph = graph
        self.launch: NodeProcess = graph.start("-c", _PROGRAM, *map(str, (LAUNCH_FILES[file], *arguments)))

    @property
    def log(self) -> str:
        return self.launch.log

    def process_of(self, node: str) -> int:
        """Wait until a node is started, and return the identifier of its process."""
        pattern = rf"\[{node}-\d+\]: process started with pid \[(\d+)\]"
        self._graph.wait_for(lambda: re.search(pattern, self.log))
        return int(re.findall(pattern, self.log)[0])

    def interrupt(self, within: float) -> None:
        """Send Ctrl-C, and wait for the end within a time (s)."""
        began = time.monotonic()
        self.launch.process.send_signal(signal.SIGINT)
        assert self.launch.process.wait(GENEROUS_S) == 0, self.log
        assert quick(began, within), self.log

    def ended(self) -> int:
        return self.launch.process.wait(GENEROUS_S)
