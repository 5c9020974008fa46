# SPDX-License-Identifier: Apache-2.0
"""Exciting trajectories: limits, boxes, rest, condition numbers, and reproducible results."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import simulated_truth
from depth import some
from excitation_robots import QUICK, assert_keeps_limits, joint, limit, robot_of, two_links
from refusals import summary
from robots import ROBOTS, example

import dyn_core
from dyn_core import ExcitationSettings, ForbiddenBox, excite
from dyn_core.core.blas_threads import _libraries
from dyn_core.excitation.condition_number import parameter_columns
from dyn_core.excitation.trajectory_search import Progress


def quick(robot: dyn_core.Robot, **settings: object) -> dyn_core.Excitation:
    return excite(robot, ExcitationSettings(**{**QUICK, **settings}))


def kept(robot: dyn_core.Robot, **settings: object) -> dyn_core.Excitation:
    """Return the result of a quick search, and check that it keeps all limits."""
    excitation = quick(robot, **settings)
    assert_keeps_limits(excitation)
    return excitation


def positions(excitation: dyn_core.Excitation, samples: int = 500) -> np.ndarray:
    return excitation.trajectory.at_many(np.linspace(0.0, excitation.duration, samples)).q


@pytest.fixture(scope="module")
def arm() -> dyn_core.Robot:
    """An arm of seven joints with rotors and friction."""
    return simulated_truth.with_drives(simulated_truth.arm(simulated_truth.SEVEN))


@pytest.fixture(scope="module")
def arm_excitation(arm: dyn_core.Robot) -> dyn_core.Excitation:
    return excite(arm, ExcitationSettings(duration=20.0, tries=1, iterations=30))


@pytest.mark.parametrize("name", ["rrp", "rx90", "two_branch"])
def test_limits_are_kept_on_an_independent_grid(name: str) -> None:
    excitation = kept(example(name))
    assert excitation.condition < excitation.initial_condition
    assert excitation.complete
    # The motion uses the limits: some joint is near its limit of position, velocity or acceleration.
    assert min(margin.room for margin in excitation.margins) < 0.05


def test_a_small_fraction_of_the_limits_gives_a_slow_motion() -> None:
    scales = {"position_scale": 0.2, "velocity_scale": 0.1, "acceleration_scale": 0.5, "effort_scale": 0.9}
    excitation = kept(example("rrp"), accelerations={"turn": 0.1}, **scales)
    _, _, qdd = excitation.trajectory.at_many(np.linspace(0.0, 10.0, 2001))
    assert 0.02 < np.abs(qdd[:, 0]).max() <= 0.05


def test_an_active_effort_limit_is_kept() -> None:
    """80 % of 12 and 3.5 N m."""
    robot = robot_of(joint(1, rest=limit(effort=12.0)), joint(2, rest=limit(effort=3.5)))
    kept(robot)
    free = quick(two_links()).trajectory.at_many(np.linspace(0.0, 10.0, 999))
    torques = dyn_core.compile_model(robot, backend="python").inverse_dynamics(*free)
    assert np.abs(torques[:, 0]).max() > 9.6, "without the limits it would have been beyond them"


def test_coulomb_friction_counts_in_both_directions() -> None:
    """A vertical joint axis: 3 N m of the torque are Coulomb friction, the rest is inertia."""
    rest = limit(velocity=20.0, effort=3.5) + '<dynamics friction="3"/>'
    robot = robot_of(joint(1, axis="0 0 1", rest=rest), gravity=(0, 0, 0))
    excitation = quick(robot, accelerations={"j1": 1e3}, effort_scale=1.0)
    rigid = dyn_core.compile_model(robot, backend="python", friction=False)
    torques = rigid.inverse_dynamics(*excitation.trajectory.at_many(np.linspace(0.0, 10.0, 9999)))
    assert 0.35 < np.abs(torques).max() <= 0.5


def test_the_motion_begins_and_ends_at_rest_at_the_start() -> None:
    start = [0.4, -0.2, 0.1]
    excitation = quick(example("rrp"), start=start)
    q, *rates = excitation.trajectory.at_many(np.array([-1.0, 0.0, 10.0, 12.0]))
    np.testing.assert_allclose(q, [start] * 4, atol=1e-12)
    np.testing.assert_allclose(rates, 0.0, atol=1e-12)
    by_name = quick(example("rrp"), start={"lift": -0.2, "turn": 0.4, "stretch": 0.1})
    np.testing.assert_array_equal(by_name.trajectory.amplitudes, excitation.trajectory.amplitudes)
    one = quick(example("rrp"), start={"lift": -0.2})  # the others start in the middle of their range
    np.testing.assert_allclose(one.trajectory.at(0.0).q, [0.0, -0.2, 0.175])


def test_positions_velocities_and_accelerations_are_continuous() -> None:
    """No sample changes by more than its derivative allows, and the derivatives agree with differences."""
    excitation = quick(example("rrp"), start=[0.9, 0.1, 0.3], periods=2)
    t = np.linspace(-0.5, 10.5, 110001)
    h = t[1] - t[0]
    q, qd, qdd = excitation.trajectory.at_many(t)
    np.testing.assert_allclose(np.diff(q, axis=0) / h, 0.5 * (qd[1:] + qd[:-1]), atol=1e-6)
    np.testing.assert_allclose(np.diff(qd, axis=0) / h, 0.5 * (qdd[1:] + qdd[:-1]), atol=1e-3)
    jerk = np.abs(np.diff(qdd, axis=0)).max(axis=0) / h
    assert (jerk < 100.0 * excitation.limits.acceleration).all()


def test_the_series_is_periodic_between_the_blends() -> None:
    excitation = kept(example("rrp"), periods=3)
    period = excitation.settings.period
    assert period == pytest.approx(7.0 / 3.0)
    t = np.linspace(1.5, 1.5 + period, 100)
    first, third = excitation.trajectory.at_many(t), excitation.trajectory.at_many(t + 2.0 * period)
    np.testing.assert_allclose(first, third, atol=1e-9)


def test_the_same_arguments_give_the_same_trajectory() -> None:
    one, other = (quick(example("rrp"), tries=2) for _ in range(2))
    for part in ("amplitudes", "phases", "centre"):
        np.testing.assert_array_equal(getattr(one.trajectory, part), getattr(other.trajectory, part))
    assert one.condition == other.condition
    different = quick(example("rrp"), seed=1)
    assert np.abs(different.trajectory.amplitudes - one.trajectory.amplitudes).max() > 1e-3


def test_the_search_uses_one_thread() -> None:
    """Several threads that wait for each other in busy loops take twenty times as long on a busy machine."""
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
    env = {**os.environ, "PYTHONPATH": str(Path(dyn_core.__file__).parents[1])}
    printed = subprocess.check_output([sys.executable, "-c", code], text=True, env=env)
    found = quick(example("rrp")).trajectory
    assert printed.strip() == hashlib.sha256(found.amplitudes.tobytes() + found.phases.tobytes()).hexdigest()


def test_seven_joints_in_few_iterations(arm_excitation: dyn_core.Excitation) -> None:
    """43 base parameters, 5 rotors that are not grouped, and friction; the bar is 100."""
    assert (len(arm_excitation.parameter_names), arm_excitation.left_out) == (43 + 5 + 21, ())
    assert arm_excitation.condition < 20.0
    assert {"ZZR1", "Fv1", "Fs7", "Fo7", "Ia7"} <= set(arm_excitation.parameter_names)


def test_condition_number_by_pinocchio(arm: dyn_core.Robot, arm_excitation: dyn_core.Excitation) -> None:
    """Pinocchio's regressor with columns of rotors and friction.

    A QR decomposition keeps independent columns.
    """
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(dyn_core.write_urdf(simulated_truth.arm(simulated_truth.SEVEN)))
    data = model.createData()
    order = [model.joints[model.getJointId(name)].idx_v for name in arm.joint_names]
    assert order == list(range(7))
    rows = []
    samples = arm_excitation.trajectory.at_many(np.linspace(0.0, arm_excitation.duration, 1501))
    for q, qd, qdd in zip(*samples, strict=True):
        bodies = pin.computeJointTorqueRegressor(model, data, q, qd, qdd)
        rows.append(np.hstack([bodies, np.diag(qdd), np.diag(qd), np.diag(np.sign(qd)), np.eye(7)]))
    W = np.concatenate(rows)
    W = W[:, np.linalg.norm(W, axis=0) > 1e-9]
    W /= np.linalg.norm(W, axis=0)
    kept = np.abs(np.diag(np.linalg.qr(W, mode="r"))) > 1e-8
    assert kept.sum() == len(arm_excitation.parameter_names)
    # Its parameters are about centres of mass and in another order, so other columns represent the groups.
    assert np.linalg.cond(W[:, kept]) == pytest.approx(arm_excitation.condition, rel=1.0)  # below 20


def test_condition_number_by_the_regressor(arm: dyn_core.Robot, arm_excitation: dyn_core.Excitation) -> None:
    t = np.linspace(0.0, arm_excitation.duration, 6007)
    W = dyn_core.compile_model(arm).regressor(*arm_excitation.trajectory.at_many(t))
    W = W.reshape(-1, W.shape[2])
    names = np.array(arm.parameter_names)
    kept = [np.flatnonzero(names == name.replace("R", ""))[0] for name in arm_excitation.parameter_names]
    W = W[:, kept] / np.linalg.norm(W[:, kept], axis=0)
    assert np.linalg.cond(W) == pytest.approx(arm_excitation.condition, rel=0.01)


def test_an_offset_that_equals_a_weight_is_left_out() -> None:
    """A mass on a slope: the terms M (qdd + g) and Ia qdd combine to a constant."""
    excitation = kept(robot_of(joint(1, "prismatic", "0 0 1", limit(-1.0, 1.0, 1.0, 500.0))))
    assert excitation.left_out == ("Fo1",)
    assert excitation.parameter_names == ("M1", "Ia1", "Fv1", "Fs1")


def test_parameters_that_narrow_limits_hide_are_named() -> None:
    """The second joint hardly moves, so its body cannot be separated from the first one."""
    excitation = quick(example("rrp"), accelerations={"lift": 1e-4})
    assert excitation.condition > 1e3
    assert set(excitation.hidden) < set(excitation.parameter_names)
    columns = parameter_columns(excitation.robot, excitation.limits)
    t = np.linspace(0.0, excitation.duration, 5003)
    W = columns.at(*excitation.trajectory.at_many(t)).reshape(-1, len(columns.names))
    W /= np.linalg.norm(W, axis=0)
    for k, name in enumerate(columns.names):
        others = np.delete(W, k, axis=1)
        part = np.linalg.norm(W[:, k] - others @ np.linalg.lstsq(others, W[:, k], rcond=None)[0])
        assert not 0.9e-3 < part < 1.1e-3, "other samples, and it may be either"
        assert (name in excitation.hidden) == (part < 1e-3), name
    assert quick(example("rrp")).hidden == ()


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
    excitation = kept(two_links(), boxes=given)
    assert (np.ptp(positions(excitation), axis=0) > 0.3).all(), "it moves all the same"
    nearest = next(margin for margin in excitation.margins if margin.kind == "box")
    assert nearest.name in boxes
    assert nearest.reached >= 1e-3
    without = dict(zip(("j1", "j2"), positions(quick(two_links())).T, strict=True))
    inside = [
        np.all([(a <= without[name]) & (without[name] <= b) for name, (a, b) in box.items()], axis=0)
        for box in boxes.values()
    ]
    assert np.any(inside), "without the boxes it would have been there"


def test_a_box_of_one_joint_cuts_its_range() -> None:
    box = ForbiddenBox("stand", {"j1": (0.5, 0.6)})
    low = quick(two_links(), boxes=(box,))
    assert low.limits.upper[0] == pytest.approx(0.499)
    assert "range-cut-by-box: stand, j1, -1.9, rad, 0.499" in map(summary, low.limits.notes)
    assert kept(two_links(), boxes=(box,), start=[1.0, 0.0]).limits.lower[0] == pytest.approx(0.601)


def test_the_default_start_is_outside_of_boxes() -> None:
    box = ForbiddenBox("middle", {"j1": (-0.3, 0.3), "j2": (-0.3, 0.3)})
    assert "start-at-random" in map(summary, kept(two_links(), boxes=(box,)).limits.notes)


def test_limits_and_boxes_of_mimic_joints_are_kept() -> None:
    """j2 moves at -2 times the speed of j1, from 0.1 on, and its limits are narrower than those of j1."""
    mimic = '<mimic joint="j1" multiplier="-2" offset="0.1"/>' + limit(-0.9, 1.1, velocity=1.0)
    robot = robot_of(joint(1, rest=limit()), joint(2, rest=mimic), joint(3, rest=limit()))
    box = ForbiddenBox("box", {"j2": (0.5, 5.0), "j3": (0.2, 5.0)})
    excitation = quick(robot, boxes=(box,))
    assert excitation.joint_names == ("j1", "j3")
    q, qd, _ = excitation.trajectory.at_many(np.linspace(0.0, 10.0, 20001))
    follower = 0.1 - 2.0 * q[:, 0]
    assert np.abs(follower - 0.1).max() <= 0.95
    assert np.abs(2.0 * qd[:, 0]).max() <= 0.8
    assert not ((follower > 0.5) & (q[:, 1] > 0.2)).any()
    assert excitation.limits.upper[0] == pytest.approx(0.475)


def test_assumed_limits_of_joints_without_limits_are_reported() -> None:
    excitation = kept(robot_of(joint(1, "continuous"), joint(2, "prismatic")))
    assert [*map(summary, excitation.limits.notes)] == [
        *("position-range-assumed: pi rad, [j1]", "position-range-assumed: 0.25 m, [j2]"),
        *("velocity-limit-assumed: [j1], 1, rad/s", "velocity-limit-assumed: [j2], 0.25, m/s"),
        *("acceleration-limit-assumed: [j1, j2], 0.5", "effort-limit-absent: [j1, j2]", "start-in-middle"),
    ]
    assert excitation.limits.upper.tolist() == pytest.approx([0.95 * np.pi, 0.95 * 0.25])
    assert excitation.limits.acceleration.tolist() == pytest.approx([1.6, 0.4])
    assert {margin.kind for margin in excitation.margins} == {"position", "velocity", "acceleration"}


def test_one_joint() -> None:
    excitation = kept(robot_of(joint(1, rest=limit())))
    assert len(excitation.parameter_names) == 6
    assert excitation.condition < 10.0


@pytest.mark.parametrize("joints", some([9, 14], 9))
def test_many_joints(joints: int) -> None:
    axes = ("0 0 1", "0 1 0", "1 0 0")
    robot = robot_of(*(joint(k, axis=axes[k % 3], rest=limit(effort=1e4)) for k in range(1, joints + 1)))
    excitation = quick(robot, iterations=4)
    assert len(excitation.joint_names) == joints
    assert excitation.condition < excitation.initial_condition


def test_a_start_at_the_end_of_a_range() -> None:
    excitation = kept(two_links(), start=[1.9, -1.9], effort_scale=1.0)
    assert (np.ptp(positions(excitation, 100), axis=0) > 1.0).all()


def test_a_progress_callback_can_end_the_search() -> None:
    seen: list[Progress] = []

    def report(progress: Progress) -> bool:
        seen.append(progress)
        return len(seen) == 5

    excitation = excite(two_links(), ExcitationSettings(**QUICK), report)
    assert (len(seen), excitation.complete) == (5, False)
    assert_keeps_limits(excitation)
    assert excitation.condition <= seen[-1].best <= excitation.initial_condition
    assert [progress.part for progress in seen] == sorted(progress.part for progress in seen)


def test_progress_ends_at_the_last_iteration() -> None:
    seen: list[Progress] = []
    excitation = excite(two_links(), ExcitationSettings(**QUICK), seen.append)
    assert all(0.0 < progress.part <= 1.0 for progress in seen)
    assert seen[-1].part > 0.7
    assert excitation.condition <= min(progress.best for progress in seen)


def test_an_excitation_cannot_be_changed() -> None:
    excitation = quick(two_links())
    with pytest.raises(AttributeError):
        excitation.condition = 1.0  # type: ignore[misc]
    for array in (excitation.trajectory.amplitudes, excitation.limits.lower):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 1.0
    start = "<Excitation of <Robot 'chain', 2 joints, 3 links>, 10 s, condition number"
    assert repr(excitation).startswith(start)
