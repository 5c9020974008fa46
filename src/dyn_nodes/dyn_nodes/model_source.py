# SPDX-License-Identifier: Apache-2.0
"""A robot description and all that a node derives from it, as one value that is replaced whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import dyn_core
from dyn_core.geometry.build_elastic import without_springs
from dyn_nodes.caught_warnings import caught_warnings
from dyn_nodes.robot_source import DescribedRobot


@dataclass(frozen=True)
class LoadedModel:
    """The model in use. A reload makes another one; the parts of two are never mixed.

    Attributes:
        robot: the robot, of one with springs behind motors the links alone, as if their joints were rigid.
        model: its compiled dynamics, with the motors and springs.
        effort_limit: largest effort of each joint (N m or N), infinite where it is unknown, shape (n,).
        warnings: what is suspicious about the description, one sentence each.
        coulomb_velocity: of each joint, over which Coulomb friction changes its sign (rad/s or m/s), as a
            file of dynamic parameters says it; else 0, shape (n,).
    """

    robot: dyn_core.Robot
    model: dyn_core.Model
    effort_limit: NDArray[np.float64]
    warnings: tuple[str, ...]
    coulomb_velocity: NDArray[np.float64]


def compiled(described: DescribedRobot, parameters: Literal["baked", "runtime"] = "baked") -> LoadedModel:
    """Compile the dynamics of a robot; "runtime" is for dynamic parameters that are to change."""
    robot = without_springs(described.robot)
    if not robot.dof:
        raise dyn_core.DynError(
            f"robot '{robot.name}' has no joint that moves: there is no torque to compute"
        )
    efforts = (robot.limits[name].effort for name in robot.coordinate_names)
    limits = np.array([np.inf if effort is None else effort for effort in efforts])
    # Detours would keep torques waiting.
    model = dyn_core.compile_model(described.robot, parameters, detours=False)
    velocities = np.array([described.coulomb_velocity.get(name, 0.0) for name in robot.coordinate_names])
    return LoadedModel(robot, model, limits, described.warnings, velocities)


def load(source: str, gravity: Sequence[float]) -> LoadedModel:
    """Load a robot from URDF text or a file, with the gravity in its root link (m/s^2)."""
    with caught_warnings() as caught:
        robot = dyn_core.load_robot(source, gravity=gravity)
    return compiled(DescribedRobot(robot, None, tuple(str(w.message) for w in caught)))
