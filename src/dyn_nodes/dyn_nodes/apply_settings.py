# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `identification` about how results are handed on."""

from __future__ import annotations

from dataclasses import dataclass

from rclpy.node import Node

from dyn_nodes.common.parameters import declare


@dataclass(frozen=True)
class ApplySettings:
    """How results are handed on.

    Attributes:
        blend_time: how long torques take to the new parameters (s); 0 for what the receiver is configured to.
        impossible: whether results are handed on with which a link is no possible body.
        timeout: longest time that the receiver may take (s).
    """

    blend_time: float = 0.0
    impossible: bool = False
    timeout: float = 5.0


def declared_apply(node: Node) -> ApplySettings:
    """Declare the parameters and answer their values; DynError where one will not do."""
    usual = ApplySettings()
    return ApplySettings(
        blend_time=declare(
            node,
            "apply.blend_time",
            usual.blend_time,
            "Time that torques take to new parameters, s; 0: what the receiver is configured to.",
            within=(0.0, 3600.0),
        ),
        impossible=declare(
            node,
            "apply.impossible",
            usual.impossible,
            "Whether results are handed on with which a link is no possible body.",
        ),
        timeout=declare(
            node,
            "apply.timeout",
            usual.timeout,
            "Longest time that the receiver may take to answer, s.",
            within=(0.1, 60.0),
        ),
    )
