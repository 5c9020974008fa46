# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters from URDF's <inertial>."""

from __future__ import annotations

from dyn_core.linalg.transform import Transform, compose
from dyn_core.robot.description import UrdfInertial, UrdfLink
from dyn_core.robot.links import InertialParameters, in_frame
from dyn_core.symbolic.mat3 import Mat3
from dyn_core.symbolic.transform import placement


def inertia_matrix(inertial: UrdfInertial) -> Mat3:
    """Inertia about the centre of mass, in the axes of the <inertial> origin (kg m^2)."""
    return (
        (inertial.ixx, inertial.ixy, inertial.ixz),
        (inertial.ixy, inertial.iyy, inertial.iyz),
        (inertial.ixz, inertial.iyz, inertial.izz),
    )


def link_inertia(link: UrdfLink, T_body_link: Transform) -> InertialParameters:
    """Inertial parameters of a link in the frame of its body; zero where the URDF gives none."""
    if link.inertial is None:
        return InertialParameters()
    m = link.inertial
    central = InertialParameters(m.ixx, m.ixy, m.ixz, m.iyy, m.iyz, m.izz, M=m.mass)
    return in_frame(compose(T_body_link, placement(m.origin)), central)
