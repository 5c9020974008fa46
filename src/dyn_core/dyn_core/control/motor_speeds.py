# SPDX-License-Identifier: Apache-2.0
"""Whether motors behind springs can be as fast as a trajectory of the links wants them to be."""

from __future__ import annotations

import numpy as np

from dyn_core.control.laws.inverse_dynamics_control import ElasticTerms
from dyn_core.control.trajectories.trajectory import Trajectory
from dyn_core.control.trajectory_ranges import MARGIN
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError

SAMPLES = 12
"""Looks at each piece: its polynomials of degree 9, and what torques make of them, turn a few times in it."""

AT_ONCE = 256
"""Pieces whose samples are held at once, for the sake of memory."""


def check_motor_speeds(terms: ElasticTerms, trajectory: Trajectory, speed: Array) -> None:
    """Refuse a trajectory along which a motor would be faster than its joint may be; looks at samples.

    A motor is ahead of its joint by what stretches the spring. The softer the spring, and the harder the
    links are accelerated, the more its speed differs from that of the joint.

    Args:
        terms: torques of the model.
        trajectory: the trajectory of the links, with four continuous derivatives.
        speed: greatest speeds of the joints of the links (rad/s or m/s), (n,); infinite for none. `MARGIN` is
            added, as for the joints.

    Raises:
        DynError: one would be.
    """
    fastest = MARGIN * speed[terms.driven]
    if not trajectory.durations or not np.isfinite(fastest).any():
        return
    knots = np.array(trajectory.knots)
    times = knots[:-1, None] + np.diff(knots)[:, None] * np.linspace(0.0, 1.0, SAMPLES)
    for begin in range(0, len(times), AT_ONCE):
        some = times[begin : begin + AT_ONCE].ravel()
        rates = np.abs(terms.motors(trajectory.smooth_motions(some)).qd)
        over = np.argwhere(rates > fastest)
        if len(over):
            k, m = over[0]
            joint = terms.model.robot.joint(terms.model.motor_joint_names[m])
            unit = f"{joint.position_unit}/s"
            raise DynError(
                f"the motor '{joint.name}' would be at {rates[k, m]:.4g} {unit} to be ahead of its spring, "
                f"{some[k] - trajectory.start:.4g} s after the beginning, and may be at "
                f"{speed[terms.driven][m]:.4g} {unit}: give the trajectory more time",
                element=f"joint '{joint.name}'",
            )
