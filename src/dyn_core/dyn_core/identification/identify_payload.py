# SPDX-License-Identifier: Apache-2.0
"""From signals to what a link holds: beside signals without it, or beside an arm that is known."""

from __future__ import annotations

import numpy as np

from dyn_core.errors import DynError
from dyn_core.facade.one_thread import one_thread
from dyn_core.identification.at_rest import at_rest
from dyn_core.identification.base_columns import BaseColumns, base_columns
from dyn_core.identification.checks import check_length, check_signals
from dyn_core.identification.equations import Equations
from dyn_core.identification.estimation import Estimation
from dyn_core.identification.fixed_joints import with_fixed_joints
from dyn_core.identification.identified import Identified
from dyn_core.identification.motor_coupling import motors_of
from dyn_core.identification.payload import Payload, payload_of_known_arm, payload_of_pair
from dyn_core.identification.settings import IdentificationSettings
from dyn_core.model.robot import Robot
from dyn_core.signals.signals import Signals

DEFAULTS = IdentificationSettings()


@one_thread()
def identify_payload(
    robot: Robot,
    link: str,
    signals: Signals,
    without: Signals | Identified,
    settings: IdentificationSettings = DEFAULTS,
) -> Payload:
    """Answer what a link holds, for `Robot.with_payload`.

    Args:
        robot: the robot.
        link: the link.
        signals: a motion with the payload; all of it is fitted.
        without: another motion without it, all of which is fitted; or what `identify` has found of the arm,
            with the same couplings: its bodies are believed, and friction, which depends on the
            temperature, is estimated anew.
        settings: the friction and the couplings of the arm; friction that is not given is chosen by the
            motion without the payload.

    Raises:
        DynError: the signals are not those of the robot, or do not show what the link holds.
    """
    if isinstance(without, Identified):
        robot = with_fixed_joints(robot, without.fixed)
    base = base_columns(robot, motors_of(robot, signals, settings.couplings))
    estimation = Estimation(robot, base, settings)
    loaded = _equations(robot, signals, base, settings)
    if isinstance(without, Identified):
        if tuple(p.name for p in without.base) != base.names:
            raise DynError(
                f"the arm that was identified, '{without.robot_name}', has other base parameters than "
                f"'{robot.name}': give the same robot and couplings"
            )
        frictions = [
            friction
            for name, friction in zip(without.joint_names, without.friction, strict=True)
            if name not in without.fixed
        ]
        models = tuple(friction.model for friction in frictions)
        own = (p.value for friction in frictions for p in friction.parameters)
        x = np.array([*(p.value for p in without.base), *own])
        return payload_of_known_arm(link, base, estimation.fit(loaded, models).data, x)
    empty = _equations(robot, without, base, settings)
    models, _ = estimation.friction(empty)
    return payload_of_pair(
        link, base, estimation.fit(empty, models).data, estimation.fit(loaded, models).data
    )


def _equations(
    robot: Robot, signals: Signals, base: BaseColumns, settings: IdentificationSettings
) -> Equations:
    signals = signals.of_joints(robot.joint_names)
    check_signals(robot, signals, settings)
    equations = Equations(at_rest(signals), base)
    check_length(equations, 2 * settings.parts)
    return equations
