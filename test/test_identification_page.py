# SPDX-License-Identifier: Apache-2.0
"""The commands of the page on the node `identification` work as they are, with the robot of the README."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from identified import Identified, wait_until_it_stands
from robot_files import ROBOTS, ROOT
from ros_graph import Graph

from dyn_core import load_robot
from dyn_msgs.msg import IdentificationProgress

SHORTER = ("-p", "excitation.duration:=10.0", "-p", "excitation.iterations:=40")
"""What the page has no need to say."""


def nodes() -> list[list[str]]:
    """The nodes that the first example starts, with their arguments."""
    page = (ROOT / "docs" / "identification_node.md").read_text()
    (first, *_) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    words = [shlex.split(line) for line in first.splitlines()]
    return [line[3:] for line in words if line[:3] == ["ros2", "run", "dyn_nodes"]]


def test_the_first_example_identifies_a_robot_with_friction(graph: Graph, tmp_path: Path) -> None:
    """Its wrist has much friction and small inertias, so that gains alone would not hold it on the motion."""
    found = nodes()
    assert [name for name, *_ in found] == ["simulation", "controller", "feedforward", "identification"]
    ours = Identified(graph)
    for name, *arguments in found:
        given = [word.replace("robot.urdf", str(ROBOTS["rx90"])) for word in arguments]
        if name == "identification":
            given = [re.sub("^directory:=.*", f"directory:={tmp_path}", word) for word in (*given, *SHORTER)]
        graph.start("-m", f"dyn_nodes.{name}", *(given or ["--ros-args"]))
    wait_until_it_stands(ours, load_robot(ROBOTS["rx90"]).joint_names, [0.0] * 6)
    asked = ours.identify()
    for stage in (IdentificationProgress.STAGE_MOTION, IdentificationProgress.STAGE_ESTIMATION):
        graph.wait_for(
            lambda stage=stage: asked.is_over or any(f.progress.stage >= stage for f in asked.feedback)
        )
    answer = asked.result()
    assert (answer.success, answer.message) == (True, "")
    # 0.3 % where the machine has nothing else to do, 4 % where nodes wait for it. How good results are, other
    # tests say.
    assert answer.result.validation_error < 0.2
    handed = ours.hand_over()
    assert handed.success, handed.message
