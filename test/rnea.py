# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics by Pinocchio, by joint name, as the reference for torques of nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest
from robot_files import urdf

from dyn_msgs.msg import JointTorques


def frictionless(name: str) -> str:
    return re.sub(r"<dynamics [^>]*/>", "", urdf(name))


class Pinocchio:
    def __init__(self, text: str) -> None:
        self.pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
        self.model = self.pin.buildModelFromXML(text)
        self.data = self.model.createData()
        self.names = list(self.model.names)[1:]

    def torques(
        self, q: Mapping[str, float], qd: Mapping[str, float], qdd: Mapping[str, float]
    ) -> dict[str, float]:
        values = [np.array([v[name] for name in self.names]) for v in (q, qd, qdd)]
        configuration = self.pin.integrate(self.model, self.pin.neutral(self.model), values[0])
        tau = self.pin.rnea(self.model, self.data, configuration, *values[1:])
        return dict(zip(self.names, tau.tolist(), strict=True))

    def held(self, q: Mapping[str, float]) -> dict[str, float]:
        still = dict.fromkeys(self.names, 0.0)
        return self.torques(q, still, still)


def by_name(torques: JointTorques, field: str = "total") -> dict[str, float]:
    return dict(zip(torques.name, getattr(torques, field), strict=True))
