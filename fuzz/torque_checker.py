# SPDX-License-Identifier: Apache-2.0
"""Checks what nodes publish, as bytes, with the standard library alone: no code is shared with the nodes.

As a program it takes frames on standard input, and prints what is wrong as lines of JSON, a count at the end:

    python fuzz/torque_checker.py CASE < frames

A frame is the time (s, float64), a byte that says whether the node heard (0) or published (1) the message,
the lengths of topic and message (uint16, uint32), the topic and the bytes of the message.
"""

from __future__ import annotations

import json
import math
import struct
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

FRAME = struct.Struct("<dBHI")
HEARD, PUBLISHED = 0, 1
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

    def header(self) -> None:
        """Pass a header."""
        self._numbers("i", 1)
        self._numbers("I", 1)
        self.text()

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
        commanded: joints of arrays of commands, in their order.
        timeout: after which data are stale (s), with what timers and clocks add.
        follows_desired: whether torques may be live by references and trajectories alone.
    """

    joints: list[str]
    limits: dict[str, float]
    commanded: list[str]
    timeout: float
    follows_desired: bool = False

    @staticmethod
    def of_description(text: str, passive: Sequence[str] = (), **options: Any) -> Case:
        """Return the case of a robot from its URDF."""
        limits = {}
        for joint in ET.fromstring(text).iter("joint"):
            if joint.get("type") in ("revolute", "prismatic", "continuous") and joint.find("mimic") is None:
                limit = joint.find("limit")
                effort = None if limit is None else limit.get("effort")
                limits[joint.get("name", "")] = math.inf if effort is None else float(effort)
        joints = [name for name in limits if name not in passive]
        commanded = options.pop("commanded", joints)
        return Case(joints, {name: limits[name] for name in joints}, commanded, **options)


@dataclass
class Checker:
    """Checks all messages of one node, in the order in which they came."""

    case: Case
    counts: dict[str, int] = field(default_factory=dict)
    _measured: float = -math.inf
    _desired: float = -math.inf
    _has_trajectory: bool = False

    def heard(self, topic: str, raw: bytes, now: float) -> None:
        """Take a message to the node; what could be good data is remembered."""
        try:
            if topic == "/joint_states" and self._could_be_good(raw, rates=("velocity", "effort")):
                self._measured = now
            elif topic == "reference" and self._could_be_good(raw, rates=("velocity", "acceleration")):
                self._desired = now
            elif topic == "joint_trajectory":
                self._has_trajectory = True
        except Undecodable:
            return

    def published(self, topic: str, raw: bytes, now: float) -> str:
        """Return what is wrong with a message of the node, or an empty text."""
        check = getattr(self, f"_check_{topic}", None)
        if check is None:
            return ""
        self.counts[topic] = self.counts.get(topic, 0) + 1
        try:
            return str(check(Cdr(raw), now))
        except Undecodable as problem:
            return f"cannot be decoded: {problem}"

    def _could_be_good(self, raw: bytes, rates: Sequence[str]) -> bool:
        """Whether positions of all joints are there once, finite and plausible."""
        cdr = Cdr(raw)
        cdr.header()
        names, positions = cdr.texts(), cdr.doubles()
        for _ in rates:
            cdr.doubles()
        of_joint = dict(zip(names, positions, strict=False))
        return all(
            names.count(name) == 1 and abs(of_joint.get(name, math.nan)) <= _LARGEST
            for name in self.case.joints
        )

    def _check_torques(self, cdr: Cdr, now: float) -> str:
        cdr.header()
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
        follows = self.case.follows_desired
        last = max(self._measured, self._desired) if follows else self._measured
        if status in _LIVE and now - last > self.case.timeout and not (follows and self._has_trajectory):
            return f"live {now - last:.3f} s after the last data that could be good"
        return self._beyond(names, vectors[-1])

    def _check_commands(self, cdr: Cdr, _: float) -> str:
        for _ in range(cdr.number("I")):
            cdr.text(), cdr.number("I"), cdr.number("I")
        cdr.number("I")
        values = cdr.doubles()
        cdr.end()
        if len(values) != len(self.case.commanded):
            return f"{len(values)} commands"
        return self._beyond(self.case.commanded, values)

    def _check_joint_states(self, cdr: Cdr, _: float) -> str:
        cdr.header()
        names, position, velocity, effort = cdr.texts(), cdr.doubles(), cdr.doubles(), cdr.doubles()
        cdr.end()
        if not len(names) == len(position) == len(velocity) == len(effort) == len(set(names)):
            return f"lengths are {len(names)}, {len(position)}, {len(velocity)}, {len(effort)}"
        if not set(self.case.joints) <= set(names):
            return f"joints are {names}"
        if not all(map(math.isfinite, (*position, *velocity))):
            return f"not finite: {position}, {velocity}"
        return self._beyond(names, effort)

    def _check_joint_trajectory_effort(self, cdr: Cdr, _: float) -> str:
        return self._trajectory(cdr, efforts=True)

    def _check_feasible_trajectory(self, cdr: Cdr, _: float) -> str:
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
            if efforts and (wrong := self._beyond(names, vectors[3])):
                return wrong
        return ""

    def _check_feasible_reference(self, cdr: Cdr, _: float) -> str:
        cdr.header()
        names, vectors = cdr.texts(), [cdr.doubles() for _ in range(3)]
        if any(vector and len(vector) != len(names) for vector in vectors) or not vectors[0]:
            return f"lengths are {[len(vector) for vector in vectors]} for {len(names)} joints"
        finite = all(map(math.isfinite, (x for vector in vectors for x in vector)))
        return "" if finite else f"not finite: {vectors}"

    def _beyond(self, names: Sequence[str], values: Sequence[float]) -> str:
        for name, value in zip(names, values, strict=False):
            if not abs(value) <= self.case.limits.get(name, math.inf) * (1.0 + _ROUNDING):
                return f"joint {name!r} gets {value}"
        return ""


def frame(now: float, direction: int, topic: str, raw: bytes) -> bytes:
    """Return a message as this program takes it."""
    name = topic.encode()
    return FRAME.pack(now, direction, len(name), len(raw)) + name + raw


def check_stream(stream: BinaryIO, case: Case) -> int:
    """Check frames until they end; print what is wrong, then counts; return how many were wrong."""
    checker, wrong, number = Checker(case), 0, 0
    while len(head := stream.read(FRAME.size)) == FRAME.size:
        now, direction, name_size, size = FRAME.unpack(head)
        topic, raw = stream.read(name_size).decode(), stream.read(size)
        if direction == HEARD:
            checker.heard(topic, raw, now)
        elif problem := checker.published(topic, raw, now):
            wrong += 1
            print(json.dumps({"frame": number, "topic": topic, "problem": problem[:400]}), flush=True)
        number += 1
    print(json.dumps({"frames": number, "wrong": wrong, "counts": checker.counts}), flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(1 if check_stream(sys.stdin.buffer, Case(**json.loads(sys.argv[1]))) else 0)
