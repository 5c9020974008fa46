# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `identification`, checked as far as this can be done without a robot."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from rclpy.node import Node

from dyn_core import DynError
from dyn_core.excitation.box import ForbiddenBox
from dyn_core.excitation.box_file import read_boxes
from dyn_core.excitation.settings import MOST_HARMONICS, MOST_PERIODS, MOST_WORK, ExcitationSettings
from dyn_nodes.identification_work import EstimationSettings, Friction, LeastSquares
from dyn_nodes.motion_run import RunSettings
from dyn_nodes.parameter_lists import declare_whole
from dyn_nodes.parameters import declare, declare_by_joint

OutputKind = Literal["trajectory", "reference"]
_PART = (0.01, 1.0)


@dataclass(frozen=True)
class ApplySettings:
    """How results are handed on.

    Attributes:
        blend_time: how long torques take to the new parameters (s); 0 for what the receiver is configured to.
        impossible: whether results are handed on with which a link is no possible body.
        timeout: longest time that the receiver may take (s).
    """

    blend_time: float = 0.0
    impossible: bool = False
    timeout: float = 5.0


@dataclass(frozen=True)
class OnlineSettings:
    """How parameters are estimated while the robot does what it does.

    Attributes:
        enabled: whether that begins at activation.
        rate: estimates a second (Hz).
        cutoff: of the filter (Hz).
        memory: time after which a sample counts 1/e (s); 0 for all samples alike.
        doubt: greatest deviation of the torques that the parameters make, as a part of them, of estimates
            that have converged.
    """

    enabled: bool = False
    rate: float = 0.5
    cutoff: float = 10.0
    memory: float = 0.0
    doubt: float = 0.02


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
        max_age=declare(
            node,
            "max_age",
            0.1,
            "Messages whose stamp is further from the node's clock than this, s, are not used.",
            within=(0.001, 60.0),
        ),
        run=_run(node),
        approach=declare(
            node,
            "approach_speed",
            0.2,
            "Part of the velocity limits that is used on the way to the beginning of a motion.",
            within=_PART,
        ),
        effort_part=declare(
            node,
            "effort_part",
            0.9,
            "Part of the effort limits that a motion may ask for, by the model.",
            within=_PART,
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
        excitation=_excitation(node, boxes),
        estimation=_estimation(node),
        apply=_apply(node),
        online=_online(node),
    )


def _run(node: Node) -> RunSettings:
    usual = RunSettings()
    timeout: float = declare(
        node,
        "timeout",
        usual.timeout,
        "Without good joint states for longer than this, s on a steady clock, a run is stopped.",
        within=(0.001, 60.0),
    )
    error: float = declare(
        node,
        "max_tracking_error",
        usual.tracking_error,
        "Greatest distance of a joint from the motion, rad or m; beyond it a run is stopped.",
        within=(1e-4, 10.0),
    )
    by_joint = declare_by_joint(
        node,
        "joints",
        {"max_tracking_error": "Greatest distance of joint '{joint}' from the motion, rad or m."},
        within=(0.0, 10.0),
    )["max_tracking_error"]
    effort_part: float = declare(
        node,
        "max_effort.part",
        usual.effort_part,
        "Part of its effort limit from which on the measured effort of a joint is near to it.",
        within=_PART,
    )
    effort_time: float = declare(
        node,
        "max_effort.time",
        usual.effort_time,
        "Longest time that it may be there, s; after it a run is stopped.",
        within=(0.0, 60.0),
    )
    shortest: float = declare(
        node,
        "stop.shortest",
        usual.stop_shortest,
        "Time of a stop that the robot can do, s.",
        within=(0.02, 10.0),
    )
    longest: float = declare(
        node,
        "stop.longest",
        usual.stop_longest,
        "Time of a stop where the efforts allow no shorter one, s.",
        within=(0.02, 10.0),
    )
    if longest < shortest:
        raise DynError(f"parameter stop.longest is {longest:g}, below stop.shortest = {shortest:g}")
    return RunSettings(timeout, error, by_joint, effort_part, effort_time, usual.lead, shortest, longest)


def _excitation(node: Node, boxes: tuple[ForbiddenBox, ...]) -> ExcitationSettings:
    usual = ExcitationSettings()

    def declared(name: str, description: str, within: tuple[float, float]) -> float:
        value: float = declare(node, f"excitation.{name}", getattr(usual, name), description, within=within)
        return value

    def whole(name: str, description: str, within: tuple[int, int]) -> int:
        return declare_whole(node, f"excitation.{name}", getattr(usual, name), description, within)

    part = "Part of the {} limits that the exciting motion uses."
    try:
        return ExcitationSettings(
            duration=declared(
                "duration", "Duration of the exciting motion that is computed, s.", (1.0, 3600.0)
            ),
            blend=declared(
                "blend", "Time in which it comes up from rest, and goes down to it, s.", (0.1, 60.0)
            ),
            periods=whole("periods", "How often its series is repeated.", (1, MOST_PERIODS)),
            harmonics=whole("harmonics", "Number of sines for each joint.", (1, MOST_HARMONICS)),
            position_scale=declared("position_scale", part.format("position"), _PART),
            velocity_scale=declared("velocity_scale", part.format("velocity"), _PART),
            acceleration_scale=declared("acceleration_scale", part.format("acceleration"), _PART),
            effort_scale=declared("effort_scale", part.format("effort"), _PART),
            boxes=boxes,
            seed=whole("seed", "Of the random numbers that the search begins with.", (0, 2**31 - 1)),
            iterations=whole("iterations", "Steps of the search.", (1, MOST_WORK)),
        )
    except ValueError as problem:
        raise DynError(f"parameters excitation: {problem}") from problem


def _estimation(node: Node) -> EstimationSettings:
    usual = EstimationSettings()
    return EstimationSettings(
        train=declare(
            node,
            "train",
            usual.train,
            "Part of the time, from the beginning, that is fitted; the rest is held out.",
            within=(0.1, 0.95),
        ),
        cutoff=declare(
            node,
            "cutoff",
            usual.cutoff,
            "Cutoff of the filter of positions, Hz; 0: chosen by the data.",
            within=(0.0, 10000.0),
        ),
        estimator=declare(
            node,
            "estimator",
            usual.estimator,
            "Estimator: least squares that are ordinary ('ols'), weighted by joint ('wls'), iteratively "
            "reweighted, so that outliers count less ('irls'), or total, for noisy positions ('tls').",
            choices=get_args(LeastSquares),
        ),
        friction=declare(
            node,
            "friction",
            usual.friction,
            "Friction of joints: 'auto' chooses a model by cross-validation, 'unloaded' one that does not "
            "depend on the load; 'standard' is viscous, Coulomb and offset alone.",
            choices=get_args(Friction),
        ),
        prior_weight=declare(
            node,
            "prior_weight",
            usual.prior_weight,
            "How much the description counts where the log says little.",
            within=(1e-12, 1e6),
        ),
    )


def _apply(node: Node) -> ApplySettings:
    usual = ApplySettings()
    return ApplySettings(
        blend_time=declare(
            node,
            "apply.blend_time",
            usual.blend_time,
            "Time that torques take to new parameters, s; 0: what the receiver is configured to.",
            within=(0.0, 3600.0),
        ),
        impossible=declare(
            node,
            "apply.impossible",
            usual.impossible,
            "Whether results are handed on with which a link is no possible body.",
        ),
        timeout=declare(
            node,
            "apply.timeout",
            usual.timeout,
            "Longest time that the receiver may take to answer, s.",
            within=(0.1, 60.0),
        ),
    )


def _online(node: Node) -> OnlineSettings:
    usual = OnlineSettings()
    return OnlineSettings(
        enabled=declare(
            node, "online.enabled", usual.enabled, "Whether to estimate parameters from activation on."
        ),
        rate=declare(
            node, "online.rate", usual.rate, "Estimates on ~/parameters a second, Hz.", within=(0.01, 10.0)
        ),
        cutoff=declare(
            node,
            "online.cutoff",
            usual.cutoff,
            "Cutoff of the filter of both sides, Hz.",
            within=(0.1, 1000.0),
        ),
        memory=declare(
            node,
            "online.memory",
            usual.memory,
            "Time after which a sample counts 1/e, s; 0: all samples count alike.",
            within=(0.0, 1e6),
        ),
        doubt=declare(
            node,
            "online.doubt",
            usual.doubt,
            "Greatest deviation of the torques by the parameters, as a part of them, of what has converged.",
            within=(1e-6, 1.0),
        ),
    )


def _directory(given: str) -> Path:
    if given:
        return Path(os.path.expanduser(given)).absolute()  # noqa: PTH111 - an unknown ~user is left as it is
    home = os.environ.get("ROS_HOME") or os.path.join(os.path.expanduser("~"), ".ros")  # noqa: PTH111, PTH118
    return Path(home).absolute() / "identification"
