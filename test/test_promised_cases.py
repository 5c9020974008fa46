# SPDX-License-Identifier: Apache-2.0
"""Cases of docs/safety.md that are of one node: loops, springs, payloads, parameters, limits, services."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Inertia, WrenchStamped
from loose_node import LooseNode, Make, loose_node
from message_makers import NAMES, duration, point, trajectory
from rnea import Pinocchio, by_name, frictionless
from robot_files import ROBOTS, urdf
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from test_elastic_feedforward import ARM as ELASTIC
from test_elastic_feedforward import NAMES as ELASTIC_NAMES
from test_elastic_feedforward import SIDE
from test_elastic_feedforward import START as ELASTIC_START
from torque_steps import Q, send_state
from trajectory_msgs.msg import JointTrajectory

import dyn_core
from dyn_msgs.msg import DynamicParameters, JointReference, JointTorques, Payload
from dyn_msgs.srv import SetDynamicParameters, SetPayload
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.robot_source import Loaded
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.governor.node import Governor
from dyn_nodes.simulation.node import Simulation

STILL = [0.0] * 3
ERROR = DiagnosticStatus.ERROR


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes with parameters, and keeps them until the end of the test."""
    with ExitStack() as nodes:
        yield lambda node, **given: nodes.enter_context(loose_node(node, **given))


RRP = {"description_file": str(ROBOTS["rrp"])}
GIVEN: dict[str, tuple[Callable[..., ManagedNode], dict[str, Any]]] = {
    "inverse dynamics": (Feedforward, {"mode": "inverse_dynamics"}),
    "computed torque": (Feedforward, {"mode": "computed_torque"}),
    "controller": (Controller, {"p": 100.0, "d": 5.0}),
}


def made(make: Make, name: str, **more: Any) -> LooseNode:
    node, own = GIVEN[name]
    return make(node, **own, **more)


# Loops

ACTUATED = ["left_shoulder", "right_shoulder"]
LEFT_ELBOW = "left_elbow"
GOOD, OTHER, OPEN, NEAR = [-0.6, 0.7], [-0.4, 0.5], [-1.5, 1.5], [0.55, -0.52]
"""Positions of the shoulders of the five-bar; where rods do not reach, and near a singularity."""


@pytest.fixture
def bar(tmp_path: Path) -> dict[str, Any]:
    """Parameters for the five-bar with rods of 0.4 m instead of 0.55 m."""
    side = tmp_path / "five_bar.yaml"
    side.write_text(ROBOTS["five_bar"].with_suffix(".yaml").read_text().replace("0.55]", "0.4]"))
    return {"description_file": str(ROBOTS["five_bar"]), "side_file": str(side)}


def told(loose: LooseNode) -> Any:
    loose.tick()
    return loose.told


def through(*positions: list[float], names: list[str] = ACTUATED) -> JointTrajectory:
    still = [0.0] * len(positions[0])
    return trajectory(*(point(k, q, still, still) for k, q in enumerate(positions, 1)), names=names)


def standing(make: Make, name: str, bar: dict[str, Any]) -> LooseNode:
    """The node with the five-bar, which stands at GOOD."""
    loose = made(
        make, name, **bar, reference_slack=10.0, loop_condition__max=20.0, loop_condition__warning=5.0
    )
    for _ in range(100):
        loose.measure(GOOD, [0.0] * 2, names=ACTUATED)
        loose.pass_time(0.01)
    return loose


@pytest.mark.promise("joint-states-loops")
@pytest.mark.parametrize("q", [OPEN, NEAR], ids=["open", "singular"])
@pytest.mark.parametrize("name", GIVEN)
def test_joint_states_where_loops_do_not_close_are_refused(
    name: str, q: list[float], make: Make, bar: dict[str, Any]
) -> None:
    loose = standing(make, name, bar)
    count, before = len(loose.published["torques"]), list(loose.published["torques"][-1].total)
    loose.measure(q, [0.0] * 2, names=ACTUATED)
    assert loose.told.about("position-leaves-loops", message="the joint state")
    assert loose.told.values["joint states refused"] == "1"
    assert len(loose.published["torques"]) == count
    assert "loop condition" in loose.told.values
    loose.pass_time(0.01)
    loose.measure(GOOD, [0.0] * 2, names=ACTUATED)
    assert list(loose.published["torques"][-1].total) == pytest.approx(before, abs=1e-9)


@pytest.mark.promise("motion-leaves-loops")
@pytest.mark.parametrize("q", [OPEN, NEAR], ids=["open", "singular"])
@pytest.mark.parametrize("name", GIVEN)
def test_motions_to_where_loops_do_not_close_are_refused(
    name: str, q: list[float], make: Make, bar: dict[str, Any]
) -> None:
    """A reference; a trajectory whole, with the time and the positions, also where its ends are good."""
    loose = standing(make, name, bar)
    loose.refer(q, [0.0] * 2, [0.0] * 2, ACTUATED)
    assert told(loose).values["references refused"] == "1"
    assert loose.has_told("position-leaves-loops", message="the reference")
    loose.send("joint_trajectory", through(GOOD, q, GOOD))
    assert told(loose).values["trajectories refused"] == "1"
    assert loose.has_told("trajectory-leaves-loops")
    assert any("left_shoulder = " in array.status[0].message for array in loose.published["diagnostics"])
    loose.send("joint_trajectory", through(GOOD, OTHER))
    assert told(loose).values["trajectories used"] == "1"


@pytest.mark.promise("motion-passive-joints")
@pytest.mark.parametrize(("off", "refused"), [(0.011, True), (0.009, False)])
@pytest.mark.parametrize("name", GIVEN)
def test_passive_joints_of_motions_agree_with_the_loops(
    name: str, off: float, refused: bool, make: Make, bar: dict[str, Any]
) -> None:
    loose = standing(make, name, bar)
    model = dyn_core.compile_model(dyn_core.load_robot(bar["description_file"], loops=bar["side_file"]))
    names, expected = [*ACTUATED, LEFT_ELBOW], float(model.solve_loops(GOOD)[0])
    loose.refer([*GOOD, expected + off], [0.0] * 3, [0.0] * 3, names)
    assert (told(loose).values.get("references refused") == "1") is refused
    loose.send("joint_trajectory", through([*GOOD, expected + off], [*GOOD, expected], names=names))
    assert (told(loose).values.get("trajectories refused") == "1") is refused
    if refused:
        assert loose.has_told("passive-joints-contradict-loops")
        values = {"joint": LEFT_ELBOW, "given": expected + off, "expected": expected}
        assert loose.has_told("passive-point-contradicts-loops", **values)


@pytest.mark.promise("simulation-leaves-loops")
@pytest.mark.parametrize("service", ["reset", "set_state"])
def test_a_simulated_robot_that_leaves_its_loops_stands_until_it_is_placed(
    service: str, make: Make, bar: dict[str, Any]
) -> None:
    loose = make(Simulation, **bar, position_limits=False, effort_limits=False)
    loose.send("commands", Float64MultiArray(data=[-200.0, 200.0]))
    for _ in range(500):
        if told(loose).level == ERROR:
            break
        loose.pass_time(0.01)
    assert "simulation-halted" in loose.told.codes
    stands = list(loose.published["joint_states"][-1].position)
    assert np.isfinite(stands).all()
    loose.pass_time(0.5)
    assert list(loose.published["joint_states"][-1].position) == stands
    loose.send("commands", Float64MultiArray(data=[0.0, 0.0]))
    assert told(loose).values["commands refused"] == "1"
    request = loose.service_request(service)
    if service == "set_state":
        request.name, request.position = ACTUATED, GOOD
    assert loose.call(service, request).success
    loose.send("commands", Float64MultiArray(data=[0.0, 0.0]))
    loose.pass_time(0.05)
    assert told(loose).values["commands refused"] == "1"
    assert list(loose.published["joint_states"][-1].position) != stands


@pytest.mark.promise("effort-without-actuator")
def test_an_effort_of_a_passive_joint_is_not_exerted_and_all_others_are(make: Make, tmp_path: Path) -> None:
    side = tmp_path / "side.yaml"
    side.write_text("passive: [lift]\n")
    loose = make(Simulation, **RRP, side_file=str(side))
    loose.send("torques", JointTorques(name=NAMES, total=[3.0, -2.0, 5.0]))
    assert loose.told.about("efforts-without-actuators", joints=["lift"])
    loose.pass_time(0.05)
    state = loose.published["joint_states"][-1]
    assert dict(zip(state.name, state.effort, strict=True)) == {"turn": 3.0, "lift": 0.0, "stretch": 5.0}


# Springs


@pytest.mark.promise("elastic-reference", "elastic-trajectory")
def test_controller_takes_motions_of_elastic_joints_as_of_rigid_ones(make: Make, tmp_path: Path) -> None:
    """References that move, and a trajectory along which motors of feedforward would be too fast."""
    side = tmp_path / "soft.yaml"
    side.write_text(SIDE.read_text().replace("e+4,", "e+2,"))
    loose = make(Controller, **{**ELASTIC, "side_file": str(side)}, p=100.0)
    for _ in range(10):
        loose.measure(ELASTIC_START, [0.0] * 6, ELASTIC_NAMES)
        loose.refer(ELASTIC_START, [0.1] + [0.0] * 5, [0.0] * 5 + [0.1], ELASTIC_NAMES)
        loose.pass_time(0.01)
    quick = trajectory(point(0.1, [value + 0.02 for value in ELASTIC_START]), names=ELASTIC_NAMES)
    loose.send("joint_trajectory", quick)
    values = told(loose).values
    assert (values["references used"], values["trajectories used"]) == ("10", "1")


# Motions


@pytest.mark.promise("tracking-error")
def test_a_huge_tracking_error_gives_the_effort_limits_of_controller(make: Make) -> None:
    wide = {"reference_slack": 1e6, "max_reference_speed": 1e6}
    loose = make(Controller, **RRP, p=1e6, **wide)
    for sign in (1.0, -1.0):
        for _ in range(200):
            loose.refer([sign * 1e5] * 3, STILL, STILL)
            send_state(loose)
        torques = loose.published["torques"][-1]
        assert torques.status == JointTorques.STATUS_LIMITED
        assert list(torques.total) == [sign * limit for limit in (60.0, 80.0, 120.0)]


@pytest.mark.promise("stop-after-references")
@pytest.mark.parametrize("name", GIVEN)
def test_an_empty_trajectory_after_references_stopped(name: str, make: Make) -> None:
    """Feedforward stands at the robot, which was pushed away; controller where it holds the robot."""
    loose = made(make, name, **RRP)
    for _ in range(50):
        loose.refer(Q, STILL, STILL)
        send_state(loose)
    away = [0.4, 0.6, 0.15]
    for k in range(1, 101):
        send_state(loose, [a + (b - a) * k / 100 for a, b in zip(Q, away, strict=True)])
    loose.send("joint_trajectory", JointTrajectory())
    send_state(loose, away)
    desired = loose.node.active.maker.desired.at(loose.node.node_time).q.tolist()
    assert desired == pytest.approx(Q if name == "controller" else away)


# Payloads and dynamic parameters


@pytest.mark.promise("parameters-impossible-body")
def test_dynamic_parameters_that_no_body_has_are_used_and_torques_stay_within_limits(make: Make) -> None:
    text = frictionless("rrp")
    loose = make(Feedforward, robot_description=text, blend_time=0.0)
    oracle, q = Pinocchio(text), dict(zip(NAMES, Q, strict=True))
    robot = dyn_core.load_robot(text)
    for name, value in (("MX2", -1.0), ("MX2", -1e6), ("M3", -1.0), ("M3", -1e6)):
        loose.send("dynamic_parameters", DynamicParameters(name=[name], value=[value]))
        for _ in range(200):
            send_state(loose)
        robot = robot.with_parameters({name: value})
        changed = dyn_core.compile_model(robot).gravity_torques(Q)
        limited = np.clip(changed, [-60.0, -80.0, -120.0], [60.0, 80.0, 120.0])
        assert list(loose.published["torques"][-1].total) == pytest.approx(limited.tolist())
        assert oracle.held(q) != pytest.approx(by_name(loose.published["torques"][-1]))
    assert "dynamic parameters refused" not in told(loose).values


def inertia(mass: float, x: float = 0.0) -> Inertia:
    made = Inertia(m=mass)
    made.com.x = x
    return made


LONG = "x" * 100_000
HUGE_PAYLOADS = {
    "mass": Payload(link_name="slider", inertia=inertia(1.1e9)),
    "centre": Payload(link_name="slider", inertia=inertia(1.0, 1.1e9)),
    "link": Payload(link_name=LONG, inertia=inertia(1.0)),
}


@pytest.mark.promise("payload-impossible")
@pytest.mark.parametrize("case", HUGE_PAYLOADS)
@pytest.mark.parametrize("node", [Feedforward, Simulation])
def test_huge_payloads_are_refused_in_400_characters(
    case: str, node: Callable[..., ManagedNode], make: Make
) -> None:
    loose = make(node, **RRP)
    response = loose.call("set_payload", SetPayload.Request(payload=HUGE_PAYLOADS[case]))
    assert not response.success
    assert 0 < len(response.message) <= 400
    if node is Feedforward:
        loose.send("payload", HUGE_PAYLOADS[case])
        assert told(loose).values["payload refused"] == "1"


@pytest.mark.promise("parameters-malformed")
@pytest.mark.parametrize(("name", "value"), [("M2", 1.1e9), ("M2", -math.inf), (LONG, 1.0)])
def test_dynamic_parameters_beyond_bounds_are_refused_in_400_characters(
    name: str, value: float, make: Make
) -> None:
    loose = make(Feedforward, **RRP)
    bad = DynamicParameters(name=[name], value=[value])
    response = loose.call("set_dynamic_parameters", SetDynamicParameters.Request(parameters=bad))
    assert not response.success
    assert 0 < len(response.message) <= 400
    loose.send("dynamic_parameters", bad)
    assert told(loose).values["dynamic parameters refused"] == "1"


@pytest.mark.promise("payload-other-description")
def test_feedforward_forgets_a_payload_of_a_link_that_is_gone_with_a_warning(
    make: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    loose = make(Feedforward, **RRP)
    payload = Payload(link_name="slider", inertia=inertia(2.0))
    request = SetPayload.Request(payload=payload, blend_time=duration(0.1))
    assert loose.call("set_payload", request).success
    for text, kept in ((urdf("rrp").replace('"3.0"', '"3.5"'), True), (urdf("two_branch"), False)):
        described = loose.node._source.described(text)
        capfd.readouterr()
        loose.node._begin_to_use(Loaded(described, loose.node.prepare(described)))
        assert ("slider" in loose.node.active.maker.live.fitting.payloads) is kept
        assert ("slider" in capfd.readouterr().err) is not kept


@pytest.mark.promise("wrench-malformed")
@pytest.mark.parametrize("force", [1.1e9, math.nan, -math.inf])
def test_wrenches_that_are_no_numbers_are_refused(force: float, make: Make) -> None:
    loose = make(Simulation, **RRP)
    message = WrenchStamped()
    message.header.frame_id, message.wrench.force.y = "arm", force
    loose.send("wrench", message)
    assert told(loose).values["wrenches refused"] == "1"
    assert loose.has_told("wrench-implausible", link="arm")


# Bounds of messages

BOUNDS = {JointTrajectory: 16_000_000, String: 2_000_000, JointState: 2_000_000, JointReference: 2_000_000}
"""Bytes of messages by type; references of the governor are read as joint states are."""


@pytest.mark.promise("bound-joint-states", "bound-description", "bound-messages", "trajectory-too-large")
@pytest.mark.parametrize("node", [Feedforward, Controller, Governor, Simulation])
def test_messages_above_their_bound_are_refused_from_their_bytes(
    node: Callable[..., ManagedNode], make: Make
) -> None:
    """Zeros are read as an empty message where they are few enough."""
    loose = make(node)
    described = loose.node._source.described(urdf("rrp"))
    loose.node._begin_to_use(Loaded(described, loose.node.prepare(described)))
    loose.measure(Q, STILL) if node is not Simulation else None
    heard = [one for one in loose.node.subscriptions if one.topic_name != "/clock"]
    assert len(heard) >= 4
    for subscription in heard:
        of_governor = node is Governor or subscription.msg_type is not JointReference
        bound = BOUNDS.get(subscription.msg_type, 128_000) if of_governor else 128_000
        for size, refused in ((bound + 1, True), (bound, False)):
            loose.published["diagnostics"].clear()
            subscription.callback(b"\0\1\0\0" + bytes(size - 4))
            loose.tick()
            told = {"size": size, "limit": bound}
            assert loose.has_told("message-too-large", **told) is refused, (subscription.topic_name, size)
    assert loose.node.failure is None
    assert loose.node.robot.name == "rrp"


@pytest.mark.promise("bound-joint-states", "trajectory-too-large")
@pytest.mark.parametrize("node", [Feedforward, Controller, Governor])
def test_messages_with_too_many_names_are_refused(node: Callable[..., ManagedNode], make: Make) -> None:
    loose = make(node, **RRP)
    names = [f"joint_{k}" for k in range(20_481)]
    loose.measure([0.0] * len(names), (), names)
    loose.tick()
    assert loose.has_told("message-names-too-many", count=20_481, limit=20_480)
    few = names[:1001]
    loose.send("joint_trajectory", trajectory(point(1.0, [0.0] * len(few)), names=few))
    loose.tick()
    assert loose.has_told("message-names-too-many", count=1001, limit=1000)


# Robots


@pytest.mark.promise("effort-limits-unknown")
@pytest.mark.parametrize("node", [Feedforward, Controller])
def test_torques_without_a_limit_are_not_limited_and_each_load_warns_of_them(
    node: Callable[..., ManagedNode], make: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    heavy = urdf("rrp").replace('value="3.0"', 'value="3000.0"').replace(' effort="80"', "")
    wide = {"p": 1e6, "reference_slack": 1e3, "max_reference_speed": 1e6} if node is Controller else {}
    loose = make(node, robot_description=heavy, **wide)
    for _ in range(200):
        if wide:
            loose.refer([0.0, 1.0, 0.0], STILL, STILL)
        send_state(loose)
    assert abs(loose.published["torques"][-1].total[1]) > 1000.0
    assert capfd.readouterr().err.count("'lift'") >= 1
    described = loose.node._source.described(heavy.replace("3000.0", "3001.0"))
    loose.node._begin_to_use(Loaded(described, loose.node.prepare(described)))
    assert "'lift'" in capfd.readouterr().err


@pytest.mark.promise("side-file-base")
def test_a_description_whose_side_file_moves_the_base_is_refused_on_the_topic(
    make: Make, tmp_path: Path
) -> None:
    side = tmp_path / "side.yaml"
    side.write_text("{}\n")
    loose = make(Simulation, side_file=str(side))
    described = loose.node._source.described(urdf("rrp"))
    loose.node._begin_to_use(Loaded(described, loose.node.prepare(described)))
    side.write_text("base: free\n")
    with pytest.raises(dyn_core.DynError) as refused:
        loose.node.prepare(loose.node._source.described(urdf("two_branch")))
    assert refused.value.code == "side-file-base-moves"
    assert loose.node.robot.name == "rrp"
