# SPDX-License-Identifier: Apache-2.0
"""The node `governor`: what goes through untouched, what is slowed down, and what it says of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from loose_node import LooseNode, loose_node
from robot_files import ROBOTS, ROOT
from ros_graph import Graph
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import dyn_core
from dyn_core.control.plan import planned
from dyn_core.control.trajectories.trajectory_planning import trajectory_points
from dyn_core.simulation.settings import SimulationSettings
from dyn_msgs.msg import Intervention, JointReference, JointTorques
from dyn_nodes.governor.node import Governor
from dyn_nodes.governor.parameters import GovernorSettings

RX90 = str(ROBOTS["rx90"])
NAMES = [f"joint_{k}" for k in range(1, 7)]
GOAL = np.array([1.0, 0.4, -0.3, 0.5, 0.5, 1.0])
TIGHT = {"limits__joint_1__velocity": 1.0}


def point(t: float, q: Sequence[float], qd: Sequence[float] = (), qdd: Sequence[float] = ()):
    seconds, rest = divmod(round(1e9 * t), 10**9)
    return JointTrajectoryPoint(
        positions=list(map(float, q)),
        velocities=list(map(float, qd)),
        accelerations=list(map(float, qdd)),
        time_from_start=Duration(sec=seconds, nanosec=rest),
    )


def there(duration: float, goal: np.ndarray = GOAL, start: np.ndarray | None = None) -> JointTrajectory:
    """From rest to rest with continuous accelerations."""
    zero = np.zeros(6)
    begin = zero if start is None else start
    return JointTrajectory(
        joint_names=list(NAMES),
        points=[point(0.0, begin, zero, zero), point(duration, goal, zero, zero)],
    )


def planned_from(message: JointTrajectory):
    points = message.points
    seconds = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points]
    return planned(
        trajectory_points(
            NAMES,
            message.joint_names,
            seconds,
            [p.positions for p in points],
            [p.velocities for p in points],
            [p.accelerations for p in points],
        ),
        0.0,
    )


def measure(loose: LooseNode, q: Sequence[float] = (0.0,) * 6) -> None:
    loose.send(
        "/joint_states",
        JointState(header=Header(stamp=loose.stamp), name=NAMES, position=list(map(float, q))),
    )


def test_a_feasible_trajectory_goes_through_byte_by_byte(ros_environment: dict[str, str]) -> None:
    with loose_node(Governor, description_file=RX90) as loose:
        measure(loose)
        message = there(4.0)
        message.points[1].effort = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        message.header.frame_id = "base"
        loose.send("joint_trajectory", message)
        (sent,) = loose.published["feasible_trajectory"]
        assert sent == message
        assert loose.published["interventions"] == []


def test_one_that_is_too_fast_is_slower_and_says_why(ros_environment: dict[str, str]) -> None:
    with loose_node(Governor, description_file=RX90, **TIGHT) as loose:
        measure(loose)
        # At most 1.875 times as fast as the mean: 0.9375 s of 1 rad need 2 rad/s.
        message = there(0.9375)
        loose.send("joint_trajectory", message)
        (sent,) = loose.published["feasible_trajectory"]
        (told,) = loose.published["interventions"]
        assert told.action == Intervention.SLOWED
        assert told.time_scaling == pytest.approx(2.0, rel=1e-3)
        assert list(told.joint) == ["joint_1"]
        assert list(told.quantity) == ["velocity"]
        assert told.value[0] == pytest.approx(2.0, rel=1e-3)
        assert told.limit[0] == 1.0
        assert told.time[0] == pytest.approx(0.469, abs=0.006)
        assert (
            "joint 'joint_1' asks for the velocity 2 rad/s, 1 rad/s beyond its limit of 1 rad/s"
            in told.message
        )
        assert "it takes 2 times as long" in told.message
        assert told.header.stamp == loose.stamp
        wished, ours = planned_from(message), planned_from(sent)
        assert ours.end == pytest.approx(2.0 * wished.end, rel=1e-3)
        u = np.linspace(0.0, 1.0, 301)
        np.testing.assert_allclose(
            ours.sample_many(u * ours.end).q, wished.sample_many(u * wished.end).q, atol=1e-9
        )
        assert np.abs(ours.sample_many(u * ours.end).qd[:, 0]).max() <= 1.0 + 1e-9


def test_names_in_another_order(ros_environment: dict[str, str]) -> None:
    with loose_node(Governor, description_file=RX90, **TIGHT) as loose:
        measure(loose)
        message = there(0.9375)
        message.joint_names = NAMES[::-1]
        for one in message.points:
            one.positions = one.positions[::-1]
        message.points[1].velocities = [0.0] * 6
        loose.send("joint_trajectory", message)
        (sent,) = loose.published["feasible_trajectory"]
        assert list(sent.joint_names) == NAMES[::-1]
        assert np.abs(planned_from(sent).sample_many(np.linspace(0.0, 3.0, 300)).qd[:, 0]).max() <= 1.0 + 1e-9


def test_positions_alone_get_velocities(ros_environment: dict[str, str]) -> None:
    with loose_node(Governor, description_file=RX90) as loose:
        measure(loose)
        message = JointTrajectory(joint_names=list(NAMES), points=[point(2.0, 0.5 * GOAL), point(4.0, GOAL)])
        loose.send("joint_trajectory", message)
        (sent,) = loose.published["feasible_trajectory"]
        (told,) = loose.published["interventions"]
        assert told.action == Intervention.COMPLETED
        assert told.time_scaling == 1.0
        assert len(sent.points[0].velocities) == 6
        assert not any(sent.points[1].velocities)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda m: setattr(m.points[1], "positions", [9.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            "its range is -2.79 to 2.79",
        ),
        (lambda m: m.joint_names.pop(), "the trajectory lacks joint 'joint_6'"),
        (lambda m: setattr(m.points[1], "velocities", []), "no actuator can do"),
    ],
)
def test_what_cannot_be_made_feasible_is_refused(
    change, sentence: str, ros_environment: dict[str, str]
) -> None:
    with loose_node(Governor, description_file=RX90) as loose:
        measure(loose)
        message = there(4.0)
        if "no actuator" in sentence:
            for one in message.points:
                one.accelerations = []
        change(message)
        loose.send("joint_trajectory", message)
        assert loose.published["feasible_trajectory"] == []
        (told,) = loose.published["interventions"]
        assert told.action == Intervention.REFUSED
        assert told.time_scaling == 0.0
        assert sentence in told.message
        values = {v.key: v.value for v in loose.published["diagnostics"][-1].status[0].values}
        assert (
            sentence in loose.published["diagnostics"][-1].status[0].message or values["trajectories refused"]
        )


GRIPPER = """<robot name="gripper"><link name="base"/>
  <link name="a"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="leader" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="3" effort="9"/></joint>
  <joint name="follower" type="revolute"><parent link="base"/><child link="b"/><axis xyz="0 0 1"/>
    <mimic joint="leader" multiplier="-2"/><limit lower="-1" upper="1" velocity="1" effort="9"/></joint>
</robot>"""


def test_limits_of_joints_that_mimic_others(tmp_path: Path) -> None:
    robot = dyn_core.load_robot(GRIPPER)
    file = tmp_path / "limits.yaml"
    file.write_text("joints: {follower: {velocity: none, position: [-0.5, 1]}, leader: {effort: none}}")

    def found(**settings: object) -> tuple[float, float, float, float]:
        limits = GovernorSettings(**settings).limits(robot)
        return (*limits.lower, *limits.upper, *limits.velocity, *limits.effort(np.zeros(1)))

    assert found() == (-0.5, 0.5, 0.5, 9.0)
    assert found(limits_file=str(file)) == (-0.5, 0.25, 3.0, math.inf)
    assert found(limits_file=str(file), of_joints={"velocity": {"follower": 0.8}})[2] == 0.4
    # What is given for the leader does not take away what its follower has.
    assert found(of_joints={"velocity": {"leader": 2.0}})[2] == 0.5
    with pytest.raises(
        dyn_core.DynError, match="'follower', which mimics joint 'leader': it has no actuator"
    ):
        found(of_joints={"effort": {"follower": 2.0}})
    with pytest.raises(
        dyn_core.DynError, match=r"limits\.other\.velocity: this is no joint with an actuator"
    ):
        found(of_joints={"velocity": {"other": 2.0}})


def test_an_empty_trajectory_goes_through(ros_environment: dict[str, str]) -> None:
    with loose_node(Governor, description_file=RX90) as loose:
        loose.send("joint_trajectory", there(4.0))
        loose.send("joint_trajectory", JointTrajectory())
        assert [len(m.points) for m in loose.published["feasible_trajectory"]] == [2, 0]


def test_refuse_in_the_place_of_slow(ros_environment: dict[str, str]) -> None:
    with loose_node(Governor, description_file=RX90, on_infeasible="refuse", **TIGHT) as loose:
        measure(loose)
        loose.send("joint_trajectory", there(0.9375))
        assert loose.published["feasible_trajectory"] == []
        assert loose.published["interventions"][0].action == Intervention.REFUSED


PERIOD = 0.01


def refer(loose: LooseNode, q: np.ndarray, qd: np.ndarray) -> JointReference:
    message = JointReference(
        header=Header(stamp=loose.stamp), name=NAMES, position=q.tolist(), velocity=qd.tolist()
    )
    loose.send("reference", message)
    return message


def smooth(t: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
    u = min(max(t / duration, 0.0), 1.0)
    return GOAL * u**3 * (10 - 15 * u + 6 * u * u), GOAL * 30 * u * u * (1 - u) ** 2 / duration


def test_feasible_references_go_through_byte_by_byte(ros_environment: dict[str, str]) -> None:
    with loose_node(Governor, description_file=RX90) as loose:
        wished = []
        for k in range(300):
            wished.append(refer(loose, *smooth(k * PERIOD, 2.5)))
            loose.pass_time(PERIOD)
        sent = loose.published["feasible_reference"]
        assert sent == wished
        for ours, theirs in zip(sent, wished, strict=True):
            assert ours.position.tobytes() == theirs.position.tobytes()
            assert ours.velocity.tobytes() == theirs.velocity.tobytes()
        assert loose.published["interventions"] == []


def test_references_that_are_too_fast_are_slowed_on_their_path(ros_environment: dict[str, str]) -> None:
    """They stop coming at the end of the motion: the rest of the path goes out all the same."""
    with loose_node(Governor, description_file=RX90, rate=100.0, **TIGHT) as loose:
        for k in range(round(0.9375 / PERIOD) + 2):
            refer(loose, *smooth(k * PERIOD, 0.9375))
            loose.pass_time(PERIOD)
        loose.pass_time(2.0)
        sent = loose.published["feasible_reference"]
        q = np.array([m.position for m in sent])
        qd = np.array([m.velocity for m in sent])
        parts = q / GOAL
        np.testing.assert_allclose(parts, parts[:, :1] * np.ones(6), atol=1e-3)
        np.testing.assert_allclose(q[-1], GOAL, atol=1e-6)
        assert np.abs(qd[:, 0]).max() <= 1.0 + 1e-9
        stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in sent]
        assert (np.diff(stamps) > 0.0).all()
        told = loose.published["interventions"]
        assert told[0].action == Intervention.SLOWED
        assert told[0].joint[0] == "joint_1"
        assert told[0].time_scaling > 1.0


def test_a_position_that_jumps_becomes_a_motion(ros_environment: dict[str, str]) -> None:
    """Velocities of 0 and another position: the joints go there, within their limits."""
    zero = np.zeros(6)
    with loose_node(Governor, description_file=RX90, **TIGHT) as loose:
        for k in range(120):
            refer(loose, zero if k < 20 else 0.3 * GOAL, zero)
            loose.pass_time(PERIOD)
        sent = loose.published["feasible_reference"]
        q = np.array([m.position for m in sent])
        np.testing.assert_array_equal(q[-1], 0.3 * GOAL)
        assert np.abs(np.diff(q[:, 0])).max() <= 1.01 * PERIOD
        assert max(abs(m.velocity[0]) for m in sent) <= 1.0 + 1e-9
        told = loose.published["interventions"][0]
        assert told.action == Intervention.SLOWED
        assert told.joint[0] == "joint_1"
        assert "to be where its velocities do not lead" in told.message


def test_positions_that_jump_are_refused_where_nothing_is_slowed(ros_environment: dict[str, str]) -> None:
    """Also those that come after the first: they are no new stream."""
    zero = np.zeros(6)
    with loose_node(Governor, description_file=RX90, on_infeasible="refuse") as loose:
        for k in range(40):
            refer(loose, zero if k < 20 else 0.5 * GOAL, zero)
            loose.pass_time(PERIOD)
        sent = loose.published["feasible_reference"]
        assert len(sent) == 20
        assert not any(any(m.position) for m in sent)
        assert {told.action for told in loose.published["interventions"]} == {Intervention.REFUSED}


@pytest.mark.parametrize("later", [0.0, -0.05, 0.3])
def test_stamps_that_do_not_follow_one_another_begin_no_stream(
    later: float, ros_environment: dict[str, str]
) -> None:
    """As old, older, or far in the future: a position that jumps does not get through by its stamp."""
    zero = np.zeros(6)
    with loose_node(Governor, description_file=RX90, max_age=0.5) as loose:
        for _ in range(20):
            refer(loose, zero, zero)
            loose.pass_time(PERIOD)
        last = loose.published["feasible_reference"][-1].header.stamp
        nanoseconds = last.sec * 10**9 + last.nanosec + round(1e9 * later)
        stamp = Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
        message = JointReference(
            header=Header(stamp=stamp), name=NAMES, position=GOAL.tolist(), velocity=[0.0] * 6
        )
        loose.send("reference", message)
        assert len(loose.published["feasible_reference"]) == 20
        assert loose.published["interventions"][-1].action == Intervention.REFUSED
        assert "stamped" in loose.published["interventions"][-1].message
        # The stream goes on as if it had not come; after a pause another may begin, wherever.
        sent = refer(loose, zero, zero)
        assert loose.published["feasible_reference"][-1] == sent
        loose.pass_time(0.3)
        sent = refer(loose, 0.5 * GOAL, zero)
        assert loose.published["feasible_reference"][-1] == sent


def test_a_trajectory_after_references_begins_in_their_motion(ros_environment: dict[str, str]) -> None:
    """From 0.9 rad/s, 0.05 s are not enough to stop; from rest they would be."""
    with loose_node(Governor, description_file=RX90) as loose:
        measure(loose)
        for k in range(60):
            refer(loose, *smooth(k * PERIOD, 1.2))
            loose.pass_time(PERIOD)
        q, _ = smooth(0.6, 1.2)
        zero = np.zeros(6)
        message = JointTrajectory(joint_names=list(NAMES), points=[point(0.05, q, zero, zero)])
        loose.send("joint_trajectory", message)
        (told,) = loose.published["interventions"]
        assert told.action == Intervention.SLOWED
        loose.pass_time(3.0)
        measure(loose, q)
        loose.send("joint_trajectory", message)
        assert loose.published["feasible_trajectory"][-1] == message


def test_bad_references_are_refused(ros_environment: dict[str, str]) -> None:
    with loose_node(Governor, description_file=RX90) as loose:
        loose.send("reference", JointReference(header=Header(stamp=loose.stamp), name=NAMES))
        refer(loose, np.full(6, math.nan), np.zeros(6))
        loose.send("reference", JointReference(name=NAMES, position=[0.0] * 6))
        assert loose.published["feasible_reference"] == []


@pytest.mark.parametrize("seed", range(3))
def test_whatever_comes_in_nothing_that_is_not_finite_goes_out(
    seed: int, ros_environment: dict[str, str]
) -> None:
    """And no callback fails: the node is active at the end, and lets good motions through."""
    rng = np.random.default_rng(seed)
    odd = [math.nan, math.inf, -math.inf, 1e300, -1e12, 3.0, 0.0, -0.0, 1e-300]
    with loose_node(Governor, description_file=RX90) as loose:

        def numbers(count: int) -> list[float]:
            scale = float(rng.choice([0.1, 1.0, 30.0]))
            values = (scale * rng.normal(size=count)).tolist()
            if count and rng.random() < 0.2:
                values[int(rng.integers(count))] = float(rng.choice(odd))
            return values

        for _ in range(400):
            names = list(NAMES)
            if rng.random() < 0.1:
                names[int(rng.integers(6))] = str(rng.choice(["nobody", "joint_1", ""]))
            count = int(rng.choice([6, 6, 6, 6, 5, 0]))
            kind = rng.random()
            if kind < 0.5:
                header = Header(stamp=loose.stamp) if rng.random() < 0.9 else Header()
                loose.send(
                    "reference",
                    JointReference(
                        header=header,
                        name=names,
                        position=numbers(count),
                        velocity=numbers(int(rng.choice([count, 0]))),
                    ),
                )
            elif kind < 0.8:
                times = np.cumsum(rng.choice([0.0, 0.001, 0.1, 1.0], 3))
                points = [
                    point(t, numbers(count), numbers(int(rng.choice([count, 0]))) if k < 2 else zeros(count))
                    for k, t in enumerate(times)
                ]
                loose.send("joint_trajectory", JointTrajectory(joint_names=names, points=points))
            else:
                measure(loose, numbers(6))
            loose.pass_time(float(rng.choice([0.01, 0.01, 0.3])))
        for message in loose.published["feasible_reference"]:
            values = [*message.position, *message.velocity, *message.acceleration]
            assert np.isfinite(values).all()
        for message in loose.published["feasible_trajectory"]:
            for one in message.points:
                assert np.isfinite([*one.positions, *one.velocities, *one.accelerations]).all()
        assert loose.node.failure is None
        loose.pass_time(5.0)
        sent = len(loose.published["feasible_reference"])
        message = refer(loose, np.zeros(6), np.zeros(6))
        assert loose.published["feasible_reference"][sent:] == [message]


def zeros(count: int) -> list[float]:
    return [0.0] * count


def test_what_the_governor_lets_through_a_simulated_robot_executes_without_saturation(
    ros_environment: dict[str, str],
) -> None:
    """Twice too fast for one joint: slowed, followed by feedforward and PD with the limits of the motors."""
    robot = dyn_core.load_robot(RX90)
    model = dyn_core.compile_model(robot)
    wished = planned_from(there(1.0)).sample_many(np.linspace(0.0, 1.0, 501))
    needed = np.abs(model.inverse_dynamics(wished.q, wished.qd, wished.qdd)[:, 0]).max()
    weak = float(0.5 * needed)
    with loose_node(Governor, description_file=RX90, limits__joint_1__effort=weak, effort_scale=0.9) as loose:
        measure(loose)
        message = there(1.0)
        loose.send("joint_trajectory", message)
        (sent,) = loose.published["feasible_trajectory"]
        (told,) = loose.published["interventions"]
    assert "joint_1" in told.joint
    worst = max(
        v / limit for v, limit, j in zip(told.value, told.limit, told.joint, strict=True) if j == "joint_1"
    )
    assert abs(worst) > 2.0
    trajectory = planned_from(sent)
    first = robot.joints[0]
    tired = replace(first, limits=replace(first.limits, effort=weak))
    weakened = replace(robot, joints=(tired, *robot.joints[1:]))
    simulator = dyn_core.Simulator(weakened, SimulationSettings(step=0.001))
    greatest = np.array([weak, *(joint.limits.effort for joint in robot.joints[1:])])
    kp = 900.0 * np.diag(model.inertia_matrix(np.zeros(6)))
    kd = 60.0 * np.diag(model.inertia_matrix(np.zeros(6)))
    line = GOAL / np.linalg.norm(GOAL)
    steps = round(trajectory.end / 0.001) + 500
    for k in range(steps):
        wish = trajectory.motion(min(0.001 * k, trajectory.end + 1.0))
        state = simulator.state
        tau = model.inverse_dynamics(*wish) + kp * (wish.q - state.q) + kd * (wish.qd - state.qd)
        assert (np.abs(tau) < greatest).all(), "a motor saturates"
        simulator.set_effort(tau)
        simulator.step()
        assert not simulator.at_effort_limit
        q = simulator.state.q
        assert np.abs(q - line * (q @ line)).max() < 1e-3, "the path is left"
    np.testing.assert_allclose(simulator.state.q, GOAL, atol=1e-3)


def test_between_a_planner_and_a_simulated_robot_over_dds(graph: Graph, tmp_path: Path) -> None:
    """Twice too fast for 'turn': four nodes in simulated time; the path is kept, no torque at its limit."""
    names, goal = ["turn", "lift", "stretch"], np.array([0.8, 0.5, 0.1])
    robot = dyn_core.load_robot(ROBOTS["rrp"])
    model = dyn_core.compile_model(robot)
    zero = [0.0] * 3
    points = trajectory_points(names, names, [0.0, 0.5], [zero, goal.tolist()], [zero, zero], [zero, zero])
    wished = planned(points, 0.0).sample_many(np.linspace(0.0, 0.5, 501))
    needed = model.inverse_dynamics(wished.q, wished.qd, wished.qdd)
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
    ours.write_text(
        "/**/simulation: {ros__parameters: {publish_clock: true, real_time_factor: 0.2, "
        "initial: {turn: {position: 0.0}, lift: {position: 0.0}, stretch: {position: 0.0}}}}\n"
        "/**/feedforward: {ros__parameters: {use_sim_time: true}}\n"
        "/**/controller: {ros__parameters: {use_sim_time: true}}\n"
        f"/**/governor: {{ros__parameters: {{use_sim_time: true, effort_scale: 0.9, "
        f"limits: {{turn: {{effort: {weak!r}}}}}}}}}\n"
    )
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
    wait = len(states) + 100  # until the controller holds the robot where it is
    graph.wait_for(lambda: len(states) > wait)
    start = np.array([states[-1].position[states[-1].name.index(name)] for name in names])
    wishes.publish(JointTrajectory(joint_names=names, points=[point(0.5, goal, zero, zero)]))
    graph.wait_for(lambda: told and sent)
    assert told[0].action == Intervention.SLOWED
    assert "turn" in told[0].joint
    assert told[0].time_scaling > 1.2
    begun = len(states)
    graph.wait_for(
        lambda: np.abs([states[-1].position[states[-1].name.index(n)] for n in names] - goal).max() < 1e-3
    )
    path = np.array([[s.position[s.name.index(n)] for n in names] for s in states[begun - 1 :]])
    line = (goal - start) / np.linalg.norm(goal - start)
    away = path - start - np.outer((path - start) @ line, line)
    assert len(path) > 50
    assert np.abs(away).max() < 1e-3
    assert max(abs(t.total[t.name.index("turn")]) for t in torques) < weak
