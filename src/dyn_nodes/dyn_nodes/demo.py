# SPDX-License-Identifier: Apache-2.0
"""The demonstration: a simulated robot follows a motion under PD control, without and with feedforward.

The nodes `simulation`, `controller` and `feedforward` run in processes of their own, on a DDS domain that
nothing else on this machine uses. The robot has joint friction, and is not quite as its description says.
Tracking errors are printed; a report with plots is written.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":  # signals come also during the imports below
    from dyn_nodes.executables import demo

    sys.exit(demo())

import argparse
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from dyn_nodes.demonstration.request import DemoRequest, Stop, Stopped


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration; return the exit code."""
    stop = Stop()
    given = list(sys.argv[1:] if arguments is None else arguments)
    cut = given.index("--ros-args") if "--ros-args" in given else len(given)
    options = _options(given[:cut], DemoRequest())
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot show must not stop the program.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with stop.at_once():
            # Imported here because it takes a second, in which the user may already stop the program.
            from dyn_core import DynError
            from dyn_core.cli.options import locked_joint
            from dyn_nodes.demonstration.demonstration_run import show
        try:
            request = DemoRequest(
                options.robot,
                options.side_file,
                options.duration,
                options.model_error,
                options.seed,
                options.rate,
                tuple(name for name in options.joints.split(",") if name),
                tuple(map(locked_joint, options.lock)),
                options.armature,
            )
            show(request, Path(options.out), given[cut:] if options.no_nodes else None, stop)
        except DynError as problem:
            print(f"demo: {problem}", file=sys.stderr)
            return 1
    except Stopped:
        print("demo: stopped", file=sys.stderr)
        return 130
    return 0


def _options(arguments: Sequence[str], request: DemoRequest) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[0])
    parser.add_argument("robot", nargs="?", default=request.robot, help="name of a robot, or a URDF file")
    parser.add_argument(
        "--out", default="demo", metavar="DIR", help="directory of report and data (default: demo)"
    )
    parser.add_argument(
        "--side-file",
        metavar="FILE",
        help="YAML file with rotor inertias and friction (default: the robot's own)",
    )
    for name, kind, metavar, text in (
        ("duration", float, "S", "of the motion"),
        ("model_error", float, "E", "of the simulated robot's parameters, 0 to 0.9"),
        ("seed", int, None, "of these errors"),
        ("rate", float, "HZ", "of joint states, references and torques, 50 to 2000"),
        ("armature", float, "A", "rotor inertia where none is described, kg m^2 or kg; -1: assumed, 0: none"),
    ):
        default = getattr(request, name)
        option, text = "--" + name.replace("_", "-"), f"{text} (default: {default:g})"
        parser.add_argument(option, type=kind, metavar=metavar, default=default, help=text)
    parser.add_argument(
        "--joints",
        default="",
        metavar="NAMES",
        help="joints that move, with commas between them (default: all)",
    )
    parser.add_argument(
        "--lock",
        action="append",
        default=[],
        metavar="JOINT=POSITION",
        help="a joint that does not move, and where it stands (rad or m); may be given several times",
    )
    parser.add_argument(
        "--no-nodes",
        action="store_true",
        help="start no nodes: use those that run, with the parameters of nodes.yaml of this "
        "demonstration; arguments of ROS go after --ros-args",
    )
    return parser.parse_args(arguments)
