# SPDX-License-Identifier: Apache-2.0
"""Real-time factors of `dyn simulate` and of a `Simulator` at 1 kHz, and their accuracy.

The robots move under a controller, with friction and limits. Its efforts are recorded and given to the
command.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from bars import ENERGY_DRIFT, MOTION_DIFFERENCE, REAL_TIME, Bars
from simulated_motion import EXAMPLES, ROBOTS, difference_after_a_second, energy_drift

import dyn_core

DURATION_S = 20.0
STEP_S = 1e-3


def wanted(robot: dyn_core.Robot, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of a motion between the limits, in which the joints reverse."""
    low, high = (
        np.array([getattr(joint.limits, name) for joint in robot.independent_joints])
        for name in ("lower", "upper")
    )
    low, high = (np.where([x is None for x in b], d, b).astype(float) for b, d in ((low, -2.0), (high, 2.0)))
    speeds = 0.8 + 0.15 * np.arange(robot.dof)
    middle, reach = 0.5 * (low + high), 0.2 * (high - low)
    return middle - reach * np.cos(speeds * t), reach * speeds * np.sin(speeds * t)


def controlled(robot: dyn_core.Robot, integrator: str) -> tuple[np.ndarray, float]:
    """Times and efforts of a controlled motion, and the processor time of its simulation (s)."""
    model = dyn_core.compile_model(robot)
    start, _ = wanted(robot, 0.0)
    simulator = dyn_core.Simulator(robot, dyn_core.SimulationSettings(STEP_S, integrator), q=start)
    stiffness = 30.0 * np.diag(model.inertia_matrix(start))
    rows, took = [], 0.0
    for k in range(round(DURATION_S / STEP_S) + 1):
        q, qd = wanted(robot, k * STEP_S)
        state = simulator.state
        effort = model.gravity_torques(q) + stiffness * (20.0 * (q - state.q) + (qd - state.qd))
        rows.append([k * STEP_S, *effort])
        began = time.process_time()
        simulator.set_effort(effort)
        simulator.step()
        took += time.process_time() - began
    return np.array(rows), took


def command_factor(path: Path, robot: dyn_core.Robot, efforts: np.ndarray, integrator: str) -> float:
    """Real-time factor that the command prints: reading, simulating and writing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "efforts.csv"
        header = ",".join(("time", *robot.coordinate_names))
        np.savetxt(file, efforts, delimiter=",", header=header, comments="", fmt="%.12g")
        start = ",".join(map(repr, wanted(robot, 0.0)[0].tolist()))
        command = [
            sys.executable,
            "-m",
            "dyn_core",
            "simulate",
            path,
            "--effort",
            file,
            f"--q={start}",
            "--json",
        ]
        command += ["--integrator", integrator, "--out", Path(folder) / "states.csv"]
        factors = []
        for _ in range(3):
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            factors.append(json.loads(done.stdout)["real_time_factor"])
        return max(factors)


def print_simulation(bars: Bars) -> None:
    """Print a line for each robot and integrator, and the accuracy of the motions."""
    print(
        f"Simulation at 1 kHz, {DURATION_S:g} s, friction and limits; `dyn simulate` also reads and writes."
    )
    print(
        f"{'robot':12}{'joints':>6}  {'integrator':22}{'Simulator, core':>16}{'dyn simulate':>14}"
        f"{'s per s':>10}  bar"
    )
    for name in EXAMPLES:
        path = ROBOTS / f"{name}.urdf"
        robot = dyn_core.load_robot(path)
        for integrator in ("rk4", "semi_implicit_euler"):
            efforts, took = controlled(robot, integrator)
            factor = command_factor(path, robot, efforts, integrator)
            bar = REAL_TIME.get((name, integrator))
            mark = bars.mark(f"{name}, dyn simulate, {integrator}", 1.0 / factor, bar)
            share = f"{100.0 * took / DURATION_S:.1f} %"
            print(
                f"{name:12}{robot.dof:>6}  {integrator:22}{share:>16}{factor:>12.0f} x{1.0 / factor:>10.4f}  "
                f"{mark}",
                flush=True,
            )
    for name in EXAMPLES:
        difference = difference_after_a_second(name, "c")
        mark = bars.mark(f"{name}, difference from Pinocchio's motion", difference, MOTION_DIFFERENCE)
        print(f"{name:12}difference from Pinocchio's motion after 1 s: {difference:.1e}, bar: {mark}")
    drift = energy_drift(60.0)
    mark = bars.mark("rx90, energy of a swing", drift, ENERGY_DRIFT)
    print(f"{'rx90':12}energy of a frictionless swing of 60 s, relative change: {drift:.1e}, bar: {mark}")
