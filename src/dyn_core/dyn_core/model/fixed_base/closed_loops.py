# SPDX-License-Identifier: Apache-2.0
"""The functions of a model that belong to the loops of its robot, and are made when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.loops.closed_configurations import CLOSED, closed_by
from dyn_core.algorithms.loops.loop_structure import geometry_of, whole_structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array, as_floats, joint_vectors
from dyn_core.core.errors import DynError, listed
from dyn_core.facade.loop_programs import (
    passive_accelerations,
    passive_matrix,
    passive_positions,
    passive_velocities,
)
from dyn_core.facade.runnable import Runnable
from dyn_core.loops.numbers import Numbers
from dyn_core.loops.reference import worst_opening
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot

PassiveValues = npt.ArrayLike | Mapping[str, float]
"""Positions of the passive joints: all of them in order, or by name, those of the assembly for the others."""


class LoopFunctions:
    """Passive joints of loops. The first call of each function traces and compiles."""

    robot: Robot

    def _made(self, key: tuple[str, ...], program: Callable[[], Program]) -> Runnable:
        raise NotImplementedError

    @property
    def passive_joint_names(self) -> tuple[str, ...]:
        """Names of the joints without actuator, in tree order: of a robot with loops those that follow."""
        return self.robot.passive_joint_names

    def solve_loops(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike | None = None,
        qdd: npt.ArrayLike | None = None,
        guess: PassiveValues | None = None,
        limits: bool = False,
    ) -> Array | tuple[Array, ...]:
        """Positions of the passive joints, and their velocities and accelerations where those are given.

        Args:
            q: positions of the actuated joints (rad or m), (n,) or (N, n).
            qd: their velocities.
            qdd: their accelerations.
            guess: positions of the passive joints (rad or m) from which the loops are closed, whatever the
                assembly mode they are near; by default the mode is that of the assembly.
            limits: whether passive joints have to be within their limits.

        Returns:
            the positions in the order of `passive_joint_names`; with qd a pair of positions and
            velocities, with qdd three arrays.

        Raises:
            DynError: the robot has no loops, they do not close there, or, with `limits`, a passive joint
                would be beyond a limit.
        """
        if not self.robot.loops:
            raise DynError(f"robot '{self.robot.name}' has no loops that could be solved")
        if qdd is not None and qd is None:
            raise ValueError("qd: accelerations of passive joints depend on it: give it with qdd")
        rates = {"qd": qd, "qdd": qdd}
        vectors = joint_vectors(self.robot.dof, q=q, **{k: v for k, v in rates.items() if v is not None})
        answers = self._on_branch(vectors) if guess is None else self._near(vectors, guess)
        if limits:
            self._check_limits(answers[0])
        return answers[0] if qd is None else tuple(answers)

    def _check_limits(self, passive: Array) -> None:
        for k, name in enumerate(self.passive_joint_names):
            joint = self.robot.joint(name)
            lower, upper = joint.limits.lower, joint.limits.upper
            for number, value in enumerate(np.atleast_2d(passive)[:, k].tolist()):
                if (lower is not None and value < lower) or (upper is not None and value > upper):
                    sample = f" (sample {number})" if passive.ndim == 2 else ""
                    raise DynError(
                        f"the loops of robot '{self.robot.name}' close only with joint '{name}' at "
                        f"{value:.4g} {joint.position_unit}{sample}, which is not between its limits "
                        f"{'-inf' if lower is None else f'{lower:.4g}'} and "
                        f"{'inf' if upper is None else f'{upper:.4g}'}: keep the actuated joints where it is",
                        element=f"joint '{name}'",
                    )

    def _on_branch(self, vectors: Sequence[Array]) -> list[Array]:
        """Answer positions and what follows on the branch of the assembly."""
        makers = (passive_positions, passive_velocities, passive_accelerations)
        return [
            self._made((maker.__name__,), partial(maker, self.robot)).run((), *vectors[:count])
            for count, maker in enumerate(makers[: len(vectors)], start=1)
        ]

    def loop_condition(self, q: npt.ArrayLike) -> Array:
        """Condition number of the constraints for the passive joints: infinite where they are singular.

        It is that of W_p of ``W_p qd_p = -W_a qd_a``, with lengths counted in units of the size of the
        loops: () or (N,). At 1e3 an error of an actuated joint may be a thousand times as large in a
        passive one.
        """
        (vector,) = joint_vectors(self.robot.dof, q=q)
        if not self.robot.loops:
            return np.ones(vector.shape[:-1])
        W = self._made(("passive_matrix",), partial(passive_matrix, self.robot)).run((), vector)
        return condition_numbers(W, constraint_units(self.robot))

    def _near(self, vectors: Sequence[Array], guess: PassiveValues) -> list[Array]:
        """Answer positions and what follows in the closed configurations near a guess."""
        robot, found = self.robot, whole_structure(self.robot)
        batch = vectors[0].ndim == 2
        samples = np.atleast_2d(vectors[0])
        passive = [robot.independent.index(j) for j in found.unknown]
        active = [robot.independent.index(j) for j in robot.coordinates]
        positions = np.repeat(np.array(found.reference)[np.newaxis], len(samples), axis=0)
        positions[:, active] = samples
        positions[:, passive] = self._guessed(guess, positions[:, passive])
        numbers = Numbers(geometry_of(robot))
        closed, gaps = closed_by(numbers, positions, passive)
        for k, gap in enumerate(gaps):
            if not gap < CLOSED:
                raise DynError(
                    f"the loops of robot '{robot.name}' do not close from the guess"
                    f"{f' (sample {k})' if batch else ''}: as near as they come, "
                    f"{worst_opening(numbers, closed[k])}: give another guess, or other positions",
                    element=f"loop '{robot.loops[0].name}'",
                )
        at = Passive(robot, found, list(samples.T), list(closed[:, passive].T))
        rates = [at.rates(list(np.atleast_2d(qd).T)) for qd in vectors[1:2]]
        rates += [at.accelerations(rates[0], list(np.atleast_2d(qdd).T)) for qdd in vectors[2:]]
        places = [j - 1 for j in found.unknown]
        answers = [closed[:, passive]]
        answers += [np.stack([rate[k] for k in places], axis=-1) for rate in rates]
        return answers if batch else [answer[0] for answer in answers]

    def _guessed(self, guess: PassiveValues, otherwise: Array) -> Array:
        names = self.passive_joint_names
        if isinstance(guess, Mapping):
            unknown = [name for name in guess if name not in names]
            if unknown:
                raise DynError(
                    f"guess: {listed(unknown)} are no passive joints: these are {listed(names, 12)}",
                    element=f"joint '{unknown[0]}'",
                )
            columns = [otherwise[:, k] if n not in guess else guess[n] for k, n in enumerate(names)]
            return np.stack(np.broadcast_arrays(*columns), axis=-1)
        array = as_floats("guess", guess)
        if array.shape not in ((len(names),), otherwise.shape):
            raise ValueError(f"guess: expected the shape ({len(names)},), but it has {array.shape}")
        return array


def condition_numbers(W: Array, units: Array) -> Array:
    """Condition numbers of matrices W_p (..., rows, columns), NaN where one is not finite.

    Args:
        W: the matrices.
        units: what their entries are counted in, as `constraint_units` answers.
    """
    finite = np.isfinite(W).all(axis=(-2, -1))
    values = np.linalg.svd(np.nan_to_num(W) * units, compute_uv=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        condition = values[..., 0] / values[..., -1]
    return np.asarray(np.where(finite, condition, np.nan))


def constraint_units(robot: Robot) -> Array:
    """What brings W_p to lengths counted in the size of the loops, and rad: factors of its entries."""
    found = whole_structure(robot)
    of_rows = []
    for cut in found.cuts:
        of_rows += [found.size] * len(cut.linear) + [1.0] * (cut.rows - len(cut.linear))
    sliding = (robot.joints[j - 1].sigma is Sigma.PRISMATIC for j in found.unknown)
    columns = np.array([found.size if slides else 1.0 for slides in sliding])
    return np.asarray(columns / np.array([of_rows[row] for row in found.rows])[:, np.newaxis])
