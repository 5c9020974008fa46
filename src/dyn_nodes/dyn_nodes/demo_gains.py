# SPDX-License-Identifier: Apache-2.0
"""Gains of the node `controller` that fit a robot of which nothing but the description is known."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

import dyn_core
from dyn_core.control.computed_torque import TrackingGains

_DAMPING = 1.0


def gains_of_frequency(parameters: Mapping[str, str], frequency: float) -> dict[str, float]:
    """Answer parameters ``gains.<joint>.p`` and ``.d`` for which each joint swings back critically damped.

    Each gain is what the joint would need if the others stood still: that of the error, times the inertia at
    the joint with the robot at zero.

    Args:
        parameters: which robot it is, as `given_robot.robot_parameters` answers.
        frequency: of the error (Hz).
    """
    source = parameters.get("robot_description") or parameters["description_file"]
    with warnings.catch_warnings():
        # The nodes say them.
        warnings.simplefilter("ignore", dyn_core.ModelWarning)
        robot = dyn_core.load_robot(source, loops=parameters.get("side_file"))
    names = robot.joint_names
    inertia = np.diag(dyn_core.compile_model(robot).inertia_matrix([0.0] * robot.dof))
    gains = TrackingGains.of_frequency(names, frequency, _DAMPING)
    kinds = {"p": inertia * gains.Kp, "d": inertia * gains.Kd}
    return {
        f"gains.{name}.{kind}": value
        for kind, values in kinds.items()
        for name, value in zip(names, values.tolist(), strict=True)
    }
