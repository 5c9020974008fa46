# SPDX-License-Identifier: Apache-2.0
"""External wrenches, from links as users know them to bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array, as_floats, scalars
from dyn_core.dynamics.wrench import Wrench, wrench_on_antecedent
from dyn_core.linalg.transform import inverse
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar


def external_wrenches(
    robot: Robot, wrenches: Mapping[str, npt.ArrayLike] | None, samples: tuple[int, ...]
) -> dict[int, Wrench]:
    """Answer by body the wrench that it exerts on the environment, in the frame of the body.

    Args:
        robot: the robot.
        wrenches: by link, ``[force; moment]`` (N, N m) that the link exerts on the environment,
            in the frame of the link and about its origin; one for all samples, or one a sample.
        samples: ``()`` for one sample, ``(N,)`` for a batch.
    """
    if wrenches is None:
        return {}
    if not isinstance(wrenches, Mapping):
        raise ValueError(
            f"wrenches: expected six numbers by name of link, but it is {type(wrenches).__name__}"
        )
    total: dict[int, Wrench] = {}
    for name, value in wrenches.items():
        link = robot.link_frame(name)
        array = as_floats(f"wrenches['{name}']", value)
        if array.shape not in ((6,), (*samples, 6)):
            shapes = " or ".join(dict.fromkeys(str(shape) for shape in ((6,), (*samples, 6))))
            raise ValueError(f"wrenches['{name}']: expected the shape {shapes}, but it has {array.shape}")
        fx, fy, fz, mx, my, mz = scalars(array)
        on_body = wrench_on_antecedent(link.T_body_link, Wrench((fx, fy, fz), (mx, my, mz)))
        total[link.body] = total[link.body] + on_body if link.body in total else on_body
    return total


def exerted_by_bodies(robot: Robot, w: Sequence[Scalar]) -> dict[int, Wrench]:
    """Answer by body the wrenches that `packed` put in a row, in the frame of the body."""
    rows = (w[k : k + 6] for k in range(0, len(w), 6))
    return {
        link.body: wrench_on_antecedent(link.T_body_link, Wrench((fx, fy, fz), (mx, my, mz)))
        for link, (fx, fy, fz, mx, my, mz) in zip(robot.child_links, rows, strict=True)
    }


def packed(robot: Robot, exerted: Mapping[int, Wrench], samples: tuple[int, ...]) -> Array:
    """Answer the wrenches of the bodies 1 to n in a row, (6 n,) or (N, 6 n), zeros where there is none.

    Users know no frames of bodies, and programs that take the row are written for them: it holds
    ``[force; moment]`` of each child link, in the frame of that link and about its origin.
    """
    array = np.zeros((*samples, len(robot.joints), 6))
    for j, link in enumerate(robot.child_links):
        if link.body in exerted:
            on_link = wrench_on_antecedent(inverse(link.T_body_link), exerted[link.body])
            for k, component in enumerate(on_link.values):
                array[..., j, k] = component
    return array.reshape((*samples, -1))
