# SPDX-License-Identifier: Apache-2.0
"""Torques nearest to desired ones within the limits: a quadratic programme (Goldfarb and Idnani).

Compiled code of one step: torques, bounds and reachable state for a desired acceleration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dyn_core.algorithms.dynamics.newton_euler import factorised, solved
from dyn_core.codegen.c_compiler import NoCompiler
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.arrays import Array
from dyn_core.model.fixed_base.closed_loops import closed
from dyn_core.model.fixed_base.dynamics_programs import kinds
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar, is_zero, larger

ROUNDING = 4e-15
"""Distance to a constraint that counts as 0, relative to the distances whose difference it is."""
STEEP = 1e-12
"""Squared length that counts as 0 of the part of a normal that is independent of the active planes."""
PUSHING = 1e-13  # Component of a normal along that of an active plane that counts as 0
BLUR = 1e-13
"""Distance that counts as 0 for planes that the active ones determine, as the other side of a zero width."""
STEPS = 20  # Iterations for each constraint after which only rounding can prevent the end


def nearest_point(N: Array, b: Array) -> Array | None:
    """Return the y of least norm with ``N y >= b``; None if there is none.

    The dual method of Goldfarb and Idnani (1983) begins at the origin, adds one violated constraint after
    another, and drops those that no longer hold the point back.

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
            # If n planes hold the point, z is only rounding.
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
                # The point of least norm on all active planes, without accumulated rounding.
                y = np.asarray(np.linalg.lstsq(N[active], b[active], rcond=None)[0], dtype=np.float64)
                break
            dropped = int(pushing[ratios.argmin()])
            del active[dropped]
            pressure = np.delete(pressure, dropped)
    return None


FAR = 1e20  # Distance of a limit that counts as none, such as one of power at a standstill

Vectors = tuple[Array, Array, Array, Array]
Search = Callable[[Array, int, float], Vectors | None]


def nearest_torques(values: Array, n: int, dt: float) -> Vectors | None:
    """Return positions, velocities, accelerations and torques of the step; None if no torques are feasible.

    They are nearest to the desired torques and keep ranges and speeds. With ``y_i = (u_i - w_i) / c_i``, w
    the limited desired torques and c those of full load, they have the y of least norm. The same stands in C
    in `codegen/c/nearest_torques.h`.

    Args:
        values: results of the step program, as in `Layout`.
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
    # Rounding errors are relative to the torques, which are large where accelerations are.
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
    """Return the y of least norm beyond the planes of torques and accelerations on both sides."""
    N = np.concatenate((np.diag(full), -np.diag(full), to_qdd, -to_qdd))
    b = np.concatenate(distances)
    length = np.linalg.norm(N, axis=1)
    real = b > -FAR
    return nearest_point(N[real] / length[real, None], b[real] / length[real])


def fastest_search() -> Search:
    """Return `nearest_torques` in C, or in Python without a compiler."""
    # Imported here because compiling imports much: subprocesses, loaders.
    from dyn_core.codegen.c_source import c_modules

    try:
        search: Search = c_modules([source()])[0].nearest_torques
    except NoCompiler:
        return nearest_torques
    return search


def source() -> str:
    """Return the C source with the numbers of this module."""
    from dyn_core.codegen.c_source import hand_written

    numbers: dict[str, float] = {f"AT_{name}": k for k, name in enumerate(Layout.NAMES)}
    numbers |= {"VECTORS": len(Layout.NAMES), "NUMBERS": len(Layout.NUMBERS), "STEPS": STEPS, "FAR": FAR}
    numbers |= {"ROUNDING": ROUNDING, "BLUR": BLUR, "STEEP": STEEP, "PUSHING": PUSHING}
    defined = "".join(f"#define {name} {value!r}\n" for name, value in numbers.items())
    return "\n".join((defined, hand_written("nearest_torques.h"), hand_written("definition.h")))


Vector = Sequence[Scalar]

NONE = 1e100  # Value of a missing limit, because inputs must be finite
SLOWEST = 1e-30  # Least speed (rad/s or m/s) for power limits, at which they have no effect
EXPLAINED = 1e-9  # Distance (rad or m) from the position that velocities lead to which counts as rounding
ROWS = ("lower", "upper", "velocity", "power", "braking")
"""Limits with one number for each joint; curves follow them."""


@dataclass(frozen=True)
class Layout:
    """Places of the results of the step program for n joints."""

    n: int

    NAMES = (
        *("wished_qdd", "wished_torques", "least_torques", "greatest_torques", "least_qdd", "greatest_qdd"),
        *("nearest_qdd", "nearest_torques", "nearest_qd", "nearest_q"),
        *("path_qdd", "path_torques", "path_qd", "path_q", "H", "q", "qd", "wished_q", "wished_qd"),
        *("asked_q", "asked_qd", "asked_torques"),
    )
    """Vectors of n numbers; the rows of A and single numbers follow them."""
    NUMBERS = ("wish", "nearest", "least_part", "greatest_part")
    """Greatest violation of the desired step and of the nearest one, and the interval of s."""

    def vector(self, name: str) -> slice:
        """Return the place of a vector."""
        k = self.NAMES.index(name)
        return slice(k * self.n, (k + 1) * self.n)

    @property
    def inertia(self) -> slice:
        """Place of A."""
        begin: int = len(self.NAMES) * self.n
        return slice(begin, begin + self.n * self.n)

    def number(self, name: str) -> int:
        """Return the index of a number."""
        return self._end + self.NUMBERS.index(name)

    @property
    def size(self) -> int:
        """Length of the result."""
        return self._end + len(self.NUMBERS)

    @property
    def _end(self) -> int:
        return (len(self.NAMES) + self.n) * self.n


def step_program(robot: Robot, points: int) -> Program:
    """Return the program of a robot whose torque-speed curves have a number of points."""
    n = robot.dof
    sizes = {
        **dict.fromkeys(("q", "qd", "q_next", "qd_next", "external"), n),
        "limits": n * (len(ROWS) + 3 * points),
        "times": 2,
    }
    return closed(robot, trace("step", partial(step, robot, points), sizes, (Layout(n).size,)))


def step(
    robot: Robot,
    points: int,
    q: Vector,
    qd: Vector,
    q_next: Vector,
    qd_next: Vector,
    external: Vector,
    limits: Vector,
    times: Vector,
) -> list[Scalar]:
    """Return the results for a desired step, in the order of `Layout`.

    With A and H the inertia matrix and bias torques at the present state (Kvrgic-Vidakovic, (42), (43)):

    * the desired accelerations, ``qdd = (qd_next - qd) / dt``, and their torques ``u = A qdd + H``;
    * with the torques cut at their limits, the resulting accelerations, from ``A qdd = u - H`` (44);
    * the greatest factor s of the desired velocities for which ``qdd = (s qd_next - qd) / dt`` keeps all
      limits. All limited values are linear in s, so each limit leaves an interval of it.

    A desired position at a distance x from that to which the velocities lead needs more: in a time T the
    joint accelerates by ``4 x / T^2`` in the first half, is faster by ``2 x / T`` in the middle, and brakes
    as much in the second half.

    Args:
        points: points of each torque-speed curve.
        q, qd: positions and velocities (rad or m; rad/s or m/s).
        q_next: desired positions after the step (rad or m).
        qd_next: desired velocities after it (rad/s or m/s).
        external: torques for what links exert on the environment (N m or N).
        limits: `ROWS`, then speeds, torques and slopes of the curves, n numbers for each point.
        times: the step, and T (s).
    """
    n = robot.dof
    h, T = times
    rate = 1.0 / h
    rows = [limits[k * n : (k + 1) * n] for k in range(len(ROWS) + 3 * points)]
    lower, upper, velocity, power, braking = rows[: len(ROWS)]
    curve = rows[len(ROWS) :]
    A, H = _inertia_and_bias(robot, q, qd, external)
    # Joints that are outside already may go no further out, and no faster.
    lower = [_least(lower[i], q[i]) for i in range(n)]
    upper = [_greatest(upper[i], q[i]) for i in range(n)]
    fastest = [_greatest(velocity[i], abs(qd[i])) for i in range(n)]
    u_hi, u_lo = [], []
    for i in range(n):
        speed = abs(qd[i])
        effort = _on_curve(speed, [row[i] for row in curve], points)
        slow = _greatest(speed, SLOWEST)
        driving, held_back = power[i] / slow, braking[i] / slow
        forwards = larger(qd[i], 0.0, driving, held_back)
        backwards = larger(qd[i], 0.0, held_back, driving)
        u_hi.append(_least(effort, forwards))
        u_lo.append(-_least(effort, backwards))
    a_hi, a_lo = [], []
    for i in range(n):
        # q + h qd + h^2 qdd / 2 within the range, and qd + h qdd within the speed.
        straight = q[i] + h * qd[i]
        a_hi.append(_least((fastest[i] - qd[i]) * rate, 2.0 * rate * rate * (upper[i] - straight)))
        a_lo.append(_greatest((-fastest[i] - qd[i]) * rate, 2.0 * rate * rate * (lower[i] - straight)))
    wished = [(qd_next[i] - qd[i]) * rate for i in range(n)]
    needed = _torques(A, wished, H)
    landing = [q[i] + 0.5 * h * (qd[i] + qd_next[i]) for i in range(n)]
    unexplained = [_unexplained(q_next[i] - landing[i], 0.5 * h * (qd_next[i] - qd[i])) for i in range(n)]
    more_speed = [2.0 * x / T for x in unexplained]
    more = _torques(A, [4.0 * x / (T * T) for x in unexplained], [0.0] * n)
    asked_q = [_further(q_next[i], landing[i], lower[i], upper[i]) for i in range(n)]
    asked_qd = [
        _further(qd_next[i], 0.5 * (qd[i] + qd_next[i]) + more_speed[i], -fastest[i], fastest[i])
        for i in range(n)
    ]
    asked = [_further(needed[i] + more[i], needed[i] - more[i], u_lo[i], u_hi[i]) for i in range(n)]
    beyond: Scalar = -NONE
    for i in range(n):
        for value, least, most in (
            (asked[i], u_lo[i], u_hi[i]),
            (asked_q[i], lower[i], upper[i]),
            (asked_qd[i], -fastest[i], fastest[i]),
        ):
            beyond = _greatest(beyond, _beyond(value, least, most))
    allowed = [_greatest(_least(wished[i], a_hi[i]), a_lo[i]) for i in range(n)]
    cut = [_greatest(_least(u, u_hi[i]), u_lo[i]) for i, u in enumerate(_torques(A, allowed, H))]
    nonzero = [[i for i in range(k) if not is_zero(A[k][i])] for k in range(n)]
    found = solved(factorised(A, nonzero), [cut[i] - H[i] for i in range(n)])  # (44)
    off: Scalar = -NONE
    for i in range(n):
        off = _greatest(off, _greatest(found[i] - a_hi[i], a_lo[i] - found[i]))
    at_rest = [-qd[i] * rate for i in range(n)]
    by_part = [qd_next[i] * rate for i in range(n)]
    stopping, rising = _torques(A, at_rest, H), _torques(A, by_part, [0.0] * n)
    least_part: Scalar = 0.0
    greatest_part: Scalar = 1.0
    for base, slope, least, most in (
        *zip(stopping, rising, u_lo, u_hi, strict=True),
        *zip(at_rest, by_part, a_lo, a_hi, strict=True),
    ):
        low, high = _interval(base, slope, least, most)
        least_part, greatest_part = _greatest(least_part, low), _least(greatest_part, high)
    part = greatest_part
    slower = [at_rest[i] + part * by_part[i] for i in range(n)]
    return [
        *(*wished, *needed, *u_lo, *u_hi, *a_lo, *a_hi),
        *(*found, *cut, *_reached(q, qd, found, h)),
        *(*slower, *_torques(A, slower, H), *_reached(q, qd, slower, h), *H),
        *(*q, *qd, *q_next, *qd_next, *asked_q, *asked_qd, *asked),
        *(value for row in A for value in row),
        *(beyond, off, least_part, greatest_part),
    ]


def _inertia_and_bias(
    robot: Robot, q: Vector, qd: Vector, external: Vector
) -> tuple[list[list[Scalar]], list[Scalar]]:
    n = robot.dof
    flat = list(kinds(robot)["inertia_and_bias"].algorithms[0](robot, q, qd))
    A = [flat[i * n : (i + 1) * n] for i in range(n)]
    return A, [bias + more for bias, more in zip(flat[n * n :], external, strict=True)]


def _unexplained(off: Scalar, band: Scalar) -> Scalar:
    """Distance of a position from the interval that velocities on a straight line lead to (rad or m).

    Constant accelerations lead to its middle, and the Euler methods to both ends.

    Args:
        off: distance from the middle (rad or m).
        band: half of the length of the interval, of either sign.
    """
    explained = abs(band) + EXPLAINED
    return larger(off, explained, off - explained, larger(-explained, off, off + explained, 0.0))


def _beyond(value: Scalar, least: Scalar, most: Scalar) -> Scalar:
    return _greatest(value - most, least - value)


def _further(a: Scalar, b: Scalar, least: Scalar, most: Scalar) -> Scalar:
    """The value that is further out of its limits, or nearer to them; a if both are equal."""
    return larger(_beyond(b, least, most), _beyond(a, least, most), b, a)


def _on_curve(speed: Scalar, numbers: Vector, points: int) -> Scalar:
    """Torque of a curve at a speed; `numbers` are the speeds, torques and slopes of its points."""
    speeds, efforts, slopes = (numbers[k * points : (k + 1) * points] for k in range(3))
    found = efforts[-1]
    for k in reversed(range(points - 1)):
        after = _greatest(speed - speeds[k], 0.0)
        found = larger(speeds[k + 1], speed, efforts[k] + slopes[k] * after, found)
    return found


def _interval(base: Scalar, slope: Scalar, least: Scalar, most: Scalar) -> tuple[Scalar, Scalar]:
    """First and last s with ``least <= base + slope s <= most``; if no s fits, last < first."""
    up, down = (most - base) / slope, (least - base) / slope
    whole = larger(base, most, NONE, larger(least, base, NONE, -NONE))
    flat = larger(abs(slope), 0.0, 0.0, 1.0)
    low = larger(flat, 0.5, whole, larger(slope, 0.0, down, up))
    high = larger(flat, 0.5, -whole, larger(slope, 0.0, up, down))
    return low, high


def _torques(A: Sequence[Vector], qdd: Vector, H: Vector) -> list[Scalar]:
    """Return ``A qdd + H``."""
    return [
        sum((entry * value for entry, value in zip(row, qdd, strict=True)), bias)
        for row, bias in zip(A, H, strict=True)
    ]


def _reached(q: Vector, qd: Vector, qdd: Vector, h: Scalar) -> list[Scalar]:
    """Velocities, then positions, after a step with constant accelerations."""
    rates = [v + h * a for v, a in zip(qd, qdd, strict=True)]
    return rates + [x + 0.5 * h * (v + w) for x, v, w in zip(q, qd, rates, strict=True)]


def _least(a: Scalar, b: Scalar) -> Scalar:
    return larger(a, b, b, a)


def _greatest(a: Scalar, b: Scalar) -> Scalar:
    return larger(a, b, a, b)
