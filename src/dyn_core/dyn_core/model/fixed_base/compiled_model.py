# SPDX-License-Identifier: Apache-2.0
"""The dynamics functions of one robot, and `compile_model`, which compiles them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, get_args

from numpy.typing import ArrayLike

from dyn_core.algorithms.dynamics.direct_dynamics import no_forward_dynamics
from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array, checked_out, joint_vectors
from dyn_core.core.errors import ArgumentError
from dyn_core.model.builder import Family, Functions, check_choice, check_options, left_out, runnable_programs
from dyn_core.model.fixed_base.closed_loops import LoopFunctions, unresisted_coordinates
from dyn_core.model.fixed_base.dynamics_programs import (
    Method,
    grouped,
    kinds,
    symbolic_robot,
    traced_from,
    with_terms,
)
from dyn_core.model.fixed_base.elastic_joints import LOADED, ElasticFunctions, with_rigid_joints_held
from dyn_core.model.fixed_base.lagrange_functions import OF_LAGRANGE, LagrangeFunctions
from dyn_core.model.tunable_parameters import Backend, OpenRows, Parameters, Runnable
from dyn_core.robot.robot import Robot, refuse_moving_base


@dataclass(frozen=True, repr=False)
class Model(LagrangeFunctions, LoopFunctions, ElasticFunctions):
    """Dynamics of a robot: A(q) qdd + C(q, qd) + Q(q) + friction(qd) + springs(q, qd) (Khalil 2010, eq. (7)).

    Joint vectors are in the order of `joint_names`: positions q (rad or m), velocities qd, accelerations qdd,
    and torques tau (N m, or N for prismatic joints). Each function takes one sample (n,) or a batch (N, n)
    and returns the same, in `out` if it is given. A sample with a number that is not finite gives NaN
    throughout, and so does a sample of a batch at which the loops do not close (see `open_rows`).

    `wrenches` maps names of links to ``[force; moment]`` (N, N m) that the link exerts on its environment, in
    the frame of the link and about its origin: (6,), or (N, 6) with a batch.

    A model can be used by many threads. It does not change between calls, except by `set_parameters`.

    Attributes beside those of `BuiltModel`:
        robot: the robot.
        base_parameters: whether its functions compute with grouped parameters.
        detours: whether to search for detours to positions at which the loops are not closed at once.
        open_rows: what a sample of a batch at which the loops do not close is: NaN, or an error.
        method: ``"auto"``, the algorithms with the fewest operations, or ``"mrnea"``.
    """

    DIVIDING: ClassVar[tuple[str, ...]] = ("forward_dynamics", "elastic_inverse_dynamics")
    BESIDE: ClassVar[tuple[str, ...]] = tuple(OF_LAGRANGE)

    robot: Robot
    friction: bool
    rotor_inertia: bool
    base_parameters: bool
    backend: Literal["c", "python"]
    _functions: Functions = field(repr=False)
    detours: bool = True
    open_rows: OpenRows = "nan"
    _calls: dict[tuple[str, str, str | None], Callable[..., Array]] = field(
        default_factory=dict, repr=False, compare=False
    )
    method: Method = "auto"

    def _find_unresisted(self) -> dict[str, tuple[str, ...]]:
        robot = with_terms(self.robot, self.friction, self.rotor_inertia)
        names = unresisted_coordinates(robot, None if self._tuning is None else self._present_inertia)
        elastic: tuple[str, ...] = ()
        if self.elastic_joint_names and names:
            held = with_rigid_joints_held(self.robot, self._present_inertia)
            elastic = unresisted_coordinates(robot, held)
        return dict(zip(self.DIVIDING, (names, elastic), strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return self._remade(
            compile_model,
            robot=self.robot,
            links=self.compiled_links,
            base_parameters=self.base_parameters,
            detours=self.detours,
            open_rows=self.open_rows,
            method=self.method,
        )

    def without_detours(self) -> Model:
        """Return the model without the search for detours: it raises at once if the loops do not close."""
        functions = self._functions.searching(False, self.open_rows)
        return replace(self, _functions=functions, _calls={}, detours=False)

    def __repr__(self) -> str:
        return f"<Model of {self.robot!r}, {self._kind()}>"

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of every joint vector; with loops the actuated ones."""
        return self.robot.coordinate_names

    def operation_counts(self, function: str) -> dict[str, int]:
        """Operations of one evaluation of a function, by its name: mul, add, div, trig, sqrt.

        Operations on parameters alone are not counted, as they are done when the parameters are set; they are
        counted for `coriolis_matrix` and `lagrange_terms`.
        """
        if function in OF_LAGRANGE:
            return self._lagrange_program(function).operation_counts
        return super().operation_counts(function)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        wrenches: Mapping[str, ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Torques that give the accelerations qdd (Khalil 2010, eq. (12)).

        For an elastic joint it is the torque that its spring does not give, 0 in all possible motions: see
        `elastic_inverse_dynamics`.
        """
        vectors = joint_vectors(self.robot.dof, self._joints_with_motors, q=q, qd=qd, qdd=qdd)
        out = checked_out(out, vectors[0].shape)
        external = self._external_torques(vectors[0], wrenches)
        torques = self._functions["inverse_dynamics"].run(self._prepared, *vectors)
        out[...] = torques if external is None else torques + external
        return out

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        wrenches: Mapping[str, ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Accelerations that the torques tau of the actuators give (Khalil 2010, sec. 3.3).

        They are not finite in positions where a joint moves no inertia.

        Raises:
            DynError: no inertia resists a joint, in any position.
        """
        runnable = self._functions["forward_dynamics"]
        if "forward_dynamics" in self._unresisted:
            raise no_forward_dynamics(self.robot, self._unresisted["forward_dynamics"])
        vectors = joint_vectors(self.robot.dof, self._joints_with_motors, q=q, qd=qd, tau=tau)
        out = checked_out(out, vectors[0].shape)
        external = self._external_torques(vectors[0], wrenches)
        q, qd, tau = vectors
        out[...] = runnable.run(self._prepared, q, qd, tau if external is None else tau - external)
        return out

    def inertia_matrix(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Inertia matrix A with the inertia of the rotors, (n, n) or (N, n, n)."""
        return self._computed("inertia_matrix", out, q=q)

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None) -> Array:
        """Matrix Y of tau = Y parameters, in the columns `parameter_names`, (n, p) or (N, n, p).

        It does not include `spring_torques`.
        """
        return self._computed("regressor", out, q=q, qd=qd, qdd=qdd)

    def bias_torques(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """Torques H at zero acceleration: Coriolis, centrifugal, gravity, friction and springs."""
        return self._computed("bias_torques", out, q=q, qd=qd)

    def inertia_and_bias(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """Inertia matrix A, and below it the bias torques H, in one call: (n + 1, n) or (N, n + 1, n).

        ``tau = AH[:-1] @ qdd + AH[-1]`` for one sample.
        """
        return self._computed("inertia_and_bias", out, q=q, qd=qd)

    def gravity_torques(self, q: ArrayLike, out: Array | None = None) -> Array:
        """Torques Q that hold the robot at rest, without friction and springs."""
        return self._computed("gravity_torques", out, q=q)

    def coriolis_torques(self, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
        """Coriolis and centrifugal torques C."""
        return self._computed("coriolis_torques", out, q=q, qd=qd)

    def inertial_torques(self, q: ArrayLike, qdd: ArrayLike, out: Array | None = None) -> Array:
        """Torques A(q) qdd, with the inertia of the rotors."""
        return self._computed("inertial_torques", out, q=q, qdd=qdd)

    def friction_torques(self, qd: ArrayLike, q: ArrayLike | None = None, out: Array | None = None) -> Array:
        """Torques of friction; zero in a model without friction.

        Only the friction of a robot with loops depends on the positions q.
        """
        if q is None:
            if self.robot.loops:
                raise ArgumentError("positions-missing")
        elif self.robot.loops:
            return self._computed("friction_torques", out, qd=qd, q=q)
        else:
            joint_vectors(self.robot.dof, self._joints_with_motors, qd=qd, q=q)
        return self._computed("friction_torques", out, qd=qd)

    def _computed(self, function: str, out: Array | None, **vectors: ArrayLike) -> Array:
        """Check the arguments and compute a function, into `out` if it is given."""
        arrays = joint_vectors(self.robot.dof, self._joints_with_motors, **vectors)
        return self._run(self._functions[function], arrays, out)

    def _external_torques(self, q: Array, wrenches: Mapping[str, ArrayLike] | None) -> Array | None:
        """Return what wrenches add to the torques; None if there are none."""
        w = self._wrench_row(wrenches, q.shape[:-1])
        return None if w is None else self._functions["external_torques"].run(self._prepared, q, w)


def compile_model(
    robot: Robot,
    parameters: Parameters = "baked",
    backend: Backend = "auto",
    friction: bool = True,
    rotor_inertia: bool = True,
    links: Sequence[str] = (),
    base_parameters: bool = False,
    detours: bool = True,
    method: Method = "auto",
    open_rows: OpenRows = "nan",
    functions: Sequence[str] | None = None,
) -> Model:
    """Return the dynamics functions of a robot, generated and compiled for it alone.

    Args:
        robot: the robot.
        parameters: ``"baked"``: masses, inertias, friction, rotors and gravity are numbers in the code, which
            is fastest; ``"runtime"``: `Model.set_parameters` changes them.
        backend: ``"c"``: compiled by the C compiler, and kept in the user's cache; ``"python"``:
            straight-line Python; ``"auto"``: C, or, with a warning in the log, Python if there is no
            compiler.
        friction: whether the joints have friction.
        rotor_inertia: whether the rotors have inertia.
        links: links whose placements, Jacobians and motions are compiled now and not at the first call.
        base_parameters: whether the inertial parameters are grouped first (see `base_parameters`), which
            leaves fewer operations and the same results except for rounding. With parameters ``"runtime"``
            the standard parameters are set all the same.
        detours: for loops, whether to search detours to positions that cannot be reached from the assembly,
            or from a last position that is near, by a straight line. Without a solution the search may take a
            second. A control loop, whose positions follow one another, does not need it.
        method: ``"auto"``: each function by the algorithm with the fewest operations for this robot;
            ``"mrnea"``: inertia matrix and direct dynamics by the pass of the modified Newton-Euler recursion
            that gives inertia matrix and bias torques together.
        open_rows: for loops, what a sample of a batch at which they do not close is: ``"nan"``, a row of NaN,
            or ``"error"``, as it is for one sample alone.
        functions: names of the functions to compile now, such as ``("inverse_dynamics",)``; by default all.
            Others are compiled at their first use, which is logged: a warning, or information if it takes
            less than 10 ms. A function that divides by inertias is compiled with the inertia matrix if that
            tells whether it has a result.

    Raises:
        ValueError: an option has another value, or `functions` has an unknown name.
        DynError: the side file of the robot says that its base moves: see `compile_moving_base`.
        NoCompiler: the backend is ``"c"``, and nothing can be compiled here.
    """
    check_options(robot, parameters, backend, functions)
    refuse_moving_base(robot, "compile_model", "compile_moving_base")
    check_choice("method", method, ("auto", "mrnea"))
    check_choice("open_rows", open_rows, get_args(OpenRows))
    for link in links:
        robot.link_frame(link)
    without = partial(with_terms, friction=friction, rotor_inertia=rotor_inertia)
    made_of = without(robot)
    by_inertia = parameters == "runtime" or bool(robot.elastic_joint_names)
    family = Family(
        made_of,
        made_of,
        Model,
        shapes={name: kind.shape for name, kind in kinds(made_of).items()},
        program=partial(traced_from, method=method),
        symbols=symbolic_robot,
        without=without,
        grouped=grouped if base_parameters else None,
        left_out=left_out(friction, rotor_inertia),
        needs=dict.fromkeys(Model.DIVIDING, ("inertia_matrix",)) if by_inertia else {},
        hidden=(LOADED,),
        loops=bool(robot.loops),
    )
    made = Functions(family, parameters, backend, functions)
    made = made.searching(detours, open_rows) if robot.loops else made
    model = Model(
        robot,
        friction,
        rotor_inertia,
        bool(base_parameters),
        made.backend,
        made,
        detours=detours,
        open_rows=open_rows,
        method=method,
    )
    model.compile_links(links)
    return model


def run_by(robot: Robot, program: Program) -> Callable[..., Array]:
    """Return a program of a robot as a function of arrays of one shape, compiled if possible."""
    return partial(runnable_by(robot, program).run, ())


def runnable_by(robot: Robot, program: Program) -> Runnable:
    """Return a program of a robot, compiled if possible."""
    return runnable_programs(robot, [program])[0]
