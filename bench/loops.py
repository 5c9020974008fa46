# SPDX-License-Identifier: Apache-2.0
"""Closed loops: inverse dynamics against Pinocchio, and simulation against real time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from alternate import compare
from bars import LOOPS, Bars
from pinocchio_loops import PinocchioLoops

import dyn_core

ROBOTS = Path(__file__).resolve().parents[1] / "config" / "robots"
NAMES = ("five_bar", "sr400", "akr3000", "palletizer", "gough_stewart")


def print_loops(bars: Bars) -> None:
    """Print a line for each robot."""
    print(
        "Closed loops, one inverse dynamics: ours solves for the passive joints, too; those of Pinocchio are"
    )
    print("given, and with NumPy it solves for their velocities, accelerations and multipliers.")
    print(f"{'robot':16}{'ours':>10}{'Pinocchio':>12}{'ratio':>8}  bar")
    for name in NAMES:
        ours, theirs, ratio = measured(name)
        bar = bars.mark(f"{name}, inverse dynamics of loops", ratio, LOOPS.get(name))
        print(f"{name:16}{ours * 1e9:>7.0f} ns{theirs * 1e6:>9.1f} us{ratio:>8.3f}  {bar}")


def measured(name: str) -> tuple[float, float, float]:
    """Times of one call of inverse dynamics in dyn_core and in Pinocchio (s), and their ratio."""
    path = ROBOTS / f"{name}.urdf"
    robot = dyn_core.load_robot(path, loops=path.with_suffix(".yaml"))
    model = dyn_core.compile_model(robot, friction=False, rotor_inertia=False)
    random = np.random.default_rng(0)
    assembly = dict(robot.assembly)
    middle = np.array([assembly.get(joint, 0.0) for joint in model.joint_names])
    q = middle + 0.01 * random.normal(size=robot.dof)
    qd, qdd = random.normal(size=(2, robot.dof))
    passive = dict(zip(model.passive_joint_names, model.solve_loops(q), strict=True))
    peer = PinocchioLoops(path.read_text(), robot)
    closed = peer.positions({**dict(zip(model.joint_names, q, strict=True)), **passive}, model, q)
    ours, theirs = model.inverse_dynamics(q, qd, qdd), peer.inverse_dynamics(closed, qd, qdd)
    if not np.allclose(ours, theirs, rtol=1e-8, atol=1e-8 * np.abs(ours).max()):
        raise SystemExit(f"{name}: the results differ: {ours}, {theirs}")
    comparison = compare(
        [lambda: model.inverse_dynamics(q, qd, qdd), lambda: peer.inverse_dynamics(closed, qd, qdd)]
    )
    return comparison.seconds(0), comparison.seconds(1), comparison.ratio(1)


if __name__ == "__main__":
    print_loops(Bars())
