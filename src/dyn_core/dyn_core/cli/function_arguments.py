# SPDX-License-Identifier: Apache-2.0
"""Functions that commands know by name, and their arguments: moving base, link and axes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from dataclasses import replace

from dyn_core.cli.options import Numbers, add_options, numbers
from dyn_core.codegen.languages.file_header import identifier
from dyn_core.codegen.traced_program import Program
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import ArgumentError, DynError, counted, listed
from dyn_core.model.fixed_base.lagrange_functions import OF_LAGRANGE
from dyn_core.model.fixed_base.link_functions import OF_LINKS
from dyn_core.model.moving_base.argument_checks import refuse_lengths
from dyn_core.model.moving_base.named_entries import input_entries
from dyn_core.robot.moving_base import MovingBase
from dyn_core.robot.robot import Robot, motor_of

EVALUATED: dict[str, tuple[str, ...]] = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "inertia_matrix": ("q",),
    "inertia_and_bias": ("q", "qd"),
    "regressor": ("q", "qd", "qdd"),
    "bias_torques": ("q", "qd"),
    "gravity_torques": ("q",),
    "coriolis_torques": ("q", "qd"),
    "inertial_torques": ("q", "qdd"),
    "friction_torques": ("qd",),
}
"""Functions of joint vectors."""

OF_ELASTIC: dict[str, tuple[str, ...]] = {
    "elastic_inverse_dynamics": ("q", "qd", "qdd"),
    "spring_torques": ("q", "qd"),
}
"""Functions of robots with elastic joints."""

OF_MOTORS: dict[str, tuple[str, ...]] = {"motor_motion": ("q", "qd", "qdd", "jerk", "snap")}
"""Functions of robots with motors behind springs; `dyn eval` has no options for jerk and snap."""

OF_LINK: dict[str, tuple[str, ...]] = {
    "forward_kinematics": ("q",),
    "jacobian": ("q",),
    "jacobian_dot_qd": ("q", "qd"),
    "link_velocity": ("q", "qd"),
    "link_acceleration": ("q", "qd", "qdd"),
}
"""Functions of a link and joint vectors."""

OF_IDENTIFICATION: dict[str, tuple[str, ...]] = {
    "base_regressor": ("q", "qd", "qdd"),
    "filtered_model": ("q", "qd"),
    "energy_model": ("q", "qd"),
}
"""Models that are linear in base parameters and friction."""

OF_LOOPS = ("newton_step",)
"""Functions of robots with loops."""

ON_BASE: dict[str, tuple[str, ...]] = {
    "inverse_dynamics": ("pose", "V", "q", "qd", "qdd"),
    "forward_dynamics": ("pose", "V", "q", "qd", "tau"),
    "inverse_dynamics_given_base": ("pose", "V", "Vd", "q", "qd", "qdd"),
    "forward_dynamics_given_base": ("pose", "V", "Vd", "q", "qd", "tau"),
    "inertia_matrix": ("q",),
    "bias_forces": ("pose", "V", "q", "qd"),
    "momentum": ("pose", "V", "q", "qd"),
    "centre_of_mass": ("pose", "q"),
    "energy": ("pose", "V", "q", "qd"),
}
"""Functions of robots on a moving base."""

EMITTED_ON_BASE = ("pushed_inverse_dynamics", "pushed_forward_dynamics", "external_forces")
"""Functions of programs only: models take the forces as further arguments."""

EMITTED = (
    *(*EVALUATED, *OF_ELASTIC, *OF_MOTORS, "external_torques", *OF_LINK),
    *(*OF_LAGRANGE, *OF_IDENTIFICATION, *OF_LOOPS),
)
"""Functions that are programs."""

VECTORS = {"--q": "positions", "--qd": "velocities", "--qdd": "accelerations", "--tau": "torques"}
"""Options that take a joint vector."""


def all_joints(robot: Robot) -> str:
    """Return the names of the joints for `joint_vector` where there are motors behind springs, else ""."""
    names = robot.coordinate_names
    return f"the robot has {counted(len(names), 'joint')}: {listed(names, 12)}" if motor_of(robot) else ""


# Pose, velocity, acceleration and forces of a moving base on the command line

_OF_BASE = {
    "pose": (
        "a pose",
        "pose: x y z (m) and quaternion x y z w, or x y (m) and angle (rad) in the plane (default: "
        "that of the world)",
    ),
    "V": (
        "a velocity",
        "velocity on its axes: linear (m/s), angular (rad/s); of a planar one along x, y, and about the "
        "normal (default: zeros)",
    ),
    "Vd": (
        "an acceleration",
        "acceleration on its axes, that of a point (m/s^2), and angular (rad/s^2) (default: zeros)",
    ),
    "F": ("a force", "forces on it, on its axes (N) and about its origin (N m) (default: none)"),
}
"""Options that take numbers of a moving base: one of them in words, and its help."""


def add_base_vectors(parser: ArgumentParser, names: Iterable[str]) -> None:
    """Add these options of a moving base."""
    options = ((f"--{name}", "X ...", f"of a moving base, {_OF_BASE[name][1]}") for name in names)
    add_options(parser, *options, action=Numbers)


def base_vector(base: MovingBase, name: str, arguments: Namespace) -> Array:
    """Return the numbers of an option, or their default; DynError where they cannot be used."""
    entries = input_entries(base, name)
    text = getattr(arguments, name)
    if text is None:
        return as_floats(name, [1.0 if entry.name == "qw" else 0.0 for entry in entries])
    names = " ".join(entry.name.replace(" ", "-") for entry in entries)
    expected = f"{_OF_BASE[name][0]} of a {base.kind} base has {len(entries)}: {names}"
    vector = as_floats(name, numbers(f"--{name}", text, len(entries), expected))
    if name == "pose" and base.kind != "planar":
        try:
            refuse_lengths(vector)
        except ArgumentError as error:
            raise DynError("option-unusable", cause=error) from error
    return vector


def refuse_base_vectors(
    arguments: Namespace, names: Iterable[str], kinds: str = "free, planar or given"
) -> None:
    """Raise DynError where options of a moving base are given for a fixed one; `kinds` of --base."""
    for name in names:
        if getattr(arguments, name) is not None:
            raise DynError("option-of-moving-base", option=name, known=kinds)


# The link on the command line, for functions of a link, and their programs

_AXES = "on the axes of link"
_MEANING = {
    "forward_kinematics": ("placement of link", "lengths in m, 4 x 4, in the frame of link"),
    "jacobian": ("Jacobian of the frame of link", f"[linear; angular] = J qd, {_AXES}"),
    "jacobian_dot_qd": (
        "rate of the Jacobian times qd of link",
        f"[linear (m/s^2); angular (rad/s^2)], {_AXES}",
    ),
    "link_velocity": ("velocity of link", f"[linear (m/s); angular (rad/s)], {_AXES}"),
    "link_acceleration": ("acceleration of link", f"[linear (m/s^2); angular (rad/s^2)], {_AXES}"),
}


def add_link(parser: ArgumentParser) -> None:
    """Add a link, and the link in whose frame, or on whose axes, the result is."""
    axes = "link on whose axes the result is; for forward_kinematics, in whose frame (default: the root)"
    add_options(
        parser,
        ("--link", "NAME", f"link of the URDF, for its functions: {', '.join(OF_LINK)}"),
        ("--expressed-in --reference", "NAME", axes),
    )


def link_and_axes(robot: Robot, arguments: Namespace, function: str) -> tuple[str, str]:
    """Return the names of the link and of the link whose axes count; DynError where they cannot be used."""
    link = _named_link(robot, arguments, function)
    axes = robot.link_names[0] if arguments.expressed_in is None else arguments.expressed_in
    return link, robot.link_frame(axes).name


def link_of(robot: Robot, arguments: Namespace, function: str) -> str:
    """Return the name of the link of a robot on a moving base, on the axes of the world."""
    if arguments.expressed_in is not None:
        raise DynError("axes-of-world", function=function)
    return _named_link(robot, arguments, function)


def _named_link(robot: Robot, arguments: Namespace, function: str) -> str:
    if arguments.link is None:
        raise DynError("option-link-missing", function=function, robot=robot.name, known=robot.link_names)
    return robot.link_frame(arguments.link).name


def refuse_link(arguments: Namespace, function: str) -> None:
    """Raise DynError where a link is given to a function that takes none."""
    for option, value in (("--link", arguments.link), ("--expressed-in", arguments.expressed_in)):
        if value is not None:
            known = ", ".join(OF_LINK)
            raise DynError(
                "function-without-link", function=function, option=option, given=value, known=known
            )


def link_program(robot: Robot, function: str, link: str, axes: str) -> Program:
    """Return a function of a link as a program that is named after the link, with its documentation."""
    meaning, unit = _MEANING[function]
    name = "_".join(filter(None, (function, identifier(link))))
    if axes != robot.link_names[0]:
        name = "_".join(filter(None, (name, "in", identifier(axes))))
    documentation = f"{meaning} '{link}', {unit} '{axes}'"
    return replace(OF_LINKS[function](robot, link, axes), name=name, documentation=documentation)
