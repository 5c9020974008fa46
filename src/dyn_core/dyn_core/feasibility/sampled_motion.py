# SPDX-License-Identifier: Apache-2.0
"""Motions as samples over time, read from CSV files, and the consistency of their columns."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Literal, TypeAlias

import numpy as np

from dyn_core.control.trajectories.loop_positions import TOLERANCE, PassiveAgreement
from dyn_core.control.trajectories.piecewise_polynomials import spline_velocities
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.core.messages import Message
from dyn_core.core.number_table import TIME, NumberTable, at_line, read_number_stream, read_number_table
from dyn_core.core.text import path_text
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot

Rate: TypeAlias = Literal["velocity", "acceleration"]
QUANTITIES = ("position", "velocity", "acceleration", "effort")
PLURALS = {"velocity": "velocities", "acceleration": "accelerations"}
LEAST = {"velocity": (0.01, 0.02), "acceleration": (0.1, 0.5)}
"""Contradictions below these are not reported: change of the values, difference of the rates (for velocities
rad and rad/s, or m and m/s; for accelerations the same per s). Noise makes them, with little effect."""
STANDARD_INPUT = "standard input"  # Name of a stream in messages


@dataclass(frozen=True, eq=False)
class SampledMotion:
    """Motion of the joints over time; `read_motion` checks that velocities agree with positions.

    Attributes:
        times: times (s), increasing, (m,).
        q, qd, qdd: positions, velocities, accelerations (rad or m, per s, per s^2), (m, n).
        derived: quantities that were computed by differences: "velocity", "acceleration".
    """

    times: Array
    q: Array
    qd: Array
    qdd: Array
    derived: tuple[str, ...] = ()

    def slower(self, factor: float) -> SampledMotion:
        """Return the motion on the same path in `factor` times the time."""
        times = self.times[0] + factor * (self.times - self.times[0])
        return SampledMotion(times, self.q, self.qd / factor, self.qdd / factor**2, self.derived)


def read_motion(path: str | os.PathLike[str] | BinaryIO, robot: Robot) -> SampledMotion:
    """Return the motion in a CSV file as written by ``dyn excite`` and ``dyn simulate``.

    The columns are ``time`` (s), ``position.<joint>`` for each joint, and optionally ``velocity.<joint>`` and
    ``acceleration.<joint>``. Velocities or accelerations that some joint lacks are computed by central
    differences. Efforts are ignored. Columns of joints that mimic others or close loops are compared with the
    joints that they follow, except velocities of passive joints. Raise DynError if the file cannot be read,
    or contradicts itself; the message names line and column.

    Args:
        path: path of the file, or standard input as a stream.
    """
    needed = "position.<joint> for each joint"
    check = partial(_check_names, robot)
    if isinstance(path, str | os.PathLike):
        shown = path_text(path)
        table = read_number_table(path, "positions", check, needed)
    else:
        shown = STANDARD_INPUT
        table = read_number_stream(path, shown, "positions", check, needed)
    try:
        return _motion(table, robot)
    except DynError as error:
        raise error.in_file(shown) from error


def _motion(table: NumberTable, robot: Robot) -> SampledMotion:
    count = len(table.times)
    if count < 3:
        if count == 1:
            raise DynError("motion-single-sample", count=count)
        raise DynError("motion-samples-too-few", count=count)
    q, qd, qdd = (_columns(table, quantity, robot.coordinate_names) for quantity in QUANTITIES[:3])
    assert q is not None
    derived = []
    if qd is None:
        qd = np.gradient(q, table.times, axis=0, edge_order=2)
        derived.append("velocity")
    else:
        _check_rates(table, robot, "velocity", q, qd)
        if qdd is not None:
            _check_between(table, robot, q, qd, qdd)
    if qdd is None:
        qdd = np.gradient(qd, table.times, axis=0, edge_order=2)
        derived.append("acceleration")
    else:
        _check_rates(table, robot, "acceleration", qd, qdd)
    check_following(robot, table, q, qd, qdd)
    return SampledMotion(table.times.copy(), q, qd, qdd, tuple(derived))


def _check_rates(table: NumberTable, robot: Robot, quantity: Rate, values: Array, rates: Array) -> None:
    """Raise DynError, with joint, column and time, for rates that clearly contradict the values."""
    found = contradictions(table.times, values, rates, *LEAST[quantity])
    if found:
        changing = "positions" if quantity == "velocity" else "velocities"
        cause = _cause(robot, "rates-unlike-changes", found[0], quantity, changing=changing)
        raise _refused(table, robot, quantity, found, cause)


def _check_between(table: NumberTable, robot: Robot, q: Array, qd: Array, qdd: Array) -> None:
    """Raise DynError for velocities that contradict accelerations which agree with the positions."""
    found = contradictions(table.times, qd, qdd, *LEAST["acceleration"])
    if not found:
        return
    # Differences of sparse samples are too small, like those with a wrong factor; splines are not.
    ends = np.gradient(q, table.times, axis=0, edge_order=2)
    made = spline_velocities(table.times, q, ends[0], ends[-1])
    others = {one.joint for one in contradictions(table.times, made, qdd, *LEAST["acceleration"])}
    found = [one for one in found if one.joint not in others]
    if found:
        cause = _cause(robot, "velocities-unlike-accelerations", found[0], "acceleration")
        raise _refused(table, robot, "velocity", found, cause)


def _cause(robot: Robot, code: str, one: Contradiction, quantity: Rate, **values: str) -> Message:
    rates = {"given": one.given + 0.0, "made": one.made + 0.0, "unit": _unit(robot, one, quantity)}
    return Message(code, joint=robot.coordinate_names[one.joint], **rates, **values)


def _refused(
    table: NumberTable, robot: Robot, quantity: Rate, found: Sequence[Contradiction], cause: Message
) -> DynError:
    one = found[0]
    return at_line(
        int(table.lines[int(np.searchsorted(table.times, one.begin))]),
        "motion-rates-contradict" if len(found) == 1 else "motion-rates-contradict-in-several",
        f"{quantity}.{robot.coordinate_names[one.joint]}",
        begin=one.begin,
        end=one.end,
        cause=cause,
        others=len(found) - 1,
        rates=PLURALS[quantity],
        unit=_unit(robot, one, quantity),
    )


def _unit(robot: Robot, one: Contradiction, quantity: Rate) -> str:
    per = "/s" if quantity == "velocity" else "/s^2"
    return f"{robot.independent_joints[one.joint].position_unit}{per}"


def _check_names(robot: Robot, names: Sequence[str], line: int) -> None:
    joints = (*robot.coordinate_names, *following_names(robot))
    known = {TIME, *(f"{quantity}.{joint}" for quantity in QUANTITIES for joint in joints)}
    for name in names:
        if name not in known:
            columns = [f"{quantity}.<joint>" for quantity in QUANTITIES]
            raise at_line(line, "motion-column-unknown", name, known=columns, joints=robot.coordinate_names)
    missing = [joint for joint in robot.coordinate_names if f"position.{joint}" not in names]
    if missing:
        raise at_line(line, "motion-positions-missing", missing=missing)


def _columns(table: NumberTable, quantity: str, joints: Sequence[str]) -> Array | None:
    names = [f"{quantity}.{joint}" for joint in joints]
    if any(name not in table.names for name in names):
        return None
    return table.values[:, [table.names.index(name) for name in names]]


# Consistency of the columns: rates against values, followers against leaders

ALIKE = 0.9  # Correlation below which two signals are taken as different, and not as multiples of each other
ROOM = 0.1  # Tolerance of a factor: sensors and filters have gains, too


@dataclass(frozen=True)
class Gain:
    """Factor between two signals that should be equal: the least and the greatest value that it can have.

    With s the ratio of the deviations and rho the correlation, regression of each signal on the other gives
    the factors ``rho s`` and ``s / rho``. Noise, delays and filters move these apart. Only if both are above
    1, or both below, the factor itself is wrong.
    """

    least: float
    greatest: float

    def is_off(self, room: float = 0.0) -> bool:
        """True if it is clearly not 1; `room` is an additional relative tolerance."""
        most = 1.0 + ROOM + room
        return self.least > most or self.greatest * most < 1.0


def gain(given: Array, real: Array, *, offset: bool) -> Gain | None:
    """Return the factor of one signal (m,) relative to another; None if they are altogether different.

    Args:
        given: the signal.
        real: the reference.
        offset: whether the signals may differ by a constant, like those of sensors.
    """
    if offset:
        given, real = given - given.mean(), real - real.mean()
    both = float(given @ real)
    own, other = float(given @ given), float(real @ real)
    if not both > ALIKE * np.sqrt(own * other):
        return None
    return Gain(both / other, own / both)


# Consistency of rates and values: velocities of positions, accelerations of velocities
#
# Measured values are noisy, sparse samples are not an integral, and impacts make velocities jump. So changes
# of the values are compared with integrals of the rates, not over one sample but over a time in which the
# values move, and must differ most of the time. Noise is estimated from differences of higher order, which
# are nearly free of motion. Rates that are a multiple of the real ones, as with a wrong gear ratio, may
# differ less: their factor is tested separately.

APART = 0.5
"""Relative difference of changes and integrals: trapezoids of a sine with four samples per period are off
by a fifth, with three by two fifths."""
HALF = 0.5  # Values move in the shortest time in which they change by this fraction of their greatest change
STILL = 1e-3  # Fraction of the greatest change below which values are at rest
NOISE = 2.0  # Least ratio of a difference to that due to noise, for many samples
FEW = 10.0  # Number of samples at which this ratio is doubled: noise is hard to estimate from few samples
CLEAN = 1e-3  # Greatest relative noise of computed rates, which have no offset
LESS = 0.1  # Fraction of the least differences that applies to multiples of computed rates
LATE = 3.0  # Samples by which rates may be late: in a motion with few samples, a delay looks like a factor
ORDER = 3  # Order of the differences from which noise is estimated


@dataclass(frozen=True)
class Contradiction:
    """A joint whose rates contradict its values."""

    joint: int  # index of the joint
    begin: float  # begin of the time in which it is clearest (s)
    end: float  # its end (s)
    given: float  # mean of the rates in it
    made: float  # rate at which the values change in it


def contradictions(
    times: Array, values: Array, rates: Array, least_change: float, least_rate: float
) -> list[Contradiction]:
    """Return the joints whose rates are clearly of another motion, or in another unit.

    Args:
        times: times of the samples (s), increasing, (m,).
        values: the values, (m, n).
        rates: their rates, (m, n).
        least_change: difference of changes that is tolerated.
        least_rate: difference of rates that is tolerated.
    """
    steps = np.diff(times)[:, None]
    areas = 0.5 * steps * (rates[:-1] + rates[1:])
    integral = np.concatenate((np.zeros((1, values.shape[1])), np.cumsum(areas, axis=0)))
    # Times of 1, 2, 4 ... samples, at most a quarter of all.
    lags = 2 ** np.arange(max(1, (len(times) - 1) // 4).bit_length())
    spans = np.array([_rms((times[lag:] - times[:-lag])[:, None])[0] for lag in lags])
    changed, integrated, apart = (
        np.array([_rms(x[lag:] - x[:-lag]) for lag in lags]) for x in (values, integral, values - integral)
    )
    # White noise of the rates makes a random walk of their integral.
    walk = _rms(steps) * _noise(rates)[None, :] * np.sqrt(lags)[:, None]
    noise = math.sqrt(2.0) * _noise(values)[None, :] + walk
    different = apart > APART * np.maximum(changed, integrated)
    clear = NOISE * (1.0 + FEW / len(times))
    least = np.maximum(least_change, least_rate * spans)[:, None]
    matters, shows = ((apart > clear * noise) & (apart > part * least) for part in (1.0, LESS))
    found = []
    for j in range(values.shape[1]):
        moving = [int(np.argmax(x[:, j] >= HALF * x[:, j].max())) for x in (changed, integrated)]
        telling = [k for k in moving if (shows if is_clean(rates[:, j]) else matters)[k, j]]
        if not telling:
            continue
        others = (
            matters[moving, j].any()
            and different[moving, j].all()
            and all(_mostly(values[:, j], integral[:, j], int(lags[k])) for k in moving)
        )
        if others or _scaled(times, values[:, j], rates[:, j], integral[:, j], int(lags[max(moving)])):
            lag = int(lags[telling[0]])
            change, area = (x[lag:, j] - x[:-lag, j] for x in (values, integral))
            worst = int(np.abs(change - area).argmax())
            begin, end = float(times[worst]), float(times[worst + lag])
            span = end - begin
            found.append(Contradiction(j, begin, end, float(area[worst]) / span, float(change[worst]) / span))
    return found


def _mostly(values: Array, integral: Array, lag: int) -> bool:
    """True if changes over `lag` samples differ from integrals during most of the motion.

    Stops and impacts make them differ for a moment only.
    """
    change, area = (x[lag:] - x[:-lag] for x in (values, integral))
    size = np.maximum(np.abs(change), np.abs(area))
    moving = size > STILL * size.max()
    different = np.abs(change - area)[moving] > APART * size[moving]
    return bool(np.count_nonzero(different) > HALF * len(different))


def _scaled(times: Array, values: Array, rates: Array, integral: Array, lag: int) -> bool:
    """True if integrals over `lag` samples are clearly multiples of the changes."""
    if lag < 2:
        return False
    area = integral[lag:] - integral[:-lag]
    found = gain(area, values[lag:] - values[:-lag], offset=not is_clean(rates))
    if found is None:
        return False
    # Trapezoids with half as many samples have four times the error.
    rough = np.concatenate(([0.0], np.cumsum(0.5 * np.diff(times[::2]) * (rates[:-2:2] + rates[2::2]))))
    off = integral[::2] - rough
    half = lag // 2
    sparse = float(_rms(off[half:] - off[:-half]) / _rms(area))
    return found.is_off(sparse + LATE / len(times))


def is_clean(rates: Array) -> bool:
    """True if rates (m,) have nearly no noise, so they do not come from a sensor."""
    return bool(_noise(rates[:, None])[0] <= CLEAN * _rms(rates))


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(values * values, axis=0)))


def _noise(values: Array) -> Array:
    """Return the deviation of white noise with the same differences as values (m, n), by column."""
    order = min(ORDER, len(values) - 1)
    return _rms(np.diff(values, n=order, axis=0)) / math.sqrt(math.comb(2 * order, order))


# Joints that follow others
#
# The motion of joints that mimic others, and of the passive joints of loops, follows from that of the others.
# Recordings of all joints have columns for them, which must agree.

LEAST_OF_FOLLOWERS = {"velocity": 0.1, "acceleration": 5.0}
"""Root mean square deviation that is always tolerated (rad/s, m/s, or these per s)."""


def following_names(robot: Robot) -> tuple[str, ...]:
    """Return the joints that follow others: those that mimic, and the passive joints of loops."""
    mimics = tuple(joint.name for joint in robot.joints if joint.mimic is not None)
    return (*mimics, *robot.passive_joint_names)


def check_following(robot: Robot, table: NumberTable, q: Array, qd: Array, qdd: Array) -> None:
    """Raise DynError, with line and column, for columns that contradict the joints that their joint follows.

    Where loops do not close, nothing is compared: other checks refuse that.

    Args:
        table: the file, with columns ``position.<joint>`` and so on.
        q: positions of the coordinates (rad or m), (m, n).
        qd: velocities (rad/s or m/s), (m, n).
        qdd: accelerations (rad/s^2 or m/s^2), (m, n).
    """
    for name, leader, expected in _positions(robot, table, q):
        column = f"position.{name}"
        joint = robot.joint(name)
        given = table.values[:, table.names.index(column)]
        apart = given - expected
        if joint.sigma is Sigma.REVOLUTE:
            # Not all sources count turns.
            apart = np.remainder(apart + math.pi, 2.0 * math.pi) - math.pi
        if np.abs(apart).max() > TOLERANCE:
            raise _refused_follower(table, column, joint.position_unit, given, apart, leader)
    for joint in robot.joints:
        mimic = joint.mimic
        if mimic is None or (mimic.leader and mimic.leader not in robot.coordinates):
            continue
        for quantity, per, rates in (("velocity", "/s", qd), ("acceleration", "/s^2", qdd)):
            column = f"{quantity}.{joint.name}"
            if column not in table.names:
                continue
            given = table.values[:, table.names.index(column)]
            leader, expected = "", np.zeros(len(given))
            if mimic.leader:
                leader = robot.joints[mimic.leader - 1].name
                expected = mimic.multiplier * rates[:, robot.coordinates.index(mimic.leader)]
            apart = given - expected
            room = max(LEAST_OF_FOLLOWERS[quantity], APART * float(max(_rms(given), _rms(expected))))
            factor = gain(given, expected, offset=not (is_clean(given) and is_clean(expected)))
            if _rms(apart) > (LEAST_OF_FOLLOWERS[quantity] if factor and factor.is_off() else room):
                raise _refused_follower(table, column, f"{joint.position_unit}{per}", given, apart, leader)


def _positions(robot: Robot, table: NumberTable, q: Array) -> Iterator[tuple[str, str | None, Array]]:
    """Yield each following joint with a column of positions, its leader, and its expected positions (m,).

    The leader is empty for a joint that follows none, and None for one that follows the loops.
    """
    named = [name for name in following_names(robot) if f"position.{name}" in table.names]
    of_joint = dict(zip(robot.coordinates, q.T, strict=True))
    leaders = {joint.mimic.leader for joint in robot.joints if joint.mimic and joint.name in named}
    passive = robot.passive_joint_names if robot.loops else ()
    numbers = {joint.name: j for j, joint in enumerate(robot.joints, start=1)}
    if any(name in named or numbers[name] in leaders for name in passive):
        followed = PassiveAgreement(robot).followed(q)
        if followed is None:
            return
        of_joint |= {numbers[name]: column for name, column in zip(passive, followed.T, strict=True)}
    for name in named:
        mimic = robot.joint(name).mimic
        if mimic is None:
            yield name, None, of_joint[numbers[name]]
        elif mimic.leader:
            leader = robot.joints[mimic.leader - 1].name
            yield name, leader, mimic.multiplier * of_joint[mimic.leader] + mimic.offset
        else:
            yield name, "", np.full(len(q), mimic.offset)


def _refused_follower(
    table: NumberTable, column: str, unit: str, given: Array, apart: Array, leader: str | None
) -> DynError:
    k = int(np.abs(apart).argmax())
    code = "column-contradicts-leader" if leader else "column-of-fixed-mimic"
    return at_line(
        int(table.lines[k]),
        "column-contradicts-loops" if leader is None else code,
        column,
        joint=column.partition(".")[2],
        given=float(given[k]),
        time=float(table.times[k]),
        leader=leader,
        expected=float(given[k] - apart[k]) + 0.0,
        unit=unit,
    )
