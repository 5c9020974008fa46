# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `identification` about estimation while the robot does what it does."""

from __future__ import annotations

from dataclasses import dataclass

from rclpy.node import Node

from dyn_nodes.common.parameters import declare


@dataclass(frozen=True)
class OnlineSettings:
    """How parameters are estimated while the robot does what it does.

    Attributes:
        enabled: whether that begins at activation.
        rate: estimates a second (Hz).
        cutoff: of the filter (Hz).
        memory: time after which a sample counts 1/e (s); 0 for all samples alike.
        doubt: greatest deviation of the torques that the parameters make, as a part of them, of estimates
            that have converged.
    """

    enabled: bool = False
    rate: float = 0.5
    cutoff: float = 10.0
    memory: float = 0.0
    doubt: float = 0.02


def declared_online(node: Node) -> OnlineSettings:
    """Declare the parameters and answer their values; DynError where one will not do."""
    usual = OnlineSettings()
    return OnlineSettings(
        enabled=declare(
            node, "online.enabled", usual.enabled, "Whether to estimate parameters from activation on."
        ),
        rate=declare(
            node, "online.rate", usual.rate, "Estimates on ~/parameters a second, Hz.", within=(0.01, 10.0)
        ),
        cutoff=declare(
            node,
            "online.cutoff",
            usual.cutoff,
            "Cutoff of the filter of both sides, Hz.",
            within=(0.1, 1000.0),
        ),
        memory=declare(
            node,
            "online.memory",
            usual.memory,
            "Time after which a sample counts 1/e, s; 0: all samples count alike.",
            within=(0.0, 1e6),
        ),
        doubt=declare(
            node,
            "online.doubt",
            usual.doubt,
            "Greatest deviation of the torques by the parameters, as a part of them, of what has converged.",
            within=(1e-6, 1.0),
        ),
    )
