# SPDX-License-Identifier: Apache-2.0
"""Declaration of parameters that are lists, which may be empty, and of whole numbers."""

from __future__ import annotations

from typing import Any

from rcl_interfaces.msg import IntegerRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

from dyn_nodes.parameters import declare_described


def declare_names(node: Node, name: str, description: str) -> tuple[str, ...]:
    """Declare a read-only list of names, by default empty, and answer it."""
    return tuple(_declared(node, name, Parameter.Type.STRING_ARRAY, description) or ())


def declare_numbers(node: Node, name: str, description: str) -> tuple[float, ...]:
    """Declare a read-only list of floats, by default empty, and answer it."""
    return tuple(_declared(node, name, Parameter.Type.DOUBLE_ARRAY, description) or ())


def declare_whole(node: Node, name: str, default: int, description: str, within: tuple[int, int]) -> int:
    """Declare a read-only whole number, and answer it; `within` is its closed range."""
    span = IntegerRange(from_value=within[0], to_value=within[1], step=1)
    descriptor = ParameterDescriptor(description=description, integer_range=[span], read_only=True)
    return int(declare_described(node, name, default, descriptor))


def _declared(node: Node, name: str, kind: Parameter.Type, description: str) -> Any:
    """Declare a list by its type: the type of an empty list could not be told from its value."""
    descriptor = ParameterDescriptor(description=description, read_only=True)
    return declare_described(node, name, kind, descriptor)
