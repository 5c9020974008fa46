# SPDX-License-Identifier: Apache-2.0
"""What users give to the functions of a robot with a moving base, checked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import DynError
from dyn_core.dynamics.wrench import Wrench, wrench_on_antecedent
from dyn_core.facade.external import external_wrenches
from dyn_core.linalg.transform import inverse
from dyn_core.model.moving_base.dynamics_programs import UNIT
from dyn_core.model.moving_base.moving_base import MovingBase


def base_arguments(base: MovingBase, sizes: Mapping[str, int], **vectors: npt.ArrayLike) -> list[Array]:
    """Answer vectors as arrays, all of one sample or all of one batch.

    Args:
        base: the robot and its base.
        sizes: length of each vector, by name.
        vectors: the vectors.

    Raises:
        ValueError: a shape is wrong, or a quaternion is not of length 1.
    """
    arrays = {name: as_floats(name, value) for name, value in vectors.items()}
    first = next(iter(arrays))
    samples = arrays[first].shape[:-1]
    for name, array in arrays.items():
        if array.ndim not in (1, 2) or array.shape[-1] != sizes[name]:
            size = sizes[name]
            raise ValueError(f"{name}: expected the shape ({size},) or (N, {size}), but it has {array.shape}")
        if array.shape[:-1] != samples:
            expected = (*samples, sizes[name])
            raise ValueError(
                f"{name}: expected the shape {expected} beside {first}, but it has {array.shape}"
            )
    if base.kind != "planar" and "pose" in arrays:
        refuse_lengths(arrays["pose"])
    return list(arrays.values())


def refuse_lengths(pose: Array) -> None:
    """Raise ValueError where a quaternion is not of length 1; NaN passes."""
    lengths = np.linalg.norm(pose[..., 3:], axis=-1)
    if np.any(np.abs(lengths * lengths - 1.0) > 2.0 * UNIT):
        samples = np.atleast_1d(lengths)
        k = int(np.nanargmax(np.abs(samples - 1.0)))
        where = "" if pose.ndim == 1 else f" of sample {k}"
        raise ValueError(
            f"pose: the quaternion (x, y, z, w){where} has the length {samples[k]:g}: give one of length 1"
        )


def refuse_given(base: MovingBase, function: str) -> None:
    """Raise DynError where a function is one of a free base, and the motion of this one is given."""
    if base.kind == "given" and function in ("inverse_dynamics", "forward_dynamics"):
        raise DynError(
            f"the motion of the base '{base.link.name}' of '{base.robot.name}' is given: "
            f"use {function}_given_base, or compile the model with base='free' or 'planar'"
        )


def packed_on_bodies(
    base: MovingBase, wrenches: Mapping[str, npt.ArrayLike], samples: tuple[int, ...]
) -> Array:
    """Answer wrenches that links exert as a row for all bodies, (6 (n + 1),) or (N, 6 (n + 1)).

    Of each body it holds ``[force; moment]`` in the frame of its first link, and about its origin.
    """
    robot = base.robot
    exerted: dict[int, Wrench] = external_wrenches(robot, wrenches, samples)
    array = np.zeros((*samples, len(robot.bodies), 6))
    for link in (base.link, *robot.child_links):
        if link.body in exerted:
            on_link = wrench_on_antecedent(inverse(link.T_body_link), exerted[link.body])
            for k, component in enumerate(on_link.values):
                array[..., link.body, k] = component
    return array.reshape((*samples, -1))
