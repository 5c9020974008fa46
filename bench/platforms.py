# SPDX-License-Identifier: Apache-2.0
"""Dynamics of parallel robots for the motion of their platform, against Pinocchio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from alternate import compare
from bars import PLATFORMS, Bars
from pinocchio_platform import PinocchioPlatform

import dyn_core
from dyn_core.algorithms.parallel.platform_mobility import moved

ROBOTS = Path(__file__).resolve().parents[1] / "config" / "robots"
NAMES = ("gough_stewart", "delta")


def print_platforms(bars: Bars) -> None:
    """Print two lines for each robot."""
    print("Parallel robots, from the motion of the platform: ours solves for the positions of the legs, too;")
    print("those of Pinocchio are given, and with NumPy it solves for their velocities and accelerations.")
    print(f"{'robot':16}{'':18}{'ours':>10}{'Pinocchio':>12}{'ratio':>8}  bar")
    for name in NAMES:
        for what, (ours, theirs, ratio) in measured(name).items():
            bar = bars.mark(f"{name}, {what} of the platform", ratio, PLATFORMS.get((name, what)))
            print(f"{name:16}{what:18}{ours * 1e9:>7.0f} ns{theirs * 1e6:>9.1f} us{ratio:>8.3f}  {bar}")


def measured(name: str) -> dict[str, tuple[float, float, float]]:
    """Times of dyn_core and of Pinocchio (s), and their ratio, by quantity."""
    path = ROBOTS / f"{name}.urdf"
    robot = dyn_core.load_robot(path, loops=path.with_suffix(".yaml"))
    model = dyn_core.compile_parallel(robot, "platform", friction=False, rotor_inertia=False)
    random = np.random.default_rng(0)
    freedom = len(model.joint_names)
    placed = moved(model.structure.T_home, model.mobility @ random.uniform(-0.1, 0.1, freedom))
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = placed.R, placed.p
    V, Vd = random.normal(size=(2, freedom)) @ model.mobility.T
    peer = PinocchioPlatform(path, path.with_suffix(".yaml"))
    q = peer.positions(T, dict(zip(model.leg_joint_names, model.leg_positions(T).tolist(), strict=True)))
    R, tau = T[:3, :3].copy(), model.inverse_dynamics(T, V, Vd)
    calls = {
        "inverse dynamics": (
            lambda: model.inverse_dynamics(T, V, Vd),
            lambda: peer.inverse_dynamics(q, R, V, Vd),
        ),
        "direct dynamics": (
            lambda: model.forward_dynamics(T, V, tau),
            lambda: peer.forward_dynamics(q, R, V, tau),
        ),
    }
    found = {}
    for what, (ours, theirs) in calls.items():
        if not np.allclose(ours(), theirs(), rtol=1e-8, atol=1e-8 * np.abs(ours()).max()):
            raise SystemExit(f"{name}, {what}: the results differ: {ours()}, {theirs()}")
        comparison = compare([ours, theirs])
        found[what] = comparison.seconds(0), comparison.seconds(1), comparison.ratio(1)
    return found


if __name__ == "__main__":
    print_platforms(Bars())
