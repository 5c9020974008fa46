# SPDX-License-Identifier: Apache-2.0
"""Trajectories that show parameters: limits, boxes, rest, condition numbers, and the same result twice."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import simulated_truth
from excited import QUICK, assert_keeps_limits, joint, limit, robot_of, two_links

import dyn_core
from dyn_core import ExcitationSettings, ForbiddenBox, excite
from dyn_core.core.blas_threads import _libraries
from dyn_core.excitation.condition_number import parameter_columns
from dyn_core.excitation.trajectory_search import Progress

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"


def loaded(name: str) -> dyn_core.Robot:
    return dyn_core.load_robot(str(ROBOTS / f"{name}.urdf"))


@pytest.fixture(scope="module")
def arm() -> dyn_core.Robot:
    """An arm of seven joints with rotors and friction."""
    return simulated_truth.with_drives(simulated_truth.arm(simulated_truth.SEVEN))


@pytest.fixture(scope="module")
def arm_excitation(arm: dyn_core.Robot) -> dyn_core.Excitation:
    return excite(arm, ExcitationSettings(duration=20.0, tries=1, iterations=30))


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_limits_are_kept_on_a_grid_of_its_own(name: str) -> None:
    excitation = excite(loaded(name), ExcitationSettings(**QUICK))
    assert_keeps_limits(excitation)
    assert excitation.condition < excitation.initial_condition
    assert excitation.complete
    # The limits are used: some joint is near its limit of position, velocity or acceleration.
    assert min(margin.room for margin in excitation.margins) < 0.05


def test_the_motion_is_slow_where_little_of_the_limits_is_used() -> None:
    settings = ExcitationSettings(
        position_scale=0.2,
        velocity_scale=0.1,
        acceleration_scale=0.5,
        effort_scale=0.9,
        accelerations={"turn": 0.1},
        **QUICK,
    )
    excitation = excite(loaded("rrp"), settings)
    assert_keeps_limits(excitation)
    _, _, qdd = excitation.trajectory.at_many(np.linspace(0.0, 10.0, 2001))
    assert 0.02 < np.abs(qdd[:, 0]).max() <= 0.05


def test_an_effort_limit_that_matters_is_kept() -> None:
    """80 % of 12 and 3.5 N m."""
    robot = robot_of(joint(1, rest=limit(effort=12.0)), joint(2, rest=limit(effort=3.5)))
    free = excite(robot_of(joint(1, rest=limit()), joint(2, rest=limit())), ExcitationSettings(**QUICK))
    excitation = excite(robot, ExcitationSettings(**QUICK))
    assert_keeps_limits(excitation)
    model = dyn_core.compile_model(robot, backend="python")
    greatest = np.abs(model.inverse_dynamics(*free.trajectory.at_many(np.linspace(0.0, 10.0, 999)))).max(
        axis=0
    )
    assert greatest[0] > 9.6, "without the limits it would have been beyond them"


def test_coulomb_friction_counts_in_both_directions() -> None:
    """A joint about a vertical axis: of its torque 3 N m are Coulomb friction, the rest is inertia."""
    robot = robot_of(
        joint(1, axis="0 0 1", rest=limit(velocity=20.0, effort=3.5) + '<dynamics friction="3"/>'),
        gravity=(0, 0, 0),
    )
    excitation = excite(robot, ExcitationSettings(accelerations={"j1": 1e3}, effort_scale=1.0, **QUICK))
    rigid = dyn_core.compile_model(robot, backend="python", friction=False)
    torques = rigid.inverse_dynamics(*excitation.trajectory.at_many(np.linspace(0.0, 10.0, 9999)))
    assert 0.35 < np.abs(torques).max() <= 0.5


def test_it_begins_and_ends_at_rest_at_the_start() -> None:
    start = [0.4, -0.2, 0.1]
    excitation = excite(loaded("rrp"), ExcitationSettings(start=start, **QUICK))
    for t in (-1.0, 0.0, 10.0, 12.0):
        q, qd, qdd = excitation.trajectory.at(t)
        np.testing.assert_allclose(q, start, atol=1e-12)
        np.testing.assert_allclose([qd, qdd], 0.0, atol=1e-12)
    by_name = excite(
        loaded("rrp"), ExcitationSettings(start={"lift": -0.2, "turn": 0.4, "stretch": 0.1}, **QUICK)
    )
    np.testing.assert_array_equal(by_name.trajectory.amplitudes, excitation.trajectory.amplitudes)
    some = excite(loaded("rrp"), ExcitationSettings(start={"lift": -0.2}, **QUICK))
    np.testing.assert_allclose(some.trajectory.at(0.0).q, [0.0, -0.2, 0.175])  # the others in their middle


def test_positions_velocities_and_accelerations_are_continuous() -> None:
    """From one sample to the next none changes by more than its derivative says, and all are derivatives."""
    excitation = excite(loaded("rrp"), ExcitationSettings(start=[0.9, 0.1, 0.3], periods=2, **QUICK))
    t = np.linspace(-0.5, 10.5, 110001)
    h = t[1] - t[0]
    q, qd, qdd = excitation.trajectory.at_many(t)
    np.testing.assert_allclose(np.diff(q, axis=0) / h, 0.5 * (qd[1:] + qd[:-1]), atol=1e-6)
    np.testing.assert_allclose(np.diff(qd, axis=0) / h, 0.5 * (qdd[1:] + qdd[:-1]), atol=1e-3)
    jerk = np.abs(np.diff(qdd, axis=0)).max(axis=0) / h
    assert (jerk < 100.0 * excitation.limits.acceleration).all()


def test_the_series_is_periodic_between_the_blends() -> None:
    excitation = excite(loaded("rrp"), ExcitationSettings(periods=3, **QUICK))
    period = excitation.settings.period
    assert period == pytest.approx(7.0 / 3.0)
    t = np.linspace(1.5, 1.5 + period, 100)
    first, third = excitation.trajectory.at_many(t), excitation.trajectory.at_many(t + 2.0 * period)
    for one, other in zip(first, third, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    assert_keeps_limits(excitation)


def test_the_same_arguments_give_the_same_trajectory() -> None:
    robot, settings = loaded("rrp"), ExcitationSettings(**{**QUICK, "tries": 2})
    one, other = excite(robot, settings), excite(robot, settings)
    np.testing.assert_array_equal(one.trajectory.amplitudes, other.trajectory.amplitudes)
    np.testing.assert_array_equal(one.trajectory.phases, other.trajectory.phases)
    np.testing.assert_array_equal(one.trajectory.centre, other.trajectory.centre)
    assert one.condition == other.condition
    different = excite(robot, ExcitationSettings(seed=1, **QUICK))
    assert np.abs(different.trajectory.amplitudes - one.trajectory.amplitudes).max() > 1e-3


def test_one_thread_is_enough() -> None:
    """Several wait for each other, busily: on a machine that others use, twenty times as long."""
    threads: list[int] = []

    def report(_: Progress) -> None:
        threads.extend(get_count() for get_count, _ in _libraries())

    excite(two_links(), ExcitationSettings(**QUICK), report)
    assert threads
    assert set(threads) <= {1}


def test_another_process_gives_the_same_trajectory() -> None:
    code = (
        "import dyn_core, hashlib, sys\n"
        f"robot = dyn_core.load_robot({str(ROBOTS / 'rrp.urdf')!r})\n"
        f"found = dyn_core.excite(robot, dyn_core.ExcitationSettings(**{QUICK!r})).trajectory\n"
        "print(hashlib.sha256(found.amplitudes.tobytes() + found.phases.tobytes()).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(dyn_core.__file__).parents[1])},
    )
    found = excite(loaded("rrp"), ExcitationSettings(**QUICK)).trajectory
    own = hashlib.sha256(found.amplitudes.tobytes() + found.phases.tobytes()).hexdigest()
    assert done.stdout.strip() == own


def test_seven_joints_in_few_iterations(arm_excitation: dyn_core.Excitation) -> None:
    """43 base parameters, 5 rotors that are not grouped, and friction: the bar is 100."""
    assert len(arm_excitation.parameter_names) == 43 + 5 + 21
    assert arm_excitation.condition < 20.0
    assert arm_excitation.left_out == ()
    assert {"ZZR1", "Fv1", "Fs7", "Fo7", "Ia7"} <= set(arm_excitation.parameter_names)


def test_condition_number_by_pinocchio(arm: dyn_core.Robot, arm_excitation: dyn_core.Excitation) -> None:
    """Its regressor with columns of rotors and friction; a QR decomposition keeps what is independent."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(dyn_core.write_urdf(simulated_truth.arm(simulated_truth.SEVEN)))
    data = model.createData()
    order = [model.joints[model.getJointId(name)].idx_v for name in arm.joint_names]
    assert order == list(range(7))
    t = np.linspace(0.0, arm_excitation.duration, 1501)
    rows = []
    for q, qd, qdd in zip(*arm_excitation.trajectory.at_many(t), strict=True):
        bodies = pin.computeJointTorqueRegressor(model, data, q, qd, qdd)
        rows.append(np.hstack([bodies, np.diag(qdd), np.diag(qd), np.diag(np.sign(qd)), np.eye(7)]))
    W = np.concatenate(rows)
    W = W[:, np.linalg.norm(W, axis=0) > 1e-9]
    W /= np.linalg.norm(W, axis=0)
    kept = np.abs(np.diag(np.linalg.qr(W, mode="r"))) > 1e-8
    assert kept.sum() == len(arm_excitation.parameter_names)
    # Its parameters are about centres and its columns in another order, so others stand for the groups.
    assert np.linalg.cond(W[:, kept]) == pytest.approx(arm_excitation.condition, rel=1.0)
    assert np.linalg.cond(W[:, kept]) < 100.0


def test_condition_number_by_the_regressor(arm: dyn_core.Robot, arm_excitation: dyn_core.Excitation) -> None:
    t = np.linspace(0.0, arm_excitation.duration, 6007)
    W = dyn_core.compile_model(arm).regressor(*arm_excitation.trajectory.at_many(t))
    W = W.reshape(-1, W.shape[2])
    names = np.array(arm.parameter_names)
    kept = [np.flatnonzero(names == name.replace("R", ""))[0] for name in arm_excitation.parameter_names]
    W = W[:, kept] / np.linalg.norm(W[:, kept], axis=0)
    assert np.linalg.cond(W) == pytest.approx(arm_excitation.condition, rel=0.01)


def test_an_offset_that_is_no_other_than_a_weight_is_left_out() -> None:
    """A mass that is lifted straight up: M (qdd + g) and Ia qdd make the constant."""
    robot = dyn_core.load_robot(
        '<robot name="lift"><link name="base"/><link name="load"><inertial><mass value="10"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="up" type="prismatic"><parent link="base"/><child link="load"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="500"/></joint></robot>'
    )
    excitation = excite(robot, ExcitationSettings(**QUICK))
    assert excitation.left_out == ("Fo1",)
    assert excitation.parameter_names == ("M1", "Ia1", "Fv1", "Fs1")
    assert_keeps_limits(excitation)


def test_what_a_motion_within_narrow_limits_hides_is_named() -> None:
    """The second joint hardly moves: its body and that of the first are told from nothing."""
    settings = ExcitationSettings(**QUICK, accelerations={"lift": 1e-4})
    excitation = excite(loaded("rrp"), settings)
    assert excitation.condition > 1e3
    assert set(excitation.hidden) < set(excitation.parameter_names)
    columns = parameter_columns(excitation.robot, excitation.limits)
    t = np.linspace(0.0, excitation.duration, 5003)
    W = columns.at(*excitation.trajectory.at_many(t)).reshape(-1, len(columns.names))
    W /= np.linalg.norm(W, axis=0)
    for k, name in enumerate(columns.names):
        others = np.delete(W, k, axis=1)
        rest = W[:, k] - others @ np.linalg.lstsq(others, W[:, k], rcond=None)[0]
        part = np.linalg.norm(rest)
        assert not 0.9e-3 < part < 1.1e-3, "other samples, and it may be either"
        assert (name in excitation.hidden) == (part < 1e-3), name
    assert excite(loaded("rrp"), ExcitationSettings(**QUICK)).hidden == ()


@pytest.mark.parametrize(
    "boxes",
    [
        {"corner": {"j1": (0.1, 5.0), "j2": (0.1, 5.0)}},
        {"wall": {"j1": (0.3, 0.35), "j2": (-0.5, 5.0)}, "ring": {"j1": (-0.9, -0.5), "j2": (-0.3, 0.3)}},
        {"cut": {"j1": (0.5, 0.6)}, "half": {"j2": (-9.0, -0.7)}},
        {"near": {"j1": (0.01, 1.0), "j2": (0.01, 1.0)}, "far": {"j1": (-1.0, -0.01), "j2": (-1.0, -0.01)}},
    ],
    ids=lambda boxes: "-".join(boxes),
)
def test_boxes_are_not_entered(boxes: dict[str, dict[str, tuple[float, float]]]) -> None:
    given = tuple(ForbiddenBox(name, ranges) for name, ranges in boxes.items())
    excitation = excite(two_links(), ExcitationSettings(boxes=given, **QUICK))
    assert_keeps_limits(excitation)
    q = excitation.trajectory.at_many(np.linspace(0.0, 10.0, 500)).q
    assert (np.ptp(q, axis=0) > 0.3).all(), "it moves all the same"
    nearest = next(margin for margin in excitation.margins if margin.kind == "box")
    assert nearest.name in boxes
    assert nearest.reached >= 1e-3
    without = (
        excite(two_links(), ExcitationSettings(**QUICK)).trajectory.at_many(np.linspace(0.0, 10.0, 500)).q
    )
    inside = [
        np.all(
            [
                (a <= without[:, int(name[1]) - 1]) & (without[:, int(name[1]) - 1] <= b)
                for name, (a, b) in box.items()
            ],
            axis=0,
        )
        for box in boxes.values()
    ]
    assert np.any(inside), "without the boxes it would have been there"


def test_a_box_of_one_joint_cuts_its_range() -> None:
    box = ForbiddenBox("stand", {"j1": (0.5, 0.6)})
    low = excite(two_links(), ExcitationSettings(boxes=(box,), **QUICK))
    assert low.limits.upper[0] == pytest.approx(0.499)
    assert any(
        "'j1': from -1.9 to 0.499 rad only, because of box 'stand'" in note for note in low.limits.notes
    )
    high = excite(two_links(), ExcitationSettings(boxes=(box,), start=[1.0, 0.0], **QUICK))
    assert high.limits.lower[0] == pytest.approx(0.601)
    assert_keeps_limits(high)


def test_the_start_evades_boxes_where_none_is_given() -> None:
    box = ForbiddenBox("middle", {"j1": (-0.3, 0.3), "j2": (-0.3, 0.3)})
    excitation = excite(two_links(), ExcitationSettings(boxes=(box,), **QUICK))
    assert_keeps_limits(excitation)
    assert any("random position" in note for note in excitation.limits.notes)


def test_joints_that_mimic_others_keep_their_limits_and_boxes() -> None:
    """j2 goes at -2 times the speed of j1, from 0.1 on: its limits are narrower than those of j1."""
    mimic = '<mimic joint="j1" multiplier="-2" offset="0.1"/>' + limit(-0.9, 1.1, velocity=1.0)
    robot = robot_of(joint(1, rest=limit()), joint(2, rest=mimic), joint(3, rest=limit()))
    box = ForbiddenBox("box", {"j2": (0.5, 5.0), "j3": (0.2, 5.0)})
    excitation = excite(robot, ExcitationSettings(boxes=(box,), **QUICK))
    assert excitation.joint_names == ("j1", "j3")
    q, qd, _ = excitation.trajectory.at_many(np.linspace(0.0, 10.0, 20001))
    follower = 0.1 - 2.0 * q[:, 0]
    assert np.abs(follower - 0.1).max() <= 0.95
    assert np.abs(2.0 * qd[:, 0]).max() <= 0.8
    assert not ((follower > 0.5) & (q[:, 1] > 0.2)).any()
    assert excitation.limits.upper[0] == pytest.approx(0.475)


def test_defaults_of_joints_without_limits_are_stated() -> None:
    robot = robot_of(joint(1, "continuous"), joint(2, "prismatic"))
    excitation = excite(robot, ExcitationSettings(**QUICK))
    assert_keeps_limits(excitation)
    notes = " | ".join(excitation.limits.notes)
    assert "'j1': no range of positions: pi rad to either side of 0" in notes
    assert "'j2': no range of positions: 0.25 m to either side of 0" in notes
    assert "'j1': no velocity limit: 1 rad/s" in notes
    assert "'j2': no velocity limit: 0.25 m/s" in notes
    assert "'j1', 'j2': no effort limit: none is kept" in notes
    assert "'j1', 'j2': no acceleration limit, as no URDF has one: the greatest speed in 0.5 s" in notes
    assert excitation.limits.upper.tolist() == pytest.approx([0.95 * np.pi, 0.95 * 0.25])
    assert excitation.limits.acceleration.tolist() == pytest.approx([1.6, 0.4])
    assert {margin.kind for margin in excitation.margins} == {"position", "velocity", "acceleration"}


def test_one_joint() -> None:
    excitation = excite(robot_of(joint(1, rest=limit())), ExcitationSettings(**QUICK))
    assert_keeps_limits(excitation)
    assert len(excitation.parameter_names) == 6
    assert excitation.condition < 10.0


def test_fourteen_joints() -> None:
    axes = ("0 0 1", "0 1 0", "1 0 0")
    robot = robot_of(*(joint(k, axis=axes[k % 3], rest=limit(effort=1e4)) for k in range(1, 15)))
    excitation = excite(robot, ExcitationSettings(**{**QUICK, "iterations": 4}))
    assert len(excitation.joint_names) == 14
    assert excitation.condition < excitation.initial_condition


def test_a_start_at_the_end_of_a_range() -> None:
    settings = ExcitationSettings(start=[1.9, -1.9], effort_scale=1.0, **QUICK)
    excitation = excite(two_links(), settings)
    assert_keeps_limits(excitation)
    assert (np.ptp(excitation.trajectory.at_many(np.linspace(0.0, 10.0, 100)).q, axis=0) > 1.0).all()


def test_a_report_can_end_the_search() -> None:
    seen: list[Progress] = []

    def report(progress: Progress) -> bool:
        seen.append(progress)
        return len(seen) == 5

    excitation = excite(two_links(), ExcitationSettings(**QUICK), report)
    assert len(seen) == 5
    assert not excitation.complete
    assert_keeps_limits(excitation)
    assert excitation.condition <= seen[-1].best <= excitation.initial_condition
    assert [progress.part for progress in seen] == sorted(progress.part for progress in seen)


def test_progress_goes_to_the_end() -> None:
    seen: list[Progress] = []
    excitation = excite(two_links(), ExcitationSettings(**QUICK), seen.append)
    assert all(0.0 < progress.part <= 1.0 for progress in seen)
    assert seen[-1].part > 0.7
    assert excitation.condition <= min(progress.best for progress in seen)


def test_an_excitation_cannot_be_changed() -> None:
    excitation = excite(two_links(), ExcitationSettings(**QUICK))
    with pytest.raises(AttributeError):
        excitation.condition = 1.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        excitation.trajectory.amplitudes[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        excitation.limits.lower[0] = 1.0
    assert repr(excitation).startswith(
        "<Excitation of <Robot 'chain', 2 joints, 3 links>, 10 s, condition number"
    )
