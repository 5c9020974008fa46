# SPDX-License-Identifier: Apache-2.0
"""From a motion to parameters with their deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.errors import DynError, listed
from dyn_core.facade.arrays import Array
from dyn_core.identification.base_columns import BaseColumns, base_columns
from dyn_core.identification.bool_array import BoolArray
from dyn_core.identification.decimation import Decimation
from dyn_core.identification.deviations import deviations, residual_rows, residuals
from dyn_core.identification.diagnosis import diagnosis
from dyn_core.identification.equations import PIECE, Equations
from dyn_core.identification.essential import essential
from dyn_core.identification.expected import WEIGHT, Consistent, consistent_parameters, expected_bodies
from dyn_core.identification.factors import Factors, factors
from dyn_core.identification.friction import FrictionModel, unit
from dyn_core.identification.friction_selection import candidates, finer, grams, selected
from dyn_core.identification.identified import (
    Errors,
    Identified,
    IdentifiedParameter,
    JointFriction,
    Protocol,
    TorqueError,
)
from dyn_core.identification.least_squares import Solution, own_columns, weighted
from dyn_core.identification.motion import Motion
from dyn_core.identification.motor_coupling import MotorCoupling
from dyn_core.identification.robust import reweighted
from dyn_core.identification.rows import Rows
from dyn_core.identification.standard_friction import nearest_standard
from dyn_core.identification.units import unit_of
from dyn_core.model.robot import Robot

FINE_GAIN = 0.002
"""Part of the error (of the squares) that another velocity nearby has to take away."""
ROUNDS = 3
"""Fits in which friction that depends on the load takes it from the fit before."""


@dataclass(frozen=True)
class IdentificationSettings:
    """How parameters are identified.

    Attributes:
        train: part of the time, from the beginning, that is fitted; the rest is held out. 1 holds out none.
        decimation: one equation in so many is kept, behind a filter of both sides.
        friction: friction of each joint; None to choose it by cross-validation within the fitted part.
        loaded: whether friction that is chosen may depend on the load.
        parts: parts of the fitted time in cross-validation.
        robust: whether outliers count less.
        prior_weight: weight of the description among physically consistent parameters.
        couplings: motors that move several joints.
        diagnose: whether to look for wrong signs, swapped joints, saturation and delays.
    """

    train: float = 0.65
    decimation: int = 1
    friction: tuple[FrictionModel, ...] | None = None
    loaded: bool = True
    parts: int = 5
    robust: bool = False
    prior_weight: float = WEIGHT
    couplings: tuple[MotorCoupling, ...] = ()
    diagnose: bool = True


DEFAULTS = IdentificationSettings()


def identify(robot: Robot, motion: Motion, settings: IdentificationSettings = DEFAULTS) -> Identified:
    """Answer the parameters of a robot that a motion shows.

    Args:
        robot: the robot; its parameters are what is expected.
        motion: what was measured.
        settings: how.

    Raises:
        DynError: the motion is not that of the robot, too short, or a joint does not move.
    """
    _check(robot, motion, settings)
    motion = _at_rest(motion)
    base = base_columns(robot, settings.couplings)
    fitted, held_out = (motion, None) if settings.train >= 1.0 else motion.split(settings.train)
    task = _Task(robot, base, settings)
    equations = task.equations(fitted)
    _check_length(equations, settings)
    if held_out is not None:
        _check_length(task.equations(held_out), replace(settings, parts=1))
    findings = diagnosis(equations, (FrictionModel(),) * robot.dof) if settings.diagnose else ()
    models, tried = task.friction(equations)
    rows, solution, data = task.fit(equations, models)
    errors = residual_rows(rows, solution.x)
    spread = deviations(rows, solution, errors)
    needed = essential(solution, spread / np.where(solution.identifiable, solution.deviations, 1.0))
    consistent = consistent_parameters(
        robot, base, models, data, solution.sigma, solution.x, settings.prior_weight
    )
    unseen = None if held_out is None else task.equations(held_out)
    plain, physical = (
        Errors(
            torque_error(equations, models, x), None if unseen is None else torque_error(unseen, models, x)
        )
        for x in (solution.x, consistent.x)
    )
    own = own_columns(data)
    shared = len(base.kept)
    known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    prior = base.matrix @ np.array([known.get(name, 0.0) for name in base.standard_names])
    friction_spread = np.concatenate([np.full(shared, np.inf), consistent.friction_deviations])
    return Identified(
        robot.name,
        robot.joint_names,
        _base(robot, base, solution.x, spread, prior, needed, solution.identifiable),
        _friction(robot, models, own, solution.x, spread, needed, solution.identifiable, tried),
        _standard(robot, models, fitted, consistent, own),
        _friction(robot, models, own, consistent.x, friction_spread, needed, solution.identifiable, tried),
        _base(robot, base, consistent.x, spread, prior, needed, solution.identifiable),
        plain,
        physical,
        solution.condition,
        tuple(residuals(errors).whiteness.tolist()),
        Protocol(
            len(motion),
            motion.period,
            settings.train,
            settings.decimation,
            len(rows),
            "irls" if settings.robust else "wls",
            settings.parts,
            settings.prior_weight,
        ),
        _remarks(robot, base, motion, models, solution),
        findings,
    )


@dataclass(frozen=True, eq=False)
class _Task:
    robot: Robot
    base: BaseColumns
    settings: IdentificationSettings

    def equations(self, motion: Motion) -> Equations:
        return Equations(motion, self.base, Decimation(self.settings.decimation))

    def friction(
        self, equations: Equations
    ) -> tuple[tuple[FrictionModel, ...], list[tuple[tuple[str, float], ...]]]:
        """The friction of each joint, and what was tried on the way to it."""
        n = self.robot.dof
        if self.settings.friction is not None:
            return self.settings.friction, [()] * n
        start = (FrictionModel(),) * n
        solution = weighted(factors(_rows(equations, start)))
        load = rigid_torques(equations, solution.x) if self.settings.loaded else None
        speeds = np.abs(equations.motion.qd).max(axis=0).tolist()
        terms = tuple(candidates(speed, self.settings.loaded) for speed in speeds)
        rows = Rows(equations, terms, load)
        chosen = selected(grams(rows, self.settings.parts, solution.sigma), start)
        # Once more, for velocities between those that were tried.
        models = tuple(choice.model for choice in chosen)
        rows = Rows(equations, tuple(finer(model) for model in models), load)
        refined = selected(grams(rows, self.settings.parts, solution.sigma), models, FINE_GAIN)
        tried = [one.tried + other.tried[1:] for one, other in zip(chosen, refined, strict=True)]
        return tuple(choice.model for choice in refined), tried

    def fit(self, equations: Equations, models: Sequence[FrictionModel]) -> tuple[Rows, Solution, Factors]:
        """The equations, the parameters that fit them best, and their factors."""
        if not any(model.loaded for model in models):
            return self._fitted(_rows(equations, models))
        start = (FrictionModel(),) * self.robot.dof
        x = weighted(factors(_rows(equations, start))).x
        for _ in range(ROUNDS):
            found = self._fitted(_rows(equations, models, rigid_torques(equations, x)))
            x = found[1].x
        return found

    def _fitted(self, rows: Rows) -> tuple[Rows, Solution, Factors]:
        data = factors(rows)
        solution = weighted(data)
        if self.settings.robust:
            solution, weights = reweighted(rows, solution.x)
            data = factors(rows, weights=weights)
        return rows, solution, data


def _rows(equations: Equations, models: Sequence[FrictionModel], load: Array | None = None) -> Rows:
    return Rows(equations, tuple((model,) for model in models), load)


def rigid_torques(equations: Equations, x: Array) -> Array:
    """Torques that bodies and rotors exert by the base parameters, at all samples of a motion, (N, n)."""
    motion, shared = equations.motion, x[: equations.shared]
    load = np.empty_like(motion.tau)
    for first in range(0, len(motion), PIECE):
        part = slice(first, first + PIECE)
        load[part] = equations.base.columns(motion.q[part], motion.qd[part], motion.qdd[part]) @ shared
    return load


_TINY = float(np.finfo(float).tiny)


def torque_error(equations: Equations, models: Sequence[FrictionModel], x: Array) -> TorqueError:
    """How far the torques by parameters are from those of a motion."""
    load = rigid_torques(equations, x) if any(model.loaded for model in models) else None
    rows = _rows(equations, models, load)
    squares = np.sum(residual_rows(rows, x) ** 2, axis=0)
    torques = np.maximum(np.sum(residual_rows(rows, np.zeros_like(x)) ** 2, axis=0), _TINY)
    return TorqueError(
        float(np.sqrt(squares.sum() / torques.sum())),
        tuple(np.sqrt(squares / torques).tolist()),
        tuple(np.sqrt(squares / len(rows)).tolist()),
    )


def _check(robot: Robot, motion: Motion, settings: IdentificationSettings) -> None:
    if motion.dof != robot.dof:
        raise DynError(
            f"the motion has {motion.dof} joints, but robot '{robot.name}' has {robot.dof}: "
            f"give the columns {listed(robot.joint_names)} in this order"
        )
    if settings.friction is not None and len(settings.friction) != robot.dof:
        raise DynError(f"friction was given for {len(settings.friction)} joints, but there are {robot.dof}")
    if not 0.0 < settings.train <= 1.0:
        raise ValueError(f"train: expected a part of the time, in (0, 1], but it is {settings.train!r}")
    if settings.parts < 2:
        raise ValueError(f"parts: expected 2 or more for cross-validation, but it is {settings.parts!r}")
    if not any(_moves(motion)):
        raise DynError("no joint moves in this motion: nothing can be identified from it")


def _check_length(equations: Equations, settings: IdentificationSettings) -> None:
    needed = max(2 * settings.parts, equations.shared)
    if len(equations) < needed:
        duration = len(equations.motion) * equations.motion.period
        raise DynError(
            f"{duration:.3g} s of motion give {len(equations)} equations for each joint, but {needed} are "
            f"needed for {equations.shared} base parameters: measure for longer, or decimate less than by "
            f"{settings.decimation}"
        )


def _moves(motion: Motion) -> list[bool]:
    return [bool(moves) for moves in np.ptp(motion.q, axis=0) > STILL]


def _at_rest(motion: Motion) -> Motion:
    """The motion, with rates of exactly 0 for joints that do not move: noise has a sign, too."""
    moves = np.array(_moves(motion))
    return replace(motion, qd=np.where(moves, motion.qd, 0.0), qdd=np.where(moves, motion.qdd, 0.0))


STILL = 1e-4
"""Greatest range of the positions of a joint that does not move (rad or m)."""


def _base(
    robot: Robot,
    base: BaseColumns,
    x: Array,
    spread: Array,
    prior: Array,
    needed: BoolArray,
    identifiable: BoolArray,
) -> tuple[IdentifiedParameter, ...]:
    return tuple(
        IdentifiedParameter(
            name,
            float(x[k]),
            float(spread[k]),
            float(prior[k]),
            unit_of(kept, robot),
            bool(needed[k]),
            bool(identifiable[k]),
        )
        for k, (name, kept) in enumerate(zip(base.names, base.kept, strict=True))
    )


def _friction(
    robot: Robot,
    models: Sequence[FrictionModel],
    own: Sequence[range],
    x: Array,
    spread: Array,
    needed: BoolArray,
    identifiable: BoolArray,
    tried: Sequence[tuple[tuple[str, float], ...]],
) -> tuple[JointFriction, ...]:
    found = []
    for i, (model, columns) in enumerate(zip(models, own, strict=True)):
        number, joint = robot.coordinates[i], robot.independent_joints[i]
        standard = {"viscous": joint.friction.Fv, "coulomb": joint.friction.Fs, "offset": joint.friction.Fo}
        parameters = tuple(
            IdentifiedParameter(
                name,
                float(x[k]),
                float(spread[k]),
                standard.get(term),
                unit(term, joint),
                bool(needed[k]),
                bool(identifiable[k]),
            )
            for name, term, k in zip(model.names(number), model.terms, columns, strict=True)
        )
        found.append(JointFriction(model, parameters, tried[i]))
    return tuple(found)


def _standard(
    robot: Robot,
    models: Sequence[FrictionModel],
    motion: Motion,
    consistent: Consistent,
    own: Sequence[range],
) -> tuple[IdentifiedParameter, ...]:
    """All standard parameters, in the order of `Robot.parameter_names`."""
    prior = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    place = {number: i for i, number in enumerate(robot.coordinates)}
    found = []
    for j, joint in enumerate(robot.joints, start=1):
        values = [*consistent.standard[j - 1], consistent.Ia[j - 1]]
        spreads = consistent.deviations[j - 1].tolist()
        informed = consistent.informed[j - 1].tolist()
        friction = [joint.friction.Fv, joint.friction.Fs, joint.friction.Fo]
        if j in place:
            i = place[j]
            x = consistent.x[list(own[i])]
            friction = list(nearest_standard(models[i], x, motion.qd[:, i]))
            of_friction = consistent.friction_deviations[[k - len(consistent.x) for k in own[i]]]
            by_term = dict(zip(models[i].terms, of_friction.tolist(), strict=True))
            spreads += [by_term.get(term, np.inf) for term in ("viscous", "coulomb", "offset")]
            informed += [1.0] * 3
        else:
            spreads += [np.inf] * 3
            informed += [0.0] * 3
        names = robot.parameter_names[14 * (j - 1) : 14 * j]
        for name, value, spread, share in zip(names, [*values, *friction], spreads, informed, strict=True):
            found.append(
                IdentifiedParameter(
                    name,
                    float(value),
                    float(spread),
                    float(prior[name]),
                    unit_of(name, robot),
                    abs(value) > 3.3 * spread,
                    share > INFORMED,
                )
            )
    return tuple(found)


INFORMED = 0.5
"""Part of what is known of a standard parameter that has to come from the measurement."""


def _remarks(
    robot: Robot,
    base: BaseColumns,
    motion: Motion,
    models: Sequence[FrictionModel],
    solution: Solution,
) -> tuple[str, ...]:
    remarks = []
    _, impossible = expected_bodies(robot)
    if impossible:
        names = listed(robot.joints[j - 1].name for j in impossible)
        remarks.append(
            f"no body can have the inertia that the description gives to what {names} carry: "
            "the nearest possible one is expected instead"
        )
    still = [name for name, moves in zip(robot.joint_names, _moves(motion), strict=True) if not moves]
    if still:
        remarks.append(f"{listed(still)} did not move: their friction and rotors stay unknown")
    silent = [name for name, known in zip(robot.joint_names, motion.measured, strict=True) if not known]
    if silent:
        remarks.append(f"the torque of {listed(silent)} was not measured: they have no equations")
    own = [name for j, m in zip(robot.coordinates, models, strict=True) for name in m.names(j)]
    parameters = (*base.names, *own)
    missing = [name for name, known in zip(parameters, solution.identifiable, strict=True) if not known]
    if missing:
        remarks.append(f"the motion does not show {listed(missing, 14)}: excite the joints more")
    if solution.condition > ILL_CONDITIONED:
        remarks.append(
            f"the condition number of the equations is {solution.condition:.3g}: parameters cannot be told "
            "from each other well; excite the joints more, see dyn excite"
        )
    return tuple(remarks)


ILL_CONDITIONED = 1e3
