# SPDX-License-Identifier: Apache-2.0
"""Log of a robot motion in SI units, the units of log columns, and the control law of a motion."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import ArgumentError
from dyn_core.core.findings import Finding
from dyn_core.core.messages import Message

TURN = 2.0 * math.pi
POSITION, VELOCITY, EFFORT, TIME = "position", "velocity", "effort", "time"


@dataclass(frozen=True)
class Unit:
    """A unit of one quantity.

    Attributes:
        name: printed name.
        factor: factor to the resulting unit: rad, m, s, N m, N, their quotients, or a raw unit.
        result: the resulting unit; a raw one (``A``, ``V``, ``counts``, ``1``) still needs a gain.
    """

    name: str
    factor: float
    result: str

    @property
    def is_raw(self) -> bool:
        """Whether the value is proportional to the quantity, by a gain that the user has to give."""
        return self.result in ("A", "V", "counts", "counts/s", "1")


_LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "um": 1e-6, "in": 0.0254}
_ANGLES = {"rad": 1.0, "mrad": 1e-3, "deg": TURN / 360.0, "rev": TURN, "arcmin": TURN / 21600.0}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_PREFIXES = {"": 1.0, "m": 1e-3, "c": 1e-2, "k": 1e3}
_CURRENTS = (("A", 1.0, "A"), ("mA", 1e-3, "A"), ("V", 1.0, "V"), ("mV", 1e-3, "V"))
_FACTORS: dict[str, list[tuple[str, float, str]]] = {
    TIME: [(name, factor, "s") for name, factor in _SECONDS.items()],
    POSITION: [
        *((name, factor, "rad") for name, factor in _ANGLES.items()),
        *((name, factor, "m") for name, factor in _LENGTHS.items()),
        ("counts", 1.0, "counts"),
    ],
    VELOCITY: [
        *(
            (f"{name}/{rate}", factor / _SECONDS[rate], result)
            for names, result in ((_ANGLES, "rad/s"), (_LENGTHS, "m/s"))
            for name, factor in names.items()
            for rate in ("s", "min")
        ),
        ("counts/s", 1.0, "counts/s"),
    ],
    EFFORT: [
        *((f"{prefix}{name}", x, name) for name in ("N m", "N") for prefix, x in _PREFIXES.items()),
        *_CURRENTS,
        *(("counts", 1.0, "counts"), ("%", 1e-2, "1"), ("permille", 1e-3, "1")),
    ],
}
UNITS = {quantity: {unit[0]: Unit(*unit) for unit in units} for quantity, units in _FACTORS.items()}
"""Units by quantity and name."""

_SPELLINGS = {
    spelling: name
    for name, spellings in {
        "rad": ("radian", "radians", "rads"),
        "deg": ("degree", "degrees", "degs", "°"),
        "rev": ("turn", "turns", "revs"),
        "rev/min": ("rpm",),
        "deg/s": ("dps", "deg/sec", "°/s"),
        "rad/s": ("rad/sec", "rads-1", "rad.s-1", "rad s-1", "rad*s^-1", "rad s^-1"),
        "m": ("meter", "meters", "metre", "metres"),
        "counts": ("count", "ticks", "inc", "increments"),
        "s": ("sec", "secs", "second", "seconds"),
        "ms": ("msec", "millisecond", "milliseconds"),
        "us": ("usec", "µs", "μs", "microseconds"),
        "ns": ("nsec", "nanosec", "nanoseconds"),
        "min": ("minutes",),
        "A": ("amp", "amps", "ampere", "amperes", "a"),
        "mA": ("ma",),
        "V": ("volt", "volts", "v"),
        "%": ("percent",),
        "permille": ("per mille", "‰"),
    }.items()
    for spelling in spellings
}

_LEVERS = {"ncm": "cN m", "nmm": "mN m"}


def unit(quantity: str, text: str) -> Unit | None:
    """Return the unit of a quantity that a text names; None if it names none."""
    known = UNITS[quantity]
    word = " ".join(text.replace("·", " ").replace("*", " ").split())
    joined = word.replace(" ", "").replace(".", "")
    if quantity == EFFORT and (bare := joined.replace("-", "")).lower().endswith("nm"):
        return known.get(f"{bare[:-2]}N m")
    if quantity == EFFORT and (lever := _LEVERS.get(joined.lower())):
        return known[lever]
    for candidate in (word, _SPELLINGS.get(word.lower(), ""), _SPELLINGS.get(text.strip().lower(), "")):
        if candidate in known:
            return known[candidate]
    return known.get(word.lower())


@dataclass(frozen=True, eq=False)
class Control:
    """The control law that moved a robot: ``tau = kp (q_r - q) + kd (qd_r - qd) + feedforward``, limited.

    Attributes:
        q: set points q_r of the positions (rad or m), (N, n).
        qd: set points qd_r of the velocities (rad/s or m/s), (N, n).
        feedforward: feedforward torques (N m or N), (N, n).
        kp: gains (N m/rad or N/m), (n,).
        kd: gains (N m s/rad or N s/m), (n,).
        limit: greatest torques (N m or N), (n,).
    """

    q: Array
    qd: Array
    feedforward: Array
    kp: Array
    kd: Array
    limit: Array

    def __post_init__(self) -> None:
        """Refuse arrays whose shapes do not match; ValueError, which names them."""
        if self.q.ndim != 2:
            raise ArgumentError("control-positions-shape", given=self.q.shape)
        shapes = dict.fromkeys(("qd", "feedforward"), self.q.shape)
        shapes |= dict.fromkeys(("kp", "kd", "limit"), self.q.shape[1:])
        for name, shape in shapes.items():
            given = getattr(self, name).shape
            if given != shape:
                raise ArgumentError("control-array-shape", argument=name, expected=shape, given=given)

    def part(self, first: int, last: int) -> Control:
        """Return the control of the samples from `first` to `last`, exclusive."""
        return self._map(lambda array: array[first:last])

    def _map(self, function: Callable[[Array], Array]) -> Control:
        """Return the control with a function of each array over time."""
        q, qd, feedforward = (function(array) for array in (self.q, self.qd, self.feedforward))
        return replace(self, q=q, qd=qd, feedforward=feedforward)

    def of_joints(self, indices: Sequence[int]) -> Control:
        """Return the control of some joints, in this order."""
        k = list(indices)
        q, qd, feedforward = (array[:, k] for array in (self.q, self.qd, self.feedforward))
        return Control(q, qd, feedforward, self.kp[k], self.kd[k], self.limit[k])

    def at(self, times: Array, own: Array) -> Control:
        """Return the control at other times (s), interpolated linearly between its `own` times."""
        return self._map(lambda array: np.column_stack([np.interp(times, own, x) for x in array.T]))


@dataclass(frozen=True, eq=False)
class Log:
    """Samples of a robot's joints, on the joint side, finite and in order of time.

    Attributes:
        joint_names: names of the n joints, in the order of every column.
        time: time after the first sample (s), increasing, (N,).
        q: positions (rad or m), (N, n).
        tau: efforts (N m or N), (N, n); the column of a joint without measured effort is NaN.
        qd: measured velocities (rad/s or m/s), (N, n); None unless they are known for all joints.
        units: unit of each position, ``rad`` or ``m``.
        period: sampling period (s), without the effect of gaps.
        segments: stretches without gaps, as first sample and the one after the last.
        findings: anomalies and repairs.
        done: processing steps from the file to the log.
        source: path of the file; empty for arrays.
        start: time of the first sample on the clock of the recording (s).
        control: control law with its set points at these times; None if it is unknown.
        drives: drives that move several joints, by the joint that they are named for: by joint, the speed of
            the drive, after the ratio, where this joint alone has the speed 1.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    tau: Array
    qd: Array | None
    units: tuple[str, ...]
    period: float
    segments: tuple[tuple[int, int], ...]
    findings: tuple[Finding, ...] = ()
    done: tuple[Message, ...] = ()
    source: str = ""
    start: float = 0.0
    control: Control | None = None
    drives: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return numbers of joints and samples, and the duration."""
        return f"<Log of {len(self.joint_names)} joints, {len(self.time)} samples, {self.duration:g} s>"

    def with_control(self, control: Control) -> Log:
        """Return the log with the control law that moved the robot."""
        return replace(self, control=control)

    @property
    def duration(self) -> float:
        """Time from the first to the last sample (s)."""
        return float(self.time[-1] - self.time[0])

    @property
    def rate(self) -> float:
        """Sample rate (Hz)."""
        return 1.0 / self.period

    @property
    def has_effort(self) -> tuple[bool, ...]:
        """Whether the effort of each joint was measured."""
        return tuple(np.isfinite(self.tau[0]).tolist())
