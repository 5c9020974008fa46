# SPDX-License-Identifier: Apache-2.0
"""All that one identification answers, before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dyn_core.core.arrays import Array
from dyn_core.identification.output.identified_parameters import Errors, Identified
from dyn_core.identification.output.identified_urdf import IdentifiedUrdf
from dyn_core.identification.output.parameter_set import ParameterSet
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.logs.log import Log
from dyn_core.robot.robot_files import Loaded
from dyn_core.signals.protocol import Protocol

FILES = ("parameters.yaml", "identified.urdf", "report.html", "result.json")
"""What is written, the last being that by which we know our own directories."""


@dataclass(frozen=True)
class Inputs:
    """What it was made from.

    Attributes:
        files: names of the files, by what they are: log, description, map, side file.
        hashes: their SHA-256.
        date: when it was made, in UTC.
        made_by: by what.
    """

    files: Mapping[str, str]
    hashes: Mapping[str, str]
    date: str
    made_by: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """Measured and predicted efforts behind the same filter (N m or N), (N, n) each.

    Attributes:
        time: (s), (N,); NaN between segments, as are the efforts there.
        measured: efforts.
        predicted: by the physically consistent parameters with the friction models.
        standard: the same with viscous and Coulomb friction and offset alone.
        is_held_out: whether no fit has seen this part of the log.
    """

    time: Array
    measured: Array
    predicted: Array
    standard: Array
    is_held_out: bool


@dataclass(frozen=True, eq=False)
class FrictionCurves:
    """Friction of a joint over its velocity.

    Attributes:
        velocity: (rad/s or m/s), (N,).
        chosen: by the model that was chosen (N m or N), (N,).
        standard: by viscous and Coulomb friction and offset, (N,).
        measured: mean of the measured effort less that of bodies and rotors, NaN where the log has no such
            velocity, (N,).
        load: torque of bodies and rotors that `chosen` is drawn for; None where it does not matter.
    """

    velocity: Array
    chosen: Array
    standard: Array
    measured: Array
    load: float | None


@dataclass(frozen=True, eq=False)
class Result:
    """All that one identification answers.

    Attributes:
        loaded: the description of the robot.
        log: what was recorded.
        signals: what was made of it.
        protocol: what was asked of the signals.
        settings: what was asked of the identification.
        identified: the parameters.
        parameters: what is written as parameters.yaml.
        urdf: what is written as identified.urdf.
        standard_errors: of the physically consistent parameters with the friction that feedforward knows.
        at_once_errors: the same with the friction that comes nearest where Coulomb friction changes its sign
            at once.
        description_errors: of the parameters that the description has.
        comparison: measured and predicted efforts.
        friction: of each joint.
        grouped: by standard parameter, the base parameters that it is only seen in.
        no_effect: standard parameters that no torque depends on.
        inputs: what it was made from.
    """

    loaded: Loaded
    log: Log
    signals: Signals
    protocol: Protocol
    settings: IdentificationSettings
    identified: Identified
    parameters: ParameterSet
    urdf: IdentifiedUrdf
    standard_errors: Errors
    at_once_errors: Errors
    description_errors: Errors
    comparison: Comparison
    friction: tuple[FrictionCurves, ...]
    grouped: Mapping[str, tuple[str, ...]]
    no_effect: tuple[str, ...]
    inputs: Inputs
