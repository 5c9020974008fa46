# SPDX-License-Identifier: Apache-2.0
"""A recording: streams of named columns as readers return them, and the meaning of column names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.logs.log import EFFORT, POSITION, TIME, VELOCITY, Unit, unit

ACCELERATION = "acceleration"

_QUANTITIES = {
    **dict.fromkeys(("q", "pos", "position", "positions", "angle", "angles"), POSITION),
    **dict.fromkeys(("qd", "dq", "qdot", "dotq", "qp", "vel", "velocity", "velocities", "speed"), VELOCITY),
    **dict.fromkeys(
        ("tau", "effort", "efforts", "torque", "torques", "trq", "moment", "current", "currents", "force"),
        EFFORT,
    ),
    **dict.fromkeys(("qdd", "ddq", "qddot", "acc", "accel", "acceleration", "accelerations"), ACCELERATION),
}
_CURRENTS = {"current", "currents"}
_COMMANDS = {
    *("target", "desired", "des", "cmd", "command", "commanded", "ref", "reference", "setpoint", "sp"),
    *("goal", "error", "err"),
}
_MOTOR = {"motor", "motors", "rotor"}
_SKIPPED = {
    *(*_COMMANDS, *_MOTOR),
    *("actual", "act", "measured", "meas", "msr", "feedback", "fb", "sensor", "estimated", "of"),
    *("joint_states", "joint_state", "field", "data", "msg", "state", "states"),
}
_UNIT_WORDS = {
    *("rad", "deg", "nm", "ms", "us", "ns", "s", "sec", "rads", "rpm", "mm", "amp", "amps"),
    *("radps", "degps"),
}
_NOT_OF_JOINTS = {"tcp", "ee", "eef", "cartesian", "cart", "pose", "wrench", "ft", "imu", "orientation"}
_CARTESIAN = {"x", "y", "z", "w", "roll", "pitch", "yaw", "rx", "ry", "rz"}
_TIMES = {"time", "t", "timestamp", "stamp", "timestamps", "times", "clock"}
_LONG_TIMES = {"time", "timestamp", "stamp"}
_PARTS = {
    **dict.fromkeys(("sec", "secs"), "sec"),
    **dict.fromkeys(("nanosec", "nsec", "nsecs", "nanosecs"), "nanosec"),
}
_UNITS_OF_SPEED = {**dict.fromkeys(("rads", "radps", "rad"), "rad/s"), "degps": "deg/s", "deg": "deg/s"}

_TOKEN = re.compile(r"joint_?states?|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]|\d+", re.ASCII)
_BRACKETED = re.compile(r"[\[(<]\s*([^\[\]()<>]*?)\s*[\])>]\s*$")


@dataclass(frozen=True)
class ColumnName:
    """Meaning of the name of a column.

    Attributes:
        quantity: ``position``, ``velocity``, ``effort``, ``acceleration`` or ``time``.
        joint: name of the joint, its number, or nothing.
        unit: the unit, if the name has one.
        is_command: whether it is a target, a command or an error, and not a measurement.
        is_motor: whether it belongs to the motor.
        part: ``sec`` or ``nanosec`` for a time in two columns.
        unknown_unit: text in brackets after the name that is not a unit of the quantity.
    """

    quantity: str
    joint: str = ""
    unit: Unit | None = None
    is_command: bool = False
    is_motor: bool = False
    part: str = ""
    unknown_unit: str = ""


def column_name(name: str) -> ColumnName | None:
    """Return the meaning of a name; None if it is neither of a joint nor of time.

    Names are split into words, as in ``position.elbow``, ``elbow_pos [deg]``, ``/joint_states/elbow/effort``,
    ``q1``, ``tau[3]``, ``actual_qd_0`` and ``time_ms``. The quantity is the first or the last word, beside
    words for measurements and commands; the rest is the joint.
    """
    bare, bracket = _without_unit(name.strip())
    tokens = list(_TOKEN.finditer(bare))
    words = [token.group().lower() for token in tokens]
    if not words:
        return None
    stamp = _time(words, bracket) or _time_of_structure(bare, bracket)
    if stamp is not None:
        return stamp
    found = None if _NOT_OF_JOINTS & set(words) else _around_the_joint(words)
    if found is None:
        return None
    first, last, quantity, unit_word = found
    joint = bare[tokens[first].start() : tokens[last - 1].end()] if first < last else ""
    joint = joint.rsplit("/", 1)[-1]
    if joint.lower() in _CARTESIAN:
        return None
    known = _unit(quantity, bracket or unit_word, words)
    is_remark = all(word.group().lower() in {*_SKIPPED, "si"} for word in _TOKEN.finditer(bracket))
    return ColumnName(
        quantity,
        joint,
        known,
        is_command=bool(_COMMANDS & set(words)),
        is_motor=bool(_MOTOR & set(words)),
        unknown_unit=bracket if known is None and not is_remark else "",
    )


def _around_the_joint(words: list[str]) -> tuple[int, int, str, str] | None:
    """Return first and last word of the joint (exclusive), the quantity, and a word for the unit.

    The quantity is one of the words around the joint, or the only one within.
    """
    # A current beside another quantity is not an effort: `current_position`.
    others = [word for word in words if word in _QUANTITIES and word not in _CURRENTS]
    skipped = _SKIPPED | _CURRENTS if others else _SKIPPED
    quantity: str | None = None
    unit_word = ""
    first, last = 0, len(words)
    while first < last and (words[first] in skipped or (quantity is None and words[first] in _QUANTITIES)):
        if words[first] not in skipped:
            quantity = _QUANTITIES[words[first]]
        first += 1
    while first < last:
        word = words[last - 1]
        is_ampere = word == "a" and last - first > 1 and words[last - 2].isdecimal()
        if (word in _UNIT_WORDS or is_ampere) and not unit_word and last - first > 1:
            unit_word = word
        elif quantity is None and word in _QUANTITIES and word not in skipped:
            quantity = _QUANTITIES[word]
        elif word not in skipped:
            break
        last -= 1
    inner = [k for k in range(first, last - 1) if words[k] in others]
    if quantity is None and len(inner) == 1:
        quantity, first = _QUANTITIES[words[inner[0]]], inner[0] + 1
        while first < last - 1 and words[first] in skipped:
            first += 1
    return None if quantity is None else (first, last, quantity, unit_word)


def _time(words: list[str], text: str) -> ColumnName | None:
    rest = [word for word in words if word not in _SKIPPED and word != "header"]
    if rest and rest[0] in _TIMES:
        if len(rest) == 1:
            return ColumnName(TIME, unit=unit(TIME, text) if text else None)
        if len(rest) == 2 and rest[1] in _PARTS and "stamp" in rest:
            return ColumnName(TIME, part=_PARTS[rest[1]])
        if len(rest) == 2 and (known := unit(TIME, rest[1])) is not None:
            return ColumnName(TIME, unit=known)
    return ColumnName(TIME, part=_PARTS[rest[0]]) if len(rest) == 1 and rest[0] in _PARTS else None


def _time_of_structure(bare: str, text: str) -> ColumnName | None:
    """Return the meaning of the time of any structure, ``run7.time``."""
    structure, dot, field = bare.rpartition(".")
    words = [token.group().lower() for token in _TOKEN.finditer(field)]
    return _time(words, text) if dot and structure and words and words[0] in _LONG_TIMES else None


def _without_unit(name: str) -> tuple[str, str]:
    """Return a name without the unit in brackets at its end, and the unit; a number is not a unit."""
    match = _BRACKETED.search(name)
    if match is None or match.group(1).isdecimal() or match.start() == 0:
        return name, ""
    return name[: match.start()], match.group(1)


def _unit(quantity: str, text: str, words: list[str]) -> Unit | None:
    """Return the unit of a quantity by a text in brackets, or a word at the end of its name."""
    if quantity == ACCELERATION:
        return None
    if quantity == VELOCITY:
        text = _UNITS_OF_SPEED.get(text, text)
    if quantity == EFFORT and not text and _CURRENTS & set(words):
        text = "A"
    return unit(quantity, text) if text else None


Selection: TypeAlias = Callable[[Sequence[str]], Sequence[int]]
"""Function of the names of columns that returns the indices of those to be read."""


@dataclass(frozen=True, eq=False)
class Stream:
    """Columns with the same time stamps.

    Attributes:
        source: topic of a bag; empty for files with one stream.
        names: names of the columns.
        values: one row per sample, NaN where the file has no value, (N, columns).
        time: time stamps (s) if the format defines them, (N,); None if one of the columns has them.
        epoch: offset that is to be added to `time` (s).
        ignored: names of the columns that were not read.
        meanings: meaning of each column; empty if the names tell it.
    """

    source: str
    names: tuple[str, ...]
    values: Array
    time: Array | None = None
    epoch: float = 0.0
    ignored: tuple[str, ...] = ()
    meanings: tuple[ColumnName | None, ...] = ()


@dataclass(frozen=True, eq=False)
class Recording:
    """Contents of a log file.

    Attributes:
        form: kind of the file.
        streams: one for a table; for a bag one for each topic and set of joints.
        findings: findings about the file.
        others: topics without signals of joints, with their types.
    """

    form: str
    streams: tuple[Stream, ...]
    findings: tuple[Finding, ...] = ()
    others: tuple[str, ...] = ()


class Gather:
    """Rows of a table, collected block by block up to a number of values that fits in memory."""

    def __init__(self, columns: int, max_values: int) -> None:
        """Prepare a table with a number of columns, for a number of values."""
        self._columns = columns
        self._blocks: list[Array] = []
        self._room = max(max_values // max(columns, 1), 1)
        self.is_full = False

    def add(self, block: Array) -> bool:
        """Add the rows that fit, and return whether more rows fit."""
        if len(block) > self._room:
            block, self.is_full = block[: self._room], True
        self._blocks.append(block)
        self._room -= len(block)
        return not self.is_full

    def rows(self) -> Array:
        """Return all rows, (N, columns)."""
        if not self._blocks:
            return np.empty((0, self._columns))
        rows = np.concatenate(self._blocks) if len(self._blocks) > 1 else self._blocks[0]
        self._blocks = [rows]
        return rows


def cut_finding(rows: int) -> Finding:
    """Return the finding for a log that is too large, so that only its first rows are read."""
    return Finding(Severity.WARNING, "log", (), Message("log-too-large", count=rows))


def table(names: Sequence[str], chosen: Sequence[int], values: Array) -> Stream:
    """Return the stream of the `chosen` columns of a table, (N, columns)."""
    taken = set(chosen)
    ignored = tuple(name for k, name in enumerate(names) if k not in taken)
    return Stream("", tuple(names[k] for k in chosen), values, ignored=ignored)
