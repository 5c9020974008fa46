# SPDX-License-Identifier: Apache-2.0
"""The node `feedforward` with motors behind springs, over DDS."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Inertia
from robot_files import ROBOTS
from ros_graph import Graph
from sensor_msgs.msg import JointState
from simulated import simulated
from test_feedforward_trajectory import between
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import dyn_core
from dyn_core.control.laws.inverse_dynamics_control import ElasticTerms
from dyn_core.control.motion import Motion
from dyn_core.control.plan import planned
from dyn_core.control.trajectories.trajectory_planning import trajectory_points
from dyn_msgs.msg import Payload
from dyn_msgs.srv import SetPayload
from dyn_nodes.common import qos

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
    points = [
        JointTrajectoryPoint(positions=goal, time_from_start=_duration(T * (k + 1) / len(goals)))
        for k, goal in enumerate(goals)
    ]
    return JointTrajectory(joint_names=NAMES, points=points)


def _duration(seconds: float) -> Duration:
    return Duration(sec=int(seconds), nanosec=round(1e9 * (seconds % 1.0)))


class Arm:
    """The node in the mode inverse_dynamics, with what it publishes beside torques."""

    def __init__(self, graph: Graph, **parameters: Any) -> None:
        self.motors: list[JointState] = []
        self.answers: list[JointTrajectory] = []
        node = graph.node
        node.create_subscription(JointState, "feedforward/motor_reference", self.motors.append, qos.COMMAND)
        node.create_subscription(
            JointTrajectory, "feedforward/joint_trajectory_effort", self.answers.append, qos.EACH_MESSAGE
        )
        sent = node.create_publisher(JointTrajectory, "feedforward/joint_trajectory", qos.EACH_MESSAGE)
        self.send = sent.publish
        given = ARM | parameters
        graph.feedforward(mode="inverse_dynamics", rate=100.0, ramp_up=0.0, **given)
        graph.wait_for(
            lambda: (
                sent.get_subscription_count() == 1
                and node.count_publishers("feedforward/motor_reference") == 1
                and node.count_publishers("feedforward/joint_trajectory_effort") == 1
            )
        )


@pytest.fixture
def arm(graph: Graph) -> Arm:
    return Arm(graph)


def test_torques_and_motors_along_a_trajectory(graph: Graph, arm: Arm, robot: dyn_core.Robot) -> None:
    held = graph.torques_for([*MOTORS, *NAMES], [0.0] * 6 + START)
    assert list(held.name) == NAMES
    terms = ElasticTerms(dyn_core.compile_model(robot))
    np.testing.assert_allclose(held.total, terms.of(Motion.at_rest(np.array(START))).total, atol=1e-9)
    arm.send(message(GOAL))
    graph.wait_for(lambda: len(arm.motors) > 60)
    first = arm.motors[0].header.stamp
    points = trajectory_points(NAMES, NAMES, [T], [GOAL])
    trajectory = planned(points, 0.0, start=Motion.at_rest(np.array(START)), for_springs=True)
    graph.wait_for(lambda: between(first, graph.torques[-1].header.stamp) > T)
    seen = 0
    by_stamp = {(t.header.stamp.sec, t.header.stamp.nanosec): t for t in graph.torques}
    # The trajectory began when the fastest sample says that it did.
    moving = [m for m in arm.motors if np.abs(m.velocity).max() > 0.0]
    fastest = max(moving, key=lambda m: m.velocity[0])
    begin = _begin(trajectory, terms, fastest)
    for motor in moving:
        assert list(motor.name) == MOTORS
        t = begin + between(fastest.header.stamp, motor.header.stamp)
        motion = trajectory.smooth_motion(t)
        expected = terms.motors(motion)
        np.testing.assert_allclose(motor.position, expected.q, rtol=0.0, atol=1e-6)
        np.testing.assert_allclose(motor.velocity, expected.qd, rtol=0.0, atol=1e-5)
        torques = by_stamp.get((motor.header.stamp.sec, motor.header.stamp.nanosec))
        if torques is not None:
            seen += 1
            assert list(motor.effort) == list(torques.total)
            wanted = terms.of(motion)
            np.testing.assert_allclose(torques.gravity, wanted.gravity, rtol=0.0, atol=1e-3)
            np.testing.assert_allclose(torques.inertial, wanted.inertial, rtol=0.0, atol=0.05)
            np.testing.assert_allclose(torques.total, wanted.total, rtol=0.0, atol=0.05)
    assert seen >= 3  # a busy machine loses some
    (answer,) = arm.answers
    end = terms.of(Motion.at_rest(np.array(GOAL))).total
    np.testing.assert_allclose(answer.points[-1].effort, end, rtol=0.0, atol=1e-9)


def _begin(trajectory: Any, terms: ElasticTerms, seen: JointState) -> float:
    """Time of a sample on the trajectory (s): where a motor is as seen; positions increase monotonically."""
    low, high = 0.0, T
    for _ in range(60):
        middle = 0.5 * (low + high)
        ahead = terms.motors(trajectory.smooth_motion(middle)).q[0] < seen.position[0]
        low, high = (middle, high) if ahead else (low, middle)
    return low


NOT_SMOOTH = (
    "~/reference: a reference that moves has no third and fourth derivative, which elastic joints need: send "
    "a trajectory, or references at rest, with velocities and accelerations of 0"
)


@pytest.mark.parametrize(
    "rates",
    [((), ()), ([0.0] * 6, ()), ([0.1] + [0.0] * 5, [0.0] * 6), ([0.0] * 6, [0.0] * 5 + [0.1])],
    ids=["positions", "no accelerations", "a velocity", "an acceleration"],
)
def test_references_that_move_are_not_smooth_enough(rates: Any, graph: Graph, arm: Arm) -> None:
    graph.torques_for(NAMES, START)
    graph.refer(NAMES, START, *rates)
    graph.wait_for(lambda: graph.diagnosis("references refused") == "1")
    assert graph.diagnostics[-1].message == NOT_SMOOTH
    assert not arm.motors


def test_references_at_rest_hold_links_and_lead_motors(graph: Graph, arm: Arm, robot: dyn_core.Robot) -> None:
    graph.torques_for(NAMES, START)
    terms = ElasticTerms(dyn_core.compile_model(robot))
    rest = [0.0] * 6
    for step in range(3):
        q = [value + 0.01 * step for value in START]
        stamp = graph.refer(NAMES, q, rest, rest)
        answer = graph.answer_to(stamp)
        motion = Motion.at_rest(np.array(q))
        np.testing.assert_allclose(answer.total, terms.of(motion).total, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(answer.inertial, rest, rtol=0.0, atol=1e-9)
        graph.wait_for(lambda stamp=stamp: any(m.header.stamp == stamp for m in arm.motors))
        (motor,) = (m for m in arm.motors if m.header.stamp == stamp)
        assert list(motor.name) == MOTORS
        np.testing.assert_allclose(motor.position, terms.motors(motion).q, rtol=0.0, atol=1e-12)
        assert list(motor.velocity) == rest
        assert list(motor.effort) == list(answer.total)
    graph.refer(NAMES, q)  # and then one that may move
    graph.wait_for(lambda: graph.diagnosis("references refused") == "1")
    # A trajectory goes on from there.
    arm.send(message(GOAL))
    graph.wait_for(lambda: graph.diagnosis("trajectories used") == "1")
    graph.wait_for(lambda: len(arm.motors) > 10)


def test_motors_that_would_be_too_fast(graph: Graph, tmp_path: Path) -> None:
    """Springs of a hundredth of the stiffness: the motor has to wind them up in a tenth of a second."""
    side = tmp_path / "soft.yaml"
    side.write_text(SIDE.read_text().replace("e+4,", "e+2,"))
    arm = Arm(graph, side_file=str(side))
    graph.torques_for(NAMES, START)
    quick = message([value + 0.02 for value in START])
    quick.points[0].time_from_start = _duration(0.1)
    arm.send(quick)
    graph.wait_for(lambda: graph.diagnosis("trajectories refused") == "1")
    assert re.fullmatch(
        r"~/joint_trajectory: the motor 'joint_\d_motor' would be at \d+\.\d+ rad/s to be ahead of its "
        r"spring, 0\.\d+ s after the beginning, and may be at \d\.\d+ rad/s: give the trajectory more time",
        graph.diagnostics[-1].message,
    )
    arm.send(message(START))
    graph.wait_for(lambda: graph.diagnosis("trajectories used") == "1")


def test_a_trajectory_of_which_some_points_have_velocities_is_refused(graph: Graph, arm: Arm) -> None:
    graph.torques_for(NAMES, START)
    sent = message(GOAL, START)
    sent.points[1].velocities = [0.0] * 6
    arm.send(sent)
    graph.wait_for(lambda: graph.diagnosis("trajectories refused") == "1")
    assert "trajectory point 0 has no velocities, but others have" in graph.diagnostics[-1].message


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            {**ARM, "mode": "computed_torque"},
            "mode computed_torque cannot move joint 'joint_1', which is elastic: take inverse_dynamics",
        ),
        (
            {**ARM, "base__source": "imu"},
            "a model with a moving base knows no springs, but joint 'joint_1' of robot 'rx90' is elastic: "
            "load the robot without 'elastic' in its side file",
        ),
        (
            {
                "description_file": str(ROBOTS["high_speed_machine"]),
                "side_file": str(ROBOTS["high_speed_machine"].with_suffix(".yaml")),
            },
            "joint 'base_yaw' of robot 'high_speed_machine' is elastic and has no motor: no motion of "
            "motors leads it, take its spring out for a feedforward",
        ),
    ],
)
def test_what_no_torques_are_for(parameters: dict[str, str], sentence: str, graph: Graph) -> None:
    with pytest.raises(dyn_core.DynError) as caught:
        graph.feedforward(**parameters)
    assert str(caught.value) == sentence


def test_payloads_change_the_torques(graph: Graph, arm: Arm, robot: dyn_core.Robot) -> None:
    graph.torques_for(NAMES, START)
    client = graph.node.create_client(SetPayload, "feedforward/set_payload")
    request = SetPayload.Request(
        payload=Payload(link_name="tool0", inertia=Inertia(m=4.0)), blend_time=Duration(nanosec=1000)
    )
    assert graph.call(client, request).success
    loaded = ElasticTerms(dyn_core.compile_model(robot.with_payload("tool0", 4.0)))
    expected = loaded.of(Motion.at_rest(np.array(START))).total

    def settled() -> bool:
        found = graph.torques_for(NAMES, START).total
        return bool(np.abs(np.array(found) - expected).max() < 1e-6)

    graph.wait_for(settled)


def test_the_simulation_knows_motors(graph: Graph) -> None:
    parameters = {**ARM, "paused": True, "publish_clock": True}
    with simulated(graph, **parameters) as (ours, _):
        state = ours.stepped(5)
    assert list(state.name) == NAMES + MOTORS
    assert np.isfinite(state.position).all()
