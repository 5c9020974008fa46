# SPDX-License-Identifier: Apache-2.0
"""Torques of an arm on a vehicle, with base motion from an inertial measurement unit or an odometry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from loose_node import LooseNode, loose_node
from message_makers import AT_ONCE, NAMES, joint_state, later
from nav_msgs.msg import Odometry
from rnea import by_name
from robot_files import urdf
from ros_graph import Graph
from sensor_msgs.msg import Imu, JointState
from sentence_patterns import Told

import dyn_core
from dyn_msgs.msg import JointTorques
from dyn_nodes.feedforward.node import Feedforward

Q = [0.1, 0.3, 0.05]
UNIT = """<link name="imu"/><joint name="imu_mount" type="fixed"><parent link="base"/><child link="imu"/>
<origin xyz="0.3 -0.2 0.5" rpy="0.4 0.2 -1.0"/></joint></robot>"""
ROOT = """<link name="world"/>
<joint name="flies" type="floating"><parent link="world"/><child link="base"/></joint></robot>"""
ARM = urdf("rrp").replace("</robot>", UNIT)
FLYING = ARM.replace("</robot>", ROOT)
"""The floating joint at the root is the base; joint states do not contain it."""
TILT = np.array([0.0, 0.0, 0.0, 0.0, math.sin(0.2), 0.0, math.cos(0.2)])
"""Pose of a vehicle that looks down a slope of 0.4 rad."""
LEVEL = np.array([0.0] * 6 + [1.0])


class Vehicle(NamedTuple):
    """A motion of the base: pose, velocity and acceleration as in `MovingBaseModel`."""

    pose: np.ndarray
    V: np.ndarray = np.zeros(6)
    Vd: np.ndarray = np.zeros(6)


STILL, SLOPE = Vehicle(LEVEL), Vehicle(TILT)
DRIVING = Vehicle(TILT, np.array([1.0, 0.5, -0.2, 0.3, -0.4, 0.9]), np.array([2.0, -1.0, 0.5, 0.0, 0.0, 0.0]))


def whole() -> dyn_core.MovingBaseModel:
    return dyn_core.compile_moving_base(dyn_core.load_robot(ARM), "given", backend="python")


def imu(loose: LooseNode, vehicle: Vehicle, frame: str = "imu") -> Imu:
    """Measurements of a unit that is fixed to a link of the base."""
    model, rest = whole(), np.zeros(3)
    T = model.forward_kinematics(vehicle.pose, rest, frame)
    a = model.link_acceleration(*vehicle, rest, rest, rest, frame)
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
    message = Odometry(child_frame_id="base")
    message.header.frame_id, message.header.stamp = "odom", loose.stamp
    turn = message.pose.pose.orientation
    turn.x, turn.y, turn.z, turn.w = vehicle.pose[3:].tolist()
    for axis, v, w in zip("xyz", vehicle.V[:3].tolist(), vehicle.V[3:].tolist(), strict=True):
        setattr(message.twist.twist.linear, axis, v)
        setattr(message.twist.twist.angular, axis, w)
    return message


def state(loose: LooseNode) -> JointState:
    return joint_state(loose.stamp, Q)


def feel(loose: LooseNode, vehicle: Vehicle, frame: str = "imu") -> None:
    loose.send("base_imu", imu(loose, vehicle, frame))


def torques(loose: LooseNode) -> list[JointTorques]:
    return loose.published.setdefault("torques", [])


def expected(vehicle: Vehicle, q: Any = Q, qd: Any = (0.0,) * 3, qdd: Any = (0.0,) * 3) -> list[float]:
    return list(whole().inverse_dynamics_given_base(*vehicle, q, qd, qdd)[6:])


def check(loose: LooseNode, vehicle: Vehicle, tolerance: float = 1e-9) -> None:
    """Send a joint state, and check the torques for this motion of the vehicle."""
    loose.send("/joint_states", state(loose))
    sent = torques(loose)[-1]
    assert sent.status == JointTorques.STATUS_OK
    assert list(sent.total) == pytest.approx(expected(vehicle), rel=tolerance, abs=tolerance)


def diagnosis(loose: LooseNode) -> Told:
    loose.pass_time(1.1)
    return loose.told


@pytest.fixture
def arm(ros_environment: dict[str, str], request: pytest.FixtureRequest) -> Iterator[LooseNode]:
    """The arm on a vehicle, by default with an inertial measurement unit."""
    parameters = {"base__source": "imu", "base__derivative_cutoff": 0.0, **AT_ONCE, "ramp_up": 0.0}
    parameters |= {"robot_description": ARM, **getattr(request, "param", {})}
    with loose_node(Feedforward, **parameters) as loose:
        yield loose


def with_parameters(**given: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("arm", [given], indirect=True)


@pytest.mark.parametrize("arm", [{}, {"robot_description": FLYING}], indirect=True)
@pytest.mark.parametrize("vehicle", [STILL, SLOPE, DRIVING])
@pytest.mark.parametrize("frame", ["imu", "base"])
def test_torques_follow_the_measurements_of_a_unit(vehicle: Vehicle, frame: str, arm: LooseNode) -> None:
    """Gravity torques on a slope and in a curve.

    The unit may be mounted anywhere on the base, in any direction.
    """
    feel(arm, vehicle, frame)
    check(arm, vehicle)
    assert len(torques(arm)) == 1


@with_parameters(mode="inverse_dynamics")
def test_inverse_dynamics_on_a_vehicle(arm: LooseNode) -> None:
    """The sum of all terms is the inverse dynamics of a base of given motion."""
    feel(arm, DRIVING)
    motion = Q, [0.2, -0.3, 0.1], [1.0, 2.0, -0.5]
    arm.refer(*motion)
    assert list(torques(arm)[-1].total) == pytest.approx(expected(DRIVING, *motion), rel=1e-9, abs=1e-9)


@with_parameters(base__source="odometry")
def test_torques_follow_an_odometry(arm: LooseNode) -> None:
    """It gives orientation and velocities; the accelerations of a steady curve follow from these."""
    curve = Vehicle(TILT, DRIVING.V, np.concatenate((np.cross(DRIVING.V[3:], DRIVING.V[:3]), np.zeros(3))))
    arm.send("base_odometry", odometry(arm, curve))
    check(arm, curve)


@with_parameters(base__derivative_cutoff=20.0)
def test_angular_acceleration_is_derived(arm: LooseNode) -> None:
    """On a vehicle that turns faster and faster, the angular acceleration is known after some samples."""
    alpha = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.8])
    for k in range(60):
        arm.pass_time(0.01)
        feel(arm, Vehicle(LEVEL, 0.01 * k * alpha, alpha))
    check(arm, Vehicle(LEVEL, 0.01 * k * alpha, alpha), 1e-6)


@pytest.mark.promise("base-missing")
def test_nothing_is_sent_before_the_motion_of_the_base_is_known(arm: LooseNode) -> None:
    arm.measure(Q)
    assert torques(arm) == []
    told = diagnosis(arm)
    assert told.codes == {"torques-missing", "base-motion-missing"}
    assert told.about("base-motion-missing", topic="~/base_imu")
    assert (told.values["torques withheld"], told.values["base"]) == ("1", "nothing has come")


@pytest.mark.promise("base-stale")
@with_parameters(on_stale="hold", timeout=0.2, ramp_down=0.1)
def test_a_stale_base_is_stale_data(arm: LooseNode) -> None:
    """Joint states go on without the unit: the robot is held with the last measured direction of gravity."""
    feel(arm, DRIVING)
    arm.measure(Q)
    for _ in range(60):
        arm.pass_time(0.01)
        arm.measure(Q)
    held = torques(arm)[-1]
    assert held.status == JointTorques.STATUS_HELD
    felt = Vehicle(TILT, np.zeros(6), DRIVING.Vd)
    assert list(held.total) == pytest.approx(expected(felt), rel=1e-9, abs=1e-9)
    told = diagnosis(arm)
    assert told.level == DiagnosticStatus.ERROR
    assert told.codes == {"data-stale-held", "base-motion-stale"}
    assert told.about("base-motion-stale", topic="~/base_imu")
    assert told.values["base"].startswith("stale, ")
    feel(arm, SLOPE)
    check(arm, SLOPE)


def not_normalised(message: Imu) -> None:
    message.orientation_covariance[0], message.orientation.w = 0.01, 0.7


def not_measured(message: Imu) -> None:
    message.linear_acceleration_covariance[0] = -1.0


def shift(message: Imu, seconds: int) -> None:
    message.header.stamp = later(message.header.stamp, seconds)


OUTSIDE, VECTOR = "base-frame-unusable", "vector-implausible"
SPIN, FORCE = {"quantity": "angular velocity", "axis": "y"}, {"quantity": "linear acceleration"}
REFUSED: dict[str, tuple[Callable[[Imu], None], str, dict[str, Any]]] = {
    "unknown frame": (lambda m: setattr(m.header, "frame_id", "camera"), OUTSIDE, {"frame": "camera"}),
    "no frame": (lambda m: setattr(m.header, "frame_id", ""), "frame-missing", {"field": "header.frame_id"}),
    "frame of the arm": (lambda m: setattr(m.header, "frame_id", "arm"), OUTSIDE, {"frame": "arm"}),
    "not a number": (lambda m: setattr(m.angular_velocity, "y", math.nan), VECTOR, SPIN),
    "infinite": (lambda m: setattr(m.linear_acceleration, "z", math.inf), VECTOR, FORCE | {"axis": "z"}),
    "no unit quaternion": (not_normalised, "orientation-not-normalised", {"length": 0.7}),
    "no acceleration": (not_measured, "imu-quantity-not-measured", FORCE),
    "old": (lambda m: shift(m, -5), "stamp-too-old", {"age": 5.0}),
    "from the future": (lambda m: shift(m, 5), "stamp-in-future", {"age": 5.0}),
    "no stamp": (lambda m: setattr(m.header, "stamp", Time()), "message-without-stamp", {}),
}


@pytest.mark.promise("base-malformed")
@pytest.mark.parametrize("case", REFUSED)
def test_unusable_motions_of_the_base_are_refused(case: str, arm: LooseNode) -> None:
    """The last good motion is kept, and later good ones are accepted."""
    change, code, values = REFUSED[case]
    feel(arm, DRIVING)
    arm.pass_time(0.01)
    spoilt = imu(arm, SLOPE)
    change(spoilt)
    arm.send("base_imu", spoilt)
    check(arm, DRIVING)
    counts = diagnosis(arm).values
    assert [counts[f"motions of the base {what}"] for what in ("refused", "used")] == ["1", "1"]
    assert arm.has_told(code, **values)
    feel(arm, SLOPE)
    check(arm, SLOPE)


@pytest.mark.promise("base-order")
def test_motions_of_the_base_out_of_order_are_refused(arm: LooseNode) -> None:
    for vehicle in (DRIVING, SLOPE):
        feel(arm, vehicle)
    assert diagnosis(arm).values["motions of the base refused"] == "1"


@pytest.mark.promise("base-malformed")
@with_parameters(base__source="odometry")
def test_an_odometry_without_a_valid_rotation_is_refused(arm: LooseNode) -> None:
    message, nameless = odometry(arm, SLOPE), odometry(arm, SLOPE)
    message.pose.pose.orientation.w *= 2.0
    nameless.child_frame_id = ""
    arm.send("base_odometry", message)
    arm.send("base_odometry", nameless)
    arm.measure(Q)
    assert torques(arm) == []
    assert diagnosis(arm).values["motions of the base refused"] == "2"


@with_parameters(base__source="none")
def test_a_robot_with_a_fixed_base_has_no_base_topics(arm: LooseNode) -> None:
    assert not arm.hears(f"{arm.node.get_fully_qualified_name()}/base_imu")
    check(arm, STILL)


def test_a_node_process_receives_base_motion_over_dds(graph: Graph) -> None:
    """The unit sends with the quality of service of drivers."""
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
    q = dict(zip(names, Q, strict=True))
    order = driven.model.joint_names
    wanted = driven.gravity_torques(np.array([q[name] for name in order]))
    total = by_name(graph.torques[-1])
    assert [total[name] for name in order] == pytest.approx(list(wanted), rel=1e-9, abs=1e-9)


@with_parameters(mode="inverse_dynamics", on_stale="ramp", timeout=0.2, ramp_down=0.1)
def test_along_a_trajectory(arm: LooseNode) -> None:
    """Efforts use the present motion of the base; if that is stale, the torques are stale."""
    feel(arm, DRIVING)
    arm.measure(Q)
    goal = [0.2, 0.4, 0.06]
    arm.go(goal, 4.0)
    (answer,) = arm.published["joint_trajectory_effort"]
    held = dict(zip(answer.joint_names, answer.points[-1].effort, strict=True))
    # The trajectory is a cubic spline: at its end it is at rest, but still decelerates.
    assert [held[name] for name in NAMES] != pytest.approx(expected(STILL), rel=1e-3)
    assert held["stretch"] == pytest.approx(expected(DRIVING, goal)[2], rel=0.05)
    before = len(torques(arm))
    for _ in range(10):
        feel(arm, DRIVING)
        arm.pass_time(0.01)
    assert len(torques(arm)) > before
    assert torques(arm)[-1].status == JointTorques.STATUS_OK
    arm.pass_time(0.5)
    assert torques(arm)[-1].status == JointTorques.STATUS_ZERO
    assert diagnosis(arm).codes & {"data-stale-ramping-down", "data-stale-stopped"}
