# SPDX-License-Identifier: Apache-2.0
"""Every parameter of every node with invalid values: one sentence, before anything is published."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.context import Context
from rclpy.exceptions import ParameterException
from rclpy.parameter import Parameter
from robot_files import ROBOTS, ROOT
from sentence_patterns import said
from simulation_client import overrides

from dyn_core import DynError
from dyn_nodes.common.data_checks import one_line
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.compose import NODES

OF_JOINTS = {
    "feedforward": ("gains.lift.p", "gains.lift.d"),
    "controller": ("gains.lift.p", "gains.lift.i", "gains.lift.d"),
    "simulation": ("initial.lift.position", "initial.lift.velocity"),
    "governor": tuple(f"limits.lift.{kind}" for kind in ("velocity", "effort", "power", "braking_power")),
    "identification": ("joints.lift.max_tracking_error",),
}
OF_JOINTS = {name: (*known, "locked_joints.turn") for name, known in OF_JOINTS.items()}
WHOLE_ROBOT = {"payload.link": "slider", "payload.mass": 1.0}
"""With these values the other parameters of a payload are used."""
OF_RCLPY = ("use_sim_time", "start_type_description", "qos_overrides")
UNBOUNDED_TEXT = (
    *("robot_description", "description_file", "side_file", "dynamic_parameters_file", "payload.link"),
    *("directory", "limits_file"),
)


@contextmanager
def made(make_node: Callable[..., ManagedNode], context: Context, **values: Any) -> Iterator[ManagedNode]:
    given = overrides(description_file=str(ROBOTS["rrp"]), **values)
    node = make_node(context=context, use_global_arguments=False, parameter_overrides=given)
    try:
        yield node
    finally:
        node.end()
        node.destroy_node()


def bad_values(name: str, parameter: Parameter | None) -> list[Any]:
    """Values of other types, values that are not finite, and values far out of range."""
    kind = Parameter.Type.DOUBLE if parameter is None else parameter.type_
    numbers = [math.nan, math.inf, -math.inf, 1e308, -1e308]
    if kind is Parameter.Type.DOUBLE:
        return [*numbers, 1, "much", True, [0.1]]
    if kind is Parameter.Type.DOUBLE_ARRAY:
        count = 6 if name == "payload.inertia" else 3
        return [*([number] * count for number in numbers), [1.0], [1, 2, 3], 0.5, "down"]
    if kind is Parameter.Type.INTEGER:
        return [-1, 0.5, "one", [1]]
    if kind is Parameter.Type.BOOL:
        return [1, "yes", 0.0]
    if kind is Parameter.Type.STRING_ARRAY:
        return [["nobody"], ["lift", "lift"], ["lift", ""], "lift", [1]]
    return [5, True, ["a"], *(() if name in UNBOUNDED_TEXT else ("\n", "x" * 1000))]


@pytest.mark.promise("parameter-bad")
@pytest.mark.parametrize("name", NODES)
def test_an_invalid_value_is_rejected_with_its_name(name: str, context: Context) -> None:
    make_node = NODES[name]
    with made(make_node, context) as node:
        declared = {
            known: node.get_parameter(known)
            for known in node.get_parameters_by_prefix("")
            if not known.startswith(OF_RCLPY)
        }
    # They are set by the test itself, or accept any text.
    declared.pop("description_file")
    parameters = {**declared, **dict.fromkeys(OF_JOINTS[name])}
    assert len(parameters) > 20
    refused = 0
    for parameter, value in parameters.items():
        for bad in bad_values(parameter, value):
            given = {parameter: bad}
            if parameter.startswith("payload."):
                given = {**WHOLE_ROBOT, **given}
            with pytest.raises((DynError, ParameterException)) as problem, made(make_node, context, **given):
                pytest.fail(f"{parameter} may be {bad!r}")
            sentence = one_line(str(problem.value))
            assert re.search(parameter.split(".")[-1].rsplit("_", 1)[-1], sentence), sentence
            refused += 1
    assert refused > 80


@pytest.mark.promise("parameter-changed")
@pytest.mark.parametrize("name", NODES)
def test_other_parameters_cannot_be_changed_while_the_node_runs(name: str, context: Context) -> None:
    """Not to the value that they have, and not to another one that is allowed at the start."""
    given = dict.fromkeys((one.replace(".", "__") for one in OF_JOINTS[name]), 0.5)
    with made(NODES[name], context, **given) as node:
        own = [known for known in node.get_parameters_by_prefix("") if not known.startswith(OF_RCLPY)]
        assert {*OF_JOINTS[name], "autostart", "description_file"} <= set(own)
        page = (ROOT / "docs" / f"{name}.md").read_text() if node.live_names else ""
        for parameter in node.live_names - set(OF_JOINTS[name]):
            assert f"`{parameter}`" in page, parameter
        for parameter in set(own) - node.live_names:
            before = node.get_parameter(parameter)
            for value in (before.value, another(before, node.describe_parameter(parameter))):
                changed = Parameter(parameter, value=value)
                for result in (*node.set_parameters([changed]), node.set_parameters_atomically([changed])):
                    assert not result.successful, parameter
                    assert "read-only" in result.reason
            assert node.get_parameter(parameter).value == before.value


def another(parameter: Parameter, described: ParameterDescriptor) -> Any:
    """Return another value of a parameter, within its range."""
    value = parameter.value
    if isinstance(value, bool):
        return not value
    for span in (*described.floating_point_range, *described.integer_range):
        return span.to_value if value != span.to_value else span.from_value
    if isinstance(value, str):
        return f"{value}x"
    return [*value[:-1], value[-1] + value[-1] + type(value[-1])(1)] if len(value) else value


@pytest.mark.promise("parameter-unknown")
@pytest.mark.parametrize("name", NODES)
def test_an_unknown_parameter_is_warned_of(
    name: str, context: Context, capfd: pytest.CaptureFixture[str]
) -> None:
    with made(NODES[name], context, grvity=[0.0, 0.0, 0.0]):
        pass
    assert said("parameter-ignored", parameter="grvity").search(capfd.readouterr().err)
