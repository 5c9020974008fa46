# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the values of logs, and what is done about it."""

from __future__ import annotations

import numpy as np
import pytest
from log_case import Motion, arm, motion, said

import dyn_core
from dyn_core import DynError, Log

RATE = 200.0


@pytest.fixture(scope="module")
def m() -> Motion:
    return motion()


def of(m: Motion, q: np.ndarray | None = None, tau: np.ndarray | None = None, **options: object) -> Log:
    return dyn_core.log_of_arrays(
        m.joints,
        m.time,
        m.q if q is None else q,
        m.tau if tau is None else tau,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_short_holes_are_bridged(m: Motion, value: float) -> None:
    q, tau = m.q.copy(), m.tau.copy()
    q[100:103, 1] = value
    tau[200, 0] = value
    log = of(m, q, tau)
    np.testing.assert_allclose(log.q, m.q, atol=2e-3)
    np.testing.assert_allclose(log.tau, m.tau, atol=0.1)
    assert (
        "joints 'shoulder', 'elbow': 4 values are missing, or are not finite, for at most 22.5 ms: they "
        "are bridged" in said(log)
    )


def test_long_holes_cut_the_log(m: Motion) -> None:
    q = m.q.copy()
    q[300:350, 2] = np.nan
    q[:10] = np.nan
    log = of(m, q)
    assert log.segments == ((0, 290), (290, 1540))
    np.testing.assert_array_equal(log.q[:290], m.q[10:300])
    np.testing.assert_array_equal(log.q[290:], m.q[350:])
    assert "60 of 1600 samples lack a position or an effort: they are left out" in said(log)


def test_velocities_with_holes_are_not_used(m: Motion) -> None:
    qd = m.qd.copy()
    qd[300:400, 1] = np.nan
    log = of(m, qd=qd)
    assert log.qd is None
    assert "joint 'elbow': velocities are missing: those that were measured are not used" in said(log)


@pytest.mark.parametrize(
    ("unit", "turn", "gain"),
    [
        ("rad", 2 * np.pi, None),
        ("deg", 360.0, None),
        ("rev", 1.0, None),
        ("counts", 4096.0, 2 * np.pi / 4096),
    ],
)
@pytest.mark.parametrize("start", [0.0, -0.5])
def test_turns_are_counted(unit: str, turn: float, gain: float | None, start: float) -> None:
    m = motion(joints=2)
    whole = m.q.copy()
    whole[:, 0] += 2.0 * m.time
    raw = whole / (2 * np.pi) * turn
    wrapped = (raw / turn - start) % 1.0 * turn + start * turn
    position: dict[str, object] = {"unit": unit} if gain is None else {"unit": unit, "gain": gain}
    mapping = {"joints": {"shoulder": {"position": position}}}
    q = np.column_stack([wrapped[:, 0], m.q[:, 1]])
    log = of(m, q, mapping=mapping)
    off = log.q[:, 0] - whole[:, 0]
    np.testing.assert_allclose(off, off[0], atol=1e-9)
    assert abs(off[0] / (2 * np.pi) - round(off[0] / (2 * np.pi))) < 1e-9
    assert "its position jumps" in said(log)
    assert "the turns are counted, so that it goes on" in said(log)


def test_turns_of_a_fast_motor() -> None:
    """A motor that makes 40 % of a turn between two samples."""
    time = np.arange(2000) / 500.0
    speed = 0.4 * 2 * np.pi * 500.0 * np.sin(2 * np.pi * 0.5 * time)
    angle = -np.cos(2 * np.pi * 0.5 * time) * 0.4 * 500.0 / 0.5
    wrapped = (angle + np.pi) % (2 * np.pi) - np.pi
    m = motion(joints=1, time=time)
    assert np.abs(np.diff(angle)).max() > 0.35 * 2 * np.pi
    mapping = {"joints": {"shoulder": {"ratio": 100.0}}}
    log = of(m, wrapped[:, None], mapping=mapping)
    off = log.q[:, 0] - angle / 100.0
    np.testing.assert_allclose(off, off[0], atol=1e-9)
    assert speed.max() > 1000.0


def test_counters_that_overflow() -> None:
    m = motion(joints=1)
    counts = np.round(m.q * 120_000.0)
    wrapped = (counts + 2**15) % 2**16 - 2**15
    assert np.abs(np.diff(wrapped, axis=0)).max() > 60_000
    mapping = {"joints": {"shoulder": {"position": {"unit": "counts", "gain": 1.0 / 120_000.0}}}}
    log = of(m, wrapped, mapping=mapping)
    off = log.q - counts / 120_000.0
    np.testing.assert_allclose(off, off[0, 0], atol=1e-12)


def test_a_motion_of_more_than_a_turn_is_no_jump(m: Motion) -> None:
    q = m.q * 20.0
    log = of(m, q)
    np.testing.assert_array_equal(log.q, q)
    assert "jumps" not in said(log)


def test_spikes(m: Motion) -> None:
    q, tau = m.q.copy(), m.tau.copy()
    q[500, 0] += 0.5
    q[900:903, 0] = [0.9, -0.8, 0.7]
    tau[700:702, 2] = 1e4
    log = of(m, q, tau)
    np.testing.assert_allclose(log.q, m.q, atol=1e-3)
    np.testing.assert_allclose(log.tau, m.tau, atol=0.5)
    assert (
        "joint 'shoulder': its position has 2 spikes of at most 3 samples, the first at sample 501"
        in said(log)
    )
    assert "joint 'wrist': its effort has 1 spikes of at most 3 samples, the first at sample 701" in said(log)


@pytest.mark.parametrize("step", [1e-3, 1e-2])
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_steps_of_the_resolution_are_no_spikes(m: Motion, step: float, noise: float) -> None:
    generator = np.random.default_rng(0)
    q = np.round((m.q + noise * generator.standard_normal(m.q.shape)) / step) * step
    tau = (
        np.round((m.tau + 30.0 * noise * generator.standard_normal(m.q.shape)) / (50.0 * step)) * 50.0 * step
    )
    assert "spikes" not in said(of(m, q, tau))


def test_steps_of_friction_are_no_spikes(m: Motion) -> None:
    friction = 20.0 * np.sign(m.qd)
    # A joint that is about to rest changes the sign of its velocity more than once.
    friction[700:703, 0] *= -1.0
    assert "spikes" not in said(of(m, tau=m.tau + friction))


def test_efforts_that_nobody_has_measured(m: Motion) -> None:
    with pytest.raises(DynError, match=r"the efforts of 'shoulder', 'elbow', 'wrist' are 0 all the time"):
        of(m, tau=np.zeros_like(m.tau))
    with pytest.raises(DynError, match="there is no effort of a joint in it"):
        of(m, tau=np.full_like(m.tau, np.nan))
    with pytest.raises(DynError, match="all efforts are constant: no sensor of a robot says so"):
        of(m, tau=np.full_like(m.tau, 3.0))
    tau = m.tau.copy()
    tau[:, 0], tau[:, 1] = 0.0, 7.0
    log = of(m, tau=tau)
    assert log.has_effort == (False, False, True)
    assert "joint 'shoulder': its effort is 0 all the time, which no sensor says: it is left out" in said(log)
    assert "joint 'elbow': its effort is one and the same value all the time" in said(log)


def test_a_joint_that_does_not_move(m: Motion) -> None:
    q = m.q.copy()
    q[:, 1] = 0.7
    assert "joint 'elbow': it does not move (0 rad): what only its own motion shows" in said(of(m, q))


def test_a_sensor_that_hangs(m: Motion) -> None:
    q, tau = m.q.copy(), m.tau.copy()
    q[400:600, 0] = q[400, 0]
    tau[800:1000, 1] = tau[800, 1]
    text = said(of(m, q, tau))
    assert "joint 'shoulder': its position stays at" in text
    assert "for 0.995 s from 2 s and jumps then, as when a sensor hangs" in text
    assert "joint 'elbow': its effort stays at" in text
    assert "while it moves: the sensor hangs" in text


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("step", [0.0, 0.1])
@pytest.mark.parametrize("level", [40.0, 25.0])
def test_efforts_that_are_clipped(noise: float, step: float, level: float) -> None:
    m = motion(duration=20.0, rate=500.0)
    generator = np.random.default_rng(0)
    tau = m.tau * level / np.quantile(np.abs(m.tau), 0.95, axis=0)
    tau += noise * generator.standard_normal(m.tau.shape)
    tau = np.round(tau / step) * step if step else tau
    assert "clipped" not in said(of(m, tau=tau))
    clipped = np.column_stack([np.clip(tau[:, 0], -level, level), tau[:, 1:]])
    assert 0.02 < np.mean(np.abs(clipped[:, 0]) >= level) < 0.1
    text = said(of(m, tau=clipped, robot=dyn_core.load_robot(arm(m.joints))))
    assert (
        f"joint 'shoulder': its effort is clipped at {level:g} N m" in text
        or f"clipped at -{level:g} N m" in text
    )
    assert ("the limit of the robot" in text) == (level == 40.0)
    assert "joint 'elbow': its effort is clipped" not in text


def test_a_coarse_position(m: Motion) -> None:
    q = np.round(m.q / 0.02) * 0.02
    assert "its position is coarse:" in said(of(m, q))
    assert "its position is coarse:" not in said(of(m, np.round(m.q / 1e-4) * 1e-4))


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (180.0 / np.pi, "57 times the derivative of its position: it is in deg/s: check"),
        (-1.0, "-1 times the derivative of its position: check units, ratio and sign"),
        (101.0, "101 times the derivative of its position: check"),
    ],
)
def test_velocities_of_other_units(m: Motion, factor: float, words: str) -> None:
    qd = m.qd.copy()
    qd[:, 2] *= factor
    text = said(of(m, qd=qd))
    assert f"joint 'wrist': its velocity is {words}" in text
    assert text.count("derivative") == 1


def test_positions_beyond_the_limits(m: Motion) -> None:
    robot = dyn_core.load_robot(arm(m.joints, limit=2.0))
    assert of(m, robot=robot).findings == ()
    with pytest.raises(DynError, match=r"they are in deg: give 'units: \{position: deg\}' in a map"):
        of(m, np.rad2deg(m.q), robot=robot)
    log = of(m, np.rad2deg(m.q), robot=robot, mapping={"units": {"position": "deg"}})
    np.testing.assert_allclose(log.q, m.q)
    q = m.q.copy()
    q[:, 1] += 2.0
    assert "joint 'elbow': its positions, " in said(of(m, q, robot=robot))
    assert "check units, ratio, zero and order" in said(of(m, q, robot=robot))


def test_joints_of_the_robot_that_are_not_in_the_log(m: Motion) -> None:
    robot = dyn_core.load_robot(arm((*m.joints, "finger")))
    with pytest.raises(
        DynError, match=r"it has no position of 'finger', which the robot has; where such a joint"
    ):
        of(m, robot=robot)
    log = of(m, robot=robot, mapping={"held": {"finger": 0.25}})
    assert log.joint_names == (*m.joints, "finger")
    np.testing.assert_array_equal(log.q[:, 3], 0.25)
    assert log.has_effort == (True, True, True, False)
    assert "joint 'finger' held at 0.25" in log.done
    with pytest.raises(DynError, match="held: the robot has no joint 'toe'"):
        of(m, robot=robot, mapping={"held": {"toe": 0.25}})


def test_joints_are_in_the_order_of_the_robot(m: Motion) -> None:
    robot = dyn_core.load_robot(arm(m.joints[::-1]))
    log = of(m, robot=robot)
    assert log.joint_names == m.joints[::-1]
    np.testing.assert_array_equal(log.q, m.q[:, ::-1])
    np.testing.assert_array_equal(log.tau, m.tau[:, ::-1])


def test_slow_logs_are_said() -> None:
    assert "20 Hz is slow for the dynamics of a robot" in said(of(motion(rate=20.0, duration=30.0)))


def test_recordings_that_were_put_together_are_cut() -> None:
    """Time goes on where positions jump to those of another recording."""
    one, other = motion(seed=1), motion(seed=2)
    q = np.concatenate([one.q[:900], other.q[300:1000]])
    log = of(one, q)
    assert log.segments == ((0, 900), (900, 1600))
    np.testing.assert_array_equal(log.q, q)
    assert "positions jump 1 times while time goes on" in said(log)
    assert "at 4.5 s, as no joint moves: the log is cut there into 2 segments" in said(log)
    assert "set anew" not in said(log)


@pytest.mark.parametrize("size", [-1.2, 0.3])
@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_encoder_that_is_set_anew(m: Motion, size: float, noise: float) -> None:
    q = m.q + noise * np.random.default_rng(0).normal(size=m.q.shape)
    q[500:, 1] += size
    log = of(m, q)
    assert log.segments == ((0, 1100),)
    np.testing.assert_array_equal(log.q, q[500:])
    assert "joint 'elbow': positions jump 1 times" in said(log)
    assert "at 2.5 s, as no joint moves" in said(log)
    assert "only the part from 2.5 s to 7.995 s is used" in said(log)


def test_jumps_that_leave_too_little_are_refused(m: Motion) -> None:
    q = m.q[:300].copy()
    q[150:, 0] += 1.0
    with pytest.raises(
        DynError, match=r"too short where it was cut, for positions jump: 150 samples in 0.745 s"
    ):
        dyn_core.log_of_arrays(m.joints, m.time[:300], q, m.tau[:300])


def test_lost_frames_and_late_stamps_are_no_jumps(m: Motion) -> None:
    kept = np.ones(len(m.time), dtype=bool)
    kept[[300, 700, 701, 1100, 1101, 1102]] = False
    log = dyn_core.log_of_arrays(m.joints, m.time[kept], m.q[kept], m.tau[kept])
    assert "jump" not in said(log)
    evenly = dyn_core.log_of_arrays(m.joints, m.time[: kept.sum()], m.q[kept], m.tau[kept])
    assert evenly.segments == ((0, kept.sum()),)
    late = m.time.copy()
    late[500] += 0.9 / RATE
    assert "jump" not in said(dyn_core.log_of_arrays(m.joints, late, m.q, m.tau))


@pytest.mark.parametrize("step", [1e-3, 5e-3, 0.05])
def test_coarse_positions_do_not_jump(m: Motion, step: float) -> None:
    log = of(m, np.round(m.q / step) * step)
    assert log.segments == ((0, 1600),)


def test_a_gap_right_after_the_beginning_makes_no_jump(m: Motion) -> None:
    """A joint that moved during a later gap has moved, and not jumped."""
    kept = np.ones(len(m.time), dtype=bool)
    kept[2:100] = kept[700:1000] = False
    q = np.column_stack([m.q[:, 0], *(np.full(len(m.q), 0.3) for _ in m.q.T[1:])])
    log = dyn_core.log_of_arrays(m.joints, m.time[kept], q[kept], m.tau[kept])
    assert "jump" not in said(log)
    assert len(log.segments) == 2
