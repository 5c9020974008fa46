# SPDX-License-Identifier: Apache-2.0
"""Declaration of node parameters: type, range, description, lists, settings with a parameter per field."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from dyn_core import DynError

PART = (0.01, 1.0)
"""Range of parameters that are a fraction of something."""
SECONDS = (0.0, 3600.0)
"""Range of durations (s)."""
TIMEOUT = (0.001, 60.0)
"""Range of times after which data is stale (s)."""
_OF_RCLPY = ("use_sim_time", "start_type_description_service", "qos_overrides.")
RATE = (1.0, 2000.0)
"""Range of the rate of torques (Hz)."""
_NO_NAMES = [""]
"""Default of a list of names: ROS cannot tell the type of an empty list, and a parameter without a value
hides the parameters of its node."""
_Value = TypeVar("_Value")
_Settings = TypeVar("_Settings")

# Single parameters: they are read-only, unless they are live


def declare(
    node: Node,
    name: str,
    default: Any,
    description: str,
    *,
    within: tuple[float, float] | None = None,
    choices: Sequence[str] = (),
    live: bool = False,
) -> Any:
    """Declare a parameter of the type of its default, and return its value.

    `within` is the closed range of a float, `choices` are all allowed values of a text. A `live` one can be
    changed while the node runs.
    """
    ranges = [FloatingPointRange(from_value=within[0], to_value=within[1])] if within else []
    listed = ", ".join(f"'{choice}'" for choice in choices)
    constraints = f"one of {listed}" if choices else ""
    of_value = {"additional_constraints": constraints, "floating_point_range": ranges}
    value = _declare(node, name, default, description, live, **of_value)
    if choices and value not in choices:
        raise DynError("parameter-choice-unknown", parameter=name, given=value, known=listed)
    return value


def declare_names(
    node: Node, name: str, description: str, choices: Sequence[str] = (), *, live: bool = False
) -> tuple[str, ...]:
    """Declare a list of names, of `choices` if these are given, and return it; by default ()."""
    listed = ", ".join(f"'{choice}'" for choice in choices)
    constraints = f"any of {listed}" if choices else ""
    names = list(_declare(node, name, _NO_NAMES, description, live, additional_constraints=constraints))
    if names == _NO_NAMES:
        return ()
    for given in names if choices else ():
        if given not in choices:
            raise DynError("parameter-choice-unknown", parameter=name, given=given, known=listed)
    return tuple(names)


def declare_integer(node: Node, name: str, default: int, description: str, within: tuple[int, int]) -> int:
    """Declare an integer in a closed range, and return it."""
    span = IntegerRange(from_value=within[0], to_value=within[1], step=1)
    return int(_declare(node, name, default, description, False, integer_range=[span]))


def _declare(node: Node, name: str, default: Any, description: str, live: bool, **constraints: Any) -> Any:
    default = getattr(node, "profile_defaults", {}).get(name, default)
    if node.has_parameter(name):
        # A node that declares its overrides itself does so without a description.
        node.undeclare_parameter(name)
    if live:
        live_names: set[str] = getattr(node, "live_names", set())
        live_names.add(name)
    descriptor = ParameterDescriptor(description=description, read_only=not live, **constraints)
    return node.declare_parameter(name, default, descriptor).value


# Dataclasses of settings with a parameter for each field


def parameter(
    default: _Value,
    description: str,
    within: tuple[float, float] | None = None,
    choices: Sequence[str] = (),
    name: str = "",
    *,
    live: bool = False,
) -> _Value:
    """Return a field of a dataclass that `declared` declares; `name` is empty where the field has it."""
    described = (name, description, within, choices, live)
    return dataclasses.field(default=default, metadata={"parameter": described})


def declared(node: Node, settings: type[_Settings], /, **others: Any) -> _Settings:
    """Declare the parameters of a dataclass; return it with their values, and `others` for other fields."""
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        if "parameter" in field.metadata:
            name, description, within, choices, live = field.metadata["parameter"]
            name = name or field.name
            others[field.name] = declare(
                node, name, field.default, description, within=within, choices=choices, live=live
            )
    return settings(**others)


MAX_AGE_S = 0.1


def declared_max_age(node: Node) -> float:
    """Declare `max_age`, of all nodes that read stamps, and return its value (s)."""
    text = "Messages whose stamp differs by more than this from the clock of the node, s, are not used."
    value: float = declare(node, "max_age", MAX_AGE_S, text, within=TIMEOUT)
    return value


# Parameters by joint, and unknown parameters


def declare_for_joints(
    node: Node, prefix: str, description: str, *, within: tuple[float, float]
) -> dict[str, float]:
    """Declare the given float parameters ``<prefix>.<joint>``; return their values by joint.

    `description` contains ``{joint}``. The node has to declare its overrides automatically.
    """
    return {
        joint: declare(node, f"{prefix}.{joint}", 0.0, description.format(joint=joint), within=within)
        for joint in node.get_parameters_by_prefix(prefix)
    }


def declare_by_joint(
    node: Node,
    prefix: str,
    kinds: Mapping[str, str],
    *,
    within: tuple[float, float],
    others: Collection[str] = (),
    live: bool = False,
) -> dict[str, dict[str, float]]:
    """Declare the given float parameters ``<prefix>.<joint>.<kind>``; return their values by kind and joint.

    `kinds` has the description of each allowed last part, where ``{joint}`` is the joint; `others` are last
    parts of parameters ``<prefix>.<other>``, which are declared elsewhere. The node has to declare its
    overrides automatically.
    """
    values: dict[str, dict[str, float]] = {kind: {} for kind in kinds}
    for name in node.get_parameters_by_prefix(prefix):
        if name in others:
            continue
        joint, _, kind = name.rpartition(".")
        if not joint or kind not in kinds:
            known = " or ".join(f"{prefix}.<joint>.{kind}" for kind in kinds)
            raise DynError("parameter-name-unknown", parameter=f"{prefix}.{name}", known=known)
        # The default 0 only gives the type; the value is the one that was given.
        description = kinds[kind].format(joint=joint)
        values[kind][joint] = declare(node, f"{prefix}.{name}", 0.0, description, within=within, live=live)
    return values


def ignored_parameters(node: Node) -> list[str]:
    """Return the given parameters without a description, which no code has declared.

    The node has to declare its overrides automatically.
    """
    names = node.get_parameters_by_prefix("")
    return sorted(
        name
        for name in names
        if not name.startswith(_OF_RCLPY) and not node.describe_parameter(name).description
    )


# Parameters that change while a node runs


class ChangedParameters:
    """The parameters of a node with some other values, as functions that declare them take a node."""

    def __init__(self, node: Node, changed: Mapping[str, Any]) -> None:
        """Take the present parameters, and the changed values by name."""
        self._node, self._changed = node, changed

    def has_parameter(self, name: str) -> bool:
        """Return False, so that nothing is undeclared."""
        return False

    def get_parameters_by_prefix(self, prefix: str) -> Any:
        """Return the parameters with a prefix, by the rest of their names."""
        return self._node.get_parameters_by_prefix(prefix)

    def declare_parameter(self, name: str, default: Any, descriptor: Any) -> Any:
        """Return a parameter."""
        return SimpleNamespace(value=self._changed.get(name, self._node.get_parameter(name).value))

    def get_logger(self) -> Any:
        """Return a log that keeps nothing: what is said of a profile was said at the start."""
        return SimpleNamespace(info=lambda _: None, warning=lambda _: None)
