# SPDX-License-Identifier: Apache-2.0
"""What is demonstrated: the robot, the robot as it really is, the motion, and the gains."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dyn_core
from dyn_core import DynError, Model, Robot, SimulationSettings
from dyn_core.control.joint_gains import JointGains, fastest_rate, joint_gains
from dyn_core.control.rich_motion import rich_motion
from dyn_core.control.trajectories.fourier_motion import FourierMotion
from dyn_core.core.arrays import Array
from dyn_core.simulation.settings import Integrator
from dyn_nodes import robots
from dyn_nodes.demonstration.wish import Wish

RATE_HZ = 500.0
"""Joint states, references and torques for each simulated second."""
STEP_S = 0.001
FREQUENCY_HZ = 5.0
DAMPING = 1.0
GREATEST_RATE = 0.4
"""Greatest rate of damping by the gains, as a part of that of the samples: torques come a period late."""
_LONGEST_S = 600.0


@dataclass(frozen=True)
class Scene:
    """All that the nodes and the report have to know.

    Attributes:
        wish: what was asked for.
        path: the description.
        side_file: the side file; None where there is none.
        robot: the robot as it is described.
        real: the robot as it is simulated.
        model: dynamics of the robot as it is described.
        motion: the reference.
        gains: of the PD controllers.
        frequency: natural frequency that they were made for (Hz).
        integrator: of the simulation.
        remarks: what the user should know, one sentence each.
    """

    wish: Wish
    path: Path
    side_file: Path | None
    robot: Robot
    real: Robot
    model: Model
    motion: FourierMotion
    gains: JointGains
    frequency: float
    integrator: Integrator
    remarks: tuple[str, ...]


def prepared(wish: Wish) -> Scene:
    """Make the scene; DynError where the robot cannot be demonstrated."""
    if not 1.0 <= wish.duration <= _LONGEST_S:
        raise DynError(f"the duration is {wish.duration:g} s: give one from 1 to {_LONGEST_S:g} s")
    path = robots.find(wish.robot)
    side_file = _side_file(wish, path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dyn_core.ModelWarning)
        robot = dyn_core.load_robot(str(path), loops=None if side_file is None else str(side_file))
    remarks = [str(warning.message) for warning in caught]
    _check(robot)
    model = dyn_core.compile_model(robot)
    # A robot that cannot be simulated is refused here, before any node is started.
    real = dyn_core.with_model_error(robot, wish.model_error, wish.seed)
    integrator = _integrator(real)
    motion = rich_motion(model, wish.duration)
    q = motion.at_many(np.arange(0.0, wish.duration, 0.02)).q
    frequency, gains = _gains(model, q)
    if frequency < FREQUENCY_HZ:
        remarks.append(
            f"the gains are for {frequency:.2g} Hz and not {FREQUENCY_HZ:g} Hz: the joints act so much on "
            f"one another that more would not be stable at {RATE_HZ:g} Hz"
        )
    return Scene(
        wish, path, side_file, robot, real, model, motion, gains, frequency, integrator, tuple(remarks)
    )


def _side_file(wish: Wish, path: Path) -> Path | None:
    if wish.side_file is not None:
        return Path(wish.side_file)
    return robots.side_file(path)


def _check(robot: Robot) -> None:
    if not robot.dof:
        raise DynError(f"robot '{robot.name}' has no joint that moves: there is nothing to demonstrate")
    if robot.passive_joint_names and not robot.loops:
        raise DynError(
            f"joint '{robot.passive_joint_names[0]}' of robot '{robot.name}' has no actuator, and no "
            "loop that it follows through: the demonstration controls all joints",
            element=f"joint '{robot.passive_joint_names[0]}'",
        )


def _integrator(real: Robot) -> Integrator:
    """Answer the method for a robot: the exact one, unless friction is too strong for its steps."""
    settings = SimulationSettings(step=1.0 / RATE_HZ, substeps=math.ceil(1.0 / (RATE_HZ * STEP_S)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dyn_core.ModelWarning)
        simulator = dyn_core.Simulator(real, settings)
    return "semi_implicit_euler" if caught else simulator.integrator


def _gains(model: Model, q: Array) -> tuple[float, JointGains]:
    """Answer the natural frequency (Hz) and its gains, less where the loop would not be stable."""
    frequency = FREQUENCY_HZ
    gains = joint_gains(model, q, frequency, DAMPING)
    while (rate := fastest_rate(model, q, gains.kd)) > GREATEST_RATE * RATE_HZ:
        frequency *= max(0.5, min(0.95, GREATEST_RATE * RATE_HZ / rate))
        gains = joint_gains(model, q, frequency, DAMPING)
    return frequency, gains
