# SPDX-License-Identifier: Apache-2.0
"""Clients of a node `identification`, and its simulated robot."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import message_makers
import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from message_makers import point
from rclpy.action import ActionClient
from robot_files import ROBOTS
from ros_graph import ATTEMPTS, Graph, NodeProcess
from sentence_patterns import said
from simulation_client import Simulated, hosted, overrides
from trajectory_msgs.msg import JointTrajectory

from dyn_core import compile_model, load_robot
from dyn_core.control.trajectories.fourier_motion import rich_motion
from dyn_msgs.action import Identify, RunTrajectory
from dyn_msgs.msg import IdentificationResult
from dyn_msgs.srv import ApplyParameters
from dyn_nodes.common import qos
from dyn_nodes.identification.node import Identification

JOINTS = ["turn", "lift", "stretch"]
START = [0.0, 0.2, 0.15]
PATIENT = {"timeout": 5.0, "max_age": 5.0, "max_tracking_error": 1.0}
"""The machine of the tests may pause for a while."""
LATE_S = 20.0
"""Time after which a goal is sent again, three times as long to a server that is known to hear it (s)."""


def exciting(duration: float, seed: int = 0) -> JointTrajectory:
    """An exciting motion of the robot rrp, from rest to rest."""
    model = compile_model(load_robot(ROBOTS["rrp"]), "runtime")
    found = rich_motion(model, duration, part_of_speed=0.6, seed=seed)
    times = np.linspace(0.0, duration, 1 + round(50 * duration))
    return trajectory(times, *found.at_many(times))


def trajectory(
    times: Sequence[float], q: Any, qd: Any = None, qdd: Any = None, names: Sequence[str] = JOINTS
) -> JointTrajectory:
    """A trajectory from rows of numbers."""
    tables = [rows for rows in (q, qd, qdd) if rows is not None]
    points = (point(t, *(rows[k] for rows in tables)) for k, t in enumerate(times))
    return message_makers.trajectory(*points, names=names)


class Asked:
    """A goal that was sent, with its feedback and result."""

    def __init__(self, graph: Graph, client: ActionClient, goal: Any, again_s: float = LATE_S) -> None:
        self.graph = graph
        self.feedback: list[Any] = []
        graph.wait_for(client.server_is_ready)
        self.handle = graph.answered(
            lambda: client.send_goal_async(
                goal, feedback_callback=lambda m: self.feedback.append(m.feedback)
            ),
            again_s,
        )
        assert self.handle.accepted
        self._answer = graph.answer(self.handle.get_result_async)

    @property
    def is_over(self) -> bool:
        return self._answer() is not None

    def result(self) -> Any:
        self.graph.wait_for(self._answer)
        return self._answer().result

    def says(self, code: str, **values: Any) -> bool:
        return bool(said(code, **values).search(self.result().message))

    def status(self) -> int:
        self.result()
        return int(self._answer().status)

    def cancel(self) -> bool:
        """Cancel it and return whether that was accepted: not where it is over."""
        response = self.graph.answered(self.handle.cancel_goal_async)
        assert response.goals_canceling or self.result()
        return bool(response.goals_canceling)

    @property
    def is_spoiled(self) -> bool:
        """Whether it ended because the machine stood still for a while."""
        return any(map(self.says, _SPOILED))

    def is_beyond(self, fraction: float) -> bool:
        """Whether this part of the motion is done."""
        return any(f.fraction > fraction for f in self.feedback)

    def wait_for_stage(self, stage: int) -> None:
        """Wait until a stage of an identification has begun, or the goal has ended."""
        self.graph.wait_for(lambda: self.is_over or any(f.progress.stage >= stage for f in self.feedback))


class Identified:
    """Client of a node `identification`."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.robot = Simulated(graph)
        self._runs = ActionClient(graph.node, RunTrajectory, "identification/run_trajectory")
        self._identifications = ActionClient(graph.node, Identify, "identification/identify")
        self._answered: set[ActionClient] = set()
        self.apply = graph.node.create_client(ApplyParameters, "identification/apply")
        self.results: list[IdentificationResult] = []
        graph.node.create_subscription(
            IdentificationResult, "identification/result", self.results.append, qos.LATCHED
        )

    def run(self, motion: JointTrajectory, repetitions: int = 1) -> Asked:
        return self._ask(self._runs, RunTrajectory.Goal(trajectory=motion, repetitions=repetitions))

    def identify(self, motion: JointTrajectory | None = None, log_file: str = "") -> Asked:
        goal = Identify.Goal(trajectory=motion or JointTrajectory(), log_file=log_file)
        return self._ask(self._identifications, goal)

    def _ask(self, client: ActionClient, goal: Any) -> Asked:
        # Of a goal that comes twice, the first runs unseen and the second is rejected: once a server has
        # answered, it knows the client, and is only late.
        asked = Asked(self.graph, client, goal, 3.0 * LATE_S if client in self._answered else LATE_S)
        self._answered.add(client)
        return asked

    def hand_over(self, **request: Any) -> ApplyParameters.Response:
        return self.graph.call(self.apply, ApplyParameters.Request(**request))

    @property
    def speed(self) -> float:
        """The greatest speed of a joint (rad/s or m/s) in the newest joint state."""
        return max(map(abs, self.robot.states[-1].velocity))

    def is_at_rest(self) -> bool:
        return self.speed < 1e-3

    def moving(self, fraction: float = 0.15, repetitions: int = 1) -> Asked:
        """Return a goal in the middle of its motion, beyond a fraction of it; one motion takes 6 s.

        A machine that stands still delays the motion so much that the controller refuses it.
        """

        def is_there() -> bool:
            return asked.is_over or (asked.is_beyond(fraction) and self.speed > 1e-2)

        for _ in range(ATTEMPTS):
            asked = self.run(exciting(6.0), repetitions)
            self.graph.wait_for(is_there)
            if not asked.is_over:
                return asked
            assert asked.result().success or asked.is_spoiled, asked.result().message
            wait_until_it_stands(self)
        raise AssertionError(asked.result().message)

    def done(
        self,
        send: Callable[[], Asked],
        is_good: Callable[[Any], object] = lambda result: result.success,
        names: Sequence[str] = JOINTS,
        start: Sequence[float] = START,
    ) -> Asked:
        """Send goals until the result of one is good; one that the machine did not spoil has to be good.

        Before each, wait as `wait_until_it_stands` does.
        """
        for _ in range(ATTEMPTS):
            wait_until_it_stands(self, names, start)
            asked = send()
            if is_good(result := asked.result()):
                return asked
            assert result.success or asked.is_spoiled, result.message
        raise AssertionError(asked.result())

    @property
    def statuses(self) -> list[DiagnosticStatus]:
        """What the node published on /diagnostics."""
        return [one for one in self.graph.diagnostics if one.name == "identification"]


BOTH = ("simulation", "controller")


def start_robot(
    graph: Graph, *more: str, nodes: Sequence[str] = BOTH, output: str = "joint_trajectory"
) -> NodeProcess:
    """Run a simulated robot and its controller in a process; it gets the `output` of `identification`."""
    places = zip(JOINTS, START, strict=True)
    initial = [word for name, q in places for word in ("-p", f"initial.{name}.position:={q}")]
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
    """The node in this process with the robot rrp, and its client."""
    ours = Identified(graph)
    given = overrides(**{"description_file": str(ROBOTS["rrp"]), **PATIENT, **parameters})
    with hosted(graph, Identification, parameter_overrides=given) as node:
        yield ours, node


@contextmanager
def standing_arm(
    graph: Graph, directory: Path, *more: str, robot: dict[str, Any] | None = None, **parameters: Any
) -> Iterator[tuple[Identified, Identification]]:
    """The node and its client, with a simulated arm at rest; `more` and `robot` are for `start_robot`."""
    start_robot(graph, *more, **(robot or {}))
    with identification(graph, directory=str(directory), **parameters) as (ours, node):
        wait_until_it_stands(ours)
        yield ours, node


_SPOILED = (
    *("tracking-error-exceeded", "effort-near-limit", "joint-states-stopped", "joint-states-refused"),
    *("joint-states-late", "joint-states-unusable", "robot-moving", "log-too-short"),
)
"""Why a goal is rejected, or ends, on a machine that stands still for a while."""

_WAITING = (
    *("joint-states-missing", "output-without-subscriber", "robot-not-received", "robot-moving"),
    *("rest-unknown", "node-inactive", "goal-running", "joint-states-late", "joint-states-unusable"),
)
"""Reasons for which a goal is rejected before the node, its robot and the controller are ready."""


def wait_until_it_stands(
    ours: Identified, names: Sequence[str] = JOINTS, start: Sequence[float] = START
) -> None:
    """Wait until the controller holds the robot near `start` (rad or m), and the node accepts goals."""
    states = ours.robot.states
    ours.graph.wait_for(lambda: len(states) > 50 and any(states[-1].effort) and ours.is_at_rest())
    away = [start[0] + 0.5, *start[1:]]
    too_fast = trajectory([0.0, 0.01], [list(start), away], [[0.0] * len(names)] * 2, names=names)
    ours.graph.wait_for(lambda: not any(map(ours.run(too_fast).says, _WAITING)))
    ours.graph.diagnostics.clear()


def lines_of(log_file: str | Path) -> list[list[str]]:
    with Path(log_file).open() as file:
        return list(csv.reader(file))


def is_running(process: int) -> bool:
    """Whether there is a process, and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children_of(process: int, what: str = "") -> list[int]:
    """Processes with this parent whose command lines contain a text."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            ours = int(status[1]) == process and status[0] != "Z"
            if ours and what in (entry / "cmdline").read_text():
                found.append(int(entry.name))
    return found
