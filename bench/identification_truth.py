# SPDX-License-Identifier: Apache-2.0
"""`make truth`: repeated identification of arms with known parameters, from noisy logs.

It measures whether reported deviations are right, which mistakes of a recording are named, and the biases of
the estimators. The exit code is 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

# Each process has one thread, as there are as many processes as cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bars import WITHIN, Bars
from identification_study import ARMS, MISTAKES, Arm, Run, arm_of, is_named, run
from simulated_truth import SIX, arm, excitation, sensed, true_values, with_drives

import dyn_core
from dyn_core import FrictionModel, IdentificationSettings, Protocol, Signals
from dyn_core.identification.estimators.estimation import Estimation
from dyn_core.identification.estimators.identification_settings import ESTIMATORS, Estimator
from dyn_core.identification.estimators.simulation_estimators import simulated
from dyn_core.identification.regressor.base_columns import BaseColumns, base_columns
from dyn_core.identification.regressor.motion_equations import Equations
from dyn_core.logs.log import Control

WITHIN_DEVIATIONS = 3.0
RUNS = 200
REPEATED: tuple[Estimator, ...] = ("wls", "irls")
DURATION_S = 10.0
"""Duration of the motion for the comparison of estimators (s)."""
ESTIMATOR_RUNS = 20

POSITION_NOISE = 1e-4
PROTOCOLS = {
    "chosen by the data": Protocol(train=1.0),
    "40 Hz": Protocol(cutoff=40.0, decimate=10, train=1.0),
}
MODELS = (FrictionModel(v0=0.15),) * len(SIX)

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Controlled:
    """An arm under a controller, with its true parameters."""

    robot: dyn_core.Robot
    base: BaseColumns
    control: Control
    exact: Signals
    expected: np.ndarray  # base parameters and friction


def controlled(duration: float) -> Controlled:
    """Return an arm that follows a Fourier series under a controller without a model."""
    robot = with_drives(arm(SIX))
    base = base_columns(robot)
    t, q, qd, qdd = excitation(robot.dof, duration)
    model = dyn_core.compile_model(robot, friction=False)
    stiffness = np.diag(model.inertia_matrix(q[0]))
    control = Control(
        q, qd, np.zeros_like(q), 900.0 * stiffness, 60.0 * stiffness, np.full(robot.dof, np.inf)
    )
    start = dyn_core.signals_of_arrays(robot.joint_names, t, q, qd, qdd, np.zeros_like(q))
    expected = true_values(robot, base)
    friction = expected[len(base.kept) :]
    return Controlled(robot, base, control, simulated(model, MODELS, friction, control, start), expected)


def measured(case: Controlled, seed: int, protocol: Protocol) -> Signals:
    """Return the sensor signals of the arm, and the controller at these times."""
    q, tau = sensed(case.exact, seed, position_noise=POSITION_NOISE)
    log = dyn_core.log_of_arrays(case.robot.joint_names, case.exact.time, q, tau)
    return dyn_core.condition(log.with_control(case.control), protocol)


def estimates(case: Controlled, seed: int, protocol: Protocol) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return parameters and their deviations by each estimator, from the same signals."""
    equations = Equations(measured(case, seed, protocol), case.base)
    found = {}
    for name in ESTIMATORS:
        settings = IdentificationSettings(estimator=name)
        fit = Estimation(case.base, settings).fit(equations, MODELS)
        found[name] = fit.solution.x, fit.deviations(fit.residuals)
    return found


@cache
def _arm(name: str) -> Arm:
    return arm_of(name)


@cache
def _controlled() -> Controlled:
    return controlled(DURATION_S)


def _run(name: str, estimator: Estimator, seed: int) -> Run:
    return run(_arm(name), seed, estimator)


def _named(name: str, mistake: str, seed: int) -> bool:
    return is_named(_arm(name), mistake, seed)


def _estimates(protocol: str, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return estimates(_controlled(), seed, PROTOCOLS[protocol])


def _all(pool: ProcessPoolExecutor, one: Callable[[int], T], count: int) -> Iterable[T]:
    """Return the values of a function for each seed; a line on the terminal shows the progress."""
    done = []
    for k, value in enumerate(pool.map(one, range(count)), start=1):
        done.append(value)
        if sys.stderr.isatty():
            print(f"\r{k}/{count} ", end="", file=sys.stderr)
    return done


def print_coverage(pool: ProcessPoolExecutor, runs: int, bars: Bars) -> None:
    """Print how often parameters are within their deviations, and their bias."""
    print(f"{runs} runs of 30 s at 1 kHz; errors in reported deviations, essential parameters only")
    print(
        f"{'arm':5}{'estimator':>10}{'essential':>11}{'all within 3':>14}{'least of one':>14}"
        f"{'bias, rms':>11}{'worst':>7}{'spread':>8}{'possible':>10}"
    )
    for name in ARMS:
        for estimator in REPEATED:
            found = list(_all(pool, partial(_run, name, estimator), runs))
            _print_line(name, estimator, found, bars)


def _print_line(name: str, estimator: str, found: Sequence[Run], bars: Bars) -> None:
    within = np.mean([np.all(np.abs(r.errors[r.essential]) <= WITHIN_DEVIATIONS) for r in found])
    by_name: dict[str, list[float]] = {}
    for one in found:
        for parameter, error, essential in zip(one.names, one.errors, one.essential, strict=True):
            if essential:
                by_name.setdefault(parameter, []).append(error)
    # Parameters that are essential in most runs; others are essential only where noise enlarges them.
    often = [errors for errors in by_name.values() if len(errors) > 0.9 * len(found)]
    least = min(np.mean(np.abs(errors) <= WITHIN_DEVIATIONS) for errors in often)
    bias = np.array([np.mean(errors) for errors in often])
    spread = np.array([np.std(errors) for errors in often])
    possible = np.mean([one.possible for one in found])
    essential = np.mean([one.essential.sum() for one in found])
    count = f"{essential:.0f}/{len(found[0].names)}"
    mark = bars.mark(f"{name}, {estimator}: runs outside", 1.0 - within, 1.0 - WITHIN)
    bars.mark(f"{name}, {estimator}: impossible", 1.0 - possible, 0.0)
    print(
        f"{name:5}{estimator:>10}{count:>11}{100 * within:13.1f}%{100 * least:13.1f}%"
        f"{_rms(bias):11.2f}{np.abs(bias).max():7.2f}{_rms(spread):8.2f}"
        f"{100 * possible:9.0f}%  {'missed' if 'missed' in mark else ''}",
        flush=True,
    )


def print_mistakes(pool: ProcessPoolExecutor, runs: int, bars: Bars) -> None:
    """Print how often mistakes are named with their joints only."""
    print(f"\nMistakes of a recording that are found and named, of {runs} each")
    print(f"{'arm':5}" + "".join(f"{mistake:>18}" for mistake in MISTAKES))
    for name in ARMS:
        print(f"{name:5}", end="")
        for mistake in MISTAKES:
            share = float(np.mean(list(_all(pool, partial(_named, name, mistake), runs))))
            bars.mark(f"{name}, {mistake}: not named", 1.0 - share, 0.0)
            print(f"{100 * share:17.1f}%", end="", flush=True)
        print()


def print_estimators(pool: ProcessPoolExecutor, runs: int) -> None:
    """Print the biases of the estimators, in deviations of weighted least squares."""
    print(
        f"\nEstimators: a 6R arm under a control, {DURATION_S:g} s at 1 kHz, {runs} runs; noise of "
        f"positions of {POSITION_NOISE:g} rad\n"
        "in reported deviations of weighted least squares, root of the mean square over all parameters"
    )
    print(f"{'cutoff':20}{'estimator':>14}{'bias':>8}{'worst':>8}{'spread':>8}{'own deviation':>15}")
    for protocol in PROTOCOLS:
        found = list(_all(pool, partial(_estimates, protocol), runs))
        expected = _controlled().expected
        unit = np.mean([one["wls"][1] for one in found], axis=0)
        for estimator in found[0]:
            errors = np.array([one[estimator][0] - expected for one in found]) / unit
            bias, spread = errors.mean(axis=0), errors.std(axis=0)
            own = np.mean([one[estimator][1] for one in found], axis=0) / unit
            print(
                f"{protocol:20}{estimator:>14}{_rms(bias):8.2f}{np.abs(bias).max():8.2f}{_rms(spread):8.2f}"
                f"{_rms(own):15.2f}",
                flush=True,
            )


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of each arm (default {RUNS})")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="by default one for each core")
    options = parser.parse_args()
    bars = Bars()
    with ProcessPoolExecutor(options.processes) as pool:
        print_coverage(pool, options.runs, bars)
        print_mistakes(pool, max(options.runs // 5, 1), bars)
        print_estimators(pool, max(min(options.runs // 10, ESTIMATOR_RUNS), 2))
    print(f"\n{bars.summary()}")
    return int(bool(bars.missed))


if __name__ == "__main__":
    sys.exit(main())
