# SPDX-License-Identifier: Apache-2.0
"""Check the arguments of moving-base functions, and find motions that no inertia resists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyn_core.algorithms.dynamics.direct_dynamics import unresisted
from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.model.external_wrenches import external_wrenches, packed_on_links
from dyn_core.model.moving_base.dynamics_programs import UNIT
from dyn_core.robot.moving_base import MovingBase


def base_arguments(base: MovingBase, sizes: Mapping[str, int], **vectors: ArrayLike) -> list[Array]:
    """Return vectors of the lengths `sizes` as arrays, all of one sample or all of one batch.

    Raises:
        ValueError: a shape is wrong, or a quaternion is not of length 1.
    """
    arrays = {name: as_floats(name, value) for name, value in vectors.items()}
    first = next(iter(arrays))
    samples = arrays[first].shape[:-1]
    for name, array in arrays.items():
        if array.ndim not in (1, 2) or array.shape[-1] != sizes[name]:
            size = sizes[name]
            raise ArgumentError(
                "argument-shape", argument=name, expected=f"({size},) or (N, {size})", given=array.shape
            )
        if array.shape[:-1] != samples:
            expected = (*samples, sizes[name])
            raise ArgumentError(
                "argument-samples-differ",
                argument=name,
                expected=expected,
                reference=first,
                given=array.shape,
            )
    if base.kind != "planar" and "pose" in arrays:
        refuse_lengths(arrays["pose"])
    return list(arrays.values())


def refuse_lengths(pose: Array) -> None:
    """Raise ValueError where a quaternion is not of length 1; one that is not finite is accepted."""
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(pose[..., 3:], axis=-1)
        off = np.abs(lengths * lengths - 1.0)
    if np.any(np.isfinite(pose[..., 3:]).all(axis=-1) & (off > 2.0 * UNIT)):
        samples = np.atleast_1d(np.where(np.isfinite(pose[..., 3:]).all(axis=-1), lengths, np.nan))
        k = int(np.nanargmax(np.abs(samples - 1.0)))
        if pose.ndim == 1:
            raise ArgumentError("pose-quaternion-not-unit", length=samples[k])
        raise ArgumentError("pose-sample-quaternion-not-unit", sample=k, length=samples[k])


def refuse_given(base: MovingBase, function: str) -> None:
    """Raise DynError for a function of a free base if the motion of this base is given."""
    if base.kind == "given" and function in ("inverse_dynamics", "forward_dynamics"):
        raise DynError("base-motion-given", base=base.link.name, robot=base.robot.name, function=function)


def packed_on_bodies(base: MovingBase, wrenches: Mapping[str, ArrayLike], samples: tuple[int, ...]) -> Array:
    """Return wrenches that links exert as a row for all bodies, (6 (n + 1),) or (N, 6 (n + 1)).

    For each body it holds ``[force; moment]`` in the frame of its first link, and about its origin.
    """
    exerted = external_wrenches(base.robot, wrenches, samples)
    return packed_on_links((base.link, *base.robot.child_links), exerted, samples)


# Bases and joints that no inertia resists

NEEDED = ("inverse_dynamics", "forward_dynamics", "forward_dynamics_given_base")
"""The functions that divide by an inertia: of the base, of base and joints, and of the joints."""

_GOLDEN = 0.6180339887498949  # its multiples are spread evenly, and in no simple relation to pi


CENTRE = "centre_of_mass"
"""The function that divides by the mass of the robot."""


def unresisted_on_base(
    base: MovingBase, inertia: Callable[[list[float]], Sequence[Sequence[float]]]
) -> dict[str, tuple[str, ...]]:
    """Return, by function, what it accelerates without resistance: names of joints, "" for the base.

    That a robot has no mass is in the way of `CENTRE` as a base without resistance.

    `inertia` returns the inertia matrix of base and joints for joint positions. Two configurations without
    symmetry are tested.
    """
    k, n = base.freedom, base.robot.dof
    names = ("",) * k + base.robot.coordinate_names
    parts = dict(zip(NEEDED, ((0, k), (0, k + n), (k, k + n)), strict=True))
    loose = dict.fromkeys(NEEDED, tuple(dict.fromkeys(names)))
    for least in (1.0, -2.0):
        A = inertia([least + (_GOLDEN * j) % 1.0 for j in range(1, n + 1)])
        for function, (first, last) in parts.items():
            part = [row[first:last] for row in A[first:last]]
            nonzero = [[i for i in range(r) if part[r][i] != 0.0] for r in range(last - first)]
            here = {names[first + i] for i in unresisted(part, nonzero)}
            loose[function] = tuple(name for name in loose[function] if name in here)
        loose[CENTRE] = () if A[0][0] else ("",)
    return loose


def refuse_unresisted(base: MovingBase, function: str, loose: Sequence[str]) -> None:
    """Raise DynError where a function accelerates a base or joint that no inertia resists."""
    for name in loose:
        about: dict[str, Any] = {"joint": name} if name else {"base": base.link.name}
        raise DynError(
            "base-joint-without-inertia" if name else "moving-base-without-inertia",
            robot=base.robot.name,
            function=function,
            element=f"joint '{name}'" if name else f"the base '{base.link.name}'",
            **about,
        )
