# SPDX-License-Identifier: Apache-2.0
"""MuJoCo as a peer."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import mujoco
import numpy as np
from calls import Call, State

LEFT_OUT = {"link": ("visual", "collision"), "joint": ("dynamics", "mimic", "limit")}
"""Elements of links and joints that are not compared, or that MuJoCo would simulate in addition."""

COMPILER = {
    "fusestatic": "true",
    "discardvisual": "true",
    "balanceinertia": "false",
    "boundmass": "0",
    "boundinertia": "0",
}


def rigid_bodies(source: str) -> str:
    """Return a URDF, given as text or as the path of its file, with bodies and joints only."""
    text = source if source.lstrip().startswith("<") else Path(source).read_text()
    root = ElementTree.fromstring(text)
    for kind, names in LEFT_OUT.items():
        for element in root.iter(kind):
            for part in [part for part in element if part.tag in names]:
                element.remove(part)
    ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", COMPILER)
    return ElementTree.tostring(root, encoding="unicode")


class MuJoCo:
    """A robot with a fixed base in MuJoCo, without contacts, limits and all other constraints."""

    name = f"MuJoCo {mujoco.__version__}"

    def __init__(self, source: str, joint_names: tuple[str, ...]) -> None:
        """Load a URDF, given as its text or the path of its file."""
        self._model = mujoco.MjModel.from_xml_string(rigid_bodies(source))
        self._model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self._data = mujoco.MjData(self._model)
        self.order = np.array([self._model.joint(name).dofadr[0] for name in joint_names])

    def calls(self, state: State) -> dict[str, Call]:
        """Return the shortest sequences of calls that compute the same quantities as the other libraries.

        The state is written to MuJoCo's own arrays; the other libraries take it as arguments.
        """
        q, v, x = (self._vector(vector) for vector in state)
        model, data = self._model, self._data
        qpos, qvel, qacc, applied, found = data.qpos, data.qvel, data.qacc, data.qfrc_applied, data.qacc
        torques, matrix = np.zeros(model.nv), np.zeros((model.nv, model.nv))

        def inverse() -> np.ndarray:
            qpos[:], qvel[:], qacc[:] = q, v, x
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, 1, torques)
            return torques

        def direct() -> np.ndarray:
            qpos[:], qvel[:], applied[:] = q, v, x
            mujoco.mj_forward(model, data)
            return found

        def inertia() -> np.ndarray:
            qpos[:] = q
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_crb(model, data)
            mujoco.mj_fullM(model, data, matrix)
            return matrix

        return {"inverse dynamics": inverse, "direct dynamics": direct, "inertia matrix": inertia}

    def _vector(self, ours: np.ndarray) -> np.ndarray:
        vector = np.zeros(self._model.nv)
        vector[self.order] = ours
        return vector
