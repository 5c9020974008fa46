# SPDX-License-Identifier: Apache-2.0
"""``dyn simulate``: the motion of a robot under given efforts, faster than real time.

The base of the robot is fixed or moves.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dyn_core.cli.console import Output, ProgressBar, whole_file
from dyn_core.cli.function_arguments import add_base_vectors, all_joints, base_vector, refuse_base_vectors
from dyn_core.cli.options import (
    REPEATED,
    Command,
    Numbers,
    add_options,
    joint_vector,
    moving_kind,
    number,
    numbers,
    parametrised_robot,
    standing,
)
from dyn_core.core.errors import DynError, ModelWarning
from dyn_core.robot.moving_base import moving_base
from dyn_core.robot.robot import BaseKind, Robot
from dyn_core.simulation.moving_base_simulator import MovingBaseSimulator
from dyn_core.simulation.simulated_state import (
    INTEGRATORS,
    MovingBaseSettings,
    Sensors,
    SensorSettings,
    SimulationSettings,
    with_model_error,
)
from dyn_core.simulation.simulation_run import (
    EffortTable,
    Lines,
    MovingLines,
    column_names_of,
    header,
    moving_header,
    moving_run,
    read_effort_csv,
    run,
    steps_in,
)
from dyn_core.simulation.simulator import Simulator

_VECTORS_OF_BASE = ("pose", "V", "F")
_INTEGRATOR_OF_BASE = "rk4"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command only."""
    settings = SimulationSettings()
    sensors = "of the sensors: positions, velocities, efforts"
    payload = "a body that a link holds: kg, m, kg m^2 about its centre; can be repeated"
    add_options(parser, ("-o --out", "FILE", "CSV of the states to write"), required=True)
    add_options(parser, ("--payload", "LINK,MASS[,X,Y,Z[,XX,XY,XZ,YY,YZ,ZZ]]", payload), **REPEATED)
    add_options(
        parser,
        ("--effort", "FILE", "CSV: time and efforts by joint (default: none)"),
        ("--duration", "S", "seconds to simulate (default: those of the efforts)"),
        ("--step", "S", f"seconds between two states (default: {settings.step})"),
        ("--model-error", "E", "relative error of the dynamic parameters, 0 to 0.9"),
        *((f"--{name}", "Q,QD,EFFORT", f"{name} {sensors}") for name in ("noise", "resolution")),
    )
    method = "integration method (default: auto, implicit_midpoint for robots with springs, else rk4)"
    parser.add_argument("--integrator", choices=INTEGRATORS, default=settings.integrator, help=method)
    for option, default, text in (
        ("--substeps", settings.substeps, "integrator's steps for each step"),
        ("--every", 1, "write every N-th state (default: all)"),
        ("--seed", 0, "seed of noise and model error"),
    ):
        add_options(parser, (option, "N", text), type=int, default=default)
    # None shows that --position-limits was not given.
    for name, given, text in (
        ("friction", True, "simulate friction"),
        ("rotor-inertia", True, "simulate rotor inertia"),
        ("effort-limits", True, "limit efforts to those of the description"),
        ("position-limits", None, "simulate stops at the position limits of the description"),
    ):
        text += " (default: yes)"
        parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=given, help=text)
    states = "in tree order, SI units (default: zeros"
    add_options(
        parser,
        ("--q", "X ...", f"initial positions {states}; of loops those of the assembly)"),
        ("--qd", "X ...", f"initial velocities {states})"),
        action=Numbers,
    )
    add_base_vectors(parser, _VECTORS_OF_BASE)


def simulate(arguments: Namespace) -> Output:
    """Simulate, write the states to a file, and return a summary for --json."""
    robot = parametrised_robot(arguments)
    if arguments.every < 1:
        raise DynError("option-below-one", given=arguments.every)
    kind = moving_kind(robot, arguments)
    if kind is not None:
        return _simulated_on_base(robot, kind, arguments)
    refuse_base_vectors(arguments, _VECTORS_OF_BASE, "free or planar")
    robot = standing(robot, arguments)
    table = _efforts(arguments, robot)
    simulator = _simulator(arguments, robot)
    watch = LimitWatch(
        {
            "joint-beyond-velocity-limit": lambda: simulator.too_fast,
            "joint-at-effort-limit": lambda: simulator.at_effort_limit,
            "joint-at-position-limit": lambda: simulator.at_stop,
        }
    )
    steps = _steps(arguments, table, simulator.settings.step)
    names = simulator.joint_names, simulator.passive_joint_names
    lines, samples = Lines(*names).line, run(simulator, table, steps)
    times = _write(arguments, header(*names), lines, samples, simulator, steps, watch)
    return Output(_summary(simulator, times) if arguments.json else "")


def _simulator(arguments: Namespace, robot: Robot) -> Simulator:
    settings = SimulationSettings(
        **_common_settings(arguments),
        integrator=arguments.integrator,
        position_limits=arguments.position_limits is not False,
    )
    q, qd = (
        None
        if getattr(arguments, name) is None
        else joint_vector(f"--{name}", getattr(arguments, name), robot.dof, all_joints(robot))
        for name in ("q", "qd")
    )
    return Simulator(_real_robot(robot, arguments), settings, _sensors(arguments), q, qd)


def _summary(simulator: Simulator, times: Mapping[str, float]) -> dict[str, Any]:
    state = simulator.state
    summary = {
        "robot": simulator.robot.name,
        "integrator": simulator.integrator,
        **times,
        "joint_names": simulator.joint_names,
        "position": state.q.tolist(),
        "velocity": state.qd.tolist(),
    }
    if simulator.passive_joint_names:
        passive = simulator.passive_state
        summary |= {
            "passive_joint_names": simulator.passive_joint_names,
            "passive_position": passive.q.tolist(),
            "passive_velocity": passive.qd.tolist(),
            "loop_gap_m": passive.gap,
            "loop_turn_rad": passive.turn,
        }
    return summary


# A moving base


def _simulated_on_base(robot: Robot, kind: BaseKind, arguments: Namespace) -> Output:
    if kind == "given":
        raise DynError("base-given-not-simulated", robot=robot.name, expected="--base free or planar")
    if arguments.integrator not in ("auto", _INTEGRATOR_OF_BASE):
        raise DynError("integrator-of-fixed-base", integrator=arguments.integrator, used=_INTEGRATOR_OF_BASE)
    if arguments.position_limits:
        raise DynError("position-limits-on-moving-base")
    robot = _real_robot(robot, arguments)
    base = moving_base(robot, kind)
    table = _efforts(arguments, base.robot, column_names_of(base, "F"))
    if arguments.F is not None and table.forces is not None:
        raise DynError("base-forces-repeated", path=arguments.effort)
    simulator = MovingBaseSimulator(
        robot,
        kind,
        MovingBaseSettings(**_common_settings(arguments)),
        base_vector(base, "pose", arguments),
        base_vector(base, "V", arguments),
        *(joint_vector(f"--{name}", getattr(arguments, name), base.robot.dof) for name in ("q", "qd")),
    )
    simulator.set_force(base_vector(base, "F", arguments))
    sensors = Sensors(base.robot, _sensors(arguments))
    steps = _steps(arguments, table, simulator.settings.step)
    watch = LimitWatch(
        {
            "joint-beyond-velocity-limit": lambda: simulator.too_fast,
            "joint-at-effort-limit": lambda: simulator.at_effort_limit,
            "joint-beyond-position-limit": lambda: simulator.beyond_limits,
        }
    )
    base = simulator.base
    lines, samples = MovingLines(base).line, moving_run(simulator, table, sensors, steps)
    times = _write(arguments, moving_header(base), lines, samples, simulator, steps, watch)
    state = simulator.state
    summary = {
        "robot": base.name,
        "base": {"kind": base.kind, "link": base.link.name},
        "integrator": _INTEGRATOR_OF_BASE,
        **times,
        "pose": state.pose.tolist(),
        "V": state.V.tolist(),
        "joint_names": simulator.joint_names,
        "position": state.q.tolist(),
        "velocity": state.qd.tolist(),
    }
    return Output(summary if arguments.json else "")


# Options for a base of any kind


def _common_settings(arguments: Namespace) -> dict[str, Any]:
    step = SimulationSettings.step if arguments.step is None else number("--step", arguments.step)
    names = ("substeps", "friction", "rotor_inertia", "effort_limits")
    return {"step": step, **{name: getattr(arguments, name) for name in names}}


def _efforts(arguments: Namespace, robot: Robot, base_forces: Sequence[str] = ()) -> EffortTable:
    """Return the efforts of the file, zeros for no file; `base_forces` are columns of a moving base."""
    if arguments.effort is None:
        if arguments.duration is None:
            raise DynError("duration-missing")
        return EffortTable(np.zeros(1), np.zeros((1, robot.dof)), ())
    table = read_effort_csv(arguments.effort, robot, base_forces)
    if Path(arguments.out).resolve() == Path(arguments.effort).resolve():
        raise DynError("output-replaces-efforts", path=arguments.effort)
    if table.missing:
        warning = ModelWarning("efforts-missing", joints=table.missing, file=arguments.effort)
        warnings.warn(warning, stacklevel=2)
    return table


def _steps(arguments: Namespace, table: EffortTable, step: float) -> int:
    """Return the number of steps in the duration, or else of the efforts."""
    if arguments.duration is not None:
        return steps_in(number("--duration", arguments.duration), step)
    if len(table.times) == 1:
        raise DynError("duration-undetermined")
    return steps_in(float(table.times[-1] - table.times[0]), step)


def _sensors(arguments: Namespace) -> SensorSettings:
    values = {
        f"{quantity}_{kind}": value
        for kind in ("noise", "resolution")
        if getattr(arguments, kind) is not None
        for quantity, value in zip(
            ("position", "velocity", "effort"), numbers(f"--{kind}", getattr(arguments, kind), 3), strict=True
        )
    }
    return SensorSettings(**values, seed=arguments.seed)


def _real_robot(robot: Robot, arguments: Namespace) -> Robot:
    """Return the simulated robot: with errors of its parameters, and payloads."""
    if arguments.model_error is not None:
        robot = with_model_error(robot, number("--model-error", arguments.model_error), arguments.seed)
    for text in arguments.payload:
        link, _, rest = text.partition(",")
        words = rest.replace(",", " ").split()
        if len(words) not in (1, 4, 10):
            expected = "LINK,MASS or LINK,MASS,X,Y,Z or these and six moments of inertia"
            raise DynError("option-malformed", option="--payload", given=text, expected=expected)
        values = numbers("--payload", " ".join(words), len(words)) + [0.0] * (10 - len(words))
        robot = robot.with_payload(link.strip(), values[0], values[1:4], values[4:])
    return robot


# Progress, limits and the output file

PROGRESS_S, BAR_S = 5.0, 0.1
"""Wall time between two reports of progress, as lines and by a bar on a terminal (s)."""


class Progress:
    """Reports the progress of a simulation on standard error: by a bar on a terminal, by lines elsewhere."""

    def __init__(self, steps: int, step: float) -> None:
        """Begin now; the simulation has `steps` steps of `step` (s)."""
        self._steps, self._duration = steps, steps * step
        self._began = self._shown = time.monotonic()
        self.bar = ProgressBar()

    def after(self, k: int) -> None:
        """Report the progress after step k, at most every `PROGRESS_S` or `BAR_S`."""
        if k % 256 == 0 and time.monotonic() - self._shown > (BAR_S if self.bar.is_shown else PROGRESS_S):
            self._shown = time.monotonic()
            done = k / self._steps * self._duration
            factor = done / (self._shown - self._began)
            text = f"{done:.1f} of {self._duration:g} s, {factor:.1f} x real time"
            if self.bar.is_shown:
                self.bar.show(k / self._steps, text)
            else:
                _print(text)

    def end(self) -> float:
        """Report the end, and return the wall time (s)."""
        wall_time = time.monotonic() - self._began
        factor = self._duration / wall_time
        _print(f"{self._duration:g} s simulated in {wall_time:.2f} s: {factor:.1f} x real time")
        return wall_time


def _print(text: str) -> None:
    print(f"dyn: {text}", file=sys.stderr, flush=True)


class LimitWatch:
    """Detects joints beyond their limits, to warn once of each at the end."""

    def __init__(self, beyond: Mapping[str, Callable[[], Iterable[str]]]) -> None:
        """Begin; `beyond` has functions that return the names of joints, by the code of the warning."""
        self._beyond = beyond
        self._first: dict[tuple[str, str], float] = {}

    def look(self, moment: float) -> None:
        """Check the present state, at a time (s)."""
        for code, names in self._beyond.items():
            for name in names():
                self._first.setdefault((name, code), moment)

    def warn(self) -> None:
        """Warn of all that was detected."""
        for (name, code), moment in self._first.items():
            warnings.warn(ModelWarning(code, joint=name, time=moment), stacklevel=2)


_Sample = TypeVar("_Sample")


def _write(
    arguments: Namespace,
    head: str,
    line: Callable[[_Sample], str],
    samples: Iterable[_Sample],
    simulator: Simulator | MovingBaseSimulator,
    steps: int,
    watch: LimitWatch,
) -> dict[str, float]:
    """Write a simulation, warn of joints beyond their limits, and return the times of the summary (s).

    Args:
        arguments: the command line.
        head: the first line of the file.
        line: returns the line of a sample.
        samples: a sample of each step, computed on demand.
        simulator: the simulator of the samples.
        steps: number of steps.
        watch: checks the state after each step.
    """
    settings = simulator.settings
    progress = Progress(steps, settings.step)
    with progress.bar, whole_file(arguments.out) as file:
        file.write(head)
        for k, sample in enumerate(samples):
            if k % arguments.every == 0:
                file.write(line(sample))
            watch.look(simulator.state.time)
            progress.after(k)
    watch.warn()
    wall_time = progress.end()
    duration = steps * settings.step
    return {
        "step": settings.step,
        "substeps": settings.substeps,
        "steps": steps,
        "duration": duration,
        "wall_time": wall_time,
        "real_time_factor": duration / wall_time,
    }


COMMAND = Command(
    description="Simulate the motion that the efforts of a CSV file give a robot, faster than in real "
    "time, and write the states to a CSV file.",
    run=simulate,
    add_arguments=add_arguments,
    parameters=True,
    base="moving",
)
