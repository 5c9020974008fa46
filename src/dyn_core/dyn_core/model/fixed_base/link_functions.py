# SPDX-License-Identifier: Apache-2.0
"""Functions of one link or joint, compiled at their first call.

They are placements, Jacobians, velocities, accelerations and reactions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from dyn_core.algorithms.dynamics.newton_euler import joint_reactions
from dyn_core.algorithms.dynamics.wrenches import all_exerted, wrench_on_antecedent
from dyn_core.algorithms.link_motion import (
    jacobian,
    jacobian_rate_times_velocity,
    link_acceleration,
    link_velocity,
)
from dyn_core.algorithms.loops.passive_joint_positions import configuration
from dyn_core.codegen.traced_program import Program, trace
from dyn_core.core.arrays import Array, checked_out, joint_vectors
from dyn_core.model.builder import Vector
from dyn_core.model.built_model import BuiltModel
from dyn_core.model.external_wrenches import WrenchRow, exerted_by_bodies
from dyn_core.model.fixed_base.closed_loops import closed, cut_reaction, reaction_program, reactions_of_cuts
from dyn_core.model.tunable_parameters import Runnable
from dyn_core.robot.links import LinkFrame
from dyn_core.robot.mdh.direct_geometry import transform_between
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.expression_graph import Graph
from dyn_core.symbolic.transform import inverse


def link_program(function: str, robot: Robot, link: str, axes: str) -> Program:
    """Return one of the functions `OF_LINKS` of a link as a program.

    The placement is in the frame of the link `axes`; motions are projected on its axes.
    """
    algorithm, vectors = _ALGORITHMS[function]
    of_link = partial(algorithm, robot, robot.link_frame(link), robot.link_frame(axes))
    shape = {"forward_kinematics": (4, 4), "jacobian": (6, robot.dof)}.get(function, (6,))
    return closed(robot, trace(function, of_link, dict.fromkeys(vectors, robot.dof), shape))


def _placement(robot: Robot, frame: LinkFrame, axes: LinkFrame, q: Vector) -> Vector:
    R, p = transform_between(robot, configuration(robot, q).q, axes, frame)
    return [*R[0], p[0], *R[1], p[1], *R[2], p[2], 0.0, 0.0, 0.0, 1.0]


def _jacobian(robot: Robot, frame: LinkFrame, axes: LinkFrame, q: Vector) -> Vector:
    at = configuration(robot, q)
    rows = at.many_torques(jacobian(robot, at.q, frame, axes))
    return [value for row in rows for value in row]


def _velocity(robot: Robot, frame: LinkFrame, axes: LinkFrame, q: Vector, qd: Vector) -> Vector:
    at = configuration(robot, q)
    return link_velocity(robot, at.q, at.rates(qd), frame, axes).values


def _acceleration(
    robot: Robot, frame: LinkFrame, axes: LinkFrame, q: Vector, qd: Vector, qdd: Vector
) -> Vector:
    at = configuration(robot, q)
    rates, accelerations = at.rates(qd), at.accelerations(qd, qdd)
    return link_acceleration(robot, at.q, rates, accelerations, frame, axes).values


def _acceleration_bias(robot: Robot, frame: LinkFrame, axes: LinkFrame, q: Vector, qd: Vector) -> Vector:
    if robot.loops:  # accelerations of the passive joints are not 0 where those of the coordinates are
        return _acceleration(robot, frame, axes, q, qd, [0.0] * robot.dof)
    at = configuration(robot, q)
    return jacobian_rate_times_velocity(robot, at.q, at.rates(qd), frame, axes).values


def reaction(robot: Robot, joint: str, graph: Graph | None) -> Program:
    """Return the wrench through a joint, [force; moment], as a program (see `reaction_program`).

    The antecedent exerts it on the child link. It is in the frame of the child link and about its origin.
    """
    j = [of_tree.name for of_tree in robot.joints].index(robot.joint(joint).name) + 1
    T_link_body = inverse(robot.child_links[j - 1].T_body_link)

    def algorithm(q: Vector, qd: Vector, qdd: Vector, w: Vector) -> Vector:
        at = configuration(robot, q)
        rates, accelerations = at.rates(qd), at.accelerations(qd, qdd)
        external = exerted_by_bodies(robot, w)
        exerted = all_exerted(reactions_of_cuts(robot, q, qd, qdd, external), external)
        wrenches = joint_reactions(robot, at.q, rates, accelerations, robot.gravity_0, exerted)
        return wrench_on_antecedent(T_link_body, wrenches[j]).values

    return reaction_program(robot, algorithm, graph)


_ALGORITHMS: Mapping[str, tuple[Callable[..., Vector], tuple[str, ...]]] = {
    "forward_kinematics": (_placement, ("q",)),
    "jacobian": (_jacobian, ("q",)),
    "jacobian_dot_qd": (_acceleration_bias, ("q", "qd")),
    "link_velocity": (_velocity, ("q", "qd")),
    "link_acceleration": (_acceleration, ("q", "qd", "qdd")),
}
"""By name: the algorithm of a function, and the vectors that it takes."""

OF_LINKS: Mapping[str, Callable[[Robot, str, str], Program]] = {
    function: partial(link_program, function) for function in _ALGORITHMS
}
"""The programs by name."""


class LinkFunctions(BuiltModel):
    """Kinematics of links, and wrenches through joints.

    The first call for a link or joint traces and compiles. Before a control loop begins, name the links to
    `compile_model`, or make a call. Vectors of a link are [linear; angular], linear of its origin, on the
    axes of the link `expressed_in`, by default the root.
    """

    robot: Robot
    _calls: dict[tuple[str, str, str | None], Callable[..., Array]]

    def forward_kinematics(
        self, q: ArrayLike, link: str, reference: str | None = None, out: Array | None = None
    ) -> Array:
        """Placement of a link in the frame of `reference`, by default the root link: 4 x 4, or (N, 4, 4)."""
        key = ("forward_kinematics", link, reference)
        call = self._calls.get(key) or self._call(*key)
        return call(q) if out is None else call(q, out=out)

    def jacobian(
        self, q: ArrayLike, link: str, expressed_in: str | None = None, out: Array | None = None
    ) -> Array:
        """Jacobian J of the frame of a link: 6 x n, or (N, 6, n), [linear; angular] = J qd."""
        call = self._calls.get(("jacobian", link, expressed_in)) or self._call("jacobian", link, expressed_in)
        return call(q) if out is None else call(q, out=out)

    def jacobian_dot_qd(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        link: str,
        expressed_in: str | None = None,
        out: Array | None = None,
    ) -> Array:
        """Rate of the Jacobian times qd, the acceleration of a link at qdd = 0: (6,) or (N, 6).

        The rate is that of the Jacobian on the axes of the root; the product is projected afterwards (m/s^2,
        rad/s^2).
        """
        key = ("jacobian_dot_qd", link, expressed_in)
        call = self._calls.get(key) or self._call(*key)
        return call(q, qd) if out is None else call(q, qd, out=out)

    def link_velocity(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        link: str,
        expressed_in: str | None = None,
        out: Array | None = None,
    ) -> Array:
        """Velocity of a link (m/s, rad/s): (6,) or (N, 6)."""
        key = ("link_velocity", link, expressed_in)
        call = self._calls.get(key) or self._call(*key)
        return call(q, qd) if out is None else call(q, qd, out=out)

    def link_acceleration(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        link: str,
        expressed_in: str | None = None,
        out: Array | None = None,
    ) -> Array:
        """Acceleration of a link as a point in space, without gravity (m/s^2, rad/s^2): (6,) or (N, 6)."""
        key = ("link_acceleration", link, expressed_in)
        call = self._calls.get(key) or self._call(*key)
        return call(q, qd, qdd) if out is None else call(q, qd, qdd, out=out)

    def reaction_wrench(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        joint: str,
        wrenches: Mapping[str, ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Wrench through a joint, of its parent link on its child link (Khalil 2010, eqs. (28) to (30)).

        It is [force (N); moment (N m)] in the frame of the child link and about its origin, for a loop in the
        child's cut frame: (6,) or (N, 6). The joint may mimic another, or be a loop, for its cut joint.

        The component along the joint is the torque of the rigid bodies; friction and the rotor act within the
        joint. Forces that the motion does not determine, such as those across the plane of a planar loop, go
        through the branches of the tree, and not through the cut joint.
        """
        vectors = joint_vectors(self.robot.dof, q=q, qd=qd, qdd=qdd)
        samples = vectors[0].shape[:-1]
        out = checked_out(out, (*samples, 6))
        w = self._wrench_row(wrenches, samples)
        if w is None:
            w = np.zeros((*samples, 6 * len(self.robot.joints)))
        runnable = self._functions.other(("reaction_wrench", joint), partial(self._reaction, joint))
        return runnable.run(self._prepared, *vectors, w, out=out)

    def compile_links(self, links: Sequence[str]) -> None:
        """Compile the placements, Jacobians and motions of links, on the axes of the root, in advance."""
        root = self.robot.link_names[0]
        keys = [(function, link, root) for link in links for function in OF_LINKS]
        self._functions.compile_others({key: partial(OF_LINKS[key[0]], self.robot, *key[1:]) for key in keys})
        for function, link, _ in keys:
            self._call(function, link, None)

    @property
    def compiled_links(self) -> tuple[str, ...]:
        """Names of the links with compiled functions."""
        return tuple(dict.fromkeys(key[1] for key in self._functions.others if key[0] in OF_LINKS))

    @cached_property
    def _wrench_row(self) -> WrenchRow:
        return WrenchRow(self.robot)

    def _call(self, function: str, link: str, axes: str | None) -> Callable[..., Array]:
        """Return the function of a link with the axes of another, by default the root."""
        root = self.robot.link_names[0]
        key = (function, link, root if axes is None else axes)
        runnable = self._functions.other(key, partial(OF_LINKS[function], self.robot, *key[1:]))
        call = runnable.function.bind(partial(self._checked, runnable, _ALGORITHMS[function][1]), [])
        self._calls[function, link, axes] = call
        return call

    def _checked(
        self, runnable: Runnable, names: Sequence[str], *vectors: ArrayLike, out: Array | None = None
    ) -> Array:
        """Compute a function of a link for arguments that users may give."""
        arrays = joint_vectors(self.robot.dof, **dict(zip(names, vectors, strict=True)))
        return self._run(runnable, arrays, out)

    def _reaction(self, joint: str) -> Program:
        """Return the wrench through a joint as a program, of symbols where parameters can be set."""
        made = cut_reaction if any(loop.name == joint for loop in self.robot.loops) else reaction
        source = self._functions.family.source(self._tuning is not None, grouped=False)
        return replace(made(source.robot, joint, source.graph), prepared=source.parameters or None)
