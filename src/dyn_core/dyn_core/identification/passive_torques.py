# SPDX-License-Identifier: Apache-2.0
"""Friction of the passive joints of loops along simulated motions: torques on actuated joints, and columns.

A passive joint with the speed ``qd_p = g . qd`` takes ``g (Fv qd_p + Fs s(qd_p / w))``, where s(x) is x
within -1 and 1, and these beyond. The sign of Coulomb friction is smoothed: else the moment between two
samples at which it changes would shift the whole motion after it by a step, of which nobody knows whether it
comes with the next change of a parameter, and no estimate would settle. With

    w = h Fs g A^-1 g^T max(1, m / 2)

of m passive joints, the rates at which they brake add up to no more than 2 / h, which the Runge-Kutta method
of fourth order follows at steps of h. The columns along the simulated motion have the same s: then they are
those of its torques.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dyn_core.codegen.traced_program import trace
from dyn_core.core.arrays import Array
from dyn_core.facade.closed import closed
from dyn_core.facade.run_by import run_by
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.loops.coordinates import configuration
from dyn_core.model.fixed_base.compiled_model import Model
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar, larger

LEAST_WIDTH = 1e-6
"""Least w (rad/s or m/s)."""

Torques = Callable[[Array, Array], Array]
"""Of positions and velocities, (n,) each."""


@dataclass(frozen=True, eq=False)
class PassiveFriction:
    """Friction of passive joints with given parameters.

    Attributes:
        torques: on the actuated joints (N m or N).
        base: the columns, with the friction of passive joints as smooth as it is in the torques.
    """

    torques: Torques
    base: BaseColumns


class PassiveTorques:
    """The friction of the passive joints of a robot, compiled for it alone."""

    def __init__(self, base: BaseColumns) -> None:
        """Compile it."""
        self._base = base
        self._joints = sorted({_number(name) for name in base.passive})
        if self._joints:
            m, n = len(self._joints), base.robot.dof
            sizes = {"q": n, "qd": n, "Fv": m, "Fs": m, "w": m}
            program = trace("passive_torques", partial(_torques, base.robot, self._joints), sizes, (n,))
            self._run = run_by(base.robot, closed(base.robot, program))

    def of(self, values: Array, model: Model, q: Array, h: float) -> PassiveFriction | None:
        """Answer the friction with values of the parameters `BaseColumns.passive`; None where there are none.

        Args:
            values: the values (SI units).
            model: rigid bodies and rotors, for the inertia that resists the joints.
            q: positions at which it is taken (rad or m), (n,).
            h: step of the integration (s).
        """
        if not self._joints:
            return None
        m = len(self._joints)
        Fv, Fs = np.zeros(m), np.zeros(m)
        for name, value in zip(self._base.passive, values, strict=True):
            (Fv if name.startswith("Fv") else Fs)[self._joints.index(_number(name))] = value
        w = np.maximum(h * max(1.0, 0.5 * m) * np.abs(Fs) * self._mobilities(model, q), LEAST_WIDTH)
        base = replace(self._base, columns=partial(self._columns, w))
        return PassiveFriction(lambda q, qd: self._run(q, qd, Fv, Fs, w), base)

    def _columns(self, w: Array, q: Array, qd: Array, qdd: Array) -> Array:
        W = self._base.columns(q, qd, qdd)
        none = np.zeros((len(q), len(w)))
        for k, name in enumerate(self._base.kept):
            if name in self._base.passive and name.startswith("Fs"):
                one = none.copy()
                one[:, self._joints.index(_number(name))] = 1.0
                W[:, :, k] = self._run(q, qd, none, one, np.broadcast_to(w, none.shape))
        return W

    def _mobilities(self, model: Model, q: Array) -> Array:
        """Answer g A^-1 g^T of each joint: the reciprocal of the inertia that resists it."""
        n = len(q)
        rates = model.solve_loops(np.repeat(q[np.newaxis], n, axis=0), np.eye(n))[1]
        names = [self._base.robot.joints[j - 1].name for j in self._joints]
        G = np.asarray(rates)[:, [model.passive_joint_names.index(name) for name in names]]
        mobilities: Array = np.einsum("ip,ij,jp->p", G, np.linalg.inv(model.inertia_matrix(q)), G)
        return mobilities


def _number(name: str) -> int:
    """Answer the number of the joint of a parameter of friction, as Fv3."""
    return int(name[2:])


def _torques(
    robot: Robot,
    numbers: Sequence[int],
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    Fv: Sequence[Scalar],
    Fs: Sequence[Scalar],
    w: Sequence[Scalar],
) -> list[Scalar]:
    at = configuration(robot, q)
    rates = at.rates(qd)
    friction: list[Scalar] = [0.0] * len(robot.joints)
    for j, viscous, coulomb, width in zip(numbers, Fv, Fs, w, strict=True):
        v = rates[j - 1]
        friction[j - 1] = viscous * v + coulomb * _within_one(v / width)
    return at.torques(friction)


def _within_one(x: Scalar) -> Scalar:
    """Answer what is nearest to x between -1 and 1."""
    size = abs(x)
    return larger(size, 1.0, x / size, x)
