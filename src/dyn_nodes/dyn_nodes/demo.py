# SPDX-License-Identifier: Apache-2.0
"""The demonstration: a simulated robot follows a motion under PD control, without and with feedforward.

The nodes `simulation`, `controller` and `feedforward` run in processes of their own, on a DDS domain that
nothing else on this machine uses. The robot has joint friction, and is not quite as its description says.
Tracking errors are printed; a report with plots is written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from dyn_nodes.demonstration.request import Stop
from dyn_nodes.demonstration.stopped import DemoError, Stopped
from dyn_nodes.demonstration.wish import Wish


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration; answer the exit code."""
    stop = Stop()
    given = list(sys.argv[1:] if arguments is None else arguments)
    cut = given.index("--ros-args") if "--ros-args" in given else len(given)
    options = _options(given[:cut], Wish())
    wish = Wish(options.robot, options.side_file, options.duration, options.model_error, options.seed)
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot show is no reason to stop.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with stop.at_once():
            # Here and not above: it takes a second, in which the user may have had enough already.
            from dyn_core import DynError
            from dyn_nodes.demonstration.demonstration_run import show
        try:
            show(wish, Path(options.out), given[cut:] if options.no_nodes else None, stop)
        except (DynError, DemoError) as problem:
            print(f"demo: {problem}", file=sys.stderr)
            return 1
    except Stopped:
        print("demo: stopped", file=sys.stderr)
        return 130
    return 0


def _options(arguments: Sequence[str], wish: Wish) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[0])
    parser.add_argument("robot", nargs="?", default=wish.robot, help="name of a robot, or a URDF file")
    parser.add_argument(
        "--out", default="demo", metavar="DIR", help="directory of report and data (default: demo)"
    )
    parser.add_argument(
        "--side-file",
        metavar="FILE",
        help="YAML file with rotor inertias and friction (default: the robot's own)",
    )
    parser.add_argument(
        "--duration",
        type=float,
        default=wish.duration,
        metavar="S",
        help=f"of the motion (default: {wish.duration:g})",
    )
    parser.add_argument(
        "--model-error",
        type=float,
        default=wish.model_error,
        metavar="E",
        help=f"of the simulated robot's parameters, 0 to 0.9 (default: {wish.model_error:g})",
    )
    parser.add_argument("--seed", type=int, default=wish.seed, help=f"of these errors (default: {wish.seed})")
    parser.add_argument(
        "--no-nodes",
        action="store_true",
        help="start no nodes: use those that run, which have the parameters in nodes.yaml of the same wish; "
        "arguments of ROS go after --ros-args",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
