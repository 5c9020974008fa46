# SPDX-License-Identifier: Apache-2.0
"""Heavy computations of an identification, as requests that are pickled to another process."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dyn_core import DynError, Protocol, Robot
from dyn_core.cli.console import VERSION
from dyn_core.core.arrays import Array
from dyn_core.excitation.excitation_settings import ExcitationSettings
from dyn_core.excitation.exciting_trajectory import excite
from dyn_core.identification.estimators.identification_settings import (
    IN_WORDS,
    IdentificationSettings,
    IdentifyStage,
    ResultStage,
)
from dyn_core.identification.estimators.physical_consistency import is_possible
from dyn_core.identification.friction.friction_model import FrictionModel
from dyn_core.identification.output.identification_result import Result, told
from dyn_core.identification.output.result_directory import write_result
from dyn_core.identification.pipeline import make_result
from dyn_core.robot.dynamic_parameters import INERTIAL
from dyn_core.robot.robot_files import read_robot


class Stage(IntEnum):
    """The stage of an identification, numbered as in dyn_msgs/IdentificationProgress."""

    EXCITATION = 0
    MOTION = 1
    FILTERING = 2
    ESTIMATION = 3
    VALIDATION = 4


Tell = Callable[[int, float], None]
"""Takes the stage, and the fraction of it that is done."""
Friction = Literal["auto", "unloaded", "standard"]
LeastSquares = Literal["ols", "wls", "irls", "tls"]
"""Estimators that need no simulation: this node does not know the controller and its gains."""


@dataclass(frozen=True)
class EstimationSettings:
    """How parameters are estimated."""

    train: float = 0.65  # fraction of the time that is fitted; the rest is held out
    cutoff: float = 0.0  # cutoff of the filter of positions (Hz); 0 to choose it by the data
    estimator: LeastSquares = "wls"  # method of the estimation
    # "auto" chooses a model by cross-validation, "unloaded" one that does not depend on the load; "standard"
    # is viscous, Coulomb and offset only
    friction: Friction = "auto"
    # weight of the description where the log has little information
    prior_weight: float = IdentificationSettings().prior_weight

    def of(self, robot: Robot) -> IdentificationSettings:
        """Return the settings of the estimators for a robot."""
        return IdentificationSettings(
            friction=(FrictionModel(),) * robot.dof if self.friction == "standard" else None,
            loaded=self.friction == "auto",
            estimator=self.estimator,
            prior_weight=self.prior_weight,
        )


@dataclass(frozen=True)
class Excite:
    """Compute an exciting motion, with points every `period` (s)."""

    robot: Robot
    settings: ExcitationSettings
    period: float

    def __call__(self, tell: Tell) -> dict[str, Any]:
        """Return the points of the motion, by the names of `TrajectoryPoints`, and its condition number."""
        found = excite(self.robot, self.settings, lambda progress: tell(Stage.EXCITATION, progress.part))
        duration = found.trajectory.duration
        count = math.ceil(duration / self.period - 1e-9)
        times = duration * np.arange(count + 1.0) / count
        vectors = zip(("q", "qd", "qdd"), found.trajectory.at_many(times), strict=True)
        return {
            "times": times.tolist(),
            **{name: values.tolist() for name, values in vectors},
            "condition": found.condition,
            "notes": found.limits.notes,
        }


@dataclass(frozen=True)
class Estimate:
    """Estimate parameters from a log, and write them to files."""

    robot: Robot
    source: str  # the description of the robot, or its path
    side_file: str  # path of its side file; empty for none
    log: str  # path of the log
    directory: str  # directory of the result files
    settings: EstimationSettings

    def __call__(self, tell: Tell) -> dict[str, Any]:
        """Return the fields of dyn_msgs/IdentificationResult, by name."""
        steps = list(IdentifyStage)

        def progress(stage: str) -> None:
            if stage in steps:
                tell(Stage.ESTIMATION, steps.index(IdentifyStage(stage)) / len(steps))
            elif stage in _STAGES:
                tell(*_STAGES[stage])

        loaded = read_robot(self.source, loops=self.side_file or None, gravity=self.robot.gravity)
        if loaded.robot.description_hash != self.robot.description_hash:
            raise DynError("description-changed")
        result = make_result(
            replace(loaded, robot=self.robot),
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


_STAGES: Mapping[str, tuple[Stage, float]] = {
    ResultStage.READING: (Stage.FILTERING, 0.0),
    ResultStage.CONDITIONING: (Stage.FILTERING, 0.5),
    ResultStage.COMPARING: (Stage.VALIDATION, 0.0),
}
"""Stages that `make_result` reports before and after the estimation."""


def outcome(result: Result) -> dict[str, Any]:
    """Return the fields of a dyn_msgs/IdentificationResult, with the parameters that nodes use."""
    found, errors = result.identified, result.at_once_errors
    # The message has no field for the velocity over which Coulomb friction changes its sign.
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
        "verdict": [str(reason) for reason in result.verdict.reasons],
        "joint_name": list(found.joint_names),
        "joint_validation_error": [] if errors.held_out is None else list(errors.held_out.by_joint),
        "warnings": [
            *map(str, told(result)),
            *map(str, (*found.remarks, *result.urdf.remarks)),
        ],
    }


def possible_bodies(
    robot: Robot, parameters: Mapping[str, float], possible: Callable[[Array], bool] = is_possible
) -> bool:
    """Return whether every moving link is a physically possible body, by `possible`."""
    return all(
        possible(np.array([parameters[f"{kind}{j}"] for kind in INERTIAL]))
        for j in range(1, len(robot.joints) + 1)
    )
