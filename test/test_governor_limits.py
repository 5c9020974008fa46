# SPDX-License-Identifier: Apache-2.0
"""The node `governor`: each kind of limit, what it refuses, and when it takes motions again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from loose_node import LooseNode, Make, loose_node
from message_makers import later, point, trajectory
from robot_files import ROBOTS
from sentence_patterns import said
from test_governor import GOAL, NAMES, PERIOD, ZERO, follow, governed, planned_from, refer, smooth, there

import dyn_core
from dyn_msgs.msg import Intervention
from dyn_nodes.governor.node import Governor

RX90 = str(ROBOTS["rx90"])
QUICK_S = 1.2
"""Duration of a motion to GOAL that the robot can just make."""


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes for the robot, and keeps them until the end of the test."""
    with ExitStack() as nodes:
        yield lambda **given: nodes.enter_context(loose_node(Governor, description_file=RX90, **given))


@pytest.fixture(scope="module")
def needed() -> dict[str, float]:
    """What joint 1 needs for the quick motion: speed (rad/s), torque (N m) and power (W)."""
    model = dyn_core.compile_model(dyn_core.load_robot(RX90))
    motion = planned_from(there(QUICK_S)).sample_many(np.linspace(0.0, QUICK_S, 501))
    torques = model.inverse_dynamics(motion.q, motion.qd, motion.qdd)[:, 0]
    power = torques * motion.qd[:, 0]
    extremes = {"velocity": motion.qd[:, 0], "effort": torques, "power": power, "braking_power": -power}
    return {kind: float(values.max()) for kind, values in extremes.items()}


@pytest.mark.promise("governor-slowed")
@pytest.mark.parametrize("kind", ["velocity", "effort", "power"])
def test_a_motion_beyond_each_limit_is_slowed_on_its_path(
    kind: str, needed: dict[str, float], make: Make
) -> None:
    """A trajectory and references; the message names the joint, and by how much and when it is too much."""
    limit = {f"limits__joint_1__{kind}": 0.7 * needed[kind]}
    (sent,), (told,) = governed(make(**limit), there(QUICK_S))
    assert (told.action, told.joint[0]) == (Intervention.SLOWED, "joint_1")
    assert told.time_scaling > 1.05
    assert abs(told.value[0]) > abs(told.limit[0]) == pytest.approx(0.7 * needed[kind])
    assert 0.0 < told.time[0] < QUICK_S
    u = np.linspace(0.0, 1.0, 301)
    wished, ours = planned_from(there(QUICK_S)), planned_from(sent)
    path = ours.sample_many(u * ours.end).q
    np.testing.assert_allclose(path, wished.sample_many(u * wished.end).q, atol=1e-9)

    loose = make(rate=100.0, **limit)
    loose.measure(ZERO, names=NAMES)
    _, references = follow(loose, lambda k: smooth(k * PERIOD, QUICK_S), round(QUICK_S / PERIOD) + 2)
    loose.pass_time(3.0)
    first = loose.published["interventions"][0]
    assert (first.action, first.joint[0]) == (Intervention.SLOWED, "joint_1")
    q = np.array([message.position for message in references])
    np.testing.assert_allclose(q / GOAL, (q / GOAL)[:, :1] * np.ones(6), atol=1e-3)
    np.testing.assert_allclose(q[-1], GOAL, atol=1e-6)


FAR = [9.0] + [0.0] * 5


@pytest.mark.promise("governor-refused")
def test_where_a_joint_cannot_hold_itself_a_trajectory_is_refused(make: Make) -> None:
    sent, (told,) = governed(make(limits__joint_2__effort=10.0), there(4.0))
    assert (sent, told.action) == ([], Intervention.REFUSED)
    assert said("trajectory-cannot-be-held", joint="joint_2").search(told.message)


@pytest.mark.promise("governor-refused")
@pytest.mark.parametrize(
    "motion",
    [(np.array(FAR), ZERO), (np.array([2.9, *ZERO[1:]]), ZERO)],
    ids=["far", "a little"],
)
def test_references_out_of_range_are_refused_and_it_goes_on_where_it_was(motion: Any, make: Make) -> None:
    loose = make()
    loose.measure(ZERO, names=NAMES)
    _, sent = follow(loose, lambda _: (ZERO, ZERO), 10)
    refer(loose, *motion)
    assert len(sent) == 10
    assert loose.published["interventions"][-1].action == Intervention.REFUSED
    assert loose.told.values["references refused"] == "1"
    loose.pass_time(PERIOD)
    assert refer(loose, ZERO, ZERO) == sent[-1]


@pytest.mark.promise("governor-jump-refused")
@pytest.mark.parametrize("how", ["near", "pause"])
def test_after_a_jump_is_refused_references_pass_when_they_are_near_or_after_a_pause(
    how: str, make: Make
) -> None:
    loose = make(on_infeasible="refuse")
    _, sent = follow(loose, lambda k: (0.5 * GOAL * (k >= 20), ZERO), 40)
    assert len(sent) == 20
    if how == "near":
        assert refer(loose, ZERO, ZERO) == sent[-1]
    else:
        loose.pass_time(0.3)
        assert refer(loose, 0.5 * GOAL, ZERO) == sent[-1]
    assert len(sent) == 21


@pytest.mark.promise("governor-long")
def test_a_trajectory_of_more_than_100_000_samples_is_refused(make: Make) -> None:
    """At the default period of 5 ms these are 500 s; of 5 s periods they would be days."""
    loose = make()
    sent, told = governed(loose, there(500.1))
    assert (sent, [one.action for one in told]) == ([], [Intervention.REFUSED])
    assert loose.has_told("trajectory-too-long")
    sent, _ = governed(make(check_period=0.05), there(4999.0))
    assert len(sent) == 1


@pytest.mark.promise("governor-off-path")
def test_a_path_that_cannot_be_kept_is_left_and_joined_again(make: Make) -> None:
    """A velocity that stops at once: the joint brakes within its limits, goes too far, and comes back."""
    robot, loose, step = dyn_core.load_robot(RX90), make(), 0.002
    model, limits = dyn_core.compile_model(robot), np.array([joint.limits.effort for joint in robot.joints])
    q = ZERO
    loose.measure(q, names=NAMES)
    for k in range(900):
        qd = np.eye(6)[0] * (min(k / 200, 1.0) if k < 500 else 0.0)
        q = q + step * qd
        refer(loose, q, qd)
        loose.pass_time(step)
    sent = loose.published["feasible_reference"]
    assert Intervention.OFF_PATH in [told.action for told in loose.published["interventions"]]
    assert max(message.position[0] for message in sent) > q[0] + 1e-3
    for one, following in pairwise(sent):
        acceleration = np.subtract(following.velocity, one.velocity) / step
        torques = model.inverse_dynamics(one.position, one.velocity, acceleration)
        assert (np.abs(torques) <= limits * (1.0 + 1e-9) + 1e-6).all(), torques
    assert list(sent[-1].position) == pytest.approx(list(q), abs=1e-4), "it is on the path again"


def moved(names: list[str], q: list[float]) -> Callable[[LooseNode], None]:
    still = [0.0] * len(q)
    return lambda o: o.send("joint_trajectory", trajectory(point(4.0, q, still, still), names=names))


BAD_TRAJECTORIES: dict[str, tuple[Callable[[LooseNode], None], str]] = {
    "not a number": (moved(NAMES, [math.nan, *ZERO[1:]]), "trajectory-value-not-finite"),
    "infinite": (moved(NAMES, [math.inf, *ZERO[1:]]), "trajectory-value-not-finite"),
    "beyond 1e9": (moved(NAMES, [2e9, *ZERO[1:]]), "trajectory-point-out-of-range"),
    "a joint missing": (moved(NAMES[:5], [0.0] * 5), "trajectory-joint-missing"),
    "an unknown joint": (moved([*NAMES[:5], "elbow"], [0.0] * 6), "trajectory-joint-unknown"),
    "a joint twice": (moved([*NAMES[:5], NAMES[0]], [0.0] * 6), "trajectory-joint-repeated"),
    "in the past": (
        lambda o: o.send(
            "joint_trajectory",
            trajectory(point(1.0, ZERO, ZERO, ZERO), names=NAMES, stamp=later(o.stamp, -100.0)),
        ),
        "trajectory-past",
    ),
}


@pytest.mark.promise("governor-malformed")
@pytest.mark.parametrize("case", BAD_TRAJECTORIES)
def test_malformed_trajectories_are_refused(case: str, make: Make) -> None:
    """Joint states that are bad are refused as well: trajectories begin at the last good one."""
    send, code = BAD_TRAJECTORIES[case]
    loose = make()
    loose.measure(ZERO, names=NAMES)
    for bad in ([math.nan] * 6, [1.1e9] * 6):
        loose.measure(bad, names=NAMES)
    loose.measure(ZERO, names=NAMES)
    loose.tick()
    assert loose.told.values["joint states refused"] == "2"
    send(loose)
    loose.tick()
    assert loose.has_told(code), loose.told.message
    assert loose.published["interventions"][-1].action == Intervention.REFUSED
    assert not loose.published["feasible_trajectory"]
    assert governed(loose, there(4.0))[0] == [there(4.0)]
