# SPDX-License-Identifier: Apache-2.0
"""Faults in the values of logs, and their repair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from log_case import arm, codes, edited, found, log_of, motion
from refusals import refused

import dyn_core
from dyn_core import Robot
from dyn_core.core.messages import Message

TURN = 2.0 * np.pi
M = motion()


def robot_of(*joints: str, limit: float = 3.0) -> Robot:
    return dyn_core.load_robot(arm(joints, limit))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_short_holes_are_bridged(value: float) -> None:
    log = log_of(M, q=edited(M.q, (np.s_[100:103, 1], value)), tau=edited(M.tau, ((200, 0), value)))
    np.testing.assert_allclose(log.q, M.q, atol=2e-3)
    np.testing.assert_allclose(log.tau, M.tau, atol=0.1)
    found(log, "values-bridged", "shoulder", "elbow", count=4, longest_ms=22.5)


def test_long_holes_cut_the_log_and_velocities_with_holes_are_not_used() -> None:
    log = log_of(M, q=edited(M.q, (np.s_[300:350, 2], np.nan), (np.s_[:10], np.nan)))
    assert log.segments == ((0, 290), (290, 1540))
    np.testing.assert_array_equal(log.q, np.delete(M.q, np.r_[:10, 300:350], axis=0))
    found(log, "samples-incomplete", count=60, total=1600)
    log = log_of(M, qd=edited(M.qd, (np.s_[300:400, 1], np.nan)))
    assert log.qd is None
    found(log, "velocities-incomplete", "elbow")


@pytest.mark.parametrize(
    ("unit", "turn", "gain"),
    [("rad", TURN, {}), ("deg", 360.0, {}), ("rev", 1.0, {}), ("counts", 4096.0, {"gain": TURN / 4096})],
)
@pytest.mark.parametrize("start", [0.0, -0.5])
def test_turns_are_unwrapped(unit: str, turn: float, gain: dict[str, float], start: float) -> None:
    m = motion(joints=2)
    whole = m.q[:, 0] + 2.0 * m.time
    wrapped = (whole / TURN - start) % 1.0 * turn + start * turn
    joints = {"shoulder": {"position": {"unit": unit, **gain}}}
    log = log_of(m, {"joints": joints}, q=edited(m.q, (np.s_[:, 0], wrapped)))
    off = log.q[:, 0] - whole
    np.testing.assert_allclose(off, off[0], atol=1e-9)
    assert abs(off[0] / TURN - round(off[0] / TURN)) < 1e-9
    jumps = int((np.abs(np.diff(wrapped)) > 0.5 * turn).sum())
    found(log, "position-turns", "shoulder", turn=turn, unit=unit, count=jumps)
    # A motion of more than one turn is not a jump.
    log = log_of(M, q=M.q * 20.0)
    np.testing.assert_array_equal(log.q, M.q * 20.0)
    assert not codes(log) & {"position-turns", "positions-jump"}


def test_turns_of_a_fast_motor_and_counters_that_overflow() -> None:
    """The motor makes 40 % of a turn between two samples."""
    time = np.arange(2000) / 500.0
    angle = -np.cos(TURN * 0.5 * time) * 0.4 * 500.0 / 0.5
    wrapped = (angle + np.pi) % TURN - np.pi
    assert np.abs(np.diff(angle)).max() > 0.35 * TURN
    log = log_of(motion(joints=1, time=time), {"joints": {"shoulder": {"ratio": 100.0}}}, q=wrapped[:, None])
    off = log.q[:, 0] - angle / 100.0
    np.testing.assert_allclose(off, off[0], atol=1e-9)
    m = motion(joints=1)
    counts = np.round(m.q * 120_000.0)
    wrapped = (counts + 2**15) % 2**16 - 2**15
    assert np.abs(np.diff(wrapped, axis=0)).max() > 60_000
    position = {"unit": "counts", "gain": 1 / 120_000}
    log = log_of(m, {"joints": {"shoulder": {"position": position}}}, q=wrapped)
    off = log.q - counts / 120_000.0
    np.testing.assert_allclose(off, off[0, 0], atol=1e-12)


def test_spikes_are_removed() -> None:
    q = edited(M.q, ((500, 0), M.q[500, 0] + 0.5), (np.s_[900:903, 0], [0.9, -0.8, 0.7]))
    log = log_of(M, q=q, tau=edited(M.tau, (np.s_[700:702, 2], 1e4)))
    np.testing.assert_allclose(log.q, M.q, atol=1e-3)
    np.testing.assert_allclose(log.tau, M.tau, atol=0.5)
    found(log, "signal-spikes", "shoulder", quantity="position", count=2, longest=3, first=501)
    found(log, "signal-spikes", "wrist", quantity="effort", count=1, longest=3, first=701)
    # Friction steps are not spikes; a joint that comes to rest changes the sign of its velocity repeatedly.
    friction = 20.0 * np.sign(M.qd)
    friction[700:703, 0] *= -1.0
    assert "signal-spikes" not in codes(log_of(M, tau=M.tau + friction))


@pytest.mark.parametrize("step", [1e-3, 1e-2])
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_resolution_steps_are_not_spikes(step: float, noise: float) -> None:
    generator = np.random.default_rng(0)
    q = np.round((M.q + noise * generator.standard_normal(M.q.shape)) / step) * step
    tau = M.tau + 30.0 * noise * generator.standard_normal(M.q.shape)
    assert "signal-spikes" not in codes(log_of(M, q=q, tau=np.round(tau / (50.0 * step)) * 50.0 * step))


def test_constant_efforts_are_not_measured() -> None:
    for value, code in ((0.0, "efforts-zero"), (np.nan, "log-without-efforts"), (3.0, "efforts-constant")):
        with refused(code):
            log_of(M, tau=np.full_like(M.tau, value))
    log = log_of(M, tau=edited(M.tau, (np.s_[:, 0], 0.0), (np.s_[:, 1], 7.0)))
    assert log.has_effort == (False, False, True)
    found(log, "effort-zero", "shoulder")
    found(log, "effort-constant", "elbow")


def test_resting_joints_stuck_sensors_and_coarse_positions_are_reported() -> None:
    found(log_of(M, q=edited(M.q, (np.s_[:, 1], 0.7))), "joint-still", "elbow", span=0.0, unit="rad")
    assert "position-coarse" in codes(log_of(M, q=np.round(M.q / 0.02) * 0.02))
    assert "position-coarse" not in codes(log_of(M, q=np.round(M.q / 1e-4) * 1e-4))
    assert "rate-low" in codes(log_of(motion(rate=20.0, duration=30.0)))
    # A stuck sensor.
    q = edited(M.q, (np.s_[400:600, 0], M.q[400, 0]))
    log = log_of(M, q=q, tau=edited(M.tau, (np.s_[800:1000, 1], M.tau[800, 1])))
    found(log, "position-stuck", "shoulder", position=float(M.q[400, 0]), duration=0.995, time=2.0)
    found(log, "effort-stuck", "elbow", effort=float(M.tau[800, 1]), duration=0.995, time=4.0)


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("step", [0.0, 0.1])
@pytest.mark.parametrize("level", [40.0, 25.0])
def test_clipped_efforts_are_reported(noise: float, step: float, level: float) -> None:
    m = motion(duration=20.0, rate=500.0)
    tau = m.tau * level / np.quantile(np.abs(m.tau), 0.95, axis=0)
    tau += noise * np.random.default_rng(0).standard_normal(m.tau.shape)
    tau = np.round(tau / step) * step if step else tau
    clipped = {"effort-clipped", "effort-clipped-at-limit"}
    assert not codes(log_of(m, tau=tau)) & clipped
    cut = edited(tau, (np.s_[:, 0], np.clip(tau[:, 0], -level, level)))
    assert 0.02 < np.mean(np.abs(cut[:, 0]) >= level) < 0.1
    log = log_of(m, tau=cut, robot=robot_of(*m.joints))
    assert len(codes(log) & clipped) == 1
    code = "effort-clipped-at-limit" if level == 40.0 else "effort-clipped"
    assert abs(found(log, code, "shoulder", unit="N m").values["effort"]) == pytest.approx(level)


@pytest.mark.parametrize(
    ("factor", "code"),
    [(180.0 / np.pi, "velocity-in-degrees"), *((f, "velocity-unlike-positions") for f in (-1.0, 101.0))],
)
def test_velocities_in_wrong_units_are_reported(factor: float, code: str) -> None:
    log = log_of(M, qd=M.qd * [1.0, 1.0, factor])
    assert codes(log) == {code}
    found(log, code, "wrist", factor=factor)


def test_positions_beyond_the_limits_are_reported() -> None:
    robot = robot_of(*M.joints, limit=2.0)
    assert log_of(M, robot=robot).findings == ()
    with refused("log-unusable") as caught:
        log_of(M, robot=robot, q=np.rad2deg(M.q))
    assert caught.value.values["cause"].code == "positions-in-degrees"
    log = log_of(M, {"units": {"position": "deg"}}, robot, q=np.rad2deg(M.q))
    np.testing.assert_allclose(log.q, M.q)
    q = edited(M.q, (np.s_[:, 1], M.q[:, 1] + 2.0))
    limits = {"least": q[:, 1].min(), "greatest": q[:, 1].max(), "lower": -2.0, "upper": 2.0, "unit": "rad"}
    found(log_of(M, q=q, robot=robot), "positions-beyond-limits", "elbow", **limits)


def test_joints_missing_in_the_log_need_a_held_position() -> None:
    robot = robot_of(*M.joints, "finger")
    with refused("log-joint-missing", missing=["finger"], joint="finger"):
        log_of(M, robot=robot)
    log = log_of(M, {"held": {"finger": 0.25}}, robot)
    assert log.joint_names == (*M.joints, "finger")
    np.testing.assert_array_equal(log.q[:, 3], 0.25)
    assert log.has_effort == (True, True, True, False)
    assert Message("joint-held", joint="finger", position=0.25) in log.done
    with refused("entry-joint-unknown", entry="held", unknown=["toe"]):
        log_of(M, {"held": {"toe": 0.25}}, robot)
    # Joints are in the order of the robot.
    log = log_of(M, robot=robot_of(*M.joints[::-1]))
    assert log.joint_names == M.joints[::-1]
    np.testing.assert_array_equal(log.q, M.q[:, ::-1])
    np.testing.assert_array_equal(log.tau, M.tau[:, ::-1])


def test_joined_recordings_are_cut() -> None:
    """Time continues where positions jump to those of another recording."""
    one, other = motion(seed=1), motion(seed=2)
    q = np.concatenate([one.q[:900], other.q[300:1000]])
    log = log_of(one, q=q)
    assert log.segments == ((0, 900), (900, 1600))
    np.testing.assert_array_equal(log.q, q)
    cut = found(log, "positions-jump", count=1, time=4.5).values["cut"]
    assert (cut.code, cut.values["segments"]) == ("log-cut", 2)
    assert "encoder-reset" not in codes(log)


@pytest.mark.parametrize("size", [-1.2, 0.3])
@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_an_encoder_reset_is_corrected(size: float, noise: float) -> None:
    q = M.q + noise * np.random.default_rng(0).normal(size=M.q.shape)
    q[500:, 1] += size
    log = log_of(M, q=q)
    assert log.segments == ((0, 1100),)
    np.testing.assert_array_equal(log.q, q[500:])
    jump = found(log, "positions-jump", "elbow", count=1, time=2.5)
    assert jump.values["size"] == pytest.approx(size, abs=0.05)
    found(log, "encoder-reset", "elbow", begin=2.5, end=7.995)


def test_jumps_that_leave_too_little_are_refused() -> None:
    with refused("log-pieces-too-short", count=150, duration=0.745):
        part = M.part(np.arange(300))
        log_of(part, q=edited(part.q, (np.s_[150:, 0], part.q[150:, 0] + 1.0)))


def test_other_faults_are_not_taken_for_jumps() -> None:
    for step in (1e-3, 5e-3, 0.05):
        assert log_of(M, q=np.round(M.q / step) * step).segments == ((0, 1600),)
    jumps = {"positions-jump", "position-turns", "encoder-reset", "position-stuck"}
    part = M.part(np.delete(np.arange(len(M.time)), [300, 700, 701, 1100, 1101, 1102]))
    assert not codes(log_of(part)) & jumps
    count = len(part.time)
    assert log_of(replace(part, time=M.time[:count])).segments == ((0, count),)
    assert not codes(log_of(M, time=edited(M.time, (500, M.time[500] + 0.9 / 200.0)))) & jumps
    # A joint that moved during a gap did not jump; one of the gaps is right after the beginning.
    part = M.part(np.r_[0:2, 100:700, 1000:1600])
    log = log_of(part, q=edited(part.q, (np.s_[:, 1:], 0.3)))
    assert not codes(log) & jumps
    assert len(log.segments) == 2
