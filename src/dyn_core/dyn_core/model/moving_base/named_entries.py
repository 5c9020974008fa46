# SPDX-License-Identifier: Apache-2.0
"""Names and units of the inputs and results of moving-base functions, for emitted source code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from dyn_core.codegen.languages.file_header import identifier
from dyn_core.codegen.traced_program import Program
from dyn_core.model.builder import Vector
from dyn_core.model.moving_base.dynamics_programs import UNIT, base_program, off_unit
from dyn_core.model.moving_base.link_kinematics import base_link_program
from dyn_core.robot.moving_base import MovingBase
from dyn_core.symbolic.scalar import larger


class Entry(NamedTuple):
    """Name and unit of a number."""

    name: str
    unit: str


_XYZ = ("x", "y", "z")
_ROWS: dict[str, tuple[str, str]] = {
    "inverse_dynamics": ("Vd", "tau"),
    "forward_dynamics": ("Vd", "qdd"),
    "pushed_inverse_dynamics": ("Vd", "tau"),
    "pushed_forward_dynamics": ("Vd", "qdd"),
    "inverse_dynamics_given_base": ("F", "tau"),
    "forward_dynamics_given_base": ("F", "qdd"),
    "bias_forces": ("F", "tau"),
    "external_forces": ("F", "tau"),
}
"""Functions whose result is one row: the vector of the base, and that of the joints."""

_PER_TIME = {"q": "", "qd": "/s", "qdd": "/s^2"}
_MOTION = {"V": ("m/s", "rad/s"), "Vd": ("m/s^2", "rad/s^2")}


def input_entries(base: MovingBase, name: str) -> tuple[Entry, ...]:
    """Return names and units of the input ``pose``, ``V``, ``Vd`` or ``F``, or of a joint vector."""
    planar = base.kind == "planar"
    if name == "pose":
        if planar:
            return Entry("x", "m"), Entry("y", "m"), Entry("angle", "rad")
        return (*(Entry(axis, "m") for axis in _XYZ), *(Entry(f"q{axis}", "") for axis in (*_XYZ, "w")))
    if name == "F":
        return _pairs(planar, ("force", "N"), ("moment", "N m"))
    if name in _MOTION:
        linear, angular = _MOTION[name]
        return _pairs(planar, ("linear", linear), ("angular", angular))
    return tuple(
        Entry(joint.name, joint.effort_unit if name == "tau" else joint.position_unit + _PER_TIME[name])
        for joint in base.robot.independent_joints
    )


def result_entries(base: MovingBase, function: str) -> tuple[Entry, ...]:
    """Return names and units of a result, or the rows of the inertia matrix, without units."""
    if function in _ROWS:
        of_base, of_joints = _ROWS[function]
        return (*_of_base(base, of_base), *input_entries(base, of_joints))
    if function == "inertia_matrix":
        rows = (*_of_base(base, "V"), *input_entries(base, "q"))
        return tuple(Entry(name, "") for name, _ in rows)
    if function == "momentum":
        return _pairs(False, ("linear", "kg m/s"), ("angular", "kg m^2/s"))
    if function == "centre_of_mass":
        return tuple(Entry(axis, "m") for axis in _XYZ)
    return Entry("kinetic", "J"), Entry("potential", "J")


def column_names(base: MovingBase, function: str) -> tuple[str, ...]:
    """Return one-word names of the entries of a result, or of the columns of a matrix."""
    return tuple(name.replace(" ", ":") for name, _ in result_entries(base, function))


def _of_base(base: MovingBase, name: str) -> tuple[Entry, ...]:
    return tuple(Entry(f"base {entry.name}", entry.unit) for entry in input_entries(base, name))


def _pairs(planar: bool, first: tuple[str, str], second: tuple[str, str]) -> tuple[Entry, ...]:
    """Return the components of a screw, or those of a motion in a plane."""
    if planar:
        return *(Entry(f"{first[0]} {axis}", first[1]) for axis in "xy"), Entry(*second)
    return tuple(Entry(f"{word} {axis}", unit) for word, unit in (first, second) for axis in _XYZ)


# Programs to be emitted

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
    """Return a function as a program that is named after the kind of the base, with its documentation."""
    program = base_program(base, function, guard=_infinite)
    of_check = _added(program, base_program(base, function))
    return replace(
        program,
        name=_name(base, function),
        documentation=_documentation(base, of_check, _MEANING[function]),
        columns=column_names(base, function),
    )


def base_link_source(base: MovingBase, function: str, link: str) -> Program:
    """Return a function of a link as a program that is named after base and link, with its documentation."""
    program = base_link_program(base, function, link, _infinite)
    of_check = _added(program, base_link_program(base, function, link))
    return replace(
        program,
        name="_".join(filter(None, (_name(base, function), identifier(link)))),
        documentation=_documentation(base, of_check, f"{_MEANING[function]} '{link}'"),
        columns=column_names(base, "inertia_matrix") if function == "jacobian" else (),
    )


def _infinite(algorithm: Callable[..., Vector], base: MovingBase, pose: Vector, *others: Vector) -> Vector:
    """Return results; the first is NaN where the quaternion of the pose does not have length 1.

    Not every language can write NaN; all can divide by 0.
    """
    first, *results = algorithm(base, pose, *others)
    unit = larger(off_unit(pose), 2.0 * UNIT, 0.0, 1.0)
    return [first + (1.0 / unit - 1.0), *results]


def _name(base: MovingBase, function: str) -> str:
    """Return a name that differs from those of the same robot on a fixed base."""
    return f"{base.kind}_base_{function}"


def _added(program: Program, plain: Program) -> str:
    """Return the operations that the check of the quaternion adds to a program; empty for none."""
    without = plain.operation_counts
    more = {name: count - without[name] for name, count in program.operation_counts.items()}
    return " and ".join(f"{count} {name}" for name, count in more.items() if count)


def _documentation(base: MovingBase, of_check: str, meaning: str) -> str:
    unit = (
        f"; the first result is not finite where the quaternion is not of length 1 within {UNIT:g}, which "
        f"takes {of_check} of the operations"
    )
    return f"{base.kind} base '{base.link.name}': {meaning}{unit if of_check else ''}"
