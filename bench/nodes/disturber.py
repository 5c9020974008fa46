# SPDX-License-Identifier: Apache-2.0
"""What one client can do to a node: floods of requests, and single messages that are as large as can be.

`python bench/nodes/disturber.py KIND NODE RATE`: does it RATE times per second until it is ended. It has no
real-time priority, and waits for no response.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from builtin_interfaces.msg import Duration
from lifecycle_msgs.srv import GetState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_msgs.msg import DynamicParameters, JointReference, Payload
from dyn_msgs.srv import SetDynamicParameters, SetPayload
from dyn_nodes.common import qos

JOINTS = tuple(f"joint_{j}" for j in range(1, 8))
MANY = [f"joint_{k}" for k in range(100_000)]
_VALUE = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=1.0)
_ZEROS = [0.0] * len(JOINTS)


def _settings(count: int) -> SetParameters.Request:
    return SetParameters.Request(parameters=[Parameter(name="max_age", value=_VALUE)] * count)


def _parameters(count: int) -> DynamicParameters:
    return DynamicParameters(name=MANY[:count], value=[0.0] * count)


REQUESTS: dict[str, tuple[type, str, Callable[[], Any]]] = {
    "set_parameters": (SetParameters, "set_parameters", lambda: _settings(1)),
    "list_parameters": (ListParameters, "list_parameters", ListParameters.Request),
    "describe_parameters": (
        DescribeParameters,
        "describe_parameters",
        lambda: DescribeParameters.Request(names=["max_age"]),
    ),
    "get_state": (GetState, "get_state", GetState.Request),
    "set_parameters, 10 000": (SetParameters, "set_parameters", lambda: _settings(10_000)),
    "get_parameters, 100 000 names": (
        GetParameters,
        "get_parameters",
        lambda: GetParameters.Request(names=MANY),
    ),
    "set_dynamic_parameters, 10 000": (
        SetDynamicParameters,
        "set_dynamic_parameters",
        lambda: SetDynamicParameters.Request(parameters=_parameters(10_000)),
    ),
    "set_payload": (
        SetPayload,
        "set_payload",
        lambda: SetPayload.Request(payload=Payload(link_name="link_7")),
    ),
}


def _trajectory(count: int) -> JointTrajectory:
    at = [Duration(sec=k // 100, nanosec=k % 100 * 10_000_000) for k in range(1, count + 1)]
    points = [JointTrajectoryPoint(positions=_MIDDLE, velocities=_ZEROS, time_from_start=t) for t in at]
    return JointTrajectory(joint_names=JOINTS, points=points)


def _states(count: int) -> list[JointState]:
    """Joint states of 20 000 joints with different names."""
    names = [[f"{k}_{name}" for name in MANY[:20_000]] for k in range(count)]
    return [JointState(name=one, position=[0.0] * len(one)) for one in names]


def _arms(count: int) -> list[String]:
    """Descriptions that differ in a mass."""
    text = Path(__file__).with_name("arm.urdf").read_text()
    return [
        String(data=re.sub(r'<mass value="[^"]*"', f'<mass value="{1.0 + k}"', text)) for k in range(count)
    ]


_MIDDLE = (0.0, -0.4, 0.2, -1.8, 0.1, 1.6, 0.5)
MESSAGES: dict[str, tuple[type, str, Callable[[], Any]]] = {
    "trajectory, 30 points": (JointTrajectory, "~/joint_trajectory", lambda: _trajectory(30)),
    "trajectory, 200 points": (JointTrajectory, "~/joint_trajectory", lambda: _trajectory(200)),
    "trajectory, 10 000 points": (JointTrajectory, "~/joint_trajectory", lambda: _trajectory(10_000)),
    "trajectory, 100 000 points": (JointTrajectory, "~/joint_trajectory", lambda: _trajectory(100_000)),
    "joint state, 20 000 names": (JointState, "joint_states", lambda: _states(20)),
    "joint state, 100 000 names": (
        JointState,
        "joint_states",
        lambda: JointState(name=MANY, position=[0.0] * 100_000),
    ),
    "reference, 100 000 names": (
        JointReference,
        "~/reference",
        lambda: JointReference(name=MANY, position=[0.0] * 100_000),
    ),
    "dynamic parameters, 5 000": (DynamicParameters, "~/dynamic_parameters", lambda: _parameters(5000)),
    "payload, link of 100 kB": (Payload, "~/payload", lambda: Payload(link_name="x" * 100_000)),
    "robot_description, other masses": (String, "robot_description", lambda: _arms(40)),
    "robot_description, 1.9 MB": (String, "robot_description", lambda: String(data="<" + "x" * 1_900_000)),
    "robot_description, 10 MB": (String, "robot_description", lambda: String(data="<" + "x" * 10_000_000)),
}


def main() -> None:
    """Disturb a node until the process is ended."""
    kind, target, rate = sys.argv[1], sys.argv[2], float(sys.argv[3])
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    rclpy.init()
    node = rclpy.create_node("disturber")
    disturb = _sender(node, kind, target)
    due = time.perf_counter()
    while True:
        due = max(due + 1.0 / rate, time.perf_counter())
        time.sleep(max(0.0, due - time.perf_counter()))
        disturb()


def _sender(node: Node, kind: str, target: str) -> Callable[[], object]:
    """Return what disturbs the target once."""
    if kind in REQUESTS:
        service, name, make = REQUESTS[kind]
        client, request = node.create_client(service, f"{target}/{name}"), make()
        client.wait_for_service()

        def ask() -> None:
            client.remove_pending_request(client.call_async(request))

        return ask
    message_type, topic, make = MESSAGES[kind]
    name = topic.replace("~", target) if "~" in topic else f"{target.rpartition('/')[0]}/{topic}"
    profile = qos.LATCHED if topic == "robot_description" else qos.EACH_MESSAGE
    publisher = node.create_publisher(message_type, name, profile)
    made = make()
    messages = itertools.cycle(
        [serialize_message(one) for one in (made if isinstance(made, list) else [made])]
    )
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    return lambda: publisher.publish(next(messages))


if __name__ == "__main__":
    main()
