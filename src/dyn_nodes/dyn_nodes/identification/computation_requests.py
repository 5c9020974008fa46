# SPDX-License-Identifier: Apache-2.0
"""The heavy parts of an identification, as requests that are called in another process."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dyn_core import DynError, Protocol, Robot
from dyn_core.cli.version import VERSION
from dyn_core.core.arrays import Array
from dyn_core.excitation.excite import excite
from dyn_core.excitation.settings import ExcitationSettings
from dyn_core.excitation.trajectory_search import Progress
from dyn_core.identification.estimators.estimators import IN_WORDS
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.pipeline import make_result
from dyn_core.identification.pseudo_inertia import is_possible
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.identification.stages import IdentifyStage, ResultStage
from dyn_core.model.standard_parameters import INERTIAL
from dyn_core.results.result import Result
from dyn_core.results.write_result import write_result
from dyn_core.robot.robot_files import Loaded, read_robot
from dyn_nodes.stage import Stage

Tell = Callable[[int, float], None]
"""Takes the stage, and how much of it is done."""


Friction = Literal["auto", "unloaded", "standard"]
LeastSquares = Literal["ols", "wls", "irls", "tls"]
"""Estimators that need no simulation: what controller there is, and its gains, this node does not know."""


@dataclass(frozen=True)
class EstimationSettings:
    """How parameters are estimated.

    Attributes:
        train: part of the time that is fitted; the rest is held out.
        cutoff: of the filter of positions (Hz); 0 to choose it by the data.
        estimator: how parameters are estimated.
        friction: "auto" chooses a model by cross-validation, "unloaded" one that does not depend on the load;
            "standard" is viscous, Coulomb and offset alone.
        prior_weight: how much the description counts where the log says little.
    """

    train: float = 0.65
    cutoff: float = 0.0
    estimator: LeastSquares = "wls"
    friction: Friction = "auto"
    prior_weight: float = IdentificationSettings().prior_weight

    def of(self, robot: Robot) -> IdentificationSettings:
        """Answer the settings of the estimators for a robot."""
        return IdentificationSettings(
            friction=(FrictionModel(),) * robot.dof if self.friction == "standard" else None,
            loaded=self.friction == "auto",
            estimator=self.estimator,
            prior_weight=self.prior_weight,
        )


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
        source: its description, or the path of it.
        side_file: path of its side file; empty for none.
        log: path of the log.
        directory: where the files of the result go.
        settings: how.
    """

    robot: Robot
    source: str
    side_file: str
    log: str
    directory: str
    settings: EstimationSettings

    def __call__(self, tell: Tell) -> dict[str, Any]:
        """Answer what dyn_msgs/IdentificationResult has, by the names of its fields."""
        steps = list(IdentifyStage)

        def progress(stage: str) -> None:
            if stage in steps:
                tell(Stage.ESTIMATION, steps.index(IdentifyStage(stage)) / len(steps))
            elif stage in _STAGES:
                tell(*_STAGES[stage])

        result = make_result(
            self._loaded(),
            self.log,
            f"node identification {VERSION}",
            side_file=self.side_file or None,
            protocol=Protocol(cutoff=self.settings.cutoff or None, train=self.settings.train),
            settings=self.settings.of(self.robot),
            progress=progress,
        )
        tell(Stage.VALIDATION, 0.5)
        write_result(result, Path(os.path.realpath(self.directory)))
        return outcome(result)

    def _loaded(self) -> Loaded:
        loaded = read_robot(self.source, loops=self.side_file or None, gravity=self.robot.gravity)
        if loaded.robot.description_hash != self.robot.description_hash:
            raise DynError("the description is another one than when the robot was loaded: load it again")
        return replace(loaded, robot=self.robot)


_STAGES: Mapping[str, tuple[Stage, float]] = {
    ResultStage.READING: (Stage.FILTERING, 0.0),
    ResultStage.CONDITIONING: (Stage.FILTERING, 0.5),
    ResultStage.COMPARING: (Stage.VALIDATION, 0.0),
}
"""Of what `make_result` tells before and after the estimation."""


def outcome(result: Result) -> dict[str, Any]:
    """Answer what a dyn_msgs/IdentificationResult says: of the parameters as the nodes have them."""
    found, errors = result.identified, result.at_once_errors
    # A message has no place for the velocity over which Coulomb friction changes its sign.
    values = {**found.parameters, **found.at_once}
    possible = possible_bodies(result.loaded.robot, values)
    estimator = IN_WORDS[found.procedure.estimator]
    return {
        "name": [parameter.name for parameter in found.standard],
        "value": [values[parameter.name] for parameter in found.standard],
        "standard_deviation": [parameter.deviation for parameter in found.standard],
        "method": f"{estimator}, physically consistent" if possible else estimator,
        "physically_consistent": possible,
        "condition_number": found.condition,
        "training_error": errors.fitted.relative,
        "validation_error": math.nan if errors.held_out is None else errors.held_out.relative,
        "joint_name": list(found.joint_names),
        "joint_validation_error": [] if errors.held_out is None else list(errors.held_out.by_joint),
        "warnings": [
            *(str(finding) for finding in (*found.findings, *result.log.findings)),
            *found.remarks,
            *result.urdf.remarks,
        ],
    }


def possible_bodies(
    robot: Robot, parameters: Mapping[str, float], possible: Callable[[Array], bool] = is_possible
) -> bool:
    """Whether every link that moves is a body that can exist, by `possible`."""
    return all(
        possible(np.array([parameters[f"{kind}{j}"] for kind in INERTIAL]))
        for j in range(1, len(robot.joints) + 1)
    )
