# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot on a moving base as programs to be written as source code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dyn_core.codegen.identifier import identifier
from dyn_core.codegen.traced_program import Program
from dyn_core.model.moving_base.dynamics_programs import UNIT, Vector, base_program, off_unit
from dyn_core.model.moving_base.link_kinematics import base_link_program
from dyn_core.model.moving_base.moving_base import MovingBase
from dyn_core.model.moving_base.named_entries import column_names
from dyn_core.symbolic.scalar import larger

_MEANING = {
    "inverse_dynamics": "acceleration of the base and torques that give accelerations of the joints",
    "forward_dynamics": "accelerations of the base and of the joints that torques give",
    "pushed_inverse_dynamics": "the same as inverse_dynamics, with forces F on the base",
    "pushed_forward_dynamics": "the same as forward_dynamics, with forces F on the base",
    "inverse_dynamics_given_base": "forces on the base and torques that give accelerations",
    "forward_dynamics_given_base": "forces on a base that moves as given, and accelerations of the joints",
    "inertia_matrix": "inertia matrix A of base and joints",
    "bias_forces": "forces on the base and torques where nothing accelerates, H",
    "external_forces": "what wrenches that links exert add to forces on the base and torques",
    "momentum": "linear momentum, and angular momentum about the centre of mass, on the axes of the world",
    "centre_of_mass": "centre of mass in the world",
    "energy": "kinetic and potential energy",
    "forward_kinematics": "placement in the world, lengths in m, 4 x 4, of link",
    "jacobian": "[linear; angular] = J [V; qd], on the axes of the world, of link",
    "link_velocity": "[linear (m/s); angular (rad/s)] on the axes of the world, of link",
    "link_acceleration": "[linear (m/s^2); angular (rad/s^2)] on the axes of the world, of link",
}


def base_source(base: MovingBase, function: str) -> Program:
    """Answer a function as a program that is named after the kind of the base, and says what it computes."""
    program = base_program(base, function, guard=_infinite)
    of_look = _added(program, base_program(base, function))
    return replace(
        program,
        name=_name(base, function),
        documentation=_documentation(base, of_look, _MEANING[function]),
        columns=column_names(base, function),
    )


def base_link_source(base: MovingBase, function: str, link: str) -> Program:
    """Answer a function of a link as a program that is named after base and link, and says what it computes.

    Raises:
        DynError: there is no such link.
    """
    program = base_link_program(base, function, link, _infinite)
    of_look = _added(program, base_link_program(base, function, link))
    columns: tuple[str, ...] = ()
    if function == "jacobian":
        columns = column_names(base, "inertia_matrix")
    return replace(
        program,
        name="_".join(filter(None, (_name(base, function), identifier(link)))),
        documentation=_documentation(base, of_look, f"{_MEANING[function]} '{link}'"),
        columns=columns,
    )


def _infinite(algorithm: Callable[..., Vector], base: MovingBase, pose: Vector, *others: Vector) -> Vector:
    """Results, of which the first is not finite where the quaternion of the pose is not of length 1.

    Not every language can write down NaN; all can divide by 0.
    """
    first, *results = algorithm(base, pose, *others)
    unit = larger(off_unit(pose), 2.0 * UNIT, 0.0, 1.0)
    return [first + (1.0 / unit - 1.0), *results]


def _name(base: MovingBase, function: str) -> str:
    """A name that no function of the same robot on a base that stands has."""
    return f"{base.kind}_base_{function}"


def _added(program: Program, plain: Program) -> str:
    """Operations that a program has and the same without a look at the quaternion has not; empty for none."""
    without = plain.operation_counts
    more = {name: count - without[name] for name, count in program.operation_counts.items()}
    return " and ".join(f"{count} {name}" for name, count in more.items() if count)


def _documentation(base: MovingBase, of_look: str, meaning: str) -> str:
    unit = (
        f"; the first result is not finite where the quaternion is not of length 1 within {UNIT:g}, which "
        f"takes {of_look} of the operations"
    )
    return f"{base.kind} base '{base.link.name}': {meaning}{unit if of_look else ''}"
