# SPDX-License-Identifier: Apache-2.0
"""Time of the identification of a 7-joint arm: from a log, of its regressor, and during the motion."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from bars import LOG_TO_REPORT_S, RECURSIVE_SHARE, REGRESSOR, Bars
from log_files import write_csv
from pinocchio_peer import Pinocchio
from simulated_truth import SEVEN, arm, exact_motion, excitation, sensed, with_drives

import dyn_core
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.online.recursive_estimator import RecursiveEstimator
from dyn_core.identification.regressor.base_columns import base_columns

SAMPLES = 100_000
PIECE = 8192
LOOP = 2000
"""Number of samples in the loop over Pinocchio, from which the total time is extrapolated."""
RATE_HZ = 1000
DURATION_S = 30.0
ROUNDS = 5


def print_identification(bars: Bars) -> None:
    """Print times and whether they meet their bars."""
    print("Identification of a 7-joint arm")
    _print_log_to_parameters(bars)
    _print_regressor(bars)
    _print_recursive(bars)


def _print_log_to_parameters(bars: Bars) -> None:
    robot = with_drives(arm(SEVEN))
    exact = exact_motion(robot, DURATION_S)
    q, tau = sensed(exact, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        write_csv(path, robot.coordinate_names, exact.time, q, tau)
        for what in ("first", "again"):
            stamps = [time.perf_counter()]
            log = dyn_core.read_log(path, robot=arm(SEVEN))
            stamps.append(time.perf_counter())
            signals = dyn_core.condition(log)
            stamps.append(time.perf_counter())
            dyn_core.identify(arm(SEVEN), signals)
            stamps.append(time.perf_counter())
            read, conditioned, identified = np.diff(stamps)
            whole = stamps[-1] - stamps[0]
            mark = bars.mark(f"30 s of a log, {what}", whole, LOG_TO_REPORT_S)
            print(
                f"  30 s at 1 kHz from a CSV file, {what}: {whole:.2f} s (read {read:.2f}, condition "
                f"{conditioned:.2f}, identify {identified:.2f}); bar with the report {mark}"
            )


def _print_regressor(bars: Bars) -> None:
    robot = arm(SEVEN)
    model = dyn_core.compile_model(robot, backend="c")
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, SAMPLES, robot.dof))
    base = base_columns(robot)
    out = np.empty((PIECE, robot.dof, len(robot.parameters)))
    peer = Pinocchio(dyn_core.write_urdf(robot), robot.coordinate_names)
    loop = [peer.calls(tuple(states[:, k]))["regressor"] for k in range(LOOP)]
    pieces = [slice(first, min(first + PIECE, SAMPLES)) for first in range(0, SAMPLES, PIECE)]
    ratios: dict[str, list[float]] = {"standard parameters": [], "base parameters": []}
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for call in loop:
            call()
        theirs = (time.perf_counter() - began) / LOOP
        began = time.perf_counter()
        for part in pieces:
            model.regressor(*states[:, part], out=out[: part.stop - part.start])
        ratios["standard parameters"].append((time.perf_counter() - began) / SAMPLES / theirs)
        began = time.perf_counter()
        for part in pieces:
            base.columns(*states[:, part])
        ratios["base parameters"].append((time.perf_counter() - began) / SAMPLES / theirs)
    for what, values in ratios.items():
        ratio = float(np.median(values))
        mark = bars.mark(f"regressor, {what}", ratio, REGRESSOR)
        print(f"  regressor of {SAMPLES} samples, {what}: {ratio:.3f} of a loop over Pinocchio's; bar {mark}")


def _print_recursive(bars: Bars) -> None:
    robot = with_drives(arm(SEVEN))
    t, q, qd, qdd = excitation(robot.dof, 12.0)
    tau = dyn_core.compile_model(robot).inverse_dynamics(q, qd, qdd)
    estimator = RecursiveEstimator(base_columns(robot), (FrictionModel(),) * robot.dof, 1.0 / RATE_HZ)
    began = time.process_time()
    for k in range(len(t)):
        estimator.add(q[k], qd[k], tau[k])
        if k % RATE_HZ == RATE_HZ - 1:
            estimator.estimate()
    share = (time.process_time() - began) / (len(t) / RATE_HZ)
    mark = bars.mark("recursive estimation", share, RECURSIVE_SHARE)
    print(
        f"  recursive estimation at {RATE_HZ} Hz, with an estimate each second: {100 * share:.1f} % of a "
        f"core; bar {mark}"
    )
