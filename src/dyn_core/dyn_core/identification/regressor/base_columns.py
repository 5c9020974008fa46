# SPDX-License-Identifier: Apache-2.0
"""Columns of the base parameters in the dynamic model, of coupled motors and of passive-joint friction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from dyn_core.algorithms.base_parameters.combinations import PER_BODY, Combinations
from dyn_core.algorithms.base_parameters.determination import base_parameters
from dyn_core.algorithms.base_parameters.independent_columns import dependent_columns
from dyn_core.algorithms.base_parameters.numeric_relations import (
    SAMPLES,
    on_motions,
    random_closed_states,
    random_states,
)
from dyn_core.algorithms.dynamics.regressors import regressor
from dyn_core.algorithms.loops.loop_structure import structure
from dyn_core.algorithms.loops.passive_joint_positions import configuration
from dyn_core.codegen.traced_program import trace
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.model.builder import Vector
from dyn_core.model.fixed_base.closed_loops import closed, passive_positions
from dyn_core.model.fixed_base.compiled_model import run_by, runnable_by
from dyn_core.model.tunable_parameters import Runnable
from dyn_core.robot.description import PART_NAMES
from dyn_core.robot.robot import Robot, parameter_unit, refuse_moving_base, refuse_springs


def always(q: Array) -> bool:
    """Return True: a robot without loops can take any positions."""
    return True


def closing(robot: Robot) -> Callable[[Array], bool]:
    """Return a function of positions (N, n) that tells whether the loops of a robot close at all of them."""
    if not robot.loops or not structure(robot).unknown:
        return always

    @cache
    def passive() -> Runnable:
        return runnable_by(robot, passive_positions(robot))

    def closes(q: Array) -> bool:
        run = passive()
        return run.function.into(np.ascontiguousarray(q), np.empty((len(q), *run.shape))) is None

    return closes


_NEAR = 0.05  # range around the assembled positions in which the loops are assumed to close (rad or m)


@dataclass(frozen=True, eq=False)
class BaseColumns(Combinations):
    """The columns of base parameters: bodies and rotors, then passive-joint friction, then coupled motors.

    Attributes:
        standard_names: 11 inertial parameters and rotor inertia of each joint, the friction of passive
            joints, and the parameters of coupled motors.
        kept: the standard parameter that represents each base parameter.
        matrix: ``base = matrix @ standard`` (SI units).
        columns: the columns (N, n, p) as a function of positions, velocities and accelerations (N, n).
        couplings: the motors that move several joints.
        passive: names of the friction parameters of passive joints.
        closes: whether the loops of the robot close at all positions (N, n).
    """

    columns: Callable[[Array, Array, Array], Array]
    robot: Robot
    couplings: tuple[MotorCoupling, ...] = ()
    passive: tuple[str, ...] = ()
    closes: Callable[[Array], bool] = always


def base_columns(robot: Robot, couplings: Sequence[MotorCoupling] = ()) -> BaseColumns:
    """Return the columns of the base parameters, compiled for one robot.

    The parameters of `couplings`, motors that move several joints, come last.
    """
    refuse_springs(robot, "identification")
    refuse_moving_base(robot, "identification")
    bodies, of_passive = base_parameters(robot), passive_friction(robot)
    (a, b), (c, d) = bodies.matrix.shape, of_passive.matrix.shape
    matrix = np.block([[bodies.matrix, np.zeros((a, d))], [np.zeros((c, b)), of_passive.matrix]])
    names = (*bodies.standard_names, *of_passive.standard_names)
    found = Combinations(names, (*bodies.kept, *of_passive.kept), matrix)
    places = [robot.parameter_names.index(name) for name in found.kept]
    program = trace(
        "base_regressor",
        partial(regressor_columns, robot, places),
        {"q": robot.dof, "qd": robot.dof, "qdd": robot.dof},
        (robot.dof, len(found.kept)),
    )
    of_bodies = run_by(robot, closed(robot, program))
    passive = found.standard_names[len(PER_BODY) * len(robot.joints) :]
    if not couplings:
        names, kept, matrix = found.standard_names, found.kept, found.matrix
        return BaseColumns(names, kept, matrix, of_bodies, robot, (), passive, closing(robot))
    return _with_motors(robot, found, of_bodies, couplings, passive)


def _with_motors(
    robot: Robot,
    found: Combinations,
    of_bodies: Callable[[Array, Array, Array], Array],
    couplings: Sequence[MotorCoupling],
    passive: tuple[str, ...],
) -> BaseColumns:
    """Return the columns of base parameters and of the independent parameters of coupled motors."""
    states = some_states(robot)
    bodies, motors = of_bodies(*states), coupling_columns(robot, couplings, *states[1:])
    count = len(found.kept)
    W = np.concatenate([bodies, motors], axis=2)
    chosen = dependent_columns(W.reshape(-1, W.shape[2]), count)
    names = tuple(name for coupling in couplings for name in coupling.parameter_names)
    kept = [k - count for k in chosen.columns[count:]]

    def columns(q: Array, qd: Array, qdd: Array) -> Array:
        moved = coupling_columns(robot, couplings, qd, qdd)[..., kept]
        return np.concatenate([of_bodies(q, qd, qdd), moved], axis=-1)

    relations = chosen.relations
    return BaseColumns(
        (*found.standard_names, *names),
        (*found.kept, *(names[k] for k in kept)),
        np.hstack([relations[:, :count] @ found.matrix, relations[:, count:]]),
        columns,
        robot,
        tuple(couplings),
        passive,
        closing(robot),
    )


def some_states(robot: Robot) -> Array:
    """Return random positions, velocities, accelerations, (3, N, n); with loops, near the assembled state."""
    random = np.random.default_rng(0)
    if not robot.loops:
        return np.ascontiguousarray(random_states(robot, random).swapaxes(1, 2))
    states = random.uniform(-1.0, 1.0, (3, SAMPLES, robot.dof))
    at = dict(zip(robot.independent, structure(robot).reference, strict=True))
    states[0] = np.array([at[j] for j in robot.coordinates]) + _NEAR * states[0]
    return states


def regressor_columns(robot: Robot, selected: Sequence[int], q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Return selected columns of the regressor, row by row; `selected` indexes `Robot.parameter_names`."""
    at = configuration(robot, q)
    rows = regressor(robot, at.q, at.rates(qd), at.accelerations(qd, qdd), robot.gravity_0)
    columns = list(zip(*rows, strict=True))
    gathered = at.many_torques([columns[k] for k in selected])
    return [value for row in zip(*gathered, strict=True) for value in row]


# Motors that move several joints, as in some wrists
#
# A motor with the speed ``a . qd``, referred to the joints, has its own rotor inertia and friction:
#
#     tau += a (Ia a . qdd + Fv a . qd + Fs sign(a . qd))
#
# This adds to the rotors and the friction of the joints. Motor 6 has the parameters Iam6, Fvm6, Fsm6.

LETTERS = ("Iam", "Fvm", "Fsm")


@dataclass(frozen=True)
class MotorCoupling:
    """A motor that moves several joints.

    Attributes:
        name: suffix of its parameters: ``6`` gives Iam6, Fvm6, Fsm6.
        joints: by joint, the speed of the motor, referred to the joint, at unit speed of the joint.
    """

    name: str
    joints: Mapping[str, float]

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of its parameters."""
        return tuple(f"{letters}{self.name}" for letters in LETTERS)

    def speeds(self, robot: Robot) -> Array:
        """Return a, (n,); DynError if a joint is not an independent joint of the robot."""
        a = np.zeros(robot.dof)
        for name, value in self.joints.items():
            robot.joint(name)
            a[robot.coordinate_names.index(name)] = value
        return a


def motors_of(
    robot: Robot, signals: Signals, more: Sequence[MotorCoupling] = ()
) -> tuple[MotorCoupling, ...]:
    """Return the motors that move several joints: those given, then those of the log, by joint number."""
    numbers = dict(zip(robot.coordinate_names, robot.coordinates, strict=True))
    unknown = [name for name in signals.drives if name not in numbers]
    if unknown:
        raise DynError("entry-joint-unknown", entry="coupling", unknown=unknown, known=robot.coordinate_names)
    of_log = (MotorCoupling(str(numbers[name]), joints) for name, joints in signals.drives.items())
    known = {motor.name for motor in more}
    return (*more, *(motor for motor in of_log if motor.name not in known))


def coupling_columns(robot: Robot, couplings: Sequence[MotorCoupling], qd: Array, qdd: Array) -> Array:
    """Return the columns of motor parameters, (N, n, 3 m), at velocities and accelerations (N, n)."""
    columns = []
    for coupling in couplings:
        a = coupling.speeds(robot)
        speed, acceleration = qd @ a, qdd @ a
        columns += [np.multiply.outer(x, a) for x in (acceleration, speed, np.sign(speed))]
    return np.stack(columns, axis=-1) if columns else np.zeros((*qd.shape, 0))


# Viscous and Coulomb friction of the passive joints of loops
#
# A passive joint with the speed ``qd_p = g . qd`` loads the actuated joints by
# ``g (Fv qd_p + Fs sign(qd_p))``. It can be told from the friction of the actuated joints where g varies or
# several actuated joints move it. The rest is counted as friction of the actuated joints.

OF_PASSIVE = ("Fv", "Fs")  # friction terms of passive joints: without a motor there is no offset

_NONE = 1e-9  # coefficients below this are 0


def passive_friction(robot: Robot) -> Combinations:
    """Return the combinations of passive-joint friction that can be told from actuated-joint friction.

    There are none without loops. The six joints that make up a floating joint have no friction.
    """
    none = Combinations((), (), np.zeros((0, 0)))
    if not robot.loops:
        return none
    states = random_closed_states(robot, 0)
    independent = list(robot.independent)
    actuated = [j for j in independent if j in robot.coordinates]
    bearings = [j for j in independent if not _is_free(robot, robot.joints[j - 1].name)]
    passive = [j for j in bearings if j not in robot.coordinates]
    own = [_column(independent.index(j), term, states.qd) for j in actuated for term in ("Fv", "Fs", "Fo")]
    others = [_column(independent.index(j), term, states.qd) for j in passive for term in OF_PASSIVE]
    names = [f"{term}{j}" for j in passive for term in OF_PASSIVE]
    if not others:
        return none
    W = on_motions(states, np.array(own + others))
    chosen = dependent_columns(W, len(own))
    # Friction that actuated joints can produce as well is counted as theirs.
    alone = np.abs(chosen.relations[: len(own), len(own) :]).max(axis=0, initial=0.0) < _NONE
    kept = [k - len(own) for k in chosen.columns[len(own) :]]
    used = [k for k in range(len(names)) if alone[k]]
    matrix = chosen.relations[len(own) :, len(own) :][:, used]
    return Combinations(tuple(names[k] for k in used), tuple(names[k] for k in kept), matrix)


def _is_free(robot: Robot, name: str) -> bool:
    """Return whether a joint is part of a floating joint, which has no bearing."""
    floating, _, part = name.rpartition("/")
    parts = PART_NAMES["floating"]
    return part in parts and {f"{floating}/{other}" for other in parts} <= set(robot.joint_names)


def _column(place: int, term: str, qd: Array) -> Array:
    """Return the torques of the independent joints by the friction of one, (independent joints, K)."""
    column = np.zeros((qd.shape[1], len(qd)))
    speed = qd[:, place]
    column[place] = speed if term == "Fv" else np.sign(speed) if term == "Fs" else 1.0
    return column


_OF_MOTORS = {"Iam": "kg m^2", "Fvm": "N m s/rad", "Fsm": "N m"}


def unit_of(name: str, robot: Robot) -> str:
    """Return the unit of a standard parameter or of a parameter of coupled motors."""
    return parameter_unit(name, robot) if name in robot.parameter_names else _OF_MOTORS[name[:3]]
