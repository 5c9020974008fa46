# SPDX-License-Identifier: Apache-2.0
"""The parameter `max_age`, which all nodes have that read stamps."""

from __future__ import annotations

from rclpy.node import Node

from dyn_nodes.common.parameters import declare

MAX_AGE_S = 0.1


def declared_max_age(node: Node) -> float:
    """Declare it and answer its value (s)."""
    value: float = declare(
        node,
        "max_age",
        MAX_AGE_S,
        "Messages whose stamp is further from the node's clock than this, s, are not used.",
        within=(0.001, 60.0),
    )
    return value
