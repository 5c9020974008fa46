# SPDX-License-Identifier: Apache-2.0
"""Events in any order: the robot comes to rest, and the goal ends exactly once, with a cause.

Without middleware: the test moves the clocks.
"""

from __future__ import annotations

import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from identification_client import START, exciting, trajectory
from stepped_session import REFER_EVERY, STEP_S, Bench

from dyn_core import DynError
from dyn_nodes.common.data_checks import Notice

MOTION_S = 3.0
MOTION = exciting(MOTION_S)
APPROACH_S = 0.6
"""The start delay, and the approach to the start of the motion."""
PHASES = {"delay": 0.05, "approach": 0.3, "motion": 2.0, "end": APPROACH_S + MOTION_S - 0.02}
OUTPUTS = ("trajectory", "reference")
CANCELLED = Notice("goal-cancelled")
REST = [0.0] * 3
FASTEST = 3.0
"""Greatest speed of a joint of the robot (rad/s or m/s)."""
STRONGEST = 60.0
"""Greatest acceleration of motions and stops (rad/s^2 or m/s^2), with a large margin."""


def assert_all_is_well(bench: Bench, *, velocities_leap: bool = False) -> None:
    """Check for one end, a cause of a failure, a robot at rest without position steps, and a readable log."""
    ((outcome, result),) = bench.goal.ends
    assert len(bench.overs) == 1
    assert result.success == (outcome == "succeed")
    assert bool(result.message) != result.success
    assert "\n" not in result.message
    bench.rest()
    step, change = bench.steps
    assert step <= FASTEST * STEP_S * REFER_EVERY
    assert velocities_leap or change <= STRONGEST * STEP_S * REFER_EVERY
    kept = list(bench.directory.glob("*/*"))
    assert all(file.name == "log.csv" for file in kept)
    for file in kept:
        *lines, rest = file.read_text().split("\n")
        assert not rest
        assert {line.count(",") for line in lines} == {lines[0].count(",")}
        if hasattr(result, "samples"):
            assert len(lines) - 1 == result.samples


@pytest.mark.promise("goal-cancelled", "stop-meaning")
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("phase", PHASES)
def test_cancelling_twice_in_each_phase(phase: str, output: str, tmp_path: Path) -> None:
    bench = Bench(tmp_path, output=output).run(MOTION)
    bench.go(PHASES[phase])
    for _ in range(2):
        bench.session.cancel(CANCELLED, by_client=True)
        bench.go(0.05)
    bench.session.cancel(Notice("node-deactivated"))
    bench.go(2.0)
    assert bench.goal.ends[0][0] == "canceled"
    assert bench.causes()[-2:] == ["motion-stopped-at-rest", "goal-cancelled"]
    assert_all_is_well(bench)


FAULTS: dict[str, list[str]] = {
    "silence": ["motion-stopped", "joint-states-stopped"],
    "nan": ["motion-stopped", "joint-states-refused", "message-value-implausible"],
    "stuck": ["motion-stopped-at-rest", "tracking-error-exceeded"],
    "saturated": ["motion-stopped-at-rest", "effort-near-limit"],
    "no effort": ["motion-stopped", "joint-states-refused", "joint-state-quantity-lost"],
}
"""Codes of the causes of the end, after the code of the kept samples."""


@pytest.mark.promise("run-joint-states", "run-tracking", "run-effort")
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_during_a_run_end_it(fault: str, output: str, tmp_path: Path) -> None:
    bench = Bench(tmp_path, output=output, tracking_error=0.05).run(MOTION).go(2.0)
    bench.faults.add(fault)
    bench.go(6.0)
    assert bench.causes() == ["samples-kept", *FAULTS[fault]]
    if fault == "saturated":
        values = bench.cause().values
        assert (values["joint"], values["duration"]) == ("lift", pytest.approx(0.5, abs=0.01))
    assert_all_is_well(bench)
    assert bench.goal.result.samples > 200


def test_a_short_gap_of_joint_states_is_ignored(tmp_path: Path) -> None:
    bench = Bench(tmp_path).run(MOTION).go(2.0)
    bench.faults.add("silence")
    bench.go(0.15)
    bench.faults.clear()
    bench.go()
    assert bench.goal.result.success, bench.goal.result.message
    assert_all_is_well(bench)


@pytest.mark.promise("run-clock")
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("gained", [-1e6, -0.5, 0.5, 1e6])
def test_a_clock_step_stops_the_robot_where_it_is(gained: float, output: str, tmp_path: Path) -> None:
    bench = Bench(tmp_path, output=output).run(MOTION).go(2.0)
    bench.set_clock(gained)
    bench.go(3.0)
    assert bench.causes()[-2:] == ["motion-stopped-at-rest", "clock-set-by"]
    assert bench.cause().values["gained"] == gained
    assert_all_is_well(bench, velocities_leap=True)
    times = np.loadtxt(bench.goal.result.log_file, delimiter=",", skiprows=1, usecols=0)
    assert np.diff(times).max() < 0.01, "no sample after the leap is in the log"


@contextmanager
def full_disk(left: int) -> Iterator[None]:
    """Limit the size of the files of this process (bytes)."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (left, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.promise("run-disk")
def test_a_full_disk_stops_the_robot_and_complete_lines_are_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path).run(MOTION)
    with full_disk(30_000):
        bench.go()
    result = bench.goal.result
    assert bench.causes() == ["samples-kept", "motion-stopped-at-rest", "file-unwritable"]
    assert bench.cause().values["reason"] == "File too large"
    assert_all_is_well(bench)
    assert Path(result.log_file).stat().st_size <= 30_000
    assert result.samples > 100


@pytest.mark.promise("goal-directory")
def test_on_a_full_disk_no_motion_begins(tmp_path: Path) -> None:
    with full_disk(10):
        bench = Bench(tmp_path).run(MOTION)
    assert bench.causes() == ["file-unwritable"]
    assert bench.cause().values["path"].name == "log.csv"
    assert not bench.sent
    assert not list(tmp_path.iterdir())


@pytest.mark.promise("run-disk")
@pytest.mark.parametrize("away", [shutil.rmtree, lambda directory: directory.rename(f"{directory}_2")])
def test_a_removed_directory_stops_the_robot(away: Callable[[Path], Any], tmp_path: Path) -> None:
    bench = Bench(tmp_path / "runs").run(MOTION).go(2.0)
    (directory,) = bench.directory.iterdir()
    away(directory)
    bench.go()
    assert bench.causes() == ["motion-stopped-at-rest", "recording-removed"]
    assert bench.cause().values["path"] == directory / "log.csv"
    assert bench.now - 50.0 < 2.0 + 1.0
    bench.rest()


@pytest.mark.promise("goal-directory")
def test_a_directory_that_cannot_be_made_is_reported_before_the_motion(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    bench = Bench(tmp_path / "file" / "below").run(MOTION)
    assert bench.causes() == ["directory-not-created"]
    assert not bench.sent


FAST = trajectory([0.0, 1.0, 2.0], [START] * 3, [REST] * 3, [REST, [1e300] * 3, REST])
HUGE: dict[str, tuple[Any, int, str, dict[str, float]]] = {
    "repetitions": (exciting(1.0), 2**32 - 1, "motion-too-long", {"duration": 6.442e9}),
    "times": (trajectory([0.0, 2e9], [START] * 2, [REST] * 2), 1, "motion-too-long", {"duration": 2e9}),
    "accelerations": (FAST, 1, "trajectory-value-implausible", {"given": 1e300}),
}


@pytest.mark.promise("goal-huge")
@pytest.mark.parametrize("case", HUGE)
def test_huge_numbers_are_rejected_at_once(case: str, tmp_path: Path) -> None:
    motion, repetitions, code, values = HUGE[case]
    bench = Bench(tmp_path).run(motion, repetitions)
    assert bench.causes() == [code]
    assert {name: bench.cause().values[name] for name in values} == pytest.approx(values, rel=1e-3)
    assert not bench.sent
    assert not list(tmp_path.iterdir())


@pytest.mark.promise("goal-from-outside")
def test_a_robot_out_of_range_moves_back_and_no_further_out(tmp_path: Path) -> None:
    bench = Bench(tmp_path, at=(0.0, 1.6, 0.15)).run(exciting(1.0)).go()
    assert bench.goal.result.success, bench.goal.result.message
    lift = np.array([motion.q[1] for motion in bench.wanted])
    assert lift.max() <= 1.6 + 1e-3
    assert (np.diff(lift[lift > 1.4]) <= 1e-9).all()
    assert_all_is_well(bench)


@pytest.mark.promise("computation-killed", "goal-cancelled")
@pytest.mark.parametrize(("motion", "seconds"), [(MOTION, APPROACH_S + MOTION_S + 0.2), (None, 0.5)])
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_computation_that_dies_or_is_cancelled_ends_the_goal(
    cancelled: bool, motion: Any, seconds: float, tmp_path: Path
) -> None:
    bench = Bench(tmp_path).identify(motion).go(seconds)
    (job,) = bench.jobs
    if cancelled:
        bench.session.cancel(CANCELLED, by_client=True)
        assert job.ended
    job.done(None, DynError("computation-killed", signal=9, last_line=""))
    assert bench.causes()[-1] == ("goal-cancelled" if cancelled else "computation-killed")
    assert bench.goal.ends[0][0] == ("canceled" if cancelled else "abort")
    if motion is None:
        assert len(bench.goal.ends) == len(bench.overs) == 1
    else:
        assert_all_is_well(bench)
        assert bench.causes()[0] == "samples-kept"


def happenings(seed: int) -> Iterator[tuple[float, Callable[[Bench], None]]]:
    """Random events, each after some seconds."""
    random = np.random.default_rng(seed)

    def fault(bench: Bench) -> None:
        bench.faults ^= {str(random.choice(list(FAULTS)))}

    def set_clock(bench: Bench) -> None:
        bench.set_clock(float(random.choice([-1.0, 1.0]) * 10.0 ** random.uniform(-1.0, 6.0)))

    kinds: list[Callable[[Any], None]] = [
        *(fault, fault, fault, set_clock),
        lambda bench: bench.session.cancel(CANCELLED, by_client=True),
        lambda bench: bench.session.cancel(Notice("robot-replaced")),
        lambda bench: bench.session.cancel(Notice("node-ending"), longest=0.7),
        lambda bench: shutil.rmtree(bench.directory, ignore_errors=True),
    ]
    for _ in range(random.integers(1, 6)):
        yield float(random.exponential(0.5)), kinds[random.integers(len(kinds))]


@pytest.mark.promise("run-random")
@pytest.mark.parametrize("seed", range(40))
def test_after_random_events_the_robot_stands_and_the_goal_ends(seed: int, tmp_path: Path) -> None:
    bench = Bench(tmp_path / "runs", output=OUTPUTS[seed % 2], tracking_error=0.05).run(MOTION)
    for after, happens in happenings(seed):
        bench.go(after)
        if not bench.goal.ends:
            happens(bench)
    began = bench.now
    bench.go()
    assert bench.now - began < APPROACH_S + MOTION_S + 3.5
    # Where a clock is set or a robot is stuck, the robot is at rest in between.
    assert_all_is_well(bench, velocities_leap=True)
