# SPDX-License-Identifier: Apache-2.0
"""The dynamics functions of one parallel robot, in terms of the motion of its platform."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array, checked_out
from dyn_core.core.errors import DynError
from dyn_core.facade.parallel_arguments import platform_arguments, refuse_no_rotation
from dyn_core.facade.parallel_split import split_programs
from dyn_core.facade.platform_wrenches import platform_wrench
from dyn_core.facade.runnable import Runnable
from dyn_core.model.built_model import ModelParameters
from dyn_core.model.fixed_base.dynamics_programs import with_terms
from dyn_core.model.parallel.dynamics_programs import BESIDE, given_size, leg_joints
from dyn_core.model.tunable_parameters import Tuning
from dyn_core.parallel.leg_closure import closed_leg
from dyn_core.parallel.platform_motion import platform_motion
from dyn_core.parallel.reach import refuse_unreachable
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot

FAST = ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "jacobian", "inverse_jacobian")
"""What compiled functions compute at once where arguments are arrays of the right shape."""


@dataclass(frozen=True, repr=False)
class ParallelModel(ModelParameters):
    """Dynamics of a parallel robot (Khalil 2010, sec. 5; Khalil-Guegan 2004).

    T is the placement of the platform's link in the frame of the root link, 4 x 4. V is its velocity
    [linear; angular], of the origin of its link and on the axes of the root (m/s, rad/s), Vd its
    acceleration, the rate of V. Efforts are those of the actuators, in the order of `joint_names` (N m, or N
    for prismatic joints). Each function takes one sample or a batch, (N, 4, 4) and (N, 6), and answers in
    kind, in `out` where it is given. A sample in which a number is not finite gives NaN throughout. One
    placement that a leg does not reach is a DynError that names the leg; in a batch it gives NaN. A model can
    be used by many threads. Nothing in it changes, except by `set_parameters`, between calls.

    Attributes:
        structure: the platform and the legs.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
        base_parameters: whether its functions compute with grouped parameters.
        backend: what computes: ``"c"``, compiled for this robot, or ``"python"``.
    """

    structure: ParallelRobot
    friction: bool
    rotor_inertia: bool
    base_parameters: bool
    backend: Literal["c", "python"]
    _functions: Mapping[str, Runnable] = field(repr=False, compare=False)
    _tuning: Tuning | None = field(repr=False)
    _program: Callable[[str], Program] = field(repr=False, compare=False)
    _made_of: Callable[[], ParallelRobot] = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        """Put the fast functions of this robot in the place of the methods, which they fall back to.

        Where legs have no closed form, the methods have to find their positions. A result that is not finite
        is left to the method, which may have something to say.
        """
        if self.structure.given_positions or self.backend == "python":
            return
        for name in FAST:
            general = getattr(self, name)
            self.__dict__[name] = self._functions[name].function.bind(general, self._prepared)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the model is made from; the other side takes the programs from its cache."""
        from dyn_core.facade.compile_parallel import restored_parallel_model

        tuned = None if self._tuning is None else self._tuning.values
        terms = (self.friction, self.rotor_inertia, self.base_parameters)
        structure = self.structure
        return restored_parallel_model, (structure.robot, structure.platform, self.backend, *terms, tuned)

    def __repr__(self) -> str:
        """Answer what it is, and of which robot."""
        kind = "baked" if self._tuning is None else "runtime"
        return (
            f"<ParallelModel of {self.structure.robot!r}, {len(self.leg_names)} legs, {kind} parameters, "
            f"backend '{self.backend}'>"
        )

    @property
    def leg_names(self) -> tuple[str, ...]:
        """Names of the legs: those of the loops that connect them to the platform."""
        return tuple(leg.name for leg in self.structure.legs)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the actuated joints, in the order of efforts."""
        tree, legs = self.structure.robot.joints, self.structure.legs
        return tuple(tree[legs[i].bodies[k] - 1].name for i, k in self.structure.actuated)

    @property
    def leg_joint_names(self) -> tuple[str, ...]:
        """Names of all joints of the legs, leg by leg."""
        return tuple(self.structure.robot.joints[j - 1].name for j in leg_joints(self.structure))

    @property
    def mobility(self) -> Array:
        """Basis of the platform's velocities: six rows [linear; angular], a column for each freedom."""
        basis: Array = np.array(self.structure.mobility).T
        return basis

    def _described(self) -> Robot:
        return self.structure.robot

    def _computed(self) -> Robot:
        return with_terms(self.structure.robot, self.friction, self.rotor_inertia)

    def operation_counts(self, function: str) -> dict[str, int]:
        """Operations of one evaluation of a function, by its name: mul, add, div, trig, sqrt.

        What depends on parameters alone is not counted: it is computed when they are set.
        """
        if function not in self._functions:
            raise ValueError(f"there is no function '{function}': choose one of {', '.join(self._functions)}")
        return self._program(function).operation_counts

    def critical_path(self, function: str) -> dict[str, int]:
        """Operations until a result is there where each leg, and the platform, has a processor of its own.

        Args:
            function: ``"inverse_dynamics"`` or ``"forward_dynamics"``.
        """
        if function not in ("inverse_dynamics", "forward_dynamics"):
            raise ValueError(
                f"function: expected 'inverse_dynamics' or 'forward_dynamics', but it is {function!r}"
            )
        return split_programs(self._made_of(), function).critical_path

    def inverse_dynamics(
        self,
        T: npt.ArrayLike,
        V: npt.ArrayLike,
        Vd: npt.ArrayLike,
        wrenches: Mapping[str, npt.ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Efforts of the actuators that give the platform an acceleration (Khalil 2010, eq. (66)).

        Args:
            T: placement of the platform.
            V: its velocity.
            Vd: its acceleration.
            wrenches: by link of the platform, ``[force; moment]`` (N, N m) that the link exerts on its
                environment, in the frame of the link and about its origin; none for other links.
            out: array for the result.
        """
        found = self._answer("inverse_dynamics", out, T, V=V, Vd=Vd)
        if wrenches is not None:
            found += self._efforts_of(T, wrenches)
        return found

    def forward_dynamics(
        self,
        T: npt.ArrayLike,
        V: npt.ArrayLike,
        tau: npt.ArrayLike,
        wrenches: Mapping[str, npt.ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Acceleration of the platform that efforts give (Khalil-Guegan 2004, eq. (35)).

        Args:
            T: placement of the platform.
            V: its velocity.
            tau: efforts of the actuators.
            wrenches: as in `inverse_dynamics`.
            out: array for the result.
        """
        if wrenches is not None:
            _, _, efforts = platform_arguments(self.structure, T, V=V, tau=tau)
            tau = efforts - self._efforts_of(T, wrenches)
        return self._answer("forward_dynamics", out, T, V=V, tau=tau)

    def inertia_matrix(self, T: npt.ArrayLike, out: Array | None = None) -> Array:
        """Inertia matrix of platform and legs in the velocities along `mobility`, (k, k) or (N, k, k)."""
        return self._answer("inertia_matrix", out, T)

    def jacobian(self, T: npt.ArrayLike, out: Array | None = None) -> Array:
        """Matrix J of V = J qd, with the velocities of the actuated joints, (6, k) or (N, 6, k)."""
        return self._answer("jacobian", out, T)

    def inverse_jacobian(self, T: npt.ArrayLike, out: Array | None = None) -> Array:
        """Matrix of qd by V, (k, 6) or (N, k, 6) (Khalil-Guegan 2004, eq. (13))."""
        return self._answer("inverse_jacobian", out, T)

    def inverse_kinematics(
        self, T: npt.ArrayLike, V: npt.ArrayLike, Vd: npt.ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations of the actuated joints, in the order of `joint_names`.

        Angles are those next to the assembly.
        """
        return self._motions("actuator_motions", self.joint_names, T, V, Vd)

    def leg_motions(
        self, T: npt.ArrayLike, V: npt.ArrayLike, Vd: npt.ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations of all joints of the legs, as `leg_joint_names`."""
        return self._motions("leg_motions", self.leg_joint_names, T, V, Vd)

    def leg_positions(self, T: npt.ArrayLike) -> Array:
        """Positions of all joints of the legs, in the order of `leg_joint_names` (rad or m)."""
        rows = self._answer("closed_legs", None, T)
        return self._positions(self.leg_joint_names, rows)

    def _motions(
        self, function: str, names: tuple[str, ...], T: npt.ArrayLike, V: npt.ArrayLike, Vd: npt.ArrayLike
    ) -> tuple[Array, Array, Array]:
        rows = self._answer(function, None, T, V=V, Vd=Vd)
        return self._positions(names, rows), rows[..., 2, :].copy(), rows[..., 3, :].copy()

    def _positions(self, names: tuple[str, ...], rows: Array) -> Array:
        """Positions of joints from their two numbers: cosine and sine of an angle that is known by these."""
        home = self._home()
        by_angle = self._known_by_angle()
        q: Array = rows[..., 0, :].copy()
        for k, name in enumerate(names):
            if name in by_angle:
                angle = np.arctan2(rows[..., 1, k], rows[..., 0, k])
                turns = np.round((home[name] - angle) / math.tau)
                q[..., k] = angle + math.tau * turns
        return q

    def _home(self) -> dict[str, float]:
        """Positions of the joints of the legs near the assembly."""
        names = (joint.name for leg in self.structure.legs for joint in leg.robot.joints)
        return dict(zip(names, (x for q in self.structure.q_home for x in q), strict=True))

    def _known_by_angle(self) -> set[str]:
        return {
            joint.name
            for leg in self.structure.legs
            if leg.closed_form is not None
            for joint in leg.robot.joints
            if joint.sigma is Sigma.REVOLUTE
        }

    def _efforts_of(self, T: npt.ArrayLike, wrenches: Mapping[str, npt.ArrayLike]) -> Array:
        """Efforts of the actuators that wrenches of the platform take: ``J^T w``."""
        w = platform_wrench(self.structure, platform_arguments(self.structure, T)[0], wrenches)
        efforts: Array = np.einsum("...ik,...i->...k", self.jacobian(T), w)
        return efforts

    @property
    def _prepared(self) -> list[Array]:
        """One item: what was prepared from parameters that can be set; none where they are baked in."""
        return [] if self._tuning is None else self._tuning.prepared

    def _answer(self, function: str, out: Array | None, T: npt.ArrayLike, **vectors: npt.ArrayLike) -> Array:
        """Check the arguments, compute, and write the result where it is wanted."""
        arrays = platform_arguments(self.structure, T, **vectors)
        if len(self.structure.mobility) < 6:
            self._refuse_impossible(arrays[0], dict(zip(vectors, arrays[1:], strict=True)))
        if self.structure.given_positions:
            arrays.append(self._given(arrays[0]))
        runnable = self._functions[function]
        out = checked_out(out, (*arrays[0].shape[:-1], *runnable.shape))
        result = runnable.run(self._prepared, *arrays, out=out)
        if arrays[0].ndim == 1 and not np.all(np.isfinite(result)):
            self._refuse_unreachable(arrays)
        return result

    def _refuse_unreachable(self, arrays: list[Array]) -> None:
        """Raise where one placement is none, or none that the legs reach; what is singular passes."""
        if all(np.all(np.isfinite(array)) for array in arrays):
            refuse_no_rotation(arrays[0])
            refuse_unreachable(self.structure, arrays[0].tolist())

    def _refuse_impossible(self, T: Array, vectors: Mapping[str, Array]) -> None:
        """Raise ValueError where the platform cannot be or move like this; NaN passes."""
        zeros = np.zeros((*T.shape[:-1], 6))
        motion = {"T": T, "V": vectors.get("V", zeros), "Vd": vectors.get("Vd", zeros)}
        beside = self._functions["beside_mobility"].run(self._prepared, *motion.values())
        if np.any(beside > BESIDE**2):
            name = list(motion)[int(np.argmax(np.max(beside.reshape(-1, 3), axis=0)))]
            if name == "T" and T.ndim == 1:
                refuse_no_rotation(T)
            platform, freedom = self.structure.platform, len(self.structure.mobility)
            raise ValueError(
                f"{name}: the platform '{platform}' has {freedom} degrees of freedom and cannot "
                f"{'be there' if name == 'T' else 'move like this'}: see mobility"
            )

    def _given(self, T: Array) -> Array:
        """Positions of the joints of the legs that have no closed form, (n,) or (N, n)."""
        samples = T.reshape(-1, 16)
        q = np.empty((len(samples), given_size(self.structure)))
        for row, entries in zip(q, samples, strict=True):
            try:
                row[:] = self._given_for(entries)
            except DynError:
                if T.ndim == 1:
                    refuse_no_rotation(T)
                    raise
                row[:] = math.nan
        given: Array = q.reshape(*T.shape[:-1], q.shape[1])
        return given

    def _given_for(self, entries: Array) -> list[float]:
        if not np.all(np.isfinite(entries)):
            return [math.nan] * given_size(self.structure)
        motion = platform_motion(entries.tolist(), (0.0,) * 6, (0.0,) * 6, self.structure.R_constant)
        found: list[float] = []
        for i in self.structure.given_positions:
            leg = self.structure.legs[i]
            found += closed_leg(leg, motion, self.structure.q_home[i])
        return found
