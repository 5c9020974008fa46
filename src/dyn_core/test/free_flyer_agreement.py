# SPDX-License-Identifier: Apache-2.0
"""How far the functions of a robot on a free base are from Pinocchio's with a free-flyer.

Errors are as those of `agreement`. What roundings of the inertia matrix can make of accelerations takes the
place of the bar where it is more: its condition, with rows made alike, times a hundred roundings.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from agreement import AGREES, EPSILON, Finding
from free_flyer_oracle import FreeFlyer
from moving_base_cases import free_state

import dyn_core

FUNCTIONS = ("free: inverse_dynamics", "free: given base", "free: forward_dynamics", "free: inertia_matrix")
ROUNDINGS = 100


def free_flyer_findings(urdf: str, robot: dyn_core.Robot, samples: int) -> Iterator[Finding]:
    """Compare random states of a robot that was loaded from this text; the Python backend computes."""
    model = dyn_core.compile_moving_base(robot, "free", backend="python", friction=False, rotor_inertia=False)
    oracle = FreeFlyer(urdf, model.joint_names, robot.gravity)
    random = np.random.default_rng(0)
    worst = dict.fromkeys(FUNCTIONS, 0.0)
    bar = AGREES

    def compare(function: str, ours: np.ndarray, expected: np.ndarray, scale: float) -> None:
        worst[function] = max(
            worst[function], float(np.abs(ours - expected).max(initial=0.0) / (scale or 1.0))
        )

    for _ in range(samples):
        s = free_state(random, len(model.joint_names))
        args = (s.pose, s.V, s.Vd, s.q, s.qd, s.qdd)
        forces = oracle.forces(*args, {})
        compare(FUNCTIONS[1], model.inverse_dynamics_given_base(*args), forces, float(np.abs(forces).max()))
        A = oracle.inertia_matrix(s.q)
        compare(FUNCTIONS[3], model.inertia_matrix(s.q), A, float(np.abs(A).max()))
        moved = (s.pose, s.V, s.q, s.qd)
        try:
            ours = model.forward_dynamics(*moved, s.tau, F=s.F)
        except dyn_core.DynError:  # no inertia resists a joint
            continue
        own = np.sqrt(np.diag(A))
        bar = max(bar, ROUNDINGS * EPSILON * float(np.linalg.cond(A / np.outer(own, own))))
        expected = oracle.direct(*moved, s.tau, s.F, {})
        compare(FUNCTIONS[2], ours, expected, float(np.abs(expected).max()))
        back = model.inverse_dynamics(*moved, expected[6:], F=s.F)
        # The base by its acceleration, the joints by torques, relative to what has to cancel in them.
        compare(FUNCTIONS[0], back[:6], expected[:6], float(np.abs(expected).max()))
        compare(FUNCTIONS[0], back[6:], s.tau, float((np.abs(A[6:]) @ np.abs(expected)).max(initial=1.0)))
    for function, error in worst.items():
        accelerations = function in (FUNCTIONS[0], FUNCTIONS[2])
        yield Finding(function, "pinocchio", error, bar if accelerations else AGREES)
