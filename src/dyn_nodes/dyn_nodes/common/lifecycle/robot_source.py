# SPDX-License-Identifier: Apache-2.0
"""Source of a robot (file, parameter or topic), its compiled model, and reloading while running."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from std_msgs.msg import String

import dyn_core
from dyn_core import DynError, ModelWarning, Robot
from dyn_core.core.handover import recorded, replayed
from dyn_core.core.text import is_xml_text, read_text
from dyn_core.robot.robot import checked_gravity
from dyn_core.robot.side_file.conversion import without_springs
from dyn_core.robot.xml_text import LARGEST_LENGTH
from dyn_nodes.common import qos
from dyn_nodes.common.data_checks import Notice, Rejection, one_line, plausible
from dyn_nodes.common.decoding import MOST_BYTES, decoded
from dyn_nodes.common.lifecycle.computation_job import Job
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.parameters import declare, declare_for_joints, declare_names

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
    parameters_from: str = ""  # where its dynamic parameters are from, if not from the description


_DESCRIPTIONS = {
    "robot_description": "Text of the URDF; empty: taken from description_file or the topic "
    "robot_description.",
    "description_file": "Path of a URDF file; empty: taken from robot_description (parameter or topic).",
    "side_file": "Path of a YAML file with loops, passive joints, rotor inertias, friction and springs.",
    "dynamic_parameters_file": "Path of the parameters.yaml that dyn identify has written, instead of "
    "masses, inertias, rotor inertias and friction of the description; empty: none.",
}


class RobotSource:
    """The parameters that select the robot of a node. It is pickled for the process that loads robots.

    `held` has the joints that are locked because they never report, with their positions (rad or m).
    """

    def __init__(self, node: Node) -> None:
        """Declare the parameters."""
        given = (declare(node, name, "", text) for name, text in _DESCRIPTIONS.items())
        self._text, self._file, self._side_file, self._dynamic_parameters_file = map(str, given)
        text = (
            "Whether dynamic_parameters_file is used although its verdict is 'do not use'; a warning says it."
        )
        self._force: bool = declare(node, "force_dynamic_parameters", False, text)
        text = "Acceleration of gravity in the frame of the root link, m/s^2."
        self._gravity: list[float] = list(declare(node, "gravity", [0.0, 0.0, -9.81], text))
        text = "Joints that move; all others are locked. Empty: all of the description."
        self._joints = declare_names(node, "joints", text)
        text = "Position at which joint '{joint}' is locked, rad or m."
        self._locked = declare_for_joints(
            node, "locked_joints", text, within=(-LARGEST_LENGTH, LARGEST_LENGTH)
        )
        self.held: dict[str, float] = {}

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
            robot = dyn_core.load_robot(
                source,
                loops=self._side_file or None,
                gravity=self._gravity,
                locked_joints=self._locked | self.held,
                joints=self._joints or None,
            )
        if not without_springs(robot).dof:
            raise DynError("robot-without-moving-joint", robot=robot.name)
        velocities: Mapping[str, float] = {}
        origin = ""
        if self._dynamic_parameters_file:
            parameters, given = self._parameters()
            caught += given
            robot = parameters.applied_to(robot)
            velocities = parameters.coulomb_velocity
            date = parameters.made.get("date", "")
            origin = f"'{parameters.source}'{date and f', made {date}'}"
        return DescribedRobot(robot, None, tuple(str(w.message) for w in caught), velocities, origin)

    def _parameters(self) -> tuple[dyn_core.ParameterSet, list[warnings.WarningMessage]]:
        """Return the parameters of the file, and the warnings about them."""
        with caught_warnings() as caught:
            return dyn_core.load_parameters(self._dynamic_parameters_file, force=self._force), caught


@dataclass(frozen=True)
class LoadedModel:
    """The model in use. A reload makes a new one; parts of two models are never mixed."""

    robot: dyn_core.Robot  # the robot; with springs behind motors, the robot with rigid joints
    model: dyn_core.Model  # its compiled dynamics, with the motors and springs
    effort_limit: NDArray[np.float64]  # of each joint (N m or N), infinite where it is unknown, (n,)
    coulomb_velocity: NDArray[np.float64]  # as of DescribedRobot, else 0, (n,)


def compiled(described: DescribedRobot, functions: Sequence[str]) -> LoadedModel:
    """Compile functions of a robot, whose dynamic parameters can be changed later."""
    robot = without_springs(described.robot)
    efforts = (robot.limits[name].effort for name in robot.coordinate_names)
    limits = np.array([np.inf if effort is None else effort for effort in efforts])
    # The search for detours would delay torques.
    model = dyn_core.compile_model(
        described.robot, "runtime", detours=False, open_rows="error", functions=functions
    )
    velocities = np.array([described.coulomb_velocity.get(name, 0.0) for name in robot.coordinate_names])
    return LoadedModel(robot, model, limits, velocities)


def refuse_moving_base(robot: Robot, what: str, instead: str = "") -> None:
    """Raise DynError for a robot with a moving base, as `what` needs a fixed one; `instead` is allowed."""
    if robot.base is not None:
        values: dict[str, Any] = {"robot": robot.name, "base": robot.base, "operation": what}
        if instead:
            raise DynError("side-file-base-misplaced", **values, alternative=instead, element="base")
        raise DynError("side-file-base-moves", **values, element="base")


# Loading another robot in another process, while the present one stays in use

Prepared = TypeVar("Prepared")
Done = Callable[[DynError | None], object]
Recipe = Callable[[DescribedRobot], object]
"""Makes what takes long of a robot; it is pickled for the process that loads robots."""

MOST_JOINT_ELEMENTS = 500
"""Most elements <joint> in a description from a message, with those of transmissions and of ros2_control."""
MOST_JOINTS = 100
"""Most moving joints of such a description; a humanoid robot with hands has seventy."""
MOST_MEMORY = min(4_000_000_000, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
"""Bound of the memory of the process that loads a robot, and of each of its compilers (bytes). A chain of 30
joints needs more than 1 GB in the node `governor`, one of 100 joints half of that in `feedforward`."""


class Loaded(NamedTuple, Generic[Prepared]):
    """A robot that is ready for use."""

    described: DescribedRobot
    prepared: Prepared  # everything that the node derives from it


class _Answer(NamedTuple):
    """Result of the process that loads a robot."""

    described: DescribedRobot
    results: list[bytes]  # results of slow work, each pickled; together they would stop the other threads


@dataclass(frozen=True)
class _Load:
    """A request to the process that loads robots."""

    source: RobotSource
    recipe: Recipe
    text: str | None  # the URDF; None for the source that the parameters give
    unless_hash: str  # hash of the description that need not be loaded; empty to load it in any case

    def __call__(self, tell: Callable[..., None]) -> _Answer | None:
        """Load the robot; return None where it need not be loaded."""
        text = self.text
        described = self.source.from_parameters() if text is None else self.source.described(text)
        if described is None or described.robot.description_hash == self.unless_hash:
            return None
        count = len(described.robot.joints)
        if text is not None and count > MOST_JOINTS:
            name = described.robot.name
            raise DynError("description-joints-too-many", robot=name, count=count, limit=MOST_JOINTS)
        tell(described.robot.name)
        results: list[bytes] = []
        with recorded(lambda result: results.append(pickle.dumps(result))):
            self.recipe(described)
        return _Answer(described, results)


class Reload(Generic[Prepared]):
    """Loads robots from the topic robot_description and from requests.

    Another process traces and compiles a robot. A thread then runs the same code with the results of
    the process, which takes little time. A newer description ends a process at once.

    `problem` is why the last description of the topic is not in use; None where it is.
    """

    def __init__(
        self,
        node: ManagedNode,
        source: RobotSource,
        recipe: Recipe,
        prepare: Callable[[DescribedRobot], Prepared],
        use: Callable[[Loaded[Prepared]], None],
        present: Callable[[], Robot | None],
        *,
        from_topic: bool,
    ) -> None:
        """Subscribe to the topic if the robot comes from there.

        `recipe` makes in the process what takes long, and `prepare` in the thread all that the node needs,
        with the same slow work; `use` switches to the robot, in the executor. All raise DynError where they
        cannot.
        """
        self.problem: Notice | None = None
        self._node = node
        self._source = source
        self._recipe = recipe
        self._prepare = prepare
        self._use = use
        self._present = present
        self._text: str | None = None
        self._from_topic = from_topic
        self._job: Job | None = None
        self._request: _Load | None = None  # what the job loads
        self._told: Done | None = None  # takes the outcome of the job, if it is for a request
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
        try:
            self._begin(text or again, "", done)
        except DynError as problem:
            done(problem)

    def close(self) -> None:
        """Close the topic; a robot that is being loaded is not used."""
        self._end(DynError("node-closed"))
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)

    def _on_description(self, raw: bytes) -> None:
        try:
            text = decoded(String, raw, "robot_description").data
        except Rejection as problem:
            self._say(DynError(problem.code, **problem.values))
            return
        if text != self._text:
            self._source.held = {}
        self._text = text
        request, present = self._request, self._present()
        if request is not None and request.text == text and self._told is None:
            return
        try:
            self._begin(text, "" if present is None else present.description_hash, None)
        except DynError as problem:
            self._say(problem)

    def _begin(self, text: str | None, unless_hash: str, told: Done | None) -> None:
        """Load a robot, and end the loading of another one; DynError if it is too large."""
        count = 0 if text is None else text.count("<joint")
        if count > MOST_JOINT_ELEMENTS:
            raise DynError("description-elements-too-many", count=count, limit=MOST_JOINT_ELEMENTS)
        self._end(DynError("request-superseded"))
        request = _Load(self._source, self._recipe, text, unless_hash)
        self._job = Job(
            self._node, request, self._begun, self._on_outcome, finish=self._finish, memory=MOST_MEMORY
        )
        self._request, self._told = request, told

    def _end(self, why: DynError) -> None:
        """End the loading of a robot, if there is one."""
        told, job = self._told, self._job
        self._job = self._request = self._told = None
        if job is not None:
            job.end()
        if told is not None:
            told(why)

    def _begun(self, name: str) -> None:
        self._node.get_logger().info(f"preparing robot '{name}'")

    def _finish(self, answer: _Answer | None) -> Loaded[Prepared] | None:
        """Do what is left for a loaded robot, in the thread; None where it need not be loaded."""
        if answer is None:
            return None
        with replayed(map(pickle.loads, answer.results)):
            return Loaded(answer.described, self._prepare(answer.described))

    def _on_outcome(self, loaded: Loaded[Prepared] | None, problem: DynError | None) -> None:
        """Use the loaded robot, or report why it is not used."""
        self._job = self._request = None
        if loaded is not None:
            try:
                self._use(loaded)
            except DynError as misfit:
                problem = misfit
        told, self._told = self._told, None
        if told is not None:
            told(problem)
        else:
            self._say(problem)

    def _say(self, problem: DynError | None) -> None:
        self.problem = None
        if problem is not None:
            present = self._present()
            self.problem = Notice("description-unusable-yet", cause=problem)
            if present is not None:
                self.problem = Notice("description-unusable", cause=problem, robot=present.name)
            self._node.get_logger().error(one_line(str(self.problem)))
