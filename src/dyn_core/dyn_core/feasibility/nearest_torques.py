# SPDX-License-Identifier: Apache-2.0
"""The torques nearest to a wish with which no joint goes beyond its range or speed.

What is here in Python is in `codegen/c/nearest_torques.h` in C, for machines with a compiler.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dyn_core.codegen.compiler import NoCompiler
from dyn_core.core.arrays import Array
from dyn_core.feasibility.nearest_point import BLUR, PUSHING, ROUNDING, STEEP, STEPS, nearest_point
from dyn_core.feasibility.step_program import Layout

FAR = 1e20
"""How far away a limit is that is none, such as one of power at a standstill."""

Vectors = tuple[Array, Array, Array, Array]
Search = Callable[[Array, int, float], Vectors | None]


def nearest_torques(values: Array, n: int, dt: float) -> Vectors | None:
    """Answer positions, velocities, accelerations and torques of the step; None where there is none.

    With ``y_i = (u_i - w_i) / c_i``, w the torques after the wish was limited and c those of full load,
    they are the y of least norm.

    Args:
        values: results of the program of the step, as `Layout` says.
        n: number of joints.
        dt: the step (s).
    """
    layout = Layout(n)
    least_u, most_u, least_a, most_a, H = (
        values[layout.vector(name)]
        for name in ("least_torques", "greatest_torques", "least_qdd", "greatest_qdd", "H")
    )
    A = values[layout.inertia].reshape(n, n)
    allowed = np.maximum(np.minimum(values[layout.vector("wished_qdd")], most_a), least_a)
    wished = A @ allowed + H
    full = np.where(most_u - least_u < FAR, most_u - least_u, 1.0)
    full = np.where(full > 0.0, full, 1.0)
    try:
        to_qdd = np.asarray(np.linalg.inv(A), dtype=np.float64) * full
        y = _nearest_y(full, to_qdd, least_u - wished, wished - most_u, least_a - allowed, allowed - most_a)
    except np.linalg.LinAlgError:
        return None
    if y is None:
        return None
    # What rounding leaves is a part of the torques, which are large where accelerations are.
    qdd = np.minimum(np.maximum(allowed + to_qdd @ y, least_a), most_a)
    torques = A @ qdd + H
    if not np.isfinite(torques).all():
        return None
    q, qd = values[layout.vector("q")], values[layout.vector("qd")]
    reached = qd + dt * qdd
    vectors = q + 0.5 * dt * (qd + reached), reached, qdd, torques
    for vector in vectors:
        vector.flags.writeable = False
    return vectors


def _nearest_y(full: Array, to_qdd: Array, *distances: Array) -> Array | None:
    """Answer the y of least norm, beyond the planes of torques, and of accelerations, from both sides."""
    N = np.concatenate((np.diag(full), -np.diag(full), to_qdd, -to_qdd))
    b = np.concatenate(distances)
    length = np.linalg.norm(N, axis=1)
    real = b > -FAR
    return nearest_point(N[real] / length[real, None], b[real] / length[real])


def fastest_search() -> Search:
    """Answer `nearest_torques` in C, or as it is here where nothing can be compiled."""
    # Only here is what it takes to compile imported: subprocesses, thread pools, loaders.
    from dyn_core.codegen.c_backend import c_module

    try:
        search: Search = c_module(source()).nearest_torques
    except NoCompiler:
        return nearest_torques
    return search


def source() -> str:
    """Answer the C source, with the places and numbers that are known here."""
    from dyn_core.codegen.c_backend import hand_written

    numbers: dict[str, float] = {f"AT_{name}": k for k, name in enumerate(Layout.NAMES)}
    numbers |= {"VECTORS": len(Layout.NAMES), "NUMBERS": len(Layout.NUMBERS), "STEPS": STEPS, "FAR": FAR}
    numbers |= {"ROUNDING": ROUNDING, "BLUR": BLUR, "STEEP": STEEP, "PUSHING": PUSHING}
    defined = "".join(f"#define {name} {value!r}\n" for name, value in numbers.items())
    return "\n".join((defined, hand_written("nearest_torques.h"), hand_written("definition.h")))
