# SPDX-License-Identifier: Apache-2.0
"""The node `governor`: unchanged messages, slowed motions, refusals, and its reports."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from loose_node import LooseNode, loose_node
from message_makers import later, nanoseconds, point, reference, trajectory
from rclpy.serialization import serialize_message
from refusals import refused
from robot_files import ROBOTS, ROOT
from ros_graph import Graph
from sensor_msgs.msg import JointState
from sentence_patterns import said
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

import dyn_core
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectories.trajectory_planning import planned, trajectory_points
from dyn_core.simulation.simulated_state import SimulationSettings
from dyn_msgs.msg import Intervention, JointReference, JointTorques
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.governor.node import Governor
from dyn_nodes.governor.parameters import GovernorSettings

RX90 = str(ROBOTS["rx90"])
NAMES = [f"joint_{k}" for k in range(1, 7)]
GOAL, ZERO = np.array([1.0, 0.4, -0.3, 0.5, 0.5, 1.0]), np.zeros(6)
TIGHT = {"limits__joint_1__velocity": 1.0}
Make = Callable[..., LooseNode]


def there(duration: float) -> JointTrajectory:
    """From rest to rest with continuous accelerations."""
    return trajectory(point(0.0, ZERO, ZERO, ZERO), point(duration, GOAL, ZERO, ZERO), names=NAMES)


def planned_from(message: JointTrajectory) -> Trajectory:
    seconds = [1e-9 * nanoseconds(p.time_from_start) for p in message.points]
    fields = ("positions", "velocities", "accelerations")
    rows = ([getattr(p, field) for p in message.points] for field in fields)
    return planned(trajectory_points(NAMES, message.joint_names, seconds, *rows), 0.0)


def governed(
    loose: LooseNode, message: JointTrajectory, q: Sequence[float] = ZERO
) -> tuple[list[JointTrajectory], list[Intervention]]:
    """Send a trajectory while the robot is at q; return all sent trajectories and all reports so far."""
    loose.measure(q, names=NAMES)
    loose.send("joint_trajectory", message)
    return loose.published["feasible_trajectory"], loose.published["interventions"]


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes for the robot, and keeps them until the end of the test."""
    with ExitStack() as nodes:
        yield lambda **given: nodes.enter_context(loose_node(Governor, description_file=RX90, **given))


@pytest.mark.promise("governor-unchanged")
def test_a_feasible_trajectory_goes_through_byte_by_byte(make: Make) -> None:
    message = there(4.0)
    message.points[1].effort = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    message.header.frame_id = "base"
    assert governed(make(), message) == ([message], [])


@pytest.mark.promise("governor-slowed")
def test_a_trajectory_that_is_too_fast_is_slowed_and_the_reason_is_reported(make: Make) -> None:
    loose = make(**TIGHT)
    # The peak speed is 1.875 times the mean: 1 rad in 0.9375 s needs 2 rad/s.
    message = there(0.9375)
    (sent,), (told,) = governed(loose, message)
    assert (told.action, told.header.stamp) == (Intervention.SLOWED, loose.stamp)
    assert [list(told.joint), list(told.quantity), list(told.limit)] == [["joint_1"], ["velocity"], [1.0]]
    assert (told.time_scaling, told.value[0]) == pytest.approx((2.0, 2.0), rel=1e-3)
    assert told.time[0] == pytest.approx(0.469, abs=0.006)
    assert said("trajectory-slowed", factor=2.0).fullmatch(told.message)
    wished, ours = planned_from(message), planned_from(sent)
    assert ours.end == pytest.approx(2.0 * wished.end, rel=1e-3)
    u = np.linspace(0.0, 1.0, 301)
    slowed = ours.sample_many(u * ours.end)
    np.testing.assert_allclose(slowed.q, wished.sample_many(u * wished.end).q, atol=1e-9)
    assert np.abs(slowed.qd[:, 0]).max() <= 1.0 + 1e-9


def test_names_in_another_order(make: Make) -> None:
    message = there(0.9375)
    message.joint_names = NAMES[::-1]
    for one in message.points:
        one.positions = one.positions[::-1]
    (sent,), _ = governed(make(**TIGHT), message)
    assert list(sent.joint_names) == NAMES[::-1]
    assert np.abs(planned_from(sent).sample_many(np.linspace(0.0, 3.0, 300)).qd[:, 0]).max() <= 1.0 + 1e-9


def test_points_with_positions_only_get_velocities(make: Make) -> None:
    (sent,), (told,) = governed(make(), trajectory(point(2.0, 0.5 * GOAL), point(4.0, GOAL), names=NAMES))
    assert (told.action, told.time_scaling) == (Intervention.COMPLETED, 1.0)
    assert len(sent.points[0].velocities) == 6
    assert not any(sent.points[1].velocities)


FAR = trajectory(point(4.0, [9.0] + [0.0] * 5, ZERO, ZERO), names=NAMES)
JUMP = trajectory(point(0.0, ZERO, ZERO), point(4.0, GOAL), names=NAMES)
EFFORT = there(4.0)
EFFORT.points[1].effort = [1.0, 2.0]
IMPOSSIBLE: dict[str, tuple[JointTrajectory, dict[str, Any]]] = {
    "trajectory-point-out-of-range": (FAR, {"joint": "joint_1", "lower": -2.79, "upper": 2.79}),
    "trajectory-joint-missing": (trajectory(point(4.0, GOAL), names=NAMES[:5]), {"missing": ["joint_6"]}),
    "trajectory-velocity-discontinuous": (JUMP, {}),
    "trajectory-point-length": (EFFORT, {"point": 1, "given": 2, "expected": 6, "quantity": "efforts"}),
}


@pytest.mark.promise("governor-refused", "governor-efforts")
@pytest.mark.parametrize("code", IMPOSSIBLE)
def test_trajectories_that_cannot_be_made_feasible_are_refused(code: str, make: Make) -> None:
    loose, (message, values) = make(), IMPOSSIBLE[code]
    sent, (told,) = governed(loose, message)
    assert sent == []
    assert (told.action, told.time_scaling) == (Intervention.REFUSED, 0.0)
    assert said(code, **values).search(told.message)
    assert loose.told.values["trajectories refused"] == "1"
    assert loose.told.about(code, **values)


BODY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
GRIPPER = f"""<robot name="gripper"><link name="base"/>
  <link name="a">{BODY}</link><link name="b">{BODY}</link>
  <joint name="leader" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="3" effort="9"/></joint>
  <joint name="follower" type="revolute"><parent link="base"/><child link="b"/><axis xyz="0 0 1"/>
    <mimic joint="leader" multiplier="-2"/><limit lower="-1" upper="1" velocity="1" effort="9"/></joint>
</robot>"""


def test_limits_of_mimic_joints(tmp_path: Path) -> None:
    robot = dyn_core.load_robot(GRIPPER)
    file = tmp_path / "limits.yaml"
    file.write_text("joints: {follower: {velocity: none, position: [-0.5, 1]}, leader: {effort: none}}")

    def found(**settings: object) -> tuple[float, float, float, float]:
        limits = GovernorSettings(**settings).limits(robot)
        return (*limits.lower, *limits.upper, *limits.velocity, *limits.effort(np.zeros(1)))

    assert found() == (-0.5, 0.5, 0.5, 9.0)
    assert found(limits_file=str(file)) == (-0.5, 0.25, 3.0, math.inf)
    assert found(limits_file=str(file), of_joints={"velocity": {"follower": 0.8}})[2] == 0.4
    # Limits of the leader do not remove the limits of its follower.
    assert found(of_joints={"velocity": {"leader": 2.0}})[2] == 0.5
    with refused("limits-of-mimicking-joint", joint="follower"):
        found(of_joints={"effort": {"follower": 2.0}})
    with refused("limit-joint-unfit", joint="other", kind="velocity"):
        found(of_joints={"velocity": {"other": 2.0}})


def test_an_empty_trajectory_is_unchanged(make: Make) -> None:
    loose = make()
    loose.send("joint_trajectory", there(4.0))
    loose.send("joint_trajectory", JointTrajectory())
    assert [len(m.points) for m in loose.published["feasible_trajectory"]] == [2, 0]


def test_infeasible_trajectories_are_refused_where_slowing_is_off(make: Make) -> None:
    sent, (told,) = governed(make(on_infeasible="refuse", **TIGHT), there(0.9375))
    assert (sent, told.action) == ([], Intervention.REFUSED)


PERIOD = 0.01


def refer(loose: LooseNode, q: np.ndarray, qd: np.ndarray) -> JointReference:
    return loose.refer(q, qd, names=NAMES)


def smooth(t: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
    u = min(max(t / duration, 0.0), 1.0)
    return GOAL * u**3 * (10 - 15 * u + 6 * u * u), GOAL * 30 * u * u * (1 - u) ** 2 / duration


def follow(loose: LooseNode, motion: Callable[[int], tuple[np.ndarray, np.ndarray]], count: int) -> Any:
    """Send references one after another; return them, and those that the governor sent."""
    wished = []
    for k in range(count):
        wished.append(refer(loose, *motion(k)))
        loose.pass_time(PERIOD)
    return wished, loose.published["feasible_reference"]


@pytest.mark.promise("governor-unchanged")
def test_feasible_references_go_through_byte_by_byte(make: Make) -> None:
    loose = make()
    wished, sent = follow(loose, lambda k: smooth(k * PERIOD, 2.5), 300)
    assert sent == wished
    for ours, theirs in zip(sent, wished, strict=True):
        assert ours.position.tobytes() == theirs.position.tobytes()
        assert ours.velocity.tobytes() == theirs.velocity.tobytes()
    assert loose.published["interventions"] == []


def test_a_velocity_of_nearly_zero_goes_through(make: Make) -> None:
    """A limit divided by the smallest number is no number any more."""
    loose = make()
    wished = loose.refer(ZERO, [5e-324, *ZERO[1:]], names=NAMES)
    assert loose.node.failure is None
    assert loose.published["feasible_reference"] == [wished]


@pytest.mark.promise("governor-malformed")
def test_bytes_with_a_wrong_number_of_accelerations_are_not_passed_on(make: Make) -> None:
    """Found by fuzzing: bytes of the length of a good message, which no subscriber could decode."""
    loose = make()
    wished = loose.refer(ZERO, ZERO, ZERO, names=NAMES)
    raw = serialize_message(wished)
    at = len(raw) - 8 * len(NAMES) - 8
    assert raw[at : at + 4] == len(NAMES).to_bytes(4, sys.byteorder)
    loose.send_raw("reference", raw[:at] + b"\0\0\xf0\x7f" + raw[at + 4 :])
    assert loose.has_told("message-unreadable")
    assert loose.published["feasible_reference"] == [wished]


@pytest.mark.promise("governor-slowed", "governor-rest")
def test_references_that_are_too_fast_are_slowed_on_their_path(make: Make) -> None:
    """Sending stops at the end of the motion; the governor still completes the path."""
    loose = make(rate=100.0, **TIGHT)
    _, sent = follow(loose, lambda k: smooth(k * PERIOD, 0.9375), round(0.9375 / PERIOD) + 2)
    loose.pass_time(2.0)
    q = np.array([m.position for m in sent])
    parts = q / GOAL
    np.testing.assert_allclose(parts, parts[:, :1] * np.ones(6), atol=1e-3)
    np.testing.assert_allclose(q[-1], GOAL, atol=1e-6)
    assert max(abs(m.velocity[0]) for m in sent) <= 1.0 + 1e-9
    assert (np.diff([nanoseconds(m.header.stamp) for m in sent]) > 0).all()
    told = loose.published["interventions"][0]
    assert (told.action, told.joint[0]) == (Intervention.SLOWED, "joint_1")
    assert told.time_scaling > 1.0


@pytest.mark.promise("governor-jump")
def test_a_position_that_jumps_becomes_a_motion(make: Make) -> None:
    """Velocities of 0 and another position: the joints move there within their limits."""
    loose = make(**TIGHT)
    _, sent = follow(loose, lambda k: (0.3 * GOAL * (k >= 20), ZERO), 120)
    q = np.array([m.position for m in sent])
    np.testing.assert_array_equal(q[-1], 0.3 * GOAL)
    assert np.abs(np.diff(q[:, 0])).max() <= 1.01 * PERIOD
    assert max(abs(m.velocity[0]) for m in sent) <= 1.0 + 1e-9
    told = loose.published["interventions"][0]
    assert (told.action, told.joint[0]) == (Intervention.SLOWED, "joint_1")
    assert said("reference-beyond-limit", change=said("references-slowed")).fullmatch(told.message)


@pytest.mark.promise("governor-jump-refused")
def test_positions_that_jump_are_refused_where_slowing_is_off(make: Make) -> None:
    """References after the first jump are refused, too; they are not a new stream."""
    loose = make(on_infeasible="refuse")
    _, sent = follow(loose, lambda k: (0.5 * GOAL * (k >= 20), ZERO), 40)
    assert len(sent) == 20
    assert not any(any(m.position) for m in sent)
    assert {told.action for told in loose.published["interventions"]} == {Intervention.REFUSED}


@pytest.mark.promise("governor-stamps")
@pytest.mark.parametrize("offset", [0.0, -0.05, 0.3])
def test_stamps_out_of_order_do_not_start_a_new_stream(offset: float, make: Make) -> None:
    """An equal, older or far future stamp does not let a position jump pass."""
    loose = make(max_age=0.5)
    _, sent = follow(loose, lambda _: (ZERO, ZERO), 20)
    loose.send("reference", reference(later(sent[-1].header.stamp, offset), GOAL, ZERO, names=NAMES))
    assert len(sent) == 20
    told = loose.published["interventions"][-1]
    code = "reference-stamp-leaps" if offset > 0.0 else "reference-not-after-last"
    assert (told.action, told.message) == (Intervention.REFUSED, str(Notice(code)))
    # The stream continues as if this reference had not come; after a pause, a stream may begin anywhere.
    assert refer(loose, ZERO, ZERO) == sent[-1]
    loose.pass_time(0.3)
    assert refer(loose, 0.5 * GOAL, ZERO) == sent[-1]


def test_a_trajectory_after_references_begins_with_their_velocity(make: Make) -> None:
    """From 0.9 rad/s, 0.05 s are not enough to stop; from rest they are enough."""
    loose = make()
    follow(loose, lambda k: smooth(k * PERIOD, 1.2), 60)
    q, _ = smooth(0.6, 1.2)
    message = trajectory(point(0.05, q, ZERO, ZERO), names=NAMES)
    _, (told,) = governed(loose, message)
    assert told.action == Intervention.SLOWED
    loose.pass_time(3.0)
    sent, _ = governed(loose, message, q)
    assert sent[-1] == message


@pytest.mark.promise("governor-malformed")
def test_bad_references_are_refused(make: Make) -> None:
    loose = make()
    loose.send("reference", JointReference(header=Header(stamp=loose.stamp), name=NAMES))
    refer(loose, np.full(6, math.nan), ZERO)
    loose.send("reference", JointReference(name=NAMES, position=[0.0] * 6))
    assert loose.published["feasible_reference"] == []


@pytest.mark.promise("outputs-finite", "messages-harmless")
@pytest.mark.parametrize("seed", range(3))
def test_output_is_finite_for_any_input(seed: int, make: Make) -> None:
    """No callback fails: at the end the node is active and forwards good motions."""
    rng = np.random.default_rng(seed)
    odd = [math.nan, math.inf, -math.inf, 1e300, -1e12, 3.0, 0.0, -0.0, 1e-300]
    loose = make()

    def numbers(count: int) -> list[float]:
        values = (float(rng.choice([0.1, 1.0, 30.0])) * rng.normal(size=count)).tolist()
        if count and rng.random() < 0.2:
            values[int(rng.integers(count))] = float(rng.choice(odd))
        return values

    def rates(count: int) -> list[float]:
        return numbers(int(rng.choice([count, 0])))

    for _ in range(400):
        names = list(NAMES)
        if rng.random() < 0.1:
            names[int(rng.integers(6))] = str(rng.choice(["nobody", "joint_1", ""]))
        count = int(rng.choice([6, 6, 6, 6, 5, 0]))
        kind = rng.random()
        if kind < 0.5:
            stamp = loose.stamp if rng.random() < 0.9 else Time()
            loose.send("reference", reference(stamp, numbers(count), rates(count), names=names))
        elif kind < 0.8:
            times = np.cumsum(rng.choice([0.0, 0.001, 0.1, 1.0], 3))
            points = [point(t, numbers(count), rates(count)) for t in times[:2]]
            points.append(point(times[2], numbers(count), [0.0] * count))
            loose.send("joint_trajectory", trajectory(*points, names=names))
        else:
            loose.measure(numbers(6), names=NAMES)
        loose.pass_time(float(rng.choice([0.01, 0.01, 0.3])))
    sent = loose.published["feasible_reference"]
    for message in sent:
        assert np.isfinite([*message.position, *message.velocity, *message.acceleration]).all()
    for one in (one for message in loose.published["feasible_trajectory"] for one in message.points):
        assert np.isfinite([*one.positions, *one.velocities, *one.accelerations]).all()
    assert loose.node.failure is None
    loose.pass_time(5.0)
    count = len(sent)
    assert [refer(loose, ZERO, ZERO)] == sent[count:]


def test_a_simulated_robot_executes_governed_motions_without_saturation(make: Make) -> None:
    """Twice too fast for one joint: slowed, and executed by feedforward and PD with the effort limits."""
    robot = dyn_core.load_robot(RX90)
    model = dyn_core.compile_model(robot)
    needed = model.inverse_dynamics(*planned_from(there(1.0)).sample_many(np.linspace(0.0, 1.0, 501))[:3])
    weak = float(0.5 * np.abs(needed[:, 0]).max())
    (sent,), (told,) = governed(make(limits__joint_1__effort=weak, effort_scale=0.9), there(1.0))
    beyond = zip(told.joint, told.value, told.limit, strict=True)
    assert abs(max(value / limit for joint, value, limit in beyond if joint == "joint_1")) > 2.0
    trajectory = planned_from(sent)
    first = robot.joints[0]
    tired = replace(first, limits=replace(first.limits, effort=weak))
    weakened = replace(robot, joints=(tired, *robot.joints[1:]))
    simulator = dyn_core.Simulator(weakened, SimulationSettings(step=0.001))
    greatest = np.array([weak, *(joint.limits.effort for joint in robot.joints[1:])])
    inertias = np.diag(model.inertia_matrix(ZERO))
    line = GOAL / np.linalg.norm(GOAL)
    for k in range(round(trajectory.end / 0.001) + 500):
        wish = trajectory.motion(min(0.001 * k, trajectory.end + 1.0))
        state = simulator.state
        tau = model.inverse_dynamics(*wish)
        tau += inertias * (900.0 * (wish.q - state.q) + 60.0 * (wish.qd - state.qd))
        assert (np.abs(tau) < greatest).all(), "a motor saturates"
        simulator.set_effort(tau)
        simulator.step()
        assert not simulator.at_effort_limit
        q = simulator.state.q
        assert np.abs(q - line * (q @ line)).max() < 1e-3, "the path is left"
    np.testing.assert_allclose(simulator.state.q, GOAL, atol=1e-3)


def test_a_governor_between_a_planner_and_a_simulated_robot_over_dds(graph: Graph, tmp_path: Path) -> None:
    """Twice too fast for 'turn': four nodes in simulated time.

    The path is kept, no torque is at its limit. No rotor inertia is assumed, as the governor knows of none.
    """
    names, goal = ["turn", "lift", "stretch"], np.array([0.8, 0.5, 0.1])
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    zero = [0.0] * 3
    points = trajectory_points(names, names, [0.0, 0.5], [zero, goal.tolist()], [zero, zero], [zero, zero])
    wished = planned(points, 0.0).sample_many(np.linspace(0.0, 0.5, 501))
    needed = dyn_core.compile_model(robot).inverse_dynamics(*wished[:3])
    weak = 0.5 * float(np.abs(needed[:, robot.coordinate_names.index("turn")]).max())
    states: list[JointState] = []
    torques: list[JointTorques] = []
    told: list[Intervention] = []
    sent: list[JointTrajectory] = []
    node = graph.node
    node.create_subscription(JointState, "/arm/joint_states", states.append, 1000)
    node.create_subscription(JointTorques, "/arm/controller/torques", torques.append, 1000)
    node.create_subscription(Intervention, "/arm/governor/interventions", told.append, 10)
    node.create_subscription(JointTrajectory, "/arm/feedforward/joint_trajectory", sent.append, 10)
    wishes = node.create_publisher(JointTrajectory, "/arm/governor/joint_trajectory", 1)
    ours = tmp_path / "governed.yaml"
    ours.write_text(f"""
/**: {{ros__parameters: {{use_sim_time: true}}}}
/**/controller: {{ros__parameters: {{armature: 0.0}}}}
/**/simulation: {{ros__parameters: {{use_sim_time: false, publish_clock: true, real_time_factor: 0.2,
  armature: 0.0, initial: {{turn: {{position: 0.0}}, lift: {{position: 0.0}}, stretch: {{position: 0.0}}}}}}}}
/**/governor: {{ros__parameters: {{effort_scale: 0.9, limits: {{turn: {{effort: {weak!r}}}}}}}}}
""")

    def place(state: JointState) -> list[float]:
        return [state.position[state.name.index(name)] for name in names]

    process = graph.start(
        *("-m", "dyn_nodes.compose", "--namespace", "arm"),
        *("--params", str(ROOT / "config" / "demo.yaml"), str(ours)),
        *("--remap", "simulation/torques:=controller/torques", "controller/feedforward:=feedforward/torques"),
        "controller/joint_trajectory:=feedforward/joint_trajectory_effort",
        "governor/feasible_trajectory:=feedforward/joint_trajectory",
        *("--ros-args", "-p", f"description_file:={ROBOTS['rrp']}"),
    )
    graph.wait_for(lambda: process.process.poll() is not None or (torques and states))
    assert process.process.poll() is None, process.log
    graph.wait_for(lambda: wishes.get_subscription_count() == 1)
    wait = len(states) + 100  # until the controller holds the robot at its present position
    graph.wait_for(lambda: len(states) > wait)
    start = np.array(place(states[-1]))
    wishes.publish(trajectory(point(0.5, goal, zero, zero), names=names))
    graph.wait_for(lambda: told and sent)
    assert told[0].action == Intervention.SLOWED
    assert "turn" in told[0].joint
    assert told[0].time_scaling > 1.2
    begun = len(states)
    graph.wait_for(lambda: np.abs(place(states[-1]) - goal).max() < 1e-3)
    path = np.array([place(state) for state in states[begun - 1 :]])
    line = (goal - start) / np.linalg.norm(goal - start)
    away = path - start - np.outer((path - start) @ line, line)
    assert len(path) > 50
    assert np.abs(away).max() < 1e-3
    assert max(abs(t.total[t.name.index("turn")]) for t in torques) < weak
