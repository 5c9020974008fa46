# SPDX-License-Identifier: Apache-2.0
"""Control of a robot's joints without node and clock: values, limits, bad data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from refusals import check_error, refused

import dyn_core
from dyn_core import DynError
from dyn_core.control.trajectories.trajectory_planning import TrajectoryPoints, trajectory_points
from dyn_core.control.watchdog import Status, WatchSettings
from dyn_msgs.msg import JointTorques
from dyn_nodes.common.messages.motion_message import GivenMotion
from dyn_nodes.common.torques.feedback_gains import PidGains, feedback
from dyn_nodes.common.torques.output_stage import Output, Smoothing
from dyn_nodes.common.torques.reference_parameters import ReferenceSettings
from dyn_nodes.controller.joint_controller import JointController
from dyn_nodes.controller.parameters import ControllerSettings

JOINT = """<link name="link_{0}"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="{0}" type="revolute"><parent link="{1}"/><child link="link_{0}"/>
  <limit lower="-3" upper="3" effort="{2}" velocity="2"/></joint>"""
JOINTS = JOINT.format("a", "base", 10) + JOINT.format("b", "link_a", 20)
ROBOT = dyn_core.load_robot(f'<robot name="arm"><link name="base"/>{JOINTS}</robot>')
PERIOD_S = 0.01
NO_RAMPS = WatchSettings(timeout=0.1, ramp_down=0.0, ramp_up=0.0)
RAMPS = WatchSettings(timeout=0.1, ramp_down=0.2, ramp_up=0.2)
REFERENCES = ReferenceSettings(carry=0.0)
FREE = Smoothing(ramp_start=0.0, max_rate=0.0)
AT_ONCE = {"watch": NO_RAMPS, "smoothing": FREE, "references": REFERENCES, "feedforward": NO_RAMPS}


def controller(p: float = 100.0, d: float = 10.0, i: float = 0.0, **settings: object) -> JointController:
    """A controller without ramps and without limits for references, with other settings where given."""
    gains = PidGains({"p": p, "i": i, "d": d})
    return JointController(ROBOT, ControllerSettings(**{"gains": gains, **AT_ONCE, **settings}))


def started(q: Sequence[float] = (0.0, 0.0), **settings: Any) -> JointController:
    """The same controller, after a first measurement at time zero."""
    ours = controller(**settings)
    measured(ours, vector(*q), 0.0)
    return ours


def vector(*values: float) -> np.ndarray:
    return np.array(values)


ZERO = vector(0.0, 0.0)


def measured(ours: JointController, q: np.ndarray, t: float, qd: np.ndarray = ZERO) -> list[float]:
    """Torques for a measurement; all clocks show the given time."""
    return ours.measure(q, qd, t, t).total.tolist()


def resting(ours: JointController, q: np.ndarray, begin: int, end: int) -> list[list[float]]:
    """Torques for the same measurement in these periods."""
    return [measured(ours, q, k * PERIOD_S) for k in range(begin, end)]


def refer(ours: JointController, q: np.ndarray, t: float, qd: np.ndarray = ZERO) -> None:
    ours.refer(GivenMotion(q, qd, ZERO), t, t)


def test_the_robot_is_held_where_it_is_found_and_the_final_torques_are_zero() -> None:
    ours = controller()
    assert measured(ours, vector(0.5, -0.5), 0.0) == [0.0, 0.0]
    assert measured(ours, vector(0.49, -0.48), 0.01, vector(0.1, 0.2)) == pytest.approx([0.0, -4.0])
    last = ours.stage.last(ours.stage.zero)
    assert (last.total.tolist(), last.status) == ([0.0, 0.0], JointTorques.STATUS_ZERO)


@pytest.mark.promise("references-stop")
def test_a_reference_is_followed_with_its_velocity_and_held_without_it_at_the_end() -> None:
    ours = started()
    refer(ours, vector(0.02, 0.05), 0.005, vector(0.1, -0.1))
    torques = measured(ours, vector(0.01, 0.0), 0.01, vector(0.2, 0.1))
    assert torques == pytest.approx([100 * 0.01 - 10 * 0.1, 100 * 0.05 - 10 * 0.2])
    assert resting(ours, ZERO, 2, 14)[-1] == pytest.approx([2.0, 5.0])


def test_references_are_extrapolated_to_the_measurement_for_a_limited_time() -> None:
    """When references stop, the robot is held at the extrapolated position: torques do not step back."""
    ours = started(d=0.0, references=ReferenceSettings(carry=0.02))
    refer(ours, vector(0.01, 0.01), 0.005, vector(0.5, -0.5))
    assert measured(ours, ZERO, 0.01) == pytest.approx([100 * (0.01 + 0.0025), 100 * (0.01 - 0.0025)])
    for torques in resting(ours, ZERO, 3, 20):
        assert torques == pytest.approx([100 * 0.02, 0.0])


def test_the_integral_removes_a_constant_error() -> None:
    ours = started(p=0.0, d=0.0, i=50.0)
    assert resting(ours, vector(-0.1, 0.0), 1, 101)[-1] == pytest.approx([5.0, 0.0], rel=0.01)


def test_gains_of_a_joint_override_the_general_ones() -> None:
    gains = PidGains({"p": 100.0}, {"p": {"b": 7.0}})
    ours = JointController(ROBOT, ControllerSettings(**{"gains": gains, **AT_ONCE}))
    measured(ours, ZERO, 0.0)
    assert measured(ours, vector(-0.01, -0.01), 0.01) == pytest.approx([1.0, 0.07])
    with refused("gain-joint-unknown", joint="c", known=("a", "b")):
        JointController(ROBOT, ControllerSettings(gains=PidGains({}, {"p": {"c": 1.0}})))


W = 2.0 * np.pi * 2.0


def test_gains_of_a_frequency_are_weighted_by_the_inertia_matrix() -> None:
    """Joint b carries 1 kg m^2, joint a carries b and another 1 kg m^2; both turn about the same axis."""
    gains = PidGains({"i": 3.0}, natural_frequency=2.0, damping=0.7, armature=0.0)
    made = feedback(ROBOT, gains)
    assert not gains.none
    assert (made.ki.tolist(), made.margin) == ([3.0, 3.0], None)
    np.testing.assert_allclose(made.weight(ZERO), [[2.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose([made.kp, made.kd], [[W**2] * 2, [1.4 * W] * 2])
    ours = JointController(ROBOT, ControllerSettings(**{"gains": gains, **AT_ONCE}))
    measured(ours, ZERO, 0.0)
    e, ed = vector(1e-3, -2e-3), vector(-2e-3, 3e-3)
    expected = np.array([[2.0, 1.0], [1.0, 1.0]]) @ (W**2 * e + 1.4 * W * ed) + 3.0 * 0.005 * e
    assert measured(ours, -e, 0.01, -ed) == pytest.approx(expected.tolist(), rel=1e-9)
    with refused("gain-given-twice", gain="d"):
        feedback(ROBOT, PidGains({"d": 1.0}, natural_frequency=2.0))


def test_a_joint_with_its_own_gain_is_not_weighted() -> None:
    """Its other gain follows from the greatest inertia that it feels, with the rotor."""
    gains = PidGains({}, {"d": {"a": 0.5}}, {"a": 0.25}, natural_frequency=2.0, armature=0.0)
    made = feedback(ROBOT, gains)
    np.testing.assert_allclose(made.weight(ZERO), [[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose([made.kp, made.kd], [[2.25 * W**2, W**2], [0.5, 2.0 * W]])


def test_an_armature_is_assumed_from_the_limits_unless_it_is_given() -> None:
    """10 and 20 N m, 2 rad/s: 0.05 and 0.1 kg m^2; half of it counts in the margin."""
    inertia, margins = np.array([[2.0, 1.0], [1.0, 1.0]]), []
    for armature, own, added in (
        (-1.0, {}, [0.05, 0.1]),
        (-1.0, {"b": 9.0}, [0.05, 9.0]),
        (3.0, {}, [3.0, 3.0]),
    ):
        gains = PidGains(armatures=own, natural_frequency=2.0, armature=armature, joint_state_rate=500.0)
        made = feedback(ROBOT, gains)
        np.testing.assert_allclose(made.weight(ZERO), inertia + np.diag(added))
        margins.append(made.margin.decibel)
        codes = [notice.code for notice in made.notices]
        assert codes == ["armature-given" if armature > 0.0 else "armature-assumed", "gain-margin"]
    assert margins[0] < margins[2]


def test_gains_with_a_small_margin_are_refused_with_a_remedy_that_helps() -> None:
    def gains(frequency: float, rate: float = 100.0) -> PidGains:
        return PidGains(natural_frequency=frequency, joint_state_rate=rate)

    with pytest.raises(DynError) as caught:
        feedback(ROBOT, gains(5.0))
    assert caught.value.code == "gain-margin-low"
    assert caught.value.values["margin"] < 6.0
    assert caught.value.values["joint"] in ROBOT.coordinate_names
    remedy = caught.value.values["remedy"]
    assert remedy.code == "remedy-natural-frequency"
    assert feedback(ROBOT, gains(remedy.values["frequency"])).margin.decibel >= 6.0
    assert feedback(ROBOT, gains(5.0, 1000.0)).margin.decibel >= 6.0


def test_gains_given_by_hand_are_judged_where_the_rate_is_known() -> None:
    given = {"p": 4000.0, "d": 150.0}
    assert [n.code for n in feedback(ROBOT, PidGains(given)).notices] == ["gain-margin-unknown"]
    with pytest.raises(DynError) as caught:
        feedback(ROBOT, PidGains(given, joint_state_rate=500.0))
    part = caught.value.values["remedy"].values["factor"]
    less = {kind: part * value for kind, value in given.items()}
    assert feedback(ROBOT, PidGains(less, joint_state_rate=500.0)).margin.decibel == pytest.approx(
        6.2, abs=0.2
    )
    with pytest.raises(DynError) as caught:
        feedback(ROBOT, PidGains({"p": 1000.0}, joint_state_rate=500.0))
    assert caught.value.values["remedy"].code == "remedy-damping"


def points(
    times: list[float], a: list[float], qd: Sequence[float] = (), qdd: Sequence[float] = ()
) -> TrajectoryPoints:
    """Points of a trajectory of joint a, by default at rest; joint b stays at zero."""
    q, v = ([[value, 0.0] for value in values] for values in (a, qd or [0.0] * len(a)))
    w = [[value, 0.0] for value in qdd] or [()] * len(a)
    return trajectory_points(ROBOT.joint_names, ROBOT.joint_names, times, q, v, w, ROBOT.limits)


def test_a_trajectory_is_followed_from_where_the_robot_is_held() -> None:
    ours = started((0.2, 0.0))
    ours.follow(points([0.04], [0.24]), 0.0, None, 0.0)
    for k, (wanted, velocity) in enumerate([(0.20625, 1.125), (0.22, 1.5), (0.23375, 1.125), (0.24, 0.0)], 1):
        # A cubic from rest to rest: 3 s^2 - 2 s^3 of the way at the fraction s of the time.
        torques = measured(ours, vector(0.2, 0.0), k * PERIOD_S)
        assert torques == pytest.approx([min(100.0 * (wanted - 0.2) + 10.0 * velocity, 10.0), 0.0], abs=1e-9)
    assert measured(ours, vector(0.24, 0.0), 0.05) == pytest.approx([0.0, 0.0], abs=1e-9)


@pytest.mark.promise("trajectory-malformed")
def test_the_next_trajectory_begins_where_the_last_one_ended() -> None:
    """It is refused if its stamp is from another clock."""
    ours = started()
    with refused("trajectory-stamp-too-late", ahead=1e8, limit=3600.0):
        ours.follow(points([1.0], [0.1]), 0.0, 1e8, 0.0)
    ours.follow(points([1.0], [0.1]), 0.0, 3599.0, 0.0)
    ours.follow(points([1.0], [0.5]), 0.0, None, 0.0)
    for k in range(1, 151):
        measured(ours, vector(0.5 * min(k / 100, 1.0), 0.0), k * PERIOD_S)
    ours.follow(points([1.0], [0.4]), 1.5, None, 1.5)
    assert measured(ours, vector(0.5, 0.0), 1.51)[0] == pytest.approx(0.0, abs=1.0)


@pytest.mark.promise("stop-after-references")
def test_an_empty_trajectory_stops_and_trajectories_need_joint_states() -> None:
    ours = controller()
    for t in (0.0, 0.5):
        with refused("joint-state-missing"):
            ours.follow(points([1.0], [0.1]), t, None, t)
        measured(ours, ZERO, 0.0)
    ours.follow(points([0.04], [0.04]), 0.0, None, 0.0)
    measured(ours, ZERO, 0.01)
    ours.follow(None, 0.02, None, 0.02)
    for k in (2, 3, 4, 8):
        assert measured(ours, ZERO, k * PERIOD_S) == pytest.approx([100.0 * 0.02, 0.0])
    # After references have stopped, a trajectory begins at rest.
    ours = started(d=0.0)
    refer(ours, vector(0.05, 0.0), 0.0, vector(0.5, 0.0))
    resting(ours, ZERO, 1, 21)
    ours.follow(points([0.2], [0.05]), 0.2, None, 0.2)
    for torques in resting(ours, ZERO, 21, 41):
        assert torques == pytest.approx([100.0 * 0.05, 0.0])


def test_torques_with_feedforward_are_within_effort_limits() -> None:
    ours = controller()
    ours.feed(vector(8.0, -30.0), 0.0)
    measured(ours, ZERO, 0.0)
    output = ours.measure(vector(-0.05, 0.0), ZERO, 0.01, 0.01)
    assert (output.total.tolist(), output.status) == ([10.0, -20.0], JointTorques.STATUS_LIMITED)
    assert output.excess is not None
    check_error(output.excess, "effort-beyond-limit", joint="b", given=-30.0)


def test_at_its_limit_the_integral_does_not_wind_up() -> None:
    """The feedforward alone is at the limit for a second; without it, the torque returns to zero at once."""
    ours = started(p=0.0, d=0.0, i=50.0)
    for k in range(1, 101):
        ours.feed(vector(10.0, 0.0), k * PERIOD_S)
        assert measured(ours, vector(-0.1, 0.0), k * PERIOD_S)[0] == 10.0
    ours.feed(ZERO, 1.01)
    assert measured(ours, vector(-0.1, 0.0), 1.01)[0] < 0.2


@pytest.mark.promise("feedforward-torques")
def test_a_feedforward_that_stops_fades_out_and_the_first_torques_ramp_up() -> None:
    ours = controller(p=0.0, feedforward=WatchSettings(timeout=0.1, ramp_down=0.2, ramp_up=0.0))
    ours.feed(vector(4.0, 0.0), 0.0)
    torques = [a for a, _ in resting(ours, ZERO, 0, 50)]
    assert (torques[:11], torques[-10:]) == ([4.0] * 11, [0.0] * 10)
    assert torques[21] == pytest.approx(2.0, abs=0.4)
    assert np.abs(np.diff(torques)).max() < 0.4
    assert ours.feedforward_status is Status.STOPPED
    torques = fed(controller(smoothing=Smoothing(0.2, 0.0)), 0, 31)
    assert (torques[0], torques[10], torques[21:]) == (0.0, pytest.approx(2.5), [5.0] * 10)
    assert np.abs(np.diff(torques)).max() < 0.5


def fed(ours: JointController, begin: int, end: int) -> list[float]:
    """Torques of joint a with a feedforward of 5 N m in these periods."""
    torques = []
    for k in range(begin, end):
        ours.feed(vector(5.0, 0.0), k * PERIOD_S)
        torques.append(measured(ours, ZERO, k * PERIOD_S)[0])
    return torques


def idled(ours: JointController, begin: float, end: float) -> list[Output]:
    """Torques that are sent between two times without data."""
    outputs = (ours.idle(t) for t in np.arange(begin, end, PERIOD_S).tolist())
    return [output for output in outputs if output is not None]


@pytest.mark.promise("stale-controller")
def test_without_joint_states_torques_go_to_zero_and_then_the_robot_is_held() -> None:
    ours = controller(watch=RAMPS)
    fed(ours, 0, 40)
    sent = [output.total[0] for output in idled(ours, 0.4, 1.0)]
    assert sent[-1] == 0.0
    assert sent == sorted(sent, reverse=True)
    assert ours.stage.watch.status is Status.STOPPED
    # The robot has fallen. The motion that it missed is not made up.
    torques = resting(ours, vector(0.8, 0.0), 100, 140)
    assert torques[0] == torques[-1] == [0.0, 0.0]
    # With the reaction stop nothing is sent.
    assert idled(started(watch=WatchSettings(timeout=0.1, reaction="stop")), 0.05, 1.0) == []
    # Late data counts as missing if the node itself was late, as the watchdog could not run in between.
    ours = controller(watch=RAMPS)
    resting(ours, ZERO, 0, 100)
    assert measured(ours, vector(0.5, 0.0), 5.0) == [0.0, 0.0]
    assert ours.stage.watch.status is Status.RECOVERING


@pytest.mark.promise("joint-states-jump", "joint-states-order")
def test_joint_states_that_jump_once_or_are_out_of_order_are_refused() -> None:
    ours = started()
    with refused("position-jumps", joint="b", distance=1.0, duration=0.01):
        measured(ours, vector(0.0, 1.0), 0.01)
    assert measured(ours, vector(-0.01, 0.0), 0.02) == pytest.approx([1.0, 0.0])
    measured(ours, ZERO, 1.0)
    with refused("message-out-of-order", message="joint state", time=0.5):
        ours.measure(ZERO, ZERO, 0.5, 1.01)
    # A robot that is elsewhere in two messages is held there, with a ramp.
    ours = controller(watch=WatchSettings(timeout=0.1, ramp_down=0.0, ramp_up=0.2))
    fed(ours, 0, 100)
    with refused("position-jumps", joint="a"):
        measured(ours, vector(1.0, 0.0), 1.0)
    assert measured(ours, vector(1.0, 0.0), 1.01) == [5.0, 0.0]
    assert ours.stage.watch.status is Status.RECOVERING


@pytest.mark.promise("reference-jump")
def test_references_that_jump_are_refused_and_the_last_one_stays() -> None:
    ours = started()
    with refused("reference-jumps", joint="b", distance=1.0):
        refer(ours, vector(0.0, 1.0), 0.0)
    refer(ours, vector(0.0, 0.05), 0.0)
    with refused("reference-jumps", joint="a"):
        refer(ours, vector(2.0, 0.05), 0.01)
    assert measured(ours, ZERO, 0.02) == pytest.approx([0.0, 5.0])


@pytest.mark.promise("reference-fast")
@pytest.mark.parametrize(
    ("qd", "qdd", "joint", "quantity", "limit"),
    [
        ((0.0, -1e3), (0.0, 0.0), "b", "velocity", 2.2),
        ((0.0, 2.3), None, "b", "velocity", 2.2),
        ((0.0, 0.0), (1e6, 0.0), "a", "acceleration", 4400.0),
        ((1e3, 0.0), (1e6, 0.0), "a", "velocity", 2.2),
    ],
)
def test_references_above_the_joint_speed_are_refused_and_the_last_one_stays(
    qd: tuple[float, ...], qdd: tuple[float, ...] | None, joint: str, quantity: str, limit: float
) -> None:
    ours = started()
    refer(ours, vector(0.01, 0.02), 0.005)
    given = GivenMotion(ZERO, vector(*qd), None if qdd is None else vector(*qdd))
    worst = (qd if quantity == "velocity" else qdd or ())["ab".index(joint)]
    with refused("reference-too-fast", joint=joint, quantity=quantity, given=worst, limit=limit):
        ours.refer(given, 0.008, 0.008)
    assert measured(ours, ZERO, 0.01) == pytest.approx([1.0, 2.0])


def test_references_at_the_joint_speed_are_accepted() -> None:
    fast = ReferenceSettings(max_speed=1e4, carry=0.0)
    for settings, speed, rate in ((fast, 1e3, 1e6), (REFERENCES, 2.0, 4000.0)):
        motion = GivenMotion(ZERO, vector(speed, -speed), vector(rate, -rate))
        started(references=settings).refer(motion, 0.01, 0.01)


@pytest.mark.promise("trajectory-leaves-range")
@pytest.mark.parametrize(
    ("given", "reached"),
    [
        (points([0.0, 1.0], [0.0, 0.0], [0.0, 0.0], [1e8, 0.0]), {"position": 1.728e6}),
        (points([0.1, 1.0], [0.0, 0.0], [0.0, 0.0], [1e8, 0.0]), {}),
        (points([1.0], [0.0], [0.0], [1e8]), {}),
        (points([3.0, 8.0], [2.0, 2.0], [2.0, 0.0]), {"position": 3.48}),
        (points([1.0], [1.9], [0.0]), {"velocity": 2.85}),
    ],
)
def test_trajectories_that_leave_ranges_between_points_are_refused(
    given: TrajectoryPoints, reached: dict[str, float]
) -> None:
    ours = started()
    ours.follow(None, 0.0, None, 0.0)
    code = "trajectory-velocity-exceeded" if "velocity" in reached else "trajectory-leaves-range"
    with refused(code, joint="a", **reached):
        ours.follow(given, 0.0, None, 0.0)
    assert measured(ours, ZERO, 0.01) == pytest.approx([0.0, 0.0])
