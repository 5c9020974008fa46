# SPDX-License-Identifier: Apache-2.0
"""A small planar five-bar, whose loop does not close everywhere, and its motion by Pinocchio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pinocchio_oracle import Oracle, pin

import dyn_core

PROXIMAL, DISTAL, APART = 0.25, 0.32, 0.2  # Lengths of the links, and between the actuated joints (m)

DOWN, UP = (0.0, 0.0, -9.81), (0.0, 0.0, 9.81)
"""Gravity (m/s^2). The robot stands upright: it falls with DOWN, and swings back to its start with UP."""

LEFT, RIGHT = ({"link": f"{side}_rod", "xyz": [0.0, 0.0, DISTAL]} for side in ("left", "right"))
SIDE: dict[str, Any] = {
    "loops": [{"name": "tip", "type": "revolute", "parent": LEFT, "child": RIGHT, "axis": [0.0, 1.0, 0.0]}],
    "passive": ["left_elbow", "right_elbow"],
    "assembly": {"left": -0.5, "left_elbow": 1.2, "right": 0.5, "right_elbow": -1.2},
}


def urdf(friction=0.0, passive_friction=0.0, damping=0.0, elbow=(-3.0, 3.0), reach=3.0) -> str:
    """Return the URDF, with Coulomb friction (N m), damping of all joints (N m s/rad) and limits (rad).

    The actuated joints have +-`reach`, the left elbow `elbow`, and the right one the same with other signs.
    """

    def arm(side: str, x: float, low: float, high: float) -> str:
        return (
            f'<link name="{side}_arm">{_rod(1.2, PROXIMAL)}</link><link name="{side}_rod">'
            f"{_rod(0.8 if side == 'left' else 0.6, DISTAL)}</link>"
            f'<joint name="{side}" type="revolute"><parent link="base"/><child link="{side}_arm"/>'
            f'<origin xyz="{x} 0 0"/><axis xyz="0 1 0"/>'
            f'<limit lower="{-reach}" upper="{reach}" velocity="20" effort="40"/>'
            f'<dynamics damping="{damping}" friction="{friction}"/></joint>'
            f'<joint name="{side}_elbow" type="revolute"><parent link="{side}_arm"/>'
            f'<child link="{side}_rod"/><origin xyz="0 0 {PROXIMAL}"/><axis xyz="0 1 0"/>'
            f'<limit lower="{low}" upper="{high}" velocity="40" effort="0"/>'
            f'<dynamics damping="{damping}" friction="{passive_friction}"/></joint>'
        )

    left = arm("left", -0.5 * APART, *elbow)
    right = arm("right", 0.5 * APART, -elbow[1], -elbow[0])
    return f'<robot name="small_five_bar"><link name="base"/>{left}{right}</robot>'


def five_bar(gravity: Sequence[float] = DOWN, **options: Any) -> dyn_core.Robot:
    """Return the robot, with options of `urdf`."""
    return dyn_core.load_robot(urdf(**options), loops=SIDE, gravity=gravity)


def _rod(mass: float, length: float) -> str:
    moment = mass * length**2 / 12.0
    return (
        f'<inertial><origin xyz="0 0 {0.5 * length}"/><mass value="{mass}"/>'
        f'<inertia ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="0.0002"/></inertial>'
    )


class Tree(Oracle):
    """The open tree of the five-bar by Pinocchio, with the loop as a constraint on its accelerations."""

    NAMES = ("left", "right", "left_elbow", "right_elbow")

    def __init__(self, text: str, damping: float, gravity: Sequence[float] = DOWN) -> None:
        """Read the URDF; viscous friction is in all joints (N m s/rad)."""
        super().__init__(text, self.NAMES, gravity)
        self._damping, placement = damping, pin.SE3(np.eye(3), np.array([0.0, 0.0, DISTAL]))
        self._tips = [
            self.model.addFrame(pin.Frame(f"{joint}_tip", i, 0, placement, pin.FrameType.OP_FRAME))
            for i, joint in zip(self.ids[2:], self.NAMES[2:], strict=True)
        ]
        self.data = self.model.createData()

    def derivative(self, x: np.ndarray, tau: Sequence[float]) -> np.ndarray:
        """Velocities and accelerations of the four joints; the first two have torques (N m)."""
        args = (self.model, self.data, *self._state(x[:4], x[4:]))
        A = pin.crba(*args[:3])
        A = np.triu(A) + np.triu(A, 1).T
        bias = pin.nonLinearEffects(*args) + self._damping * args[3]
        pin.forwardKinematics(*args, np.zeros(4))
        pin.updateFramePlacements(self.model, self.data)
        axes, plane = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED, [0, 2]
        left, right = (pin.computeFrameJacobian(*args[:3], tip, axes)[plane] for tip in self._tips)
        drift = [pin.getFrameClassicalAcceleration(*args[:2], tip, axes).linear[plane] for tip in self._tips]
        J, applied = left - right, self._velocities([*tau, 0.0, 0.0]) - bias
        whole = np.block([[A, J.T], [J, np.zeros((2, 2))]])
        found = np.linalg.solve(whole, np.concatenate((applied, drift[1] - drift[0])))
        return np.concatenate((x[4:], found[self._idx_v]))
