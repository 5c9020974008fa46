# SPDX-License-Identifier: Apache-2.0
"""What a file of controllers of ros2_control says about one of them: what it takes, and of which joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dyn_core import DynError
from dyn_core.core.errors import listed
from dyn_core.io.yaml_values import items, name
from dyn_core.robot.yaml_text import Entries, Node
from dyn_nodes.parameter_file import nodes_of_file

_MANAGER = "controller_manager"
_EFFORT = "effort"
_FORWARD = "forward_command_controller/ForwardCommandController"
_GROUP = "effort_controllers/JointGroupEffortController"
_TRAJECTORY = "joint_trajectory_controller/JointTrajectoryController"


@dataclass(frozen=True)
class EffortController:
    """A controller that takes torques.

    Attributes:
        name: its name.
        joints: names of its joints, in the order in which it takes them.
        takes_trajectories: whether it takes trajectories with efforts, and not arrays of efforts.
    """

    name: str
    joints: tuple[str, ...]
    takes_trajectories: bool


def effort_controller(file: str, controller: str) -> EffortController:
    """Read what is said about a controller; whatever namespace the file gives it.

    Raises:
        DynError: the file cannot be read, or what it says is not a controller that takes torques.
    """
    try:
        return _read(nodes_of_file(file), controller)
    except DynError as problem:
        raise problem if problem.file else problem.in_file(file) from problem


def _read(found: Mapping[str, Mapping[str, Node]], controller: str) -> EffortController:
    nodes = {path.rpartition("/")[2]: given for path, given in found.items()}
    types = _types(nodes)
    if controller not in types:
        raise DynError(f"{_MANAGER} has no controller '{controller}': choose one of {listed(types)}")
    if controller not in nodes:
        raise DynError(f"there are no parameters of controller '{controller}', only of {listed(nodes)}")
    owner, given = f"controller '{controller}'", nodes[controller]
    kind = types[controller]
    if kind == _FORWARD:
        commands = [name(f"{owner}, interface_name", _wanted(owner, given, "interface_name"))]
    elif kind == _TRAJECTORY:
        commands = _names(owner, given, "command_interfaces")
    elif kind == _GROUP:
        commands = [_EFFORT]
    else:
        raise DynError(
            f"{owner} is a {kind}, which takes no torques: use {listed((_FORWARD, _GROUP, _TRAJECTORY))}"
        )
    if _EFFORT not in commands:
        raise DynError(f"{owner} commands {listed(commands)}, and torques are for the interface '{_EFFORT}'")
    joints = tuple(_names(owner, given, "joints"))
    if not joints:
        raise DynError(f"{owner} has no joints")
    return EffortController(controller, joints, takes_trajectories=kind == _TRAJECTORY)


def _types(nodes: Mapping[str, Mapping[str, Node]]) -> dict[str, str]:
    """Answer the types of the controllers that the manager has."""
    if _MANAGER not in nodes:
        raise DynError(f"there are no parameters of {_MANAGER}, only of {listed(nodes)}")
    return {
        key: name(f"controller '{key}', type", given.values["type"])
        for key, given in nodes[_MANAGER].items()
        if isinstance(given, Entries) and "type" in given.values
    }


def _wanted(owner: str, given: Mapping[str, Node], parameter: str) -> Node:
    if parameter not in given:
        raise DynError(f"{owner} has no parameter '{parameter}'")
    return given[parameter]


def _names(owner: str, given: Mapping[str, Node], parameter: str) -> list[str]:
    what = f"{owner}, {parameter}"
    return [name(what, item) for item in items(what, _wanted(owner, given, parameter))]
