# SPDX-License-Identifier: Apache-2.0
"""Gains of the node `controller`, as its parameters give them: for all joints, by joint, by a frequency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dyn_core import DynError, Robot, compile_model
from dyn_core.algorithms.loops.passive_joint_positions import assembled
from dyn_core.control.joint_gains import joint_gains
from dyn_core.core.errors import listed
from dyn_nodes.standing_base import refuse_moving_base

KINDS = ("p", "i", "d")


@dataclass(frozen=True)
class PidGains:
    """Gains ``p``, ``i`` and ``d`` of the controller.

    Attributes:
        general: by kind, for joints without gains of their own.
        by_joint: by kind and joint.
        natural_frequency: of the error (Hz), from which p and d follow where joints have none of their own; 0
            for those of `general`.
        damping: damping ratio of the error.
    """

    general: Mapping[str, float] = field(default_factory=dict)
    by_joint: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    natural_frequency: float = 0.0
    damping: float = 1.0

    def of(self, robot: Robot) -> dict[str, list[float]]:
        """Answer the gains by kind, each in the order of the joints.

        Raises:
            DynError: a joint is named that there is not, or gains are given twice.
        """
        gains = {kind: [self.general.get(kind, 0.0)] * robot.dof for kind in KINDS}
        if self.natural_frequency > 0.0:
            gains |= self._of_frequency(robot)
        for kind, named in self.by_joint.items():
            for joint, value in named.items():
                if joint not in robot.coordinate_names:
                    raise DynError(
                        f"gains are given for joint '{joint}': "
                        f"the joints are {listed(robot.coordinate_names)}",
                        element=f"joint '{joint}'",
                    )
                gains[kind][robot.coordinate_names.index(joint)] = value
        return gains

    @property
    def none(self) -> bool:
        """Whether all gains are zero."""
        values = [*self.general.values(), *(g for named in self.by_joint.values() for g in named.values())]
        return not any(values) and self.natural_frequency == 0.0

    def _of_frequency(self, robot: Robot) -> dict[str, list[float]]:
        """Answer p and d for the inertia that each joint feels with the robot at zero, or assembled."""
        for kind in ("p", "d"):
            if self.general.get(kind, 0.0):
                raise DynError(
                    f"natural_frequency and {kind} are given, and each says what {kind} is: leave one at 0"
                )
        if robot.base != "given":  # of which the joints feel what they feel on one that stands
            refuse_moving_base(robot, "natural_frequency", "give p and d in its place")
        robot = robot.with_fixed_base()
        q = np.array([assembled(robot)]) if robot.loops else np.zeros((1, robot.dof))
        kp, kd, _ = joint_gains(compile_model(robot), q, self.natural_frequency, self.damping)
        return {"p": kp.tolist(), "d": kd.tolist()}
