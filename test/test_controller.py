# SPDX-License-Identifier: Apache-2.0
"""The node `controller` over DDS: with simulation and feedforward as one loop, and alone with bad data."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from robot_files import ROBOTS, urdf
from ros_graph import Graph
from sensor_msgs.msg import JointState
from simulated import Simulated, hosted, overrides
from std_msgs.msg import Float64MultiArray, Header

from dyn_core import DynError
from dyn_msgs.msg import JointReference, JointTorques
from dyn_nodes.common import qos
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.simulation.node import Simulation

RRP = {"description_file": str(ROBOTS["rrp"])}
JOINTS = ["turn", "lift", "stretch"]
PATIENT = {"timeout": 30.0, "max_age": 30.0, "ramp_start": 0.0}
"""The machine of the tests may stand still for a while."""


class SteadyClock:
    """A steady clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Controlled:
    """A test's end of the graph of a node `controller`."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        node = graph.node
        self.torques: list[JointTorques] = []
        self.commands: list[Float64MultiArray] = []
        node.create_subscription(JointTorques, "controller/torques", self.torques.append, 100)
        node.create_subscription(Float64MultiArray, "controller/commands", self.commands.append, 100)
        self._states = node.create_publisher(JointState, "joint_states", qos.COMMAND)
        self._references = node.create_publisher(JointReference, "controller/reference", qos.COMMAND)
        self._feedforward = node.create_publisher(JointTorques, "controller/feedforward", qos.COMMAND)

    def connect(self) -> None:
        """Wait until the node is heard and hears."""
        publishers = (self._states, self._references, self._feedforward)
        self.graph.wait_for(
            lambda: (
                all(publisher.get_subscription_count() == 1 for publisher in publishers)
                and self.graph.node.count_publishers("controller/torques") == 1
                and self.graph.node.count_publishers("controller/commands") == 1
            )
        )

    def publish_state(
        self, q: Sequence[float], names: Sequence[str] = JOINTS, stamp: Time | None = None, **more: Any
    ) -> Time:
        """Publish a joint state, at rest, and answer its stamp."""
        stamp = stamp or self.graph.now()
        more.setdefault("velocity", [0.0] * len(q))
        header = Header(stamp=stamp)
        self._states.publish(JointState(header=header, name=list(names), position=list(q), **more))
        return stamp

    def answer(self, q: Sequence[float], **more: Any) -> list[float]:
        """Publish a joint state and answer the torques that come for it."""
        stamp = self.publish_state(q, **more)
        self.graph.wait_for(lambda: any(t.header.stamp == stamp for t in self.torques))
        found = next(t for t in self.torques if t.header.stamp == stamp)
        assert list(found.name) == JOINTS
        return list(found.total)

    def refer(
        self, q: Sequence[float], names: Sequence[str] = JOINTS, stamp: Time | None = None, **more: Any
    ) -> None:
        """Publish a reference."""
        header = Header(stamp=stamp or self.graph.now())
        self._references.publish(JointReference(header=header, name=list(names), position=list(q), **more))

    def feed(self, names: Sequence[str], total: Sequence[float]) -> None:
        """Publish torques of a feedforward."""
        header = Header(stamp=self.graph.now())
        self._feedforward.publish(JointTorques(header=header, name=list(names), total=list(total)))

    def count(self, key: str) -> int:
        """Answer the newest count of that name on /diagnostics."""
        return int(self.graph.diagnosis(key) or 0)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as resources:
        yield resources


def controlled(graph: Graph, stack: ExitStack, steady: Any = time.monotonic, **parameters: Any) -> Controlled:
    """The node in this process, with a P gain of 100 unless others are given."""
    ours = Controlled(graph)
    given = overrides(**{"p": 100.0, **RRP, **PATIENT, **parameters})
    node = stack.enter_context(hosted(graph, Controller, steady=steady, parameter_overrides=given))
    if steady is not time.monotonic:
        # The clock of the system goes on while that of the test stands: it was not set.
        node.heed_clock = lambda: None
    ours.connect()
    return ours


def test_references_by_name_give_torques_by_name_and_by_order(graph: Graph, stack: ExitStack) -> None:
    ours = controlled(graph, stack, command_joints=["stretch", "lift"], gains__lift__p=50.0)
    assert ours.answer([0.1, 0.2, 0.1]) == [0.0, 0.0, 0.0]
    ours.refer([0.11, 0.12, 0.22], ["stretch", "turn", "lift"])
    graph.wait_for(lambda: any(ours.answer([0.1, 0.2, 0.1])))
    torques = ours.answer([0.3, 0.1, 0.2], names=["lift", "turn", "stretch"], stamp=graph.now())
    assert torques == pytest.approx([2.0, -4.0, -9.0])
    graph.wait_for(lambda: any(list(c.data) == pytest.approx([-9.0, -4.0]) for c in ours.commands))


def test_a_feedforward_is_added(graph: Graph, stack: ExitStack) -> None:
    ours = controlled(graph, stack, feedforward__timeout=30.0, feedforward__ramp_up=0.0)
    ours.answer([0.0, 0.0, 0.0])
    ours.feed(["stretch", "turn"], [3.0, 1.0])
    graph.wait_for(lambda: any(ours.answer([0.0, 0.0, 0.0])))
    assert ours.answer([-0.01, 0.0, 0.0]) == pytest.approx([2.0, 0.0, 3.0])


@pytest.mark.parametrize(
    ("carry", "ahead", "torque"),
    [(1.0, 0.25, -7.5), (1.0, -0.25, 12.5), (0.125, -0.5, 7.125), (0.0, -0.25, 2.0)],
)
def test_a_reference_is_carried_from_its_stamp_to_that_of_the_measurement(
    carry: float, ahead: float, torque: float, graph: Graph, stack: ExitStack
) -> None:
    """100 N m/rad times 0.02 + 0.4 dt + 0.08 dt^2 rad, where dt is -`ahead`, but at most `carry`."""
    ours = controlled(graph, stack, reference_carry=carry, max_reference_speed=100.0)
    ours.answer([0.0, 0.0, 0.0])
    now = graph.node.get_clock().now()
    motion = {"velocity": [0.4, 0.0, 0.0], "acceleration": [0.16, 0.0, 0.0]}
    ours.refer([0.02, 0.0, 0.0], stamp=(now + Duration(seconds=ahead)).to_msg(), **motion)
    graph.wait_for(lambda: any(ours.answer([0.0, 0.0, 0.0], stamp=now.to_msg())))
    assert ours.torques[-1].total[0] == pytest.approx(torque)


BAD = {
    "missing joint": (
        lambda o: o.publish_state([0.0, 0.0], JOINTS[:2]),
        "joint states refused",
        "lacks joint",
    ),
    "not a number": (lambda o: o.publish_state([0.0, math.nan, 0.0]), "joint states refused", "nan"),
    "velocity that is infinite": (
        lambda o: o.publish_state([0.0] * 3, velocity=[0.0, math.inf, 0.0]),
        "joint states refused",
        "'lift' the velocity inf",
    ),
    "repeated joint": (
        lambda o: o.publish_state([0.0] * 4, [*JOINTS, "turn"]),
        "joint states refused",
        "more than once",
    ),
    "from the future": (
        lambda o: o.publish_state([0.0] * 3, stamp=Time(sec=o.graph.now().sec + 100)),
        "joint states refused",
        "in the future",
    ),
    "without a stamp": (
        lambda o: o.publish_state([0.0] * 3, stamp=Time()),
        "joint states refused",
        "has no stamp",
    ),
    "glitch": (lambda o: o.publish_state([0.0, 9.0, 0.0]), "joint states refused", "which it cannot do"),
    "reference that jumps": (
        lambda o: o.refer([0.0, 1.0, 0.0]),
        "references refused",
        "the reference of joint 'lift' moves by 1",
    ),
    "reference that is no number": (lambda o: o.refer([0.0, math.nan, 0.0]), "references refused", "nan"),
    "reference of an unknown joint": (
        lambda o: o.refer([0.0] * 4, [*JOINTS, "elbow"]),
        "references refused",
        "'elbow'",
    ),
    "feedforward that is no number": (
        lambda o: o.feed(JOINTS, [0.0, math.nan, 0.0]),
        "feedforward refused",
        "joint 'lift' is nan",
    ),
    "feedforward of an unknown joint": (lambda o: o.feed(["elbow"], [1.0]), "feedforward refused", "'elbow'"),
    "short feedforward": (lambda o: o.feed(JOINTS, [1.0]), "feedforward refused", "3 names but 1 values"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_is_refused_by_name_and_changes_nothing(case: str, graph: Graph, stack: ExitStack) -> None:
    send, count, sentence = BAD[case]
    ours = controlled(graph, stack)
    ours.answer([0.0, 0.0, 0.0])
    sent = len(ours.torques)
    send(ours)
    graph.wait_for(lambda: ours.count(count) == 1)
    assert graph.diagnostics[-1].level == DiagnosticStatus.WARN
    assert sentence in graph.diagnostics[-1].message
    assert len(ours.torques) == sent
    assert ours.answer([0.0, -0.01, 0.0]) == pytest.approx([0.0, 1.0, 0.0])


def test_without_joint_states_the_torques_go_to_zero(graph: Graph, stack: ExitStack) -> None:
    steady = SteadyClock()
    ours = controlled(graph, stack, steady, timeout=0.2, ramp_down=0.5, ramp_up=0.5)
    ours.answer([0.0, 0.0, 0.0])
    assert ours.answer([0.0, -0.1, 0.0]) == pytest.approx([0.0, 10.0, 0.0])
    steady.now += 0.3
    graph.wait_for(lambda: ours.torques[-1].status == JointTorques.STATUS_RAMPING)
    graph.wait_for(lambda: graph.diagnostics and graph.diagnostics[-1].level == DiagnosticStatus.ERROR)
    assert "torques go to zero" in graph.diagnostics[-1].message
    steady.now += 0.25
    graph.wait_for(lambda: 0.0 < ours.torques[-1].total[1] < 10.0)
    steady.now += 0.3
    graph.wait_for(lambda: ours.torques[-1].status == JointTorques.STATUS_ZERO)
    graph.wait_for(lambda: not any(ours.commands[-1].data))
    # Good data again: it is held where it is now.
    assert ours.answer([0.0, -0.5, 0.0]) == [0.0, 0.0, 0.0]
    graph.wait_for(lambda: graph.diagnostics and graph.diagnostics[-1].level == DiagnosticStatus.OK)
    for _ in range(6):
        steady.now += 0.1
        ours.answer([0.0, -0.5, 0.0])
    assert ours.answer([0.0, -0.6, 0.0]) == pytest.approx([0.0, 10.0, 0.0])


def test_deactivated_it_has_sent_zero_and_is_silent(graph: Graph, stack: ExitStack) -> None:
    ours = Controlled(graph)
    given = overrides(p=100.0, **RRP, **PATIENT)
    node = stack.enter_context(hosted(graph, Controller, parameter_overrides=given))
    ours.connect()
    ours.answer([0.0, 0.0, 0.0])
    ours.answer([0.0, -0.1, 0.0])
    node.trigger_deactivate()
    graph.wait_for(lambda: ours.torques[-1].status == JointTorques.STATUS_ZERO)
    assert not any(ours.torques[-1].total)
    graph.wait_for(lambda: not any(ours.commands[-1].data))
    count = len(ours.torques)
    ours.publish_state([0.0, 0.1, 0.0])
    node.trigger_activate()
    assert ours.answer([0.0, 0.2, 0.0]) == [0.0, 0.0, 0.0]
    assert len(ours.torques) == count + 1


def test_another_description_is_used_from_then_on(graph: Graph, stack: ExitStack) -> None:
    ours = controlled(graph, stack, description_file="")
    graph.describe(urdf("rrp"))
    graph.wait_for(lambda: ours.publish_state([0.0, -0.2, 0.0]) and ours.torques)
    graph.describe("<robot name='broken'><link name='a'>")
    graph.wait_for(lambda: any("robot 'rrp' stays in use" in d.message for d in graph.diagnostics))
    ours.feed(JOINTS, [0.0, 50.0, 0.0])
    graph.wait_for(lambda: ours.answer([0.0, -0.2, 0.0])[1] == 50.0)
    graph.describe(urdf("rrp").replace('effort="80"', 'effort="5"'))
    graph.wait_for(lambda: abs(ours.answer([0.0, -0.2, 0.0])[1]) <= 5.0)


MISTAKES = {
    "gain of no joint": ({"gains__elbow__p": 1.0}, "gains are given for joint 'elbow'"),
    "gain of no kind": ({"gains__lift__q": 1.0}, "it is gains.<joint>.p or gains.<joint>.i or"),
    "unknown derivative": ({"derivative": "sum"}, "choose 'error', 'measurement'"),
    "unknown anti-windup": ({"anti_windup": "none"}, "choose 'clamping', 'back_calculation'"),
    "unknown reaction": ({"on_stale": "hold"}, "choose 'ramp', 'stop'"),
    "unknown joint of commands": ({"command_joints": ["elbow"]}, "command_joints names 'elbow'"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_in_parameters_are_named(case: str, graph: Graph) -> None:
    parameters, sentence = MISTAKES[case]
    given = overrides(**RRP, **parameters)
    with pytest.raises(DynError, match=sentence), hosted(graph, Controller, parameter_overrides=given):
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_last_zero_and_code_0_within_2_s(
    number: signal.Signals, graph: Graph
) -> None:
    ours = Controlled(graph)
    parameters = [f"{name}:={value}" for name, value in {**RRP, **PATIENT, "p": 100.0}.items()]
    words = [word for parameter in parameters for word in ("-p", parameter)]
    node = graph.start("-m", "dyn_nodes.controller", "--ros-args", *words)
    ours.connect()
    # Its process may hear us a little later than we hear it.
    graph.wait_for(lambda: ours.publish_state([0.0, 0.0, 0.0]) and ours.torques)
    assert any(ours.answer([0.0, -0.1, 0.0]))
    start = time.monotonic()
    node.process.send_signal(number)
    assert node.process.wait(20) == 0
    assert time.monotonic() - start < 2.0
    graph.wait_for(lambda: ours.torques[-1].status == JointTorques.STATUS_ZERO)
    assert "Traceback" not in node.log


LOOP = ["-r", "simulation/torques:=controller/torques", "-r", "controller/feedforward:=feedforward/torques"]


def test_with_feedforward_the_simulated_robot_is_held_and_follows(graph: Graph, stack: ExitStack) -> None:
    """Three nodes as one loop: without gravity torques lift would sag by 26 N m / 200 N m/rad = 0.13 rad."""
    ours = Simulated(graph)
    steering = Controlled(graph)
    gains = {"p": 200.0, "d": 20.0, "ramp_start": 0.1, "timeout": 5.0, "max_age": 5.0}
    for make, parameters in (
        (Simulation, {**RRP, "brakes": True, "initial__lift__position": 0.1}),
        (Feedforward, {"timeout": 5.0, "max_age": 5.0}),
        (Controller, gains),
    ):
        node = hosted(
            graph, make, parameter_overrides=overrides(**parameters), cli_args=["--ros-args", *LOOP]
        )
        stack.enter_context(node)
    ours.state_when(lambda state: any(state.effort))
    begin = ours.states[-1].header.stamp.sec
    held = ours.state_when(lambda state: state.header.stamp.sec > begin + 1)
    assert list(held.position) == pytest.approx([0.0, 0.1, 0.0], abs=0.02)
    start = last = time.monotonic()

    def steer() -> bool:
        nonlocal last
        now = time.monotonic()
        if now - last < 0.005:  # no more references than the loop can take
            return False
        last = now
        t = min(now - start, 1.0)
        steering.refer(
            [0.2 * t, 0.1 + 0.3 * t, 0.1 * t], velocity=[0.2 * (t < 1), 0.3 * (t < 1), 0.1 * (t < 1)]
        )
        arrived = list(ours.states[-1].position) == pytest.approx([0.2, 0.4, 0.1], abs=0.02)
        return arrived and now - start > 2.0

    graph.wait_for(steer)


def test_kill_9_of_the_simulation_and_its_restart(graph: Graph, stack: ExitStack) -> None:
    """The controller goes to zero without joint states, and holds the robot where it is when it is back."""
    ours = Simulated(graph)
    simulation = (
        *("-m", "dyn_nodes.simulation", "--ros-args", *LOOP),
        *("-p", f"description_file:={ROBOTS['rrp']}", "-p", "brakes:=true"),
    )
    first = graph.start(*simulation, "-p", "initial.lift.position:=0.5")
    for make, parameters in ((Feedforward, {"on_stale": "ramp"}), (Controller, {"p": 500.0, "d": 50.0})):
        node = hosted(
            graph, make, parameter_overrides=overrides(**parameters), cli_args=["--ros-args", *LOOP]
        )
        stack.enter_context(node)
    steering = Controlled(graph)
    ours.state_when(lambda state: abs(state.effort[1]) > 20.0)
    first.process.kill()
    first.process.wait()
    graph.wait_for(lambda: steering.torques and steering.torques[-1].status == JointTorques.STATUS_ZERO)
    ours.states.clear()
    graph.start(*simulation, "-p", "initial.lift.position:=-0.3")
    # It sags while torques ramp up, all the more on a machine that has much to do, and is brought back.
    place = pytest.approx(-0.3, abs=0.05)
    ours.state_when(lambda s: s.effort[1] > 15.0 and s.position[1] == place and abs(s.velocity[1]) < 0.02)


def test_a_motion_that_is_forgotten_after_missing_joint_states_is_told(
    graph: Graph, stack: ExitStack
) -> None:
    steady = SteadyClock()
    ours = controlled(graph, stack, steady, timeout=0.2, ramp_up=0.0)
    ours.answer([0.1, 0.2, 0.1])
    ours.refer([0.11, 0.2, 0.1])
    graph.wait_for(lambda: any(ours.answer([0.1, 0.2, 0.1])))
    assert not graph.logged("desired motion is forgotten")
    steady.now += 0.3
    graph.wait_for(lambda: graph.logged("no good joint states"))
    assert ours.answer([0.1, 0.2, 0.1]) == [0.0, 0.0, 0.0]
    graph.wait_for(lambda: graph.logged("desired motion is forgotten"))
    steady.now += 0.3
    graph.wait_for(lambda: graph.level == DiagnosticStatus.ERROR)
    ours.answer([0.1, 0.2, 0.1])
    graph.wait_for(lambda: graph.level == DiagnosticStatus.OK)
    assert len(graph.logged("desired motion is forgotten")) == 1


def without_limits(text: str) -> str:
    """The robot rrp with a joint whose effort limit is 0, which is not known, and one that has none."""
    return text.replace('effort="60"', 'effort="0"').replace(' effort="120"', "")


def test_joints_without_an_effort_limit_are_named(graph: Graph, stack: ExitStack) -> None:
    sentence = "no effort limit is known of 'turn', 'stretch': their torques are not limited"
    description = overrides(robot_description=without_limits(urdf("rrp")))
    for kind in (Controller, Feedforward):
        stack.enter_context(hosted(graph, kind, parameter_overrides=description))
    graph.wait_for(lambda: len(graph.logged(sentence)) == 2)
    assert {line.name for line in graph.logged(sentence)} == {"controller", "feedforward"}


def test_nothing_is_said_where_all_joints_have_an_effort_limit(graph: Graph, stack: ExitStack) -> None:
    controlled(graph, stack)
    graph.wait_for(lambda: graph.logged("using robot"))
    assert not graph.logged("effort limit")
