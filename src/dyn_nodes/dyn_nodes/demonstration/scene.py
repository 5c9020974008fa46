# SPDX-License-Identifier: Apache-2.0
"""The parts of a demonstration: the robot, the simulated robot, the motion, and the gains."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import dyn_core
from dyn_core import DynError, Model, Robot, SimulationSettings
from dyn_core.control.laws.pid import ARMATURE_S, armature_of
from dyn_core.control.trajectories.fourier_motion import FourierMotion, rich_motion
from dyn_core.core.text import read_text
from dyn_core.robot.robot_files import find_robot
from dyn_core.simulation.simulated_state import Integrator
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.common.robot_argument import installed_side_file
from dyn_nodes.common.torques.feedback_gains import Feedback, PidGains, feedback
from dyn_nodes.demonstration.request import DemoRequest

STEP_S = 0.001
FREQUENCY_HZ = 5.0
DAMPING = 1.0
PART_OF_SPEED, PART_OF_EFFORT = 0.9, 0.8
"""Parts of the limits that the motion uses."""
_LONGEST_S = 600.0
_RATES_HZ = (50.0, 2000.0)


@dataclass(frozen=True)
class Scene:
    """All data of the nodes and the report."""

    request: DemoRequest  # the request
    path: Path  # the description
    side_file: Path | None  # the side file; None where there is none
    armature: Mapping[str, float]  # rotor inertias that are not described, by joint (kg m^2 or kg)
    side_text: str | None  # side file with these; None where there are none
    robot: Robot  # the robot of the description, with these rotor inertias
    real: Robot  # the simulated robot
    model: Model  # dynamics of the robot of the description
    motion: FourierMotion  # the reference
    feedback: Feedback  # gains of the PD controller, as the node `controller` makes them
    frequency: float  # natural frequency of these gains (Hz)
    integrator: Integrator  # integrator of the simulation
    remarks: tuple[str, ...]  # notes for the user, one sentence each

    @property
    def gains(self) -> PidGains:
        """Parameters of the gains."""
        return _gains(self.request, self.frequency)


def prepared(request: DemoRequest, progress: Callable[[str], None] = lambda _: None) -> Scene:
    """Prepare the scene; DynError where the robot cannot be demonstrated. `progress` gets the stages."""
    if not 1.0 <= request.duration <= _LONGEST_S:
        raise DynError("demonstration-duration-range", duration=request.duration, upper=_LONGEST_S)
    if not _RATES_HZ[0] <= request.rate <= _RATES_HZ[1]:
        raise DynError("demonstration-rate-range", rate=request.rate, lower=_RATES_HZ[0], upper=_RATES_HZ[1])
    path = find_robot(request.robot)
    progress(f"reading {path}")
    side_file = installed_side_file(path) if request.side_file is None else Path(request.side_file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dyn_core.ModelWarning)
        bare = _loaded(request, path, None if side_file is None else str(side_file))
    remarks = [str(warning.message) for warning in caught]
    _check(bare)
    armature, side_text, robot = armature_of(bare, request.armature, {}), None, bare
    if armature:
        side_text = _with_rotor_inertias(side_file, armature)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dyn_core.ModelWarning)
            robot = _loaded(request, path, side_text)
        remarks.append(str(_about(armature, assumed=request.armature < 0.0)))
    progress(f"compiling the dynamics of robot '{robot.name}'")
    model = dyn_core.compile_model(robot, open_rows="error")
    # A robot that cannot be simulated is refused here, before any node is started.
    real = dyn_core.with_model_error(robot, request.model_error, request.seed)
    integrator = _integrator(real, request.rate)
    progress("choosing the motion and the gains")
    motion = rich_motion(model, request.duration, part_of_speed=PART_OF_SPEED, part_of_effort=PART_OF_EFFORT)
    frequency, chosen = _feedback(bare, request)
    if frequency < FREQUENCY_HZ:
        remarks.append(
            f"the gains are for {frequency:.2g} Hz and not {FREQUENCY_HZ:g} Hz, which would not be stable "
            f"enough at {request.rate:g} Hz"
        )
    return Scene(
        request,
        path,
        side_file,
        armature,
        side_text,
        robot,
        real,
        model,
        motion,
        chosen,
        frequency,
        integrator,
        tuple(remarks),
    )


def _loaded(request: DemoRequest, path: Path, side: str | None) -> Robot:
    return dyn_core.load_robot(
        str(path), loops=side, locked_joints=dict(request.locked) or None, joints=request.joints or None
    )


def _with_rotor_inertias(side_file: Path | None, armature: Mapping[str, float]) -> str:
    """Return the text of a side file, with rotor inertias added."""
    # The base loader keeps all scalars as text, as the reader of side files does.
    given = {} if side_file is None else yaml.load(read_text(str(side_file), "YAML", "YAML"), yaml.BaseLoader)
    own = given.get("rotor_inertia") or {}
    added = {name: f"{value:.6g}" for name, value in armature.items()}
    return str(
        yaml.safe_dump({**given, "rotor_inertia": {**own, **added}}, sort_keys=False, allow_unicode=True)
    )


def _about(armature: Mapping[str, float], *, assumed: bool) -> Notice:
    values = {"joints": list(armature), "values": ", ".join(f"{value:.3g}" for value in armature.values())}
    return (
        Notice("armature-assumed", seconds=ARMATURE_S, **values)
        if assumed
        else Notice("armature-given", **values)
    )


def _check(robot: Robot) -> None:
    if not robot.dof:
        raise DynError("robot-without-moving-joint", robot=robot.name, purpose="demonstrate")
    if robot.passive_joint_names and not robot.loops:
        joint = robot.passive_joint_names[0]
        element = f"joint '{joint}'"
        raise DynError("demonstration-joint-passive", joint=joint, robot=robot.name, element=element)


def _integrator(real: Robot, rate: float) -> Integrator:
    """Return the integrator for a robot: the exact one, unless friction is too strong for its steps."""
    settings = SimulationSettings(step=1.0 / rate, substeps=math.ceil(1.0 / (rate * STEP_S)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dyn_core.ModelWarning)
        simulator = dyn_core.Simulator(real, settings)
    return "semi_implicit_euler" if caught else simulator.integrator


def _gains(request: DemoRequest, frequency: float) -> PidGains:
    return PidGains(
        natural_frequency=frequency, damping=DAMPING, armature=request.armature, joint_state_rate=request.rate
    )


def _feedback(robot: Robot, request: DemoRequest) -> tuple[float, Feedback]:
    """Return the natural frequency (Hz) and its gains, reduced where the margin would be too small."""
    try:
        return FREQUENCY_HZ, feedback(robot, _gains(request, FREQUENCY_HZ))
    except DynError as problem:
        remedy: Any = problem.values.get("remedy")
        if problem.code != "gain-margin-low" or remedy.code != "remedy-natural-frequency":
            raise
        frequency: float = remedy.values["frequency"]
        return frequency, feedback(robot, _gains(request, frequency))
