# SPDX-License-Identifier: Apache-2.0
"""A body that a link holds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dyn_core.core.errors import DynError
from dyn_core.linalg.transform import Transform, compose
from dyn_core.model.link_frame import LinkFrame
from dyn_core.model.possible_inertia import why_impossible
from dyn_core.robot.links import InertialParameters, in_frame
from dyn_core.symbolic import mat3


def payload_parameters(
    link: LinkFrame, mass: float, centre: Sequence[float], inertia: Sequence[float]
) -> InertialParameters:
    """Inertial parameters of a payload, in the frame of the body that carries the link.

    Args:
        link: the link that holds it.
        mass: its mass (kg).
        centre: its centre of mass in the frame of the link (m).
        inertia: XX XY XZ YY YZ ZZ about its centre of mass, on the axes of the link (kg m^2).
    """
    owner = f"the payload of link '{link.name}'"
    (m,) = _numbers(f"the mass of {owner}", (mass,), 1)
    x, y, z = _numbers(f"the centre of mass of {owner}", centre, 3)
    XX, XY, XZ, YY, YZ, ZZ = _numbers(f"the inertia of {owner}", inertia, 6)
    if m < 0.0:
        raise _fail(link, f"the mass of {owner} is {m:g} kg: it cannot be negative")
    reason = why_impossible(m, ((XX, XY, XZ), (XY, YY, YZ), (XZ, YZ, ZZ)))
    if reason:
        raise _fail(link, f"no body has the inertia of {owner}: {reason}")
    central = InertialParameters(XX, XY, XZ, YY, YZ, ZZ, M=m)
    return in_frame(compose(link.T_body_link, Transform(mat3.IDENTITY, (x, y, z))), central)


def _numbers(what: str, values: Sequence[float], count: int) -> list[float]:
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise DynError(f"{what} is {values!r}: give {count} finite number{'s' if count > 1 else ''}")
    return numbers


def _fail(link: LinkFrame, sentence: str) -> DynError:
    return DynError(sentence, element=f"link '{link.name}'")
