# SPDX-License-Identifier: Apache-2.0
"""Estimators that simulate the robot: instrumental variables (IDIM-IV) and output error (DIDIM)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from dyn_core.algorithms.loops.passive_joint_positions import configuration
from dyn_core.codegen.traced_program import trace
from dyn_core.core.arrays import Array, BoolArray
from dyn_core.core.blas_threads import one_thread
from dyn_core.core.errors import DynError
from dyn_core.identification.estimators.described_parameters import consistent_parameters
from dyn_core.identification.estimators.identification_settings import Progress
from dyn_core.identification.estimators.least_squares import Solution, factors, system, weighted
from dyn_core.identification.estimators.standard_deviations import (
    Fit,
    information_root,
    information_rows,
    residual_rows,
)
from dyn_core.identification.friction.friction_model import FrictionModel, friction_torques
from dyn_core.identification.friction.friction_selection import Rows, rows_of
from dyn_core.identification.regressor.base_columns import BaseColumns
from dyn_core.identification.regressor.motion_equations import Equations, rigid_torques
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.logs.log import Control
from dyn_core.model.fixed_base.closed_loops import closed
from dyn_core.model.fixed_base.compiled_model import Model, compile_model, run_by
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar, larger

# Friction of the passive joints of loops along simulated motions
#
# A passive joint with the speed ``qd_p = g . qd`` takes ``g (Fv qd_p + Fs s(qd_p / w))``, where s(x) is x
# limited to -1 and 1. A sharp sign would shift the rest of the motion at each sign change between two
# samples, by an amount that jumps with the parameters, and no estimate would settle. With
#
#     w = h Fs g A^-1 g^T max(1, m / 2)
#
# for m passive joints, their braking rates add up to at most 2 / h, which the Runge-Kutta method of fourth
# order follows at steps of h. The columns along the simulated motion use the same s, to match its torques.

_SINGULAR = 1e12  # condition number from which instruments do not excite the parameters
LEAST_WIDTH = 1e-6  # least w (rad/s or m/s)

Torques = Callable[[Array, Array], Array]  # of positions and velocities, (n,) each


@dataclass(frozen=True, eq=False)
class PassiveFriction:
    """Friction of passive joints with given parameters."""

    torques: Torques  # on the actuated joints (N m or N)
    base: BaseColumns  # the columns, with the friction of passive joints smoothed as in the torques


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
        """Return the friction for values of `BaseColumns.passive` (SI units); None without any.

        `model` (rigid bodies and rotors) at the positions q (rad or m), (n,), gives the inertia that resists
        the joints; h is the step of the integration (s).
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
        """Return g A^-1 g^T of each joint: the reciprocal of the inertia that resists it."""
        n = len(q)
        rates = model.solve_loops(np.repeat(q[np.newaxis], n, axis=0), np.eye(n))[1]
        names = [self._base.robot.joints[j - 1].name for j in self._joints]
        G = np.asarray(rates)[:, [model.passive_joint_names.index(name) for name in names]]
        mobilities: Array = np.einsum("ip,ij,jp->p", G, np.linalg.inv(model.inertia_matrix(q)), G)
        return mobilities


def _number(name: str) -> int:
    """Return the joint number of a friction parameter, such as Fv3."""
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
    """Return x limited to -1 and 1."""
    size = abs(x)
    return larger(size, 1.0, x / size, x)


# The simulated motion of a robot under the control of the measured motion
#
# Between samples the torque of the control is constant, and a Runge-Kutta step of fourth order is made. Signs
# in friction are smoothed over the velocity that Coulomb friction takes away in a step, so that a joint at
# rest does not jitter.


def simulated(
    model: Model,
    friction: Sequence[FrictionModel],
    x: Array,
    control: Control,
    signals: Signals,
    passive: Torques | None = None,
) -> Signals:
    """Return the motion at the times of `signals`, from its first state and from that after each gap.

    `model` has rigid bodies and rotors; `x` are the parameters of `friction`, joint by joint; `passive` is
    the friction of passive joints on the actuated ones. Raise DynError if the simulation diverges.
    """
    N, n = signals.q.shape
    h = signals.period
    # Signs are smoothed over three times the velocity that Coulomb friction takes away in a step.
    jump = friction_torques(friction, x)(np.full(n, 1e-9), np.zeros(n))
    inertias = np.maximum(np.diag(model.inertia_matrix(signals.q[0])), np.finfo(float).tiny)
    of_friction = friction_torques(friction, x, 3.0 * h * np.abs(jump) / inertias)
    loaded = any(one.loaded for one in friction)
    q, qd, qdd, tau = (np.empty((N, n)) for _ in range(4))
    state = signals.q[0].copy(), signals.qd[0].copy()
    starts = {first for first, _ in signals.segments}
    load = np.zeros(n)

    def acceleration(q: Array, qd: Array, torque: Array) -> Array:
        left = torque - of_friction(qd, load)
        return model.forward_dynamics(q, qd, left if passive is None else left - passive(q, qd))

    for k in range(N):
        q[k], qd[k] = (signals.q[k], signals.qd[k]) if k in starts else state
        feedback = control.kp * (control.q[k] - q[k]) + control.kd * (control.qd[k] - qd[k])
        tau[k] = np.clip(feedback + control.feedforward[k], -control.limit, control.limit)
        a = acceleration(q[k], qd[k], tau[k])
        qdd[k] = a
        if loaded:
            load = model.inverse_dynamics(q[k], qd[k], a)
        v2 = qd[k] + 0.5 * h * a
        a2 = acceleration(q[k] + 0.5 * h * qd[k], v2, tau[k])
        v3 = qd[k] + 0.5 * h * a2
        a3 = acceleration(q[k] + 0.5 * h * v2, v3, tau[k])
        v4 = qd[k] + h * a3
        a4 = acceleration(q[k] + h * v3, v4, tau[k])
        state = q[k] + h / 6.0 * (qd[k] + 2.0 * (v2 + v3) + v4), qd[k] + h / 6.0 * (a + 2.0 * (a2 + a3) + a4)
        if not np.isfinite(state[1]).all():
            raise DynError("simulated-robot-diverges", time=signals.time[k] - signals.time[0])
    return replace(signals, q=q, qd=qd, qdd=qdd, tau=tau)


# Instrumental variables: parameters without the bias by noise in the columns
#
# With Z the columns of a noise-free motion that is close to the measured one,
#
#     x = (sum Z_i^T W_i / sigma_i^2)^-1 sum Z_i^T tau_i / sigma_i^2,
#     cov = (Z^T W)^-1 (Z^T Z) (W^T Z)^-1  with the same weights
#
# (Janot, Vandanjon, Gautier 2014). The noise-free motion is simulated with the previous estimate.


@dataclass(frozen=True, eq=False)
class InstrumentalSolution:
    """Parameters by instrumental variables; 0 for those that are not identifiable."""

    x: Array  # values, in the order of the rows: shared ones first
    bread: Array  # ``(Z^T W)^-1``, weighted
    covariance: Array  # covariance for independent residuals


def instrumental(rows: Rows, instruments: Rows, sigma: Array, kept: BoolArray) -> InstrumentalSolution:
    """Return parameters by instrumental variables.

    `instruments` are the same equations as `rows` along a noise-free motion (its torques do not matter),
    `sigma` the deviations of the residuals of each joint (N m or N), and `kept` marks the identifiable
    parameters. Raise DynError if the instruments do not fit the equations, or do not excite the parameters.
    """
    p = len(kept)
    if len(instruments) != len(rows) or instruments.frictions != rows.frictions:
        raise DynError("instruments-count", expected=len(rows), given=len(instruments))
    ZW, ZZ, Zt = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p)
    for (_, measured), (_, simulated) in zip(rows.pieces(), instruments.pieces(), strict=True):
        for W, Z, s, places in zip(measured, simulated, sigma, rows.columns, strict=True):
            block = np.ix_(places, places)
            ZW[block] += Z[:, :-1].T @ W[:, :-1] / s**2
            ZZ[block] += Z[:, :-1].T @ Z[:, :-1] / s**2
            Zt[places] += Z[:, :-1].T @ W[:, -1] / s**2
    scales = np.where(kept, 1.0 / np.sqrt(np.maximum(np.diag(ZZ), np.finfo(float).tiny)), 0.0)
    scaled = (ZW * scales[:, None] * scales)[np.ix_(kept, kept)]
    if not kept.any() or np.linalg.cond(scaled) > _SINGULAR:
        raise DynError("instruments-not-exciting")
    inverse = np.zeros((p, p))
    inverse[np.ix_(kept, kept)] = np.linalg.inv(scaled)
    inverse = inverse * scales[:, None] * scales
    return InstrumentalSolution(inverse @ Zt, inverse, inverse @ ZZ @ inverse.T)


# Estimators that simulate the robot: IDIM-IV and DIDIM
#
# Both start from least squares, simulate the robot with the estimate, and estimate again until the parameters
# settle. IDIM-IV takes the columns of the simulated motion as instruments (Janot, Vandanjon, Gautier 2014).
# DIDIM fits the measured torques with the columns of the simulated motion, without measured positions: these
# are Gauss-Newton steps of the output error of the torque (Gautier, Janot, Vandanjon 2013).
#
# The simulated robot is physically consistent, with the friction that belongs to its bodies: with loops, the
# friction of actuated and passive joints is hardly distinguishable, and taken from two estimates its sum is
# wrong.

Method = Literal["iv", "oe"]
ROUNDS = 10
SETTLED = 0.05  # greatest change in the last round, in standard deviations


@dataclass(frozen=True, eq=False)
class SimulatedFit:
    """Parameters that were estimated with simulations."""

    fit: Fit
    rounds: int  # number of simulations
    signals: Signals  # the last simulated motion


@one_thread()
def by_simulation(
    equations: Equations,
    models: Sequence[FrictionModel],
    method: Method,
    progress: Progress = lambda stage: None,
) -> SimulatedFit:
    """Return parameters by IDIM-IV or DIDIM; `progress` receives the rounds.

    Raise DynError if the control is not known, the simulation diverges, or the parameters do not settle.
    """
    measured, robot, base = equations.signals, equations.base.robot, equations.base
    if measured.control is None:
        raise DynError("motion-without-control")
    data = factors(rows_of(equations, models))
    solution = weighted(data)
    weighted_rows = system(data, solution.sigma)
    model = compile_model(robot, parameters="runtime", friction=False, open_rows="error")
    of_passive = PassiveTorques(base)
    for round_ in range(1, ROUNDS + 1):
        progress(f"simulating the robot, round {round_}")
        possible = consistent_parameters(base, models, weighted_rows, len(equations))
        frictionless = np.zeros((len(robot.joints), 3))
        table = np.column_stack([possible.standard, possible.Ia, frictionless])
        model.set_parameters(table.ravel())
        friction = possible.x[equations.shared :]
        passive = of_passive.of(possible.passive, model, measured.q[0], measured.period)
        columns, torques = (base, None) if passive is None else (passive.base, passive.torques)
        moved = simulated(model, models, friction, measured.control, measured, torques)
        motion = replace(moved, tau=measured.tau)
        along = _rows(Equations(motion, columns, stood=equations.stands), models, solution.x)
        if method == "iv":
            original = Equations(measured, columns, stood=equations.stands)
            fit = _instrumental(_rows(original, models, solution.x), along, solution)
        else:
            data = factors(along)
            fit = Fit(along, weighted(data), data)
        before, solution, weighted_rows = solution.x, fit.solution, fit.weighted_rows
        kept = solution.identifiable
        change = np.abs(solution.x - before)[kept] / solution.deviations[kept]
        if change.max(initial=0.0) < SETTLED:
            return SimulatedFit(fit, round_, moved)
    raise DynError("parameters-not-settled", count=ROUNDS)


def _rows(equations: Equations, models: Sequence[FrictionModel], x: Array) -> Rows:
    loaded = any(model.loaded for model in models)
    return rows_of(equations, models, rigid_torques(equations, x) if loaded else None)


def _instrumental(rows: Rows, along: Rows, before: Solution) -> Fit:
    first = instrumental(rows, along, before.sigma, before.identifiable)
    counts = np.maximum(rows.used.sum(axis=0), 1)
    rms = np.sqrt(np.sum(residual_rows(rows, first.x) ** 2, axis=0) / counts)
    sigma = np.where(rms > 0.0, rms, before.sigma)
    found = instrumental(rows, along, sigma, before.identifiable)
    R = information_root(found.covariance, before.identifiable)
    solution = Solution(found.x, sigma, R, before.identifiable, before.condition)
    data = factors(rows)
    information = information_rows(solution, system(data, sigma))
    return Fit(rows, solution, data, instruments=along, bread=found.bread, information=information)
