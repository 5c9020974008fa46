# SPDX-License-Identifier: Apache-2.0
"""Warnings that do not flood the log."""

from __future__ import annotations

from dyn_nodes.complaints import Complaints


class Log:
    """Complaints with a clock that the test sets."""

    def __init__(self) -> None:
        self.now = 7.0
        self.lines: list[str] = []
        self.complaints = Complaints(self.lines.append, 5.0, lambda: self.now)


def test_each_cause_is_warned_of_once_in_a_while() -> None:
    log = Log()
    for k in range(80):
        log.complaints.say(f"too old by {k} s", "too old")
        log.now += 0.125
    assert log.lines == ["too old by 0 s", "too old by 40 s"]


def test_different_causes_are_told_apart() -> None:
    log = Log()
    for cause in ("a", "b", "a", "b"):
        log.complaints.say(f"sentence about {cause}", cause)
    assert log.lines == ["sentence about a", "sentence about b"]


def test_what_is_bad_in_ever_new_ways_does_not_flood_the_log() -> None:
    """10 kHz of names that nobody knows, for ten seconds."""
    log = Log()
    for k in range(100_000):
        log.complaints.say(f"unknown joint 'joint_{k}'", f"joint_{k}")
        log.now += 1e-4
    assert len(log.lines) <= 3 * 11
    assert sum("more is wrong than is told" in line for line in log.lines) in (1, 2, 3)
    log.now += 5.0
    log.complaints.say("later", "later")
    assert log.lines[-1] == "later"


def test_whether_it_was_said_is_answered() -> None:
    log = Log()
    assert log.complaints.say("sentence", "a")
    assert not log.complaints.say("sentence", "a")
    assert [log.complaints.say("sentence", f"b{k}") for k in range(11)] == [True] * 9 + [False] * 2
    log.now += 5.0
    assert log.complaints.say("sentence", "a")
