# SPDX-License-Identifier: Apache-2.0
"""Where a node's robot comes from: a file, a parameter, or the topic robot_description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rclpy.node import Node

import dyn_core
from dyn_core import DynError
from dyn_core.core.text import is_xml_text, read_text
from dyn_core.model.gravity import checked_gravity
from dyn_nodes.caught_warnings import caught_warnings
from dyn_nodes.common.data_checks import one_line, plausible
from dyn_nodes.common.parameters import declare

_NO_CHARACTER = "\ufffd"
"""What messages and parameters have in the place of bytes that are not UTF-8."""


@dataclass(frozen=True)
class DescribedRobot:
    """A robot and its description.

    Attributes:
        robot: the robot.
        text: its URDF; None where it was described otherwise.
        warnings: what is suspicious about the description, one sentence each.
        coulomb_velocity: by joint, over which Coulomb friction changes its sign (rad/s or m/s), where a file
            of dynamic parameters says it.
    """

    robot: dyn_core.Robot
    text: str | None
    warnings: tuple[str, ...]
    coulomb_velocity: Mapping[str, float] = field(default_factory=dict)


class RobotSource:
    """The parameters that say which robot a node has."""

    def __init__(self, node: Node) -> None:
        """Declare the parameters."""
        self._logger = node.get_logger()
        self._text: str = declare(
            node,
            "robot_description",
            "",
            "Text of the URDF; empty: taken from description_file or the topic robot_description.",
        )
        self._file: str = declare(
            node,
            "description_file",
            "",
            "Path of a URDF file; empty: taken from robot_description (parameter or topic).",
        )
        self._side_file: str = declare(
            node,
            "side_file",
            "",
            "Path of a YAML file with loops, passive joints, rotor inertias, friction and springs.",
        )
        self._dynamic_parameters_file: str = declare(
            node,
            "dynamic_parameters_file",
            "",
            "Path of the parameters.yaml that dyn identify has written, which takes the place of masses, "
            "inertias, rotor inertias and friction of the description; empty: none.",
        )
        self._gravity: list[float] = list(
            declare(
                node,
                "gravity",
                [0.0, 0.0, -9.81],
                "Acceleration of gravity in the frame of the root link, m/s^2.",
            )
        )

    def from_parameters(self) -> DescribedRobot | None:
        """Answer the robot of the parameters; None where it comes from the topic; DynError if it is bad."""
        checked_gravity(self._gravity)
        if not plausible(self._gravity):
            raise DynError(f"parameter gravity is {self._gravity}: nothing falls like this")
        if self._text and self._file:
            raise DynError("both robot_description and description_file are set: leave one of them empty")
        if self._text:
            if not is_xml_text(self._text):
                raise DynError(
                    "parameter robot_description is not the text of a URDF: "
                    "give the path of a file as description_file"
                )
            return self.described(self._text)
        if not self._file:
            return None
        described = self._load(self._file)
        text = read_text(self._file)
        return replace(described, text=text if is_xml_text(text) else None)

    def described(self, text: str) -> DescribedRobot:
        """Answer the robot that the text of a URDF describes."""
        if not is_xml_text(text):
            raise DynError("the message is not the text of a URDF")
        if _NO_CHARACTER in text:
            raise DynError("the text of the URDF has characters that are not UTF-8")
        described = self._load(text)
        return replace(described, text=text)

    def _load(self, source: str) -> DescribedRobot:
        with caught_warnings() as caught:
            robot = dyn_core.load_robot(source, loops=self._side_file or None, gravity=self._gravity)
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
