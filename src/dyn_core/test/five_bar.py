# SPDX-License-Identifier: Apache-2.0
"""A small planar five-bar, whose loop does not close everywhere, and its motion by Pinocchio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pinocchio_oracle import pin

import dyn_core

PROXIMAL, DISTAL, APART = 0.25, 0.32, 0.2
"""Lengths of the links, and between the actuated joints (m)."""

DOWN, UP = (0.0, 0.0, -9.81), (0.0, 0.0, 9.81)
"""Gravity (m/s^2); the robot stands up, and where gravity does, too, it comes back to where it was."""

SIDE: dict[str, Any] = {
    "loops": [
        {
            "name": "tip",
            "type": "revolute",
            "parent": {"link": "left_rod", "xyz": [0.0, 0.0, DISTAL]},
            "child": {"link": "right_rod", "xyz": [0.0, 0.0, DISTAL]},
            "axis": [0.0, 1.0, 0.0],
        }
    ],
    "passive": ["left_elbow", "right_elbow"],
    "assembly": {"left": -0.5, "left_elbow": 1.2, "right": 0.5, "right_elbow": -1.2},
}


def urdf(
    friction: float = 0.0,
    passive_friction: float = 0.0,
    damping: float = 0.0,
    elbow: tuple[float, float] = (-3.0, 3.0),
    reach: float = 3.0,
) -> str:
    """Answer the URDF.

    Args:
        friction: Coulomb friction of the actuated joints (N m).
        passive_friction: that of the passive ones.
        damping: viscous friction of all joints (N m s/rad).
        elbow: limits of the left elbow; those of the right one are the same with other signs (rad).
        reach: limit of the actuated joints on both sides (rad).
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
    """Answer the robot, with options of `urdf`."""
    return dyn_core.load_robot(urdf(**options), loops=SIDE, gravity=gravity)


def _rod(mass: float, length: float) -> str:
    moment = mass * length**2 / 12.0
    return (
        f'<inertial><origin xyz="0 0 {0.5 * length}"/><mass value="{mass}"/>'
        f'<inertia ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="0.0002"/></inertial>'
    )


class Tree:
    """The open tree of the five-bar by Pinocchio, with the loop as a constraint on its accelerations."""

    NAMES = ("left", "right", "left_elbow", "right_elbow")

    def __init__(self, text: str, damping: float, gravity: Sequence[float] = DOWN) -> None:
        """Read the URDF; viscous friction is in all joints (N m s/rad)."""
        self._model = pin.buildModelFromXML(text)
        self._model.gravity.linear = np.array(gravity)
        self._places = [self._model.joints[self._model.getJointId(name)].idx_v for name in self.NAMES]
        tips = []
        for side in ("left", "right"):
            joint = self._model.getJointId(f"{side}_elbow")
            placement = pin.SE3(np.eye(3), np.array([0.0, 0.0, DISTAL]))
            tips.append(
                self._model.addFrame(pin.Frame(f"{side}_tip", joint, 0, placement, pin.FrameType.OP_FRAME))
            )
        self._tips = tips
        self._data = self._model.createData()
        self._damping = damping

    def derivative(self, x: np.ndarray, tau: Sequence[float]) -> np.ndarray:
        """Velocities and accelerations of the four joints, whose first two have torques (N m)."""
        q, qd = self._ours(x[:4]), self._ours(x[4:])
        model, data = self._model, self._data
        A = pin.crba(model, data, q)
        A = np.triu(A) + np.triu(A, 1).T
        bias = pin.nonLinearEffects(model, data, q, qd) + self._damping * qd
        pin.forwardKinematics(model, data, q, qd, np.zeros(4))
        pin.updateFramePlacements(model, data)
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        left, right = (pin.computeFrameJacobian(model, data, q, tip, axes)[[0, 2]] for tip in self._tips)
        drift = [
            pin.getFrameClassicalAcceleration(model, data, tip, axes).linear[[0, 2]] for tip in self._tips
        ]
        J, rest = left - right, drift[0] - drift[1]
        applied = self._ours(np.concatenate((tau, np.zeros(2)))) - bias
        whole = np.block([[A, J.T], [J, np.zeros((2, 2))]])
        found = np.linalg.solve(whole, np.concatenate((applied, -rest)))[:4]
        return np.concatenate((x[4:], found[self._places]))

    def energy(self, q: Sequence[float], qd: Sequence[float]) -> float:
        """Kinetic and potential energy (J)."""
        kinetic = pin.computeKineticEnergy(self._model, self._data, self._ours(q), self._ours(qd))
        return float(kinetic + pin.computePotentialEnergy(self._model, self._data, self._ours(q)))

    def _ours(self, values: Sequence[float]) -> np.ndarray:
        vector = np.empty(4)
        vector[self._places] = values
        return vector
