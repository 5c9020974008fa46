# SPDX-License-Identifier: Apache-2.0
"""The dynamics functions of one robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dyn_core.codegen.program import Program
from dyn_core.expr.analysis import operation_counts
from dyn_core.facade.arrays import Array, checked_out, joint_vectors
from dyn_core.facade.external import external_wrenches, packed
from dyn_core.facade.programs import link_jacobian, placement, traced, with_terms
from dyn_core.facade.runnable import Function, runnable
from dyn_core.model.robot import Robot
from dyn_core.model.standard_parameters import parameter_names


@dataclass(frozen=True)
class Model:
    """Dynamics of a robot: A(q) qdd + C(q, qd) + Q(q) + friction(qd) (Khalil 2010, eq. (7)).

    Joint vectors are in the order of `joint_names`: positions q (rad or m), velocities qd,
    accelerations qdd, and torques (N m, or N for prismatic joints). Each function takes one
    sample (n,) or a batch (N, n) and answers in kind, in `out` where it is given. A sample in which a
    number is not finite gives NaN throughout. A model never changes and can be used by many threads.

    Attributes:
        robot: the robot.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
        backend: what computes: ``"c"``, compiled for this robot, or ``"python"``.
    """

    robot: Robot
    friction: bool
    rotor_inertia: bool
    backend: Literal["c", "python"]
    _functions: Mapping[str, Function] = field(repr=False, compare=False)
    _shapes: Mapping[str, tuple[int, ...]] = field(repr=False, compare=False)
    _of_links: dict[tuple[str, ...], tuple[Function, tuple[int, ...]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Put the fast functions of this robot in the place of the methods, which they fall back to."""
        public = (name for name in self._functions if hasattr(self, name))
        self.__dict__.update({name: self._functions[name].bind(getattr(self, name)) for name in public})

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the model is made from; the other side takes the programs from its cache."""
        from dyn_core.facade.compile import compile_model

        return compile_model, (self.robot, self.friction, self.rotor_inertia, self.backend)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of every joint vector."""
        return self.robot.joint_names

    def operation_counts(self, function: str) -> dict[str, int]:
        """Operations of one evaluation of a function, by its name: mul, add, div, trig, sqrt."""
        if function not in self._shapes:
            raise ValueError(f"there is no function '{function}': choose one of {', '.join(self._shapes)}")
        made_of = with_terms(self.robot, self.friction, self.rotor_inertia)
        return operation_counts(traced(made_of, function).results)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the columns of the regressor: 14 for each joint of the tree."""
        return parameter_names(self.robot)

    def inverse_dynamics(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        wrenches: Mapping[str, npt.ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Torques that give the accelerations qdd (Khalil 2010, eq. (12)).

        Args:
            q: positions.
            qd: velocities.
            qdd: accelerations.
            wrenches: by link name, ``[force; moment]`` (N, N m) that the link exerts on its
                environment, in the frame of the link and about its origin: (6,), or (N, 6) with
                a batch.
            out: array for the result.
        """
        vectors = joint_vectors(self.robot.dof, q=q, qd=qd, qdd=qdd)
        out = checked_out(out, vectors[0].shape)
        external = self._external_torques(vectors[0], wrenches)
        torques = self._evaluate("inverse_dynamics", *vectors)
        out[...] = torques if external is None else torques + external
        return out

    def forward_dynamics(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        tau: npt.ArrayLike,
        wrenches: Mapping[str, npt.ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Accelerations that the torques tau give (Khalil 2010, sec. 3.3).

        Args:
            q: positions.
            qd: velocities.
            tau: torques of the actuators.
            wrenches: as in `inverse_dynamics`.
            out: array for the result; not finite where a joint moves no inertia.
        """
        vectors = joint_vectors(self.robot.dof, q=q, qd=qd, tau=tau)
        out = checked_out(out, vectors[0].shape)
        external = self._external_torques(vectors[0], wrenches)
        q, qd, tau = vectors
        out[...] = self._evaluate("forward_dynamics", q, qd, tau if external is None else tau - external)
        return out

    def inertia_matrix(self, q: npt.ArrayLike, out: Array | None = None) -> Array:
        """Inertia matrix A with the inertia of the rotors, (n, n) or (N, n, n)."""
        return self._answer("inertia_matrix", out, q=q)

    def regressor(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, out: Array | None = None
    ) -> Array:
        """Matrix Y of tau = Y parameters, in the columns `parameter_names`, (n, p) or (N, n, p)."""
        return self._answer("regressor", out, q=q, qd=qd, qdd=qdd)

    def bias_torques(self, q: npt.ArrayLike, qd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Torques H at zero acceleration: Coriolis, centrifugal, gravity and friction."""
        return self._answer("bias_torques", out, q=q, qd=qd)

    def gravity_torques(self, q: npt.ArrayLike, out: Array | None = None) -> Array:
        """Torques Q that hold the robot at rest, without friction."""
        return self._answer("gravity_torques", out, q=q)

    def coriolis_torques(self, q: npt.ArrayLike, qd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Coriolis and centrifugal torques C."""
        return self._answer("coriolis_torques", out, q=q, qd=qd)

    def inertial_torques(self, q: npt.ArrayLike, qdd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Torques A(q) qdd, with the inertia of the rotors."""
        return self._answer("inertial_torques", out, q=q, qdd=qdd)

    def friction_torques(self, qd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Torques of friction; zero in a model without friction."""
        return self._answer("friction_torques", out, qd=qd)

    def forward_kinematics(self, q: npt.ArrayLike, link: str, out: Array | None = None) -> Array:
        """Placement of a link in the frame of the root link: 4 x 4, or (N, 4, 4).

        The first call for a link traces and compiles: make it before a control loop begins.

        Args:
            q: positions.
            link: name of the link.
            out: array for the result.
        """
        return self._of_link(partial(placement, self.robot, link), ("placement", link), q, out)

    def jacobian(
        self, q: npt.ArrayLike, link: str, expressed_in: str | None = None, out: Array | None = None
    ) -> Array:
        """Jacobian of the frame of a link: 6 x n, or (N, 6, n), [linear; angular] = J qd.

        The first call for a link traces and compiles: make it before a control loop begins.

        Args:
            q: positions.
            link: name of the link; the linear velocity is that of its origin.
            expressed_in: name of the link on whose axes the velocity is projected; by default the root.
            out: array for the result.
        """
        axes = self.robot.link_names[0] if expressed_in is None else expressed_in
        return self._of_link(partial(link_jacobian, self.robot, link, axes), ("jacobian", link, axes), q, out)

    def _of_link(
        self, program: Callable[[], Program], key: tuple[str, ...], q: npt.ArrayLike, out: Array | None
    ) -> Array:
        """Compute a program that belongs to a link, and is made when it is first asked for."""
        (q,) = joint_vectors(self.robot.dof, q=q)
        if key not in self._of_links:
            made = program()
            self._of_links[key] = (runnable(made, self.backend), made.shape)
        function, shape = self._of_links[key]
        out = checked_out(out, (*q.shape[:-1], *shape))
        out[...] = _run(function, shape, q)
        return out

    def _answer(self, function: str, out: Array | None, **vectors: npt.ArrayLike) -> Array:
        """Check the arguments, compute, and write the result where it is wanted."""
        arrays = joint_vectors(self.robot.dof, **vectors)
        out = checked_out(out, (*arrays[0].shape[:-1], *self._shapes[function]))
        out[...] = self._evaluate(function, *arrays)
        return out

    def _evaluate(self, function: str, *arrays: Array) -> Array:
        return _run(self._functions[function], self._shapes[function], *arrays)

    def _external_torques(self, q: Array, wrenches: Mapping[str, npt.ArrayLike] | None) -> Array | None:
        """What wrenches add to the torques; None where there are none."""
        samples = q.shape[:-1]
        exerted = external_wrenches(self.robot, wrenches, samples)
        if not exerted:
            return None
        return self._evaluate("external_torques", q, packed(self.robot, exerted, samples))


def _run(function: Function, shape: tuple[int, ...], *arrays: Array) -> Array:
    """Compute a program whose result has this shape for one sample, of checked arrays."""
    result = np.empty((*arrays[0].shape[:-1], *shape))
    function.into(*map(np.ascontiguousarray, arrays), result)
    return result
