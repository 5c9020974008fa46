# SPDX-License-Identifier: Apache-2.0
"""Wrenches that the platform of a parallel robot exerts, from links as users know them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import DynError, listed
from dyn_core.dynamics.wrench import Wrench, wrench_on_antecedent
from dyn_core.linalg.transform import compose, inverse


def platform_wrench(robot: ParallelRobot, T: Array, wrenches: Mapping[str, npt.ArrayLike]) -> Array:
    """Answer the whole wrench [force; moment] that the platform exerts on its environment.

    Args:
        robot: the robot.
        T: placement of the platform, (16,) or (N, 16).
        wrenches: by link of the platform, ``[force; moment]`` (N, N m) that the link exerts on the
            environment, in the frame of the link and about its origin; one for all samples, or one a sample.

    Returns:
        (6,) or (N, 6), about the origin of the platform's link and on the axes of the root.

    Raises:
        ValueError: what is given is not six numbers by name of link.
        DynError: a link is none of the platform.
    """
    if not isinstance(wrenches, Mapping):
        raise ValueError(
            f"wrenches: expected six numbers by name of link, but it is {type(wrenches).__name__}"
        )
    samples = T.shape[:-1]
    total = np.zeros((*samples, 6))
    platform = robot.robot.link_frame(robot.platform)
    for name, value in wrenches.items():
        link = robot.robot.link_frame(name)
        if link.body != robot.body:
            links = listed(frame.name for frame in robot.robot.link_frames if frame.body == robot.body)
            raise DynError(
                f"wrenches: link '{name}' is no part of the platform '{robot.platform}', whose links are "
                f"{links}: a wrench on a leg is for the model of all joints (compile_model)",
                element=f"link '{name}'",
            )
        array = as_floats(f"wrenches['{name}']", value)
        if array.shape not in ((6,), (*samples, 6)):
            shapes = " or ".join(dict.fromkeys(str(shape) for shape in ((6,), (*samples, 6))))
            raise ValueError(f"wrenches['{name}']: expected the shape {shapes}, but it has {array.shape}")
        fx, fy, fz, mx, my, mz = np.moveaxis(array, -1, 0)
        T_platform_link = compose(inverse(platform.T_body_link), link.T_body_link)
        on_platform = wrench_on_antecedent(T_platform_link, Wrench((fx, fy, fz), (mx, my, mz)))
        total = total + np.stack(np.broadcast_arrays(*on_platform.values), axis=-1)
    R = T.reshape(*samples, 4, 4)[..., :3, :3]
    turned = np.einsum("...ij,...kj->...ki", R, total.reshape(*samples, 2, 3))
    return np.asarray(turned.reshape(*samples, 6))
