# SPDX-License-Identifier: Apache-2.0
"""Which torques a controller of ros2_control takes, as its file of parameters says."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyn_core import DynError
from dyn_nodes import robots
from dyn_nodes.common.parameter_file import EffortController, effort_controller

FORWARD = "forward_command_controller/ForwardCommandController"
GROUP = "effort_controllers/JointGroupEffortController"
TRAJECTORY = "joint_trajectory_controller/JointTrajectoryController"


def written(directory: Path, kind: str, parameters: str, manager: str = "controller_manager") -> str:
    """A file with a controller `own` of some type."""
    file = directory / "controllers.yaml"
    file.write_text(
        f"{manager}: {{ros__parameters: {{update_rate: 100, own: {{type: {kind}}}, other: {{type: x/Y}}}}}}\n"
        f"{manager.replace('controller_manager', 'own')}: {{ros__parameters: {{{parameters}}}}}\n"
    )
    return str(file)


@pytest.mark.parametrize(
    "manager", ["controller_manager", "/**/controller_manager", "/left/controller_manager"]
)
def test_the_order_of_the_joints_is_that_of_the_controller(manager: str, tmp_path: Path) -> None:
    file = written(tmp_path, FORWARD, "joints: [b, a], interface_name: effort", manager)
    assert effort_controller(file, "own") == EffortController("own", ("b", "a"), takes_trajectories=False)


def test_controllers_of_groups_and_of_trajectories(tmp_path: Path) -> None:
    file = written(tmp_path, GROUP, "joints: [a]")
    assert effort_controller(file, "own") == EffortController("own", ("a",), takes_trajectories=False)
    file = written(tmp_path, TRAJECTORY, "joints: [a, b], command_interfaces: [position, effort]")
    assert effort_controller(file, "own") == EffortController("own", ("a", "b"), takes_trajectories=True)


def test_the_file_of_the_example_is_for_its_robot() -> None:
    file = robots.directory().parent / "ros2_control" / "rx90_controllers.yaml"
    names = tuple(f"joint_{j}" for j in range(1, 7))
    for name in ("effort_controller", "group_effort_controller", "joint_trajectory_controller"):
        found = effort_controller(str(file), name)
        assert found.joints == names
        assert found.takes_trajectories == (name == "joint_trajectory_controller")


MISTAKES = {
    "torques as positions": (
        FORWARD,
        "joints: [a], interface_name: position",
        "controller 'own' commands 'position', and torques are for the interface 'effort'",
    ),
    "no interface": (FORWARD, "joints: [a]", "controller 'own' has no parameter 'interface_name'"),
    "trajectories without efforts": (
        TRAJECTORY,
        "joints: [a], command_interfaces: [position, velocity]",
        "controller 'own' commands 'position', 'velocity', and torques are for",
    ),
    "no joints": (GROUP, "other: 1", "controller 'own' has no parameter 'joints'"),
    "an empty list": (GROUP, "joints: []", "controller 'own' has no joints"),
    "no list": (GROUP, "joints: a", "controller 'own', joints .line 2.: it must be a list"),
    "broadcaster": (
        "joint_state_broadcaster/JointStateBroadcaster",
        "joints: [a]",
        "controller 'own' is a joint_state_broadcaster/JointStateBroadcaster, which takes no torques",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_what_takes_no_torques(case: str, tmp_path: Path) -> None:
    kind, parameters, sentence = MISTAKES[case]
    file = written(tmp_path, kind, parameters)
    with pytest.raises(DynError, match=sentence) as caught:
        effort_controller(file, "own")
    assert str(caught.value).startswith(file)


def test_what_is_not_in_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, GROUP, "joints: [a]")
    with pytest.raises(
        DynError, match="controller_manager has no controller 'my': choose one of 'own', 'other'"
    ):
        effort_controller(file, "my")
    with pytest.raises(DynError, match="there are no parameters of controller 'other', only of"):
        effort_controller(file, "other")
    (tmp_path / "controllers.yaml").write_text("own: {ros__parameters: {joints: [a]}}")
    with pytest.raises(DynError, match="there are no parameters of controller_manager, only of 'own'"):
        effort_controller(file, "own")
    with pytest.raises(DynError, match=r"/no/such.yaml"):
        effort_controller("/no/such.yaml", "own")
