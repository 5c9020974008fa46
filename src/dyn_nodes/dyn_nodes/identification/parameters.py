# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `identification`, checked as far as this needs no robot."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from rclpy.node import Node

from dyn_core import DynError
from dyn_core.excitation.excitation_settings import (
    MOST_HARMONICS,
    MOST_PERIODS,
    MOST_WORK,
    ExcitationSettings,
    ForbiddenBox,
    read_boxes,
)
from dyn_core.identification.online.recursive_estimator import USUAL_CUTOFF
from dyn_nodes.common.parameters import PART, declare, declare_by_joint, declare_integer, declared_max_age
from dyn_nodes.identification.computation_requests import EstimationSettings, Friction, LeastSquares
from dyn_nodes.identification.motion_run import RunSettings

_Rows: TypeAlias = Mapping[str, tuple[str, Any]]
"""By field of the settings: description of the parameter, and range of a number or choices of a text."""
OutputKind = Literal["trajectory", "reference"]


@dataclass(frozen=True)
class ApplySettings:
    """Settings for sending results to another node."""

    blend_time: float = 0.0  # duration of the change of the torques (s); 0 for the default of the receiver
    impossible: bool = False  # whether results with physically impossible links may be sent
    timeout: float = 5.0  # longest time for a response of the receiver (s)


@dataclass(frozen=True)
class OnlineSettings:
    """How parameters are estimated online."""

    enabled: bool = False  # whether the estimation begins at activation
    rate: float = 0.5  # rate of estimates (Hz)
    cutoff: float = USUAL_CUTOFF  # cutoff of the filter (Hz)
    memory: float = 0.0  # time after which the weight of a sample is 1/e (s); 0 for equal weights
    # greatest deviation of the torques of converged estimates, as a fraction of the torques
    doubt: float = 0.02


@dataclass(frozen=True)
class IdentificationNodeSettings:
    """All parameters of the node."""

    directory: Path  # parent of the directories of results
    max_age: float  # greatest difference between a stamp and the clock of the node (s)
    run: RunSettings  # when and how a run is stopped
    boxes: tuple[ForbiddenBox, ...]  # forbidden boxes
    excitation: ExcitationSettings  # settings of the exciting motion
    estimation: EstimationSettings  # settings of the estimation
    apply: ApplySettings  # settings for sending results to another node
    online: OnlineSettings  # settings of the online estimation
    output: OutputKind = "trajectory"  # whether motions are sent whole or point by point
    rate: float = 200.0  # rate of references (Hz)
    approach: float = 0.2  # fraction of the velocity limits on the way to the beginning of a motion
    effort_part: float = 0.9  # fraction of the effort limits that a motion may use
    start_delay: float = 0.1  # time from sending a motion to its begin (s)
    point_period: float = 0.02  # time between the points of a sent trajectory (s)


_RUN: _Rows = {
    "timeout": (
        "Longest time without good joint states in a run, s on a steady clock.",
        (0.02, 60.0),
    ),
    "tracking_error": ("Greatest distance of a joint from the motion of a run, rad or m.", (1e-4, 10.0)),
    "effort_part": ("Part of the effort limit above which a measured effort is near the limit.", PART),
    "effort_time": ("Longest time that an effort may be near its limit in a run, s.", (0.0, 60.0)),
    "stop_shortest": ("Duration of a stop, where the efforts allow it, s.", (0.02, 10.0)),
    "stop_longest": ("Longest duration of a stop, s.", (0.02, 10.0)),
}
_RUN_NAMES = {
    "tracking_error": "max_tracking_error",
    "effort_part": "max_effort.part",
    "effort_time": "max_effort.time",
    "stop_shortest": "stop.shortest",
    "stop_longest": "stop.longest",
}
_SCALE = "Part of the {} limits that the exciting motion uses."
_EXCITATION: _Rows = {
    "duration": ("Duration of the computed exciting motion, s.", (1.0, 3600.0)),
    "blend": ("Duration of its transitions from rest to the series, and back to rest, s.", (0.1, 60.0)),
    "periods": ("Repetitions of its series.", (1, MOST_PERIODS)),
    "harmonics": ("Number of sines for each joint.", (1, MOST_HARMONICS)),
    **{
        f"{quantity}_scale": (_SCALE.format(quantity), PART)
        for quantity in ("position", "velocity", "acceleration", "effort")
    },
    "seed": ("Seed of the random numbers of the search.", (0, 2**31 - 1)),
    "iterations": ("Steps of the search.", (1, MOST_WORK)),
}
_ESTIMATION: _Rows = {
    "train": ("Part of the time, from the beginning, that is fitted; the rest is held out.", (0.1, 0.95)),
    "cutoff": ("Cutoff of the filter of positions, Hz; 0: chosen by the data.", (0.0, 10000.0)),
    "estimator": (
        "Estimator: least squares that are ordinary ('ols'), weighted by joint ('wls'), iteratively "
        "reweighted, so that outliers count less ('irls'), or total, for noisy positions ('tls').",
        get_args(LeastSquares),
    ),
    "friction": (
        "Friction of joints: 'auto' chooses a model by cross-validation, 'unloaded' one that does not "
        "depend on the load; 'standard' is viscous, Coulomb and offset only.",
        get_args(Friction),
    ),
    "prior_weight": ("Weight of the description where the log has little information.", (1e-12, 1e6)),
}
_APPLY: _Rows = {
    "blend_time": ("Duration of the change of torques, s; 0: the default of the receiver.", (0.0, 3600.0)),
    "impossible": ("Whether results with physically impossible links are handed on.", None),
    "timeout": ("Longest time for a response of the receiver, s.", (0.1, 60.0)),
}
_ONLINE: _Rows = {
    "enabled": ("Whether to estimate parameters from activation on.", None),
    "rate": ("Rate of estimates on ~/parameters, Hz.", (0.01, 10.0)),
    "cutoff": ("Cutoff of the filter of both sides of the equations, Hz.", (0.1, 1000.0)),
    "memory": ("Time after which the weight of a sample is 1/e, s; 0: equal weights.", (0.0, 1e6)),
    "doubt": ("Greatest deviation of the torques of converged estimates, as a part of them.", (1e-6, 1.0)),
}
_NODE: _Rows = {
    "output": (
        "How motions are sent: 'trajectory' sends them whole on ~/joint_trajectory, 'reference' point by "
        "point on ~/reference, which stops with this node.",
        get_args(OutputKind),
    ),
    "rate": ("Rate of references, Hz.", (10.0, 2000.0)),
    "approach": ("Part of the velocity limits that is used on the way to the beginning of a motion.", PART),
    "effort_part": ("Part of the effort limits that a motion may use, by the model.", PART),
    "start_delay": ("Time from sending a motion to its beginning, s: messages take time.", (0.0, 10.0)),
    "point_period": ("Time between the points of a sent trajectory, s.", (0.001, 1.0)),
}


def declared_identification(node: Node) -> IdentificationNodeSettings:
    """Declare the parameters and return their values; DynError where one is invalid."""
    directory = "Where a directory is made for each run; empty: identification in the directory of ROS "
    boxes = _forbidden_boxes(node)
    return IdentificationNodeSettings(
        directory=_directory(declare(node, "directory", "", f"{directory}(ROS_HOME, ~/.ros).")),
        max_age=declared_max_age(node),
        run=_run(node),
        boxes=boxes,
        excitation=_excitation(node, boxes),
        estimation=EstimationSettings(**_declared(node, EstimationSettings(), _ESTIMATION)),
        apply=ApplySettings(**_declared(node, ApplySettings(), _APPLY, "apply.")),
        online=OnlineSettings(**_declared(node, OnlineSettings(), _ONLINE, "online.")),
        **_declared(node, IdentificationNodeSettings, _NODE, names={"approach": "approach_speed"}),
    )


def _declared(
    node: Node, defaults: Any, rows: _Rows, prefix: str = "", names: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Declare parameters with the defaults of settings, and return their values by field.

    Parameters are named as their fields, after `prefix`, except for those in `names`.
    """
    values: dict[str, Any] = {}
    for field, (description, limits) in rows.items():
        name, default = names.get(field, f"{prefix}{field}"), getattr(defaults, field)
        if isinstance(default, str):
            values[field] = declare(node, name, default, description, choices=limits)
        elif isinstance(default, int) and limits:
            values[field] = declare_integer(node, name, default, description, limits)
        else:
            values[field] = declare(node, name, default, description, within=limits)
    return values


def _run(node: Node) -> RunSettings:
    values = _declared(node, RunSettings(), _RUN, names=_RUN_NAMES)
    description = "Greatest distance of joint '{joint}' from the motion, rad or m."
    by_joint = declare_by_joint(node, "joints", {"max_tracking_error": description}, within=(0.0, 10.0))
    settings = RunSettings(**values, tracking_errors=by_joint["max_tracking_error"])
    if settings.stop_longest < settings.stop_shortest:
        longest, shortest = settings.stop_longest, settings.stop_shortest
        raise DynError("stop-times-inverted", longest=longest, shortest=shortest)
    return settings


def _excitation(node: Node, boxes: tuple[ForbiddenBox, ...]) -> ExcitationSettings:
    values = _declared(node, ExcitationSettings(), _EXCITATION, "excitation.")
    try:
        return ExcitationSettings(**values, boxes=boxes)
    except ValueError as problem:
        raise DynError("excitation-parameters-invalid", cause=problem) from problem


def _forbidden_boxes(node: Node) -> tuple[ForbiddenBox, ...]:
    description = "Path of a YAML file with boxes of joint space that are forbidden; empty: none."
    file: str = declare(node, "forbidden_boxes", "", description)
    try:
        return read_boxes(file) if file else ()
    except DynError as problem:
        raise DynError("forbidden-boxes-invalid", cause=problem) from problem


def _directory(given: str) -> Path:
    if given:
        return Path(os.path.expanduser(given)).absolute()  # noqa: PTH111 - an unknown ~user is left as it is
    home = os.environ.get("ROS_HOME") or os.path.join(os.path.expanduser("~"), ".ros")  # noqa: PTH111, PTH118
    return Path(home).absolute() / "identification"
