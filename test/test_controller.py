# SPDX-License-Identifier: Apache-2.0
"""The node `controller`: with simulation and feedforward over DDS, and alone with bad data."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from loose_node import LooseNode, Make, loose_node
from message_makers import AT_ONCE, NAMES, joint_state, later, reference
from refusals import refused
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from sensor_msgs.msg import JointState
from sentence_patterns import said
from simulation_client import Simulated, hosted, overrides
from std_msgs.msg import Header

from dyn_msgs.msg import JointReference, JointTorques
from dyn_nodes.common import qos
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.simulation.node import Simulation

RRP = {"description_file": str(ROBOTS["rrp"])}
AT_ZERO = [0.0] * 3
UNKNOWN = "parameter-choice-unknown"


@pytest.fixture
def make(ros_environment: dict[str, str]) -> Iterator[Make]:
    """Makes nodes with a P gain of 100, and keeps them until the end of the test."""
    with ExitStack() as nodes:
        given = {**RRP, "p": 100.0, **AT_ONCE}
        yield lambda **more: nodes.enter_context(loose_node(Controller, **given, **more))


def answer(loose: LooseNode, q: Sequence[float], names: Sequence[str] = NAMES) -> list[float]:
    """Send a joint state at rest, and return the torques for it."""
    sent = loose.published["torques"]
    count = len(sent)
    loose.measure(q, AT_ZERO, names)
    (torques,) = sent[count:]
    assert list(torques.name) == NAMES
    return list(torques.total)


def feed(loose: LooseNode, names: Sequence[str], total: Sequence[float]) -> None:
    header = Header(stamp=loose.stamp)
    loose.send("feedforward", JointTorques(header=header, name=list(names), total=list(total)))


def test_references_by_name_give_torques_by_name_and_commands_in_order(make: Make) -> None:
    loose = make(command_joints=["stretch", "lift"], gains__lift__p=50.0)
    assert answer(loose, [0.1, 0.2, 0.1]) == AT_ZERO
    loose.refer([0.11, 0.12, 0.22], names=["stretch", "turn", "lift"])
    assert answer(loose, [0.3, 0.1, 0.2], ["lift", "turn", "stretch"]) == pytest.approx([2.0, -4.0, -9.0])
    assert list(loose.published["commands"][-1].data) == pytest.approx([-9.0, -4.0])


def test_a_feedforward_is_added(make: Make) -> None:
    loose = make(feedforward__ramp_up=0.0)
    answer(loose, AT_ZERO)
    feed(loose, ["stretch", "turn"], [3.0, 1.0])
    assert answer(loose, [-0.01, 0.0, 0.0]) == pytest.approx([2.0, 0.0, 3.0])


@pytest.mark.parametrize(
    ("carry", "ahead", "torque"),
    [(1.0, 0.25, -7.5), (1.0, -0.25, 12.5), (0.125, -0.5, 7.125), (0.0, -0.25, 2.0)],
)
def test_a_reference_is_extrapolated_to_the_stamp_of_the_measurement(
    carry: float, ahead: float, torque: float, make: Make
) -> None:
    """100 N m/rad times 0.02 + 0.4 dt + 0.08 dt^2 rad, where dt is -`ahead`, but at most `carry`."""
    loose = make(reference_carry=carry, max_reference_speed=100.0, timeout=30.0, max_age=30.0)
    answer(loose, AT_ZERO)
    stamp, rates = later(loose.stamp, ahead), ([0.4, 0.0, 0.0], [0.16, 0.0, 0.0])
    loose.send("reference", reference(stamp, [0.02, 0.0, 0.0], *rates))
    assert answer(loose, AT_ZERO)[0] == pytest.approx(torque)


def stamped(loose: LooseNode, stamp: Time) -> None:
    loose.send("/joint_states", joint_state(stamp, AT_ZERO))


MISSING, BAD, REPEATED = "message-joints-missing", "message-value-implausible", "message-joint-repeated"
STRANGE = "message-joint-unknown"
LIFT, TURN, ELBOW = ({"joint": name} for name in ("lift", "turn", "elbow"))
BAD_DATA: dict[str, dict[str, tuple[Callable[[LooseNode], object], str, dict[str, Any]]]] = {
    "joint states": {
        "missing joint": (lambda o: o.measure([0.0] * 2, (), NAMES[:2]), MISSING, {"missing": ["stretch"]}),
        "not a number": (lambda o: o.measure([0.0, math.nan, 0.0]), BAD, LIFT | {"quantity": "position"}),
        "infinite": (lambda o: o.measure(AT_ZERO, [0.0, math.inf, 0]), BAD, LIFT | {"quantity": "velocity"}),
        "repeated joint": (lambda o: o.measure([0.0] * 4, [0.0] * 4, [*NAMES, "turn"]), REPEATED, TURN),
        "from the future": (lambda o: stamped(o, later(o.stamp, 100.0)), "stamp-in-future", {}),
        "without a stamp": (lambda o: stamped(o, Time()), "message-without-stamp", {}),
        "glitch": (lambda o: o.measure([0.0, 9.0, 0.0]), "position-jumps", LIFT),
    },
    "references": {
        "jumps": (lambda o: o.refer([0.0, 1.0, 0.0]), "reference-jumps", LIFT | {"distance": 1.0}),
        "not a number": (lambda o: o.refer([0.0, math.nan, 0.0]), BAD, LIFT | {"message": "reference"}),
        "unknown joint": (lambda o: o.refer([0.0] * 4, names=[*NAMES, "elbow"]), STRANGE, ELBOW),
    },
    "feedforward": {
        "not a number": (lambda o: feed(o, NAMES, [0.0, math.nan, 0.0]), "effort-implausible", LIFT),
        "unknown joint": (lambda o: feed(o, ["elbow"], [1.0]), "effort-joint-unknown", ELBOW),
        "short": (lambda o: feed(o, NAMES, [1.0]), "effort-counts-differ", {"names": 3, "count": 1}),
    },
}


@pytest.mark.promise("refused-no-effect", "joint-states-not-finite", "joint-states-part")
@pytest.mark.promise("motion-malformed", "feedforward-torques")
@pytest.mark.parametrize(("data", "case"), [(data, case) for data in BAD_DATA for case in BAD_DATA[data]])
def test_bad_data_is_refused_by_name_and_changes_nothing(data: str, case: str, make: Make) -> None:
    send, code, values = BAD_DATA[data][case]
    loose = make()
    answer(loose, AT_ZERO)
    loose.tick()
    sent = len(loose.published["torques"])
    send(loose)
    assert loose.told.level == DiagnosticStatus.WARN
    assert loose.told.about(code, **values)
    assert loose.told.values[f"{data} refused"] == "1"
    assert len(loose.published["torques"]) == sent
    assert answer(loose, [0.0, -0.01, 0.0]) == pytest.approx([0.0, 1.0, 0.0])


@pytest.mark.promise("stale-controller", "stale-recovery")
def test_without_joint_states_the_torques_go_to_zero(make: Make) -> None:
    loose = make(timeout=0.2, ramp_down=0.5, ramp_up=0.5)
    torques = loose.published["torques"]
    answer(loose, AT_ZERO)
    assert answer(loose, [0.0, -0.1, 0.0]) == pytest.approx([0.0, 10.0, 0.0])
    loose.pass_time(0.3)
    assert torques[-1].status == JointTorques.STATUS_RAMPING
    assert loose.told.level == DiagnosticStatus.ERROR
    assert "data-stale-ramping-down" in loose.told.codes
    loose.pass_time(0.25)
    assert 0.0 < torques[-1].total[1] < 10.0
    loose.pass_time(0.3)
    assert torques[-1].status == JointTorques.STATUS_ZERO
    assert not any(loose.published["commands"][-1].data)
    # With good data again, the robot is held where it is now.
    assert answer(loose, [0.0, -0.5, 0.0]) == AT_ZERO
    loose.tick()
    assert loose.told.level == DiagnosticStatus.OK
    for _ in range(6):
        loose.pass_time(0.1)
        answer(loose, [0.0, -0.5, 0.0])
    assert answer(loose, [0.0, -0.6, 0.0]) == pytest.approx([0.0, 10.0, 0.0])


@pytest.mark.promise("stale-controller")
def test_a_motion_dropped_after_missing_joint_states_is_reported(
    make: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    loose = make(timeout=0.2, ramp_up=0.0)
    answer(loose, [0.1, 0.2, 0.1])
    loose.refer([0.11, 0.2, 0.1])
    assert any(answer(loose, [0.1, 0.2, 0.1]))
    loose.pass_time(0.3)
    log = capfd.readouterr().err
    assert said("data-stale-ramping-down").search(log)
    assert not said("motion-forgotten").search(log)
    assert answer(loose, [0.1, 0.2, 0.1]) == AT_ZERO
    loose.pass_time(0.3)
    assert loose.told.level == DiagnosticStatus.ERROR
    answer(loose, [0.1, 0.2, 0.1])
    loose.tick()
    assert loose.told.level == DiagnosticStatus.OK
    assert len(said("motion-forgotten").findall(capfd.readouterr().err)) == 1


@pytest.mark.promise("control-lost", "control-lost-diagnostics")
def test_lost_feedback_is_told_and_ends_with_a_new_activation(
    make: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    """Joint lift swings by more and more, from a torque of 5 % of its limit of 80 N m."""
    loose = make(ramp_down=0.2, gains__lift__p=2000.0)
    answer(loose, AT_ZERO)
    swing = 0.002
    while not loose.has_told("control-diverges", joint="lift"):
        swing *= -1.3
        loose.pass_time(0.01)
        answer(loose, [0.0, swing, 0.0])
        assert abs(swing) < 0.05
    assert loose.told.level == DiagnosticStatus.ERROR
    assert len(said("control-diverges").findall(capfd.readouterr().err)) == 1
    for _ in range(40):
        loose.pass_time(0.01)
        torques = answer(loose, [0.0, -swing, 0.0])
    assert torques == AT_ZERO
    assert loose.published["torques"][-1].status == JointTorques.STATUS_ZERO
    loose.refer([0.0, -swing, 0.0])
    loose.tick()
    assert loose.told.level == DiagnosticStatus.ERROR
    assert loose.told.values["references refused"] == "1"
    loose.node.trigger_deactivate()
    loose.node.trigger_activate()
    answer(loose, [0.0, 0.01, 0.0])
    loose.tick()
    assert loose.told.level == DiagnosticStatus.OK
    assert answer(loose, [0.0, 0.0, 0.0]) == pytest.approx([0.0, 20.0, 0.0])


@pytest.mark.promise("gain-margin")
def test_gains_without_a_margin_are_refused_where_the_rate_is_known(
    make: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    with refused("gain-margin-low", rate=500.0):
        make(joint_state_rate=500.0)
    make(joint_state_rate=500.0, d=10.0)
    assert said("gain-margin", rate=500.0).search(capfd.readouterr().err)


@pytest.mark.promise("deactivation")
def test_after_deactivation_zero_torques_are_sent_and_then_nothing(make: Make) -> None:
    loose = make()
    torques = loose.published["torques"]
    answer(loose, AT_ZERO)
    answer(loose, [0.0, -0.1, 0.0])
    loose.node.trigger_deactivate()
    assert (torques[-1].status, list(torques[-1].total)) == (JointTorques.STATUS_ZERO, AT_ZERO)
    assert not any(loose.published["commands"][-1].data)
    count = len(torques)
    loose.measure([0.0, 0.1, 0.0], AT_ZERO)
    assert len(torques) == count
    loose.node.trigger_activate()
    assert answer(loose, [0.0, 0.2, 0.0]) == AT_ZERO


@pytest.mark.parametrize(
    ("parameters", "code", "values"),
    [
        ({"gains__elbow__p": 1.0}, "gain-joint-unknown", {"joint": "elbow"}),
        ({"gains__lift__q": 1.0}, "parameter-name-unknown", {"parameter": "gains.lift.q"}),
        ({"derivative": "sum"}, UNKNOWN, {"known": "'error', 'measurement'"}),
        ({"anti_windup": "none"}, UNKNOWN, {"known": "'clamping', 'back_calculation'"}),
        ({"on_stale": "hold"}, UNKNOWN, {"known": "'ramp', 'stop'"}),
        ({"command_joints": ["elbow"]}, "command-joint-unknown", {"joint": "elbow"}),
    ],
)
def test_wrong_parameters_are_named(
    parameters: dict[str, Any], code: str, values: dict[str, str], make: Make
) -> None:
    with refused(code, **values):
        make(**parameters)


@pytest.mark.promise("description-unusable")
def test_another_description_replaces_the_robot(graph: Graph) -> None:
    ends = ("controller/torques:=feedforward/torques", "controller/feedforward:=fed")
    words = ["--ros-args", *(word for end in ends for word in ("-r", end))]
    given = overrides(p=100.0, timeout=30.0, max_age=30.0, **AT_ONCE)
    q, fed = [0.0, -0.2, 0.0], graph.node.create_publisher(JointTorques, "fed", qos.COMMAND)
    with hosted(graph, Controller, parameter_overrides=given, cli_args=words):
        graph.describe(urdf("rrp"))
        graph.wait_for(lambda: graph.publish_state(NAMES, q) and graph.torques)
        graph.describe("<robot name='broken'><link name='a'>")
        graph.wait_for(lambda: graph.told.about("description-unusable", robot="rrp"))
        fed.publish(JointTorques(header=Header(stamp=graph.now()), name=NAMES, total=[0.0, 50.0, 0.0]))
        graph.wait_for(lambda: graph.torques_for(NAMES, q).total[1] == 50.0)
        graph.describe(urdf("rrp").replace('effort="80"', 'effort="5"'))
        graph.wait_for(lambda: abs(graph.torques_for(NAMES, q).total[1]) <= 5.0)


LOOP = ["-r", "simulation/torques:=controller/torques", "-r", "controller/feedforward:=feedforward/torques"]


def rests(state: JointState) -> bool:
    return max(map(abs, state.velocity)) < 1e-3


def test_with_feedforward_the_simulated_robot_is_held_and_follows(graph: Graph) -> None:
    """Three connected nodes: without gravity torques, lift would sag by 26 N m / 200 N m/rad = 0.13 rad."""
    ours = Simulated(graph)
    references = graph.node.create_publisher(JointReference, "controller/reference", qos.COMMAND)
    patient = {"timeout": 5.0, "max_age": 5.0}
    start = last = 0.0

    def steer() -> bool:
        nonlocal last
        now = time.monotonic()
        if now - last < 0.02:  # no more references than the loop can take
            return False
        last, t = now, min(now - start, 1.0)
        speed = [rate * (t < 1) for rate in (0.2, 0.3, 0.1)]
        references.publish(reference(graph.now(), [0.2 * t, 0.1 + 0.3 * t, 0.1 * t], speed))
        arrived = list(ours.states[-1].position) == pytest.approx([0.2, 0.4, 0.1], abs=0.02)
        return arrived and now - start > 2.0

    with ExitStack() as stack:
        for make_node, parameters in (
            (Simulation, {**RRP, "brakes": True, "initial__lift__position": 0.1, "rate": 100.0}),
            (Feedforward, {"ramp_start": 0.0, **patient}),
            (Controller, {"p": 200.0, "d": 20.0, "ramp_start": 0.1, **patient}),
        ):
            given = {"parameter_overrides": overrides(**parameters), "cli_args": ["--ros-args", *LOOP]}
            stack.enter_context(hosted(graph, make_node, **given))
        ours.state_when(lambda state: any(state.effort))
        begin = ours.states[-1].header.stamp.sec
        near = pytest.approx([0.0, 0.1, 0.0], abs=0.02)
        ours.state_when(  # a machine that stands still lets it sag, for as long
            lambda state: state.header.stamp.sec > begin + 1 and list(state.position) == near and rests(state)
        )
        start = last = time.monotonic()
        graph.wait_for(steer)
    assert graph.logged("using robot")
    assert not graph.said("effort-limits-unknown")  # all joints have a limit


@pytest.mark.promise("effort-limits-unknown")
def test_joints_without_an_effort_limit_are_named(graph: Graph) -> None:
    """An effort limit of 0 counts as unknown; one joint has no limit."""
    text = urdf("rrp").replace('effort="60"', 'effort="0"').replace(' effort="120"', "")
    given = {"parameter_overrides": overrides(robot_description=text)}
    with hosted(graph, Controller, **given), hosted(graph, Feedforward, **given):
        unknown = {"joints": ["turn", "stretch"]}
        graph.wait_for(lambda: len(graph.said("effort-limits-unknown", **unknown)) == 2)
    assert {line.name for line in graph.said("effort-limits-unknown")} == {"controller", "feedforward"}
