# SPDX-License-Identifier: Apache-2.0
"""The base parameters of a parallel robot, as users ask for them."""

from __future__ import annotations

from dyn_core.algorithms.parallel import parallel_base_parameters as base_parameters
from dyn_core.algorithms.parallel.parallel_base_parameters import Method, ParallelBaseParameters
from dyn_core.algorithms.parallel.parallel_structure import parallel_robot
from dyn_core.grouping.effects import Mount
from dyn_core.robot.robot import Robot


def parallel_base_parameters(
    robot: Robot,
    platform: str,
    method: Method = "symbolic",
    mount: Mount = "fixed",
    rotor_inertia: bool = True,
) -> ParallelBaseParameters:
    """Answer independent combinations of inertial parameters that give all efforts of a parallel robot.

    Args:
        robot: the robot: passive joints place its platform, and loops connect legs to it.
        platform: name of the link that is the platform.
        method: ``"symbolic"``: by rules (Khalil-Guegan 2004, sec. VI); ``"numeric"``: by a QR decomposition
            of the regressor in random states.
        mount: ``"fixed"``: the base stands still; ``"tilted"``: gravity can have any direction.
        rotor_inertia: whether the inertias of rotors are among the standard parameters.

    Raises:
        DynError: the robot is no parallel robot with this platform.
    """
    structure = parallel_robot(robot, platform)
    return base_parameters.parallel_base_parameters(structure, method, mount, rotor_inertia)
