# SPDX-License-Identifier: Apache-2.0
"""Closed loops: Newton's step for passive joints, their functions, reactions of cut joints.

`closed` gives a program the equations of its unknown passive joints. `unresisted_coordinates` finds joints
that no inertia resists. The functions of `LoopFunctions` are compiled at their first call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyn_core.algorithms.dynamics import newton_euler
from dyn_core.algorithms.dynamics.direct_dynamics import Inertia, unresisted_joints
from dyn_core.algorithms.dynamics.newton_euler import drive_torques
from dyn_core.algorithms.dynamics.wrenches import CutWrench, Wrench, cut_wrenches, wrench_on_antecedent
from dyn_core.algorithms.loops.closed_configurations import CLOSED, close_loops, worst_opening
from dyn_core.algorithms.loops.constraints import ConstraintArrays
from dyn_core.algorithms.loops.loop_structure import geometry_of, structure, whole_structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.algorithms.loops.passive_joint_positions import configuration, reference_positions, scales
from dyn_core.codegen.python_backend import numeric_step
from dyn_core.codegen.traced_program import Closure, Equations, Program, trace
from dyn_core.core.arrays import Array, as_floats, joint_vectors
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.model.builder import Vector
from dyn_core.model.built_model import BuiltModel
from dyn_core.model.external_wrenches import exerted_by_bodies
from dyn_core.model.tunable_parameters import Runnable
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.expression_graph import Expr, Graph, Op
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.transform import Transform, compose


def closed(robot: Robot, program: Program) -> Program:
    """Return a program with the equations of the unknowns that it uses, if any."""
    graph = next((node.graph for node in program.results if isinstance(node, Expr)), None)
    if graph is None or not graph.determined:
        return program
    used = {node.number for node in program.nodes}
    for given, unknowns in graph.determined.items():
        if any(node.number in used for node in unknowns):
            return replace(program, closure=Closure(unknowns, given, equations(geometry_of(robot))))
    return program


NEWTON_STEP = "newton_step"


def newton_program(robot: Robot) -> Program:
    """Return Newton's step for the passive joints of a robot as a program of q and x.

    Its results are the changes of the passive positions x, then other values that are 0 where the loops are
    closed, unless they are 0 by the structure of the robot.

    Raises:
        DynError: no passive joint of the robot is found by iteration.
    """
    found = structure(robot) if robot.loops else None
    if found is None or not found.unknown:
        code = "newton-step-of-linear-loops" if found else "newton-step-without-loops"
        raise DynError(code, robot=robot.name, program=NEWTON_STEP, element=f"robot '{robot.name}'")
    solved = equations(geometry_of(robot))
    given, x = (solved.step.inputs[name] for name in ("given", "x"))
    names = [robot.joints[j - 1].name for j in found.unknown]
    steps, gaps = solved.step.results[: len(names)], solved.step.results[len(names) :]
    gaps = tuple(gap for gap in gaps if isinstance(gap, Expr) and gap.op is not Op.CONSTANT)
    return replace(
        solved.step,
        name=NEWTON_STEP,
        inputs={"q": given, "x": x},
        results=(*steps, *gaps),
        shape=(len(steps) + len(gaps),),
        columns=(*names, *(f"gap_{k}" for k in range(1, len(gaps) + 1))),
        documentation="the change of x"
        + (", then what else has to be 0 where the loops are closed" if gaps else ""),
        closure=Closure(x, given, solved),
    )


@lru_cache(maxsize=32)
def equations(robot: Robot) -> Equations:
    """Return the equations for the unknown passive joints of a robot without masses."""
    found = structure(robot)

    def step(q_a: Sequence[Scalar], x: Sequence[Scalar]) -> list[Scalar]:
        passive = Passive(robot, found, q_a, x)
        return [*passive.newton_step(), *passive.openings()[1]]

    sizes = {"given": robot.dof, "x": len(found.unknown)}
    q_a, x = reference_positions(robot, found)
    program = trace("newton_step", step, sizes, (len(step(q_a, x)),))
    return Equations(robot, program, (tuple(q_a), tuple(x)), scales(robot, found))


def unresisted_coordinates(robot: Robot, inertia: Inertia | None = None) -> tuple[str, ...]:
    """Return `unresisted_joints`, much faster than on floats, by the inertia matrix A(q) if it is given."""
    return unresisted_joints(robot, inertia, lambda: numeric_step(equations(geometry_of(robot))))


# Programs of passive joints and cut joints


def passive_positions(robot: Robot) -> Program:
    """Return the positions of the passive joints as a program of q."""
    return _passive_program(robot, "passive_positions", ("q",), lambda at: at.q)


def passive_velocities(robot: Robot) -> Program:
    """Return the velocities of the passive joints as a program of q and qd."""
    return _passive_program(robot, "passive_velocities", ("q", "qd"), lambda at, qd: at.rates(qd))


def passive_accelerations(robot: Robot) -> Program:
    """Return the accelerations of the passive joints as a program of q, qd and qdd."""
    inputs = ("q", "qd", "qdd")
    return _passive_program(
        robot, "passive_accelerations", inputs, lambda at, qd, qdd: at.accelerations(qd, qdd)
    )


def _passive_program(
    robot: Robot, name: str, inputs: Sequence[str], of_tree: Callable[..., Vector]
) -> Program:
    """Return values of the passive joints, of those that `of_tree` returns at a configuration."""
    passive = [k for k, joint in enumerate(robot.joints) if joint.mimic is None and joint.mu == 0]

    def algorithm(q: Vector, *rates: Vector) -> Vector:
        values = of_tree(configuration(robot, q), *rates)
        return [values[k] for k in passive]

    return closed(robot, trace(name, algorithm, dict.fromkeys(inputs, robot.dof), (len(passive),)))


def passive_matrix(robot: Robot) -> Program:
    """Return the matrix W_p of the constraints of all passive joints as a program of q."""
    found = whole_structure(robot)

    def algorithm(q: Vector) -> Vector:
        position = dict(enumerate(configuration(robot, q).q, start=1))
        x = [position[j] for j in found.unknown]
        rows = Passive(robot, found, [position[j] for j in robot.coordinates], x).matrix()
        return [value for row in rows for value in row]

    shape = (len(found.rows), len(found.unknown))
    return closed(robot, trace("passive_matrix", algorithm, {"q": robot.dof}, shape))


def cut_reaction(robot: Robot, loop: str, graph: Graph | None) -> Program:
    """Return the wrench through a cut joint, [force; moment], as a program (see `reaction_program`).

    The parent's side exerts it on the child's. It is in the child's cut frame and about its origin.
    """
    number = [each.name for each in robot.loops].index(loop)
    end = robot.loops[number].child
    T_body_cut = compose(robot.link_frame(end.link).T_body_link, end.T_link_cut)

    def algorithm(q: Vector, qd: Vector, qdd: Vector, w: Vector) -> Vector:
        wrench = reactions_of_cuts(robot, q, qd, qdd, exerted_by_bodies(robot, w))[number]
        R_cut_C = mat3.mul(mat3.transpose(T_body_cut.R), wrench.cut.C.T_body_link.R)
        return wrench_on_antecedent(Transform(R_cut_C, vec3.ZERO), wrench.in_C).values

    return reaction_program(robot, algorithm, graph)


def reaction_program(robot: Robot, algorithm: Callable[..., Vector], graph: Graph | None) -> Program:
    """Return a wrench as a program of q, qd, qdd and `packed` wrenches w."""
    sizes = dict.fromkeys(("q", "qd", "qdd"), robot.dof) | {"w": 6 * len(robot.joints)}
    return closed(robot, trace("reaction_wrench", algorithm, sizes, (6,), graph=graph))


def reactions_of_cuts(
    robot: Robot, q: Vector, qd: Vector, qdd: Vector, external: dict[int, Wrench]
) -> list[CutWrench]:
    """Return the wrenches through the cut joints of a robot, if it has loops."""
    if not robot.loops:
        return []
    at = configuration(robot, q)
    rates, accelerations = at.rates(qd), at.accelerations(qd, qdd)
    rigid = newton_euler.inverse_dynamics(robot, at.q, rates, accelerations, robot.gravity_0, external)
    drives = drive_torques(robot.joints, rates, accelerations)
    return cut_wrenches(robot, at.q, [a + b for a, b in zip(rigid, drives, strict=True)])


# Functions of models

PassiveValues = ArrayLike | Mapping[str, float]
"""Positions of the passive joints: all in order, or by name, with those of the assembly for the others."""


class LoopFunctions(BuiltModel):
    """Passive joints of loops. The first call of each function traces and compiles."""

    robot: Robot

    @property
    def passive_joint_names(self) -> tuple[str, ...]:
        """Names of the joints without actuator, in tree order; of a robot with loops those that follow."""
        return self.robot.passive_joint_names

    def solve_loops(
        self,
        q: ArrayLike,
        qd: ArrayLike | None = None,
        qdd: ArrayLike | None = None,
        guess: PassiveValues | None = None,
        limits: bool = False,
    ) -> Array | tuple[Array, ...]:
        """Positions of the passive joints, and their velocities and accelerations if qd and qdd are given.

        Args:
            q: positions of the actuated joints (rad or m), (n,) or (N, n).
            qd: their velocities.
            qdd: their accelerations.
            guess: positions of the passive joints (rad or m) near the assembly mode in which to close the
                loops; by default it is that of the assembly.
            limits: whether passive joints have to be within their limits.

        Returns:
            the positions in the order of `passive_joint_names`; with qd positions and velocities, with qdd
                three arrays.

        Raises:
            DynError: the robot has no loops, they do not close there, or, with `limits`, a passive joint
                would be beyond a limit.
        """
        if not self.robot.loops:
            raise DynError("solvable-loops-missing", robot=self.robot.name)
        if qdd is not None and qd is None:
            raise ArgumentError("velocities-missing")
        rates = {"qd": qd, "qdd": qdd}
        vectors = joint_vectors(self.robot.dof, q=q, **{k: v for k, v in rates.items() if v is not None})
        motion = self._on_branch(vectors) if guess is None else self._near(vectors, guess)
        if limits:
            self._check_limits(motion[0])
        return motion[0] if qd is None else tuple(motion)

    def _check_limits(self, passive: Array) -> None:
        for name, column in zip(self.passive_joint_names, np.atleast_2d(passive).T.tolist(), strict=True):
            joint = self.robot.joint(name)
            lower = -math.inf if joint.limits.lower is None else joint.limits.lower
            upper = math.inf if joint.limits.upper is None else joint.limits.upper
            for number, value in enumerate(column):
                if value < lower or value > upper:
                    sample: dict[str, Any] = {"sample": number} if passive.ndim == 2 else {}
                    raise DynError(
                        "sample-passive-joint-beyond-limits" if sample else "passive-joint-beyond-limits",
                        robot=self.robot.name,
                        joint=name,
                        unit=joint.position_unit,
                        position=value,
                        lower=lower,
                        upper=upper,
                        element=f"joint '{name}'",
                        **sample,
                    )

    def _on_branch(self, vectors: Sequence[Array]) -> list[Array]:
        """Return positions and their derivatives on the branch of the assembly."""
        makers = (passive_positions, passive_velocities, passive_accelerations)
        return [
            passive_program(self, maker).run((), *vectors[:count])
            for count, maker in enumerate(makers[: len(vectors)], start=1)
        ]

    def loop_condition(self, q: ArrayLike) -> Array:
        """Condition number of the constraints for the passive joints: infinite where they are singular.

        It is that of W_p of ``W_p qd_p = -W_a qd_a``, with lengths relative to the size of the loops: () or
        (N,). At 1e3 an error of an actuated joint may be a thousand times as large in a passive one.
        """
        (vector,) = joint_vectors(self.robot.dof, q=q)
        if not self.robot.loops:
            return np.ones(vector.shape[:-1])
        W = passive_program(self, passive_matrix).run((), vector)
        return condition_numbers(W, constraint_units(self.robot))

    def _near(self, vectors: Sequence[Array], guess: PassiveValues) -> list[Array]:
        """Return positions and their derivatives in the closed configurations near a guess."""
        robot, found = self.robot, whole_structure(self.robot)
        batch = vectors[0].ndim == 2
        samples = np.atleast_2d(vectors[0])
        passive = [robot.independent.index(j) for j in found.unknown]
        active = [robot.independent.index(j) for j in robot.coordinates]
        positions = np.repeat(np.array(found.reference)[np.newaxis], len(samples), axis=0)
        positions[:, active] = samples
        positions[:, passive] = self._guessed(guess, positions[:, passive])
        numbers = ConstraintArrays(geometry_of(robot))
        closed, gaps = close_loops(numbers, positions, passive)
        for k, gap in enumerate(gaps):
            if not gap < CLOSED:
                sample: dict[str, Any] = {"sample": k} if batch else {}
                raise DynError(
                    "sample-loops-open-from-guess" if batch else "loops-open-from-guess",
                    robot=robot.name,
                    opening=worst_opening(numbers, closed[k]),
                    element=f"loop '{robot.loops[0].name}'",
                    **sample,
                )
        at = Passive(robot, found, list(samples.T), list(closed[:, passive].T))
        rates = [at.rates(list(np.atleast_2d(qd).T)) for qd in vectors[1:2]]
        rates += [at.accelerations(rates[0], list(np.atleast_2d(qdd).T)) for qdd in vectors[2:]]
        places = [j - 1 for j in found.unknown]
        motion = [closed[:, passive], *(np.stack([rate[k] for k in places], axis=-1) for rate in rates)]
        return motion if batch else [values[0] for values in motion]

    def _guessed(self, guess: PassiveValues, otherwise: Array) -> Array:
        names = self.passive_joint_names
        if isinstance(guess, Mapping):
            unknown = [name for name in guess if name not in names]
            if unknown:
                raise DynError(
                    "guess-joint-not-passive", unknown=unknown, known=names, element=f"joint '{unknown[0]}'"
                )
            columns = [otherwise[:, k] if n not in guess else guess[n] for k, n in enumerate(names)]
            return np.stack(np.broadcast_arrays(*columns), axis=-1)
        array = as_floats("guess", guess)
        if array.shape not in ((len(names),), otherwise.shape):
            raise ArgumentError("argument-shape", argument="guess", expected=(len(names),), given=array.shape)
        return array


def condition_numbers(W: Array, units: Array) -> Array:
    """Return the condition numbers of matrices W_p (..., rows, columns); NaN if one is not finite.

    `units` are the units of their entries, from `constraint_units`.
    """
    finite = np.isfinite(W).all(axis=(-2, -1))
    values = np.linalg.svd(np.nan_to_num(W) * units, compute_uv=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        condition = values[..., 0] / values[..., -1]
    return np.asarray(np.where(finite, condition, np.nan))


def constraint_units(robot: Robot) -> Array:
    """Return factors of the entries of W_p that make lengths relative to the size of the loops."""
    found = whole_structure(robot)
    of_rows: list[float] = []
    for cut in found.cuts:
        of_rows += [found.size] * len(cut.linear) + [1.0] * (cut.rows - len(cut.linear))
    prismatic = [robot.joints[j - 1].sigma is Sigma.PRISMATIC for j in found.unknown]
    return np.asarray(np.where(prismatic, found.size, 1.0) / np.array(of_rows)[list(found.rows), np.newaxis])


def passive_program(model: LoopFunctions, maker: Callable[[Robot], Program]) -> Runnable:
    """Return a program of the loops, such as `passive_positions`, compiled at the first call."""
    return model._functions.other((maker.__name__,), partial(maker, model.robot))
