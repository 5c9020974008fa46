# SPDX-License-Identifier: Apache-2.0
"""One robot in dyn_core and in Pinocchio, in the same state."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import dyn_core

SAMPLES = 10_000
ROBOTS = {
    "double pendulum": "double_pendulum_description/urdf/double_pendulum.urdf",
    "UR5": "ur_description/urdf/ur5_robot.urdf",
    "Panda": "panda_description/urdf/panda.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "Talos": "talos_data/robots/talos_reduced.urdf",
}


def description(name: str) -> str:
    """Path of the URDF of a robot of example-robot-data."""
    for directory in map(Path, sys.path):
        path = directory / "cmeel.prefix" / "share" / "example-robot-data" / "robots" / ROBOTS[name]
        if path.is_file():
            return str(path)
    raise SystemExit(f"bench: example-robot-data has no {ROBOTS[name]}")


@dataclass(frozen=True)
class Peers:
    """A robot, and random states of it, as both libraries want them."""

    model: dyn_core.Model
    pin_model: Any
    pin_data: Any
    ours: tuple[np.ndarray, np.ndarray, np.ndarray]
    theirs: tuple[np.ndarray, np.ndarray, np.ndarray]

    def sample(self, k: int = 0) -> tuple[np.ndarray, ...]:
        """Our vectors of one state."""
        return tuple(np.ascontiguousarray(vector[k]) for vector in self.ours)

    def their_sample(self, k: int = 0) -> tuple[np.ndarray, ...]:
        """Their vectors of the same state."""
        return tuple(np.ascontiguousarray(vector[k]) for vector in self.theirs)


def peers(name: str) -> Peers:
    """Load a robot twice; the base is fixed, joints that mimic others move freely."""
    path = description(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        robot = dyn_core.load_robot(path, snap=0, mimic=False)
    model = dyn_core.compile_model(robot, friction=False, rotor_inertia=False, backend="c")
    pin_model = pin.buildModelFromUrdf(path)
    pin_model.armature[:] = 0.0
    ours = np.random.default_rng(0).uniform(-1.0, 1.0, (3, SAMPLES, robot.dof))
    theirs = np.zeros((3, SAMPLES, pin_model.nv))
    theirs[:, :, [pin_model.joints[pin_model.getJointId(j)].idx_v for j in robot.joint_names]] = ours
    q = np.array([pin.integrate(pin_model, pin.neutral(pin_model), x) for x in theirs[0]])
    return Peers(model, pin_model, pin_model.createData(), tuple(ours), (q, theirs[1], theirs[2]))
