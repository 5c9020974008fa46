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
_MEASURED = {"actual", "act", "measured", "meas", "feedback", "fb", "sensor", "estimated"}
_WANTED = {
    *("target", "desired", "des", "cmd", "command", "commanded", "ref", "reference", "setpoint", "sp"),
    *("goal", "error", "err"),
}
_CURRENTS = {"current", "currents"}
_NOISE = {"joint_states", "joint_state", "of", "field", "data", "msg", "state", "states"}
_UNIT_WORDS = {
    *("rad", "deg", "nm", "ms", "us", "ns", "s", "sec", "rads", "rpm", "mm", "amp", "amps"),
    *("radps", "degps"),
}
_CARTESIAN = {"x", "y", "z", "w", "roll", "pitch", "yaw", "rx", "ry", "rz"}
_TIMES = {"time", "t", "timestamp", "stamp", "timestamps", "times", "clock"}
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
        part: of a time that has two columns ``sec`` or ``nanosec``.
    """

    quantity: str
    joint: str = ""
    unit: Unit | None = None
    is_wanted: bool = False
    part: str = ""


def column_name(name: str) -> ColumnName | None:
    """Answer what a name says; None where it says nothing of a joint or of time."""
    bare, text = _without_unit(name.strip())
    tokens = [(match.group().lower(), match.span()) for match in _TOKEN.finditer(bare)]
    if not tokens:
        return None
    words = [word for word, _ in tokens]
    stamp = _time(words, text)
    if stamp is not None:
        return stamp
    is_wanted = False
    quantity: str | None = None
    word_unit = text
    has_other = any(_QUANTITIES.get(word) and word not in _CURRENTS for word in words)
    first, last = 0, len(tokens)
    # The words around the joint, from both ends; the quantity is one of them.
    for step in ("left", "right"):
        while first < last:
            word = words[first] if step == "left" else words[last - 1]
            found = _QUANTITIES.get(word)
            if word in _CURRENTS and has_other:
                found = None
            elif quantity is not None or found is None:
                is_wanted = is_wanted or word in _WANTED
                is_unit = step == "right" and word in _UNIT_WORDS and not word_unit and last - first > 1
                if is_unit:
                    word_unit = word
                elif word not in _WANTED | _MEASURED | _NOISE:
                    break
            quantity = quantity or found
            first, last = (first + 1, last) if step == "left" else (first, last - 1)
    inner = [k for k in range(first, last - 1) if words[k] in _QUANTITIES and words[k] not in _CURRENTS]
    if quantity is None and len(inner) == 1:
        quantity, first = _QUANTITIES[words[inner[0]]], inner[0] + 1
    if quantity is None:
        return None
    joint = bare[tokens[first][1][0] : tokens[last - 1][1][1]] if first < last else ""
    joint = joint.rsplit("/", 1)[-1]
    if joint.lower() in _CARTESIAN:
        return None
    known = None if quantity == ACCELERATION else _unit(quantity, word_unit)
    if known is None and any(word in _CURRENTS for word in words) and quantity == EFFORT:
        known = unit(EFFORT, "A")
    return ColumnName(quantity, joint, known, is_wanted)


def _time(words: list[str], text: str) -> ColumnName | None:
    rest = [word for word in words if word not in _NOISE and word != "header"]
    if rest and rest[0] in _TIMES:
        tail = rest[1:]
        if not tail:
            return ColumnName(TIME, unit=_unit(TIME, text))
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


def _without_unit(name: str) -> tuple[str, str]:
    """Answer a name without the unit in brackets at its end, and that unit; a number there is no unit."""
    match = _BRACKETED.search(name)
    if match is None or match.group(1).isdecimal() or match.start() == 0:
        return name, ""
    return name[: match.start()], match.group(1)


def _unit(quantity: str, text: str) -> Unit | None:
    if quantity == VELOCITY and text in ("rads", "radps", "rad"):
        text = "rad/s"
    if quantity == VELOCITY and text in ("degps", "deg"):
        text = "deg/s"
    return unit(quantity, text) if text else None
