# SPDX-License-Identifier: Apache-2.0
"""How far the functions of a robot are from Pinocchio's, and the backends and algorithms from one another.

An *error* is the greatest difference of two results of one sample, relative to the greatest entry of the
expected result of that sample (absolute where all its entries are 0). Results of the Python backend are
compared with Pinocchio. Results of the compiled programs and of the algorithms on floats are compared with
the Python backend. Friction and rotors, which Pinocchio does not model, are left out.

The accelerations of direct dynamics solve ``A qdd = tau - H``. Rounding tau, H and the entries of A to floats
alone can change them by ``|A^-1| (|A| |qdd| + |tau| + |H|) eps`` (Higham 2002, Accuracy and Stability of
Numerical Algorithms, sec. 7.2), whatever the algorithm. Four times this, for the torques and for the
parameters and in both libraries, replaces the bar where it is larger. Where no digit is left, the result may
be NaN. Of the robots of example-robot-data, iCub and G1 with hands need this. For all robots, the torques of
the accelerations (by Pinocchio) must be the given ones, relative to the greatest entry of ``|A| |qdd| + |tau|
+ |H|``; this is the function ``torques back``.

Joints that no inertia resists must have no finite acceleration. Where Pinocchio has none for other joints
of their branch either, the remaining joints are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pinocchio_projected import ProjectedOracle, per_sample

import dyn_core
from dyn_core.algorithms.dynamics.direct_dynamics import unresisted
from dyn_core.algorithms.link_motion import jacobian
from dyn_core.codegen.traced_program import Program
from dyn_core.model.fixed_base.dynamics_programs import kinds, traced, with_terms
from dyn_core.model.fixed_base.link_functions import OF_LINKS
from dyn_core.model.tunable_parameters import runnables
from dyn_core.robot.dynamic_parameters import INERTIAL, PER_JOINT
from dyn_core.robot.joint_coupling import coordinate_torques, joint_positions
from dyn_core.robot.mdh.direct_geometry import lineage, link_placements

AGREES = 1e-9
"""Largest allowed error against Pinocchio."""
ALIKE = 1e-12
"""Largest allowed error between two ways to compute the same quantity."""
TILTED = (3.0, -5.0, -7.0)
"""A gravity that is not vertical (m/s^2)."""
EPSILON, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)

Array = np.ndarray
Bars = Array | float
Compiled = Callable[[Program], bool]


@dataclass(frozen=True)
class Finding:
    """The worst error of a function over the samples, and its bar."""

    function: str  # one of a model, or one of a link
    against: str  # pinocchio; or c or floats: these are compared with the Python backend
    error: float
    bar: float

    @property
    def missed(self) -> bool:
        """Whether the error exceeds the bar, or is NaN."""
        return not self.error <= self.bar

    @property
    def excused(self) -> bool:
        """Whether the error is within a bar raised for bad conditioning, but not within the usual bar."""
        return not self.missed and self.error > (AGREES if self.against == "pinocchio" else ALIKE)


def findings(
    urdf: str, robot: dyn_core.Robot, samples: int, compiled: Compiled, floor: float = 0.0
) -> Iterator[Finding]:
    """Compare all functions, and the placements and Jacobians of all links.

    The robot is read from the URDF text with `snap=0`; `samples` is the number of random states; `compiled`
    says of a program whether to compile it, too. Errors of results whose greatest entry is less than
    `floor` are relative to this: some functions of robots are 0 by their structure, up to rounding. What
    gravity has a part in is compared once more, in other states and with a gravity that is not vertical,
    without a compiler.
    """
    robot = with_terms(robot, friction=False, rotor_inertia=False)
    case = _Case(urdf, robot, samples, compiled, floor, seed=0)
    yield from case.of_model("inertia_matrix")
    yield from case.of_links()
    tilted = _Case(urdf, replace(robot, gravity=TILTED), samples, lambda _: False, floor, seed=1)
    for one in (case, tilted):
        for name in ("inverse_dynamics", "bias_torques", "gravity_torques"):
            yield from one.of_model(name)
        yield from one.of_regressor()
        yield from one.of_direct_dynamics()


class _Case:
    """A robot in random states: positions, velocities and accelerations within +-2."""

    def __init__(
        self, urdf: str, robot: dyn_core.Robot, samples: int, compiled: Compiled, floor: float, seed: int
    ) -> None:
        self.robot, self.compiled, self.floor = robot, compiled, floor
        self.oracle = ProjectedOracle(urdf, robot)
        random = np.random.default_rng(seed)
        q, qd, qdd = random.uniform(-2.0, 2.0, (3, samples, robot.dof))
        tau = per_sample(self.oracle.inverse_dynamics, q, qd, qdd)
        tau[1::2] *= random.uniform(-2.0, 2.0, tau[1::2].shape)  # torques that belong to no smooth motion
        self.state = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}

    def of_model(self, name: str) -> Iterator[Finding]:
        program = traced(self.robot, name)
        ours = self._run(program)
        yield self._finding(name, "pinocchio", ours, self._expected(name), AGREES)
        yield from self._alike(program, ours)

    def of_regressor(self) -> Iterator[Finding]:
        """Compare the columns of Pinocchio's parameters, and the product with our own parameters."""
        name, n = "regressor", len(self.robot.joints)
        program = traced(self.robot, name)
        Y = self._run(program)
        rigid = Y.reshape(*Y.shape[:2], n, PER_JOINT)[..., : len(INERTIAL)].reshape(*Y.shape[:2], 10 * n)
        columns, torques = rigid @ self.oracle.parameter_map(), Y @ np.array(self.robot.parameters)
        for ours, expected in ((columns, name), (torques, "inverse_dynamics")):
            yield self._finding(name, "pinocchio", ours, self._expected(expected), AGREES)
        yield from self._alike(program, Y)

    def of_direct_dynamics(self) -> Iterator[Finding]:
        name, (q, qd, _, tau) = "forward_dynamics", self.state.values()
        program = traced(self.robot, name)
        ours = self._run(program)
        A = self._expected("inertia_matrix")
        free = list(unresisted(A[0].tolist(), [range(k) for k in range(self.robot.dof)]))
        yield self._finding(
            "unresisted joints", "pinocchio", 1.0 * np.isfinite(ours[:, free]), np.zeros((len(q), 1)), 0.5
        )
        expected = per_sample(lambda *state: self.oracle.forward_dynamics(*state, free), q, qd, tau)
        kept = np.isfinite(expected).all(axis=0)
        A, x = A[:, kept][:, :, kept], expected[:, kept]
        sizes = (np.abs(tau) + np.abs(self._expected("bias_torques")))[:, kept] + _times(np.abs(A), np.abs(x))
        change = EPSILON * _greatest(_times(np.abs(np.linalg.inv(A)), sizes))
        unknown = 4.0 * change / np.maximum(_greatest(x), TINY)
        told = (unknown < 1.0) | np.isfinite(ours[:, kept]).all(axis=1)
        if not told.any():
            return
        part = np.ix_(told, kept)
        yield self._finding(name, "pinocchio", ours[part], x[told], np.maximum(unknown, AGREES)[told])
        needed = per_sample(self.oracle.inverse_dynamics, q, qd, np.where(kept, ours, 0.0))
        back = needed[part], tau[part], AGREES, _greatest(sizes)[told]
        yield self._finding("torques back", "pinocchio", *back)
        yield from self._alike(program, ours, np.maximum(unknown, ALIKE)[told], part)

    def of_links(self) -> Iterator[Finding]:
        """Compare the placements and Jacobians of all links; those of the farthest link are compiled, too."""
        robot, root = self.robot, self.robot.link_frames[0]
        farthest = max(robot.link_frames, key=lambda frame: len(lineage(robot, frame.body)))
        positions = [joint_positions(robot, q) for q in self.state["q"].tolist()]
        placed = [link_placements(robot, q) for q in positions]
        for frame in robot.link_frames:
            placements = [_homogeneous(*placement_of[frame.name]) for placement_of in placed]
            rows = [jacobian(robot, q, frame, root) for q in positions]
            jacobians = [[coordinate_torques(robot, row) for row in J] for J in rows]
            for program, floats in (
                (OF_LINKS["forward_kinematics"](robot, frame.name, root.name), placements),
                (OF_LINKS["jacobian"](robot, frame.name, root.name), jacobians),
            ):
                name, ours = program.name, self._run(program)
                expected = np.array([getattr(self.oracle, name)(q, frame.name) for q in self.state["q"]])
                yield self._finding(name, "pinocchio", ours, expected, AGREES)
                yield self._finding(name, "floats", np.array(floats, dtype=float), ours, ALIKE)
                if frame is farthest and self.compiled(program):
                    yield self._finding(name, "c", self._run(program, "c"), ours, ALIKE)

    def _alike(
        self, program: Program, python: Array, bars: Bars = ALIKE, part: Any = slice(None)
    ) -> Iterator[Finding]:
        """Compare the other ways to compute a function of the model with the Python backend."""
        name, vectors = program.name, self._vectors(program)
        others = [("c", self._run(program, "c"))] if self.compiled(program) else []
        for algorithm in kinds(self.robot)[name].algorithms:
            floats = per_sample(lambda *x, f=algorithm: f(self.robot, *(v.tolist() for v in x)), *vectors)
            others.append(("floats", np.array(floats, dtype=float)))
        for against, found in others:
            yield self._finding(name, against, found.reshape(python.shape)[part], python[part], bars)

    def _expected(self, name: str) -> Array:
        vectors = (self.state[key] for key in kinds(self.robot)[name].sizes)
        return per_sample(getattr(self.oracle, name), *vectors)

    def _vectors(self, program: Program) -> list[Array]:
        return [self.state[key] for key in program.inputs]

    def _run(self, program: Program, backend: Literal["c", "python"] = "python") -> Array:
        return runnables([program], backend)[0].run((), *self._vectors(program))

    def _finding(
        self, name: str, against: str, ours: Array, expected: Array, bars: Bars, sizes: Array | None = None
    ) -> Finding:
        """The sample whose error is the largest fraction of its bar; errors are relative to `sizes`."""
        errors = _greatest(ours - expected)
        scale = _greatest(expected) if sizes is None else sizes
        errors = errors / np.where(scale > 0.0, np.maximum(scale, self.floor), 1.0)
        bars = np.broadcast_to(bars, errors.shape)
        worst = int(np.argmax(errors / bars))
        return Finding(name, against, float(errors[worst]), float(bars[worst]))


def _times(matrices: Array, vectors: Array) -> Array:
    """Product of a matrix and a vector of each sample."""
    return np.einsum("sij,sj->si", matrices, vectors)


def _greatest(values: Array) -> Array:
    """The greatest magnitude of each sample."""
    return np.abs(values).max(axis=tuple(range(1, values.ndim)), initial=0.0)


def _homogeneous(R, p) -> Array:
    return np.block([[np.array(R), np.array(p)[:, None]], [0.0, 0.0, 0.0, 1.0]])
