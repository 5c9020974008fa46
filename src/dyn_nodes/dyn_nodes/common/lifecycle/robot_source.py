# SPDX-License-Identifier: Apache-2.0
"""Source of a robot (file, parameter or topic), its compiled model, and reloading while running."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from std_msgs.msg import String

import dyn_core
from dyn_core import DynError, ModelWarning, Robot
from dyn_core.core.text import is_xml_text, read_text
from dyn_core.robot.robot import checked_gravity
from dyn_core.robot.side_file.conversion import without_springs
from dyn_nodes.common import qos
from dyn_nodes.common.data_checks import Notice, Rejection, one_line, plausible
from dyn_nodes.common.decoding import MOST_BYTES, decoded
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.lifecycle.worker import Superseded, Worker
from dyn_nodes.common.parameters import declare

# Warnings about robots, which several threads load at a time

_LOCK = Lock()


@contextmanager
def caught_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Yield the list of warnings that this thread raises meanwhile, if all threads use this function.

    The warning filters belong to the process: without a lock, one thread would get the warnings of another,
    and could leave them switched off.
    """
    with _LOCK, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        yield caught


_NO_CHARACTER = "\ufffd"
"""Replacement character of messages and parameters for bytes that are not UTF-8."""


@dataclass(frozen=True)
class DescribedRobot:
    """A robot and its description."""

    robot: dyn_core.Robot
    text: str | None  # its URDF; None for other descriptions
    warnings: tuple[str, ...]  # warnings about the description, one sentence each
    # By joint: velocity over which Coulomb friction changes its sign (rad/s or m/s), from a parameter file
    coulomb_velocity: Mapping[str, float] = field(default_factory=dict)


_DESCRIPTIONS = {
    "robot_description": "Text of the URDF; empty: taken from description_file or the topic "
    "robot_description.",
    "description_file": "Path of a URDF file; empty: taken from robot_description (parameter or topic).",
    "side_file": "Path of a YAML file with loops, passive joints, rotor inertias, friction and springs.",
    "dynamic_parameters_file": "Path of the parameters.yaml that dyn identify has written, instead of "
    "masses, inertias, rotor inertias and friction of the description; empty: none.",
}


class RobotSource:
    """The parameters that select the robot of a node."""

    def __init__(self, node: Node) -> None:
        """Declare the parameters."""
        self._logger = node.get_logger()
        given = (declare(node, name, "", text) for name, text in _DESCRIPTIONS.items())
        self._text, self._file, self._side_file, self._dynamic_parameters_file = map(str, given)
        text = "Acceleration of gravity in the frame of the root link, m/s^2."
        self._gravity: list[float] = list(declare(node, "gravity", [0.0, 0.0, -9.81], text))

    def from_parameters(self) -> DescribedRobot | None:
        """Return the robot of the parameters, None where it comes from the topic; DynError if it is bad."""
        checked_gravity(self._gravity)
        if not plausible(self._gravity):
            raise DynError("gravity-implausible", given=self._gravity)
        if self._text and self._file:
            raise DynError("description-repeated")
        if self._text:
            if not is_xml_text(self._text):
                raise DynError("description-not-urdf")
            return self.described(self._text)
        if not self._file:
            return None
        described = self._load(self._file)
        text = read_text(self._file)
        return replace(described, text=text if is_xml_text(text) else None)

    def described(self, text: str) -> DescribedRobot:
        """Return the robot of a URDF text."""
        if not is_xml_text(text):
            raise DynError("message-not-urdf")
        if _NO_CHARACTER in text:
            raise DynError("urdf-not-utf8")
        return replace(self._load(text), text=text)

    def _load(self, source: str) -> DescribedRobot:
        with caught_warnings() as caught:
            robot = dyn_core.load_robot(source, loops=self._side_file or None, gravity=self._gravity)
        if not without_springs(robot).dof:
            raise DynError("robot-without-moving-joint", robot=robot.name)
        velocities: Mapping[str, float] = {}
        if self._dynamic_parameters_file:
            parameters = dyn_core.load_parameters(self._dynamic_parameters_file)
            robot = parameters.applied_to(robot)
            velocities = parameters.coulomb_velocity
            date = parameters.made.get("date", "")
            self._logger.info(
                one_line(f"dynamic parameters are those of '{parameters.source}'{date and f', made {date}'}")
            )
        return DescribedRobot(robot, None, tuple(str(w.message) for w in caught), velocities)


@dataclass(frozen=True)
class LoadedModel:
    """The model in use. A reload makes a new one; parts of two models are never mixed."""

    robot: dyn_core.Robot  # the robot; with springs behind motors, the robot with rigid joints
    model: dyn_core.Model  # its compiled dynamics, with the motors and springs
    effort_limit: NDArray[np.float64]  # of each joint (N m or N), infinite where it is unknown, (n,)
    coulomb_velocity: NDArray[np.float64]  # as of DescribedRobot, else 0, (n,)


def compiled(described: DescribedRobot, parameters: Literal["baked", "runtime"] = "baked") -> LoadedModel:
    """Compile the dynamics of a robot; "runtime" is for dynamic parameters that change later."""
    robot = without_springs(described.robot)
    efforts = (robot.limits[name].effort for name in robot.coordinate_names)
    limits = np.array([np.inf if effort is None else effort for effort in efforts])
    # The search for detours would delay torques.
    model = dyn_core.compile_model(described.robot, parameters, detours=False)
    velocities = np.array([described.coulomb_velocity.get(name, 0.0) for name in robot.coordinate_names])
    return LoadedModel(robot, model, limits, velocities)


def refuse_moving_base(robot: Robot, what: str, instead: str = "") -> None:
    """Raise DynError for a robot with a moving base, as `what` needs a fixed one; `instead` is allowed."""
    if robot.base is not None:
        values: dict[str, Any] = {"robot": robot.name, "base": robot.base, "operation": what}
        if instead:
            raise DynError("side-file-base-misplaced", **values, alternative=instead, element="base")
        raise DynError("side-file-base-moves", **values, element="base")


# Loading another robot in a thread, while the present one stays in use

Prepared = TypeVar("Prepared")
Done = Callable[[DynError | None], object]


class Loaded(NamedTuple, Generic[Prepared]):
    """A robot that is ready for use."""

    described: DescribedRobot
    prepared: Prepared  # everything that the node derives from it


@dataclass(frozen=True)
class _Request:
    """A robot to load."""

    text: str | None  # the URDF; None for the source that the parameters give
    unless_hash: str = ""  # hash of the description that need not be loaded; empty to load it in any case
    done: Done | None = None  # takes why the robot is not used, or None where it is; None for the topic


class Reload(Generic[Prepared]):
    """Loads robots from the topic robot_description and from requests.

    `problem` is why the last description of the topic is not in use; None where it is.
    """

    def __init__(
        self,
        node: ManagedNode,
        source: RobotSource,
        prepare: Callable[[DescribedRobot], Prepared],
        use: Callable[[Loaded[Prepared]], None],
        present: Callable[[], Robot | None],
        *,
        from_topic: bool,
    ) -> None:
        """Subscribe to the topic if the robot comes from there.

        `prepare` derives what the node needs, in the thread; `use` switches to the robot, in the executor;
        both raise DynError where they cannot.
        """
        self.problem: Notice | None = None
        self._node = node
        self._source = source
        self._prepare = prepare
        self._use = use
        self._present = present
        self._text: str | None = None
        self._closed = False
        self._from_topic = from_topic
        self._open: list[Done] = []
        self._pending = 0
        self._worker: Worker[_Request, Loaded[Prepared] | None] = Worker(self._load, self._woken)
        self._subscription = None
        if from_topic:
            topic, callback = "robot_description", self._on_description
            self._subscription = node.create_subscription(String, topic, callback, qos.LATCHED, raw=True)

    def ask(self, text: str, done: Done) -> None:
        """Load the robot of a URDF, empty for the configured source; then call `done` in the executor."""
        again = self._text if self._from_topic else None
        size = len(text.encode(errors="replace"))
        if size > MOST_BYTES[String]:
            done(DynError("message-too-large", message="the text", size=size, limit=MOST_BYTES[String]))
            return
        if not text and again is None and self._from_topic:
            done(DynError("description-not-received"))
            return
        self._open.append(done)
        self._ask(_Request(text or again, done=done))

    def close(self) -> None:
        """Close the topic; a robot that is being loaded is not used."""
        self._closed = True
        for done in self._open:
            done(DynError("node-closed"))
        self._open = []
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)

    def _load(self, request: _Request) -> Loaded[Prepared] | None:
        """Load a robot, in the thread; None where it need not be loaded."""
        source, text = self._source, request.text
        described = source.from_parameters() if text is None else source.described(text)
        if described is None or described.robot.description_hash == request.unless_hash:
            return None
        self._node.get_logger().info(f"preparing robot '{described.robot.name}'")
        return Loaded(described, self._prepare(described))

    def _woken(self) -> None:
        # Requests come from callbacks, so there is an executor, unless the node has been removed. A guard
        # condition does not work: the events executor ignores guard conditions.
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._node.contained(self._on_outcomes))

    def _on_description(self, raw: bytes) -> None:
        try:
            message = decoded(String, raw, "robot_description")
        except Rejection as problem:
            self._say(DynError(problem.code, **problem.values))
            return
        self._text = message.data
        present = self._present()
        # While another robot is being loaded, the present one may be replaced before this one is loaded.
        skipped = present.description_hash if present and not self._pending else ""
        self._ask(_Request(message.data, unless_hash=skipped))

    def _ask(self, request: _Request) -> None:
        self._pending += 1
        self._worker.ask(request)

    def _on_outcomes(self) -> None:
        """Use the loaded robots, or report why they are not used."""
        if self._closed:
            return
        for request, loaded, problem in self._worker.outcomes():
            self._pending -= 1
            if loaded is not None:
                try:
                    self._use(loaded)
                except DynError as misfit:
                    problem = misfit
            if request.done is not None:
                self._open.remove(request.done)
                request.done(problem)
            elif not isinstance(problem, Superseded):
                self._say(problem)

    def _say(self, problem: DynError | None) -> None:
        self.problem = None
        if problem is not None:
            present = self._present()
            self.problem = Notice("description-unusable-yet", cause=problem)
            if present is not None:
                self.problem = Notice("description-unusable", cause=problem, robot=present.name)
            self._node.get_logger().error(one_line(str(self.problem)))
