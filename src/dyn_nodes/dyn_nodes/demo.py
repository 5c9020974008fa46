# SPDX-License-Identifier: Apache-2.0
"""The demonstration: a robot that moves, and the torques that the node `feedforward` sends for it.

The node runs in a process of its own, both on a DDS domain that nothing else on this machine uses.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from threading import Event

import rclpy
from ament_index_python.packages import get_package_share_directory
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import try_shutdown

from dyn_core import DynError
from dyn_msgs.msg import JointTorques
from dyn_nodes import robots
from dyn_nodes.child import node_process
from dyn_nodes.demo_robot import Answer, DemoRobot
from dyn_nodes.isolation import isolated_environment
from dyn_nodes.model_source import LoadedModel, load

RATE_HZ = 100.0
_CONNECT_LIMIT_S = 30.0
_ANSWER_LIMIT_S = 2.0


class Stopped(Exception):
    """The user has had enough."""


class DemoError(Exception):
    """The demonstration cannot go on; one sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration; answer the exit code."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[0])
    parser.add_argument("robot", nargs="?", default="rx90", help="name of a robot, or a URDF file")
    parser.add_argument("--duration", type=float, default=3.0, help="of the motion, s (default 3)")
    options = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot show is no reason to stop.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Not an exception: raised inside rclpy's C++ it would come out as another one.
        signal.signal(number, lambda *_: stop.set())
    try:
        run(options.robot, options.duration, stop)
    except (DynError, DemoError) as problem:
        print(f"demo: {problem}", file=sys.stderr)
        return 1
    except Stopped:
        print("demo: stopped", file=sys.stderr)
        return 130
    return 0


def run(robot: str, duration_s: float, stop: Event) -> None:
    """Move the robot for `duration_s`, then print what came back; Stopped when `stop` is set."""
    if not 0.0 < duration_s <= 3600.0:
        raise DemoError(f"the duration is {duration_s:g} s: give one above 0 and up to 3600 s")
    path = robots.find(robot)
    loaded = load(str(path), (0.0, 0.0, -9.81))
    description = path.read_text(encoding="utf-8-sig")
    share = Path(get_package_share_directory("dyn_nodes"))
    parameters = share / "config" / "feedforward.yaml"
    with isolated_environment(os.environ) as environment:
        print(_head(loaded, environment["ROS_DOMAIN_ID"]), flush=True)
        with (
            node_process(
                ["-m", "dyn_nodes.feedforward", "--ros-args", "--params-file", str(parameters)],
                environment,
            ) as node,
            _robot(description, loaded, environment) as (stand_in, executor),
        ):
            _exercise(stand_in, executor, node, duration_s, stop)
            print(_table(loaded, stand_in.answers[-1]))
            print(_summary(stand_in))


@contextmanager
def _robot(
    description: str, loaded: LoadedModel, environment: dict[str, str]
) -> Iterator[tuple[DemoRobot, SingleThreadedExecutor]]:
    """The stand-in for the robot, in this process and in the domain of `environment`."""
    os.environ.update(environment)
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = DemoRobot(description, loaded)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        yield node, executor
        node.destroy_node()
    finally:
        try_shutdown()


def _exercise(
    robot: DemoRobot,
    executor: SingleThreadedExecutor,
    node: subprocess.Popen[str],
    duration_s: float,
    stop: Event,
) -> None:
    """Connect, move for `duration_s`, and wait for the last answers."""

    def spin(until: Callable[[], bool], limit_s: float, otherwise: str | None) -> None:
        end = time.monotonic() + limit_s
        while not until():
            if stop.is_set():
                raise Stopped
            if node.poll() is not None:
                raise DemoError(f"the node feedforward ended with code {node.returncode}; see above")
            if time.monotonic() > end:
                if otherwise is None:
                    return
                raise DemoError(f"{otherwise} within {limit_s:g} s")
            executor.spin_once(timeout_sec=0.1)

    spin(lambda: robot.connected, _CONNECT_LIMIT_S, "the node feedforward was not heard")
    start = time.monotonic()
    timer = robot.create_timer(1.0 / RATE_HZ, lambda: robot.move(time.monotonic() - start))
    spin(lambda: False, duration_s, None)
    timer.cancel()
    spin(lambda: robot.unanswered == 0, _ANSWER_LIMIT_S, None)
    if not robot.answers:
        raise DemoError(f"none of {robot.sent} joint states was answered with torques")


def _head(loaded: LoadedModel, domain: str) -> str:
    return (
        f"Robot '{loaded.robot.name}' with {loaded.robot.dof} joints, "
        f"node 'feedforward' in a process of its own, ROS_DOMAIN_ID={domain}."
    )


def _table(loaded: LoadedModel, answer: Answer) -> str:
    """The last torques, one line for each joint."""
    units = [(joint.position_unit, joint.effort_unit) for joint in loaded.robot.independent_joints]
    width = max(len(name) for name in [*loaded.model.joint_names, "joint"])
    lines = [
        "",
        f"{'joint':{width}}  {'position':>14}  {'gravity torque':>16}  {'effort limit':>16}",
    ]
    values = zip(
        loaded.model.joint_names,
        answer.q,
        answer.torques.total,
        loaded.effort_limit,
        units,
        strict=True,
    )
    for name, q, torque, limit, (length, force) in values:
        numbers = f"{_shown(q):10.4f} {length:3}  {_shown(torque):12.4f} {force:3}  {limit:12.1f} {force:3}"
        lines.append(f"{name:{width}}  {numbers}")
    if answer.torques.status == JointTorques.STATUS_LIMITED:
        lines.append("The effort limit of at least one joint was reached.")
    return "\n".join(lines)


def _shown(value: float) -> float:
    """Answer a value as it is printed, without a sign where that is zero."""
    return round(value, 4) + 0.0


def _summary(robot: DemoRobot) -> str:
    latencies = sorted(answer.latency_s for answer in robot.answers)
    return (
        f"\n{len(robot.answers)} of {robot.sent} joint states at {RATE_HZ:g} Hz were answered; "
        f"from joint state out to torque in: median {1e3 * statistics.median(latencies):.2f} ms, "
        f"longest {1e3 * latencies[-1]:.2f} ms."
    )


if __name__ == "__main__":
    sys.exit(main())
