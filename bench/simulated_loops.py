# SPDX-License-Identifier: Apache-2.0
"""Simulation of a five-bar at 1 kHz: real-time factor, and the gap of its loop."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from bars import LOOPS_OPEN, LOOPS_REAL_TIME, Bars
from simulated_motion import ROBOTS

import dyn_core

LONG_S = 600.0
RECORDED_S = 20.0
STEP_S = 1e-3
FILES = (ROBOTS / "five_bar.urdf", ROBOTS / "five_bar.yaml")


def wanted(middle: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities (rad, rad/s) of a motion in which the joints reverse."""
    speeds = np.array([2.0, 2.7])
    return middle + 0.3 * np.sin(speeds * t), 0.3 * speeds * np.cos(speeds * t)


def controlled() -> tuple[np.ndarray, float, float]:
    """Times and efforts of the first seconds, processor time per simulated time, and the greatest gap."""
    robot = dyn_core.load_robot(FILES[0], loops=FILES[1])
    model = dyn_core.compile_model(robot)
    simulator = dyn_core.Simulator(robot, dyn_core.SimulationSettings(STEP_S))
    middle = simulator.state.q
    gain = 30.0 * np.diag(model.inertia_matrix(middle))
    rows, took, opening = [], 0.0, 0.0
    for k in range(round(LONG_S / STEP_S)):
        q, qd = wanted(middle, k * STEP_S)
        state = simulator.state
        effort = model.gravity_torques(state.q) + gain * (20.0 * (q - state.q) + (qd - state.qd))
        if k * STEP_S <= RECORDED_S:
            rows.append([k * STEP_S, *effort])
        began = time.process_time()
        simulator.set_effort(effort)
        simulator.step()
        took += time.process_time() - began
        if k % 100 == 0:
            passive = simulator.passive_state
            opening = max(opening, passive.gap, passive.turn)
    passive = simulator.passive_state
    return np.array(rows), took / LONG_S, max(opening, passive.gap, passive.turn)


def command_factor(efforts: np.ndarray) -> float:
    """Real-time factor that `dyn simulate` prints, the best of three: reading, simulating and writing."""
    with tempfile.TemporaryDirectory() as folder:
        file, states = (Path(folder) / name for name in ("efforts.csv", "states.csv"))
        header = "time,left_shoulder,right_shoulder"
        np.savetxt(file, efforts, delimiter=",", header=header, comments="", fmt="%.12g")
        command = [sys.executable, "-m", "dyn_core", "simulate", FILES[0], "--side-file", FILES[1]]
        command += ["--effort", file, "--json", "--out", states]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(3)]
        return max(json.loads(done.stdout)["real_time_factor"] for done in runs)


def print_simulated_loops(bars: Bars) -> None:
    """Print the real-time factor and the gap of the loop."""
    efforts, share, opening = controlled()
    factor = command_factor(efforts)
    print(f"Simulation of a five-bar at 1 kHz, rk4, friction and limits, {LONG_S:g} s under a controller")
    mark = bars.mark("five_bar, Simulator, s per s", share, LOOPS_REAL_TIME)
    print(f"Simulator alone: {1.0 / share:.0f} x real time, {share:.4f} s per s, bar: {mark}")
    mark = bars.mark("five_bar, dyn simulate, s per s", 1.0 / factor, LOOPS_REAL_TIME)
    print(
        f"dyn simulate, which also reads and writes, {RECORDED_S:g} s: {factor:.0f} x real time, "
        f"{1.0 / factor:.4f} s per s, bar: {mark}"
    )
    mark = bars.mark("five_bar, opening of the loop", opening, LOOPS_OPEN)
    print(f"largest opening of the loop: {opening:.1e} m or rad, bar: {mark}")
