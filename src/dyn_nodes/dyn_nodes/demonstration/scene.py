# SPDX-License-Identifier: Apache-2.0
"""The parts of a demonstration: the robot, the simulated robot, the motion, and the gains."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dyn_core
from dyn_core import DynError, Model, Robot, SimulationSettings
from dyn_core.control.laws.pid import JointGains, fastest_rate, joint_gains
from dyn_core.control.trajectories.fourier_motion import FourierMotion, rich_motion
from dyn_core.core.arrays import Array
from dyn_core.robot.robot_files import find_robot
from dyn_core.simulation.simulated_state import Integrator
from dyn_nodes.common.robot_argument import installed_side_file
from dyn_nodes.demonstration.request import DemoRequest

RATE_HZ = 500.0
"""Joint states, references and torques for each simulated second."""
STEP_S = 0.001
FREQUENCY_HZ = 5.0
DAMPING = 1.0
GREATEST_RATE = 0.4
"""Greatest rate of damping by the gains, as a fraction of the sample rate: torques come a period late."""
_LONGEST_S = 600.0


@dataclass(frozen=True)
class Scene:
    """All data of the nodes and the report."""

    request: DemoRequest  # the request
    path: Path  # the description
    side_file: Path | None  # the side file; None where there is none
    robot: Robot  # the robot of the description
    real: Robot  # the simulated robot
    model: Model  # dynamics of the robot of the description
    motion: FourierMotion  # the reference
    gains: JointGains  # gains of the PD controllers
    frequency: float  # natural frequency of these gains (Hz)
    integrator: Integrator  # integrator of the simulation
    remarks: tuple[str, ...]  # notes for the user, one sentence each


def prepared(request: DemoRequest, progress: Callable[[str], None] = lambda _: None) -> Scene:
    """Prepare the scene; DynError where the robot cannot be demonstrated. `progress` gets the stages."""
    if not 1.0 <= request.duration <= _LONGEST_S:
        raise DynError("demonstration-duration-range", duration=request.duration, upper=_LONGEST_S)
    path = find_robot(request.robot)
    progress(f"reading {path}")
    side_file = installed_side_file(path) if request.side_file is None else Path(request.side_file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dyn_core.ModelWarning)
        robot = dyn_core.load_robot(str(path), loops=None if side_file is None else str(side_file))
    remarks = [str(warning.message) for warning in caught]
    _check(robot)
    progress(f"compiling the dynamics of robot '{robot.name}'")
    model = dyn_core.compile_model(robot, open_rows="error")
    # A robot that cannot be simulated is refused here, before any node is started.
    real = dyn_core.with_model_error(robot, request.model_error, request.seed)
    integrator = _integrator(real)
    progress("choosing the motion and the gains")
    motion = rich_motion(model, request.duration)
    q = motion.at_many(np.arange(0.0, request.duration, 0.02)).q
    frequency, gains = _gains(model, q)
    if frequency < FREQUENCY_HZ:
        remarks.append(
            f"the gains are for {frequency:.2g} Hz and not {FREQUENCY_HZ:g} Hz: the joints act so much on "
            f"one another that more would not be stable at {RATE_HZ:g} Hz"
        )
    return Scene(
        request, path, side_file, robot, real, model, motion, gains, frequency, integrator, tuple(remarks)
    )


def _check(robot: Robot) -> None:
    if not robot.dof:
        raise DynError("robot-without-moving-joint", robot=robot.name, purpose="demonstrate")
    if robot.passive_joint_names and not robot.loops:
        joint = robot.passive_joint_names[0]
        element = f"joint '{joint}'"
        raise DynError("demonstration-joint-passive", joint=joint, robot=robot.name, element=element)


def _integrator(real: Robot) -> Integrator:
    """Return the integrator for a robot: the exact one, unless friction is too strong for its steps."""
    settings = SimulationSettings(step=1.0 / RATE_HZ, substeps=math.ceil(1.0 / (RATE_HZ * STEP_S)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dyn_core.ModelWarning)
        simulator = dyn_core.Simulator(real, settings)
    return "semi_implicit_euler" if caught else simulator.integrator


def _gains(model: Model, q: Array) -> tuple[float, JointGains]:
    """Return the natural frequency (Hz) and its gains, reduced where the loop would be unstable."""
    frequency = FREQUENCY_HZ
    gains = joint_gains(model, q, frequency, DAMPING)
    while (rate := fastest_rate(model, q, gains.kd)) > GREATEST_RATE * RATE_HZ:
        frequency *= max(0.5, min(0.95, GREATEST_RATE * RATE_HZ / rate))
        gains = joint_gains(model, q, frequency, DAMPING)
    return frequency, gains
