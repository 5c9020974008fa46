# SPDX-License-Identifier: Apache-2.0
"""Each program in `examples` runs, prints the right result, and is short."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
from robot_files import ROBOTS, ROOT
from ros_graph import Graph
from std_msgs.msg import Float64MultiArray

import dyn_core as dyn

EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.py"))
PRINTED = {
    "first_torque.py": r"joint_2:  140\.020 N m, of which  117\.934 N m hold the weight",
    "batch.py": r"10000 samples in .* ms\n(joint_\d: .* N m at most, +\d+% of the limit\n){6}",
    "jacobian_and_placement.py": r"tool at \[0\.363 +0\.071 +1\.1669\] m",
    "payload.py": r"shoulder: 173\.02 N m empty, 204\.55 N m with 3 kg",
    "closed_loops.py": r"10 joints, 3 loops, 4 degrees of freedom\nelbow = -axis_2 \+ axis_3\n",
    "parallel_robot.py": r"length_1: +32\.48 N at a length of 0\.757 m",
    "simulation.py": r"tracking error: 33\.\d\d mrad by PD alone, 0\.\d\d mrad with the model",
    "identification.py": r"expected: 1\.500 kg\n.*, real: 1\.379 kg\n.*, identified: 1\.3[78]\d kg",
    "emitted_cpp.py": r"^14\.8546\d+\n140\.0197\d+\n",
}
"""Output of each program, except for the node."""


@pytest.mark.parametrize("program", PRINTED)
def test_an_example_prints_its_result(
    program: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if program == "emitted_cpp.py" and shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    monkeypatch.chdir(tmp_path)  # from any directory
    runpy.run_path(str(EXAMPLES / program), run_name="__main__")
    printed = capsys.readouterr().out
    assert re.search(PRINTED[program], printed), printed


def test_the_node_holds_a_robot_up(graph: Graph) -> None:
    heard: list[Float64MultiArray] = []
    graph.node.create_subscription(Float64MultiArray, "gravity_compensation/commands", heard.append, 1)
    robot = ROBOTS["rrp"]
    words = ("--ros-args", "-p", f"description_file:={robot}")
    process = graph.start(str(EXAMPLES / "own_node.py"), *words).process
    model = dyn.compile_model(dyn.load_robot(robot))
    position = {"stretch": 0.3, "lift": 0.2, "turn": 0.1}  # in another order than in the model

    def answered() -> bool:
        graph.publish_state(list(position), list(position.values()))
        return bool(heard) or process.poll() is not None

    graph.wait_for(answered)
    expected = model.gravity_torques([position[name] for name in model.joint_names])
    np.testing.assert_allclose(heard[0].data, expected)
    assert abs(expected).max() > 1.0


def test_all_examples_are_short_and_listed() -> None:
    listed = re.findall(r"^\| \[(\w+\.py)\]\(\1\) \|", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == PROGRAMS == sorted([*PRINTED, "own_node.py"])
    for path in (*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.cpp")):
        assert len(path.read_text().splitlines()) <= 40, path.name
