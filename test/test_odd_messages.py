# SPDX-License-Identifier: Apache-2.0
"""Messages that are empty, enormous, or have odd names."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from geometry_msgs.msg import WrenchStamped
from loose_node import LooseNode, loose_node
from message_makers import NAMES, point, trajectory
from robot_files import ROBOTS
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from torque_steps import Q, send_state

from dyn_msgs.msg import DynamicParameters, JointReference, JointTorques, Payload
from dyn_msgs.srv import SetDynamicParameters, SetPayload, SetSimulationState
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.simulation.node import Simulation

RRP = {"description_file": str(ROBOTS["rrp"])}
ODD_NAMES = (
    *("", " ", "lift ", "Lift", "lift\n", "li\x07ft", "l\u200bift", "\u202etfil"),
    *("关节", "🤖" * 5, "x" * 100_000),
)
MANY = [f"joint_{k}" for k in range(100_000)]
QUICKLY_S = 60.0
"""Processor time (s). With quadratic cost in the number of joints it would be hours."""


@pytest.fixture(params=[Feedforward, Controller, Simulation])
def loose(request: pytest.FixtureRequest, ros_environment: dict[str, str]) -> Iterator[LooseNode]:
    with loose_node(request.param, **RRP) as made:
        yield made


def by_topic(loose: LooseNode, names: list[str]) -> dict[str, Any]:
    """A message with these names for each topic of the node that has names."""
    header = Header(stamp=loose.stamp, frame_id=names[0] if names else "")
    values = [0.0] * len(names)
    torques = JointTorques(header=header, name=names, total=values)
    messages: dict[str, Any] = {
        "/joint_states": JointState(header=header, name=names, position=values),
        "reference": JointReference(header=header, name=names, position=values),
        "joint_trajectory": trajectory(point(0.0, values), names=names),
        "feedforward": torques,
        "torques": torques,
        "payload": Payload(link_name=header.frame_id),
        "dynamic_parameters": DynamicParameters(name=names, value=values),
        "wrench": WrenchStamped(header=header),
        "commands": Float64MultiArray(data=values),
    }
    own = loose.node.get_fully_qualified_name()
    heard = {topic: topic if topic.startswith("/") else f"{own}/{topic}" for topic in messages}
    return {topic: message for topic, message in messages.items() if loose.hears(heard[topic])}


@pytest.mark.promise("joint-states-odd")
@pytest.mark.parametrize("odd", ODD_NAMES, ids=[f"odd{k}" for k in range(len(ODD_NAMES))])
def test_an_odd_name_is_refused_with_one_short_line(
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


@pytest.mark.promise("joint-states-odd")
def test_empty_messages_are_harmless(loose: LooseNode) -> None:
    for topic, message in by_topic(loose, []).items():
        loose.send(topic, message)
        loose.send(topic, type(message)())
        assert loose.node.failure is None, topic
    assert not loose.published.get("torques")


@pytest.mark.promise("joint-states-odd")
def test_messages_with_very_many_joints_are_handled_quickly(loose: LooseNode) -> None:
    repeated = by_topic(loose, [*MANY, MANY[-1]])
    began = time.process_time()
    for topic, message in by_topic(loose, MANY).items():
        loose.send(topic, message)
        loose.send(topic, repeated[topic])
        assert loose.node.failure is None, topic
    assert time.process_time() - began < QUICKLY_S
    loose.tick()
    loose.tick()
    assert len(loose.told.message) < 600


@pytest.mark.promise("joint-states-many")
def test_our_joints_are_found_among_very_many(ros_environment: dict[str, str]) -> None:
    with loose_node(Feedforward, **RRP, ramp_start=0.0) as loose:
        send_state(loose)
        names = [*MANY[:10_000], *reversed(NAMES), *MANY[10_000:20_000]]
        loose.measure([*[math.nan] * 10_000, *reversed(Q), *[math.inf] * 10_000], names=names)
        first, second = loose.published["torques"]
        assert list(first.name) == list(second.name) == NAMES
        assert list(first.total) == list(second.total)


def parameters(name: list[str], value: list[float], robot: str = "") -> SetDynamicParameters.Request:
    return SetDynamicParameters.Request(
        parameters=DynamicParameters(robot_name=robot, name=name, value=value)
    )


def placed(name: list[str], position: list[float]) -> SetSimulationState.Request:
    return SetSimulationState.Request(name=name, position=position)


LONG = "x" * 100_000
REPEATED = ([*MANY, MANY[-1]], [0.0] * 100_001)
REQUESTS: dict[str, Any] = {
    "very many": placed(*REPEATED),
    "huge": placed(["lift"], [1e300]),
    "not a number": placed(["lift"], [math.nan]),
    "long name": placed([LONG], [0.0]),
    "long link": SetPayload.Request(payload=Payload(link_name=LONG)),
    "very many parameters": parameters(*REPEATED),
    "huge parameter": parameters(["M2"], [1e300]),
    "long parameter": parameters([LONG], [1.0]),
    "long robot": parameters(["M2"], [1.0], LONG),
}
SERVICES: dict[type, tuple[Callable[..., ManagedNode], str]] = {
    SetSimulationState.Request: (Simulation, "set_state"),
    SetPayload.Request: (Simulation, "set_payload"),
    SetDynamicParameters.Request: (Feedforward, "set_dynamic_parameters"),
}


@pytest.mark.promise("payload-impossible", "parameters-malformed", "set-state-malformed")
@pytest.mark.parametrize("case", REQUESTS)
def test_services_respond_to_odd_requests_with_one_sentence(
    case: str, ros_environment: dict[str, str]
) -> None:
    request = REQUESTS[case]
    make_node, service = SERVICES[type(request)]
    with loose_node(make_node, **RRP) as loose:
        began = time.process_time()
        response = loose.call(service, request)
        assert not response.success
        assert 0 < len(response.message) < 500
        assert time.process_time() - began < QUICKLY_S
        loose.pass_time(0.1)
        assert loose.node.failure is None
