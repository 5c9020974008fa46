# SPDX-License-Identifier: Apache-2.0
"""The placement of a link on its antecedent as a function of the joint position."""

from __future__ import annotations

from functools import reduce

from dyn_core.geometry.joint_placement import joint_placement
from dyn_core.linalg.transform import IDENTITY, Transform
from dyn_core.robot.joints import Joint
from dyn_core.symbolic import step
from dyn_core.symbolic.scalar import Scalar


def joint_transform(joint: Joint, q: Scalar) -> Transform:
    """Placement iTj of frame j in frame i = a(j) (Khalil 2010, eq. (1); SYMORO+ 2003, eq. (1.3)).

    Args:
        joint: joint j.
        q: its position, as URDF counts it (rad or m).
    """
    return reduce(step.compose, joint_placement(joint, q).steps, IDENTITY)
