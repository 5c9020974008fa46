# SPDX-License-Identifier: Apache-2.0
"""Declaration of parameters that are lists of names, which may be empty, and of whole numbers."""

from __future__ import annotations

from rcl_interfaces.msg import IntegerRange, ParameterDescriptor
from rclpy.node import Node

from dyn_nodes.common.parameters import declare_described

_NO_NAMES = [""]
"""An empty list has no type that ROS could tell, and a parameter without a value hides those of its node."""


def declare_names(node: Node, name: str, description: str) -> tuple[str, ...]:
    """Declare a read-only list of names, by default the one of an empty name, and answer it; () for that."""
    descriptor = ParameterDescriptor(description=description, read_only=True)
    names = declare_described(node, name, _NO_NAMES, descriptor)
    return () if list(names) == _NO_NAMES else tuple(names)


def declare_whole(node: Node, name: str, default: int, description: str, within: tuple[int, int]) -> int:
    """Declare a read-only whole number, and answer it; `within` is its closed range."""
    span = IntegerRange(from_value=within[0], to_value=within[1], step=1)
    descriptor = ParameterDescriptor(description=description, integer_range=[span], read_only=True)
    return int(declare_described(node, name, default, descriptor))
