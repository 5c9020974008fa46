# SPDX-License-Identifier: Apache-2.0
"""Control of a robot's joints without node and clock: numbers, limits, what data that is bad does."""

from __future__ import annotations

import numpy as np
import pytest

import dyn_core
from dyn_core import DynError
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, trajectory_points
from dyn_core.control.watchdog import Status, WatchSettings
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.torques.output_stage import Output
from dyn_nodes.controller.joint_controller import JointController
from dyn_nodes.controller.parameters import PidGains
from dyn_nodes.controller_parameters import ControllerSettings
from dyn_nodes.feedforward.parameters import ReferenceSettings
from dyn_nodes.motion_message import GivenMotion
from dyn_nodes.rejection import Rejection

ARM = """<robot name="arm"><link name="base"/>{}{}</robot>"""
JOINT = """<link name="link_{0}"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="{0}" type="revolute"><parent link="{1}"/><child link="link_{0}"/>
  <limit lower="-3" upper="3" effort="{2}" velocity="2"/></joint>"""
ROBOT = dyn_core.load_robot(ARM.format(JOINT.format("a", "base", 10), JOINT.format("b", "link_a", 20)))
PERIOD_S = 0.01
AT_ONCE = {
    "watch": WatchSettings(timeout=0.1, ramp_down=0.0, ramp_up=0.0),
    "ramp_start": 0.0,
    "references": ReferenceSettings(carry=0.0),
    "feedforward": WatchSettings(timeout=0.1, ramp_down=0.0, ramp_up=0.0),
}


def controller(p: float = 100.0, d: float = 10.0, i: float = 0.0, **settings: object) -> JointController:
    """A controller without ramps that takes references as they are, unless something else is given."""
    gains = PidGains({"p": p, "i": i, "d": d})
    return JointController(ROBOT, ControllerSettings(**{"gains": gains, **AT_ONCE, **settings}))


def vector(*values: float) -> np.ndarray:
    return np.array(values)


ZERO = vector(0.0, 0.0)


def measured(ours: JointController, q: np.ndarray, t: float, qd: np.ndarray = ZERO) -> list[float]:
    """Torques for a measurement at a time that is that of all clocks."""
    return ours.measure(q, qd, t, t).total.tolist()


def refer(ours: JointController, q: np.ndarray, t: float, qd: np.ndarray = ZERO) -> None:
    ours.refer(GivenMotion(q, qd, ZERO), t, t)


def test_the_robot_is_held_where_it_is_found() -> None:
    ours = controller()
    assert measured(ours, vector(0.5, -0.5), 0.0) == [0.0, 0.0]
    assert measured(ours, vector(0.49, -0.48), 0.01, vector(0.1, 0.2)) == pytest.approx([0.0, -4.0])


def test_a_reference_is_followed_with_its_velocity() -> None:
    ours = controller()
    measured(ours, ZERO, 0.0)
    refer(ours, vector(0.02, 0.05), 0.005, vector(0.1, -0.1))
    torques = measured(ours, vector(0.01, 0.0), 0.01, vector(0.2, 0.1))
    assert torques == pytest.approx([100 * 0.01 - 10 * 0.1, 100 * 0.05 - 10 * 0.2])


def test_when_references_stop_the_last_position_is_held_without_its_velocity() -> None:
    ours = controller()
    measured(ours, ZERO, 0.0)
    refer(ours, vector(0.02, 0.02), 0.0, vector(0.5, 0.5))
    for k in range(1, 12):
        torques = measured(ours, ZERO, k * PERIOD_S)
    assert torques == pytest.approx([2.0, 2.0])


def test_references_are_carried_to_the_measurement_but_not_far() -> None:
    """When they stop, the robot is held where they were carried to: torques have no step back."""
    ours = controller(d=0.0, references=ReferenceSettings(carry=0.02))
    measured(ours, ZERO, 0.0)
    refer(ours, vector(0.01, 0.01), 0.005, vector(0.5, -0.5))
    assert measured(ours, ZERO, 0.01) == pytest.approx([100 * (0.01 + 0.0025), 100 * (0.01 - 0.0025)])
    for k in range(3, 20):
        assert measured(ours, ZERO, k * PERIOD_S) == pytest.approx([100 * 0.02, 0.0])


def test_the_integral_takes_away_what_stays() -> None:
    ours = controller(p=0.0, d=0.0, i=50.0)
    for k in range(101):
        torques = measured(ours, vector(0.0, 0.0) if k == 0 else vector(-0.1, 0.0), k * PERIOD_S)
    assert torques == pytest.approx([5.0, 0.0], rel=0.01)


def test_gains_by_joint_come_before_the_general_ones() -> None:
    gains = PidGains({"p": 100.0}, {"p": {"b": 7.0}})
    ours = JointController(ROBOT, ControllerSettings(**{"gains": gains, **AT_ONCE}))
    measured(ours, ZERO, 0.0)
    assert measured(ours, vector(-0.01, -0.01), 0.01) == pytest.approx([1.0, 0.07])
    with pytest.raises(DynError, match="gains are given for joint 'c': the joints are 'a', 'b'"):
        JointController(ROBOT, ControllerSettings(gains=PidGains({}, {"p": {"c": 1.0}})))


def test_gains_follow_from_a_frequency_and_the_inertia() -> None:
    """Joint b carries 1 kg m^2, joint a that and as much of its own; both turn about the same axis."""
    gains = PidGains({"i": 3.0}, {"d": {"b": 0.5}}, natural_frequency=2.0, damping=0.7)
    w = 2.0 * np.pi * 2.0
    assert not gains.none
    given = gains.of(ROBOT)
    assert given["p"] == pytest.approx([2.0 * w**2, w**2])
    assert given["i"] == [3.0, 3.0]
    assert given["d"] == pytest.approx([2.0 * 0.7 * w * 2.0, 0.5])
    with pytest.raises(DynError, match="natural_frequency and d are given"):
        PidGains({"d": 1.0}, natural_frequency=2.0).of(ROBOT)


def points(times: list[float], a: list[float]) -> TrajectoryPoints:
    """Points of a trajectory of joint a, at rest; joint b stays at zero."""
    q = [[value, 0.0] for value in a]
    rest = [[0.0, 0.0]] * len(a)
    return trajectory_points(
        ROBOT.joint_names, ROBOT.joint_names, times, q, rest, [()] * len(a), ROBOT.limits
    )


def test_a_trajectory_is_followed_from_where_the_robot_is_held() -> None:
    ours = controller()
    measured(ours, vector(0.2, 0.0), 0.0)
    ours.follow(points([0.04], [0.24]), 0.0, None, 0.0)
    for k, (wanted, velocity) in enumerate([(0.20625, 1.125), (0.22, 1.5), (0.23375, 1.125), (0.24, 0.0)], 1):
        # A cubic from rest to rest: 3 s^2 - 2 s^3 of the way at the part s of the time.
        torques = measured(ours, vector(0.2, 0.0), k * PERIOD_S)
        assert torques == pytest.approx([min(100.0 * (wanted - 0.2) + 10.0 * velocity, 10.0), 0.0], abs=1e-9)
    assert measured(ours, vector(0.24, 0.0), 0.05) == pytest.approx([0.0, 0.0], abs=1e-9)


def test_the_next_trajectory_begins_where_the_last_one_has_ended() -> None:
    ours = controller()
    measured(ours, ZERO, 0.0)
    ours.follow(points([1.0], [0.5]), 0.0, None, 0.0)
    for k in range(1, 151):
        measured(ours, vector(0.5 * min(k / 100, 1.0), 0.0), k * PERIOD_S)
    ours.follow(points([1.0], [0.4]), 1.5, None, 1.5)
    assert measured(ours, vector(0.5, 0.0), 1.51)[0] == pytest.approx(0.0, abs=1.0)


def test_a_trajectory_stamped_by_another_clock_is_refused() -> None:
    ours = controller()
    measured(ours, ZERO, 0.0)
    with pytest.raises(DynError, match="is stamped 1e\\+08 s ahead, at most 3600 s are waited for"):
        ours.follow(points([1.0], [0.1]), 0.0, 1e8, 0.0)
    ours.follow(points([1.0], [0.1]), 0.0, 3599.0, 0.0)


def test_an_empty_trajectory_stops() -> None:
    ours = controller()
    measured(ours, ZERO, 0.0)
    ours.follow(points([0.04], [0.04]), 0.0, None, 0.0)
    measured(ours, ZERO, 0.01)
    ours.follow(None, 0.02, None, 0.02)
    for k in (2, 3, 4, 8):
        assert measured(ours, ZERO, k * PERIOD_S) == pytest.approx([100.0 * 0.02, 0.0])


def test_a_trajectory_needs_joint_states() -> None:
    ours = controller()
    with pytest.raises(Rejection, match="there is no good joint state to begin from"):
        ours.follow(points([1.0], [0.1]), 0.0, None, 0.0)
    measured(ours, ZERO, 0.0)
    with pytest.raises(Rejection, match="there is no good joint state to begin from"):
        ours.follow(points([1.0], [0.1]), 0.5, None, 0.5)


def test_a_trajectory_after_references_that_have_stopped_begins_at_rest() -> None:
    ours = controller(d=0.0)
    measured(ours, ZERO, 0.0)
    refer(ours, vector(0.05, 0.0), 0.0, vector(0.5, 0.0))
    for k in range(1, 21):
        measured(ours, ZERO, k * PERIOD_S)
    ours.follow(points([0.2], [0.05]), 0.2, None, 0.2)
    for k in range(21, 41):
        assert measured(ours, ZERO, k * PERIOD_S) == pytest.approx([100.0 * 0.05, 0.0])


def test_torques_are_within_the_limits_of_the_description_with_the_feedforward() -> None:
    ours = controller()
    ours.feed(vector(8.0, -30.0), 0.0)
    measured(ours, ZERO, 0.0)
    output = ours.measure(vector(-0.05, 0.0), ZERO, 0.01, 0.01)
    assert output.total.tolist() == [10.0, -20.0]
    assert output.status == JointTorques.STATUS_LIMITED
    assert output.excess is not None
    assert "joint 'b' asks for -30" in output.excess


def test_at_its_limit_the_integral_does_not_wind_up() -> None:
    """The feedforward alone is at the limit for a second; when it is gone, so is the torque."""
    ours = controller(p=0.0, d=0.0, i=50.0)
    measured(ours, ZERO, 0.0)
    for k in range(1, 101):
        ours.feed(vector(10.0, 0.0), k * PERIOD_S)
        assert measured(ours, vector(-0.1, 0.0), k * PERIOD_S)[0] == 10.0
    ours.feed(ZERO, 1.01)
    assert measured(ours, vector(-0.1, 0.0), 1.01)[0] < 0.2


def test_a_feedforward_that_stops_fades_out() -> None:
    ours = controller(p=0.0, feedforward=WatchSettings(timeout=0.1, ramp_down=0.2, ramp_up=0.0))
    ours.feed(vector(4.0, 0.0), 0.0)
    torques = [measured(ours, ZERO, k * PERIOD_S)[0] for k in range(50)]
    assert torques[:11] == [4.0] * 11
    assert torques[21] == pytest.approx(2.0, abs=0.4)
    assert torques[-10:] == [0.0] * 10
    assert np.abs(np.diff(torques)).max() < 0.4
    assert ours.feedforward_status is Status.STOPPED


def test_the_first_torques_come_with_a_ramp() -> None:
    ours = controller(ramp_start=0.2)
    torques = []
    for k in range(31):
        ours.feed(vector(5.0, 0.0), k * PERIOD_S)
        torques.append(measured(ours, ZERO, k * PERIOD_S)[0])
    assert torques[0] == 0.0
    assert torques[10] == pytest.approx(2.5)
    assert torques[21:] == [5.0] * 10
    assert np.abs(np.diff(torques)).max() < 0.5


def idled(ours: JointController, begin: float, end: float) -> list[Output]:
    """What is sent from one time to another without data."""
    outputs = (ours.idle(t) for t in np.arange(begin, end, PERIOD_S).tolist())
    return [output for output in outputs if output is not None]


def test_without_joint_states_torques_go_to_zero_and_then_the_robot_is_held_where_it_is() -> None:
    ours = controller(watch=WatchSettings(timeout=0.1, ramp_down=0.2, ramp_up=0.2))
    measured(ours, ZERO, 0.0)
    ours.feed(vector(5.0, 0.0), 0.0)
    for k in range(1, 40):
        ours.feed(vector(5.0, 0.0), k * PERIOD_S)
        measured(ours, ZERO, k * PERIOD_S)
    sent = [output.total[0] for output in idled(ours, 0.4, 1.0)]
    assert sent[-1] == 0.0
    assert sent == sorted(sent, reverse=True)
    assert ours.stage.watch.status is Status.STOPPED
    # It has fallen. What it was to do before is not caught up.
    assert measured(ours, vector(0.8, 0.0), 1.0) == [0.0, 0.0]
    for k in range(1, 40):
        torques = measured(ours, vector(0.8, 0.0), 1.0 + k * PERIOD_S)
    assert torques == [0.0, 0.0]


def test_with_reaction_stop_nothing_is_sent() -> None:
    ours = controller(watch=WatchSettings(timeout=0.1, reaction="stop"))
    measured(ours, ZERO, 0.0)
    assert idled(ours, 0.05, 1.0) == []


def test_data_that_comes_late_because_the_node_was_late_counts_as_missing() -> None:
    """The watch had no chance to look in between."""
    ours = controller(watch=WatchSettings(timeout=0.1, ramp_down=0.2, ramp_up=0.2))
    for k in range(100):
        measured(ours, ZERO, k * PERIOD_S)
    assert measured(ours, vector(0.5, 0.0), 5.0) == [0.0, 0.0]
    assert ours.stage.watch.status is Status.RECOVERING


def test_a_position_that_jumps_for_one_sample_is_refused() -> None:
    ours = controller()
    measured(ours, ZERO, 0.0)
    with pytest.raises(Rejection, match=r"joint 'b' is said to have moved by 1 in 0\.01 s"):
        measured(ours, vector(0.0, 1.0), 0.01)
    assert measured(ours, vector(-0.01, 0.0), 0.02) == pytest.approx([1.0, 0.0])


def test_a_robot_that_is_elsewhere_twice_is_held_there_with_a_ramp() -> None:
    ours = controller(watch=WatchSettings(timeout=0.1, ramp_down=0.0, ramp_up=0.2))
    for k in range(100):
        ours.feed(vector(5.0, 0.0), k * PERIOD_S)
        measured(ours, ZERO, k * PERIOD_S)
    with pytest.raises(Rejection):
        measured(ours, vector(1.0, 0.0), 1.0)
    assert measured(ours, vector(1.0, 0.0), 1.01) == [5.0, 0.0]
    assert ours.stage.watch.status is Status.RECOVERING


def test_joint_states_that_are_out_of_order_are_refused() -> None:
    ours = controller()
    measured(ours, ZERO, 1.0)
    with pytest.raises(Rejection, match=r"stamped 0\.500 s before the last one"):
        ours.measure(ZERO, ZERO, 0.5, 1.01)


def test_references_that_jump_are_refused_and_the_last_one_stays() -> None:
    ours = controller()
    measured(ours, ZERO, 0.0)
    with pytest.raises(Rejection, match="the reference of joint 'b' moves by 1 "):
        refer(ours, vector(0.0, 1.0), 0.0)
    refer(ours, vector(0.0, 0.05), 0.0)
    with pytest.raises(Rejection, match="the reference of joint 'a'"):
        refer(ours, vector(2.0, 0.05), 0.01)
    assert measured(ours, ZERO, 0.02) == pytest.approx([0.0, 5.0])


@pytest.mark.parametrize(
    ("qd", "qdd", "sentence"),
    [
        ((0.0, -1e3), (0.0, 0.0), "joint 'b' has the velocity -1000, at most 2.2 is allowed"),
        ((0.0, 2.3), None, "joint 'b' has the velocity 2.3"),
        ((0.0, 0.0), (1e6, 0.0), r"joint 'a' has the acceleration 1e\+06, at most 4400 is allowed"),
        ((1e3, 0.0), (1e6, 0.0), "joint 'a' has the velocity 1000"),
    ],
)
def test_references_that_are_faster_than_a_joint_are_refused_and_the_last_one_stays(
    qd: tuple[float, ...], qdd: tuple[float, ...] | None, sentence: str
) -> None:
    ours = controller()
    measured(ours, ZERO, 0.0)
    refer(ours, vector(0.01, 0.02), 0.005)
    given = GivenMotion(ZERO, vector(*qd), None if qdd is None else vector(*qdd))
    with pytest.raises(Rejection, match=sentence):
        ours.refer(given, 0.008, 0.008)
    assert measured(ours, ZERO, 0.01) == pytest.approx([1.0, 2.0])


def test_references_as_fast_as_the_joints_are_taken() -> None:
    ours = controller(references=ReferenceSettings(max_speed=1e4, carry=0.0))
    measured(ours, ZERO, 0.0)
    ours.refer(GivenMotion(ZERO, vector(1e3, 0.0), vector(1e6, 0.0)), 0.01, 0.01)
    ours = controller()
    measured(ours, ZERO, 0.0)
    ours.refer(GivenMotion(ZERO, vector(2.0, -2.0), vector(4000.0, -4000.0)), 0.01, 0.01)


def trajectory(
    times: list[float], a: list[float], qd: list[float], qdd: list[float] | None = None
) -> TrajectoryPoints:
    """Points of a trajectory of joint a with derivatives; joint b stays at zero."""
    q, v = ([[value, 0.0] for value in values] for values in (a, qd))
    w = [[value, 0.0] for value in qdd] if qdd else [()] * len(a)
    return trajectory_points(ROBOT.joint_names, ROBOT.joint_names, times, q, v, w, ROBOT.limits)


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        (trajectory([0.0, 1.0], [0.0, 0.0], [0.0, 0.0], [1e8, 0.0]), r"takes joint 'a' to 1\.728e\+06"),
        (trajectory([0.1, 1.0], [0.0, 0.0], [0.0, 0.0], [1e8, 0.0]), "takes joint 'a' to"),
        (trajectory([1.0], [0.0], [0.0], [1e8]), "takes joint 'a' to"),
        (trajectory([3.0, 8.0], [2.0, 2.0], [2.0, 0.0]), r"takes joint 'a' to 3\.48"),
        (trajectory([1.0], [1.9], [0.0]), "gives joint 'a' the velocity 2.85"),
    ],
)
def test_trajectories_that_leave_ranges_between_points_are_refused(
    points: TrajectoryPoints, sentence: str
) -> None:
    ours = controller()
    measured(ours, ZERO, 0.0)
    ours.follow(None, 0.0, None, 0.0)
    with pytest.raises(DynError, match=sentence):
        ours.follow(points, 0.0, None, 0.0)
    assert measured(ours, ZERO, 0.01) == pytest.approx([0.0, 0.0])


def test_the_last_torques_are_zero() -> None:
    ours = controller()
    measured(ours, ZERO, 0.0)
    measured(ours, vector(-0.01, 0.0), 0.01)
    output = ours.stage.last(ours.stage.zero)
    assert output.total.tolist() == [0.0, 0.0]
    assert output.status == JointTorques.STATUS_ZERO
