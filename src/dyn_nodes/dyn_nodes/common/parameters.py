# SPDX-License-Identifier: Apache-2.0
"""Declaration of node parameters with type, range, description and whether they can change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node

from dyn_core import DynError

PART = (0.01, 1.0)
"""Range of parameters that are a part of something."""
_OF_RCLPY = ("use_sim_time", "start_type_description_service", "qos_overrides.")


def declare(
    node: Node,
    name: str,
    default: Any,
    description: str,
    *,
    within: tuple[float, float] | None = None,
    choices: Sequence[str] = (),
) -> Any:
    """Declare a read-only parameter and answer its value.

    Args:
        node: the node.
        name: name of the parameter.
        default: its value where nobody gives one; it has the type of the parameter.
        description: what it is, with its unit.
        within: closed range of a float.
        choices: all values of a text.
    """
    ranges = [FloatingPointRange(from_value=within[0], to_value=within[1])] if within else []
    listed = ", ".join(f"'{choice}'" for choice in choices)
    descriptor = ParameterDescriptor(
        description=description,
        additional_constraints=f"one of {listed}" if choices else "",
        floating_point_range=ranges,
        read_only=True,
    )
    value = declare_described(node, name, default, descriptor)
    if choices and value not in choices:
        raise DynError(f"parameter {name} is '{value}': choose {listed}")
    return value


def declare_described(node: Node, name: str, default: Any, descriptor: ParameterDescriptor) -> Any:
    """Declare a parameter and answer its value."""
    if node.has_parameter(name):
        # Where a node declares by itself what it is given, that is without a description.
        node.undeclare_parameter(name)
    return node.declare_parameter(name, default, descriptor).value


def declare_by_joint(
    node: Node, prefix: str, kinds: Mapping[str, str], *, within: tuple[float, float]
) -> dict[str, dict[str, float]]:
    """Declare what was given as ``<prefix>.<joint>.<kind>``, floats, and answer them by kind and joint.

    The node has to declare by itself what it is given.

    Args:
        node: the node.
        prefix: first part of the names.
        kinds: the possible last parts, each with its description, where ``{joint}`` is the joint.
        within: closed range.
    """
    values: dict[str, dict[str, float]] = {kind: {} for kind in kinds}
    for name in node.get_parameters_by_prefix(prefix):
        joint, _, kind = name.rpartition(".")
        if not joint or kind not in kinds:
            wanted = " or ".join(f"{prefix}.<joint>.{kind}" for kind in kinds)
            raise DynError(f"there is no parameter '{prefix}.{name}': it is {wanted}")
        # A default of 0 gives the type; the value is the one that was given.
        description = kinds[kind].format(joint=joint)
        values[kind][joint] = declare(node, f"{prefix}.{name}", 0.0, description, within=within)
    return values


def ignored_parameters(node: Node) -> list[str]:
    """Names of what was given to a node that declares by itself what it is given, and knows nothing of it."""
    names = node.get_parameters_by_prefix("")
    return sorted(
        name
        for name in names
        if not name.startswith(_OF_RCLPY) and not node.describe_parameter(name).description
    )
