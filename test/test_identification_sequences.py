# SPDX-License-Identifier: Apache-2.0
"""Whatever happens in whichever order: the robot comes to rest, and the goal ends once, with a sentence.

Here is no middleware: the test moves the clocks.
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
from identified import START, exciting, trajectory
from stepped_session import REFER_EVERY, STEP_S, Bench

MOTION_S = 3.0
APPROACH_S = 0.6
"""The start delay, and the way to the beginning of the motion."""
PHASES = {"delay": 0.05, "approach": 0.3, "motion": 2.0, "end": APPROACH_S + MOTION_S - 0.02}
OUTPUTS = ("trajectory", "reference")
FASTEST = 3.0
"""Greatest speed of a joint of the robot (rad/s or m/s)."""
STRONGEST = 60.0
"""Greatest acceleration of motions and stops (rad/s^2 or m/s^2), with much to spare."""


def assert_all_is_well(bench: Bench, *, velocities_leap: bool = False) -> None:
    """One end, a sentence, a robot at rest that was never told to leap, and a log that can be read."""
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


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("phase", PHASES)
def test_cancelling_twice_in_each_phase(phase: str, output: str, tmp_path: Path) -> None:
    bench = Bench(tmp_path, output=output).run(exciting(MOTION_S))
    bench.go(PHASES[phase])
    for _ in range(2):
        bench.session.cancel("it was cancelled", by_client=True)
        bench.go(0.05)
    bench.session.cancel("the node was deactivated")
    bench.go(2.0)
    assert bench.goal.ends[0][0] == "canceled"
    assert bench.goal.result.message.startswith("it was cancelled; the robot was brought to rest")
    assert_all_is_well(bench)


FAULTS: dict[str, tuple[str, str]] = {
    "silence": ("nothing came", "the robot was told to stop"),
    "nan": ("the last was refused: joint state gives joint 'lift' the position nan", "was told to stop"),
    "stuck": ("are allowed (max_tracking_error)", "the robot was brought to rest"),
    "saturated": (
        "the effort of joint 'lift' has been near its limit for 0.5",
        "the robot was brought to rest",
    ),
    "no effort": ("the joint states have no efforts any more", "the robot was told to stop"),
}


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_what_goes_wrong_in_the_middle_ends_the_run(fault: str, output: str, tmp_path: Path) -> None:
    bench = Bench(tmp_path, output=output, tracking_error=0.05).run(exciting(MOTION_S)).go(2.0)
    bench.faults.add(fault)
    bench.go(6.0)
    why, how = FAULTS[fault]
    assert why in bench.goal.result.message
    assert how in bench.goal.result.message
    assert_all_is_well(bench)
    assert bench.goal.result.samples > 200


def test_a_short_silence_is_none_of_our_business(tmp_path: Path) -> None:
    bench = Bench(tmp_path).run(exciting(MOTION_S)).go(2.0)
    bench.faults.add("silence")
    bench.go(0.15)
    bench.faults.clear()
    bench.go()
    assert bench.goal.result.success, bench.goal.result.message
    assert_all_is_well(bench)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("gained", [-1e6, -0.5, 0.5, 1e6])
def test_a_clock_that_is_set_stops_the_robot_where_it_is(gained: float, output: str, tmp_path: Path) -> None:
    bench = Bench(tmp_path, output=output).run(exciting(MOTION_S)).go(2.0)
    bench.set_clock(gained)
    bench.go(3.0)
    assert (
        f"the clock was set, by {gained:+.3g} s; the robot was brought to rest" in bench.goal.result.message
    )
    assert_all_is_well(bench, velocities_leap=True)
    times = np.loadtxt(bench.goal.result.log_file, delimiter=",", skiprows=1, usecols=0)
    assert np.diff(times).max() < 0.01, "nothing from after the leap is in the log"


@contextmanager
def full_disk(left: int) -> Iterator[None]:
    """No file of this process can have more bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (left, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_disk_that_gets_full_stops_the_robot_and_whole_lines_are_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path).run(exciting(MOTION_S))
    with full_disk(30_000):
        bench.go()
    result = bench.goal.result
    assert "log.csv': File too large; the robot was brought to rest; the " in result.message
    assert_all_is_well(bench)
    assert Path(result.log_file).stat().st_size <= 30_000
    assert result.samples > 100


def test_on_a_full_disk_nothing_moves(tmp_path: Path) -> None:
    with full_disk(10):
        bench = Bench(tmp_path).run(exciting(MOTION_S))
    assert "log.csv': File too large" in bench.goal.result.message
    assert not bench.sent
    assert not list(tmp_path.iterdir())


def removed(directory: Path) -> None:
    shutil.rmtree(directory)


def renamed(directory: Path) -> None:
    directory.rename(directory.with_name("elsewhere"))


@pytest.mark.parametrize("away", [removed, renamed])
def test_a_directory_that_goes_away_stops_the_robot(away: Callable[[Path], None], tmp_path: Path) -> None:
    below = tmp_path / "runs"
    bench = Bench(below).run(exciting(MOTION_S)).go(2.0)
    (directory,) = below.iterdir()
    away(directory)
    bench.go()
    message = bench.goal.result.message
    assert (
        message
        == f"'{directory / 'log.csv'}' was removed while it was written; the robot was brought to rest"
    )
    assert bench.now - 50.0 < 2.0 + 1.0
    bench.rest()


def unwritable(directory: Path) -> Path:
    (directory / "file").write_text("")
    return directory / "file" / "below"


def test_a_directory_that_cannot_be_made_is_told_before_anything_moves(tmp_path: Path) -> None:
    bench = Bench(unwritable(tmp_path)).run(exciting(MOTION_S))
    assert "cannot make a directory in" in bench.goal.result.message
    assert not bench.sent


HUGE: dict[str, tuple[dict[str, Any], str]] = {
    "repetitions": ({"motion": exciting(1.0), "repetitions": 2**32 - 1}, "the motion would last 6.442e+09 s"),
    "times": (
        {"motion": trajectory([0.0, 2e9], [START, START], [[0.0] * 3] * 2)},
        "the motion would last 2e+09 s",
    ),
    "accelerations": (
        {
            "motion": trajectory(
                [0.0, 1.0, 2.0], [START] * 3, [[0.0] * 3] * 3, [[0.0] * 3, [1e300] * 3, [0.0] * 3]
            )
        },
        "the acceleration 1e+300",
    ),
}


@pytest.mark.parametrize("case", HUGE)
def test_numbers_that_are_huge_are_refused_at_once(case: str, tmp_path: Path) -> None:
    arguments, sentence = HUGE[case]
    bench = Bench(tmp_path).run(**arguments)
    assert sentence in bench.goal.result.message
    assert not bench.sent
    assert not list(tmp_path.iterdir())


def test_a_robot_outside_of_its_range_goes_back_and_no_further_out(tmp_path: Path) -> None:
    bench = Bench(tmp_path, at=(0.0, 1.6, 0.15)).run(exciting(1.0)).go()
    assert bench.goal.result.success, bench.goal.result.message
    lift = np.array([motion.q[1] for motion in bench.wanted])
    assert lift.max() <= 1.6 + 1e-3
    assert (np.diff(lift[lift > 1.4]) <= 1e-9).all()
    assert_all_is_well(bench)


def begin_estimation(bench: Bench) -> None:
    bench.identify(exciting(MOTION_S)).go(APPROACH_S + MOTION_S + 0.2)
    assert len(bench.jobs) == 1


def begin_excitation(bench: Bench) -> None:
    bench.identify().go(0.5)
    assert len(bench.jobs) == 1


@pytest.mark.parametrize("begin", [begin_estimation, begin_excitation])
def test_a_computation_that_dies_or_is_cancelled_ends_the_goal(
    begin: Callable[[Bench], None], tmp_path: Path
) -> None:
    bench = Bench(tmp_path / "one")
    begin(bench)
    bench.jobs[0].done(None, "the process that computes has been killed by signal 9")
    assert "killed by signal 9" in bench.goal.result.message
    assert_all_is_well_of_identify(bench)
    bench = Bench(tmp_path / "two")
    begin(bench)
    bench.session.cancel("it was cancelled", by_client=True)
    assert bench.jobs[0].ended
    bench.jobs[0].done(None, "late")
    assert_all_is_well_of_identify(bench)
    assert bench.goal.ends[0][0] == "canceled"


def assert_all_is_well_of_identify(bench: Bench) -> None:
    if bench.sent:
        assert_all_is_well(bench)
        assert "samples until then are kept in" in bench.goal.result.message
    else:
        assert len(bench.goal.ends) == len(bench.overs) == 1


def happenings(seed: int) -> Iterator[tuple[float, Callable[[Bench], None]]]:
    """Some of what may happen, after some seconds each."""
    random = np.random.default_rng(seed)

    def fault(bench: Bench) -> None:
        bench.faults ^= {str(random.choice(["silence", "nan", "stuck", "saturated", "no effort"]))}

    def cancel(bench: Bench) -> None:
        bench.session.cancel("it was cancelled", by_client=True)

    def interrupt(bench: Bench) -> None:
        bench.session.cancel("another robot description came")

    def end(bench: Bench) -> None:
        bench.session.cancel("the node is ending", longest=0.7)

    def set_clock(bench: Bench) -> None:
        bench.set_clock(float(random.choice([-1.0, 1.0]) * 10.0 ** random.uniform(-1.0, 6.0)))

    def remove(bench: Bench) -> None:
        shutil.rmtree(bench.directory, ignore_errors=True)

    kinds = [fault, fault, fault, cancel, interrupt, end, set_clock, remove]
    for _ in range(random.integers(1, 6)):
        yield float(random.exponential(0.5)), kinds[random.integers(len(kinds))]


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_in_whichever_order_the_robot_stands_and_the_goal_ends(
    seed: int, tmp_path: Path
) -> None:
    bench = Bench(tmp_path / "runs", output=OUTPUTS[seed % 2], tracking_error=0.05).run(exciting(MOTION_S))
    for after, happens in happenings(seed):
        bench.go(after)
        if not bench.goal.ends:
            happens(bench)
    began = bench.now
    bench.go()
    assert bench.now - began < APPROACH_S + MOTION_S + 3.5
    # Where a clock is set or a robot is stuck, it is found at rest in between.
    assert_all_is_well(bench, velocities_leap=True)
