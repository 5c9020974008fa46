# SPDX-License-Identifier: Apache-2.0
"""``dyn simulate``: the motion that efforts give, faster than in real time."""

from __future__ import annotations

import argparse
import json
from argparse import ArgumentParser, Namespace
from typing import Any

from dyn_core.cli.answer import Answer
from dyn_core.cli.base_options import add_base_vectors, refuse_base_vectors
from dyn_core.cli.options import Once, all_joints, joint_vector
from dyn_core.cli.robot_options import chosen_base, described_robot, standing
from dyn_core.cli.simulate_base import simulated_on_base
from dyn_core.cli.simulation_file import write_simulation
from dyn_core.cli.simulation_options import efforts_of, sensors_of, step_of, steps_of, with_options
from dyn_core.cli.simulation_progress import FASTER, WEAKER, Progress, Watch, times_taken
from dyn_core.core.errors import DynError
from dyn_core.robot.robot import Robot
from dyn_core.simulation.settings import INTEGRATORS, SimulationSettings
from dyn_core.simulation.simulation_run import run
from dyn_core.simulation.simulator import Simulator
from dyn_core.simulation.states_csv import Lines, header

_VECTORS_OF_BASE = ("pose", "V", "F")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command, without those that commands share."""
    settings = SimulationSettings()
    parser.add_argument("--effort", metavar="FILE", help="CSV: time and efforts by joint (default: none)")
    parser.add_argument("-o", "--out", required=True, metavar="FILE", help="CSV of the states to write")
    parser.add_argument("--duration", metavar="S", help="seconds to simulate (default: those of the efforts)")
    parser.add_argument("--step", metavar="S", help=f"seconds between two states (default: {settings.step})")
    parser.add_argument("--integrator", choices=INTEGRATORS, default=settings.integrator)
    parser.add_argument(
        "--substeps",
        type=int,
        default=settings.substeps,
        metavar="N",
        help="integrator's steps for each step",
    )
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="write every N-th state (default: all)"
    )
    for name in ("friction", "rotor-inertia", "effort-limits"):
        parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=True)
    # None, for it to be known whether it was asked for.
    parser.add_argument("--position-limits", action=argparse.BooleanOptionalAction, default=None)
    for option, what, default in (
        ("--q", "positions", "zeros; of loops those of the assembly"),
        ("--qd", "velocities", "zeros"),
    ):
        parser.add_argument(
            option,
            action=Once,
            metavar="X ...",
            help=f"initial {what} in tree order, SI units (default: {default})",
        )
    add_base_vectors(parser, _VECTORS_OF_BASE)
    parser.add_argument(
        "--payload",
        action="append",
        default=[],
        metavar="LINK,MASS[,X,Y,Z[,XX,XY,XZ,YY,YZ,ZZ]]",
        help="a body that a link holds: kg, m, kg m^2 about its centre; can be given several times",
    )
    parser.add_argument(
        "--model-error", metavar="E", help="relative error of the dynamic parameters, 0 to 0.9"
    )
    for name in ("noise", "resolution"):
        parser.add_argument(
            f"--{name}", metavar="Q,QD,EFFORT", help=f"{name} of the sensors: positions, velocities, efforts"
        )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of noise and model error")


def simulate(arguments: Namespace) -> Answer:
    """Simulate, write the states to a file, and answer a summary if one was asked for."""
    robot = described_robot(arguments)
    if arguments.every < 1:
        raise DynError(f"--every is {arguments.every}: give a number >= 1")
    kind = chosen_base(robot, arguments)
    if kind is not None:
        return simulated_on_base(robot, kind, arguments)
    refuse_base_vectors(arguments, _VECTORS_OF_BASE, "free or planar")
    robot = standing(robot, arguments)
    table = efforts_of(arguments, robot)
    simulator = _simulator(arguments, robot)
    steps = steps_of(arguments, table, simulator.settings.step)
    watch = Watch(
        {
            FASTER: lambda: simulator.too_fast,
            WEAKER: lambda: simulator.at_effort_limit,
            "is at a limit of its positions": lambda: simulator.at_stop,
        }
    )
    took = write_simulation(
        arguments,
        header(simulator.joint_names, simulator.passive_joint_names),
        Lines(simulator.joint_names, simulator.passive_joint_names).line,
        run(simulator, table, steps),
        lambda: simulator.state.time,
        watch,
        Progress(steps, simulator.settings.step),
    )
    return Answer(json.dumps(_summary(simulator, steps, took), indent=2) if arguments.json else "")


def _simulator(arguments: Namespace, robot: Robot) -> Simulator:
    settings = SimulationSettings(
        step=step_of(arguments, SimulationSettings.step),
        integrator=arguments.integrator,
        substeps=arguments.substeps,
        friction=arguments.friction,
        rotor_inertia=arguments.rotor_inertia,
        position_limits=arguments.position_limits is not False,
        effort_limits=arguments.effort_limits,
    )
    q, qd = (
        None
        if getattr(arguments, name) is None
        else joint_vector(f"--{name}", getattr(arguments, name), robot.dof, all_joints(robot))
        for name in ("q", "qd")
    )
    return Simulator(with_options(robot, arguments), settings, sensors_of(arguments), q, qd)


def _summary(simulator: Simulator, steps: int, took: float) -> dict[str, Any]:
    settings, state = simulator.settings, simulator.state
    return {
        "robot": simulator.robot.name,
        "integrator": simulator.integrator,
        **times_taken(settings.step, settings.substeps, steps, took),
        "joint_names": simulator.joint_names,
        "position": state.q.tolist(),
        "velocity": state.qd.tolist(),
        **_loops(simulator),
    }


def _loops(simulator: Simulator) -> dict[str, Any]:
    """What the summary of a robot with loops has beside that of others."""
    if not simulator.passive_joint_names:
        return {}
    passive = simulator.passive_state
    return {
        "passive_joint_names": simulator.passive_joint_names,
        "passive_position": passive.q.tolist(),
        "passive_velocity": passive.qd.tolist(),
        "loop_gap_m": passive.gap,
        "loop_turn_rad": passive.turn,
    }
