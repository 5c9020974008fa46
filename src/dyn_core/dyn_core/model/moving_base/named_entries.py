# SPDX-License-Identifier: Apache-2.0
"""What the numbers are that functions of a robot on a moving base take and answer, with their units."""

from __future__ import annotations

from typing import NamedTuple

from dyn_core.model.moving_base.moving_base import MovingBase


class Entry(NamedTuple):
    """A number: what it is, and its unit."""

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
"""Of the functions that answer one row what of the base it begins with, and what of the joints follows."""

_MOTION = {"V": ("m/s", "rad/s"), "Vd": ("m/s^2", "rad/s^2")}


def input_entries(base: MovingBase, name: str) -> tuple[Entry, ...]:
    """Answer what the numbers of an input are: ``pose``, ``V``, ``Vd``, ``F``, or a joint vector."""
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
        Entry(joint.name, _joint_unit(name, joint.position_unit, joint.effort_unit))
        for joint in base.robot.independent_joints
    )


def result_entries(base: MovingBase, function: str) -> tuple[Entry, ...]:
    """Answer what the entries of a result are, or, of the inertia matrix, its rows, which have no unit."""
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
    """Answer what the entries of a result, or the columns of a matrix, are, each in one word."""
    return tuple(name.replace(" ", ":") for name, _ in result_entries(base, function))


def _of_base(base: MovingBase, name: str) -> tuple[Entry, ...]:
    return tuple(Entry(f"base {entry.name}", entry.unit) for entry in input_entries(base, name))


def _pairs(planar: bool, first: tuple[str, str], second: tuple[str, str]) -> tuple[Entry, ...]:
    """The components of a screw, or those of it that a plane has."""
    if planar:
        return *(Entry(f"{first[0]} {axis}", first[1]) for axis in "xy"), Entry(*second)
    return tuple(Entry(f"{word} {axis}", unit) for word, unit in (first, second) for axis in _XYZ)


def _joint_unit(name: str, position: str, effort: str) -> str:
    return {"q": position, "qd": f"{position}/s", "qdd": f"{position}/s^2", "tau": effort}[name]
