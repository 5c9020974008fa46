# SPDX-License-Identifier: Apache-2.0
"""YAML files of ROS parameters: the nodes they name, and controllers of ros2_control.

These functions need neither rclpy nor `launch`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dyn_core import DynError
from dyn_core.core.text import read_text
from dyn_core.robot.yaml_text import Entries, Node, entries, items, name, parse_yaml

# Which nodes a YAML file of parameters is for, by the rules of ROS

_PARAMETERS = "ros__parameters"
_WILDCARDS = {"**": "(/[^/]+)*", "*": "/[^/]+"}


def nodes_of_file(file: str) -> dict[str, Mapping[str, Node]]:
    """Return the parameters in a file, by the full names of their nodes, with the wildcards of the file."""
    try:
        tree = parse_yaml(read_text(file, "YAML", "YAML"))
        return dict(_nodes(Entries(entries("the file of parameters", tree)), ""))
    except DynError as problem:
        raise problem if problem.file else problem.in_file(file) from problem


def check_applies(file: str, node: str) -> None:
    """Raise DynError where a file of parameters is only for a node of this name in another namespace.

    ROS would start the node with its defaults, without a warning. `node` is its full name.
    """
    name = node.rpartition("/")[2]
    patterns = list(nodes_of_file(file))
    if any(_matches(pattern, node) for pattern in patterns):
        return
    others = [pattern for pattern in patterns if pattern.rpartition("/")[2] == name]
    if others:
        raise DynError("parameters-of-other-nodes", others=others, node=node, base_name=name, file=file)


def _matches(pattern: str, node: str) -> bool:
    parts = (_WILDCARDS.get(part, "/" + re.escape(part)) for part in pattern.strip("/").split("/"))
    return re.fullmatch("".join(parts), node) is not None


def _nodes(tree: Entries, path: str) -> Iterator[tuple[str, Mapping[str, Node]]]:
    if _PARAMETERS in tree.values:
        yield path, entries(f"'{path}'", tree.values[_PARAMETERS])
    for key, below in tree.values.items():
        if key != _PARAMETERS and isinstance(below, Entries):
            yield from _nodes(below, f"{path}/{key.strip('/')}")


# Controllers of ros2_control in a parameter file

_MANAGER = "controller_manager"
_EFFORT = "effort"
_FORWARD = "forward_command_controller/ForwardCommandController"
_GROUP = "effort_controllers/JointGroupEffortController"
_TRAJECTORY = "joint_trajectory_controller/JointTrajectoryController"


@dataclass(frozen=True)
class EffortController:
    """A controller that takes torques."""

    name: str
    joints: tuple[str, ...]  # names of its joints, in the order of its commands
    takes_trajectories: bool  # whether it takes trajectories with efforts, and not arrays of efforts


def effort_controller(file: str, controller: str) -> EffortController:
    """Read a controller of any namespace in a file; DynError if there is none that takes torques."""
    try:
        return _read(nodes_of_file(file), controller)
    except DynError as problem:
        raise problem if problem.file else problem.in_file(file) from problem


def _read(found: Mapping[str, Mapping[str, Node]], controller: str) -> EffortController:
    nodes = {path.rpartition("/")[2]: given for path, given in found.items()}
    types = _types(nodes)
    if controller not in types:
        raise DynError("controller-unknown", manager=_MANAGER, controller=controller, known=types)
    if controller not in nodes:
        raise DynError("controller-parameters-missing", controller=controller, known=nodes)
    owner, given = f"controller '{controller}'", nodes[controller]
    kind = types[controller]
    if kind == _FORWARD:
        commands = [name(f"{owner}, interface_name", _required(owner, given, "interface_name"))]
    elif kind == _TRAJECTORY:
        commands = _names(owner, given, "command_interfaces")
    elif kind == _GROUP:
        commands = [_EFFORT]
    else:
        known = (_FORWARD, _GROUP, _TRAJECTORY)
        raise DynError("controller-type-unsupported", controller=controller, given=kind, known=known)
    if _EFFORT not in commands:
        raise DynError("controller-without-effort", controller=controller, given=commands, interface=_EFFORT)
    joints = tuple(_names(owner, given, "joints"))
    if not joints:
        raise DynError("controller-without-joints", controller=controller)
    return EffortController(controller, joints, takes_trajectories=kind == _TRAJECTORY)


def _types(nodes: Mapping[str, Mapping[str, Node]]) -> dict[str, str]:
    """Return the types of controllers: of their own parameters or of the manager, which count more."""
    of_manager = nodes.get(_MANAGER, {}).items()
    managed = [(key, given.values) for key, given in of_manager if isinstance(given, Entries)]
    types = {
        key: name(f"controller '{key}', type", given["type"])
        for key, given in (*nodes.items(), *managed)
        if "type" in given
    }
    if not types and _MANAGER not in nodes:
        raise DynError("manager-parameters-missing", manager=_MANAGER, known=nodes)
    return types


def _required(owner: str, given: Mapping[str, Node], parameter: str) -> Node:
    if parameter not in given:
        raise DynError("controller-parameter-missing", owner=owner, parameter=parameter)
    return given[parameter]


def _names(owner: str, given: Mapping[str, Node], parameter: str) -> list[str]:
    what = f"{owner}, {parameter}"
    return [name(what, item) for item in items(what, _required(owner, given, parameter))]
