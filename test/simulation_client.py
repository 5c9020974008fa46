# SPDX-License-Identifier: Apache-2.0
"""Client of the node `simulation` in the process of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from rclpy.parameter import Parameter
from ros_graph import Graph
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from sentence_patterns import said
from std_msgs.msg import Float64MultiArray, Header, String
from std_srvs.srv import SetBool, Trigger

from dyn_msgs.msg import JointTorques
from dyn_msgs.srv import SetPayload, SetSimulationState, StepSimulation
from dyn_nodes.common import qos
from dyn_nodes.simulation.node import Simulation


def overrides(**parameters: Any) -> list[Parameter]:
    """Parameters for a node in this process; `__` in a name stands for a dot."""
    return [Parameter(name.replace("__", "."), value=value) for name, value in parameters.items()]


@contextmanager
def hosted(graph: Graph, make_node: Callable[..., Any], **options: Any) -> Iterator[Any]:
    """Run a node in this process, until the context ends."""
    node = make_node(context=graph.context, **options)
    graph.executor.add_node(node)
    try:
        yield node
    finally:
        graph.executor.remove_node(node)
        node.close()
        node.destroy_node()


class Simulated:
    """Client of a node `simulation`."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        node = graph.node
        self.states: list[JointState] = []
        self.clocks: list[Clock] = []
        self.descriptions: list[String] = []
        node.create_subscription(JointState, "joint_states", self.states.append, 1000)
        node.create_subscription(Clock, "/clock", self.clocks.append, 1000)
        node.create_subscription(String, "robot_description", self.descriptions.append, qos.LATCHED)
        self._commands = node.create_publisher(Float64MultiArray, "simulation/commands", 10)
        self._torques = node.create_publisher(JointTorques, "simulation/torques", 10)
        self._wrenches = node.create_publisher(WrenchStamped, "simulation/wrench", 10)
        kinds: dict[str, Any] = {"set_state": SetSimulationState, "set_payload": SetPayload, "pause": SetBool}
        kinds |= {"step": StepSimulation, "reset": Trigger}
        self._clients = {name: node.create_client(kind, f"simulation/{name}") for name, kind in kinds.items()}

    def call(self, service: str, **request: Any) -> Any:
        client = self._clients[service]
        return self.graph.call(client, client.srv_type.Request(**request), again=service != "step")

    def refuses(
        self, service: str, code: str, values: Mapping[str, Any] = MappingProxyType({}), **request: Any
    ) -> None:
        """Call a service of the node, which must refuse with a code and these values."""
        response = self.call(service, **request)
        assert not response.success
        assert said(code, **values).search(response.message), (code, response.message)

    def stepped(self, steps: int) -> JointState:
        """Simulate some periods of a paused simulation that publishes its clock; return the last state."""
        response = self.call("step", steps=steps)
        while not response.success:  # a slow machine makes them in several calls
            incomplete = {left: said("steps-incomplete", remaining=left) for left in range(1, steps)}
            left = [left for left, words in incomplete.items() if words.fullmatch(response.message)]
            assert left, response.message
            response = self.call("step", steps=(steps := left[0]))
        return self.state_when(lambda state: state.header.stamp == response.time)

    def send(self, values: Sequence[float]) -> None:
        self.graph.wait_for(lambda: self._commands.get_subscription_count() == 1)
        self._commands.publish(Float64MultiArray(data=list(values)))

    def send_by_name(self, efforts: Mapping[str, float]) -> None:
        self.send_torques(list(efforts), list(efforts.values()))

    def send_torques(self, names: Sequence[str], values: Sequence[float]) -> None:
        self.graph.wait_for(lambda: self._torques.get_subscription_count() == 1)
        self._torques.publish(JointTorques(name=list(names), total=list(values)))

    def push(self, link: str, force: Sequence[float], torque: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        self.graph.wait_for(lambda: self._wrenches.get_subscription_count() == 1)
        (fx, fy, fz), (mx, my, mz) = force, torque
        wrench = Wrench(force=Vector3(x=fx, y=fy, z=fz), torque=Vector3(x=mx, y=my, z=mz))
        self._wrenches.publish(WrenchStamped(header=Header(frame_id=link), wrench=wrench))

    def next_state(self) -> JointState:
        """Wait for the next joint state."""
        return self.state_when(lambda _: True)

    def state_when(self, condition: Callable[[JointState], bool]) -> JointState:
        """Wait for a joint state for which the condition holds."""
        begin = len(self.states)
        self.graph.wait_for(lambda: any(map(condition, self.states[begin:])))
        return next(filter(condition, self.states[begin:]))


@contextmanager
def simulated(graph: Graph, **parameters: Any) -> Iterator[tuple[Simulated, Simulation]]:
    """The node with these parameters, and its client."""
    ours = Simulated(graph)
    with hosted(graph, Simulation, parameter_overrides=overrides(**parameters)) as node:
        yield ours, node
