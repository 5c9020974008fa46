# SPDX-License-Identifier: Apache-2.0
"""Ranges and speeds of joints that mimic others, as limits of the joints that they follow."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dyn_core
from dyn_core.cli.main import main
from dyn_core.control.trajectories.trajectory_planning import trajectory_points
from dyn_core.core.errors import DynError
from dyn_core.excitation.excite import excite
from dyn_core.excitation.settings import ExcitationSettings
from dyn_core.feasibility.actuator_limits import ActuatorLimit, actuator_limits, described_limit
from dyn_core.feasibility.assessment import assess_motion
from dyn_core.feasibility.drive_torques import DriveTorques
from dyn_core.feasibility.limits_file import read_limits
from dyn_core.feasibility.reference_governor import ReferenceGovernor
from dyn_core.feasibility.sampled_motion import SampledMotion
from dyn_core.feasibility.step_feasibility import Feasibility
from dyn_core.feasibility.torque_speed_curve import TorqueSpeedCurve
from dyn_core.feasibility.trajectory_governor import TrajectoryGovernor
from dyn_core.robot.robot import Robot

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def robot_of(*joints: str) -> Robot:
    """A chain of revolute joints a, b, c ... with these elements each."""
    names = [chr(ord("a") + k) for k in range(len(joints))]
    text = '<robot name="chain"><link name="base"/>'
    parent = "base"
    for name, inside in zip(names, joints, strict=True):
        text += (
            f'<link name="link_{name}">{INERTIAL}</link><joint name="{name}" type="revolute">'
            f'<parent link="{parent}"/><child link="link_{name}"/><origin xyz="0.2 0 0"/>'
            f'<axis xyz="0 0 1"/>{inside}</joint>'
        )
        parent = f"link_{name}"
    return dyn_core.load_robot(f"{text}</robot>")


def limit(lower: float, upper: float, velocity: float = 0.0, effort: float = 100.0) -> str:
    return f'<limit lower="{lower}" upper="{upper}" velocity="{velocity}" effort="{effort}"/>'


def mimic(leader: str, multiplier: float, offset: float) -> str:
    return f'<mimic joint="{leader}" multiplier="{multiplier}" offset="{offset}"/>'


@pytest.fixture(scope="module")
def gripper() -> Robot:
    """b turns -2 times as far as a, from 0.1 on, and may turn 0.9 back and 1.1 ahead at 1 rad/s."""
    return robot_of(limit(-2, 2, 3), mimic("a", -2, 0.1) + limit(-0.9, 1.1, 1.0))


def test_range_and_speed_of_a_follower_limit_its_leader(gripper: Robot) -> None:
    (of_a,) = actuator_limits(gripper).of_joints
    assert (of_a.lower, of_a.upper, of_a.velocity) == pytest.approx((-0.5, 0.5, 0.5))
    assert (of_a.lower_of, of_a.upper_of, of_a.velocity_of) == ("b", "b", "b")
    assert of_a.curve.efforts == (100.0,)


@pytest.mark.parametrize("seed", range(40))
def test_random_chains_beside_a_search(seed: int) -> None:
    """Within the limits, and only there, all joints are within their own: b to e mimic each other."""
    random = np.random.default_rng(seed)
    own = [
        (*sorted(random.uniform(-3, 3, 2)), float(random.choice([0.0, random.uniform(0.1, 5)])))
        for _ in "abcde"
    ]
    m = random.uniform(0.2, 3.0, 5) * random.choice([-1, 1], 5)
    c = random.uniform(-1, 1, 5)
    follows = [0, *(int(random.integers(0, k)) for k in range(1, 5))]
    inside = [limit(*own[0])] + [mimic("abcde"[follows[k]], m[k], c[k]) + limit(*own[k]) for k in range(1, 5)]
    robot = robot_of(*inside)
    # As an affine map of the position of a, joint by joint.
    slope, shift = [1.0], [0.0]
    for k in range(1, 5):
        slope.append(m[k] * slope[follows[k]])
        shift.append(m[k] * shift[follows[k]] + c[k])
    q = np.linspace(-4, 4, 200_001)
    kept = np.all(
        [
            (s * q + d >= low) & (s * q + d <= high)
            for s, d, (low, high, _) in zip(slope, shift, own, strict=True)
        ],
        axis=0,
    )
    fastest = (
        min(speed / abs(s) for s, (_, _, speed) in zip(slope, own, strict=True) if speed)
        if any(o[2] for o in own)
        else math.inf
    )
    if not kept.any():
        with pytest.raises(DynError, match=r"joint 'a' can be nowhere: its least position is .* by .*range"):
            actuator_limits(robot)
        return
    (of_a,) = actuator_limits(robot).of_joints
    assert of_a.lower == pytest.approx(q[kept][0], abs=1e-4)
    assert of_a.upper == pytest.approx(q[kept][-1], abs=1e-4)
    assert of_a.velocity == pytest.approx(fastest)


def test_followers_without_limits_and_leaders_without_limits() -> None:
    free = robot_of(limit(-2, 2, 3), mimic("a", -2, 0.1) + limit(0, 0, 0))
    assert actuator_limits(free).of_joints == (described_limit(free, "a"),)
    led = robot_of(limit(0, 0, 0), mimic("a", -2, 0.1) + limit(-0.9, 1.1, 1.0))
    (of_a,) = actuator_limits(led).of_joints
    assert (of_a.lower, of_a.upper, of_a.velocity) == pytest.approx((-0.5, 0.5, 0.5))


def test_excitation_keeps_the_same_limits(gripper: Robot) -> None:
    settings = ExcitationSettings(
        tries=1, iterations=1, harmonics=1, position_scale=1.0, velocity_scale=1.0, seed=1
    )
    limits = excite(gripper, settings).limits
    (of_a,) = actuator_limits(gripper).of_joints
    assert (limits.lower[0], limits.upper[0], limits.velocity[0]) == pytest.approx(
        (of_a.lower, of_a.upper, of_a.velocity)
    )


def test_an_empty_range_names_both_joints() -> None:
    robot = robot_of(limit(1, 2, 3), mimic("a", -1, 0.1) + limit(-0.2, 1.1))
    with pytest.raises(
        DynError,
        match=r"joint 'a' can be nowhere: its least position is 1 by its own range, its greatest 0\.3 by the "
        r"range of joint 'b', which mimics it: change these ranges, or multiplier and offset, or give one of "
        r"the joints 'position: none'",
    ):
        actuator_limits(robot)
    lifted = read_limits({"joints": {"b": {"position": None}}}, robot)
    assert (lifted.lower[0], lifted.upper[0]) == (1.0, 2.0)


def test_one_that_stands_still() -> None:
    still = robot_of(limit(-1, 1), mimic("a", 0, 0.4) + limit(0.1, 0.4, 0.1))
    assert actuator_limits(still).of_joints == (described_limit(still, "a"),)
    out = robot_of(limit(-1, 1), mimic("a", 0, 0.5) + limit(0.1, 0.4))
    with pytest.raises(
        DynError,
        match=r"joint 'b' follows nothing and stands still at 0\.5 rad, but its range is 0\.1 to 0\.4",
    ):
        actuator_limits(out)
    assert read_limits({"joints": {"b": {"position": "none"}}}, out).upper[0] == 1.0


def test_files_name_followers(gripper: Robot) -> None:
    found = read_limits({"joints": {"b": {"position": [-0.5, math.inf], "velocity": 0.6}}}, gripper)
    (of_a,) = found.of_joints
    assert (of_a.lower, of_a.upper, of_a.velocity) == pytest.approx((-2.0, 0.3, 0.3))
    assert (of_a.lower_of, of_a.upper_of, of_a.velocity_of) == ("", "b", "b")
    both = read_limits({"joints": {"a": {"velocity": 0.2}, "b": {"velocity": None}}}, gripper)
    assert both.velocity[0] == 0.2
    # What the leader has does not take away what its follower has.
    assert read_limits({"joints": {"a": {"velocity": 9.0, "position": None}}}, gripper).velocity[0] == 0.5


@pytest.mark.parametrize("entry", ["effort", "curve", "power", "braking_power", "continuous_effort"])
def test_followers_have_no_actuator(gripper: Robot, entry: str) -> None:
    with pytest.raises(
        DynError,
        match=rf"joint 'b'.*: it mimics joint 'a' and has no actuator of its own, so it has no '{entry}': "
        r"give 'position' and 'velocity' alone",
    ):
        read_limits({"joints": {"b": {entry: 5.0}}}, gripper)
    with pytest.raises(DynError, match=r"effort or power are given for joint 'b', which mimics joint 'a'"):
        actuator_limits(gripper, {"b": ActuatorLimit(curve=TorqueSpeedCurve.constant(3.0))})


def test_unknown_joints_are_told_all_that_can_be_named(gripper: Robot) -> None:
    with pytest.raises(
        DynError,
        match=r"it is no joint with an actuator: the joints are 'a', and with range and speed alone 'b'$",
    ):
        read_limits({"joints": {"x": {"velocity": 1.0}}}, gripper)


def swing(amplitude: float, w: float) -> SampledMotion:
    t = np.linspace(0.0, 2.0 * math.pi / w, 201)
    q = amplitude * np.sin(w * t)[:, None]
    qd = amplitude * w * np.cos(w * t)[:, None]
    return SampledMotion(t, q, qd, -w * w * q)


def test_failures_name_leader_and_follower(gripper: Robot) -> None:
    fast = assess_motion(gripper, swing(0.4, 2.0))
    assert [failure.excess.quantity for failure in fast.failures] == ["velocity"] * 3
    assert fast.factor == pytest.approx(1.6)
    assert fast.failures[0].sentence.endswith(
        "joint 'a' asks for the velocity 0.8 rad/s, 0.3 rad/s beyond its limit of 0.5 rad/s, which is that "
        "of joint 'b', which mimics it"
    )
    far = assess_motion(gripper, swing(0.6, 0.1))
    assert far.factor is None
    assert far.blocked == (
        "joint 'a' asks for the position 0.6 rad, 0.1 rad beyond its limit of 0.5 rad, which is that of "
        "joint 'b', which mimics it, however slowly it moves"
    )


def test_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    urdf, file, page = tmp_path / "r.urdf", tmp_path / "m.csv", tmp_path / "r.html"
    urdf.write_text(
        '<robot name="r"><link name="base"/>'
        + "".join(
            f'<link name="l{n}">{INERTIAL}</link><joint name="{n}" type="revolute"><parent link="base"/>'
            f'<child link="l{n}"/><axis xyz="0 0 1"/>{inside}</joint>'
            for n, inside in (("a", limit(-2, 2, 3)), ("b", mimic("a", -2, 0.1) + limit(-0.9, 1.1, 1.0)))
        )
        + "</robot>"
    )
    motion = swing(0.4, 2.0)
    rows = np.column_stack([motion.times, motion.q, motion.qd, motion.qdd]).tolist()
    head = "time,position.a,velocity.a,acceleration.a\n"
    file.write_text(head + "\n".join(",".join(map(repr, row)) for row in rows) + "\n")
    options = ["feasible", str(urdf), "--trajectory", str(file)]
    assert main([*options, "--json", "--report", str(page)]) == 1
    data = json.loads(capsys.readouterr().out)
    assert {failure["limit_of"] for failure in data["failures"]} == {"b"}
    assert {failure["joint"] for failure in data["failures"]} == {"a"}
    assert data["limits"][0]["velocity"] == 0.5
    assert data["limits"][0]["velocity_of"] == "b"
    assert "a (limit of b, which mimics it)" in page.read_text()
    assert main(options) == 1
    assert "which is that of joint 'b', which mimics it" in capsys.readouterr().out


def test_governors_keep_them(gripper: Robot) -> None:
    limits = actuator_limits(gripper)
    names = gripper.coordinate_names
    points = trajectory_points(names, names, [0.0, 0.6], [[0.0], [0.4]], [[0.0], [0.0]])
    governed = TrajectoryGovernor(DriveTorques(gripper), limits).governed(points, 0.0)
    # A cubic from rest to rest is at most 1.5 times as fast as its mean.
    assert governed.factor == pytest.approx(1.5 * 0.4 / 0.6 / 0.5)
    assert governed.failures[0].sentence.endswith("which is that of joint 'b', which mimics it")
    far = replace(points, q=np.array([[0.0], [0.7]]))
    with pytest.raises(DynError, match=r"beyond its limit of 0\.5 rad, which is that of joint 'b'"):
        TrajectoryGovernor(DriveTorques(gripper), limits).governed(far, 0.0)
    stream = ReferenceGovernor(Feasibility(gripper, limits))
    stream.take(0.0, np.zeros(1), np.zeros(1))
    with pytest.raises(DynError, match=r"position 0\.7 rad, its range is -0\.5 to 0\.5 rad"):
        stream.take(0.01, np.array([0.7]), np.zeros(1))
    fast = stream.take(0.02, np.zeros(1), np.array([0.8]))
    assert [excess.limit_of for excess in fast.asked if excess.quantity == "velocity"] == ["b"]
