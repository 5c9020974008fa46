# SPDX-License-Identifier: Apache-2.0
"""Checks of data, problems as values, and their report in the log and on /diagnostics."""

from __future__ import annotations

import ast
import math
import re
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from refusals import refused
from sentence_patterns import said

import dyn_nodes
from dyn_core import DynError, ModelWarning
from dyn_core.control.command_limits import EffortLimits
from dyn_core.core.sentences.nodes import SENTENCES
from dyn_nodes.common import data_checks
from dyn_nodes.common.data_checks import LARGEST, Notice, Problem, Refusal, Rejection, cause_key, root_cause
from dyn_nodes.common.lifecycle.diagnostics import Complaints, Diagnostics, Failure, Notices
from dyn_nodes.common.lifecycle.robot_source import caught_warnings

LIMITS = EffortLimits(["turn", "lift"], [2.0, math.inf])
OLD = Rejection("stamp-too-old", message="joint state", age=0.3, limit=0.1)
BEYOND = float(np.nextafter(2.0, 3.0))


@pytest.mark.promise("outputs-within-limits")
def test_torques_are_clipped_to_limits_and_invalid_ones_are_refused() -> None:
    for given, expected in (
        ([0.5, 1e6], [0.5, 1e6]),
        ([[0.5, 1.0], [-2.0, 3.0]], [[0.5, 1.0], [-2.0, 3.0]]),
        ([-0.0, 5e-324], [-0.0, 5e-324]),
        ([BEYOND, 0.0], [2.0, 0.0]),
        ([[-1e300, 1.0], [3.0, 1.0]], [[-2.0, 1.0], [2.0, 1.0]]),
    ):
        assert data_checks.clipped(np.array(given), LIMITS).tolist() == expected
    for bad in (math.nan, math.inf, -math.inf):
        with refused("torque-not-finite", joint="lift"):
            data_checks.clipped(np.array([[0.0, 0.0], [1.0, bad]]), LIMITS)
    for shape in ((1,), (3,), (2, 3), ()):
        with refused("torques-shape", given=shape, count=2):
            data_checks.clipped(np.zeros(shape), LIMITS)


def test_implausible_numbers_are_found() -> None:
    for good in ([], [0.0], [-1.0, 1e8], [LARGEST], [5e-324, -0.0]):
        assert (data_checks.plausible(good), data_checks.too_large(good)) == (True, False), good
    for bad in (math.nan, math.inf, -math.inf, 1.1e9, -1e308):
        numbers = [3.0, -1e8, bad, 0.0]
        assert not data_checks.plausible(numbers), bad
        assert data_checks.worst_index(numbers) == 2
        assert data_checks.too_large(numbers) == math.isfinite(bad)
    assert not data_checks.plausible([math.inf, math.nan])


@pytest.mark.promise("refused-log-flood")
def test_text_on_one_line() -> None:
    assert data_checks.one_line("joint 'Gelenk_ü 关节' is 3 N·m") == "joint 'Gelenk_ü 关节' is 3 N·m"
    assert data_checks.one_line("a\nb\x00\u202ec") == r"a\nb\x00\u202ec"
    assert len(data_checks.one_line("\0" * 500)) <= 400
    assert data_checks.one_line("x" * 400) == "x" * 400
    short = data_checks.one_line("begin " + "x" * 100_000 + " end")
    assert 390 < len(short) <= 400
    assert re.fullmatch("begin xxx.* [.]{3} .*xxx end", short)


def test_problems_that_differ_in_numbers_have_the_same_cause() -> None:
    """The code of a refusal is that of its cause; it also names the topic."""
    older = Rejection("stamp-too-old", message="joint state", age=0.4, limit=0.1)
    other = Rejection("stamp-too-old", message="reference", age=0.3, limit=0.1)
    assert cause_key(OLD) == cause_key(older) == ("stamp-too-old", "joint state") != cause_key(other)
    nested = Rejection("position-leaves-loops", message="the joint state", cause=DynError("node-inactive"))
    assert cause_key(nested) == ("position-leaves-loops", "the joint state", "node-inactive")
    assert cause_key(DynError("a sentence without code")) == ("a sentence without code",)
    refusal = Refusal("~/reference", OLD)
    assert (refusal.code, refusal.values["age"]) == ("stamp-too-old", 0.3)
    assert str(refusal) == f"~/reference: {OLD}"


class Log:
    """The reported problems and a clock that the test sets."""

    def __init__(self) -> None:
        self.now = 7.0
        self.lines: list[str] = []
        self.complaints = Complaints(self.lines.append, 5.0, lambda: self.now)


@pytest.mark.promise("refused-log")
def test_each_cause_is_warned_of_once_per_period() -> None:
    log = Log()
    for k in range(80):
        log.complaints.say(f"too old by {k} s", "too old")
        log.complaints.say("another", "another cause")
        log.now += 0.125
    assert log.lines == ["too old by 0 s", "another", "too old by 40 s", "another"]
    # The return value says whether the problem was logged.
    log = Log()
    assert [log.complaints.say("sentence", "a") for _ in range(2)] == [True, False]
    assert [log.complaints.say("sentence", f"b{k}") for k in range(11)] == [True] * 9 + [False] * 2
    log.now += 5.0
    assert log.complaints.say("sentence", "a")


@pytest.mark.promise("refused-log-flood")
def test_new_causes_do_not_flood_the_log() -> None:
    """10 kHz of unknown names for ten seconds."""
    log = Log()
    for k in range(100_000):
        log.complaints.say(f"unknown joint 'joint_{k}'", f"joint_{k}")
        log.now += 1e-4
    assert len(log.lines) <= 3 * 11
    assert sum(line == str(Notice("more-is-wrong")) for line in log.lines) in (1, 2, 3)
    log.now += 5.0
    log.complaints.say("later", "later")
    assert log.lines[-1] == "later"


def test_a_sentence_is_formatted_only_if_it_is_logged() -> None:
    notice, log = MagicMock(), Log()
    for _ in range(1000):
        log.complaints.say(notice, "cause")
    assert (notice.__str__.call_count, len(log.lines)) == (1, 1)


class Recorder:
    """A node, its publisher and its clock, which record what is published."""

    def __init__(self) -> None:
        self.told: list[DiagnosticArray] = []
        self.publish = self.told.append
        self.get_clock = self.now = lambda: self

    def create_publisher(self, *_: Any) -> Recorder:
        return self

    def create_timer(self, _: float, callback: Any, **__: Any) -> None:
        self.tick = callback

    def get_fully_qualified_name(self) -> str:
        return "/node"

    def to_msg(self) -> Time:
        return Time()


REFUSED = Notice("last-data-refused", cause=OLD)
STALE = Failure("data-stale-held", data="joint states", silence=1.0, cause=REFUSED)
MET = Notices([Notice("joints-too-fast", joints="a"), Notice("joints-at-stop", joints="b, c")])
UNSTAMPED = Rejection("message-without-stamp", message="reference")
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
GAINS, JOINT_STATE = Notice("gains-zero"), Refusal("joint_states", OLD)
TOLD: dict[str, tuple[Notice | None, Problem | None, bytes, str, dict[str, str]]] = {
    "nothing": (None, None, OK, "in order", {}),
    "passing": (None, OLD, WARN, str(OLD), {"code": OLD.code}),
    "passing first": (GAINS, JOINT_STATE, WARN, f"joint_states: {OLD}", {"code": OLD.code}),
    "failure first": (STALE, UNSTAMPED, ERROR, str(STALE), {"code": STALE.code, "cause": OLD.code}),
    "several": (
        MET,
        None,
        WARN,
        "; ".join(map(str, MET.notices)),
        {"code": "joints-too-fast, joints-at-stop"},
    ),
}


@pytest.mark.promise("refused-codes")
@pytest.mark.parametrize("case", TOLD)
def test_diagnostics_have_codes_beside_the_sentence(case: str) -> None:
    lasting, passing, *expected = TOLD[case]
    node = Recorder()
    diagnostics = Diagnostics(node, lambda: lasting)  # type: ignore[arg-type]
    diagnostics.count("messages", passing)
    node.tick()
    (status,) = node.told[-1].status
    values = {value.key: value.value for value in status.values}
    assert values.pop("messages") == "1"
    assert [status.level, status.message, values] == expected
    assert root_cause(STALE) is OLD
    assert all(said(notice.code, joints=notice.values["joints"]).search(str(MET)) for notice in MET.notices)


def test_each_sentence_of_the_nodes_is_used() -> None:
    folder = Path(dyn_nodes.__file__).parent
    texts = {
        node.value
        for path in folder.glob("**/*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
    }
    assert SENTENCES.keys() <= texts


def test_each_thread_catches_its_own_warnings_and_the_filters_stay() -> None:
    before = (warnings.showwarning, list(warnings.filters))
    caught: dict[int, set[str]] = {}
    together = threading.Barrier(8)

    def load(k: int) -> None:
        together.wait()
        for _ in range(50):
            with caught_warnings() as mine:
                for _ in range(20):
                    warnings.warn(f"robot {k}", ModelWarning, stacklevel=1)
            caught.setdefault(k, set()).update(str(w.message) for w in mine)
            assert len(mine) == 20

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(load, range(8)))
    assert caught == {k: {f"robot {k}"} for k in range(8)}
    assert (warnings.showwarning, list(warnings.filters)) == before
