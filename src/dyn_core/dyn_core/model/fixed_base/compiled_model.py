# SPDX-License-Identifier: Apache-2.0
"""The dynamics functions of one robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MethodType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dyn_core.codegen.staging import staged
from dyn_core.core.arrays import Array, checked_out, joint_vectors
from dyn_core.dynamics.unresisted import no_forward_dynamics
from dyn_core.facade.elastic_programs import LOADED
from dyn_core.facade.lagrange_programs import OF_LAGRANGE
from dyn_core.facade.runnable import Runnable, without_detours
from dyn_core.facade.symbolic_robot import symbolic_robot
from dyn_core.facade.unresisted_coordinates import unresisted_coordinates
from dyn_core.model.built_model import ModelParameters
from dyn_core.model.fixed_base.closed_loops import LoopFunctions
from dyn_core.model.fixed_base.dynamics_programs import Method, grouped, traced, tunable, with_terms
from dyn_core.model.fixed_base.elastic_joints import ElasticFunctions, with_rigid_joints_held
from dyn_core.model.fixed_base.lagrange_functions import LagrangeFunctions
from dyn_core.model.tunable_parameters import Tuning
from dyn_core.robot.robot import Robot


@dataclass(frozen=True, repr=False)
class Model(LagrangeFunctions, LoopFunctions, ElasticFunctions, ModelParameters):
    """Dynamics of a robot: A(q) qdd + C(q, qd) + Q(q) + friction(qd) + springs(q, qd) (Khalil 2010, eq. (7)).

    Joint vectors are in the order of `joint_names`: positions q (rad or m), velocities qd,
    accelerations qdd, and torques (N m, or N for prismatic joints). Each function takes one
    sample (n,) or a batch (N, n) and answers in kind, in `out` where it is given. A sample in which a
    number is not finite gives NaN throughout. A model can be used by many threads. Nothing in it changes,
    except by `set_parameters`, between calls.

    Attributes:
        robot: the robot.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
        base_parameters: whether its functions compute with grouped parameters.
        backend: what computes: ``"c"``, compiled for this robot, or ``"python"``.
        detours: whether positions to which the loops are not closed at once are searched for.
        method: which algorithms compute: ``"auto"``, those with the fewest operations, or ``"mrnea"``.
    """

    robot: Robot
    friction: bool
    rotor_inertia: bool
    base_parameters: bool
    backend: Literal["c", "python"]
    _functions: Mapping[str, Runnable] = field(repr=False, compare=False)
    _tuning: Tuning | None = field(repr=False)
    detours: bool = True
    _of_links: dict[tuple[str, ...], Runnable] = field(default_factory=dict, repr=False, compare=False)
    _calls: dict[tuple[str, str, str | None], Callable[..., Array]] = field(
        default_factory=dict, repr=False, compare=False
    )
    method: Method = "auto"
    _unresisted: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)
    _uncontrolled: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Put the fast functions of this robot in the place of the methods, which they fall back to."""
        for name, runnable in self._functions.items():
            if hasattr(self, name):
                self.__dict__[name] = runnable.function.bind(getattr(self, name), self._prepared)
        self._look_for_unresisted()

    def _look_for_unresisted(self) -> None:
        """Leave forward dynamics to the method, which says why there are none, if a joint is unresisted."""
        robot = with_terms(self.robot, self.friction, self.rotor_inertia)
        present = None if self._tuning is None else self._present_inertia
        names = unresisted_coordinates(robot, present)
        self.__dict__.update(_unresisted=names)
        self._bind("forward_dynamics", MethodType(Model.forward_dynamics, self), not names)
        if self.elastic_joint_names:
            held = with_rigid_joints_held(self.robot, self._present_inertia)
            elastic = unresisted_coordinates(robot, held) if names else ()
            self.__dict__.update(_uncontrolled=elastic)
            general = MethodType(Model.elastic_inverse_dynamics, self)
            self._bind("elastic_inverse_dynamics", general, not elastic)

    def _bind(self, name: str, general: Callable[..., Array], fast: bool) -> None:
        """Put a method in its place, or the fast function that falls back to it."""
        runnable = self._functions[name]
        self.__dict__[name] = runnable.function.bind(general, self._prepared) if fast else general

    def _present_inertia(self, q: list[float]) -> list[list[float]]:
        A: list[list[float]] = self._functions["inertia_matrix"].run(self._prepared, np.array(q)).tolist()
        return A

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the model is made from; the other side takes the programs from its cache."""
        from dyn_core.facade.compile import restored_model

        tuned = None if self._tuning is None else self._tuning.values
        terms = (self.friction, self.rotor_inertia)
        options = (self.compiled_links, self.base_parameters, self.detours, self.method)
        return restored_model, (self.robot, self.backend, *terms, tuned, *options)

    def without_detours(self) -> Model:
        """Answer the same model, which says at once where it does not find how the loops close."""
        functions = {name: without_detours(runnable) for name, runnable in self._functions.items()}
        return replace(self, _functions=functions, _of_links={}, _calls={}, detours=False)

    def __repr__(self) -> str:
        """Answer what it is, and of which robot."""
        kind = "baked" if self._tuning is None else "runtime"
        return f"<Model of {self.robot!r}, {kind} parameters, backend '{self.backend}'>"

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of every joint vector; with loops the actuated ones."""
        return self.robot.coordinate_names

    def operation_counts(self, function: str) -> dict[str, int]:
        """Operations of one evaluation of a function, by its name: mul, add, div, trig, sqrt.

        What depends on parameters alone is not counted: it is computed when they are set, but for
        `coriolis_matrix` and `lagrange_terms`.
        """
        if function in OF_LAGRANGE:
            return self._lagrange_program(function).operation_counts
        if function not in self._functions:
            known = ", ".join((*(name for name in self._functions if name != LOADED), *OF_LAGRANGE))
            raise ValueError(f"there is no function '{function}': choose one of {known}")
        made_of = with_terms(self.robot, self.friction, self.rotor_inertia)
        if self._tuning is None:
            made_of = grouped(made_of, self.base_parameters, gravity_changes=False)
            return traced(made_of, function, method=self.method).operation_counts
        symbolic = symbolic_robot(made_of)
        with_symbols = with_terms(symbolic.robot, self.friction, self.rotor_inertia)
        symbolic = replace(symbolic, robot=grouped(with_symbols, self.base_parameters, gravity_changes=True))
        program = tunable(symbolic, function, method=self.method)
        return staged([program], symbolic.parameters)[1][0].operation_counts

    def _described(self) -> Robot:
        return self.robot

    def _computed(self) -> Robot:
        return with_terms(self.robot, self.friction, self.rotor_inertia)

    def _after_change(self) -> None:
        self._look_for_unresisted()

    def inverse_dynamics(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        wrenches: Mapping[str, npt.ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Torques that give the accelerations qdd (Khalil 2010, eq. (12)).

        Of an elastic joint it is the torque that its spring lacks, 0 in all motions that are possible: see
        `elastic_inverse_dynamics`.

        Args:
            q: positions.
            qd: velocities.
            qdd: accelerations.
            wrenches: by link name, ``[force; moment]`` (N, N m) that the link exerts on its
                environment, in the frame of the link and about its origin: (6,), or (N, 6) with
                a batch.
            out: array for the result.
        """
        vectors = joint_vectors(self.robot.dof, self._joints_with_motors, q=q, qd=qd, qdd=qdd)
        out = checked_out(out, vectors[0].shape)
        external = self._external_torques(vectors[0], wrenches)
        torques = self._functions["inverse_dynamics"].run(self._prepared, *vectors)
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
            out: array for the result; not finite in positions where a joint moves no inertia.

        Raises:
            DynError: no inertia resists a joint, in whatever position.
        """
        if self._unresisted:
            raise no_forward_dynamics(self.robot, self._unresisted)
        vectors = joint_vectors(self.robot.dof, self._joints_with_motors, q=q, qd=qd, tau=tau)
        out = checked_out(out, vectors[0].shape)
        external = self._external_torques(vectors[0], wrenches)
        q, qd, tau = vectors
        out[...] = self._functions["forward_dynamics"].run(
            self._prepared, q, qd, tau if external is None else tau - external
        )
        return out

    def inertia_matrix(self, q: npt.ArrayLike, out: Array | None = None) -> Array:
        """Inertia matrix A with the inertia of the rotors, (n, n) or (N, n, n)."""
        return self._answer("inertia_matrix", out, q=q)

    def regressor(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, out: Array | None = None
    ) -> Array:
        """Matrix Y of tau = Y parameters, in the columns `parameter_names`, (n, p) or (N, n, p).

        What springs add (`spring_torques`) is no part of it.
        """
        return self._answer("regressor", out, q=q, qd=qd, qdd=qdd)

    def bias_torques(self, q: npt.ArrayLike, qd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Torques H at zero acceleration: Coriolis, centrifugal, gravity, friction and springs."""
        return self._answer("bias_torques", out, q=q, qd=qd)

    def inertia_and_bias(self, q: npt.ArrayLike, qd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Inertia matrix A, and below it the bias torques H, in one call: (n + 1, n) or (N, n + 1, n).

        ``tau = AH[:-1] @ qdd + AH[-1]`` for one sample.
        """
        return self._answer("inertia_and_bias", out, q=q, qd=qd)

    def gravity_torques(self, q: npt.ArrayLike, out: Array | None = None) -> Array:
        """Torques Q that hold the robot at rest, without friction and springs."""
        return self._answer("gravity_torques", out, q=q)

    def coriolis_torques(self, q: npt.ArrayLike, qd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Coriolis and centrifugal torques C."""
        return self._answer("coriolis_torques", out, q=q, qd=qd)

    def inertial_torques(self, q: npt.ArrayLike, qdd: npt.ArrayLike, out: Array | None = None) -> Array:
        """Torques A(q) qdd, with the inertia of the rotors."""
        return self._answer("inertial_torques", out, q=q, qdd=qdd)

    def friction_torques(
        self, qd: npt.ArrayLike, q: npt.ArrayLike | None = None, out: Array | None = None
    ) -> Array:
        """Torques of friction; zero in a model without friction.

        Args:
            qd: velocities.
            q: positions, which the friction of a robot with loops depends on, and that of others does not.
            out: array for the result.
        """
        if q is None:
            if self.robot.loops:
                raise ValueError("q: the friction of a robot with loops depends on positions: give them")
            return self._answer("friction_torques", out, qd=qd)
        if self.robot.loops:
            return self._answer("friction_torques", out, qd=qd, q=q)
        joint_vectors(self.robot.dof, self._joints_with_motors, qd=qd, q=q)
        return self._answer("friction_torques", out, qd=qd)

    def _answer(self, function: str, out: Array | None, **vectors: npt.ArrayLike) -> Array:
        """Check the arguments, compute, and write the result where it is wanted."""
        arrays = joint_vectors(self.robot.dof, self._joints_with_motors, **vectors)
        runnable = self._functions[function]
        out = checked_out(out, (*arrays[0].shape[:-1], *runnable.shape))
        return runnable.run(self._prepared, *arrays, out=out)

    def _external_torques(self, q: Array, wrenches: Mapping[str, npt.ArrayLike] | None) -> Array | None:
        """What wrenches add to the torques; None where there are none."""
        samples = q.shape[:-1]
        w = self._wrench_row(wrenches, samples)
        if w is None:
            return None
        return self._functions["external_torques"].run(self._prepared, q, w)
