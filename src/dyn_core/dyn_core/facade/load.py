# SPDX-License-Identifier: Apache-2.0
"""Load a robot from a URDF."""

from __future__ import annotations

import hashlib
import math
import os
import warnings
from collections.abc import Sequence

from dyn_core.errors import DynError, ModelWarning
from dyn_core.geometry.build_robot import build_robot
from dyn_core.geometry.inertias import why_impossible
from dyn_core.io.source import is_xml_text, path_text, read_text
from dyn_core.io.urdf import parse_urdf
from dyn_core.linalg.vec3 import Vec3
from dyn_core.model.robot import Robot


def load_robot(source: str | os.PathLike[str], gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> Robot:
    """Answer the robot that a URDF describes.

    Args:
        source: path of a URDF file, or its XML text.
        gravity: acceleration of gravity in the frame of the root link (m/s^2).

    Raises:
        DynError: the URDF cannot be used; the message names file, line, element and remedy.

    Warns:
        ModelWarning: a link has an inertia that no body can have.
    """
    g = checked_gravity(gravity)
    if is_xml_text(source):
        return _robot(os.fspath(source), g, where="")
    text = read_text(source)
    path = path_text(source)
    try:
        return _robot(text, g, where=f"{path}: ")
    except DynError as error:
        raise error.in_file(path) from error


def _robot(text: str, gravity: Vec3, where: str) -> Robot:
    description = parse_urdf(text)
    robot = build_robot(description, gravity, hashlib.sha256(text.encode()).hexdigest())
    for link in description.links:
        reason = link.inertial and why_impossible(link.inertial)
        if reason:
            message = f"{where}link '{link.name}' (line {link.line}): no body has its inertia, {reason}"
            warnings.warn(message, ModelWarning, stacklevel=3)
    return robot


def checked_gravity(gravity: Sequence[float]) -> Vec3:
    """Answer an acceleration of gravity (m/s^2) as three finite numbers; DynError where it is none."""
    try:
        x, y, z = (float(component) for component in gravity)
    except (TypeError, ValueError):
        raise DynError(f"gravity is {gravity!r}: give three numbers in m/s^2") from None
    if not all(map(math.isfinite, (x, y, z))):
        raise DynError(f"gravity is {(x, y, z)}: give three finite numbers in m/s^2")
    return (x, y, z)
