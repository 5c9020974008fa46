# SPDX-License-Identifier: Apache-2.0
"""The dynamics functions of one parallel robot by the motion of its platform, and their compilation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dyn_core.algorithms.base_parameters.determination import Method
from dyn_core.algorithms.base_parameters.torque_effects import Mount
from dyn_core.algorithms.parallel import parallel_base_parameters as base_parameters
from dyn_core.algorithms.parallel.leg_kinematics import platform_motion
from dyn_core.algorithms.parallel.leg_positions import closed_leg, refuse_unreachable
from dyn_core.algorithms.parallel.parallel_base_parameters import (
    ParallelBaseParameters,
    with_parallel_base_parameters,
)
from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.algorithms.parallel.parallel_structure import parallel_robot
from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.model.builder import Family, Functions, Source, check_choice, check_options, left_out
from dyn_core.model.built_model import BuiltModel
from dyn_core.model.external_wrenches import checked_wrenches, link_wrench_on
from dyn_core.model.fixed_base.dynamics_programs import symbolic_robot, with_terms
from dyn_core.model.parallel.dynamics_programs import (
    BESIDE,
    given_size,
    leg_joints,
    parallel_kinds,
    parallel_program,
    split_programs,
)
from dyn_core.model.tunable_parameters import Backend, Parameters
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.transform import compose, inverse

ROTATION = 1e-6
"""Allowed deviation of R R^T from the identity."""


def platform_arguments(robot: ParallelRobot, T: ArrayLike, **vectors: ArrayLike) -> list[Array]:
    """Return a placement (4, 4) or (N, 4, 4) as (16,) or (N, 16), and vectors of as many samples.

    The vectors are V and Vd, (6,) or (N, 6), and efforts tau of the actuators.

    Raises:
        ValueError: a shape is wrong.
    """
    placement = as_floats("T", T)
    if placement.ndim not in (2, 3) or placement.shape[-2:] != (4, 4):
        raise ArgumentError(
            "argument-shape", argument="T", expected="(4, 4) or (N, 4, 4)", given=placement.shape
        )
    samples = placement.shape[:-2]
    arrays = [placement.reshape(*samples, 16)]
    for name, value in vectors.items():
        array = as_floats(name, value)
        expected = (*samples, len(robot.actuated) if name == "tau" else 6)
        if array.shape != expected:
            raise ArgumentError("argument-shape", argument=name, expected=expected, given=array.shape)
        arrays.append(array)
    return arrays


def refuse_no_rotation(T: Array) -> None:
    """Raise ValueError if the rotation of a placement (16,) is not a rotation matrix."""
    R = T.reshape(4, 4)[:3, :3]
    off = float(np.max(np.abs(R @ R.T - np.eye(3))))
    if off > ROTATION:
        raise ArgumentError("rotation-not-orthogonal", deviation=off)
    if np.linalg.det(R) < 0.0:
        raise ArgumentError("rotation-mirrored")


def platform_wrench(robot: ParallelRobot, T: Array, wrenches: Mapping[str, ArrayLike]) -> Array:
    """Return the total wrench that the platform exerts on its environment, (6,) or (N, 6).

    It is [force; moment] about the origin of the platform's link and on the axes of the root, for placements
    T (16,) or (N, 16) and wrenches as in `external_wrenches`.

    Raises:
        ValueError: `wrenches` is not six numbers by name of link.
        DynError: a link is not part of the platform.
    """
    samples = T.shape[:-1]
    total = np.zeros((*samples, 6))
    platform = robot.robot.link_frame(robot.platform)
    for name in wrenches if isinstance(wrenches, Mapping) else ():
        if robot.robot.link_frame(name).body != robot.body:
            raise DynError(
                "wrench-off-platform",
                link=name,
                platform=robot.platform,
                known=[frame.name for frame in robot.robot.link_frames if frame.body == robot.body],
                element=f"link '{name}'",
            )
    for link, array in checked_wrenches(robot.robot, wrenches, samples):
        T_platform_link = compose(inverse(platform.T_body_link), link.T_body_link)
        on_platform = link_wrench_on(T_platform_link, np.moveaxis(array, -1, 0))
        total = total + np.stack(np.broadcast_arrays(*on_platform.values), axis=-1)
    R = T.reshape(*samples, 4, 4)[..., :3, :3]
    turned = np.einsum("...ij,...kj->...ki", R, total.reshape(*samples, 2, 3))
    return np.asarray(turned.reshape(*samples, 6))


FAST = ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "jacobian", "inverse_jacobian")
"""Functions that are bound to compiled ones."""


@dataclass(frozen=True, repr=False)
class ParallelModel(BuiltModel):
    """Dynamics of a parallel robot (Khalil 2010, sec. 5; Khalil-Guegan 2004).

    T is the placement of the platform's link in the frame of the root link, 4 x 4. V is its velocity [linear;
    angular], of the origin of its link and on the axes of the root (m/s, rad/s), and Vd its acceleration, the
    rate of V. Efforts tau are those of the actuators, in the order of `joint_names` (N m, or N for prismatic
    joints). `wrenches` maps names of links of the platform to ``[force; moment]`` (N, N m) that the link
    exerts on its environment, in the frame of the link and about its origin; other links are not allowed.

    Each function takes one sample or a batch, (N, 4, 4) and (N, 6), and returns the same, in `out` if it is
    given. A sample with a number that is not finite gives NaN throughout. A placement that a leg does not
    reach is a DynError that names the leg; in a batch it gives NaN. A model can be used by many threads. It
    does not change between calls, except by `set_parameters`.

    Attributes beside those of `BuiltModel`:
        structure: the platform and the legs.
        base_parameters: whether its functions compute with grouped parameters.
    """

    structure: ParallelRobot
    friction: bool
    rotor_inertia: bool
    base_parameters: bool
    backend: Literal["c", "python"]
    _functions: Functions = field(repr=False)

    def _is_fast(self, name: str) -> bool:
        """Whether a compiled function can be bound: not if methods have to find the positions of legs.

        A result that is not finite is passed to the method, which may raise an error.
        """
        return name in FAST and not self.structure.given_positions and self.backend == "c"

    def __reduce__(self) -> tuple[Any, ...]:
        robot, platform = self.structure.robot, self.structure.platform
        options = {"platform": platform, "base_parameters": self.base_parameters}
        return self._remade(compile_parallel, robot=robot, **options)

    def __repr__(self) -> str:
        return f"<ParallelModel of {self.structure.robot!r}, {len(self.leg_names)} legs, {self._kind()}>"

    @property
    def leg_names(self) -> tuple[str, ...]:
        """Names of the legs, which are those of the loops that connect them to the platform."""
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

    def _counted(self, source: Source[Any], function: str) -> Program:
        return parallel_program(source, function)

    def critical_path(self, function: str) -> dict[str, int]:
        """Operations of inverse or forward dynamics with a processor for each leg and for the platform."""
        check_choice("function", function, ("inverse_dynamics", "forward_dynamics"))
        # With symbols for parameters, the operations of grouping would be counted, which calls do not do.
        robot = self._functions.family.source(False, grouped=self._tuning is None).robot
        return split_programs(robot, function).critical_path

    def inverse_dynamics(
        self,
        T: ArrayLike,
        V: ArrayLike,
        Vd: ArrayLike,
        wrenches: Mapping[str, ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Efforts of the actuators that give the platform an acceleration (Khalil 2010, eq. (66))."""
        found = self._computed("inverse_dynamics", out, T, V=V, Vd=Vd)
        if wrenches is not None:
            found += self._efforts_of(T, wrenches)
        return found

    def forward_dynamics(
        self,
        T: ArrayLike,
        V: ArrayLike,
        tau: ArrayLike,
        wrenches: Mapping[str, ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Acceleration of the platform that efforts give (Khalil-Guegan 2004, eq. (35))."""
        if wrenches is not None:
            _, _, efforts = platform_arguments(self.structure, T, V=V, tau=tau)
            tau = efforts - self._efforts_of(T, wrenches)
        return self._computed("forward_dynamics", out, T, V=V, tau=tau)

    def inertia_matrix(self, T: ArrayLike, out: Array | None = None) -> Array:
        """Inertia matrix of platform and legs in the velocities along `mobility`, (k, k) or (N, k, k)."""
        return self._computed("inertia_matrix", out, T)

    def jacobian(self, T: ArrayLike, out: Array | None = None) -> Array:
        """Matrix J of V = J qd, with the velocities of the actuated joints, (6, k) or (N, 6, k)."""
        return self._computed("jacobian", out, T)

    def inverse_jacobian(self, T: ArrayLike, out: Array | None = None) -> Array:
        """Matrix of qd by V, (k, 6) or (N, k, 6) (Khalil-Guegan 2004, eq. (13))."""
        return self._computed("inverse_jacobian", out, T)

    def inverse_kinematics(self, T: ArrayLike, V: ArrayLike, Vd: ArrayLike) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations of the actuated joints, in the order of `joint_names`.

        Angles are those next to the assembly.
        """
        return self._motions("actuator_motions", self.joint_names, T, V, Vd)

    def leg_motions(self, T: ArrayLike, V: ArrayLike, Vd: ArrayLike) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations of all joints of the legs, as `leg_joint_names`."""
        return self._motions("leg_motions", self.leg_joint_names, T, V, Vd)

    def leg_positions(self, T: ArrayLike) -> Array:
        """Positions of all joints of the legs, in the order of `leg_joint_names` (rad or m)."""
        rows = self._computed("closed_legs", None, T)
        return self._positions(self.leg_joint_names, rows)

    def _motions(
        self, function: str, names: tuple[str, ...], T: ArrayLike, V: ArrayLike, Vd: ArrayLike
    ) -> tuple[Array, Array, Array]:
        rows = self._computed(function, None, T, V=V, Vd=Vd)
        return self._positions(names, rows), rows[..., 2, :].copy(), rows[..., 3, :].copy()

    def _positions(self, names: tuple[str, ...], rows: Array) -> Array:
        """Return positions of joints from two rows: cosine and sine of an angle that is known by these."""
        home = self._home_of_angles()
        q: Array = rows[..., 0, :].copy()
        for k, name in enumerate(names):
            if name in home:
                angle = np.arctan2(rows[..., 1, k], rows[..., 0, k])
                turns = np.round((home[name] - angle) / math.tau)
                q[..., k] = angle + math.tau * turns
        return q

    def _home_of_angles(self) -> dict[str, float]:
        """Return positions near the assembly of joints whose angles are known by cosine and sine."""
        return {
            joint.name: position
            for leg, home in zip(self.structure.legs, self.structure.q_home, strict=True)
            if leg.closed_form is not None
            for joint, position in zip(leg.robot.joints, home, strict=True)
            if joint.sigma is Sigma.REVOLUTE
        }

    def _efforts_of(self, T: ArrayLike, wrenches: Mapping[str, ArrayLike]) -> Array:
        """Return the efforts of the actuators for wrenches of the platform: ``J^T w``."""
        w = platform_wrench(self.structure, platform_arguments(self.structure, T)[0], wrenches)
        efforts: Array = np.einsum("...ik,...i->...k", self.jacobian(T), w)
        return efforts

    def _computed(self, function: str, out: Array | None, T: ArrayLike, **vectors: ArrayLike) -> Array:
        """Check the arguments, compute, and write the result where it is wanted."""
        arrays = platform_arguments(self.structure, T, **vectors)
        if len(self.structure.mobility) < 6:
            self._refuse_impossible(arrays[0], dict(zip(vectors, arrays[1:], strict=True)))
        if self.structure.given_positions:
            arrays.append(self._given(arrays[0]))
        result = self._run(self._functions[function], arrays, out)
        if arrays[0].ndim == 1 and not np.all(np.isfinite(result)):
            self._refuse_unreachable(arrays)
        return result

    def _refuse_unreachable(self, arrays: list[Array]) -> None:
        """Raise if a placement is invalid, or the legs do not reach it; a singular one is accepted."""
        if all(np.all(np.isfinite(array)) for array in arrays):
            refuse_no_rotation(arrays[0])
            refuse_unreachable(self.structure, arrays[0].tolist())

    def _refuse_impossible(self, T: Array, vectors: Mapping[str, Array]) -> None:
        """Raise ValueError where the platform cannot be or move like this; NaN is accepted."""
        zeros = np.zeros((*T.shape[:-1], 6))
        motion = {"T": T, "V": vectors.get("V", zeros), "Vd": vectors.get("Vd", zeros)}
        beside = self._functions["beside_mobility"].run(self._prepared, *motion.values())
        if np.any(beside > BESIDE**2):
            name = list(motion)[int(np.argmax(np.max(beside.reshape(-1, 3), axis=0)))]
            if name == "T" and T.ndim == 1:
                refuse_no_rotation(T)
            code = "platform-placement-impossible" if name == "T" else "platform-motion-impossible"
            platform, freedom = self.structure.platform, len(self.structure.mobility)
            raise ArgumentError(code, argument=name, platform=platform, freedom=freedom)

    def _given(self, T: Array) -> Array:
        """Return positions of the joints of the legs that have no closed form, (n,) or (N, n)."""
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


def compile_parallel(
    robot: Robot,
    platform: str,
    parameters: Parameters = "baked",
    backend: Backend = "auto",
    friction: bool = True,
    rotor_inertia: bool = True,
    base_parameters: bool = False,
    functions: Sequence[str] | None = None,
) -> ParallelModel:
    """Return the dynamics functions of a parallel robot, in terms of the motion of its platform, a link.

    Passive joints place the platform, and loops connect legs to it (docs/parallel.md). The options are those
    of `compile_model`; passive joints of the legs have friction, too, parameters are grouped as by
    `parallel_base_parameters`, and `functions` are those that `ParallelModel.operation_counts` knows.

    Raises:
        ValueError: an option has another value, or `functions` has an unknown name.
        DynError: the robot is not a parallel robot with this platform.
        NoCompiler: the backend is ``"c"``, and nothing can be compiled here.
    """
    check_options(robot, parameters, backend, functions)
    structure = parallel_robot(robot, platform)

    def without(structure: ParallelRobot) -> ParallelRobot:
        return structure.with_robot(with_terms(structure.robot, friction, rotor_inertia))

    made_of = without(structure)
    family = Family(
        made_of,
        made_of.robot,
        ParallelModel,
        shapes={name: kind.shape for name, kind in parallel_kinds(structure).items()},
        program=partial(parallel_program, guarded=True),
        symbols=_symbolic,
        without=without,
        grouped=_grouped if base_parameters else None,
        left_out=left_out(friction, rotor_inertia),
    )
    made = Functions(family, parameters, backend, functions)
    return ParallelModel(structure, friction, rotor_inertia, bool(base_parameters), made.backend, made)


def _symbolic(structure: ParallelRobot) -> Source[ParallelRobot]:
    """Return a parallel robot with symbols for its dynamic parameters and gravity; its geometry stays."""
    symbolic = symbolic_robot(structure.robot)
    return Source(structure.with_robot(symbolic.robot), symbolic.graph, symbolic.parameters)


def _grouped(structure: ParallelRobot, gravity_changes: bool) -> ParallelRobot:
    return with_parallel_base_parameters(structure, "tilted" if gravity_changes else "fixed")


def parallel_base_parameters(
    robot: Robot,
    platform: str,
    method: Method = "symbolic",
    mount: Mount = "fixed",
    rotor_inertia: bool = True,
) -> ParallelBaseParameters:
    """Return independent combinations of inertial parameters that give all efforts of a parallel robot.

    Args:
        robot: the robot: passive joints place its platform, and loops connect legs to it.
        platform: name of the link that is the platform.
        method: ``"symbolic"``: by rules (Khalil-Guegan 2004, sec. VI); ``"numeric"``: by a QR decomposition
            of the regressor in random states.
        mount: ``"fixed"``: the base stands still; ``"tilted"``: gravity can have any direction.
        rotor_inertia: whether the inertias of rotors are among the standard parameters.

    Raises:
        DynError: the robot is not a parallel robot with this platform.
    """
    structure = parallel_robot(robot, platform)
    return base_parameters.parallel_base_parameters(structure, method, mount, rotor_inertia)
