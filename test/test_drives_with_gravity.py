# SPDX-License-Identifier: Apache-2.0
"""What is sent to drives that add gravity themselves, with and without `drive_compensates`.

Nodes get the same messages. They differ by gravity torques, which Pinocchio computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from geometry_msgs.msg import Inertia
from loose_node import LooseNode, loose_node
from message_makers import AT_ONCE, NAMES, point, trajectory
from rnea import Pinocchio, by_name, frictionless
from std_msgs.msg import Header
from torque_steps import Q

from dyn_core import load_robot
from dyn_msgs.msg import DynamicParameters, JointTorques, Payload
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward

MODES = ["inverse_dynamics", "computed_torque"]
STILL = [0.0] * 3
MOVING = {"qd": [0.2, -0.3, 0.1], "qdd": [1.0, 2.0, -1.0]}
GRAVITY = {"drive_compensates": ["gravity"]}
Make = Callable[..., LooseNode]


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes without ramps."""
    given = {"robot_description": frictionless("rrp"), **AT_ONCE, "ramp_up": 0.0, "ramp_down": 0.0}
    with ExitStack() as nodes:
        yield lambda kind=Feedforward, **more: nodes.enter_context(loose_node(kind, **(given | more)))


def both(make: Make, **more: Any) -> tuple[LooseNode, LooseNode]:
    """Return a node for a drive that adds nothing, and one for a drive that adds gravity."""
    return make(**more), make(**more, **GRAVITY)


def weight(q: list[float], robot: str | None = None) -> dict[str, float]:
    return Pinocchio(robot or frictionless("rrp")).held(dict(zip(NAMES, q, strict=True)))


def newest(loose: LooseNode, **more: float) -> Any:
    """Return the newest torques by joint, with something added."""
    totals = by_name(loose.published["torques"][-1])
    return pytest.approx({name: total + more.get(name, 0.0) for name, total in totals.items()}, abs=1e-6)


def work(loose: LooseNode, desired: list[float] | None = None, **rates: list[float]) -> None:
    """Let the robot stand or move at Q, with a reference at a desired position."""
    loose.pass_time(0.01)
    loose.measure(Q, rates.get("qd", STILL))
    if desired is not None:
        loose.refer(desired, rates.get("qd", STILL), rates.get("qdd", STILL))
        loose.pass_time(0.01)
        loose.measure(Q, rates.get("qd", STILL))


@pytest.mark.promise("gravity-sent", "gravity-left-out")
@pytest.mark.parametrize("mode", MODES)
def test_gravity_is_sent_in_every_mode_unless_the_drive_adds_it(mode: str, make: Make) -> None:
    """At rest without a desired motion; and along one, elsewhere than the robot."""
    nodes = both(make, mode=mode)
    elsewhere = [Q[0] + 0.05, Q[1] + 0.08, Q[2] + 0.02]
    for motion in ({}, {"desired": elsewhere}, {"desired": elsewhere, **MOVING}):
        for loose in nodes:
            work(loose, **motion)
        at = elsewhere if motion and mode == "inverse_dynamics" else Q
        with_it, without = nodes
        assert abs(weight(at)["lift"]) > 10.0
        assert newest(without, **weight(at)) == by_name(with_it.published["torques"][-1])
        assert not any(without.published["torques"][-1].gravity)
        if not motion:
            assert newest(without) == dict.fromkeys(NAMES, 0.0)


@pytest.mark.promise("gravity-sent")
def test_the_mode_gravity_sends_gravity(make: Make) -> None:
    loose = make(mode="gravity")
    work(loose)
    assert newest(loose) == weight(Q)


@pytest.mark.promise("gravity-sent-at-the-end", "gravity-left-out")
@pytest.mark.parametrize("mode", MODES)
def test_hold_sends_gravity_when_data_stops_and_as_the_last_message(mode: str, make: Make) -> None:
    nodes = both(make, mode=mode, on_stale="hold", on_shutdown="hold")
    for loose, expected in zip(nodes, (weight(Q), dict.fromkeys(NAMES, 0.0)), strict=True):
        work(loose, Q, **MOVING)
        loose.pass_time(1.0)
        torques = loose.published["torques"]
        assert torques[-1].status == JointTorques.STATUS_HELD
        assert newest(loose) == expected
        work(loose, Q, **MOVING)
        count = len(torques)
        loose.node.trigger_deactivate()
        assert len(torques) == count + 1
        assert newest(loose) == expected
        assert list(loose.published["commands"][-1].data) == list(torques[-1].total)


@pytest.mark.promise("gravity-sent-at-the-end", "gravity-left-out")
@pytest.mark.parametrize("mode", MODES)
def test_stop_leaves_gravity_in_the_last_message(mode: str, make: Make) -> None:
    nodes = both(make, mode=mode, on_stale="stop")
    for loose, expected in zip(nodes, (weight(Q), dict.fromkeys(NAMES, 0.0)), strict=True):
        work(loose, Q)
        loose.pass_time(0.01)
        count = len(loose.published["torques"])
        loose.pass_time(2.0)
        assert len(loose.published["torques"]) == count
        assert newest(loose) == expected


@pytest.mark.promise("gravity-left-out")
def test_ramps_to_live_torques_and_back_have_no_gravity(make: Make) -> None:
    """The first ramp, one to zero where data is stale, one back, and the last message."""
    slow = {"ramp_start": 0.5, "ramp_up": 0.5, "ramp_down": 0.5, "on_stale": "ramp"}
    for mode in MODES:
        loose = make(**{**slow, "mode": mode, **GRAVITY})
        for _ in range(2):
            for _ in range(100):
                work(loose)
            loose.pass_time(1.0)
        loose.node.trigger_deactivate()
        torques = loose.published["torques"]
        assert {JointTorques.STATUS_RAMPING, JointTorques.STATUS_OK} <= {one.status for one in torques}
        assert not any(any(one.total) for one in torques)


@pytest.mark.promise("gravity-left-out")
def test_efforts_of_trajectories_have_no_gravity(make: Make) -> None:
    goal = [Q[0] + 0.02, Q[1] + 0.3, Q[2] + 0.02]
    with_it, without = both(make, mode="computed_torque")
    efforts = []
    for loose in (with_it, without):
        work(loose)
        points = (point(1.0, Q, STILL, STILL), point(2.0, goal, STILL, STILL))
        loose.send("joint_trajectory", trajectory(*points))
        (answered,) = loose.published["joint_trajectory_effort"]
        efforts.append([list(one.effort) for one in answered.points])
    for k, q in enumerate((Q, goal)):
        expected = [a - weight(q)[name] for name, a in zip(NAMES, efforts[0][k], strict=True)]
        assert efforts[1][k] == pytest.approx(expected, abs=1e-6)


@pytest.mark.promise("gravity-left-out")
@pytest.mark.parametrize("mode", MODES)
def test_without_gravity_hold_sends_the_constant_friction_of_the_model(mode: str, make: Make) -> None:
    given = {"mode": mode, "on_stale": "hold", "on_shutdown": "hold", "blend_time": 0.0}
    compensated = ["gravity", "friction"]
    for drive, offset in (GRAVITY, 3.0), ({"drive_compensates": compensated}, 0.0):
        loose = make(**given, **drive)
        loose.send("dynamic_parameters", DynamicParameters(name=["Fo2"], value=[3.0]))
        work(loose, Q)
        loose.pass_time(1.0)
        assert newest(loose) == {"turn": 0.0, "lift": offset, "stretch": 0.0}
        loose.node.trigger_deactivate()
        assert newest(loose) == {"turn": 0.0, "lift": offset, "stretch": 0.0}


TIP = load_robot(frictionless("rrp")).link_names[-1]
LOADED = frictionless("rrp").replace(
    "</robot>",
    f"""<link name="held"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
    <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
    <joint name="holding" type="fixed"><parent link="{TIP}"/><child link="held"/></joint></robot>""",
)
"""The robot with 2 kg, 0.1 m from its tip."""


@pytest.mark.promise("gravity-of-payload")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("known", ["told", "never"])
def test_gravity_of_a_payload_is_sent_where_the_drive_never_knows_it(
    known: str, mode: str, make: Make
) -> None:
    """Live, along a motion, held and as the last message; dynamic parameters change neither."""
    given = {"mode": mode, "on_stale": "hold", "on_shutdown": "hold", "blend_time": 0.0}
    loose = make(**given, **GRAVITY, payload_known_to_drive=known)
    held = Payload(link_name=TIP, inertia=Inertia(m=2.0))
    held.inertia.com.x = 0.1
    loose.send("payload", held)
    empty, full = weight(Q), weight(Q, LOADED)
    alone = {name: full[name] - empty[name] if known == "never" else 0.0 for name in NAMES}
    assert abs(full["lift"] - empty["lift"]) > 1.0
    for _ in range(2):
        work(loose)
        assert newest(loose) == alone
        assert by_name(loose.published["torques"][-1], "gravity") == pytest.approx(alone, abs=1e-6)
        work(loose, Q)
        assert newest(loose) == alone
        loose.pass_time(1.0)
        assert newest(loose) == alone
        loose.send("dynamic_parameters", DynamicParameters(name=["MX2"], value=[2.5]))
    loose.node.trigger_deactivate()
    assert newest(loose) == alone


@pytest.mark.promise("gravity-of-payload")
def test_the_log_says_that_the_drive_has_to_be_told_of_a_payload(
    make: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    drives = [({}, False), (GRAVITY, True), ({**GRAVITY, "payload_known_to_drive": "never"}, False)]
    for drive, warned in drives:
        loose = make(mode="inverse_dynamics", **drive)
        capfd.readouterr()
        loose.send("payload", Payload(link_name=TIP, inertia=Inertia(m=2.0)))
        assert ("payload_known_to_drive" in capfd.readouterr().err) is warned


@pytest.mark.promise("gravity-limits")
@pytest.mark.parametrize("on_limit", ["clip", "scale"])
def test_limits_count_the_gravity_that_the_drive_adds(on_limit: str, make: Make) -> None:
    """Both torques are within the limit: what is sent, and what the motor gets."""
    for drive in ({}, GRAVITY):
        for sign in (1.0, -1.0):
            loose = make(mode="inverse_dynamics", reference_slack=1.0, on_limit=on_limit, **drive)
            work(loose, Q, qdd=[0.0, sign * 1e3, 0.0])
            torques = loose.published["torques"][-1]
            assert torques.status == JointTorques.STATUS_LIMITED
            sent = by_name(torques)["lift"]
            assert abs(weight(Q)["lift"]) > 10.0
            motor = sent + weight(Q)["lift"] if drive else sent
            assert max(abs(sent), abs(motor)) == pytest.approx(80.0)
            code = "effort-beyond-limit-with-drive" if abs(motor) > abs(sent) else "effort-beyond-limit"
            assert loose.has_told(code, joint="lift")


@pytest.mark.promise("gravity-limits")
def test_efforts_of_trajectories_count_the_gravity_that_the_drive_adds(make: Make) -> None:
    loose = make(mode="computed_torque", max_reference_speed=100.0, **GRAVITY)
    work(loose)
    fast = [0.0, 1e3, 0.0]
    loose.send("joint_trajectory", trajectory(point(0.05, Q, STILL, fast), point(0.1, Q, STILL, STILL)))
    (answered,) = loose.published["joint_trajectory_effort"]
    assert answered.points[0].effort[1] + weight(Q)["lift"] == pytest.approx(80.0)


@pytest.mark.promise("gravity-limits")
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_node_controller_counts_the_gravity_that_the_drive_adds(sign: float, make: Make) -> None:
    given: dict[str, Any] = {"p": 1e6, "i": 1e6, "reference_slack": 1.0}
    loose = make(Controller, **given, **GRAVITY)
    for _ in range(100):
        work(loose, [Q[0], Q[1] + sign * 0.5, Q[2]])
    sent, gravity = by_name(loose.published["torques"][-1])["lift"], weight(Q)["lift"]
    assert max(abs(sent), abs(sent + gravity)) == pytest.approx(80.0)


@pytest.mark.promise("gravity-fed-twice")
def test_the_node_controller_refuses_terms_that_the_drive_adds(make: Make) -> None:
    def fed(loose: LooseNode, **terms: list[float]) -> dict[str, float]:
        """Return the torques for a feedforward whose total is its terms, and 5 on the joint turn."""
        total = [5.0 * (k == 0) + sum(term[k] for term in terms.values()) for k in range(3)]
        message = JointTorques(header=Header(stamp=loose.stamp), name=NAMES, total=total, **terms)
        loose.send("feedforward", message)
        work(loose)
        return by_name(loose.published["torques"][-1])

    gravity, friction = [0.0, 20.0, 0.0], [1.0, 0.0, 0.0]
    given = {"feedforward__ramp_up": 0.0, "feedforward__ramp_down": 0.0}
    for drive, terms, used in (
        ([""], {"gravity": gravity}, True),
        (["gravity"], {}, True),
        (["gravity"], {"friction": friction}, True),
        (["gravity"], {"gravity": gravity}, False),
        (["gravity", "friction"], {"friction": friction}, False),
    ):
        loose = make(Controller, drive_compensates=drive, **given)
        work(loose)
        assert (fed(loose, **terms)["turn"] >= 5.0) is used
        assert loose.has_told("feedforward-compensated-twice") is not used
    payload = make(Controller, payload_known_to_drive="never", **GRAVITY, **given)
    work(payload)
    assert fed(payload, gravity=gravity)["lift"] == 20.0
