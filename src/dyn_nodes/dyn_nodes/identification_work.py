# SPDX-License-Identifier: Apache-2.0
"""The heavy parts of an identification, as requests that are called in another process."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dyn_core
from dyn_core import Robot
from dyn_core.excitation.excite import excite
from dyn_core.excitation.search import Progress
from dyn_core.excitation.settings import ExcitationSettings
from dyn_core.identification.identified import Identified
from dyn_core.identification.identify import IdentificationSettings, identify
from dyn_core.identification.motion import motion
from dyn_core.identification.pseudo_inertia import is_possible
from dyn_nodes.stage import Stage

Tell = Callable[[int, float], None]
"""Takes the stage, and how much of it is done."""


@dataclass(frozen=True)
class EstimationSettings:
    """How parameters are estimated.

    Attributes:
        train: part of the time that is fitted; the rest is held out.
        cutoff: of the filter of positions (Hz); 0 to choose it by the data.
        robust: whether outliers count less.
        friction: whether friction beyond that of the description's form is tried.
    """

    train: float = 0.65
    cutoff: float = 0.0
    robust: bool = False
    friction: bool = True


@dataclass(frozen=True)
class Excite:
    """Compute an exciting motion.

    Attributes:
        robot: the robot.
        settings: what motion.
        period: time between two of its points (s).
    """

    robot: Robot
    settings: ExcitationSettings
    period: float

    def __call__(self, tell: Tell) -> dict[str, Any]:
        """Answer the points of the motion, by the names of `TrajectoryPoints`, and its condition number."""

        def report(progress: Progress) -> None:
            tell(Stage.EXCITATION, progress.part)

        found = excite(self.robot, self.settings, report)
        duration = found.trajectory.duration
        count = math.ceil(duration / self.period - 1e-9)
        times = duration * np.arange(count + 1.0) / count
        q, qd, qdd = found.trajectory.at_many(times)
        return {
            "times": times.tolist(),
            "q": q.tolist(),
            "qd": qd.tolist(),
            "qdd": qdd.tolist(),
            "condition": found.condition,
            "notes": found.limits.notes,
        }


@dataclass(frozen=True)
class Estimate:
    """Estimate parameters from a log, and write them.

    Attributes:
        robot: the robot.
        log: path of the log.
        directory: where the files of the result go.
        settings: how.
    """

    robot: Robot
    log: str
    directory: str
    settings: EstimationSettings

    def __call__(self, tell: Tell) -> dict[str, Any]:
        """Answer what dyn_msgs/IdentificationResult has, by the names of its fields."""
        tell(Stage.FILTERING, 0.0)
        log = dyn_core.read_log(self.log, robot=self.robot)
        cutoff = self.settings.cutoff or None
        signals = dyn_core.condition(log, dyn_core.Protocol(cutoff=cutoff, train=self.settings.train))
        tell(Stage.ESTIMATION, 0.0)
        moved = motion(signals.time, signals.q, signals.qd, signals.qdd, signals.tau, signals.segments)
        found = identify(
            self.robot,
            moved,
            IdentificationSettings(
                train=self.settings.train, decimation=signals.decimate, robust=self.settings.robust
            ),
        )
        tell(Stage.VALIDATION, 1.0)
        warnings = [*found.remarks, *(str(finding) for finding in (*log.findings, *found.findings))]
        return outcome(self.robot, found, warnings)


def outcome(robot: Robot, found: Identified, warnings: list[str]) -> dict[str, Any]:
    """Answer what a dyn_msgs/IdentificationResult says."""
    held_out = found.consistent_errors.held_out
    estimator = {"wls": "weighted least squares", "irls": "iteratively reweighted least squares"}
    consistent = possible_bodies(robot, found.parameters)
    return {
        "name": [parameter.name for parameter in found.standard],
        "value": [parameter.value for parameter in found.standard],
        "standard_deviation": [parameter.deviation for parameter in found.standard],
        "method": estimator[found.protocol.estimator] + (", physically consistent" if consistent else ""),
        "physically_consistent": consistent,
        "condition_number": found.condition,
        "training_error": found.consistent_errors.fitted.relative,
        "validation_error": math.nan if held_out is None else held_out.relative,
        "joint_name": list(found.joint_names),
        "joint_validation_error": [] if held_out is None else list(held_out.by_joint),
        "warnings": warnings,
    }


def possible_bodies(robot: Robot, parameters: Any) -> bool:
    """Whether every link is a body that can exist."""
    kinds = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")
    return all(
        is_possible(np.array([parameters[f"{kind}{j}"] for kind in kinds]))
        for j in range(1, len(robot.joints) + 1)
    )
