# SPDX-License-Identifier: Apache-2.0
"""Condition numbers of exciting trajectories of arms, and the time of their search on one core."""

from __future__ import annotations

import time

import numpy as np
import simulated_truth
from bars import EXCITATION_CONDITION, EXCITATION_S, Bars
from peer_robots import description

import dyn_core
from dyn_core.excitation.exciting_trajectory import Excitation


def arms() -> dict[str, dyn_core.Robot]:
    """The arms by name: one like Panda and LWR, and some published descriptions."""
    return {
        "7R": simulated_truth.with_drives(simulated_truth.arm(simulated_truth.SEVEN)),
        "Panda": dyn_core.load_robot(description("Panda")),
        "UR5": dyn_core.load_robot(description("UR5")),
    }


def condition_by_regressor(excitation: Excitation) -> float:
    """Condition number of the whole regressor, after a QR decomposition has selected independent columns."""
    t = np.linspace(0.0, excitation.duration, 3001)
    W = dyn_core.compile_model(excitation.robot).regressor(*excitation.trajectory.at_many(t))
    W = W.reshape(-1, W.shape[2])
    lengths = np.linalg.norm(W, axis=0)
    W = W[:, lengths > 1e-9 * lengths.max()]
    W /= np.linalg.norm(W, axis=0)
    return float(np.linalg.cond(W[:, np.abs(np.diag(np.linalg.qr(W, mode="r"))) > 1e-8]))


def print_excitation(bars: Bars) -> None:
    """Print condition numbers and times of the search with its defaults."""
    print("Excitation: condition number of the base regressor with friction, columns of unit length")
    print(
        f"{'robot':8}{'joints':>6}{'columns':>9}{'first':>9}{'found':>8}{'by QR':>8}  {'bar':10}"
        f"{'CPU time':>9}{'time':>8}  bar"
    )
    for name, robot in arms().items():
        began, cpu = time.perf_counter(), time.process_time()
        excitation = dyn_core.excite(robot)
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        by_regressor = condition_by_regressor(excitation)
        worst = max(excitation.condition, by_regressor)
        marks = (
            bars.mark(f"{name}, condition number of an excitation", worst, EXCITATION_CONDITION),
            bars.mark(f"{name}, processor time of an excitation (s)", cpu, EXCITATION_S),
        )
        print(
            f"{name:8}{robot.dof:>6}{len(excitation.parameter_names):>9}{excitation.initial_condition:>9.4g}"
            f"{excitation.condition:>8.3g}{by_regressor:>8.3g}  {marks[0]:10}"
            f"{cpu:>7.1f} s{took:>6.1f} s  {marks[1]}",
            flush=True,
        )
