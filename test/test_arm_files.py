# SPDX-License-Identifier: Apache-2.0
"""Files for arms in `config/ros2_control`, and pages in `docs/robots`: they fit each other and the nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
import yaml
from long_chain import long_chain
from loose_node import LooseNode, loose_node
from refusals import refused
from robot_files import ROOT

from dyn_nodes.common.drive_profile import read_profile
from dyn_nodes.common.parameter_file import effort_controller
from dyn_nodes.feedforward.node import Feedforward

FILES, PAGES = ROOT / "config" / "ros2_control", ROOT / "docs" / "robots"
ARMS = {"ur": ["effort_trajectory_controller"], "kuka_lbr": ["effort_controller"]}
ARMS["franka"] = ["effort_controller", "effort_trajectory_controller"]
BENT = [0.3, -0.8, 1.2, -0.9, 0.7, 1.1, 0.4]


def trial(arm: str) -> dict[str, Any]:
    """Return the parameters for the first trial."""
    given: dict[str, Any] = yaml.safe_load((FILES / f"{arm}_trial.yaml").read_text())
    return dict(given["/**/feedforward"]["ros__parameters"])


@pytest.fixture
def nodes(ros_environment: dict[str, str]) -> Iterator[ExitStack]:
    with ExitStack() as nodes:
        yield nodes


def at_rest(nodes: ExitStack, names: list[str], **parameters: Any) -> LooseNode:
    """Return a node after a second of joint states; its robot has a gripper, which never reports."""
    every = [*names, "finger"]
    text = re.sub(
        r'joint name="joint_(\d+)"', lambda k: f'joint name="{every[int(k[1])]}"', long_chain(len(every))
    )
    node = nodes.enter_context(loose_node(Feedforward, robot_description=text, **parameters))
    for _ in range(100):
        node.measure(BENT[: len(names)], [0.0] * len(names), names)
        node.pass_time(0.01)
    return node


@pytest.mark.promise("gravity-left-out")
@pytest.mark.parametrize("arm", ARMS)
def test_the_first_trial_sends_nothing_at_rest(arm: str, nodes: ExitStack) -> None:
    """The drive carries the arm. The same node without the file shows the weight, as `gravity_check` does."""
    given = trial(arm)
    node = at_rest(nodes, given["command_joints"], **given)
    commands = [list(message.data) for message in node.published["commands"]]
    assert len(commands) >= 99
    assert np.abs(commands).max() < 0.05
    assert len(commands[-1]) == len(given["command_joints"])
    assert not node.told.codes
    check = at_rest(nodes, given["command_joints"], joints=given["joints"])
    assert np.abs(check.published["torques"][-1].total).max() > 10.0


@pytest.mark.parametrize(("arm", "name"), [(arm, name) for arm, names in ARMS.items() for name in names])
def test_the_trial_commands_the_joints_of_each_controller(arm: str, name: str) -> None:
    controller = effort_controller(str(FILES / f"{arm}_controllers.yaml"), name)
    assert list(controller.joints) == trial(arm)["command_joints"] == trial(arm)["joints"]
    assert controller.takes_trajectories is ("trajectory" in name)
    profile = read_profile(trial(arm)["profile"])
    assert profile.takes_torque
    if controller.takes_trajectories:
        assert 0.0 < trial(arm)["effort_period"] <= 0.02
    else:
        assert profile.commands_topic == f"/{name}/commands"


def test_a_controller_that_the_file_lacks_is_refused_with_those_that_it_has() -> None:
    with refused("controller-unknown", controller="my", known=["effort_controller"]):
        effort_controller(str(FILES / "kuka_lbr_controllers.yaml"), "my")


def test_a_type_may_stand_with_the_controller_or_with_the_manager(tmp_path: Any) -> None:
    file = tmp_path / "controllers.yaml"
    own = "  type: {}\n  interface_name: effort\n  joints: [a]\n"
    kinds = ("forward_command_controller/ForwardCommandController", "my/Controller")
    for kind, other in (kinds, kinds[::-1]):
        lines = "".join(f"  {line}\n" for line in own.format(other).splitlines())
        manager = f"controller_manager:\n  ros__parameters:\n    c:\n      type: {kind}\n"
        file.write_text(f"{manager}c:\n  ros__parameters:\n{lines}")
        if kind == kinds[0]:
            assert effort_controller(str(file), "c").joints == ("a",)
        else:
            with refused("controller-type-unsupported", given=kind):
                effort_controller(str(file), "c")


@pytest.mark.parametrize("arm", ["ur", "franka", "kuka_lbr", "kinova", "generic_ros2_control"])
def test_a_page_names_files_profiles_and_joints_that_exist(arm: str) -> None:
    text = (PAGES / f"{arm}.md").read_text()
    for file in re.findall(r"\$S/(\w+\.yaml)", text):
        assert (FILES / file).is_file(), file
    for name in re.findall(r"profile:=(\w+)", text):
        read_profile(name)
    for parameter in re.findall(r"ros2 param get /feedforward (\w+)", text):
        assert f" {parameter}:" in (ROOT / "config" / "feedforward.yaml").read_text()
    launch = "".join(path.read_text() for path in (ROOT / "launch").glob("*.py"))
    launch += (ROOT / "src" / "dyn_nodes" / "dyn_nodes" / "launch_description.py").read_text()
    for line in re.findall(r"ros2 launch dyn_nodes (?:.*\\\n)*.*", text):
        for argument in re.findall(r" (\w+):=", line):
            assert f'"{argument}"' in launch, argument
    if arm in ARMS:
        assert set(re.findall(r"controller:=(\w+)", text)) <= set(ARMS[arm])
        (listed,) = set(re.findall(r"joint_names: \[([\w,\s]*)\]", text)) or {", ".join(trial(arm)["joints"])}
        assert re.split(r",\s*", listed) == trial(arm)["joints"]
