# SPDX-License-Identifier: Apache-2.0
"""The node `feedforward` with motors behind springs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import Inertia
from loose_node import LooseNode, Make, loose_node
from message_makers import AT_ONCE, duration, nanoseconds, point, trajectory
from refusals import refused
from robot_files import ROBOTS
from ros_graph import Graph
from trajectory_msgs.msg import JointTrajectory

import dyn_core
from dyn_core.control.laws.inverse_dynamics_control import ElasticTerms
from dyn_core.control.trajectories.piecewise_polynomials import Motion
from dyn_core.control.trajectories.trajectory_planning import planned, trajectory_points
from dyn_msgs.msg import Payload
from dyn_msgs.srv import SetPayload
from dyn_nodes.feedforward.node import Feedforward

NAMES = [f"joint_{k}" for k in range(1, 7)]
MOTORS = [f"{name}_motor" for name in NAMES]
START, GOAL = [0.1, 0.3, -0.2, 0.2, 0.3, 0.1], [0.3, 0.1, 0.0, -0.1, 0.5, 0.4]
SIDE = ROBOTS["rx90"].with_name("rx90_elastic.yaml")
ARM = {"description_file": str(ROBOTS["rx90"]), "side_file": str(SIDE)}
T = 1.5


@pytest.fixture(scope="module")
def robot() -> dyn_core.Robot:
    return dyn_core.load_robot(ROBOTS["rx90"], loops=SIDE)


def message(*goals: list[float]) -> JointTrajectory:
    points = [point(T * (k + 1) / len(goals), goal) for k, goal in enumerate(goals)]
    return trajectory(*points, names=NAMES)


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes in the mode inverse_dynamics, and keeps them until the end of the test."""
    given = {"mode": "inverse_dynamics", "rate": 100.0, **AT_ONCE, "ramp_up": 0.0, "timeout": 5.0}
    with ExitStack() as nodes:
        yield lambda **more: nodes.enter_context(loose_node(Feedforward, **given, **{**ARM, **more}))


@pytest.fixture
def arm(make: Make) -> LooseNode:
    """The node, after it has received the robot's initial state."""
    loose = make()
    loose.measure(START, names=NAMES)
    return loose


def count(arm: LooseNode, what: str) -> int:
    arm.tick()
    return int(arm.told.values.get(what, "0"))


def test_torques_and_motors_along_a_trajectory(robot: dyn_core.Robot, make: Make) -> None:
    node = make()
    node.measure([0.0] * 6 + START, names=[*MOTORS, *NAMES])
    (held,) = node.published["torques"]
    assert list(held.name) == NAMES
    terms = ElasticTerms(dyn_core.compile_model(robot))
    np.testing.assert_allclose(held.total, terms.of(Motion.at_rest(np.array(START))).total, atol=1e-9)
    begin = node.ros_now
    node.send("joint_trajectory", message(GOAL))
    node.pass_time(T)
    points = trajectory_points(NAMES, NAMES, [T], [GOAL])
    plan = planned(points, 0.0, start=Motion.at_rest(np.array(START)), for_springs=True)
    motors = node.published["motor_reference"]
    by_stamp = {nanoseconds(torques.header.stamp): torques for torques in node.published["torques"]}
    assert len(motors) > 100
    for motor in motors:
        assert list(motor.name) == MOTORS
        motion = plan.smooth_motion(1e-9 * (nanoseconds(motor.header.stamp) - begin))
        expected = terms.motors(motion)
        np.testing.assert_allclose(motor.position, expected.q, rtol=0.0, atol=1e-6)
        np.testing.assert_allclose(motor.velocity, expected.qd, rtol=0.0, atol=1e-5)
        torques = by_stamp[nanoseconds(motor.header.stamp)]
        assert list(motor.effort) == list(torques.total)
        wanted = terms.of(motion)
        np.testing.assert_allclose(torques.gravity, wanted.gravity, rtol=0.0, atol=1e-6)
        np.testing.assert_allclose(torques.inertial, wanted.inertial, rtol=0.0, atol=1e-4)
        np.testing.assert_allclose(torques.total, wanted.total, rtol=0.0, atol=1e-4)
    (answer,) = node.published["joint_trajectory_effort"]
    end = terms.of(Motion.at_rest(np.array(GOAL))).total
    np.testing.assert_allclose(answer.points[-1].effort, end, rtol=0.0, atol=1e-9)


@pytest.mark.promise("elastic-reference")
@pytest.mark.parametrize(
    "rates",
    [((), ()), ([0.0] * 6, ()), ([0.1] + [0.0] * 5, [0.0] * 6), ([0.0] * 6, [0.0] * 5 + [0.1])],
    ids=["positions", "no accelerations", "a velocity", "an acceleration"],
)
def test_references_that_move_are_refused_as_not_smooth_enough(rates: Any, arm: LooseNode) -> None:
    arm.refer(START, *rates, names=NAMES)
    assert count(arm, "references refused") == 1
    assert arm.has_told("reference-not-smooth")
    assert not arm.published["motor_reference"]


def test_references_at_rest_hold_the_links_with_motors_ahead(arm: LooseNode, robot: dyn_core.Robot) -> None:
    terms = ElasticTerms(dyn_core.compile_model(robot))
    rest = [0.0] * 6
    for step in range(3):
        q = [value + 0.01 * step for value in START]
        arm.pass_time(0.01)
        stamp = arm.refer(q, rest, rest, NAMES).header.stamp
        torques, motor = arm.published["torques"][-1], arm.published["motor_reference"][-1]
        motion = Motion.at_rest(np.array(q))
        assert torques.header.stamp == motor.header.stamp == stamp
        np.testing.assert_allclose(torques.total, terms.of(motion).total, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(torques.inertial, rest, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(motor.position, terms.motors(motion).q, rtol=0.0, atol=1e-12)
        assert (list(motor.name), list(motor.velocity)) == (MOTORS, rest)
        assert list(motor.effort) == list(torques.total)
    arm.pass_time(0.01)
    arm.refer(q, names=NAMES)  # the next one may move
    assert count(arm, "references refused") == 1
    # A trajectory continues from there.
    arm.send("joint_trajectory", message(GOAL))
    arm.pass_time(0.2)
    assert count(arm, "trajectories used") == 1
    assert len(arm.published["motor_reference"]) > 10


@pytest.mark.promise("elastic-trajectory")
def test_trajectories_that_need_too_fast_motors_are_refused(make: Make, tmp_path: Path) -> None:
    """With a hundredth of the stiffness, the motor has to wind up the springs in a tenth of a second."""
    side = tmp_path / "soft.yaml"
    side.write_text(SIDE.read_text().replace("e+4,", "e+2,"))
    arm = make(side_file=str(side))
    arm.measure(START, names=NAMES)
    quick = message([value + 0.02 for value in START])
    quick.points[0].time_from_start = duration(0.1)
    arm.send("joint_trajectory", quick)
    assert count(arm, "trajectories refused") == 1
    assert arm.has_told("motor-speed-exceeded")
    arm.send("joint_trajectory", message(START))
    assert count(arm, "trajectories used") == 1


def test_a_trajectory_with_velocities_at_some_points_only_is_refused(arm: LooseNode) -> None:
    sent = message(GOAL, START)
    sent.points[1].velocities = [0.0] * 6
    arm.send("joint_trajectory", sent)
    assert count(arm, "trajectories refused") == 1
    assert arm.has_told("trajectory-velocities-incomplete", point=0)


MACHINE = ROBOTS["high_speed_machine"]
WITHOUT_MOTOR = {"description_file": str(MACHINE), "side_file": str(MACHINE.with_suffix(".yaml"))}


@pytest.mark.parametrize(
    ("parameters", "code", "joint"),
    [
        ({"mode": "computed_torque"}, "computed-torque-on-elastic-joint", "joint_1"),
        ({"base__source": "imu"}, "elastic-joint-unsupported", "joint_1"),
        (WITHOUT_MOTOR, "elastic-joint-without-motor", "base_yaw"),
    ],
)
def test_robots_without_torques(parameters: dict[str, str], code: str, joint: str, graph: Graph) -> None:
    with refused(code, joint=joint):
        graph.feedforward(**{**ARM, **parameters})


def test_payloads_change_the_torques(arm: LooseNode, robot: dyn_core.Robot) -> None:
    held = Payload(link_name="tool0", inertia=Inertia(m=4.0))
    assert arm.call("set_payload", SetPayload.Request(payload=held, blend_time=duration(1e-6))).success
    arm.pass_time(0.01)
    arm.measure(START, names=NAMES)
    loaded = ElasticTerms(dyn_core.compile_model(robot.with_payload("tool0", 4.0)))
    expected = loaded.of(Motion.at_rest(np.array(START))).total
    assert np.abs(np.array(arm.published["torques"][-1].total) - expected).max() < 1e-6
