# SPDX-License-Identifier: Apache-2.0
"""What the actuators make of a wished step: straight-line code, traced for one robot.

With A and H the inertia matrix and bias torques at the present state (Kvrgic-Vidakovic, eqs. (42), (43)):

* the accelerations of the wish, ``qdd = (qd_next - qd) / dt``, and the torques ``u = A qdd + H`` they need;
* with the torques cut at their limits, the accelerations that these give, from ``A qdd = u - H`` (44);
* the greatest part s of the wished velocities for which ``qdd = (s qd_next - qd) / dt`` keeps all limits:
  all that is limited is linear in s, so that each limit leaves an interval of it.

A wish whose position is not one that its velocities lead to needs more: with x the distance between both,
the joint has to accelerate by ``4 x / T^2`` in the first half of a time T, be faster by ``2 x / T`` in its
middle, and brake as much in the second half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from dyn_core.codegen.traced_program import Program, trace
from dyn_core.dynamics.factorisation import factorised, solved
from dyn_core.facade.closed import closed
from dyn_core.model.fixed_base.dynamics_programs import kinds
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar, is_zero, larger

Vector = Sequence[Scalar]

NONE = 1e100
"""What stands for no limit: inputs have to be finite."""
SLOWEST = 1e-30
"""Speed (rad/s or m/s) below which power is looked at as at this speed: then it limits nothing."""
EXPLAINED = 1e-9
"""Distance (rad or m) from a position that velocities lead to which is none: that of rounding."""
ROWS = ("lower", "upper", "velocity", "power", "braking")
"""Limits that are one number for each joint; curves come after them."""


@dataclass(frozen=True)
class Layout:
    """Where in the result what is, for n joints.

    Attributes:
        n: number of joints.
    """

    n: int

    NAMES = (
        *("wished_qdd", "wished_torques", "least_torques", "greatest_torques", "least_qdd", "greatest_qdd"),
        *("nearest_qdd", "nearest_torques", "nearest_qd", "nearest_q"),
        *("path_qdd", "path_torques", "path_qd", "path_q", "H", "q", "qd", "wished_q", "wished_qd"),
        *("asked_q", "asked_qd", "asked_torques"),
    )
    """Vectors of n numbers; after them the rows of A, and then what is one number."""
    NUMBERS = ("wish", "nearest", "least_part", "greatest_part")
    """How far the wish is beyond what is allowed, and the motion that is next to it; the interval of s."""

    def vector(self, name: str) -> slice:
        """Answer where a vector is."""
        k = self.NAMES.index(name)
        return slice(k * self.n, (k + 1) * self.n)

    @property
    def inertia(self) -> slice:
        """Where A is."""
        begin: int = len(self.NAMES) * self.n
        return slice(begin, begin + self.n * self.n)

    def number(self, name: str) -> int:
        """Answer where a number is."""
        return self._end + self.NUMBERS.index(name)

    @property
    def size(self) -> int:
        """Length of the result."""
        return self._end + len(self.NUMBERS)

    @property
    def _end(self) -> int:
        return (len(self.NAMES) + self.n) * self.n


def step_program(robot: Robot, points: int) -> Program:
    """Answer the program of a robot whose torque-speed curves have so many points."""
    n = robot.dof
    sizes = {
        **dict.fromkeys(("q", "qd", "q_next", "qd_next", "external"), n),
        "limits": n * (len(ROWS) + 3 * points),
        "times": 2,
    }
    algorithm = partial(step, robot, points)
    return closed(robot, trace("step", algorithm, sizes, (Layout(n).size,)))


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
    """Answer what a step is made into, in the order of `Layout`.

    Args:
        robot: the robot.
        points: points of each torque-speed curve.
        q: positions (rad or m).
        qd: velocities (rad/s or m/s).
        q_next: wished positions after the step (rad or m).
        qd_next: wished velocities after it (rad/s or m/s).
        external: torques for what links exert on the environment (N m or N).
        limits: `ROWS`, then speeds, torques and slopes of the curves, n numbers for each point.
        times: the step, and T, which joints have for positions that velocities do not lead to (s).
    """
    n = robot.dof
    h, T = times
    rate = 1.0 / h
    rows = [limits[k * n : (k + 1) * n] for k in range(len(ROWS) + 3 * points)]
    lower, upper, velocity, power, braking = rows[: len(ROWS)]
    curve = rows[len(ROWS) :]
    A, H = _inertia_and_bias(robot, q, qd, external)
    # Who is outside already may go no further out, and no faster.
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
    """How far a position is from all that velocities lead to which go from one to the next on a straight way.

    Constant accelerations lead to the middle of these, and the Euler methods to both ends.

    Args:
        off: distance from the middle (rad or m).
        band: half of the distance between the ends, of either sign.
    """
    explained = abs(band) + EXPLAINED
    return larger(off, explained, off - explained, larger(-explained, off, off + explained, 0.0))


def _beyond(value: Scalar, least: Scalar, most: Scalar) -> Scalar:
    return _greatest(value - most, least - value)


def _further(a: Scalar, b: Scalar, least: Scalar, most: Scalar) -> Scalar:
    """Of two values the one that is further out of its limits, or nearer to them; the first of equal ones."""
    return larger(_beyond(b, least, most), _beyond(a, least, most), b, a)


def _on_curve(speed: Scalar, numbers: Vector, points: int) -> Scalar:
    """Torque of a curve, of which there are the speeds, torques and slopes, by points."""
    speeds, efforts, slopes = (numbers[k * points : (k + 1) * points] for k in range(3))
    found = efforts[-1]
    for k in reversed(range(points - 1)):
        after = _greatest(speed - speeds[k], 0.0)
        found = larger(speeds[k + 1], speed, efforts[k] + slopes[k] * after, found)
    return found


def _interval(base: Scalar, slope: Scalar, least: Scalar, most: Scalar) -> tuple[Scalar, Scalar]:
    """For which s ``least <= base + slope s <= most``: from the first to the second, if it is not less."""
    up, down = (most - base) / slope, (least - base) / slope
    whole = larger(base, most, NONE, larger(least, base, NONE, -NONE))
    flat = larger(abs(slope), 0.0, 0.0, 1.0)
    low = larger(flat, 0.5, whole, larger(slope, 0.0, down, up))
    high = larger(flat, 0.5, -whole, larger(slope, 0.0, up, down))
    return low, high


def _torques(A: Sequence[Vector], qdd: Vector, H: Vector) -> list[Scalar]:
    torques = []
    for row, bias in zip(A, H, strict=True):
        total = bias
        for entry, value in zip(row, qdd, strict=True):
            total = total + entry * value
        torques.append(total)
    return torques


def _reached(q: Vector, qd: Vector, qdd: Vector, h: Scalar) -> list[Scalar]:
    """Velocities, then positions, after a step with constant accelerations."""
    rates = [v + h * a for v, a in zip(qd, qdd, strict=True)]
    return rates + [x + 0.5 * h * (v + w) for x, v, w in zip(q, qd, rates, strict=True)]


def _least(a: Scalar, b: Scalar) -> Scalar:
    return larger(a, b, b, a)


def _greatest(a: Scalar, b: Scalar) -> Scalar:
    return larger(a, b, a, b)
