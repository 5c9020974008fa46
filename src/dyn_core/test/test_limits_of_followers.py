# SPDX-License-Identifier: Apache-2.0
"""Ranges and speeds of mimic joints (followers) as limits of the joints that they follow (leaders)."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import Command
from refusals import refusal, refused

import dyn_core
from dyn_core import ActuatorLimit, Feasibility, Robot, SampledMotion, actuator_limits, read_limits
from dyn_core.control.trajectories.trajectory_planning import trajectory_points
from dyn_core.feasibility.actuator_limits import described_limit
from dyn_core.feasibility.limit_violations import DriveTorques
from dyn_core.feasibility.reference_governor import ReferenceGovernor
from dyn_core.feasibility.trajectory_governor import TrajectoryGovernor

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def chain(*joints: str) -> str:
    """The URDF of a chain of revolute joints a, b, c ... with these elements in each."""
    text = '<robot name="chain"><link name="base"/>'
    for parent, name, inside in zip(["base", *"abcd"], "abcde", joints, strict=False):
        text += (
            f'<link name="{name}">{INERTIAL}</link><joint name="{name}" type="revolute"><axis xyz="0 0 1"/>'
        )
        text += f'<parent link="{parent}"/><child link="{name}"/><origin xyz="0.2 0 0"/>{inside}</joint>'
    return f"{text}</robot>"


def robot_of(*joints: str) -> Robot:
    return dyn_core.load_robot(chain(*joints))


def limit(lower: float, upper: float, velocity: float = 0.0, effort: float = 100.0) -> str:
    return f'<limit lower="{lower}" upper="{upper}" velocity="{velocity}" effort="{effort}"/>'


def mimic(leader: str, multiplier: float, offset: float) -> str:
    return f'<mimic joint="{leader}" multiplier="{multiplier}" offset="{offset}"/>'


HELD = limit(-2, 2, 3), mimic("a", -2, 0.1) + limit(-0.9, 1.1, 1.0)
"""b turns -2 times as far as a, with offset 0.1; its range is -0.9 to 1.1 at 1 rad/s."""


@pytest.fixture(scope="module")
def gripper() -> Robot:
    return robot_of(*HELD)


def test_range_and_speed_of_a_follower_limit_its_leader(gripper: Robot) -> None:
    (of_a,) = actuator_limits(gripper).of_joints
    assert (of_a.lower, of_a.upper, of_a.velocity) == pytest.approx((-0.5, 0.5, 0.5))
    assert (of_a.lower_of, of_a.upper_of, of_a.velocity_of) == ("b", "b", "b")
    assert of_a.curve.efforts == (100.0,)


@pytest.mark.parametrize("seed", range(40))
def test_limits_of_random_chains_agree_with_a_search(seed: int) -> None:
    """All joints are within their limits exactly where the leader is within the computed limits."""
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
    # Each joint position as an affine function of the position of a.
    slope, shift = [1.0], [0.0]
    for k in range(1, 5):
        slope.append(m[k] * slope[follows[k]])
        shift.append(m[k] * shift[follows[k]] + c[k])
    q, (low, high, speed) = np.linspace(-4, 4, 200_001)[:, None], np.array(own).T
    turned = slope * q + np.array(shift)
    kept = q[((turned >= low) & (turned <= high)).all(axis=1)]
    if not kept.size:
        with refused("joint-ranges-disjoint", joint="a"):
            actuator_limits(robot)
        return
    (of_a,) = actuator_limits(robot).of_joints
    assert (of_a.lower, of_a.upper) == pytest.approx((kept[0, 0], kept[-1, 0]), abs=1e-4)
    fastest = np.where(speed > 0.0, speed, math.inf) / np.abs(slope)
    assert of_a.velocity == pytest.approx(fastest.min())


def test_followers_without_limits_and_leaders_without_limits() -> None:
    """Also a follower that cannot move."""
    free = robot_of(limit(-2, 2, 3), mimic("a", -2, 0.1) + limit(0, 0, 0))
    still = robot_of(limit(-1, 1), mimic("a", 0, 0.4) + limit(0.1, 0.4, 0.1))
    for robot in (free, still):
        assert actuator_limits(robot).of_joints == (described_limit(robot, "a"),)
    led = robot_of(limit(0, 0, 0), mimic("a", -2, 0.1) + limit(-0.9, 1.1, 1.0))
    (of_a,) = actuator_limits(led).of_joints
    assert (of_a.lower, of_a.upper, of_a.velocity) == pytest.approx((-0.5, 0.5, 0.5))
    out = robot_of(limit(-1, 1), mimic("a", 0, 0.5) + limit(0.1, 0.4))
    assert refusal(actuator_limits, out) == "standing-joint-out-of-range: b, 0.1, 0.5, rad, 0.4"
    assert read_limits({"joints": {"b": {"position": "none"}}}, out).upper[0] == 1.0


def test_excitation_keeps_the_same_limits(gripper: Robot) -> None:
    whole = {"position_scale": 1.0, "velocity_scale": 1.0}
    settings = dyn_core.ExcitationSettings(tries=1, iterations=1, harmonics=1, seed=1, **whole)
    limits = dyn_core.excite(gripper, settings).limits
    (of_a,) = actuator_limits(gripper).of_joints
    found = (limits.lower[0], limits.upper[0], limits.velocity[0])
    assert found == pytest.approx((of_a.lower, of_a.upper, of_a.velocity))


def test_an_empty_range_names_both_joints() -> None:
    robot = robot_of(limit(1, 2, 3), mimic("a", -1, 0.1) + limit(-0.2, 1.1))
    ends = {"least": "1 by its own range", "greatest": "0.3 by the range of joint 'b', which mimics it"}
    with refused("joint-ranges-disjoint", joint="a", **ends):
        actuator_limits(robot)
    lifted = read_limits({"joints": {"b": {"position": None}}}, robot)
    assert (lifted.lower[0], lifted.upper[0]) == (1.0, 2.0)


def test_files_name_followers(gripper: Robot) -> None:
    found = read_limits({"joints": {"b": {"position": [-0.5, math.inf], "velocity": 0.6}}}, gripper)
    (of_a,) = found.of_joints
    assert (of_a.lower, of_a.upper, of_a.velocity) == pytest.approx((-2.0, 0.3, 0.3))
    assert (of_a.lower_of, of_a.upper_of, of_a.velocity_of) == ("", "b", "b")
    both = read_limits({"joints": {"a": {"velocity": 0.2}, "b": {"velocity": None}}}, gripper)
    assert both.velocity[0] == 0.2
    # Limits of the leader do not remove the limits of its follower.
    assert read_limits({"joints": {"a": {"velocity": 9.0, "position": None}}}, gripper).velocity[0] == 0.5


def test_followers_have_no_actuator_and_errors_list_all_joints(gripper: Robot) -> None:
    for entry in ("effort", "curve", "power", "braking_power", "continuous_effort"):
        said = refusal(read_limits, {"joints": {"b": {entry: 5.0}}}, gripper)
        assert said == f"limits-without-actuator at joint 'b': {entry}, mimics joint 'a'"
    with refused("limits-of-mimicking-joint", joint="b", relation="mimics joint 'a'"):
        actuator_limits(gripper, {"b": ActuatorLimit(curve=dyn_core.TorqueSpeedCurve.constant(3.0))})
    with refused("limits-unsupported") as caught:
        read_limits({"joints": {"x": {"velocity": 1.0}}}, gripper)
    assert str(caught.value.place) == "joint 'x'"
    assert all(f"'{name}'" in str(caught.value.values["cause"]) for name in "ab")


def swing(amplitude: float, w: float) -> SampledMotion:
    t = np.linspace(0.0, 2.0 * math.pi / w, 201)
    q = amplitude * np.sin(w * t)[:, None]
    return SampledMotion(t, q, amplitude * w * np.cos(w * t)[:, None], -w * w * q)


def test_failures_name_leader_and_follower(gripper: Robot) -> None:
    fast = dyn_core.assess_motion(gripper, swing(0.4, 2.0))
    assert [failure.excess.quantity for failure in fast.failures] == ["velocity"] * 3
    assert fast.factor == pytest.approx(1.6)
    excess = fast.failures[0].excess
    assert (excess.joint, excess.limit, excess.unit, excess.limit_of) == ("a", 0.5, "rad/s", "b")
    assert excess.value == pytest.approx(0.8)
    far = dyn_core.assess_motion(gripper, swing(0.6, 0.1))
    assert far.factor is None
    assert all(part in far.blocked for part in ("joint 'a'", "0.6 rad", "0.1 rad", "0.5 rad", "joint 'b'"))


def test_the_command_names_both_joints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    motion, page = swing(0.4, 2.0), tmp_path / "r.html"
    rows = np.column_stack([motion.times, motion.q, motion.qd, motion.qdd]).tolist()
    table = "\n".join(["time,position.a,velocity.a,acceleration.a", *(str(row)[1:-1] for row in rows), ""])
    feasible = Command(tmp_path, capsys, "feasible")
    options = (feasible.write("r.urdf", chain(*HELD)), "--trajectory", feasible.write("m.csv", table))
    data = feasible.json(*options, "--report", str(page), code=1)
    assert {(failure["joint"], failure["limit_of"]) for failure in data["failures"]} == {("a", "b")}
    assert (data["limits"][0]["velocity"], data["limits"][0]["velocity_of"]) == (0.5, "b")
    assert "a (limit of b, which mimics it)" in page.read_text()
    assert "joint 'b'" in feasible(*options, code=1).out


def test_governors_keep_limits_of_followers(gripper: Robot) -> None:
    limits, names = actuator_limits(gripper), gripper.coordinate_names
    points = trajectory_points(names, names, [0.0, 0.6], [[0.0], [0.4]], [[0.0], [0.0]])
    governor = TrajectoryGovernor(DriveTorques(gripper), limits)
    governed = governor.governed(points, 0.0)
    # A cubic from rest to rest is at most 1.5 times as fast as its mean.
    assert governed.factor == pytest.approx(1.5 * 0.4 / 0.6 / 0.5)
    assert governed.failures[0].excess.limit_of == "b"
    with refused("trajectory-path-infeasible") as caught:
        governor.governed(replace(points, q=np.array([[0.0], [0.7]])), 0.0)
    assert "joint 'b'" in str(caught.value.values["cause"])
    stream, zero = ReferenceGovernor(Feasibility(gripper, limits)), np.zeros(1)
    stream.take(0.0, zero, zero)
    with refused("reference-out-of-range", position=0.7, unit="rad", lower=-0.5, upper=0.5):
        stream.take(0.01, np.array([0.7]), zero)
    fast = stream.take(0.02, zero, np.array([0.8]))
    assert [excess.limit_of for excess in fast.asked if excess.quantity == "velocity"] == ["b"]
