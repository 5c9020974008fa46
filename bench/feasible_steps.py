# SPDX-License-Identifier: Apache-2.0
"""Time to make a step feasible, compared with one call of inverse dynamics."""

from __future__ import annotations

from functools import partial

import numpy as np
from alternate import compare
from bars import FEASIBLE_US, Bars
from peer_robots import description

import dyn_core
from dyn_core.feasibility.step_program import Layout


def print_feasible_steps(bars: Bars) -> None:
    """Print times of steps of an arm of six joints."""
    robot = dyn_core.load_robot(description("UR5"))
    q = np.array([0.1, -1.2, 1.4, -0.6, 0.3, 0.2])
    zero, dt = np.zeros(6), 0.002
    near, far = np.full(6, 1e-3), np.array([1.0, 0.5, 0.3, 0.1, 0.2, 0.3])
    # The wrist is almost at its speed limit, and limiting the torques of other joints would make it too fast.
    fast, faster = np.array([0.0, 0.0, 0.0, 3.0, -3.0, 3.1]), np.array([2.0, 2.0, 0.0, 3.0, 3.0, 3.0])
    steps = dyn_core.Feasibility(robot)
    load = {"tool0": np.array([0.0, 0.0, -20.0, 0.1, 0.2, 0.0])}
    needed = partial(dyn_core.compile_model(robot).inverse_dynamics, q, zero, zero)
    calls = {
        "nearest, a feasible wish": partial(steps.nearest, q, zero, q, near, dt),
        "on_path, a feasible wish": partial(steps.on_path, q, zero, q, near, dt),
        "nearest, with a wrench": partial(steps.nearest, q, zero, q, near, dt, load),
        "nearest, torques cut": partial(steps.nearest, q, zero, q, far, dt),
        "nearest, a polyhedron searched": partial(steps.nearest, q, fast, q + dt * fast, faster, dt),
        "on_path, slower": partial(steps.on_path, q, zero, q, far, dt),
    }
    assert calls["nearest, a feasible wish"]().feasible
    assert not calls["on_path, slower"]().feasible
    searched = calls["nearest, a polyhedron searched"]()
    assert searched.possible
    assert searched._values[Layout(6).number("nearest")] > 0.0
    print("Feasible steps of the UR5, and their time in calls of inverse dynamics")
    print(f"{'step':32}{'time':>10}{'calls':>8}  bar")
    for what, call in calls.items():
        found = compare([call, needed])
        took = 1e6 * found.seconds(0)
        mark = bars.mark(f"{what} (us)", took, FEASIBLE_US)
        print(f"{what:32}{took:>7.2f} us{found.ratio(1):>8.1f}  {mark}")
