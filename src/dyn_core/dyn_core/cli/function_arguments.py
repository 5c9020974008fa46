# SPDX-License-Identifier: Apache-2.0
"""The functions that the commands know by name, and what each takes."""

from __future__ import annotations

from dyn_core.facade.lagrange_programs import OF_LAGRANGE

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
"""Functions of robots with motors behind springs, which take derivatives that nobody writes by hand."""

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
"""Those that only programs have names for: models take forces and wrenches beside the others."""

EMITTED = (
    *EVALUATED,
    *OF_ELASTIC,
    *OF_MOTORS,
    "external_torques",
    *OF_LINK,
    *OF_LAGRANGE,
    *OF_IDENTIFICATION,
    *OF_LOOPS,
)
"""Functions that are programs."""

VECTORS = {
    "--q": "positions",
    "--qd": "velocities",
    "--qdd": "accelerations",
    "--tau": "torques",
}
"""Options that take a joint vector."""
