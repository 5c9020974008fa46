# SPDX-License-Identifier: Apache-2.0
"""The dynamics functions of one robot with a moving base, and `compile_moving_base`, which compiles them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from dyn_core.core.arrays import Array, checked_out
from dyn_core.model.builder import Family, Functions, check_options, left_out
from dyn_core.model.moving_base.argument_checks import (
    CENTRE,
    NEEDED,
    base_arguments,
    packed_on_bodies,
    refuse_given,
    refuse_unresisted,
    unresisted_on_base,
)
from dyn_core.model.moving_base.dynamics_programs import (
    base_kinds,
    base_program_from,
    input_sizes,
    symbolic_base,
    with_base_terms,
)
from dyn_core.model.moving_base.link_kinematics import BaseKinematics
from dyn_core.model.tunable_parameters import Backend, Parameters
from dyn_core.robot.moving_base import MovingBase, moving_base
from dyn_core.robot.robot import BaseKind, Robot

Wrenches = Mapping[str, ArrayLike]


@dataclass(frozen=True, repr=False)
class MovingBaseModel(BaseKinematics):
    """Dynamics of a robot with a moving base: A(q) [Vd; qdd] + H = [F; tau] (Khalil 2010, eq. (83)).

    For a free or given base, k = 6. A pose is (7,): position of the base's link in the world (m) and
    orientation as a quaternion x, y, z, w of length 1. A velocity V is (6,), [linear; angular] on the axes of
    that link (m/s, rad/s), linear of its origin. An acceleration Vd is the acceleration of its origin and its
    angular acceleration, on the same axes (m/s^2, rad/s^2), as an accelerometer would show it, with gravity:
    it is the rate of the components of V plus [w x v; 0]. Forces F are [force; moment] on the base, on these
    axes and about this origin (N, N m), such as those of thrusters.

    For a planar base, k = 3. A pose is x, y (m) and the angle (rad), V and Vd are those along x and y of the
    base, which turn with it, and about the normal of the plane, and F is two forces and a moment likewise.

    Joint vectors are in the order of `joint_names`: positions q (rad or m), velocities qd, accelerations qdd,
    torques tau (N m or N). `wrenches` maps names of links to ``[force; moment]`` (N, N m) that the link
    exerts on its environment, in the frame of the link and about its origin: (6,), or (N, 6) with a batch.
    Results for base and joints are one row, (k + n,), with the base first.

    Each function takes one sample or a batch, (N, 7), (N, 6), (N, n), and returns the same, in `out` if it is
    given. A sample with a number that is not finite gives NaN throughout; a quaternion that is not of length
    1 within 1e-3 is a ValueError. A model can be used by many threads. It does not change between calls,
    except by `set_parameters`.

    The attribute `base` is the robot as a tree on its base; `BuiltModel` has the others.
    """

    DIVIDING: ClassVar[tuple[str, ...]] = (*NEEDED, CENTRE)

    base: MovingBase
    friction: bool
    rotor_inertia: bool
    backend: Literal["c", "python"]
    _source: tuple[Robot, BaseKind] = field(repr=False, compare=False)
    _functions: Functions = field(repr=False)

    def _find_unresisted(self) -> dict[str, tuple[str, ...]]:
        return unresisted_on_base(self.base, self._present_inertia)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._remade(compile_moving_base, robot=self._source[0], base=self._source[1])

    def __repr__(self) -> str:
        return (
            f"<MovingBaseModel of {self.base.robot!r}, {self.base.kind} base '{self.base.link.name}', "
            f"{self._kind()}>"
        )

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of every joint vector."""
        return self.base.robot.coordinate_names

    @property
    def base_link(self) -> str:
        """Name of the link that is the base."""
        return self.base.link.name

    def inverse_dynamics(
        self,
        pose: ArrayLike,
        V: ArrayLike,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        wrenches: Wrenches | None = None,
        F: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Acceleration of a free base, and torques for accelerations: [Vd; tau] (Khalil 2010, sec. 7.2)."""
        self._refuse("inverse_dynamics")
        return self._pushed("inverse_dynamics", wrenches, F, out, pose=pose, V=V, q=q, qd=qd, qdd=qdd)

    def forward_dynamics(
        self,
        pose: ArrayLike,
        V: ArrayLike,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        wrenches: Wrenches | None = None,
        F: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Accelerations of a free base and of the joints: [Vd; qdd] (Khalil 2010, sec. 7.3).

        Raises:
            DynError: no inertia resists the base, or a joint.
        """
        self._refuse("forward_dynamics")
        return self._pushed("forward_dynamics", wrenches, F, out, pose=pose, V=V, q=q, qd=qd, tau=tau)

    def inverse_dynamics_given_base(
        self,
        pose: ArrayLike,
        V: ArrayLike,
        Vd: ArrayLike,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        wrenches: Wrenches | None = None,
        out: Array | None = None,
    ) -> Array:
        """Forces on a base for its motion, and torques of the joints: [F; tau]."""
        arrays = self._arrays(pose=pose, V=V, Vd=Vd, q=q, qd=qd, qdd=qdd)
        out = checked_out(out, (*arrays[0].shape[:-1], self._size))
        forces = self._functions["inverse_dynamics_given_base"].run(self._prepared, *arrays)
        external = self._external(arrays[3], wrenches)
        out[...] = forces if external is None else forces + external
        return out

    def forward_dynamics_given_base(
        self,
        pose: ArrayLike,
        V: ArrayLike,
        Vd: ArrayLike,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        wrenches: Wrenches | None = None,
        out: Array | None = None,
    ) -> Array:
        """Forces on a base for its motion, and accelerations of the joints: [F; qdd].

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

    def inertia_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Inertia matrix A of base and joints (Khalil 2010, eq. (84)), (k + n, k + n) or (N, ...)."""
        return self._computed("inertia_matrix", out, q=q)

    def bias_forces(
        self, pose: ArrayLike, V: ArrayLike, q: ArrayLike, qd: ArrayLike, out: Array | None = None
    ) -> Array:
        """Forces and torques H at zero acceleration: Coriolis, centrifugal, gravity, friction."""
        return self._computed("bias_forces", out, pose=pose, V=V, q=q, qd=qd)

    def momentum(
        self, pose: ArrayLike, V: ArrayLike, q: ArrayLike, qd: ArrayLike, out: Array | None = None
    ) -> Array:
        """Momentum on the axes of the world: linear (kg m/s), angular about the centre of mass (kg m^2/s).

        Rotors have no part in it (SYMORO+ 2003, sec. 3.3.2.4).
        """
        return self._computed("momentum", out, pose=pose, V=V, q=q, qd=qd)

    def centre_of_mass(self, pose: ArrayLike, q: ArrayLike, out: Array | None = None) -> Array:
        """Centre of mass in the world (m), (3,) or (N, 3).

        Raises:
            DynError: the robot has no mass.
        """
        self._refuse(CENTRE)
        return self._computed("centre_of_mass", out, pose=pose, q=q)

    def energy(
        self, pose: ArrayLike, V: ArrayLike, q: ArrayLike, qd: ArrayLike, out: Array | None = None
    ) -> Array:
        """Kinetic energy, with that of the rotors, and potential energy (J), (2,) or (N, 2)."""
        return self._computed("energy", out, pose=pose, V=V, q=q, qd=qd)

    @property
    def _size(self) -> int:
        return self.base.freedom + self.base.robot.dof

    def _arrays(self, **vectors: ArrayLike) -> list[Array]:
        return base_arguments(self.base, input_sizes(self.base), **vectors)

    def _computed(self, function: str, out: Array | None, **vectors: ArrayLike) -> Array:
        """Check the arguments, compute, and write the result where it is wanted."""
        return self._run(self._functions[function], self._arrays(**vectors), out)

    def _external(self, q: Array, wrenches: Wrenches | None) -> Array | None:
        """Return what wrenches add to forces and torques; None if there are none."""
        if not wrenches:
            return None
        w = packed_on_bodies(self.base, wrenches, q.shape[:-1])
        return self._functions["external_forces"].run(self._prepared, q, w)

    def _pushed(
        self,
        function: str,
        wrenches: Wrenches | None,
        F: ArrayLike | None,
        out: Array | None,
        **vectors: ArrayLike,
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
        """Raise DynError if a function has no result for this robot."""
        refuse_given(self.base, function)
        self._functions[function]  # the first use finds the joints that no inertia resists
        refuse_unresisted(self.base, function, self._unresisted.get(function, ()))


def compile_moving_base(
    robot: Robot,
    base: BaseKind | None = None,
    parameters: Parameters = "baked",
    backend: Backend = "auto",
    friction: bool = True,
    rotor_inertia: bool = True,
    functions: Sequence[str] | None = None,
) -> MovingBaseModel:
    """Return the dynamics functions of a robot whose base moves, generated and compiled for it alone.

    The base is the child link of a planar or floating joint at the root of the URDF; without one it is the
    root link. It is ``"free"``: it moves freely; ``"planar"``: in the plane of the planar joint at the root,
    or in the xy-plane of its link if there is none; ``"given"``: its motion is given; None: as the side file
    (``base: free``) or else the joint at the root says. The other options are those of `compile_model`.

    Raises:
        ValueError: an option has another value, or `functions` has an unknown name.
        DynError: nothing says how the base moves, or the base cannot be of that kind; or a joint is elastic.
        NoCompiler: the backend is ``"c"``, and nothing can be compiled here.
    """
    check_options(robot, parameters, backend, functions)
    of_robot = moving_base(robot, base)
    without = partial(with_base_terms, friction=friction, rotor_inertia=rotor_inertia)
    made_of = without(of_robot)
    family = Family(
        made_of,
        made_of,
        MovingBaseModel,
        shapes={name: kind.shape for name, kind in base_kinds(of_robot).items()},
        program=base_program_from,
        symbols=symbolic_base,
        without=without,
        left_out=left_out(friction, rotor_inertia),
        needs=dict.fromkeys(MovingBaseModel.DIVIDING, ("inertia_matrix",)),
    )
    made = Functions(family, parameters, backend, functions)
    source = (robot, of_robot.kind)
    return MovingBaseModel(of_robot, friction, rotor_inertia, made.backend, source, made)
