# SPDX-License-Identifier: Apache-2.0
"""Torques of an arm on a vehicle, whose motion comes from an inertial measurement unit or an odometry."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticStatus
from loose_node import LooseNode, loose_node
from nav_msgs.msg import Odometry
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from sensor_msgs.msg import Imu, JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import dyn_core
from dyn_msgs.msg import JointReference, JointTorques
from dyn_nodes.feedforward.node import Feedforward

NAMES = ["turn", "lift", "stretch"]
Q = [0.1, 0.3, 0.05]
UNIT = (
    '<link name="imu"/><joint name="imu_mount" type="fixed"><parent link="base"/><child link="imu"/>'
    '<origin xyz="0.3 -0.2 0.5" rpy="0.4 0.2 -1.0"/></joint></robot>'
)
ARM = urdf("rrp").replace("</robot>", UNIT)
TILT = [0.0, math.sin(0.2), 0.0, math.cos(0.2)]
"""Quaternion of a vehicle that looks down a slope of 0.4 rad."""


@dataclass(frozen=True)
class Vehicle:
    """A motion of the base: quaternion, velocity and acceleration as `MovingBaseModel` has them."""

    quaternion: list[float]
    V: np.ndarray
    Vd: np.ndarray

    @property
    def pose(self) -> np.ndarray:
        return np.array([0.0, 0.0, 0.0, *self.quaternion])


STILL = Vehicle([0.0, 0.0, 0.0, 1.0], np.zeros(6), np.zeros(6))
SLOPE = Vehicle(TILT, np.zeros(6), np.zeros(6))
DRIVING = Vehicle(TILT, np.array([1.0, 0.5, -0.2, 0.3, -0.4, 0.9]), np.array([2.0, -1.0, 0.5, 0.0, 0.0, 0.0]))


def whole() -> dyn_core.MovingBaseModel:
    return dyn_core.compile_moving_base(dyn_core.load_robot(ARM), "given", backend="python")


def imu(loose: LooseNode, vehicle: Vehicle, frame: str = "imu") -> Imu:
    """What a unit shows that is fixed to a link of the base."""
    model, rest = whole(), np.zeros(3)
    T = model.forward_kinematics(vehicle.pose, rest, frame)
    a = model.link_acceleration(vehicle.pose, vehicle.V, vehicle.Vd, rest, rest, rest, frame)
    v = model.link_velocity(vehicle.pose, vehicle.V, rest, rest, frame)
    force, w = T[:3, :3].T @ (a[:3] - [0.0, 0.0, -9.81]), T[:3, :3].T @ v[3:]
    message = Imu()
    message.header.frame_id, message.header.stamp = frame, loose.stamp
    for axis, f, rate in zip("xyz", force.tolist(), w.tolist(), strict=True):
        setattr(message.linear_acceleration, axis, f)
        setattr(message.angular_velocity, axis, rate)
    message.orientation_covariance[0] = -1.0
    return message


def odometry(loose: LooseNode, vehicle: Vehicle) -> Odometry:
    message = Odometry()
    message.header.frame_id, message.header.stamp = "odom", loose.stamp
    message.child_frame_id = "base"
    turn = message.pose.pose.orientation
    turn.x, turn.y, turn.z, turn.w = vehicle.quaternion
    for axis, v, w in zip("xyz", vehicle.V[:3].tolist(), vehicle.V[3:].tolist(), strict=True):
        setattr(message.twist.twist.linear, axis, v)
        setattr(message.twist.twist.angular, axis, w)
    return message


def state(loose: LooseNode) -> JointState:
    message = JointState(name=NAMES, position=Q)
    message.header.stamp = loose.stamp
    return message


def torques(loose: LooseNode) -> list[JointTorques]:
    return loose.published.setdefault("torques", [])


def expected(vehicle: Vehicle, qd: Any = (0.0,) * 3, qdd: Any = (0.0,) * 3) -> list[float]:
    args = (vehicle.pose, vehicle.V, vehicle.Vd, Q, qd, qdd)
    return list(whole().inverse_dynamics_given_base(*args)[6:])


def diagnosis(loose: LooseNode) -> DiagnosticStatus:
    loose.pass_time(1.1)
    return loose.published["diagnostics"][-1].status[0]


@pytest.fixture
def arm(ros_environment: dict[str, str], request: pytest.FixtureRequest) -> Iterator[LooseNode]:
    """The arm on a vehicle, with an inertial measurement unit unless something else is said."""
    parameters = {"base.source": "imu", "base.derivative_cutoff": 0.0, "ramp_start": 0.0, "ramp_up": 0.0}
    parameters |= getattr(request, "param", {})
    with loose_node(Feedforward, robot_description=ARM, **parameters) as loose:
        yield loose


@pytest.mark.parametrize("vehicle", [STILL, SLOPE, DRIVING])
@pytest.mark.parametrize("frame", ["imu", "base"])
def test_what_a_unit_shows_is_in_the_torques(vehicle: Vehicle, frame: str, arm: LooseNode) -> None:
    """Gravity torques on a slope and in a curve; the unit may be anywhere on the base, in any direction."""
    arm.send("base_imu", imu(arm, vehicle, frame))
    arm.send("/joint_states", state(arm))
    (sent,) = torques(arm)
    assert list(sent.total) == pytest.approx(expected(vehicle), rel=1e-9, abs=1e-9)
    assert sent.status == JointTorques.STATUS_OK


@pytest.mark.parametrize("arm", [{"mode": "inverse_dynamics"}], indirect=True)
def test_inverse_dynamics_on_a_vehicle(arm: LooseNode) -> None:
    """All terms together are the inverse dynamics of a base of given motion."""
    arm.send("base_imu", imu(arm, DRIVING))
    qd, qdd = [0.2, -0.3, 0.1], [1.0, 2.0, -0.5]
    reference = JointReference(name=NAMES, position=Q, velocity=qd, acceleration=qdd)
    reference.header.stamp = arm.stamp
    arm.send("reference", reference)
    total = list(torques(arm)[-1].total)
    assert total == pytest.approx(expected(DRIVING, qd, qdd), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("arm", [{"base.source": "odometry"}], indirect=True)
def test_an_odometry(arm: LooseNode) -> None:
    """Orientation and velocities; accelerations of a steady curve follow from these."""
    curve = Vehicle(TILT, DRIVING.V, np.concatenate((np.cross(DRIVING.V[3:], DRIVING.V[:3]), np.zeros(3))))
    arm.send("base_odometry", odometry(arm, curve))
    arm.send("/joint_states", state(arm))
    assert list(torques(arm)[-1].total) == pytest.approx(expected(curve), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("arm", [{"base.derivative_cutoff": 20.0}], indirect=True)
def test_angular_acceleration_is_derived(arm: LooseNode) -> None:
    """A vehicle that turns faster and faster: after some samples its angular acceleration is known."""
    alpha = np.array([0.0, 0.0, 0.8])
    for k in range(60):
        faster = Vehicle(
            [0.0, 0.0, 0.0, 1.0],
            np.array([0.0, 0.0, 0.0, *(0.01 * k * alpha)]),
            np.array([0.0] * 3 + [*alpha]),
        )
        arm.pass_time(0.01)
        arm.send("base_imu", imu(arm, faster))
    arm.send("/joint_states", state(arm))
    assert list(torques(arm)[-1].total) == pytest.approx(expected(faster), rel=1e-6, abs=1e-6)


def test_nothing_is_sent_before_the_motion_of_the_base_is_known(arm: LooseNode) -> None:
    arm.send("/joint_states", state(arm))
    assert torques(arm) == []
    told = diagnosis(arm)
    assert "nothing has come on ~/base_imu that says how the base moves" in told.message
    assert {v.key: v.value for v in told.values}["torques withheld"] == "1"
    assert {v.key: v.value for v in told.values}["base"] == "nothing has come"


@pytest.mark.parametrize("arm", [{"on_stale": "hold", "timeout": 0.2, "ramp_down": 0.1}], indirect=True)
def test_a_stale_base_is_stale_data(arm: LooseNode) -> None:
    """Joint states go on, the unit does not: the robot is held as by the slope that was felt last."""
    arm.send("base_imu", imu(arm, DRIVING))
    arm.send("/joint_states", state(arm))
    for _ in range(60):
        arm.pass_time(0.01)
        arm.send("/joint_states", state(arm))
    assert torques(arm)[-1].status == JointTorques.STATUS_HELD
    felt = Vehicle(TILT, np.zeros(6), DRIVING.Vd)
    assert list(torques(arm)[-1].total) == pytest.approx(expected(felt), rel=1e-9, abs=1e-9)
    told = diagnosis(arm)
    assert told.level == DiagnosticStatus.ERROR
    assert "no good data on ~/base_imu for" in told.message
    assert "holding the robot where it was last" in told.message
    assert {v.key: v.value for v in told.values}["base"].startswith("stale, ")
    arm.send("base_imu", imu(arm, SLOPE))
    arm.send("/joint_states", state(arm))
    assert torques(arm)[-1].status == JointTorques.STATUS_OK
    assert list(torques(arm)[-1].total) == pytest.approx(expected(SLOPE), rel=1e-9, abs=1e-9)


def spoilt(loose: LooseNode, what: str) -> Imu:
    message = imu(loose, SLOPE)
    if what == "unknown frame":
        message.header.frame_id = "camera_imu"
    elif what == "no frame":
        message.header.frame_id = ""
    elif what == "frame of the arm":
        message.header.frame_id = "arm"
    elif what == "not a number":
        message.angular_velocity.y = math.nan
    elif what == "infinite":
        message.linear_acceleration.z = math.inf
    elif what == "no unit quaternion":
        message.orientation_covariance[0] = 0.01
        message.orientation.w = 0.7
    elif what == "no acceleration":
        message.linear_acceleration_covariance[0] = -1.0
    elif what == "old":
        message.header.stamp.sec -= 5
    elif what == "from the future":
        message.header.stamp.sec += 5
    else:
        message.header.stamp.sec = message.header.stamp.nanosec = 0
    return message


REFUSED = {
    "unknown frame": "frame 'camera_imu', but robot 'rrp' has no link 'camera_imu': its links are 'base'",
    "no frame": "IMU message has no header.frame_id: it has to name the link that it is of",
    "frame of the arm": "the link 'arm' of robot 'rrp' is carried by joint 'lift'",
    "not a number": "IMU message has the angular velocity nan along y",
    "infinite": "IMU message has the linear acceleration inf along z",
    "no unit quaternion": "the quaternion (x, y, z, w) of the orientation has the length 0.7: a rotation has",
    "no acceleration": "says by its covariance that the linear acceleration is not measured",
    "old": "motion of the base is 5.000 s old by its stamp",
    "from the future": "motion of the base is 5.000 s in the future by its stamp",
    "no stamp": "motion of the base has no stamp",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str, arm: LooseNode, capfd: pytest.CaptureFixture[str]) -> None:
    """With a sentence; the last good motion stays, and good ones are taken again."""
    arm.send("base_imu", imu(arm, DRIVING))
    arm.pass_time(0.01)
    arm.send("base_imu", spoilt(arm, what))
    arm.send("/joint_states", state(arm))
    assert list(torques(arm)[-1].total) == pytest.approx(expected(DRIVING), rel=1e-9, abs=1e-9)
    told = diagnosis(arm)
    counts = {v.key: v.value for v in told.values}
    assert counts["motions of the base refused"] == "1"
    assert counts["motions of the base used"] == "1"
    assert REFUSED[what] in capfd.readouterr().err
    arm.send("base_imu", imu(arm, SLOPE))
    arm.send("/joint_states", state(arm))
    assert list(torques(arm)[-1].total) == pytest.approx(expected(SLOPE), rel=1e-9, abs=1e-9)


def test_motions_that_are_out_of_order(arm: LooseNode) -> None:
    arm.send("base_imu", imu(arm, DRIVING))
    late = imu(arm, SLOPE)
    arm.send("base_imu", late)
    told = diagnosis(arm)
    assert {v.key: v.value for v in told.values}["motions of the base refused"] == "1"


@pytest.mark.parametrize("arm", [{"base.source": "odometry"}], indirect=True)
def test_an_odometry_that_is_no_rotation(arm: LooseNode) -> None:
    message = odometry(arm, SLOPE)
    message.pose.pose.orientation.w *= 2.0
    arm.send("base_odometry", message)
    nameless = odometry(arm, SLOPE)
    nameless.child_frame_id = ""
    arm.send("base_odometry", nameless)
    arm.send("/joint_states", state(arm))
    assert torques(arm) == []
    told = diagnosis(arm)
    assert {v.key: v.value for v in told.values}["motions of the base refused"] == "2"


def test_a_robot_without_a_base_that_moves_listens_to_none(ros_environment: dict[str, str]) -> None:
    with loose_node(Feedforward, robot_description=ARM, ramp_start=0.0) as loose:
        assert not loose.hears(f"{loose.node.get_fully_qualified_name()}/base_imu")
        loose.send("/joint_states", state(loose))
        assert list(torques(loose)[-1].total) == pytest.approx(expected(STILL), rel=1e-9, abs=1e-9)


def test_a_floating_root_is_the_base(ros_environment: dict[str, str]) -> None:
    """The joint states of a robot whose base is measured lack what its root joint would have."""
    joint = (
        '<link name="world"/><joint name="flies" type="floating"><parent link="world"/>'
        '<child link="base"/></joint></robot>'
    )
    text = ARM.replace("</robot>", joint)
    with loose_node(Feedforward, robot_description=text, ramp_start=0.0, **{"base.source": "imu"}) as loose:
        loose.send("base_imu", imu(loose, SLOPE))
        loose.send("/joint_states", state(loose))
        assert list(torques(loose)[-1].total) == pytest.approx(expected(SLOPE), rel=1e-9, abs=1e-9)


def test_over_dds(graph: Graph) -> None:
    """The same in a process of its own, with a unit that sends as drivers do."""
    graph.start_feedforward(**{"base.source": "imu", "ramp_up": 0.0})
    names = graph.load(ARM).joint_name
    publisher = graph.node.create_publisher(Imu, "/feedforward/base_imu", 10)
    message = Imu()
    message.header.frame_id = "base"
    message.linear_acceleration.x, message.linear_acceleration.z = -3.0, 9.0

    def answered() -> bool:
        message.header.stamp = graph.now()
        publisher.publish(message)
        graph.publish_state(names, Q)
        return bool(graph.torques)

    graph.wait_for(answered)
    driven = dyn_core.DrivenBase(dyn_core.compile_model(dyn_core.load_robot(ARM), backend="python"))
    driven.feel(np.array([-3.0, 0.0, 9.0, *[0.0] * 6]))
    by_name = dict(zip(graph.torques[-1].name, graph.torques[-1].total, strict=True))
    order = driven.model.joint_names
    total = [by_name[name] for name in order]
    q = dict(zip(names, Q, strict=True))
    wanted = driven.gravity_torques(np.array([q[name] for name in order]))
    assert total == pytest.approx(list(wanted), rel=1e-9, abs=1e-9)
    assert ROBOTS["rrp"].is_file()


@pytest.mark.parametrize(
    "arm", [{"mode": "inverse_dynamics", "on_stale": "ramp", "timeout": 0.2, "ramp_down": 0.1}], indirect=True
)
def test_along_a_trajectory(arm: LooseNode) -> None:
    """Its efforts are those of the present motion of the base; where that is stale, so are the torques."""
    arm.send("base_imu", imu(arm, DRIVING))
    arm.send("/joint_states", state(arm))
    goal = [0.2, 0.4, 0.06]
    points = [JointTrajectoryPoint(positions=goal, velocities=[0.0] * 3, time_from_start=Duration(sec=4))]
    arm.send("joint_trajectory", JointTrajectory(joint_names=NAMES, points=points))
    (answer,) = arm.published["joint_trajectory_effort"]
    args = (DRIVING.pose, DRIVING.V, DRIVING.Vd, goal, [0.0] * 3)
    samples = whole().inverse_dynamics_given_base(*args, [0.0] * 3)[6:]
    held = dict(zip(answer.joint_names, answer.points[-1].effort, strict=True))
    # The motion is a spline of third order: it is at rest at the end, and still slows down.
    assert [held[name] for name in NAMES] != pytest.approx(expected(STILL), rel=1e-3)
    assert held["stretch"] == pytest.approx(samples[2], rel=0.05)
    before = len(torques(arm))
    for _ in range(10):
        arm.send("base_imu", imu(arm, DRIVING))
        arm.pass_time(0.01)
    assert len(torques(arm)) > before
    assert torques(arm)[-1].status == JointTorques.STATUS_OK
    arm.pass_time(0.5)
    assert torques(arm)[-1].status == JointTorques.STATUS_ZERO
    assert "torques go to zero" in diagnosis(arm).message or "torques are zero" in diagnosis(arm).message
