# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `identification`, checked as far as this can be done without a robot."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from rclpy.node import Node

from dyn_core import DynError
from dyn_core.excitation.box_file import read_boxes
from dyn_core.excitation.excitation_settings import ForbiddenBox
from dyn_core.excitation.settings import ExcitationSettings
from dyn_nodes.apply_settings import ApplySettings, declared_apply
from dyn_nodes.common.parameters import PART, declare
from dyn_nodes.estimation_settings import declared_estimation
from dyn_nodes.excitation_settings import declared_excitation
from dyn_nodes.identification.computation_requests import EstimationSettings
from dyn_nodes.identification.motion_run import RunSettings
from dyn_nodes.max_age import declared_max_age
from dyn_nodes.online_settings import OnlineSettings, declared_online
from dyn_nodes.run_settings import declared_run

OutputKind = Literal["trajectory", "reference"]


@dataclass(frozen=True)
class IdentificationNodeSettings:
    """All parameters of the node.

    Attributes:
        output: how motions are sent.
        rate: of references (Hz).
        directory: where directories of results go.
        max_age: greatest difference between a stamp and the clock of the node (s).
        run: when a run is stopped, and how.
        approach: part of the velocity limits on the way to the beginning of a motion.
        effort_part: part of the effort limits that a motion may ask for.
        start_delay: from sending a motion to its beginning (s).
        point_period: time between the points of a trajectory that is sent (s).
        boxes: where the robot must not be.
        excitation: what exciting motion is computed.
        estimation: how parameters are estimated.
        apply: how results are handed on.
        online: how parameters are estimated meanwhile.
    """

    output: OutputKind
    rate: float
    directory: Path
    max_age: float
    run: RunSettings
    approach: float
    effort_part: float
    start_delay: float
    point_period: float
    boxes: tuple[ForbiddenBox, ...]
    excitation: ExcitationSettings
    estimation: EstimationSettings
    apply: ApplySettings
    online: OnlineSettings


def declared_identification(node: Node) -> IdentificationNodeSettings:
    """Declare the parameters and answer their values; DynError where one will not do."""
    file: str = declare(
        node,
        "forbidden_boxes",
        "",
        "Path of a YAML file with boxes of joint space where the robot must not be; empty: none.",
    )
    try:
        boxes = read_boxes(file) if file else ()
    except DynError as problem:
        raise DynError(f"parameter forbidden_boxes: {problem}") from problem
    return IdentificationNodeSettings(
        output=declare(
            node,
            "output",
            "trajectory",
            "How motions are sent: 'trajectory' sends them whole on ~/joint_trajectory, 'reference' point by "
            "point on ~/reference, which stops with this node.",
            choices=get_args(OutputKind),
        ),
        rate=declare(node, "rate", 200.0, "Rate of references, Hz.", within=(10.0, 2000.0)),
        directory=_directory(
            declare(
                node,
                "directory",
                "",
                "Where a directory is made for each run; empty: identification in the directory of ROS "
                "(ROS_HOME, ~/.ros).",
            )
        ),
        max_age=declared_max_age(node),
        run=declared_run(node),
        approach=declare(
            node,
            "approach_speed",
            0.2,
            "Part of the velocity limits that is used on the way to the beginning of a motion.",
            within=PART,
        ),
        effort_part=declare(
            node,
            "effort_part",
            0.9,
            "Part of the effort limits that a motion may ask for, by the model.",
            within=PART,
        ),
        start_delay=declare(
            node,
            "start_delay",
            0.1,
            "Time from sending a motion to its beginning, s: messages take their time.",
            within=(0.0, 10.0),
        ),
        point_period=declare(
            node,
            "point_period",
            0.02,
            "Time between the points of a trajectory that is sent, s.",
            within=(0.001, 1.0),
        ),
        boxes=boxes,
        excitation=declared_excitation(node, boxes),
        estimation=declared_estimation(node),
        apply=declared_apply(node),
        online=declared_online(node),
    )


def _directory(given: str) -> Path:
    if given:
        return Path(os.path.expanduser(given)).absolute()  # noqa: PTH111 - an unknown ~user is left as it is
    home = os.environ.get("ROS_HOME") or os.path.join(os.path.expanduser("~"), ".ros")  # noqa: PTH111, PTH118
    return Path(home).absolute() / "identification"
