# SPDX-License-Identifier: Apache-2.0
"""The public surface of the project as text: what users type, import, call and subscribe to.

`python test/public_surface.py` writes it to `test/golden/public_surface_*.txt`, with which
`test_repository.py` compares it. A change of the surface is a change of a golden file, and belongs into
the changelog.

Nothing here depends on the module in which a name is defined, on the name of a type alias, or on the words of
a description.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import runpy
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

from main_function import as_before
from public_names import python_surface, section, together
from rcl_interfaces.msg import ParameterType
from rclpy.action import get_action_server_names_and_types_by_node
from rclpy.parameter import Parameter
from robot_files import ROBOTS, ROOT
from ros_graph import ros_context

from dyn_nodes.compose import NODES
from dyn_nodes.demonstration.isolation import isolated_environment

GOLDEN = Path(__file__).with_name("golden")


def main() -> None:
    """Write the golden files."""
    with isolated_environment(os.environ) as environment, patch.dict(os.environ, environment):
        for name, surface in SURFACES.items():
            golden_file(name).write_text(surface())


def golden_file(name: str) -> Path:
    return GOLDEN / f"public_surface_{name}.txt"


def command_surface() -> str:
    """Return the installed programs, and every subcommand of `dyn` with its arguments."""
    setups = [(ROOT / "src" / package / "setup.py").read_text() for package in ("dyn_core", "dyn_nodes")]
    programs = [name for text in setups for name in re.findall(r'"(\w+) = [\w.]+:\w+"', text)]
    root = _parser("dyn_core")
    (commands,) = (a for a in root._actions if isinstance(a, argparse._SubParsersAction))
    parsers = {"dyn": root}
    parsers |= {f"dyn {name}": _parser("dyn_core", name) for name in sorted(commands.choices)}
    parsers |= {name: _parser(f"dyn_nodes.{name}") for name in ("compose", "demo")}
    described = (section(name, _arguments(parser)) for name, parser in parsers.items())
    return together([section("programs", sorted(programs)), *described])


def _parser(module: str, *command: str) -> argparse.ArgumentParser:
    """Return the parser that prints the help of a command: `python -m MODULE COMMAND --help`."""
    asked: list[argparse.ArgumentParser] = []
    with (
        as_before(),
        patch.object(argparse.ArgumentParser, "print_help", lambda parser, file=None: asked.append(parser)),
        patch.object(sys, "argv", [module, *command, "--help"]),
        contextlib.suppress(SystemExit),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # the module may be imported already
        runpy.run_module(module, run_name="__main__")
    (parser,) = asked
    return parser


def _arguments(parser: argparse.ArgumentParser) -> list[str]:
    """Return the arguments of a parser: positional ones in their order, then options by name."""
    of_parser = [a for a in parser._actions if not isinstance(a, argparse._SubParsersAction)]
    either = {id(a): g for g in parser._mutually_exclusive_groups for a in g._group_actions}
    lines = []
    for action in sorted(of_parser, key=lambda a: (bool(a.option_strings), a.option_strings)):
        words = [", ".join(action.option_strings) or str(action.metavar or action.dest)]
        if action.option_strings and action.nargs != 0:
            words.append(str(action.metavar or action.dest.upper()))
        if action.nargs not in (None, 0):
            words.append(f"nargs={action.nargs}")
        if action.choices is not None:
            words.append(f"one of {', '.join(map(str, action.choices))}")
        if action.required and action.option_strings:
            words.append("required")
        if action.default not in (None, argparse.SUPPRESS):
            words.append(f"default {action.default!r}")
        if id(action) in either:
            others = (other for other in either[id(action)]._group_actions if other is not action)
            words.append(f"not with {', '.join(name for other in others for name in other.option_strings)}")
        lines.append("  ".join(words))
    return lines


RRP = str(ROBOTS["rrp"])
JOINT = "turn"
"""A joint of that robot: some node parameters are given by joint."""
CONFIGURATIONS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "feedforward": [{"base.source": "imu"}, {"base.source": "odometry"}],
    "simulation": [{"description_file": RRP, "publish_clock": True}],
    "identification": [{"description_file": RRP, "online.enabled": True, "output": "reference"}],
}
"""Parameters that give a node more topics than by default."""
OF_ALL = re.compile(r"/rosout$|/parameter_events$|rcl_interfaces/srv|lifecycle_msgs/|_type_description")
"""Topics and services that all lifecycle nodes have."""


def node_surface() -> str:
    """Return the topics, services, actions and parameters of all nodes; in the domain of the environment."""
    with ros_context() as context:
        return together([_node(name, make, context) for name, make in sorted(NODES.items())])


def _node(name: str, make: Callable[..., Any], context: Any) -> str:
    """Return the interfaces of a node in all its configurations, and its default parameters."""
    text = (ROOT / "config" / f"{name}.yaml").read_text()
    by_joint = {f"{a}.{JOINT}.{b}": 0.5 for a, b in re.findall(r"\b(\w+)\.<joint>\.(\w+)", text)}
    ends: set[str] = set()
    parameters: list[str] = []
    for k, given in enumerate((by_joint, *CONFIGURATIONS.get(name, ()))):
        # The graph keeps a node for a while after its end, so each node gets a separate namespace.
        with _made(make, context, f"/given_{k}", given) as node:
            parameters = parameters or list(_parameters(node, by_joint))
            node.trigger_configure()
            node.trigger_activate()
            ends |= set(_ends(node))
    return section(f"node {name}", [*sorted(ends), *parameters])


@contextlib.contextmanager
def _made(
    make: Callable[..., Any], context: Any, namespace: str, parameters: Mapping[str, Any]
) -> Iterator[Any]:
    given = [Parameter(name, value=value) for name, value in {"autostart": False, **parameters}.items()]
    node = make(context=context, namespace=namespace, use_global_arguments=False, parameter_overrides=given)
    try:
        yield node
    finally:
        node.close()
        node.destroy_node()


def _ends(node: Any) -> Iterator[str]:
    """Return the topics, services and actions that a node has in the graph, with reliability."""
    name, namespace = of_node = node.get_name(), node.get_namespace()
    found = [
        *(("publishes", *end) for end in node.get_publisher_names_and_types_by_node(*of_node)),
        *(("subscribes", *end) for end in node.get_subscriber_names_and_types_by_node(*of_node)),
        *(("serves", *end) for end in node.get_service_names_and_types_by_node(*of_node)),
        *(("calls", *end) for end in node.get_client_names_and_types_by_node(*of_node)),
        *(("acts", *end) for end in get_action_server_names_and_types_by_node(node, *of_node)),
    ]
    for verb, path, kinds in found:
        shown = path.replace(f"{namespace}/{name}/", "~/").removeprefix(f"{namespace}/")
        # The type of the action is the same in both packages.
        for kind in (kind.replace("control_msgs/action/Follow", "dyn_msgs/action/Follow") for kind in kinds):
            if not ("/_action/" in path or OF_ALL.search(path) or OF_ALL.search(kind)):
                yield "  ".join([f"{verb:10}", shown, kind, *_quality(node, verb, path)])


def _quality(node: Any, verb: str, topic: str) -> list[str]:
    ask = {"publishes": node.get_publishers_info_by_topic, "subscribes": node.get_subscriptions_info_by_topic}
    ends = ask[verb](topic) if verb in ask else []
    own = [end.qos_profile for end in ends if end.node_name == node.get_name()]
    return sorted({f"{end.reliability.name}, {end.durability.name}".lower() for end in own})


def _parameters(node: Any, by_joint: Collection[str]) -> Iterator[str]:
    kinds = {value: key for key, value in vars(ParameterType).items() if key.startswith("PARAMETER_")}
    for name in sorted(node.get_parameters_by_prefix("")):
        if name.startswith(("qos_overrides.", "start_type_description_service")):
            continue
        described = node.describe_parameter(name)
        kind = kinds[described.type].removeprefix("PARAMETER_").lower()
        words = [name.replace(f".{JOINT}.", ".<joint>."), kind]
        if name not in by_joint and name != "autostart":
            value = node.get_parameter(name).value
            words.append(json.dumps(list(value) if kind.endswith("_array") else value))
        words += [f"from {r.from_value:g} to {r.to_value:g}" for r in described.floating_point_range]
        words += [f"from {r.from_value} to {r.to_value}" for r in described.integer_range]
        words += [described.additional_constraints] if described.additional_constraints else []
        words += ["read-only"] if described.read_only else []
        yield "  ".join(["parameter ", *words])


LAUNCH = (
    *("launch", "launch.actions", "launch.conditions", "launch.event_handlers", "launch.events"),
    *("launch.launch_description_sources", "launch.substitutions", "launch_ros", "launch_ros.actions"),
    *("launch_ros.parameter_descriptions", "launch_ros.substitutions", "launch_ros.utilities"),
)


def launch_surface() -> str:
    """Return the arguments of all launch files, read with a substitute for `launch`, which may be absent."""
    parts = []
    for path in sorted((ROOT / "launch").glob("*.launch.py")):
        arguments: list[str] = []
        stand_in = MagicMock()
        stand_in.DeclareLaunchArgument = lambda name, declared=arguments, **options: declared.append(
            _launch_argument(name, **options)
        )
        before = set(sys.modules)
        with patch.dict(sys.modules, dict.fromkeys(LAUNCH, stand_in)):
            runpy.run_path(str(path))["generate_launch_description"]()
        for module in {name for name in sys.modules if name.startswith("dyn_nodes.")} - before:
            del sys.modules[module]  # the module has been imported with the substitute
        parts.append(section(path.name, sorted(arguments)))
    return together(parts)


def _launch_argument(
    name: str, *, default_value: str | None = None, choices: Sequence[str] = (), **_: object
) -> str:
    words = [name, "required" if default_value is None else repr(default_value)]
    if default_value is not None and Path(default_value).is_absolute():
        words[1] = f"'.../{'/'.join(Path(default_value).parts[-2:])}'"
    return "  ".join([*words, *([f"one of {', '.join(map(repr, choices))}"] if choices else [])])


def message_surface() -> str:
    """Return the definitions of messages, services and actions without their comments."""
    parts = []
    for kind in ("msg", "srv", "action"):
        for path in sorted((ROOT / "src" / "dyn_msgs" / kind).glob(f"*.{kind}")):
            lines = (" ".join(line.partition("#")[0].split()) for line in path.read_text().splitlines())
            parts.append(section(f"{kind} {path.stem}", filter(None, lines)))
    return together(parts)


SURFACES: Mapping[str, Callable[[], str]] = {
    "python": python_surface,
    "command": command_surface,
    "nodes": node_surface,
    "launch": launch_surface,
    "messages": message_surface,
}
"""The parts of the surface, each with its function."""

if __name__ == "__main__":
    main()
