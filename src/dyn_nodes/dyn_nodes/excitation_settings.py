# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `identification` about the exciting motion that it computes."""

from __future__ import annotations

from rclpy.node import Node

from dyn_core import DynError
from dyn_core.excitation.excitation_settings import ForbiddenBox
from dyn_core.excitation.settings import MOST_HARMONICS, MOST_PERIODS, MOST_WORK, ExcitationSettings
from dyn_nodes.common.parameters import PART, declare
from dyn_nodes.parameter_lists import declare_whole


def declared_excitation(node: Node, boxes: tuple[ForbiddenBox, ...]) -> ExcitationSettings:
    """Declare the parameters and answer their values; DynError where one will not do.

    Args:
        node: the node.
        boxes: where the robot must not be.
    """
    usual = ExcitationSettings()

    def declared(name: str, description: str, within: tuple[float, float]) -> float:
        value: float = declare(node, f"excitation.{name}", getattr(usual, name), description, within=within)
        return value

    def whole(name: str, description: str, within: tuple[int, int]) -> int:
        return declare_whole(node, f"excitation.{name}", getattr(usual, name), description, within)

    part = "Part of the {} limits that the exciting motion uses."
    try:
        return ExcitationSettings(
            duration=declared(
                "duration", "Duration of the exciting motion that is computed, s.", (1.0, 3600.0)
            ),
            blend=declared(
                "blend", "Time in which it comes up from rest, and goes down to it, s.", (0.1, 60.0)
            ),
            periods=whole("periods", "How often its series is repeated.", (1, MOST_PERIODS)),
            harmonics=whole("harmonics", "Number of sines for each joint.", (1, MOST_HARMONICS)),
            position_scale=declared("position_scale", part.format("position"), PART),
            velocity_scale=declared("velocity_scale", part.format("velocity"), PART),
            acceleration_scale=declared("acceleration_scale", part.format("acceleration"), PART),
            effort_scale=declared("effort_scale", part.format("effort"), PART),
            boxes=boxes,
            seed=whole("seed", "Of the random numbers that the search begins with.", (0, 2**31 - 1)),
            iterations=whole("iterations", "Steps of the search.", (1, MOST_WORK)),
        )
    except ValueError as problem:
        raise DynError(f"parameters excitation: {problem}") from problem
