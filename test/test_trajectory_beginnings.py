# SPDX-License-Identifier: Apache-2.0
"""Trajectories and references that begin where the robot is, not where the last motion ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from builtin_interfaces.msg import Duration
from loose_node import LooseNode, loose_node
from robot_files import ROBOTS
from torque_steps import NAMES, largest_step, states_for
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_msgs.msg import JointReference
from dyn_nodes.feedforward.node import Feedforward

HERE = [0.1, 0.3, 0.05]
THERE = [0.1, 0.7, 0.05]
ELSEWHERE = [-0.9, -0.6, 0.0]


@pytest.fixture
def loose(ros_environment: dict[str, str]) -> Iterator[LooseNode]:
    """The node at the end of a trajectory, with a robot that was moved away since."""
    with loose_node(Feedforward, description_file=str(ROBOTS["rrp"]), mode="inverse_dynamics") as made:
        states_for(made, 0.1, HERE)
        go(made, THERE, 2.0)
        states_for(made, 2.5, THERE)
        states_for(made, 0.5, ELSEWHERE)
        yield made


def go(loose: LooseNode, goal: Sequence[float], seconds: float) -> None:
    """Send a trajectory to a goal, at rest there."""
    point = JointTrajectoryPoint(positions=list(goal), velocities=[0.0] * 3)
    point.time_from_start = Duration(sec=int(seconds), nanosec=round(1e9 * (seconds % 1.0)))
    loose.send("joint_trajectory", JointTrajectory(joint_names=NAMES, points=[point]))


def wanted(loose: LooseNode) -> list[float]:
    """The position that is desired now."""
    return list(loose.node.active.maker.desired.at(loose.node.node_time).q)


def said(loose: LooseNode) -> str:
    return "\n".join(array.status[0].message for array in loose.published["diagnostics"])


def test_the_next_trajectory_begins_at_the_robot(loose: LooseNode) -> None:
    assert wanted(loose) == THERE
    before = len(loose.published["torques"])
    go(loose, HERE, 4.0)
    assert wanted(loose) == pytest.approx(ELSEWHERE, abs=1e-3)
    states_for(loose, 1.0, ELSEWHERE)
    # A ramp of 0.5 s between torques that are less than 30 N m apart.
    assert largest_step(loose.published["torques"][before - 1 :]) < 30.0 * 1.875 / 0.5 * 0.01


def test_a_reference_near_to_the_robot_is_taken_with_a_ramp(loose: LooseNode) -> None:
    before = len(loose.published["torques"])
    for _ in range(100):
        reference = JointReference(name=NAMES, position=ELSEWHERE, velocity=[0.0] * 3)
        reference.header.stamp = loose.stamp
        loose.send("reference", reference)
        states_for(loose, 0.01, ELSEWHERE)
    assert wanted(loose) == ELSEWHERE
    assert largest_step(loose.published["torques"][before - 1 :]) < 30.0 * 1.875 / 0.5 * 0.01
    assert "refused" not in said(loose)


def test_a_trajectory_that_is_replaced_while_it_runs_goes_on_from_what_is_desired(loose: LooseNode) -> None:
    """A robot that follows it badly does not count: so does joint_trajectory_controller."""
    go(loose, HERE, 4.0)
    states_for(loose, 2.0, ELSEWHERE)
    middle = wanted(loose)
    go(loose, THERE, 4.0)
    assert wanted(loose) == pytest.approx(middle, abs=1e-9)


def test_a_trajectory_that_is_too_fast_is_refused_and_what_runs_goes_on(loose: LooseNode) -> None:
    go(loose, HERE, 0.05)
    loose.tick()
    assert wanted(loose) == THERE
    assert "piece 0 of the trajectory moves joint 'turn' by 1 in 0.05 s, at most 0.2" in said(loose)


def test_a_trajectory_of_too_many_points_is_refused(loose: LooseNode) -> None:
    points = [JointTrajectoryPoint(positions=HERE, time_from_start=Duration(sec=k)) for k in range(1, 10_002)]
    loose.send("joint_trajectory", JointTrajectory(joint_names=NAMES, points=points))
    loose.tick()
    assert "the trajectory has 10001 points: give at most 10000" in said(loose)
    assert wanted(loose) == THERE
    loose.send("joint_trajectory", JointTrajectory(joint_names=NAMES, points=points[:-1]))
    assert len(loose.published["joint_trajectory_effort"][-1].points) == 10_000


@pytest.mark.parametrize("place", [THERE, ELSEWHERE])
def test_a_trajectory_after_references_that_have_stopped_begins_at_rest(
    loose: LooseNode, place: Sequence[float]
) -> None:
    """Where the last one was, or else at the robot: not with the velocity that the last one had."""
    states_for(loose, 0.1, THERE)
    reference = JointReference(name=NAMES, position=THERE, velocity=[0.3, 0.3, 0.1])
    reference.header.stamp = loose.stamp
    loose.send("reference", reference)
    states_for(loose, 1.0, THERE)
    states_for(loose, 0.5, place)
    go(loose, place, 2.0)
    for _ in range(100):
        states_for(loose, 0.01, place)
        assert wanted(loose) == pytest.approx(place, abs=1e-3)
