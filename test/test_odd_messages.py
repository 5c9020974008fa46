# SPDX-License-Identifier: Apache-2.0
"""Messages that are empty, enormous, or have names that nobody would choose."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from geometry_msgs.msg import WrenchStamped
from loose_node import LooseNode, loose_node
from robot_files import ROBOTS
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from torque_steps import NAMES, Q, send_state
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_msgs.msg import DynamicParameters, JointReference, JointTorques, Payload
from dyn_msgs.srv import SetDynamicParameters, SetPayload, SetSimulationState
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.simulation.node import Simulation

RRP = {"description_file": str(ROBOTS["rrp"])}
MAKERS: dict[str, Callable[..., ManagedNode]] = {
    "feedforward": Feedforward,
    "controller": Controller,
    "simulation": Simulation,
}
ODD_NAMES = (
    "",
    " ",
    "lift ",
    "Lift",
    "lift\n",
    "li\x07ft",
    "l\u200bift",
    "\u202etfil",
    "关节",
    "🤖" * 5,
    "x" * 100_000,
)
MANY = [f"joint_{k}" for k in range(100_000)]
QUICKLY_S = 5.0
"""What grows with the square of the number of joints would take hours."""


@pytest.fixture(params=MAKERS)
def loose(request: pytest.FixtureRequest, ros_environment: dict[str, str]) -> Iterator[LooseNode]:
    with loose_node(MAKERS[request.param], **RRP) as made:
        yield made


def by_topic(loose: LooseNode, names: list[str]) -> dict[str, Any]:
    """A message with these names for each topic of the node that has names."""
    header = Header(stamp=loose.stamp, frame_id=names[0] if names else "")
    values = [0.0] * len(names)
    own = loose.node.get_fully_qualified_name()
    messages: dict[str, Any] = {
        "/joint_states": JointState(header=header, name=names, position=values),
        f"{own}/reference": JointReference(header=header, name=names, position=values),
        f"{own}/joint_trajectory": JointTrajectory(
            joint_names=names, points=[JointTrajectoryPoint(positions=values)]
        ),
        f"{own}/feedforward": JointTorques(header=header, name=names, total=values),
        f"{own}/torques": JointTorques(header=header, name=names, total=values),
        f"{own}/payload": Payload(link_name=header.frame_id),
        f"{own}/dynamic_parameters": DynamicParameters(name=names, value=values),
        f"{own}/wrench": WrenchStamped(header=header),
        f"{own}/commands": Float64MultiArray(data=values),
    }
    return {topic: message for topic, message in messages.items() if loose.hears(topic)}


def told(loose: LooseNode) -> str:
    """What the node says is wrong now."""
    loose.tick()
    loose.tick()
    return str(loose.published["diagnostics"][-1].status[0].message)


@pytest.mark.parametrize("odd", ODD_NAMES, ids=[f"odd{k}" for k in range(len(ODD_NAMES))])
def test_an_odd_name_is_refused_in_one_short_line(
    odd: str, loose: LooseNode, capfd: pytest.CaptureFixture[str]
) -> None:
    for topic, message in by_topic(loose, ["turn", odd, "stretch"]).items():
        loose.send(topic, message)
        assert loose.node.failure is None, topic
    for line in capfd.readouterr().err.splitlines():
        assert line.startswith("["), line
        assert len(line) < 600
        assert line.isprintable()
    for array in loose.published["diagnostics"]:
        assert len(array.status[0].message) < 600
        assert array.status[0].message.isprintable()
    assert not loose.published.get("torques")


def test_empty_messages_are_no_harm(loose: LooseNode) -> None:
    for topic, message in by_topic(loose, []).items():
        loose.send(topic, message)
        loose.send(topic, type(message)())
        assert loose.node.failure is None, topic
    assert not loose.published.get("torques")


def test_messages_with_very_many_joints_are_dealt_with_quickly(loose: LooseNode) -> None:
    messages = {**by_topic(loose, MANY)}
    repeated = by_topic(loose, [*MANY, MANY[-1]])
    began = time.monotonic()
    for topic in messages:
        loose.send(topic, messages[topic])
        loose.send(topic, repeated[topic])
        assert loose.node.failure is None, topic
    assert time.monotonic() - began < QUICKLY_S
    assert len(told(loose)) < 600


def test_our_joints_are_found_among_very_many(ros_environment: dict[str, str]) -> None:
    with loose_node(Feedforward, **RRP) as loose:
        send_state(loose)
        names = [*MANY[:10_000], *reversed(NAMES), *MANY[10_000:20_000]]
        positions = [*[float("nan")] * 10_000, *reversed(Q), *[float("inf")] * 10_000]
        state = JointState(header=Header(stamp=loose.stamp), name=names, position=positions)
        loose.send("/joint_states", state)
        first, second = loose.published["torques"]
        assert list(first.name) == list(second.name) == NAMES
        assert list(first.total) == list(second.total)


@pytest.mark.parametrize(
    ("service", "request_"),
    [
        ("set_state", SetSimulationState.Request(name=[*MANY, MANY[-1]], position=[0.0] * 100_001)),
        ("set_state", SetSimulationState.Request(name=["lift"], position=[1e300])),
        ("set_state", SetSimulationState.Request(name=["lift"], position=[float("nan")])),
        ("set_state", SetSimulationState.Request(name=["x" * 100_000], position=[0.0])),
        ("set_payload", SetPayload.Request(payload=Payload(link_name="x" * 100_000))),
    ],
    ids=["very many", "huge", "not a number", "long name", "long link"],
)
def test_services_of_the_simulation_answer_in_a_sentence(
    service: str, request_: Any, ros_environment: dict[str, str]
) -> None:
    with loose_node(Simulation, **RRP) as loose:
        began = time.monotonic()
        answer = loose.call(service, request_)
        assert not answer.success
        assert 0 < len(answer.message) < 500
        assert time.monotonic() - began < QUICKLY_S
        loose.pass_time(0.1)
        assert loose.node.failure is None


@pytest.mark.parametrize(
    "message",
    [
        DynamicParameters(name=[*MANY, MANY[-1]], value=[0.0] * 100_001),
        DynamicParameters(name=["M2"], value=[1e300]),
        DynamicParameters(name=["x" * 100_000], value=[1.0]),
        DynamicParameters(robot_name="x" * 100_000, name=["M2"], value=[1.0]),
    ],
    ids=["very many", "huge", "long name", "long robot"],
)
def test_services_of_feedforward_answer_in_a_sentence(
    message: DynamicParameters, ros_environment: dict[str, str]
) -> None:
    with loose_node(Feedforward, **RRP) as loose:
        began = time.monotonic()
        answer = loose.call("set_dynamic_parameters", SetDynamicParameters.Request(parameters=message))
        assert not answer.success
        assert 0 < len(answer.message) < 500
        assert time.monotonic() - began < QUICKLY_S
