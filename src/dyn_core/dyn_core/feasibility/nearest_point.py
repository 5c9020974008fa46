# SPDX-License-Identifier: Apache-2.0
"""The point of a polyhedron that is nearest to the origin, by the dual method of Goldfarb and Idnani (1983).

It begins at the origin, takes in one violated constraint after another, and drops those that turn out not to
hold the point back. It ends with the nearest point, or with the proof that there is none.
"""

from __future__ import annotations

import numpy as np

from dyn_core.core.arrays import Array

ROUNDING = 4e-15
"""Distance to a constraint that counts as none, in parts of the distances it is the difference of."""
STEEP = 1e-12
"""Square of the length of what is left of a normal, beside those of the active planes, which is none."""
PUSHING = 1e-13
"""Part of the normal of an active plane in another one that is none."""
BLUR = 1e-13
"""The same of planes that those which hold the point leave no choice, as the other side of a zero width."""
STEPS = 20
"""Steps for each constraint after which there can be no such point but for rounding."""


def nearest_point(N: Array, b: Array) -> Array | None:
    """Answer the y of least norm with ``N y >= b``; None where there is none.

    Args:
        N: rows of length 1, (m, n).
        b: distances of the planes from the origin, on the side of their rows, (m,).
    """
    n = N.shape[1]
    y: Array = np.zeros(n)
    active: list[int] = []
    passed: list[int] = []
    pressure = np.zeros(0)
    if not len(b):
        return y
    for _ in range(STEPS * len(b) + 1):
        gaps = b - N @ y - ROUNDING * (np.abs(b) + np.abs(N) @ np.abs(y))
        gaps[active + passed] = -np.inf
        p = int(gaps.argmax())
        if gaps[p] <= 0.0:
            return y
        pressure_p = 0.0
        while True:
            columns = N[active].T
            r = np.linalg.lstsq(columns, N[p], rcond=None)[0] if active else np.zeros(0)
            z = N[p] - columns @ r if active else N[p].copy()
            steepness = float(z @ N[p])
            # Where n planes hold the point, z is nothing but rounding.
            moves = len(active) < n and steepness > STEEP
            if not moves and b[p] - N[p] @ y <= BLUR * (abs(b[p]) + np.linalg.norm(y)) and not pressure_p:
                passed.append(p)
                break
            full = float(b[p] - N[p] @ y) / steepness if moves else np.inf
            pushing = np.flatnonzero(r > PUSHING)
            ratios = pressure[pushing] / r[pushing]
            part = float(ratios.min()) if len(ratios) else np.inf
            t = min(full, part)
            if t == np.inf:
                return None
            if full < np.inf:
                y = y + t * z
            pressure = pressure - t * r
            pressure_p += t
            if full <= part:
                active.append(p)
                passed.clear()
                pressure = np.append(pressure, pressure_p)
                # The point of least norm on all planes that hold it, without the roundings on the way.
                y = np.asarray(np.linalg.lstsq(N[active], b[active], rcond=None)[0], dtype=np.float64)
                break
            dropped = int(pushing[ratios.argmin()])
            del active[dropped]
            pressure = np.delete(pressure, dropped)
    return None
