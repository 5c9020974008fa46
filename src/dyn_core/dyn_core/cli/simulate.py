# SPDX-License-Identifier: Apache-2.0
"""``dyn simulate``: the motion that efforts give, faster than in real time."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.cli.answer import Answer
from dyn_core.cli.numbers import Once, all_joints, joint_vector, numbers
from dyn_core.cli.output_file import whole_file
from dyn_core.cli.robot_options import robot_of
from dyn_core.errors import DynError, ModelWarning, listed
from dyn_core.model.robot import Robot
from dyn_core.simulation.effort_csv import EffortTable, read_effort_csv
from dyn_core.simulation.model_error import with_model_error
from dyn_core.simulation.run import run, steps_in
from dyn_core.simulation.sensors import SensorSettings
from dyn_core.simulation.settings import INTEGRATORS, SimulationSettings
from dyn_core.simulation.simulator import Simulator
from dyn_core.simulation.states_csv import Lines, header

PROGRESS_S = 5.0
"""Wall time between two reports of progress (s)."""


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
    for name in ("friction", "rotor-inertia", "position-limits", "effort-limits"):
        parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=True)
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
    robot = robot_of(arguments)
    if arguments.every < 1:
        raise DynError(f"--every is {arguments.every}: give a number >= 1")
    table = _efforts(arguments, robot)
    simulator = _simulator(arguments, robot)
    steps = _steps(arguments, table, simulator.settings.step)
    watch = _Watch(simulator)
    began = time.monotonic()
    with whole_file(arguments.out) as file:
        file.write(header(simulator.joint_names, simulator.passive_joint_names))
        lines = Lines(simulator.joint_names, simulator.passive_joint_names)
        shown = began
        for k, sample in enumerate(run(simulator, table, steps)):
            if k % arguments.every == 0:
                file.write(lines.line(sample))
            watch.look()
            if k % 256 == 0 and time.monotonic() - shown > PROGRESS_S:
                shown = time.monotonic()
                done = k * simulator.settings.step
                whole = steps * simulator.settings.step
                _say(f"{done:.1f} of {whole:g} s, {done / (shown - began):.1f} x real time")
    took = time.monotonic() - began
    watch.warn()
    simulated = steps * simulator.settings.step
    _say(f"{simulated:g} s simulated in {took:.2f} s: {simulated / took:.1f} x real time")
    return Answer(json.dumps(_summary(simulator, steps, took), indent=2) if arguments.json else "")


def _efforts(arguments: Namespace, robot: Robot) -> EffortTable:
    if arguments.effort is None:
        if arguments.duration is None:
            raise DynError("how long to simulate is not said: give --effort or --duration")
        return EffortTable(np.zeros(1), np.zeros((1, robot.dof)), ())
    table = read_effort_csv(arguments.effort, robot)
    if Path(arguments.out).resolve() == Path(arguments.effort).resolve():
        raise DynError(f"--out would replace the efforts in '{arguments.effort}': give another file")
    if table.missing:
        message = f"{arguments.effort}: no efforts for {listed(table.missing)}, they get 0"
        warnings.warn(message, ModelWarning, stacklevel=2)
    return table


def _simulator(arguments: Namespace, robot: Robot) -> Simulator:
    settings = SimulationSettings(
        step=SimulationSettings.step if arguments.step is None else numbers("--step", arguments.step, 1)[0],
        integrator=arguments.integrator,
        substeps=arguments.substeps,
        friction=arguments.friction,
        rotor_inertia=arguments.rotor_inertia,
        position_limits=arguments.position_limits,
        effort_limits=arguments.effort_limits,
    )
    sensors = SensorSettings(
        **_of_sensors("noise", arguments.noise),
        **_of_sensors("resolution", arguments.resolution),
        seed=arguments.seed,
    )
    if arguments.model_error is not None:
        (error,) = numbers("--model-error", arguments.model_error, 1)
        robot = with_model_error(robot, error, arguments.seed)
    for payload in arguments.payload:
        robot = _with_payload(robot, payload)
    q, qd = (
        None
        if getattr(arguments, name) is None
        else joint_vector(f"--{name}", getattr(arguments, name), robot.dof, all_joints(robot))
        for name in ("q", "qd")
    )
    return Simulator(robot, settings, sensors, q, qd)


def _of_sensors(kind: str, text: str | None) -> dict[str, Any]:
    values = [0.0] * 3 if text is None else numbers(f"--{kind}", text, 3)
    quantities = ("position", "velocity", "effort")
    return {f"{quantity}_{kind}": value for quantity, value in zip(quantities, values, strict=True)}


def _with_payload(robot: Robot, text: str) -> Robot:
    link, *rest = text.split(",", 1)
    words = rest[0].replace(",", " ").split() if rest else []
    if len(words) not in (1, 4, 10):
        raise DynError(
            f"--payload '{text}': give LINK,MASS or LINK,MASS,X,Y,Z or these and six moments of inertia"
        )
    values = numbers("--payload", " ".join(words), len(words))
    values += [0.0] * (10 - len(values))
    return robot.with_payload(link.strip(), values[0], values[1:4], values[4:])


def _steps(arguments: Namespace, table: EffortTable, step: float) -> int:
    if arguments.duration is not None:
        return steps_in(numbers("--duration", arguments.duration, 1)[0], step)
    if len(table.times) == 1:
        raise DynError(
            "how long to simulate is not said: there is one line of efforts, give --duration",
        )
    return steps_in(float(table.times[-1] - table.times[0]), step)


class _Watch:
    """Looks for what goes beyond the limits of the joints, to say it once in the end."""

    def __init__(self, simulator: Simulator) -> None:
        """Watch a simulator."""
        self._simulator = simulator
        self._first: dict[tuple[str, str], float] = {}

    def look(self) -> None:
        """Look at the present state."""
        simulator = self._simulator
        for what, names in (
            ("is faster than its limit, which nothing enforces", simulator.too_fast),
            ("is given its largest effort, which is less than what was asked for", simulator.at_effort_limit),
            ("is at a limit of its positions", simulator.at_stop),
        ):
            for name in names:
                self._first.setdefault((name, what), simulator.state.time)

    def warn(self) -> None:
        """Warn of all that was seen."""
        for (name, what), moment in self._first.items():
            warnings.warn(f"joint '{name}' {what}, first after {moment:g} s", ModelWarning, stacklevel=2)


def _say(sentence: str) -> None:
    print(f"dyn: {sentence}", file=sys.stderr, flush=True)


def _summary(simulator: Simulator, steps: int, took: float) -> dict[str, Any]:
    settings, state = simulator.settings, simulator.state
    duration = steps * settings.step
    return {
        "robot": simulator.robot.name,
        "integrator": simulator.integrator,
        "step": settings.step,
        "substeps": settings.substeps,
        "steps": steps,
        "duration": duration,
        "wall_time": took,
        "real_time_factor": duration / took,
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
