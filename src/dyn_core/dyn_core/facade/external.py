# SPDX-License-Identifier: Apache-2.0
"""External wrenches, from links as users know them to bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dyn_core.dynamics.wrench import Wrench, wrench_on_antecedent
from dyn_core.facade.arrays import Array, as_floats, scalars
from dyn_core.linalg.scalar import Scalar
from dyn_core.model.robot import Robot


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
    total: dict[int, Wrench] = {}
    for name, value in (wrenches or {}).items():
        link = robot.link_frame(name)
        array = as_floats(f"wrenches['{name}']", value)
        if array.shape not in ((6,), (*samples, 6)):
            raise ValueError(
                f"wrenches['{name}']: expected the shape {(*samples, 6)}, but it has {array.shape}"
            )
        fx, fy, fz, mx, my, mz = scalars(array)
        on_body = wrench_on_antecedent(link.T_body_link, Wrench((fx, fy, fz), (mx, my, mz)))
        total[link.body] = total[link.body] + on_body if link.body in total else on_body
    return total


def exerted_by_bodies(w: Sequence[Scalar]) -> dict[int, Wrench]:
    """Answer by body the wrenches of the bodies 1 to n that `packed` put in a row."""
    rows = [w[k : k + 6] for k in range(0, len(w), 6)]
    return {
        body: Wrench((fx, fy, fz), (mx, my, mz))
        for body, (fx, fy, fz, mx, my, mz) in enumerate(rows, start=1)
    }


def packed(robot: Robot, exerted: Mapping[int, Wrench], samples: tuple[int, ...]) -> Array:
    """Answer the wrenches of the bodies 1 to n in a row, zeros where there is none, (6 n,) or (N, 6 n)."""
    array = np.zeros((*samples, len(robot.joints) + 1, 6))
    for body, wrench in exerted.items():
        for k, component in enumerate((*wrench.force, *wrench.moment)):
            array[..., body, k] = component
    return array[..., 1:, :].reshape((*samples, -1))
