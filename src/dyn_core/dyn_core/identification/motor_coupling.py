# SPDX-License-Identifier: Apache-2.0
"""Motors that move several joints at once, as those of some wrists do.

A motor whose speed, as the joints feel it, is ``a . qd`` has a rotor and friction of its own, whose torque
acts on all joints that it moves:

    tau += a (Ia a . qdd + Fv a . qd + Fs sign(a . qd))

beside the rotors and the friction that each joint has for itself. The parameters of a motor m are named
``Iam``, ``Fvm``, ``Fsm`` with its number or name behind: ``Iam6``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.robot.robot import Robot

LETTERS = ("Iam", "Fvm", "Fsm")


@dataclass(frozen=True)
class MotorCoupling:
    """A motor that moves several joints.

    Attributes:
        name: what its parameters are named by: ``6`` gives Iam6, Fvm6, Fsm6.
        joints: by joint, how fast the motor is, as the joint feels it, when the joint moves at unit speed.
    """

    name: str
    joints: Mapping[str, float]

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of its parameters."""
        return tuple(f"{letters}{self.name}" for letters in LETTERS)

    def speeds(self, robot: Robot) -> Array:
        """Answer a, (n,); DynError where a joint is not one of the robot that moves by itself."""
        a = np.zeros(robot.dof)
        for name, value in self.joints.items():
            robot.joint(name)
            a[robot.coordinate_names.index(name)] = value
        return a


def motors_of(
    robot: Robot, signals: Signals, more: Sequence[MotorCoupling] = ()
) -> tuple[MotorCoupling, ...]:
    """Answer the motors that move several joints: those that are given, and those that a map names.

    The latter are named by the number of their joint.
    """
    numbers = dict(zip(robot.coordinate_names, robot.coordinates, strict=True))
    unknown = [name for name in signals.drives if name not in numbers]
    if unknown:
        raise DynError(
            f"coupling: the robot has no joint {listed(unknown)}: its joints are "
            f"{listed(robot.coordinate_names, 12)}"
        )
    of_log = (MotorCoupling(str(numbers[name]), joints) for name, joints in signals.drives.items())
    known = {motor.name for motor in more}
    return (*more, *(motor for motor in of_log if motor.name not in known))


def coupling_columns(robot: Robot, couplings: Sequence[MotorCoupling], qd: Array, qdd: Array) -> Array:
    """Columns of the parameters of motors, (N, n, 3 m), at velocities and accelerations (N, n)."""
    columns = []
    for coupling in couplings:
        a = coupling.speeds(robot)
        speed, acceleration = qd @ a, qdd @ a
        columns += [np.multiply.outer(x, a) for x in (acceleration, speed, np.sign(speed))]
    return np.stack(columns, axis=-1) if columns else np.zeros((*qd.shape, 0))
