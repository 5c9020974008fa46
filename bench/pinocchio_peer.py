# SPDX-License-Identifier: Apache-2.0
"""Pinocchio as a peer."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pinocchio as pin
from calls import Call, State


class Pinocchio:
    """A robot with a fixed base in Pinocchio, called from Python; mimic joints are independent."""

    name = f"Pinocchio {pin.__version__}"

    def __init__(self, source: str, joint_names: tuple[str, ...]) -> None:
        """Load a URDF, given as its text or the path of its file."""
        text = source if source.lstrip().startswith("<") else Path(source).read_text()
        self._model = pin.buildModelFromXML(text)
        self._model.armature[:] = 0.0
        self._data = self._model.createData()
        joints = [self._model.joints[self._model.getJointId(name)] for name in joint_names]
        self.order = np.array([joint.idx_v for joint in joints])

    def calls(self, state: State) -> dict[str, Call]:
        """Return rnea, aba, crba and the regressor."""
        moved, v, x = (self._vector(vector) for vector in state)
        model, data = self._model, self._data
        # A joint without limits has two coordinates, cosine and sine, which this computes.
        q = pin.integrate(model, pin.neutral(model), moved)
        return {
            "inverse dynamics": partial(pin.rnea, model, data, q, v, x),
            "direct dynamics": partial(pin.aba, model, data, q, v, x),
            "inertia matrix": partial(pin.crba, model, data, q),
            "regressor": partial(pin.computeJointTorqueRegressor, model, data, q, v, x),
        }

    def _vector(self, ours: np.ndarray) -> np.ndarray:
        vector = np.zeros(self._model.nv)
        vector[self.order] = ours
        return vector
