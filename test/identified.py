# SPDX-License-Identifier: Apache-2.0
"""A test's end of a graph with a node `identification`, and the robot that it moves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.action import ActionClient
from robot_files import ROBOTS
from ros_graph import Graph, NodeProcess
from simulated import Simulated, hosted, overrides
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core import compile_model, load_robot
from dyn_core.control.rich_motion import rich_motion
from dyn_msgs.action import Identify, RunTrajectory
from dyn_msgs.msg import IdentificationResult
from dyn_msgs.srv import ApplyParameters
from dyn_nodes.common import qos
from dyn_nodes.identification.node import Identification

JOINTS = ["turn", "lift", "stretch"]
START = [0.0, 0.2, 0.15]
PATIENT = {"timeout": 5.0, "max_age": 5.0, "max_tracking_error": 1.0}
"""The machine of the tests may stand still for a while."""


def exciting(duration: float, seed: int = 0) -> JointTrajectory:
    """An exciting motion of the robot rrp, from rest to rest."""
    robot = load_robot(ROBOTS["rrp"])
    found = rich_motion(compile_model(robot, "runtime"), duration, part_of_speed=0.6, seed=seed)
    times = np.linspace(0.0, duration, 1 + round(50 * duration))
    return trajectory(times, *found.at_many(times))


def trajectory(
    times: Sequence[float], q: Any, qd: Any = None, qdd: Any = None, names: Sequence[str] = JOINTS
) -> JointTrajectory:
    """A trajectory from rows of numbers."""
    points = []
    for k, t in enumerate(times):
        point = JointTrajectoryPoint(positions=list(q[k]))
        if qd is not None:
            point.velocities = list(qd[k])
        if qdd is not None:
            point.accelerations = list(qdd[k])
        nanoseconds = round(1e9 * t)
        point.time_from_start = Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
        points.append(point)
    return JointTrajectory(joint_names=list(names), points=points)


class Asked:
    """A goal that was sent."""

    def __init__(self, graph: Graph, client: ActionClient, goal: Any) -> None:
        self.graph = graph
        self.feedback: list[Any] = []
        graph.wait_for(client.server_is_ready)
        self.handle = graph.answered(
            lambda: client.send_goal_async(goal, feedback_callback=lambda m: self.feedback.append(m.feedback))
        )
        assert self.handle.accepted
        self._result = self.handle.get_result_async()

    @property
    def is_over(self) -> bool:
        return bool(self._result.done())

    def result(self) -> Any:
        """Wait for the result."""
        self.graph.wait_for(self._result.done)
        return self._result.result().result

    def status(self) -> int:
        """Wait for the status at the end."""
        self.graph.wait_for(self._result.done)
        return int(self._result.result().status)

    def cancel(self) -> None:
        """Cancel it and wait until that is accepted."""
        answer = self.handle.cancel_goal_async()
        self.graph.wait_for(answer.done)
        assert answer.result().goals_canceling


class Identified:
    """Talks with a node `identification`."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.robot = Simulated(graph)
        self._runs = ActionClient(graph.node, RunTrajectory, "identification/run_trajectory")
        self._identifications = ActionClient(graph.node, Identify, "identification/identify")
        self.apply = graph.node.create_client(ApplyParameters, "identification/apply")
        self.results: list[IdentificationResult] = []
        graph.node.create_subscription(
            IdentificationResult, "identification/result", self.results.append, qos.LATCHED
        )

    def run(self, motion: JointTrajectory, repetitions: int = 1) -> Asked:
        """Ask for a run."""
        goal = RunTrajectory.Goal(trajectory=motion, repetitions=repetitions)
        return Asked(self.graph, self._runs, goal)

    def identify(self, motion: JointTrajectory | None = None, log_file: str = "") -> Asked:
        """Ask for an identification."""
        goal = Identify.Goal(trajectory=motion or JointTrajectory(), log_file=log_file)
        return Asked(self.graph, self._identifications, goal)

    def hand_over(self, **request: Any) -> ApplyParameters.Response:
        """Call ~/apply."""
        return self.graph.call(self.apply, ApplyParameters.Request(**request))

    @property
    def told(self) -> DiagnosticStatus | None:
        """The newest that the node says on /diagnostics."""
        ours = [status for status in self.graph.diagnostics if status.name == "identification"]
        return ours[-1] if ours else None


def start_robot(
    graph: Graph,
    *more: str,
    nodes: Sequence[str] = ("simulation", "controller"),
    output: str = "joint_trajectory",
) -> NodeProcess:
    """Run a simulated robot and its controller in a process, which listens to the node `identification`.

    Args:
        graph: the graph.
        more: arguments of ROS.
        nodes: that are run.
        output: topic of `identification` that the controller listens to.
    """
    initial = [
        w for name, q in zip(JOINTS, START, strict=True) for w in ("-p", f"initial.{name}.position:={q}")
    ]
    return graph.start(
        *("-m", "dyn_nodes.compose", "--nodes", *nodes),
        *("--remap", "simulation/torques:=controller/torques"),
        f"controller/{output}:=identification/{output}",
        *("--ros-args", "-p", f"description_file:={ROBOTS['rrp']}", "-p", "brakes:=true"),
        *("-p", "natural_frequency:=8.0", "-p", "ramp_start:=0.0", "-p", "rate:=500.0"),
        *("-p", "timeout:=5.0", "-p", "max_age:=5.0", *initial, *more),
    )


@contextmanager
def identification(graph: Graph, **parameters: Any) -> Iterator[tuple[Identified, Identification]]:
    """The node in this process with the robot rrp, and the test's end."""
    ours = Identified(graph)
    given = overrides(**{"description_file": str(ROBOTS["rrp"]), **PATIENT, **parameters})
    with hosted(graph, Identification, parameter_overrides=given) as node:
        yield ours, node


def wait_until_it_stands(
    ours: Identified, names: Sequence[str] = JOINTS, start: Sequence[float] = START
) -> None:
    """Wait until the controller holds the robot, and the node knows where it is and who moves it.

    Args:
        ours: the test's end.
        names: of the joints.
        start: about where it stands (rad or m).
    """
    ours.graph.wait_for(
        lambda: (
            len(ours.robot.states) > 50
            and any(ours.robot.states[-1].effort)
            and max(map(abs, ours.robot.states[-1].velocity)) < 1e-3
        )
    )
    there, away = list(start), [start[0] + 0.5, *start[1:]]
    too_fast = trajectory([0.0, 0.01], [there, away], [[0.0] * len(names)] * 2, names=names)
    waiting = (
        *("no joint states", "nobody listens", "there is no robot", "has to stand still", "try again"),
        *("is not active", "is going on"),
    )
    ours.graph.wait_for(lambda: not any(part in ours.run(too_fast).result().message for part in waiting))
    ours.graph.diagnostics.clear()


def children_of(process: int, what: str = "") -> list[int]:
    """The processes that a process has started, with that in their command lines."""
    found = []
    for entry in os.listdir("/proc"):  # noqa: PTH208 - names alone
        try:
            if entry.isdecimal():
                status = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                ours = int(status[1]) == process and status[0] != "Z"
                if ours and what in Path(f"/proc/{entry}/cmdline").read_text():
                    found.append(int(entry))
        except OSError:
            continue
    return found
