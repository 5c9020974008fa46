# SPDX-License-Identifier: Apache-2.0
"""The dynamics functions of one robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from dyn_core.facade.arrays import Array, checked_out, joint_vectors
from dyn_core.facade.external import external_wrenches
from dyn_core.model.robot import Robot

Backend = Literal["auto", "c", "python"]


class Function(Protocol):
    """A program that can be run."""

    def into(self, *arguments: Array) -> None:
        """Compute one sample or a batch; the last array takes the results."""

    def bind(self, general: Callable[..., Array]) -> Callable[..., Array]:
        """Answer a function that does what `general` does, faster where it can."""
        ...


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
    _counts: Mapping[str, dict[str, int]] = field(repr=False, compare=False)

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
        if function not in self._counts:
            raise ValueError(f"there is no function '{function}': choose one of {', '.join(self._counts)}")
        return dict(self._counts[function])

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
        exerted = external_wrenches(self.robot, wrenches, vectors[0].shape[:-1])
        torques = self._evaluate("inverse_dynamics", *vectors)
        if exerted is not None:
            torques += self._evaluate("external_torques", vectors[0], exerted)
        out[...] = torques
        return out

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

    def _answer(self, function: str, out: Array | None, **vectors: npt.ArrayLike) -> Array:
        """Check the arguments, compute, and write the result where it is wanted."""
        arrays = joint_vectors(self.robot.dof, **vectors)
        out = checked_out(out, arrays[0].shape)
        out[...] = self._evaluate(function, *arrays)
        return out

    def _evaluate(self, function: str, *arrays: Array) -> Array:
        result = np.empty((*arrays[0].shape[:-1], self.robot.dof))
        self._functions[function].into(*map(np.ascontiguousarray, arrays), result)
        return result
