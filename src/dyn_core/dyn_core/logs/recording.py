# SPDX-License-Identifier: Apache-2.0
"""What the name of a column says: whose position, velocity or effort it is, and in which unit.

Names are read as words: ``position.elbow``, ``elbow_pos [deg]``, ``/joint_states/elbow/effort``, ``q1``,
``tau[3]``, ``actual_qd_0`` and ``time_ms`` all say what they are. The quantity is the first or the last
word, beside words that only say that it was measured or wanted; what is left is the joint.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dyn_core.logs.units import EFFORT, POSITION, TIME, VELOCITY, Unit, unit

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
_WANTED = {
    *("target", "desired", "des", "cmd", "command", "commanded", "ref", "reference", "setpoint", "sp"),
    *("goal", "error", "err"),
}
_MOTOR = {"motor", "motors", "rotor"}
_SKIPPED = {
    *(*_WANTED, *_MOTOR),
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
_SECONDS, _NANOSECONDS = {"sec", "secs"}, {"nanosec", "nsec", "nsecs", "nanosecs"}

_TOKEN = re.compile(r"joint_?states?|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]|\d+", re.ASCII)
_BRACKETED = re.compile(r"[\[(<]\s*([^\[\]()<>]*?)\s*[\])>]\s*$")


@dataclass(frozen=True)
class ColumnName:
    """What a name says.

    Attributes:
        quantity: ``position``, ``velocity``, ``effort``, ``acceleration`` or ``time``.
        joint: the rest of the name: that of the joint, or a number, or nothing.
        unit: the unit, where the name has one.
        is_wanted: whether this is a target, a command or an error, which nobody has measured.
        is_motor: whether it says that this is the motor's.
        part: of a time that has two columns ``sec`` or ``nanosec``.
        no_unit: what is in brackets behind the name, where it is no unit of the quantity.
    """

    quantity: str
    joint: str = ""
    unit: Unit | None = None
    is_wanted: bool = False
    is_motor: bool = False
    part: str = ""
    no_unit: str = ""


@dataclass(frozen=True)
class _Words:
    """Where the joint is among the words of a name, and what the others say."""

    first: int
    last: int
    quantity: str
    unit: str


def column_name(name: str) -> ColumnName | None:
    """Answer what a name says; None where it says nothing of a joint or of time."""
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
    joint = (
        bare[tokens[found.first].start() : tokens[found.last - 1].end()] if found.first < found.last else ""
    )
    joint = joint.rsplit("/", 1)[-1]
    if joint.lower() in _CARTESIAN:
        return None
    unit_of_it = _unit(found.quantity, bracket or found.unit, words)
    is_remark = all(word.group().lower() in {*_SKIPPED, "si"} for word in _TOKEN.finditer(bracket))
    return ColumnName(
        found.quantity,
        joint,
        unit_of_it,
        is_wanted=bool(_WANTED & set(words)),
        is_motor=bool(_MOTOR & set(words)),
        no_unit=bracket if unit_of_it is None and not is_remark else "",
    )


def _around_the_joint(words: list[str]) -> _Words | None:
    """Leave out the words around the joint; the quantity is one of them, or the only one within."""
    # A current beside another quantity is no quantity: `current_position`.
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
    return None if quantity is None else _Words(first, last, quantity, unit_word)


def _time(words: list[str], text: str) -> ColumnName | None:
    rest = [word for word in words if word not in _SKIPPED and word != "header"]
    if rest and rest[0] in _TIMES:
        tail = rest[1:]
        if not tail:
            return ColumnName(TIME, unit=unit(TIME, text) if text else None)
        if len(tail) == 1 and tail[0] in _NANOSECONDS and "stamp" in rest:
            return ColumnName(TIME, part="nanosec")
        if len(tail) == 1 and tail[0] in _SECONDS and "stamp" in rest:
            return ColumnName(TIME, part="sec")
        if len(tail) == 1 and unit(TIME, tail[0]) is not None:
            return ColumnName(TIME, unit=unit(TIME, tail[0]))
    if len(rest) == 1 and rest[0] in _SECONDS:
        return ColumnName(TIME, part="sec")
    if len(rest) == 1 and rest[0] in _NANOSECONDS:
        return ColumnName(TIME, part="nanosec")
    return None


def _time_of_structure(bare: str, text: str) -> ColumnName | None:
    """Answer the time of a structure of any name, ``run7.time``."""
    structure, dot, field = bare.rpartition(".")
    words = [token.group().lower() for token in _TOKEN.finditer(field)]
    return _time(words, text) if dot and structure and words and words[0] in _LONG_TIMES else None


def _without_unit(name: str) -> tuple[str, str]:
    """Answer a name without the unit in brackets at its end, and that unit; a number there is no unit."""
    match = _BRACKETED.search(name)
    if match is None or match.group(1).isdecimal() or match.start() == 0:
        return name, ""
    return name[: match.start()], match.group(1)


def _unit(quantity: str, text: str, words: list[str]) -> Unit | None:
    """Answer the unit that a text in brackets, or a word at the end, means for a quantity."""
    if quantity == ACCELERATION:
        return None
    if quantity == VELOCITY and text in ("rads", "radps", "rad"):
        text = "rad/s"
    if quantity == VELOCITY and text in ("degps", "deg"):
        text = "deg/s"
    if quantity == EFFORT and not text and _CURRENTS & set(words):
        text = "A"
    return unit(quantity, text) if text else None
