# SPDX-License-Identifier: Apache-2.0
"""The inertias of the links about their centres of mass, from the URDF or from the robot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.check.extent import first_links
from dyn_core.check.subject import Subject
from dyn_core.core.arrays import Array
from dyn_core.geometry.inertias import inertia_matrix
from dyn_core.linalg.transform import Transform
from dyn_core.model.possible_inertia import why_impossible
from dyn_core.robot.description import UrdfInertial, UrdfOrigin
from dyn_core.robot.links import InertialParameters, in_frame
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3


class LinkInertia(NamedTuple):
    """The inertia of a link of body `body`."""

    name: str
    body: int
    inertial: UrdfInertial

    @property
    def mass(self) -> float:
        """Mass (kg)."""
        return self.inertial.mass

    @property
    def is_impossible(self) -> bool:
        """Whether no body can have it."""
        return why_impossible(self.mass, inertia_matrix(self.inertial)) is not None

    @property
    def moments(self) -> Array:
        """Principal moments about the centre of mass, from the least to the greatest (kg m^2)."""
        moments: Array = np.linalg.eigvalsh(np.array(inertia_matrix(self.inertial)))
        return moments


def link_inertias(subject: Subject) -> list[LinkInertia]:
    """Answer the inertias that the URDF gives, link by link; without a URDF those of the bodies.

    Of a robot with grouped parameters nothing can be said body by body.
    """
    robot = subject.robot
    if subject.description is None:
        return [
            LinkInertia(name, body, _central(robot.bodies[body]))
            for body, name in first_links(robot).items()
            if any(robot.bodies[body].values) and not grouped_bodies(robot)
        ]
    body_of = {frame.name: frame.body for frame in robot.link_frames}
    return [
        LinkInertia(link.name, body_of[link.name], link.inertial)
        for link in subject.description.links
        if link.inertial is not None
    ]


def grouped_bodies(robot: Robot) -> list[int]:
    """Answer the bodies whose parameters are sums and differences of those of several: no mass fits them."""
    return [
        index for index, body in enumerate(robot.bodies) if body.M < 0.0 or (body.M == 0.0 and any(body.MS))
    ]


def _central(body: InertialParameters) -> UrdfInertial:
    """Answer parameters about the origin of a frame as a URDF has them; as they are without a mass."""
    if body.M == 0.0:
        return UrdfInertial(UrdfOrigin(), 0.0, *body.values[:6])
    centre = vec3.scale(1.0 / body.M, body.MS)
    J = in_frame(Transform(mat3.IDENTITY, vec3.neg(centre)), body).values[:6]
    return UrdfInertial(UrdfOrigin(centre), body.M, *J)
