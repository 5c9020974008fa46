# SPDX-License-Identifier: Apache-2.0
"""How fast viscous friction brings a robot to rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.dynamics.inertia_matrix import inertia_matrix
from dyn_core.loops.coordinates import configuration
from dyn_core.robot.robot import Robot
from dyn_core.simulation.integrators.hybrid_dynamics import viscous_friction


def fastest_decay(robot: Robot, q: Sequence[float]) -> tuple[str, float]:
    """Answer the largest rate (1/s) of ``A qdd = -Fv qd`` at positions q, and the joint that it is about.

    Velocities decay as exp(-rate t); rates are the eigenvalues of ``A^-1 Fv``.
    """
    at = configuration(robot, q)
    A: Array = np.array(at.inertia(inertia_matrix(robot, at.q)))
    rates, directions = np.linalg.eig(np.linalg.solve(A, np.array(viscous_friction(robot, at))))
    fastest = int(np.abs(rates).argmax())
    joint = int(np.abs(directions[:, fastest]).argmax())
    return robot.coordinate_names[joint], float(np.abs(rates[fastest]))
