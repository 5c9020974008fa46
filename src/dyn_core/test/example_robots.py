# SPDX-License-Identifier: Apache-2.0
"""The URDF files of example-robot-data, where it is installed."""

from __future__ import annotations

import sys
from pathlib import Path

EMPTY = {"ur3.urdf"}
"""Its xacro output has no link."""

ILL_CONDITIONED = {"icub.urdf", "g1_29dof_with_hand_rev_1_0.urdf"}
"""iCub: with the roll joint of its neck free, almost no inertia resists the yaw, 1e-9 of 5e-4 kg m^2 about
that axis. This leaves some 7 of the 16 digits of the accelerations. Compared with a reference of 60 digits,
Pinocchio and dyn_core have errors of 1e-8 to 5e-8. Our algorithms in exact arithmetic have the same errors if
the parameters are rounded to floats.

G1 with hands: rounding the data alone may change accelerations by 4e-12; C and Python differ by 1.03e-12."""


def descriptions() -> list[Path]:
    """URDF files from a wheel or a ROS installation; none where there is neither."""
    places = ("cmeel.prefix", "../../..")  # in a directory of packages, or its parent
    prefixes = (Path(directory) / place for directory in sys.path for place in places)
    robots = (prefix / "share" / "example-robot-data" / "robots" for prefix in prefixes)
    found = next(filter(Path.is_dir, robots), None)
    return sorted(found.rglob("*.urdf")) if found else []
