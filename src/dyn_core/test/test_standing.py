# SPDX-License-Identifier: Apache-2.0
"""The torque of a resting joint is not used for identification; that of a creeping joint is."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from identification_log import write_table
from robots import example

import dyn_core
from dyn_core import Identified, Protocol, Signals
from dyn_core.core.arrays import Array
from dyn_core.core.messages import Message
from dyn_core.identification.diagnosis.reliability import grouped_offsets
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.output.report_tables import unseen_rows
from dyn_core.identification.pipeline import make_result
from dyn_core.identification.regressor.base_columns import base_columns
from dyn_core.identification.regressor.motion_equations import at_rest, moving, standing
from dyn_core.robot.robot_files import read_robot

INERTIA = '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>'
JOINT = 'type="revolute"><parent link="base"/><axis xyz="0 -1 0"/><limit lower="-4" upper="4" effort="100"'
URDF = f"""<robot name="two_pendulums"><link name="base"/>
<link name="one"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>{INERTIA}
<link name="other"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>{INERTIA}
<joint name="a" {JOINT} velocity="9"/><child link="one"/></joint>
<joint name="b" {JOINT} velocity="9"/><child link="other"/><origin xyz="0 1 0"/></joint></robot>"""
RATE, HALF = 250.0, 15.0
G, FV, FS = 9.81, 0.4, 0.6
MASSES, LENGTHS = (2.2, 0.9), (0.33, 0.18)  # of the true robot; the description differs


def _swing(s: Array) -> tuple[Array, Array, Array]:
    """Angle at phase s and its two derivatives."""
    return (
        1.2 * np.sin(s) + 0.5 * np.sin(3.1 * s),
        1.2 * np.cos(s) + 1.55 * np.cos(3.1 * s),
        -1.2 * np.sin(s) - 4.805 * np.sin(3.1 * s),
    )


def _torque(q: Array, qd: Array, qdd: Array) -> Array:
    """By hand: a point mass on a rod that is horizontal at 0, and friction."""
    m, length = np.array(MASSES), np.array(LENGTHS)
    found: Array = m * length**2 * qdd + m * G * length * np.cos(q) + FV * qd + FS * np.sign(qd)
    return found


def _log(creep: float = 0.0, noise: float = 1e-5, count: float = 0.0, train: float = 1.0) -> Signals:
    """The first joint moves, comes to rest smoothly after `HALF`, and then creeps or rests."""
    rng = np.random.default_rng(4)
    t = np.arange(0.0, 2 * HALF, 1 / RATE)
    rate = np.clip(HALF - t, 0.0, 1.0)
    of_phase, first, second = _swing(np.cumsum(rate) / RATE)
    other = _swing(1.1 * t)
    slowing = np.where((t > HALF - 1) & (t < HALF), -1.0, 0.0)
    q = np.column_stack([of_phase + creep * np.maximum(t - HALF, 0.0), other[0]])
    qd = np.column_stack([first * rate + creep * (t >= HALF), 1.1 * other[1]])
    qdd = np.column_stack([second * rate**2 + first * slowing, 1.21 * other[2]])
    tau = _torque(q, qd, qdd)
    if not creep:
        tau[t >= HALF, 0] += 0.9 * FS  # any torque within stiction
    q = q + noise * rng.normal(size=q.shape)
    if count:
        q = np.round(q / count) * count
    tau += 0.01 * rng.normal(size=tau.shape)
    return dyn_core.condition(dyn_core.log_of_arrays(("a", "b"), t, q, tau=tau), Protocol(train=train))


def _identified(signals: Signals) -> Identified:
    return dyn_core.identify(dyn_core.load_robot(URDF), signals)


COUNT = 2 * np.pi / 4096


@pytest.mark.parametrize("count", [0.0, COUNT])
def test_a_resting_joint_is_detected(count: float) -> None:
    signals = _log(count=count)
    a, b = standing(signals).mean(axis=0)
    assert a == pytest.approx(np.mean(signals.time > HALF), abs=0.02)
    assert b < 0.01
    assert np.all(at_rest(signals).qd[signals.time > HALF + 0.5, 0] == 0.0)


@pytest.mark.parametrize(
    ("creep", "count", "most"), [(1e-3, 0.0, 0.01), (-5e-3, 0.0, 0.01), (3e-3, COUNT, 0.02)]
)
def test_a_creeping_joint_is_used(creep: float, count: float, most: float) -> None:
    """One count of this sensor takes 0.5 s, longer than the filter of positions."""
    assert standing(_log(creep, count=count)).mean(axis=0)[0] < most


def test_resting_joints_do_not_affect_the_result_and_give_a_remark() -> None:
    """The measured torque of a resting joint is arbitrary within stiction."""
    found = _identified(_log())
    values = {p.name: p for p in (*found.base, *(p for f in found.friction for p in f.parameters))}
    moments = {f"MX{k + 1}": MASSES[k] * LENGTHS[k] for k in range(2)}
    for name, truth in {**moments, "Fs1": FS, "Fo1": 0.0, "Fv1": FV}.items():
        assert abs(values[name].value - truth) < 3 * values[name].deviation + 1e-3, name
        assert values[name].deviation < 0.02, name
    share = found.stood[0]
    assert found.stood == (pytest.approx(0.5, abs=0.03), 0.0)
    (stood,) = (remark for remark in found.remarks if remark.code == "joints-stood")
    assert stood.values["shares"] == (Message("joint-stood", joint="a", share=share),)
    assert found.errors.fitted.rms[0] == pytest.approx(0.9 * FS * np.sqrt(0.5), rel=0.1)
    assert found.errors.fitted.rms[1] < 0.05


def test_a_log_that_ends_at_rest_has_right_deviations() -> None:
    stands = Message("held-out-joint-stands", joints=("a",))
    assert stands in _identified(_log(train=0.65)).remarks
    assert stands.code not in [remark.code for remark in _identified(_log(1e-3)).remarks]


def test_a_joint_that_always_rests_is_detected_in_short_segments_too() -> None:
    t = np.arange(0.0, 20.0, 1 / RATE)
    q = np.column_stack([_swing(t)[0], np.full_like(t, 0.4)])
    q += 3e-4 * np.random.default_rng(0).normal(size=q.shape)
    tau = _torque(*(np.column_stack([x, x]) for x in _swing(t)))
    tau[:, 1] = 1.0
    kept = (t < 12.0) | ((t > 13.0) & (t < 13.4)) | (t > 14.0)
    log = dyn_core.log_of_arrays(("a", "b"), t[kept], q[kept], tau[kept] + 0.01 * q[kept])
    signals = dyn_core.condition(log, Protocol(cutoff=5.0, margin=10, decimate=1))
    assert len(signals.segments) == 3
    assert moving(signals) == (True, False)


# Offset torques that no motion separates from weights, as in lifting joints, and their remarks.


OFFSET = 15.0  # Of the lifting joint (N)


def lift(tilt: float = 0.0) -> str:
    """A prismatic joint at this angle from the vertical (rad) that carries an arm swinging in its plane."""
    body = '<inertia ixx=".1" iyy=".2" izz=".15" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    return (
        f'<robot name="lift"><link name="base"/><link name="car"><inertial><mass value="10"/>{body}'
        f'<link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="3"/>{body}<joint name="up" '
        f'type="prismatic"><parent link="base"/><child link="car"/><origin rpy="{tilt!r} 0 0"/><axis '
        'xyz="0 0 1"/><limit lower="-.5" upper=".5" velocity="1" effort="500"/><dynamics damping="20" '
        'friction="10" armature="4"/></joint><joint name="turn" type="revolute"><parent link="car"/><child '
        'link="arm"/><axis xyz="1 0 0"/><limit lower="-2" upper="2" velocity="2" effort="100"/>'
        '<dynamics damping="1" friction="1" armature="0.2"/></joint></robot>'
    )


@pytest.mark.parametrize("tilt", [0.0, 0.7])
def test_the_offset_of_a_lifting_joint_is_grouped_with_a_mass_and_its_rotor(tilt: float) -> None:
    grouped = grouped_offsets(base_columns(dyn_core.load_robot(lift(tilt))), (FrictionModel(),) * 2)
    weight = 9.81 * math.cos(tilt)
    assert set(grouped) == {"Fo1"}
    assert grouped["Fo1"] == pytest.approx({"MR1": 1.0 / weight, "Ia1": -1.0 / weight}, rel=1e-9)


def test_other_offsets_are_not_grouped() -> None:
    for robot in map(example, ("rx90", "rrp", "two_branch")):
        assert grouped_offsets(base_columns(robot), (FrictionModel(),) * robot.dof) == {}
    without_offset = (FrictionModel(("viscous", "coulomb")), FrictionModel())
    assert grouped_offsets(base_columns(dyn_core.load_robot(lift())), without_offset) == {}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    robot = dyn_core.load_robot(lift())
    found = dyn_core.excite(robot, dyn_core.ExcitationSettings(duration=15.0, tries=1, iterations=40))
    assert found.left_out == ("Fo1",)
    t = np.arange(15_000) / 1000.0
    q, qd, qdd = found.trajectory.at_many(t)
    tau = dyn_core.compile_model(robot, backend="python").inverse_dynamics(q, qd, qdd)
    tau[:, 0] += OFFSET
    tau += np.random.default_rng(0).normal(size=tau.shape) * [1.0, 0.3]
    return write_table(tmp_path_factory.mktemp("lift") / "log.csv", robot.joint_names, t, q, tau)


def test_the_result_names_parameters_that_contain_an_offset(log: Path) -> None:
    """Otherwise the small deviation of the mass would claim 14.5 kg for a true 13 kg."""
    result = make_result(read_robot(lift()), log, "a test")
    found = result.identified
    first, *others = found.remarks
    assert (first.code, first.values["offset"]) == ("offset-like-weight", "Fo1")
    assert first.values["sums"] == ("MR1 + 0.1019 Fo1", "Ia1 - 0.1019 Fo1")
    assert not any("Fo1" in str(remark) for remark in others)
    base = {parameter.name: parameter for parameter in found.base}
    for name, truth in (("MR1", 13.0), ("Ia1", 4.0)):
        there = truth + OFFSET * found.grouped_offsets["Fo1"][name]
        assert abs(base[name].value - there) < 3.0 * base[name].deviation
    assert base["MR1"].value - 13.0 > 50.0 * base["MR1"].deviation
    rows = dict(unseen_rows(result))
    assert rows["Fo1"] == "No motion tells it from a weight: it is taken as 0, and is a part of MR1, Ia1."
    assert not any("excite the joints more" in why for why in rows.values())
