# SPDX-License-Identifier: Apache-2.0
"""Events in sequence and in other orders: torques have no step, and no earlier motion comes back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Inertia
from loose_node import LooseNode, loose_node
from message_makers import AT_ONCE, NAMES, later, nanoseconds, point, trajectory
from rnea import Pinocchio, by_name, frictionless
from robot_files import ROBOTS, urdf
from std_msgs.msg import Header, String
from torque_steps import PERIOD, Q, send_state
from trajectory_msgs.msg import JointTrajectory

from dyn_core import DynError, load_robot
from dyn_msgs.msg import DynamicParameters, JointTorques, Payload
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.process import make_executor
from dyn_nodes.common.lifecycle.robot_source import Loaded
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward

STEEPEST = 1.875 / 0.5 * 0.01
"""Fraction of a smooth ramp of 0.5 s in 0.01 s at its steepest point."""
AWAY = [0.4, 0.6, 0.15]
"""Where the robot is pushed to from Q, further than `reference_slack`."""
STILL = [0.0] * 3
RAMPS = {"ramp_start": 0.5, "ramp_up": 0.5, "ramp_down": 0.5}
PD = {"p": 100.0, "d": 5.0}
Make = Callable[..., LooseNode]
NODES: dict[str, tuple[Callable[..., ManagedNode], dict[str, Any]]] = {
    "controller": (Controller, PD),
    "computed torque": (Feedforward, {"mode": "computed_torque"}),
    "inverse dynamics": (Feedforward, {"mode": "inverse_dynamics"}),
    "gravity": (Feedforward, {"mode": "gravity"}),
}


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes for the arm, and keeps them until the end of the test."""
    with ExitStack() as nodes:

        def made(case: str, **parameters: Any) -> LooseNode:
            make_node, own = NODES[case]
            given = {"description_file": str(ROBOTS["rrp"]), **RAMPS, **own, **parameters}
            return nodes.enter_context(loose_node(make_node, **given))

        yield made


def push(loose: LooseNode, referred: Sequence[float] | None = None) -> None:
    """Move the robot from Q to AWAY in 1 s against its desired motion, with references or without."""
    for k in range(1, 101):
        if referred is not None:
            loose.refer(referred, STILL, STILL)
        send_state(loose, [a + (b - a) * k / 100 for a, b in zip(Q, AWAY, strict=True)])


def wanted(loose: LooseNode) -> Any:
    """The present desired position, or None."""
    motion = loose.node.active.maker.desired.at(loose.node.node_time)
    return None if motion is None else motion.q.tolist()


def states_for(loose: LooseNode, seconds: float, q: Sequence[float] = Q) -> list[JointTorques]:
    """Send joint states at 100 Hz, and return the torques that are published meanwhile."""
    count = len(loose.published["torques"])
    for _ in range(round(seconds / PERIOD)):
        send_state(loose, q)
    return loose.published["torques"][count:]


def smooth(torques: Sequence[JointTorques], swing: float = 120.0) -> bool:
    """Whether torques have no step larger than that of a ramp over `swing` (N m or N)."""
    steps = np.diff([torque.total for torque in torques], axis=0)
    return bool(np.abs(steps).max(initial=0.0) < swing * STEEPEST + 1e-9)


def since(loose: LooseNode, count: int) -> list[JointTorques]:
    return loose.published["torques"][count - 1 :]


@pytest.mark.promise("motion-after-push")
@pytest.mark.parametrize("case", ["controller", "computed torque"])
@pytest.mark.parametrize("before", ["nothing", "trajectory", "references"])
@pytest.mark.parametrize("then", ["reference", "trajectory", "stop"])
def test_motions_that_begin_at_a_pushed_robot_begin_with_a_ramp(
    case: str, before: str, then: str, make: Make
) -> None:
    loose = make(case)
    states_for(loose, 1.0)
    if before == "trajectory":
        loose.go(Q, 0.5)
    push(loose, Q if before == "references" else None)
    if before == "references":
        states_for(loose, 0.26, AWAY)
    count = len(loose.published["torques"])
    if then == "trajectory":
        loose.go(AWAY, 2.0)
    elif then == "stop":
        loose.send("joint_trajectory", JointTrajectory())
    for _ in range(100):
        if then == "reference":
            loose.refer(AWAY, STILL, STILL)
        send_state(loose, AWAY)
    assert smooth(since(loose, count), 80.0)


@pytest.mark.promise("stop-after-references")
@pytest.mark.parametrize("case", ["computed torque", "inverse dynamics"])
def test_a_stop_after_references_ended_does_not_restart_them(case: str, make: Make) -> None:
    loose = make(case)
    states_for(loose, 0.5)
    loose.refer(Q, STILL, STILL)
    states_for(loose, 1.0)
    push(loose)
    loose.send("joint_trajectory", JointTrajectory())
    states_for(loose, 0.1, AWAY)
    assert wanted(loose) == pytest.approx(AWAY)


@pytest.mark.parametrize("case", ["controller", "computed torque", "inverse dynamics"])
def test_a_trajectory_in_the_future_after_a_moving_reference_begins_at_rest(case: str, make: Make) -> None:
    loose = make(case)
    states_for(loose, 1.0)
    for _ in range(10):
        loose.refer(Q, [0.5, 0.5, 0.1], STILL)
        states_for(loose, 0.01)
    loose.go(Q, 1.0, later(loose.stamp, 2.0))
    states_for(loose, 1.0)
    for _ in range(250):
        states_for(loose, 0.01)
        assert wanted(loose) == pytest.approx(Q, abs=1e-6)


@pytest.mark.promise("clock-set")
@pytest.mark.parametrize("by", [-60, 60, 1])
@pytest.mark.parametrize("case", ["controller", "computed torque", "inverse dynamics"])
def test_no_trajectory_leaps_when_the_system_clock_is_set(
    case: str, by: int, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    loose = make(case)
    monkeypatch.setattr(type(loose.node), "_simulated_time", False, raising=False)
    monkeypatch.setattr(loose.node._jumps, "_post_callback", lambda _: None)
    states_for(loose, 1.0)
    loose.go([1.5, 1.2, 0.2], 10.0)
    for _ in range(500):
        at = wanted(loose)
        send_state(loose, at)
    count = len(loose.published["torques"])
    loose.set_time(loose.ros_now + by * 10**9)
    for _ in range(100):
        send_state(loose, at)
    desired = wanted(loose)
    if desired is not None:
        assert desired == pytest.approx(at, abs=0.02)
    assert smooth(since(loose, count), 40.0)


@pytest.mark.promise("clock-leaps")
@pytest.mark.parametrize("case", ["computed torque", "inverse dynamics", "gravity"])
def test_a_trajectory_ends_with_its_clock(case: str, make: Make) -> None:
    loose = make(case)
    states_for(loose, 1.0)
    loose.go(AWAY, 2.0)
    loose.set_time(loose.ros_now - 5 * 10**9)
    for _ in range(900):
        send_state(loose)
        at = wanted(loose)
        assert at is None or at == pytest.approx(Q, abs=1e-3)


@pytest.mark.promise("clock-leaps")
@pytest.mark.parametrize("case", ["computed torque", "inverse dynamics"])
def test_after_a_leap_references_have_to_begin_nearby_without_a_joint_state(case: str, make: Make) -> None:
    loose = make(case)
    states_for(loose, 1.0)
    loose.set_time(loose.ros_now + 10**11)
    loose.refer(AWAY, STILL, STILL)
    assert wanted(loose) is None


@pytest.mark.promise("feedforward-torques")
def test_a_feedforward_that_stopped_with_joint_states_does_not_come_back(make: Make) -> None:
    loose = make("controller")
    for _ in range(200):
        fed = JointTorques(header=Header(stamp=loose.stamp), name=NAMES, total=[40.0] * 3)
        loose.send("feedforward", fed)
        send_state(loose)
    assert list(loose.published["torques"][-1].total) == pytest.approx([40.0] * 3)
    loose.pass_time(10.0)
    assert not any(loose.published["torques"][-1].total)
    assert all(not any(torques.total) for torques in states_for(loose, 2.0))


@pytest.mark.parametrize("case", ["controller", "computed torque"])
def test_references_that_stopped_are_not_extrapolated_further(case: str, make: Make) -> None:
    loose = make(case, reference_carry=1.0)
    states_for(loose, 0.5)
    loose.refer(Q, [0.5, 0.0, 0.0], STILL)
    states_for(loose, 0.25)
    at = wanted(loose)
    states_for(loose, 2.0)
    assert wanted(loose) == pytest.approx(at, abs=0.011)
    assert wanted(loose)[0] == pytest.approx(Q[0] + 0.5 * 0.2, abs=0.01)


def test_gravity_torques_do_not_depend_on_trajectories(make: Make) -> None:
    """Trajectories only get a response with efforts; a ramp at each of them would delay torques."""
    loose = make("gravity")
    states_for(loose, 1.0)
    loose.go(Q, 0.1)
    states_for(loose, 0.5)
    push(loose)
    count = len(loose.published["torques"])
    loose.go(AWAY, 2.0)
    states_for(loose, 0.1, AWAY)
    assert {torques.status for torques in since(loose, count + 1)} == {JointTorques.STATUS_OK}


def test_stamps_are_in_order_where_trajectories_replace_each_other(make: Make) -> None:
    loose = make("inverse dynamics")
    states_for(loose, 0.1)
    for _ in range(60):
        loose.go(Q, 2.0)
        loose.pass_time(0.0037)
    times = [nanoseconds(torques.header.stamp) for torques in loose.published["torques"]]
    assert len(times) > 40
    assert times == sorted(times)


@pytest.mark.promise("descriptions-quick")
def test_the_newest_of_several_quick_descriptions_is_used(ros_environment: dict[str, str]) -> None:
    """Also where it equals the one in use before, while another is being loaded."""
    with loose_node(Controller, **PD) as loose:
        executor = make_executor(loose.node.context)
        executor.add_node(loose.node)
        reload, told = loose.node._reload, list[DynError | None]()
        rrp, other = (String(data=urdf(name)) for name in ("rrp", "two_branch"))

        def loaded() -> str:
            while reload._request is not None:
                executor.spin_once(timeout_sec=0.05)
            return str(loose.node.robot.name)

        loose.send("/robot_description", rrp)
        assert loaded() == "rrp"
        # The next one is being loaded when the first one comes again.
        loose.send("/robot_description", other)
        first = reload._job
        loose.send("/robot_description", rrp)
        second, present = reload._job, loose.node.active
        assert second is not first
        # The same once more changes nothing.
        loose.send("/robot_description", rrp)
        assert reload._job is second
        assert loaded() == "rrp"
        assert first._process.wait() != 0
        # The robot in use is not loaded again.
        assert loose.node.active is present
        # A request is told that a newer description has superseded it.
        reload.ask(other.data, told.append)
        loose.send("/robot_description", rrp)
        assert [problem.code for problem in told if problem] == ["request-superseded"]
        assert loaded() == "rrp"
        executor.remove_node(loose.node)
        executor.shutdown()


# Trajectories and references that begin at the robot, not at the end of the last motion

THERE, AFAR = [0.1, 0.7, 0.05], [-0.9, -0.6, 0.0]


@pytest.fixture
def arrived(make: Make) -> LooseNode:
    """The node at the end of a trajectory, with a robot that has been moved away."""
    made = make("inverse dynamics")
    states_for(made, 0.1)
    made.go(THERE, 2.0)
    states_for(made, 2.5, THERE)
    states_for(made, 0.5, AFAR)
    return made


def test_the_next_trajectory_begins_at_the_robot(arrived: LooseNode) -> None:
    assert wanted(arrived) == THERE
    before = len(arrived.published["torques"])
    arrived.go(Q, 4.0)
    assert wanted(arrived) == pytest.approx(AFAR, abs=1e-3)
    states_for(arrived, 1.0, AFAR)
    assert smooth(since(arrived, before), 30.0)


def test_a_reference_near_the_robot_is_accepted_with_a_ramp(arrived: LooseNode) -> None:
    before = len(arrived.published["torques"])
    for _ in range(100):
        arrived.refer(AFAR, STILL)
        states_for(arrived, 0.01, AFAR)
    assert wanted(arrived) == AFAR
    assert smooth(since(arrived, before), 30.0)
    assert "references refused" not in arrived.told.values


def test_a_replaced_trajectory_continues_from_the_desired_motion(arrived: LooseNode) -> None:
    """Also with a large tracking error, as in joint_trajectory_controller."""
    arrived.go(Q, 4.0)
    states_for(arrived, 2.0, AFAR)
    middle = wanted(arrived)
    arrived.go(THERE, 4.0)
    assert wanted(arrived) == pytest.approx(middle, abs=1e-9)


@pytest.mark.promise("trajectory-too-many-points")
def test_a_trajectory_of_too_many_points_is_refused(arrived: LooseNode) -> None:
    points = [point(k, Q) for k in range(1, 10_002)]
    arrived.send("joint_trajectory", trajectory(*points))
    arrived.tick()
    assert arrived.has_told("trajectory-points-too-many", count=10001, limit=10000)
    assert wanted(arrived) == THERE
    arrived.send("joint_trajectory", trajectory(*points[:-1]))
    assert len(arrived.published["joint_trajectory_effort"][-1].points) == 10_000


@pytest.mark.parametrize("place", [THERE, AFAR])
def test_a_trajectory_after_references_have_stopped_begins_at_rest(
    arrived: LooseNode, place: Sequence[float]
) -> None:
    """At the last reference, or at the robot, but not with the velocity of the last reference."""
    states_for(arrived, 0.1, THERE)
    arrived.refer(THERE, [0.3, 0.3, 0.1])
    states_for(arrived, 1.0, THERE)
    states_for(arrived, 0.5, place)
    arrived.go(place, 2.0)
    for _ in range(100):
        states_for(arrived, 0.01, place)
        assert wanted(arrived) == pytest.approx(place, abs=1e-3)


# Torques change with a ramp in all cases


@pytest.mark.promise("joint-states-jump", "stale-recovery")
@pytest.mark.parametrize("on_stale", ["hold", "ramp", "stop"])
@pytest.mark.parametrize("seed", range(2))
def test_no_torque_has_a_step(seed: int, on_stale: str, make: Make) -> None:
    """Data that stop, are bad or recover, clock steps, changes of robot and payload."""
    rng = np.random.default_rng(seed)
    loose = make("gravity", blend_time=0.5, on_stale=on_stale)
    q = list(Q)
    happened = set()
    for _ in range(40):
        event = str(rng.choice(["silence", "bad data", "leap", "moved", "payload", "parameters", "none"]))
        happened.add(event)
        if event == "silence":
            loose.pass_time(float(rng.uniform(0.1, 1.5)))
        elif event == "bad data":
            for _ in range(int(rng.integers(1, 60))):
                send_state(loose, [q[0], math.nan, q[2]])
        elif event == "leap":
            loose.set_time(loose.ros_now + int(rng.integers(-(10**10), 10**11)))
        elif event == "moved":
            q[1] = -float(np.sign(q[1]) * rng.uniform(0.4, 0.8))
        elif event == "payload":
            mass = float(rng.uniform(0.0, 2.0))
            loose.send("payload", Payload(link_name="slider", inertia=Inertia(m=mass)))
        elif event == "parameters":
            mass = float(rng.uniform(1.0, 3.0))
            loose.send("dynamic_parameters", DynamicParameters(name=["M2"], value=[mass]))
        states_for(loose, float(rng.uniform(0.02, 1.0)), q)
    assert len(happened) == 7
    torques = loose.published["torques"]
    assert len(torques) > 1000
    assert smooth(torques, 2.0 * max(max(map(abs, torque.total)) for torque in torques))
    assert {torque.status for torque in torques} >= {JointTorques.STATUS_OK, JointTorques.STATUS_RAMPING}


@pytest.mark.promise("activation-ramp", "deactivation")
@pytest.mark.parametrize(
    ("on_shutdown", "how"),
    [("zero", "at once"), ("hold", "at once"), ("hold", "after a cleanup"), ("hold", "with a description")],
)
def test_activations_ramp_up_from_the_last_sent_torques(on_shutdown: str, how: str, make: Make) -> None:
    loose = make("gravity", on_shutdown=on_shutdown)
    torques = states_for(loose, 1.0)
    assert not any(torques[0].total)
    full = list(torques[-1].total)
    assert torques[-1].status == JointTorques.STATUS_OK
    loose.node.trigger_deactivate()
    last = loose.published["torques"][-1]
    held = on_shutdown == "hold"
    expected = full if held else STILL
    assert last.status == (JointTorques.STATUS_HELD if held else JointTorques.STATUS_ZERO)
    assert list(last.total) == list(loose.published["commands"][-1].data) == expected
    assert not states_for(loose, 0.2)
    if how == "after a cleanup":
        loose.node.trigger_cleanup()
        loose.node.trigger_configure()
        loose.reconnect()
    loose.node.trigger_activate()
    if how == "with a description":
        described = loose.node._source.described(ROBOTS["rrp"].read_text())
        loose.node._begin_to_use(Loaded(described, loose.node.prepare(described)))
    again = states_for(loose, 1.0)
    assert (list(again[0].total), list(again[-1].total)) == (expected, full)
    assert smooth([last, *again], max(map(abs, full)))


@pytest.mark.promise("activation-ramp", "deactivation")
def test_a_controller_ramps_up_from_zero_after_each_activation(make: Make) -> None:
    loose = make("controller")
    for _ in range(2):
        first = states_for(loose, 0.02)
        assert first[0].status == JointTorques.STATUS_RAMPING
        ramp = states_for(loose, 1.0, [value - 0.05 for value in Q])
        assert by_name(ramp[-1]) == pytest.approx(dict.fromkeys(NAMES, 5.0))
        assert smooth([*first, *ramp], 5.0)
        loose.node.trigger_deactivate()
        assert not any(loose.published["torques"][-1].total)
        loose.node.trigger_activate()


TRACKING = {"reference_slack": 1e6, "max_reference_speed": 1e6, "ramp_up": 0.0, **AT_ONCE}


@pytest.mark.promise("tracking-error")
@pytest.mark.parametrize("far", [10.0, 1e5, -9e5])
def test_a_huge_tracking_error_gives_the_effort_limits_and_no_more(far: float, make: Make) -> None:
    loose = make("computed torque", natural_frequency=100.0, **TRACKING)
    send_state(loose, STILL)
    loose.refer([far] * 3, STILL, STILL)
    send_state(loose, STILL)
    torques = loose.published["torques"][-1]
    assert torques.status == JointTorques.STATUS_LIMITED
    assert list(torques.total) == [math.copysign(limit, far) for limit in (60.0, 80.0, 120.0)]


def test_without_gains_torques_are_those_of_the_desired_acceleration(make: Make) -> None:
    text = frictionless("rrp")
    given = {"description_file": "", "robot_description": text, "natural_frequency": 0.0, **TRACKING}
    loose = make("computed torque", **given)
    send_state(loose)
    loose.refer([0.5] * 3, [1.0] * 3, [2.0] * 3)
    q, qd = dict(zip(NAMES, Q, strict=True)), dict(zip(NAMES, [0.1, 0.2, 0.3], strict=True))
    send_state(loose, list(q.values()), list(qd.values()))
    expected = Pinocchio(text).torques(q, qd, dict.fromkeys(NAMES, 2.0))
    assert by_name(loose.published["torques"][-1]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.promise("joint-states-incomplete", "joint-states-velocities")
def test_a_nan_velocity_is_refused_unless_all_are_nan(make: Make) -> None:
    """Drivers without velocity measurement give NaN for all joints; velocities are then derived."""
    loose = make("computed torque", **TRACKING)
    send_state(loose, Q, [0.0, math.nan, 0.0])
    assert not loose.published["torques"]
    assert loose.told.about("message-value-implausible", joint="lift", quantity="velocity")
    for _ in range(3):
        send_state(loose, Q, [math.nan] * 3)
    assert loose.published["torques"][-1].status == JointTorques.STATUS_OK


@pytest.mark.promise("joint-states-range")
@pytest.mark.parametrize("case", ["gravity", "controller"])
@pytest.mark.parametrize("by", [0.5, 0.005])
def test_a_position_outside_of_its_range_gives_a_warning(by: float, case: str, make: Make) -> None:
    """It is still used, as the robot may be there. A rounding error gives no warning."""
    upper: Any = load_robot(ROBOTS["rrp"]).limits["lift"].upper
    loose = make(case, ramp_start=0.0)
    torques = states_for(loose, 1.0, [0.0, upper + by, 0.0])
    assert {torque.status for torque in torques} == {JointTorques.STATUS_OK}
    told = loose.told
    assert told.level == (DiagnosticStatus.OK if by < 0.01 else DiagnosticStatus.WARN)
    assert by < 0.01 or told.about("position-out-of-range", joint="lift", given=upper + by, unit="rad")
