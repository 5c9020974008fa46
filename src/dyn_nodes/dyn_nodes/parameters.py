# SPDX-License-Identifier: Apache-2.0
"""Declaration of node parameters with type, range, description and whether they can change."""

from __future__ import annotations

from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node


def declare(
    node: Node,
    name: str,
    default: Any,
    description: str,
    *,
    within: tuple[float, float] | None = None,
) -> Any:
    """Declare a read-only parameter and answer its value; `within` is the closed range of a float."""
    ranges = [FloatingPointRange(from_value=within[0], to_value=within[1])] if within else []
    descriptor = ParameterDescriptor(description=description, floating_point_range=ranges, read_only=True)
    return node.declare_parameter(name, default, descriptor).value
