# SPDX-License-Identifier: Apache-2.0
"""What a joint does to the ten inertial parameters of its body, as constant linear maps.

With the body in frame j given by K = (XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M), frame a(j) has ``L K(q)``,
where L is the matrix of table 3.1 of SYMORO+ 2003, with gamma and b, at the position 0 of the joint,
and K(q) the parameters after the motion of the joint along or about z_j. K(q) is a polynomial: in q
of a prismatic joint, in cos q, sin q, cos 2q, sin 2q of a revolute one. Here are its coefficients.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dyn_core.linalg.transform import Transform
from dyn_core.robot.joints import Sigma
from dyn_core.robot.links import InertialParameters, in_frame

Matrix: TypeAlias = npt.NDArray[np.float64]

XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M = range(10)
"""Places of the inertial parameters of a body."""


def moved_parameters(T_a_b: Transform) -> Matrix:
    """Matrix of table 3.1: parameters in frame a of a body that is given in frame b."""
    units = np.eye(10)
    columns = [in_frame(T_a_b, InertialParameters(*unit.tolist())).values for unit in units]
    moved: Matrix = np.array(columns).T
    return moved


def average(sigma: Sigma) -> Matrix:
    """What of K(q) does not vary: its mean over a turn, or its value at 0 (prismatic)."""
    if sigma is Sigma.PRISMATIC:
        return np.eye(10)
    mean = np.zeros((10, 10))
    mean[(XX, XX, YY, YY), (XX, YY, XX, YY)] = 0.5
    mean[(ZZ, MZ, M), (ZZ, MZ, M)] = 1.0
    return mean


def variations(sigma: Sigma) -> tuple[Matrix, ...]:
    """Coefficients of what of K(q) varies: cosine and sine of q and 2q, or q and its square."""
    if sigma is Sigma.PRISMATIC:
        first, second = np.zeros((10, 10)), np.zeros((10, 10))
        first[(XX, YY, XZ, YZ, MZ), (MZ, MZ, MX, MY, M)] = 2.0, 2.0, -1.0, -1.0, 1.0
        second[(XX, YY), (M, M)] = 1.0
        return first, second
    cos, sin, cos_twice, sin_twice = np.zeros((4, 10, 10))
    cos[(XZ, YZ, MX, MY), (XZ, YZ, MX, MY)] = 1.0
    sin[(XZ, YZ, MX, MY), (YZ, XZ, MY, MX)] = -1.0, 1.0, -1.0, 1.0
    cos_twice[(XX, XX, YY, YY, XY), (XX, YY, XX, YY, XY)] = 0.5, -0.5, -0.5, 0.5, 1.0
    sin_twice[(XX, YY, XY, XY), (XY, XY, XX, YY)] = -1.0, 1.0, 0.5, -0.5
    return cos, sin, cos_twice, sin_twice
