# SPDX-License-Identifier: Apache-2.0
"""No client request changes the state of a node or ends its process, in any state or transition."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from robot_files import ROBOTS
from ros_graph import Graph, NodeProcess

from dyn_nodes.compose import NODES

UNKNOWN_TYPE = ParameterValue(type=255)
KNOWN = Parameter(name="max_age", value=ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=1.0))
CYCLE = (
    Transition.TRANSITION_DEACTIVATE,
    Transition.TRANSITION_CLEANUP,
    Transition.TRANSITION_CONFIGURE,
    Transition.TRANSITION_ACTIVATE,
)


class Client:
    """A client of all services of a node in its own process."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name
        arguments = ("-p", f"description_file:={ROBOTS['rrp']}")
        self.process: NodeProcess = graph.start("-m", f"dyn_nodes.{name}", "--ros-args", *arguments)
        self._clients: dict[tuple[type, str], Any] = {}
        graph.wait_for(lambda: self.state == State.PRIMARY_STATE_ACTIVE)

    def ask(self, kind: Any, service: str, **request: Any) -> Any:
        """Send a request and return the future of its response."""
        key = (kind, service)
        if key not in self._clients:
            self._clients[key] = self.graph.node.create_client(kind, f"{self.name}/{service}")
            self.graph.wait_for(self._clients[key].service_is_ready)
        return self._clients[key].call_async(kind.Request(**request))

    def call(self, kind: Any, service: str, **request: Any) -> Any:
        return self.graph.answered(lambda: self.ask(kind, service, **request))

    @property
    def state(self) -> int:
        return int(self.call(GetState, "get_state").current_state.id)


@pytest.fixture(params=NODES)
def client(request: pytest.FixtureRequest, graph: Graph) -> Iterator[Client]:
    client = Client(graph, request.param)
    yield client
    assert client.process.process.poll() is None, client.process.log
    assert client.state == State.PRIMARY_STATE_ACTIVE


@pytest.mark.promise("parameter-clock", "parameter-request")
def test_odd_requests_for_parameters_get_a_response(client: Client) -> None:
    """Values of unknown types, odd names, and the clock of a node with a robot, which cannot be changed."""
    bad = Parameter(name="max_age", value=UNKNOWN_TYPE)
    results = client.call(SetParameters, "set_parameters", parameters=[KNOWN, bad, KNOWN]).results
    assert [result.successful for result in results] == [False] * 3
    assert "255" in results[1].reason
    result = client.call(SetParametersAtomically, "set_parameters_atomically", parameters=[bad]).result
    assert not result.successful

    names = ["", "\0", "a" * 10_000, "\U0001f916", ".", "max_age"]
    assert client.call(GetParameters, "get_parameters", names=names) is not None
    assert client.call(DescribeParameters, "describe_parameters", names=names) is not None
    assert client.call(ListParameters, "list_parameters", prefixes=names, depth=2**64 - 1) is not None
    parameters = [Parameter(name=name, value=KNOWN.value) for name in names]
    results = client.call(SetParameters, "set_parameters", parameters=parameters).results
    assert [result.successful for result in results] == [False] * len(names)

    simulated = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=True)
    parameters = [Parameter(name="use_sim_time", value=simulated)]
    (result,) = client.call(SetParameters, "set_parameters", parameters=parameters).results
    assert not result.successful
    assert "use_sim_time" in result.reason


@pytest.mark.promise("request-in-transition")
def test_requests_during_transitions(client: Client) -> None:
    """Requests arrive together with transitions that close the services of the node."""
    own = {
        service: kind_of(kinds[0])
        for name, kinds in client.graph.node.get_service_names_and_types()
        if (service := name.removeprefix(f"/{client.name}/")) != name
        and "parameter" not in service
        and "state" not in service
    }

    def ask_all() -> None:
        for name, kind in own.items():
            if kind is not None:
                client.ask(kind, name)
        client.ask(GetParameters, "get_parameters", names=["max_age"])

    for _ in range(3):
        for transition in CYCLE:
            ask_all()
            changed = client.ask(ChangeState, "change_state", transition=Transition(id=transition))
            ask_all()
            client.graph.wait_for(changed.done)
            assert changed.result().success
            client.call(GetParameters, "get_parameters", names=["max_age"])


def kind_of(name: str) -> Any:
    """Return the type of a service by name, such as ``std_srvs/srv/Trigger``; None for those of actions."""
    package, _, kind = name.split("/")
    is_of_action = package == "action_msgs" or kind.endswith(("_SendGoal", "_GetResult"))
    return None if is_of_action else getattr(import_module(f"{package}.srv"), kind)
