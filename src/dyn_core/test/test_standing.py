# SPDX-License-Identifier: Apache-2.0
"""The torque of a joint that stands says nothing; that of a joint that creeps does."""

from __future__ import annotations

import numpy as np
import pytest

import dyn_core
from dyn_core import Identified, Protocol, Signals
from dyn_core.core.arrays import Array
from dyn_core.identification.at_rest import at_rest, moving, standing

URDF = """<robot name="two_pendulums">
  <link name="base"/>
  <link name="one"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="other"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="a" type="revolute"><parent link="base"/><child link="one"/><axis xyz="0 -1 0"/>
    <limit lower="-4" upper="4" effort="100" velocity="9"/></joint>
  <joint name="b" type="revolute"><parent link="base"/><child link="other"/><axis xyz="0 -1 0"/>
    <origin xyz="0 1 0"/><limit lower="-4" upper="4" effort="100" velocity="9"/></joint>
</robot>"""
RATE, HALF = 250.0, 15.0
G, FV, FS = 9.81, 0.4, 0.6
MASSES, LENGTHS = (2.2, 0.9), (0.33, 0.18)
"""Of the truth; the description is wrong."""


def _swing(s: Array) -> tuple[Array, Array, Array]:
    """Angle of phase s and its two derivatives."""
    return (
        1.2 * np.sin(s) + 0.5 * np.sin(3.1 * s),
        1.2 * np.cos(s) + 1.55 * np.cos(3.1 * s),
        -1.2 * np.sin(s) - 4.805 * np.sin(3.1 * s),
    )


def _torque(i: int, q: Array, qd: Array, qdd: Array) -> Array:
    """By hand: a point mass on a rod that is level at 0, and friction."""
    m, length = MASSES[i], LENGTHS[i]
    found: Array = m * length**2 * qdd + m * G * length * np.cos(q) + FV * qd + FS * np.sign(qd)
    return found


def _log(creep: float = 0.0, noise: float = 1e-5, count: float = 0.0, train: float = 1.0) -> Signals:
    """The first joint moves, comes smoothly to rest after `HALF`, and creeps from then on, or stands."""
    rng = np.random.default_rng(4)
    t = np.arange(0.0, 2 * HALF, 1 / RATE)
    rate = np.clip(HALF - t, 0.0, 1.0)
    phase = np.cumsum(rate) / RATE
    of_phase, first, second = _swing(phase)
    later = np.maximum(t - HALF, 0.0)
    q = np.column_stack([of_phase + creep * later, _swing(1.1 * t)[0]])
    slowing = np.where((t > HALF - 1) & (t < HALF), -1.0, 0.0)
    qd = np.column_stack([first * rate + creep * (t >= HALF), 1.1 * _swing(1.1 * t)[1]])
    qdd = np.column_stack([second * rate**2 + first * slowing, 1.21 * _swing(1.1 * t)[2]])
    tau = np.column_stack([_torque(i, q[:, i], qd[:, i], qdd[:, i]) for i in range(2)])
    if not creep:
        tau[t >= HALF, 0] += 0.9 * FS  # anything within stiction
    q = q + noise * rng.normal(size=q.shape)
    if count:
        q = np.round(q / count) * count
    tau += 0.01 * rng.normal(size=tau.shape)
    return dyn_core.condition(dyn_core.log_of_arrays(("a", "b"), t, q, tau=tau), Protocol(train=train))


def _identified(signals: Signals) -> Identified:
    return dyn_core.identify(dyn_core.load_robot(URDF), signals)


def _shares(signals: Signals) -> list[float]:
    return [float(share) for share in standing(signals).mean(axis=0)]


@pytest.mark.parametrize("count", [0.0, 2 * np.pi / 4096])
def test_a_joint_that_stands_is_seen(count: float) -> None:
    signals = _log(count=count)
    a, b = _shares(signals)
    expected = float(np.mean(signals.time > HALF))
    assert a == pytest.approx(expected, abs=0.02)
    assert b < 0.01
    assert np.all(at_rest(signals).qd[signals.time > HALF + 0.5, 0] == 0.0)


@pytest.mark.parametrize("creep", [1e-3, -5e-3])
def test_a_joint_that_creeps_stays_in(creep: float) -> None:
    assert _shares(_log(creep))[0] < 0.01


def test_a_joint_that_creeps_by_less_than_a_count_at_a_time_stays_in() -> None:
    """One count of this sensor takes 0.5 s, longer than the filter of positions."""
    assert _shares(_log(creep=3e-3, count=2 * np.pi / 4096))[0] < 0.02


def test_standing_spoils_nothing() -> None:
    found = _identified(_log())
    values = {p.name: p for p in (*found.base, *(p for f in found.friction for p in f.parameters))}
    for name, truth in {
        "MX1": MASSES[0] * LENGTHS[0],
        "MX2": MASSES[1] * LENGTHS[1],
        "Fs1": FS,
        "Fo1": 0.0,
        "Fv1": FV,
    }.items():
        assert abs(values[name].value - truth) < 3 * values[name].deviation + 1e-3, name
        assert values[name].deviation < 0.02, name


def test_standing_is_said() -> None:
    found = _identified(_log())
    share, other = found.stood
    assert share == pytest.approx(0.5, abs=0.03)
    assert other == 0.0
    (said,) = (remark for remark in found.remarks if "stiction" in remark)
    assert f"{share:.0%} of the time of 'a'" in said
    assert "'b'" not in said


def test_errors_have_what_standing_leaves() -> None:
    """The torque of a joint that stands is measured, and no model knows it."""
    found = _identified(_log())
    assert found.errors.fitted.rms[0] == pytest.approx(0.9 * FS * np.sqrt(0.5), rel=0.1)
    assert found.errors.fitted.rms[1] < 0.05


def test_a_log_that_ends_at_rest_says_what_its_errors_are_worth() -> None:
    found = _identified(_log(train=0.65))
    assert any("'a' stands for most of what was held out" in remark for remark in found.remarks)
    assert not any("most of what was held out" in remark for remark in _identified(_log(1e-3)).remarks)


def test_a_joint_that_stands_all_the_time_does_so_in_short_segments_too() -> None:
    t = np.arange(0.0, 20.0, 1 / RATE)
    q = np.column_stack([_swing(t)[0], np.full_like(t, 0.4)])
    q += 3e-4 * np.random.default_rng(0).normal(size=q.shape)
    tau = np.column_stack([_torque(0, *_swing(t)), np.ones_like(t)])
    kept = (t < 12.0) | ((t > 13.0) & (t < 13.4)) | (t > 14.0)
    log = dyn_core.log_of_arrays(("a", "b"), t[kept], q[kept], tau[kept] + 0.01 * q[kept])
    signals = dyn_core.condition(log, Protocol(cutoff=5.0, margin=10, decimate=1))
    assert len(signals.segments) == 3
    assert moving(signals) == (True, False)
