# SPDX-License-Identifier: Apache-2.0
"""The functions of a model that belong to one link or joint, and are made when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array, checked_out, joint_vectors
from dyn_core.facade.link_programs import (
    acceleration,
    acceleration_bias,
    link_jacobian,
    placement,
    reaction,
    velocity,
)
from dyn_core.facade.loop_programs import cut_reaction
from dyn_core.facade.runnable import Runnable, runnables, without_detours
from dyn_core.facade.symbolic_robot import symbolic_robot
from dyn_core.model.external_wrenches import WrenchRow
from dyn_core.model.fixed_base.dynamics_programs import with_terms
from dyn_core.model.tunable_parameters import Tuning
from dyn_core.robot.robot import Robot

OF_LINKS: Mapping[str, Callable[[Robot, str, str], Program]] = {
    "forward_kinematics": placement,
    "jacobian": link_jacobian,
    "jacobian_dot_qd": acceleration_bias,
    "link_velocity": velocity,
    "link_acceleration": acceleration,
}

VECTORS: Mapping[str, tuple[str, ...]] = {
    "forward_kinematics": ("q",),
    "jacobian": ("q",),
    "jacobian_dot_qd": ("q", "qd"),
    "link_velocity": ("q", "qd"),
    "link_acceleration": ("q", "qd", "qdd"),
}
"""The vectors that each takes."""


class LinkFunctions:
    """Kinematics of links, and wrenches through joints.

    The first call for a link, or joint, traces and compiles. Before a control loop begins, name the
    links to `compile_model`, or make a call.
    """

    robot: Robot
    friction: bool
    rotor_inertia: bool
    detours: bool
    backend: Literal["c", "python"]
    _tuning: Tuning | None
    _of_links: dict[tuple[str, ...], Runnable]
    _calls: dict[tuple[str, str, str | None], Callable[..., Array]]

    def forward_kinematics(
        self, q: npt.ArrayLike, link: str, reference: str | None = None, out: Array | None = None
    ) -> Array:
        """Placement of a link in the frame of another: 4 x 4, or (N, 4, 4).

        Args:
            q: positions.
            link: name of the link.
            reference: name of the other link; by default the root.
            out: array for the result.
        """
        call = self._calls.get(("forward_kinematics", link, reference)) or self._call(
            "forward_kinematics", link, reference
        )
        return call(q) if out is None else call(q, out=out)

    def jacobian(
        self, q: npt.ArrayLike, link: str, expressed_in: str | None = None, out: Array | None = None
    ) -> Array:
        """Jacobian of the frame of a link: 6 x n, or (N, 6, n), [linear; angular] = J qd.

        Args:
            q: positions.
            link: name of the link; the linear velocity is that of its origin.
            expressed_in: name of the link on whose axes the velocity is projected; by default the root.
            out: array for the result.
        """
        call = self._calls.get(("jacobian", link, expressed_in)) or self._call("jacobian", link, expressed_in)
        return call(q) if out is None else call(q, out=out)

    def jacobian_dot_qd(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        link: str,
        expressed_in: str | None = None,
        out: Array | None = None,
    ) -> Array:
        """Rate of the Jacobian times qd, the acceleration of a link where qdd = 0: (6,) or (N, 6).

        The rate is that of the Jacobian on the axes of the root; the product is projected afterwards.

        Args:
            q: positions.
            qd: velocities.
            link: name of the link.
            expressed_in: name of the link on whose axes it is projected; by default the root.
            out: array for the result, [linear (m/s^2); angular (rad/s^2)].
        """
        call = self._calls.get(("jacobian_dot_qd", link, expressed_in)) or self._call(
            "jacobian_dot_qd", link, expressed_in
        )
        return call(q, qd) if out is None else call(q, qd, out=out)

    def link_velocity(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        link: str,
        expressed_in: str | None = None,
        out: Array | None = None,
    ) -> Array:
        """Velocity of a link, of its origin and angular: (6,) or (N, 6).

        Args:
            q: positions.
            qd: velocities.
            link: name of the link.
            expressed_in: name of the link on whose axes it is projected; by default the root.
            out: array for the result, [linear (m/s); angular (rad/s)].
        """
        call = self._calls.get(("link_velocity", link, expressed_in)) or self._call(
            "link_velocity", link, expressed_in
        )
        return call(q, qd) if out is None else call(q, qd, out=out)

    def link_acceleration(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        link: str,
        expressed_in: str | None = None,
        out: Array | None = None,
    ) -> Array:
        """Acceleration of a link, of its origin as a point in space, and angular: (6,) or (N, 6).

        Gravity is no part of it.

        Args:
            q: positions.
            qd: velocities.
            qdd: accelerations.
            link: name of the link.
            expressed_in: name of the link on whose axes it is projected; by default the root.
            out: array for the result, [linear (m/s^2); angular (rad/s^2)].
        """
        call = self._calls.get(("link_acceleration", link, expressed_in)) or self._call(
            "link_acceleration", link, expressed_in
        )
        return call(q, qd, qdd) if out is None else call(q, qd, qdd, out=out)

    def reaction_wrench(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        joint: str,
        wrenches: Mapping[str, npt.ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Wrench through a joint, of its parent link on its child link (Khalil 2010, eqs. (28) to (30)).

        Its part along the joint is the torque of the rigid bodies; friction and the rotor act within
        the joint. What the motion does not determine, as forces across the plane of a planar loop, goes
        through the branches of the tree, and not through the cut joint.

        Args:
            q: positions.
            qd: velocities.
            qdd: accelerations.
            joint: name of the joint; one that mimics another, too; or of a loop, for its cut joint.
            wrenches: what links exert on their environment, as for `Model.inverse_dynamics`.
            out: array for the result, [force (N); moment (N m)] in the frame of the child link and
                about its origin, of a loop in the child's cut frame: (6,) or (N, 6).
        """
        vectors = joint_vectors(self.robot.dof, q=q, qd=qd, qdd=qdd)
        samples = vectors[0].shape[:-1]
        out = checked_out(out, (*samples, 6))
        w = self._wrench_row(wrenches, samples)
        if w is None:
            w = np.zeros((*samples, 6 * len(self.robot.joints)))
        runnable = self._made(("reaction_wrench", joint), partial(self._reaction, joint))
        return runnable.run(self._prepared, *vectors, w, out=out)

    def compile_links(self, links: Sequence[str]) -> None:
        """Compile the placements, Jacobians and motions of links, on the axes of the root, in advance."""
        root = self.robot.link_names[0]
        keys = [(function, link, root) for link in links for function in OF_LINKS]
        wanted = [key for key in dict.fromkeys(keys) if key not in self._of_links]
        programs = [OF_LINKS[function](self.robot, link, axes) for function, link, axes in wanted]
        made = runnables(programs, self.backend)
        functions = made if self.detours else list(map(without_detours, made))
        self._of_links.update(zip(wanted, functions, strict=True))
        for function, link, _ in keys:
            self._call(function, link, None)

    @property
    def compiled_links(self) -> tuple[str, ...]:
        """Names of the links of which functions have been compiled."""
        return tuple(dict.fromkeys(key[1] for key in self._of_links if key[0] in OF_LINKS))

    @cached_property
    def _wrench_row(self) -> WrenchRow:
        return WrenchRow(self.robot)

    @property
    def _prepared(self) -> list[Array]:
        """One item: what was prepared from parameters that can be set; none where they are baked in."""
        return [] if self._tuning is None else self._tuning.prepared

    def _call(self, function: str, link: str, axes: str | None) -> Callable[..., Array]:
        """Answer what computes a function of a link with the axes of another, by default the root."""
        root = self.robot.link_names[0]
        key = (function, link, root if axes is None else axes)
        runnable = self._made(key, partial(OF_LINKS[function], self.robot, *key[1:]))
        call = runnable.function.bind(partial(self._checked, runnable, VECTORS[function]), [])
        self._calls[function, link, axes] = call
        return call

    def _checked(
        self, runnable: Runnable, names: Sequence[str], *vectors: npt.ArrayLike, out: Array | None = None
    ) -> Array:
        """Compute a function of a link from whatever users give."""
        arrays = joint_vectors(self.robot.dof, **dict(zip(names, vectors, strict=True)))
        out = checked_out(out, (*arrays[0].shape[:-1], *runnable.shape))
        return runnable.run((), *arrays, out=out)

    def _reaction(self, joint: str) -> Program:
        """Answer the wrench through a joint as a program, of symbols where parameters can be set."""
        is_cut = any(loop.name == joint for loop in self.robot.loops)
        made = cut_reaction if is_cut else reaction
        robot = with_terms(self.robot, self.friction, self.rotor_inertia)
        if self._tuning is None:
            return made(robot, joint, None)
        symbolic = symbolic_robot(robot)
        with_symbols = with_terms(symbolic.robot, self.friction, self.rotor_inertia)
        return replace(made(with_symbols, joint, symbolic.graph), prepared=symbolic.parameters)

    def _made(self, key: tuple[str, ...], program: Callable[[], Program]) -> Runnable:
        """Answer the program of that key, which is made where there is none."""
        if key not in self._of_links:
            (made,) = runnables([program()], self.backend)
            self._of_links[key] = made if self.detours else without_detours(made)
        return self._of_links[key]
