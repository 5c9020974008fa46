# SPDX-License-Identifier: Apache-2.0
"""Checks what nodes publish, as bytes, with the standard library alone: no code is shared with the nodes.

As a program it takes frames on standard input, and prints what is wrong as lines of JSON, a count at the end:

    python fuzz/torque_checker.py CASE < frames

A frame is the time (s, float64), the time on the clock of stamps (ns, int64), a byte that says whether the
node heard (0) or published (1) the message or whether it is an event (2), the lengths of topic and message
(uint16, uint32), the topic and the bytes of the message. Events are `DEACTIVATED`, before the last message of
the node, and `ACTIVATED`.
"""

from __future__ import annotations

import json
import math
import struct
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

FRAME = struct.Struct("<dqBHI")
HEARD, PUBLISHED, EVENT = 0, 1, 2
DEACTIVATED, ACTIVATED = "deactivated", "activated"
RATE = 50.0
"""Greatest change of a torque in a second, as a share of its limit."""
LONGEST_S = 0.004
"""Time between two messages that counts for this rate at most (s)."""
_MOST_POINTS = 10_000
_RANGE_SLACK = 0.01
"""Distance by which positions may be out of their range (rad or m)."""
_LIVE = (0, 1)
"""Values of `status` of torques that follow from data: STATUS_OK and STATUS_LIMITED."""
_LAST_STATUS = 4
_LARGEST = 1e9
_ROUNDING = 1e-9


class Undecodable(Exception):
    """Bytes that are not the message."""


class Cdr:
    """Reads plain CDR: numbers are aligned to their size, from the fourth byte on."""

    def __init__(self, raw: bytes) -> None:
        if len(raw) < 4 or raw[0] != 0 or raw[1] not in (0, 1):
            raise Undecodable("no encapsulation")
        self._raw, self._at, self._order = raw, 4, "<" if raw[1] else ">"

    def number(self, code: str) -> Any:
        """Return one number."""
        return self._numbers(code, 1)[0]

    def _numbers(self, code: str, count: int) -> tuple[Any, ...]:
        size = struct.calcsize(f"={code}")
        begin = self._at + (4 - self._at) % size if count else self._at
        end = begin + count * size
        if end > len(self._raw):
            raise Undecodable(f"{count} numbers at {begin} of {len(self._raw)} bytes")
        self._at = end
        return struct.unpack(f"{self._order}{count}{code}", self._raw[begin:end])

    def text(self) -> str:
        """Return a text, without the null at its end."""
        data = bytes(self._numbers("B", self.number("I")))
        return data.split(b"\0")[0].decode(errors="replace")

    def texts(self) -> list[str]:
        """Return a list of texts."""
        count = self.number("I")
        if count > len(self._raw):
            raise Undecodable(f"{count} texts")
        return [self.text() for _ in range(count)]

    def doubles(self) -> tuple[float, ...]:
        """Return a list of float64."""
        return self._numbers("d", self.number("I"))

    def header(self) -> int:
        """Pass a header; return its stamp (ns)."""
        seconds, rest = self.number("i"), self.number("I")
        self.text()
        return int(seconds) * 10**9 + int(rest)

    def end(self) -> None:
        """See that nothing is left but padding."""
        if len(self._raw) - self._at > 3:
            raise Undecodable(f"{len(self._raw) - self._at} bytes are left")


@dataclass
class Case:
    """What a node has to keep to.

    Attributes:
        joints: joints of torques and joint states.
        limits: greatest efforts by joint; infinite where there is none.
        ranges: least and greatest positions by joint (rad or m).
        commanded: joints of arrays of commands, in their order.
        timeout: after which data are stale (s), with what timers and clocks add.
        max_age: greatest difference between a stamp and the clock (s).
        ramp: duration of the shortest ramp (s).
        follows_desired: whether torques may be live by references and trajectories alone.
        sees_all: whether all messages and events of the node come here, with exact times.
    """

    joints: list[str]
    limits: dict[str, float]
    ranges: dict[str, tuple[float, float]]
    commanded: list[str]
    timeout: float
    max_age: float = 0.1
    ramp: float = 0.5
    follows_desired: bool = False
    sees_all: bool = True

    @staticmethod
    def of_description(text: str, passive: Sequence[str] = (), **options: Any) -> Case:
        """Return the case of a robot from its URDF."""
        limits, ranges = {}, {}
        for joint in ET.fromstring(text).iter("joint"):
            kind, name = joint.get("type"), joint.get("name", "")
            if kind in ("revolute", "prismatic", "continuous") and joint.find("mimic") is None:
                limit = joint.find("limit")
                given = {} if limit is None else limit.attrib
                limits[name] = float(given.get("effort", "inf")) or math.inf
                if kind != "continuous":
                    ranges[name] = float(given.get("lower", "0")), float(given.get("upper", "0"))
        joints = [name for name in limits if name not in passive]
        commanded = options.pop("commanded", joints)
        return Case(joints, {name: limits[name] for name in joints}, ranges, commanded, **options)


@dataclass
class Checker:
    """Checks all messages of one node, in the order in which they came."""

    case: Case
    counts: dict[str, int] = field(default_factory=dict)
    _measured: float = -math.inf
    _desired: float = -math.inf
    _has_trajectory: bool = False
    _sent: dict[str, float] = field(default_factory=dict)
    """The last torques by joint; empty before any."""
    _sent_at: float = -math.inf
    """Their time (s)."""
    _ends: bool = False
    """Whether one more message may come, which may step."""
    _begin: tuple[float, dict[str, float]] | None = None
    """Time and values of the first torques after an activation."""

    def told(self, event: str) -> None:
        """Take an event of the node."""
        self._ends = event == DEACTIVATED
        self._has_trajectory = False
        self._begin = None

    def restarted(self) -> None:
        """Begin from zero: the process of the node is another one."""
        self._sent, self._sent_at, self._ends, self._begin = {}, -math.inf, False, None
        self._measured = self._desired = -math.inf
        self._has_trajectory = False

    def measured(self, now: float) -> None:
        """Take it that the node got good joint states now."""
        self._measured = now

    def heard(self, topic: str, raw: bytes, now: float, clock: int) -> None:
        """Take a message to the node; what could be good data is remembered.

        `now` is the time (s), `clock` that of the clock of the stamps (ns).
        """
        try:
            if topic == "/joint_states" and self._could_be_good(raw, clock, rates=("velocity", "effort")):
                self._measured = now
            elif topic == "reference" and self._could_be_good(raw, clock, rates=("velocity", "acceleration")):
                self._desired = now
            elif topic == "joint_trajectory" and self._could_be_followed(Cdr(raw)):
                self._has_trajectory = True
        except Undecodable:
            return

    def published(self, topic: str, raw: bytes, now: float, clock: int) -> str:
        """Return what is wrong with a message of the node, or an empty text."""
        check = getattr(self, f"_check_{topic}", None)
        if check is None:
            return ""
        self.counts[topic] = self.counts.get(topic, 0) + 1
        try:
            return str(check(Cdr(raw), now, clock))
        except Undecodable as problem:
            return f"cannot be decoded: {problem}"

    def _could_be_good(self, raw: bytes, clock: int, rates: Sequence[str]) -> bool:
        """Whether positions of all joints are there once, finite and plausible, with a stamp of now."""
        cdr = Cdr(raw)
        stamp = cdr.header()
        names, positions = cdr.texts(), cdr.doubles()
        for _ in rates:
            cdr.doubles()
        of_joint = dict(zip(names, positions, strict=False))
        return abs(clock - stamp) <= 1e9 * self.case.max_age + 1 and all(
            names.count(name) == 1 and abs(of_joint.get(name, math.nan)) <= _LARGEST
            for name in self.case.joints
        )

    def _could_be_followed(self, cdr: Cdr) -> bool:
        """Whether a trajectory is whole, finite, in range and in order; one without points is a stop."""
        cdr.header()
        names, count = cdr.texts(), cdr.number("I")
        if count == 0:
            return True
        if count > _MOST_POINTS or any(names.count(name) != 1 for name in self.case.joints):
            return False
        last = -1
        for _ in range(count):
            vectors = [cdr.doubles() for _ in range(4)]
            time = int(cdr.number("i")) * 10**9 + int(cdr.number("I"))
            position, velocity, acceleration = vectors[:3]
            if len(position) != len(names) or not {len(velocity), len(acceleration)} <= {0, len(names)}:
                return False
            if time <= last or not all(abs(x) <= _LARGEST for x in (*position, *velocity, *acceleration)):
                return False
            for name, x in zip(names, position, strict=True):
                lower, upper = self.case.ranges.get(name, (-math.inf, math.inf))
                if not lower - _RANGE_SLACK <= x <= upper + _RANGE_SLACK:
                    return False
            last = time
        return True

    def _check_torques(self, cdr: Cdr, now: float, clock: int) -> str:
        stamp = cdr.header()
        names, vectors, status = cdr.texts(), [cdr.doubles() for _ in range(5)], cdr.number("B")
        cdr.end()
        if sorted(names) != sorted(self.case.joints):
            return f"joints are {names}"
        if any(len(vector) != len(names) for vector in vectors):
            return f"lengths are {[len(vector) for vector in vectors]}"
        if not all(map(math.isfinite, (x for vector in vectors for x in vector))):
            return f"not finite: {vectors}"
        if status > _LAST_STATUS:
            return f"status is {status}"
        age = 1e-9 * (clock - stamp)
        if not -self.case.max_age <= age <= self.case.timeout:
            return f"stamp is {age:.3f} s old"
        follows = self.case.follows_desired
        last = max(self._measured, self._desired) if follows else self._measured
        if status in _LIVE and now - last > self.case.timeout and not (follows and self._has_trajectory):
            return f"live {now - last:.3f} s after the last data that could be good"
        total = dict(zip(names, vectors[-1], strict=True))
        before, self._sent = self._sent, total
        then, self._sent_at = self._sent_at, now
        if self._ends or not self.case.sees_all:  # between two messages that come, others may be lost
            self._ends = False
            return self._beyond(total)
        span = min(now - then, LONGEST_S)
        return self._beyond(total) or self._stepped(before, total, span) or self._sudden(before, total, now)

    def _check_commands(self, cdr: Cdr, *_: float) -> str:
        for _ in range(cdr.number("I")):
            cdr.text(), cdr.number("I"), cdr.number("I")
        cdr.number("I")
        values = cdr.doubles()
        cdr.end()
        if len(values) != len(self.case.commanded):
            return f"{len(values)} commands"
        named = dict(zip(self.case.commanded, values, strict=True))
        if self.case.sees_all:
            torques = {name: self._sent.get(name) for name in named}
            if torques != named:
                return f"commands {named} are not the torques {torques}"
        return self._beyond(named)

    def _stepped(self, before: Mapping[str, float], values: Mapping[str, float], span: float) -> str:
        """Return which joint changes by more than it may in a time `span` (s)."""
        for name, value in values.items():
            change = abs(value - before.get(name, 0.0))
            if not change <= (RATE * span + _ROUNDING) * self._limit(name):
                return f"joint {name!r} changes by {change} in {span:.4f} s"
        return ""

    def _sudden(self, before: Mapping[str, float], values: Mapping[str, float], now: float) -> str:
        """Return what is wrong with the first torques after an activation.

        They go from those that were sent last, zero before any, to others within their limits, in a ramp.
        """
        if self._begin is None:
            self._begin = now, dict(values)
            changes = {name: abs(x - before.get(name, 0.0)) for name, x in values.items()}
            is_smooth = all(change <= _ROUNDING * self._limit(name) for name, change in changes.items())
            return "" if is_smooth else f"torques begin at {dict(values)} after {dict(before)}"
        begin, first = self._begin
        part = smooth_step((now - begin) / self.case.ramp)
        for name, value in values.items():
            most = part * (self._limit(name) + abs(first[name])) + _ROUNDING * self._limit(name)
            if not abs(value - first[name]) <= most:
                return f"joint {name!r} is at {value} from {first[name]} in {now - begin:.3f} s of the ramp"
        return ""

    def _limit(self, name: str) -> float:
        return self.case.limits.get(name, math.inf)

    def _check_joint_states(self, cdr: Cdr, *_: float) -> str:
        cdr.header()
        names, position, velocity, effort = cdr.texts(), cdr.doubles(), cdr.doubles(), cdr.doubles()
        cdr.end()
        if not len(names) == len(position) == len(velocity) == len(effort) == len(set(names)):
            return f"lengths are {len(names)}, {len(position)}, {len(velocity)}, {len(effort)}"
        if not set(self.case.joints) <= set(names):
            return f"joints are {names}"
        if not all(map(math.isfinite, (*position, *velocity))):
            return f"not finite: {position}, {velocity}"
        return self._beyond(dict(zip(names, effort, strict=True)))

    def _check_joint_trajectory_effort(self, cdr: Cdr, *_: float) -> str:
        return self._trajectory(cdr, efforts=True)

    def _check_feasible_trajectory(self, cdr: Cdr, *_: float) -> str:
        return self._trajectory(cdr, efforts=False)

    def _trajectory(self, cdr: Cdr, *, efforts: bool) -> str:
        cdr.header()
        names, count = cdr.texts(), cdr.number("I")
        for _ in range(count):
            vectors = [cdr.doubles() for _ in range(4)]
            cdr.number("i"), cdr.number("I")
            if any(vector and len(vector) != len(names) for vector in vectors):
                return f"lengths are {[len(vector) for vector in vectors]} for {len(names)} joints"
            if not all(map(math.isfinite, (x for vector in vectors for x in vector))):
                return f"not finite: {vectors}"
            if efforts and (wrong := self._beyond(dict(zip(names, vectors[3], strict=False)))):
                return wrong
        return ""

    def _check_feasible_reference(self, cdr: Cdr, *_: float) -> str:
        cdr.header()
        names, vectors = cdr.texts(), [cdr.doubles() for _ in range(3)]
        if any(vector and len(vector) != len(names) for vector in vectors) or not vectors[0]:
            return f"lengths are {[len(vector) for vector in vectors]} for {len(names)} joints"
        finite = all(map(math.isfinite, (x for vector in vectors for x in vector)))
        return "" if finite else f"not finite: {vectors}"

    def _beyond(self, values: Mapping[str, float]) -> str:
        for name, value in values.items():
            if not abs(value) <= self._limit(name) * (1.0 + _ROUNDING):
                return f"joint {name!r} gets {value}"
        return ""


def smooth_step(u: float) -> float:
    """Return the smooth polynomial from 0 at u = 0 to 1 at u = 1, of slope 0 at both ends."""
    u = min(max(u, 0.0), 1.0)
    return u**3 * (10.0 - 15.0 * u + 6.0 * u * u)


def frame(now: float, clock: int, direction: int, topic: str, raw: bytes = b"") -> bytes:
    """Return a message as this program takes it."""
    name = topic.encode()
    return FRAME.pack(now, clock, direction, len(name), len(raw)) + name + raw


def check_stream(stream: BinaryIO, case: Case) -> int:
    """Check frames until they end; print what is wrong, then counts; return how many were wrong."""
    checker, wrong, number = Checker(case), 0, 0
    while len(head := stream.read(FRAME.size)) == FRAME.size:
        now, clock, direction, name_size, size = FRAME.unpack(head)
        topic, raw = stream.read(name_size).decode(), stream.read(size)
        if direction == HEARD:
            checker.heard(topic, raw, now, clock)
        elif direction == EVENT:
            checker.told(topic)
        elif problem := checker.published(topic, raw, now, clock):
            wrong += 1
            print(json.dumps({"frame": number, "topic": topic, "problem": problem[:400]}), flush=True)
        number += 1
    print(json.dumps({"frames": number, "wrong": wrong, "counts": checker.counts}), flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(1 if check_stream(sys.stdin.buffer, Case(**json.loads(sys.argv[1]))) else 0)
