# SPDX-License-Identifier: Apache-2.0
"""Payloads from messages."""

from __future__ import annotations

from typing import NamedTuple

from dyn_core import DynError
from dyn_msgs.msg import Payload
from dyn_nodes.common.data_checks import too_large


class PayloadValues(NamedTuple):
    """A body held by a link, as `Robot.with_payload` and `Simulator.set_payload` take it.

    Attributes:
        link: the link.
        mass: its mass (kg).
        centre: its centre of mass in the frame of the link (m).
        inertia: XX XY XZ YY YZ ZZ about its centre of mass, on the axes of the link (kg m^2).
    """

    link: str
    mass: float
    centre: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]


def payload_of(message: Payload) -> PayloadValues:
    """Answer what a message says; DynError where a number is larger than that of any body."""
    i = message.inertia
    centre = (i.com.x, i.com.y, i.com.z)
    inertia = (i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz)
    if too_large((i.m, *centre, *inertia)):
        raise DynError(
            f"the payload of link '{message.link_name}' has the mass {i.m}, the centre {centre} "
            f"and the inertia {inertia}: no body has"
        )
    return PayloadValues(message.link_name, i.m, centre, inertia)
