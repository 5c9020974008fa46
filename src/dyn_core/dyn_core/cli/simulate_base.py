# SPDX-License-Identifier: Apache-2.0
"""``dyn simulate`` of a robot on a moving base."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from dyn_core.cli.answer import Answer
from dyn_core.cli.base_options import base_vector
from dyn_core.cli.options import joint_vector
from dyn_core.cli.simulation_file import write_simulation
from dyn_core.cli.simulation_options import (
    efforts_of,
    sensors_of,
    step_of,
    steps_of,
    with_options,
)
from dyn_core.cli.simulation_progress import FASTER, WEAKER, Progress, Watch, times_taken
from dyn_core.core.errors import DynError
from dyn_core.model.base_kind import BaseKind
from dyn_core.robot.moving_base import moving_base
from dyn_core.robot.robot import Robot
from dyn_core.simulation.moving_base_settings import MovingBaseSettings
from dyn_core.simulation.moving_base_simulator import MovingBaseSimulator
from dyn_core.simulation.moving_run import moving_run
from dyn_core.simulation.moving_states_csv import MovingLines, column_names_of, moving_header
from dyn_core.simulation.simulated_state import Sensors

_INTEGRATOR = "rk4"


def simulated_on_base(robot: Robot, kind: BaseKind, arguments: Namespace) -> Answer:
    """Simulate, write the states to a file, and answer a summary if one was asked for."""
    _check_options(robot, kind, arguments)
    robot = with_options(robot, arguments)
    base = moving_base(robot, kind)
    table = efforts_of(arguments, base.robot, column_names_of(base, "F"))
    if arguments.F is not None and table.forces is not None:
        raise DynError(f"--F and '{arguments.effort}' both have forces on the base: leave one of them out")
    simulator = MovingBaseSimulator(
        robot,
        kind,
        MovingBaseSettings(
            step=step_of(arguments, MovingBaseSettings.step),
            substeps=arguments.substeps,
            friction=arguments.friction,
            rotor_inertia=arguments.rotor_inertia,
            effort_limits=arguments.effort_limits,
        ),
        base_vector(base, "pose", arguments),
        base_vector(base, "V", arguments),
        *(joint_vector(f"--{name}", getattr(arguments, name), base.robot.dof) for name in ("q", "qd")),
    )
    simulator.set_force(base_vector(base, "F", arguments))
    sensors = Sensors(base.robot, sensors_of(arguments))
    steps = steps_of(arguments, table, simulator.settings.step)
    watch = Watch(
        {
            FASTER: lambda: simulator.too_fast,
            WEAKER: lambda: simulator.at_effort_limit,
            "is beyond a limit of its positions, at which nothing stops it": lambda: simulator.beyond_limits,
        }
    )
    took = write_simulation(
        arguments,
        moving_header(simulator.base),
        MovingLines(simulator.base).line,
        moving_run(simulator, table, sensors, steps),
        lambda: simulator.state.time,
        watch,
        Progress(steps, simulator.settings.step),
    )
    return Answer(json.dumps(_summary(simulator, steps, took), indent=2) if arguments.json else "")


def _check_options(robot: Robot, kind: BaseKind, arguments: Namespace) -> None:
    """Refuse what a simulation on a moving base does not have."""
    if kind == "given":
        raise DynError(
            f"robot '{robot.name}': a base whose motion is given is not simulated: give --base free or planar"
        )
    if arguments.integrator not in ("auto", _INTEGRATOR):
        raise DynError(
            f"--integrator {arguments.integrator} is for a base that stands still: on a moving base motions "
            f"are computed by {_INTEGRATOR}, leave it out"
        )
    if arguments.position_limits:
        raise DynError(
            "--position-limits is for a base that stands still: on a moving base joints have no stops, "
            "leave it out"
        )


def _summary(simulator: MovingBaseSimulator, steps: int, took: float) -> dict[str, Any]:
    settings, state, base = simulator.settings, simulator.state, simulator.base
    return {
        "robot": base.name,
        "base": {"kind": base.kind, "link": base.link.name},
        "integrator": _INTEGRATOR,
        **times_taken(settings.step, settings.substeps, steps, took),
        "pose": state.pose.tolist(),
        "V": state.V.tolist(),
        "joint_names": simulator.joint_names,
        "position": state.q.tolist(),
        "velocity": state.qd.tolist(),
    }
