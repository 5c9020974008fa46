# SPDX-License-Identifier: Apache-2.0
"""The dynamics functions of one robot with a moving base."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MethodType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array, checked_out
from dyn_core.facade.moving_base_unresisted import NEEDED, refuse_unresisted, unresisted_on_base
from dyn_core.facade.runnable import Runnable
from dyn_core.model.base_kind import BaseKind
from dyn_core.model.built_model import ModelParameters
from dyn_core.model.moving_base.argument_checks import base_arguments, packed_on_bodies, refuse_given
from dyn_core.model.moving_base.dynamics_programs import input_sizes, with_base_terms
from dyn_core.model.moving_base.link_kinematics import BaseKinematics
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.model.tunable_parameters import Tuning
from dyn_core.robot.robot import Robot

Wrenches = Mapping[str, npt.ArrayLike]


@dataclass(frozen=True, repr=False)
class MovingBaseModel(BaseKinematics, ModelParameters):
    """Dynamics of a robot with a moving base: A(q) [Vd; qdd] + H = [F; tau] (Khalil 2010, eq. (83)).

    Of a free or given base, k = 6: a pose is (7,), the position of the base's link in the world (m) and its
    orientation as a quaternion x, y, z, w of length 1. A velocity V is (6,), [linear; angular] on the axes
    of that link (m/s, rad/s), linear of its origin. An acceleration Vd is that of its origin and its angular
    acceleration, on the same axes (m/s^2, rad/s^2), what an accelerometer would show, with gravity: it is
    the rate of the components of V plus [w x v; 0]. Forces F are [force; moment] on the base, on these axes
    and about this origin (N, N m).

    Of a planar base, k = 3: a pose is x, y (m) and the angle (rad), V and Vd are those along x and y of the
    base, which turn with it, and about the normal of the plane, and F is two forces and a moment likewise.

    Joint vectors are in the order of `joint_names`: positions q (rad or m), velocities qd, accelerations
    qdd, torques tau (N m or N). Where a function answers what belongs to base and joints, it is one row,
    that of the base first. Each function takes one sample or a batch, (N, 7), (N, 6), (N, n), and answers in
    kind, in `out` where it is given. A sample in which a number is not finite gives NaN throughout; a
    quaternion that is not of length 1 within 1e-3 is a ValueError. A model can be used by many threads.
    Nothing in it changes, except by `set_parameters`, between calls.

    Attributes:
        base: the robot as a tree on its base.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
        backend: what computes: ``"c"``, compiled for this robot, or ``"python"``.
    """

    base: MovingBase
    friction: bool
    rotor_inertia: bool
    backend: Literal["c", "python"]
    _source: tuple[Robot, BaseKind] = field(repr=False, compare=False)
    _functions: Mapping[str, Runnable] = field(repr=False, compare=False)
    _tuning: Tuning | None = field(repr=False)
    _program: Callable[[str], Program] = field(repr=False, compare=False)
    _of_links: dict[tuple[str, ...], Runnable] = field(default_factory=dict, repr=False, compare=False)
    _unresisted: dict[str, tuple[str, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Put the fast functions of this robot in the place of the methods, which they fall back to."""
        for name, runnable in self._functions.items():
            if hasattr(self, name):
                self.__dict__[name] = runnable.function.bind(getattr(self, name), self._prepared)
        self._look_for_unresisted()

    def _look_for_unresisted(self) -> None:
        """Leave to the methods, which say why there is no answer, what has none."""
        self.__dict__["_unresisted"] = unresisted_on_base(self.base, self._present_inertia)
        for function in NEEDED:
            if function in self._functions:
                general = MethodType(getattr(MovingBaseModel, function), self)
                fast = self._functions[function].function.bind(general, self._prepared)
                self.__dict__[function] = general if self._unresisted[function] else fast

    def _present_inertia(self, q: list[float]) -> list[list[float]]:
        A: list[list[float]] = self._functions["inertia_matrix"].run(self._prepared, np.array(q)).tolist()
        return A

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the model is made from; the other side takes the programs from its cache."""
        from dyn_core.facade.compile_moving_base import restored_moving_base_model

        tuned = None if self._tuning is None else self._tuning.values
        terms = (self.backend, self.friction, self.rotor_inertia, tuned)
        return restored_moving_base_model, (*self._source, *terms)

    def __repr__(self) -> str:
        """Answer what it is, and of which robot."""
        kind = "baked" if self._tuning is None else "runtime"
        return (
            f"<MovingBaseModel of {self.base.robot!r}, {self.base.kind} base '{self.base.link.name}', "
            f"{kind} parameters, backend '{self.backend}'>"
        )

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of every joint vector."""
        return self.base.robot.coordinate_names

    @property
    def base_link(self) -> str:
        """Name of the link that is the base."""
        return self.base.link.name

    def _described(self) -> MovingBase:
        return self.base

    def _computed(self) -> MovingBase:
        return with_base_terms(self.base, self.friction, self.rotor_inertia)

    def _after_change(self) -> None:
        self._look_for_unresisted()

    def operation_counts(self, function: str) -> dict[str, int]:
        """Operations of one evaluation of a function, by its name: mul, add, div, trig, sqrt.

        What depends on parameters alone is not counted: it is computed when they are set.
        """
        if function not in self._functions:
            raise ValueError(f"there is no function '{function}': choose one of {', '.join(self._functions)}")
        return self._program(function).operation_counts

    def inverse_dynamics(
        self,
        pose: npt.ArrayLike,
        V: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        wrenches: Wrenches | None = None,
        F: npt.ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Acceleration of a free base and torques that give accelerations qdd (Khalil 2010, sec. 7.2).

        Args:
            pose: of the base.
            V: velocity of the base.
            q: positions.
            qd: velocities.
            qdd: accelerations.
            wrenches: by link name, ``[force; moment]`` (N, N m) that the link exerts on its environment, in
                the frame of the link and about its origin: (6,), or (N, 6) with a batch.
            F: forces on the base, as of thrusters; by default none.
            out: array for the result, [Vd; tau], (k + n,).
        """
        self._refuse("inverse_dynamics")
        return self._pushed("inverse_dynamics", wrenches, F, out, pose=pose, V=V, q=q, qd=qd, qdd=qdd)

    def forward_dynamics(
        self,
        pose: npt.ArrayLike,
        V: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        tau: npt.ArrayLike,
        wrenches: Wrenches | None = None,
        F: npt.ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Accelerations of a free base and of the joints that torques give (Khalil 2010, sec. 7.3).

        Args:
            pose: of the base.
            V: velocity of the base.
            q: positions.
            qd: velocities.
            tau: torques of the actuators.
            wrenches: as in `inverse_dynamics`.
            F: forces on the base, as of thrusters; by default none.
            out: array for the result, [Vd; qdd], (k + n,).

        Raises:
            DynError: no inertia resists the base, or a joint.
        """
        self._refuse("forward_dynamics")
        return self._pushed("forward_dynamics", wrenches, F, out, pose=pose, V=V, q=q, qd=qd, tau=tau)

    def inverse_dynamics_given_base(
        self,
        pose: npt.ArrayLike,
        V: npt.ArrayLike,
        Vd: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        wrenches: Wrenches | None = None,
        out: Array | None = None,
    ) -> Array:
        """Forces on a base that give it its motion, and torques of the joints.

        Args:
            pose: of the base.
            V: velocity of the base.
            Vd: acceleration of the base.
            q: positions.
            qd: velocities.
            qdd: accelerations.
            wrenches: as in `inverse_dynamics`.
            out: array for the result, [F; tau], (k + n,).
        """
        arrays = self._arrays(pose=pose, V=V, Vd=Vd, q=q, qd=qd, qdd=qdd)
        out = checked_out(out, (*arrays[0].shape[:-1], self._size))
        forces = self._functions["inverse_dynamics_given_base"].run(self._prepared, *arrays)
        external = self._external(arrays[3], wrenches)
        out[...] = forces if external is None else forces + external
        return out

    def forward_dynamics_given_base(
        self,
        pose: npt.ArrayLike,
        V: npt.ArrayLike,
        Vd: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        tau: npt.ArrayLike,
        wrenches: Wrenches | None = None,
        out: Array | None = None,
    ) -> Array:
        """Forces on a base that give it its motion, and accelerations that torques give the joints.

        Args:
            pose: of the base.
            V: velocity of the base.
            Vd: acceleration of the base.
            q: positions.
            qd: velocities.
            tau: torques of the actuators.
            wrenches: as in `inverse_dynamics`.
            out: array for the result, [F; qdd], (k + n,).

        Raises:
            DynError: no inertia resists a joint.
        """
        self._refuse("forward_dynamics_given_base")
        pose, V, Vd, q, qd, tau = self._arrays(pose=pose, V=V, Vd=Vd, q=q, qd=qd, tau=tau)
        out = checked_out(out, (*pose.shape[:-1], self._size))
        k = self.base.freedom
        external = self._external(q, wrenches)
        left = tau if external is None else tau - external[..., k:]
        found = self._functions["forward_dynamics_given_base"].run(self._prepared, pose, V, Vd, q, qd, left)
        if external is not None:
            found[..., :k] += external[..., :k]
        out[...] = found
        return out

    def inertia_matrix(self, q: npt.ArrayLike, out: Array | None = None) -> Array:
        """Inertia matrix A of base and joints (Khalil 2010, eq. (84)), (k + n, k + n) or (N, ...)."""
        return self._answer("inertia_matrix", out, q=q)

    def bias_forces(
        self,
        pose: npt.ArrayLike,
        V: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        out: Array | None = None,
    ) -> Array:
        """What is needed where nothing accelerates, H: Coriolis, centrifugal, gravity, friction."""
        return self._answer("bias_forces", out, pose=pose, V=V, q=q, qd=qd)

    def momentum(
        self,
        pose: npt.ArrayLike,
        V: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        out: Array | None = None,
    ) -> Array:
        """Momentum on the axes of the world: linear (kg m/s), angular about the centre of mass (kg m^2/s).

        Rotors have no part in it (SYMORO+ 2003, sec. 3.3.2.4).
        """
        return self._answer("momentum", out, pose=pose, V=V, q=q, qd=qd)

    def centre_of_mass(self, pose: npt.ArrayLike, q: npt.ArrayLike, out: Array | None = None) -> Array:
        """Centre of mass in the world (m), (3,) or (N, 3)."""
        return self._answer("centre_of_mass", out, pose=pose, q=q)

    def energy(
        self,
        pose: npt.ArrayLike,
        V: npt.ArrayLike,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        out: Array | None = None,
    ) -> Array:
        """Kinetic energy, with that of the rotors, and potential energy (J), (2,) or (N, 2)."""
        return self._answer("energy", out, pose=pose, V=V, q=q, qd=qd)

    @property
    def _prepared(self) -> list[Array]:
        """One item: what was prepared from parameters that can be set; none where they are baked in."""
        return [] if self._tuning is None else self._tuning.prepared

    @property
    def _size(self) -> int:
        return self.base.freedom + self.base.robot.dof

    def _arrays(self, **vectors: npt.ArrayLike) -> list[Array]:
        return base_arguments(self.base, input_sizes(self.base), **vectors)

    def _answer(self, function: str, out: Array | None, **vectors: npt.ArrayLike) -> Array:
        """Check the arguments, compute, and write the result where it is wanted."""
        arrays = self._arrays(**vectors)
        runnable = self._functions[function]
        out = checked_out(out, (*arrays[0].shape[:-1], *runnable.shape))
        return runnable.run(self._prepared, *arrays, out=out)

    def _external(self, q: Array, wrenches: Wrenches | None) -> Array | None:
        """What wrenches add to the forces that are needed; None where there are none."""
        if not wrenches:
            return None
        w = packed_on_bodies(self.base, wrenches, q.shape[:-1])
        return self._functions["external_forces"].run(self._prepared, q, w)

    def _pushed(
        self,
        function: str,
        wrenches: Wrenches | None,
        F: npt.ArrayLike | None,
        out: Array | None,
        **vectors: npt.ArrayLike,
    ) -> Array:
        """Compute with wrenches and forces on the base, if there are any."""
        k = self.base.freedom
        *arrays, last = self._arrays(**vectors)
        out = checked_out(out, (*last.shape[:-1], self._size))
        external = self._external(arrays[2], wrenches)
        if F is None and external is None:
            return self._functions[function].run(self._prepared, *arrays, last, out=out)
        zeros = np.zeros((*last.shape[:-1], k))
        push = zeros if F is None else self._arrays(q=arrays[2], F=F)[1]
        if external is not None:
            push = push - external[..., :k]
            if function == "forward_dynamics":
                last = last - external[..., k:]
        found = self._functions[f"pushed_{function}"].run(self._prepared, *arrays, last, push)
        if external is not None and function == "inverse_dynamics":
            found[..., k:] += external[..., k:]
        out[...] = found
        return out

    def _refuse(self, function: str) -> None:
        """Raise DynError where a function has no answer for this robot."""
        refuse_given(self.base, function)
        refuse_unresisted(self.base, function, self._unresisted[function])
