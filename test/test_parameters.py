# SPDX-License-Identifier: Apache-2.0
"""Parameters of all nodes: described, with ranges, and the same as in the files of `config`."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import yaml
from rcl_interfaces.msg import ParameterDescriptor, ParameterType
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.parameter import parameter_value_to_python
from robot_files import ROOT
from ros_graph import Graph
from simulation_client import hosted, overrides

from dyn_nodes.compose import NODES

CONSTRAINTS = {"constraints__turn__trajectory": 0.1, "constraints__turn__goal": 0.01}
BOTH = {"ramp_start", "ramp_up", "ramp_down", "max_torque_rate", "effort_scale", "drive_compensates"}
BOTH |= {"max_reference_speed", "reference_slack", "natural_frequency", "damping"}
BOTH |= {"gains.turn.p", "gains.turn.d"}
LIVE = {
    "feedforward": BOTH | {"mode", "coulomb_velocity", "on_limit", "blend_time"},
    "controller": BOTH
    | {"p", "i", "d", "gains.turn.i", "gains.turn.armature", "feedforward.ramp_up", "feedforward.ramp_down"},
}
"""Parameters that can be changed while the node runs; each other one is read-only."""
BY_JOINT: dict[str, dict[str, Any]] = {
    "simulation": {"initial__turn__position": 0.1, "initial__turn__velocity": 0.2},
    "feedforward": {"gains__turn__p": 1.0, "gains__turn__d": 1.0, **CONSTRAINTS},
    "controller": {f"gains__turn__{kind}": 1.0 for kind in ("p", "i", "d", "armature")} | CONSTRAINTS,
    "governor": {f"limits__turn__{kind}": 1.0 for kind in ("velocity", "effort", "power", "braking_power")},
    "identification": {"joints__turn__max_tracking_error": 0.1},
}
OF_DRIVES = ("drive_compensates", "payload_known_to_drive", "on_stale")
CHOICES = {
    "simulation": {"integrator", "drive_adds"},
    "feedforward": {"base.source", "mode", "on_limit", "on_shutdown", *OF_DRIVES},
    "controller": {"derivative", "anti_windup", *OF_DRIVES},
    "governor": {"on_infeasible"},
    "identification": {"output", "friction", "estimator"},
}
OF_PROFILES = ("drive_compensates", "payload_known_to_drive", "running_topic", "on_stale", "ramp_start")
OF_PROFILES += ("max_torque_rate", "rate")
"""Parameters of nodes that send torques, whose defaults a driver profile gives."""
OF_RCLPY = ("use_sim_time", "start_type_description_service", "qos_overrides.")


class Described:
    """Parameter descriptions from the services of a node."""

    def __init__(self, graph: Graph, name: str) -> None:
        self._graph = graph
        self._name = name
        listed = self._call(ListParameters, "list_parameters").result.names
        self.names = [n for n in listed if not n.startswith(OF_RCLPY)]
        given = self._call(GetParameters, "get_parameters", names=self.names).values
        self.values = dict(zip(self.names, map(parameter_value_to_python, given), strict=True))
        described = self._call(DescribeParameters, "describe_parameters", names=self.names).descriptors
        self.descriptors: dict[str, ParameterDescriptor] = {d.name: d for d in described}

    def _call(self, kind: Any, service: str, **request: Any) -> Any:
        client = self._graph.node.create_client(kind, f"{self._name}/{service}")
        return self._graph.call(client, kind.Request(**request))


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for key, value in tree.items():
        pairs |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return pairs


@pytest.mark.parametrize("name", NODES)
def test_each_parameter_has_a_description_and_a_range(name: str, graph: Graph) -> None:
    given = overrides(autostart=False, **BY_JOINT[name])
    with hosted(graph, NODES[name], parameter_overrides=given):
        described = Described(graph, name)
    assert len(described.names) > 20
    assert set(described.names) >= {key.replace("__", ".") for key in BY_JOINT[name]}
    for parameter, descriptor in described.descriptors.items():
        assert descriptor.description.endswith("."), parameter
        assert descriptor.read_only is (parameter not in LIVE.get(name, ())), parameter
        assert descriptor.type != ParameterType.PARAMETER_NOT_SET, parameter
        if descriptor.type == ParameterType.PARAMETER_DOUBLE:
            (span,) = descriptor.floating_point_range
            assert -math.inf < span.from_value < span.to_value < math.inf, parameter
        if descriptor.type == ParameterType.PARAMETER_INTEGER:
            assert len(descriptor.integer_range) == 1, parameter
    assert {n for n, d in described.descriptors.items() if d.additional_constraints} == CHOICES[name]


@pytest.mark.parametrize("name", NODES)
def test_the_file_of_a_node_has_all_parameters_with_their_defaults(name: str, graph: Graph) -> None:
    with hosted(graph, NODES[name], parameter_overrides=overrides(autostart=False)):
        described = Described(graph, name)
    simple = (str, bool, int, float)
    defaults = {key: v if isinstance(v, simple) else list(v) for key, v in described.values.items()}
    text = (ROOT / "config" / f"{name}.yaml").read_text()
    # What a profile gives stands in comments, because what a file sets counts more than the profile.
    for parameter in OF_PROFILES if name in ("feedforward", "controller") else ():
        text, count = re.subn(rf"^    # ({parameter}: .*)$", r"    \1", text, flags=re.MULTILINE)
        assert count == 1, parameter
    tree = yaml.safe_load(text)
    assert list(tree) == [f"/**/{name}"], "the file is for its node, in any namespace"
    file = flat(tree[f"/**/{name}"]["ros__parameters"])
    assert file == defaults | {"autostart": True}
    for parameter, value in file.items():
        assert type(value) is type(defaults[parameter]), f"rcl takes no {value!r} for {parameter}"
    # Parameters by joint have no defaults; comments give their names.
    for parameter in BY_JOINT[name]:
        prefix, _, kind = parameter.split("__")
        assert f"{prefix}.<joint>.{kind}" in text
