# SPDX-License-Identifier: Apache-2.0
"""Signals from arrays that somebody else has filtered and differentiated."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import as_floats
from dyn_core.logs.conditioning.signals import Signals
from dyn_core.signals.protocol import Protocol

_NAMES = ("q", "qd", "qdd", "tau")


def signals_of_arrays(
    joint_names: Sequence[str],
    time: npt.ArrayLike,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike,
    segments: Sequence[tuple[int, int]] | None = None,
    *,
    decimate: int = 1,
    train: float = Protocol.train,
) -> Signals:
    """Answer signals from arrays, which are checked.

    Args:
        joint_names: the order of every column.
        time: (s), (N,), evenly spaced within each segment.
        q: positions (rad or m), (N, n).
        qd: velocities (rad/s or m/s), (N, n).
        qdd: accelerations (rad/s^2 or m/s^2), (N, n).
        tau: efforts (N m or N), (N, n); NaN all over for a joint whose effort was not measured.
        segments: stretches without gaps, as first sample and the one after the last; by default all is one.
        decimate: how many samples parallel filtering makes one of.
        train: part of the time, from the start, that fits.

    Raises:
        ValueError: a shape does not fit, a number is not finite, there are fewer than two samples, or time
            does not increase.
    """
    times = as_floats("time", time)
    arrays = {name: as_floats(name, value) for name, value in zip(_NAMES, (q, qd, qdd, tau), strict=True)}
    if times.ndim != 1 or len(times) < 2:
        raise ValueError(
            f"time: expected the times of two samples or more, but it has the shape {times.shape}"
        )
    for name, array in arrays.items():
        if array.shape != (len(times), len(joint_names)):
            raise ValueError(
                f"{name}: expected a row for each of the {len(times)} times and a column for each of the "
                f"{len(joint_names)} joints, but it has the shape {array.shape}"
            )
    missing = np.isnan(arrays["tau"]).all(axis=0)
    if missing.all():
        raise ValueError("tau: no effort was measured, of no joint")
    for name, array in {"time": times, **arrays, "tau": arrays["tau"][:, ~missing]}.items():
        if not np.isfinite(array).all():
            place = int(np.flatnonzero(~np.isfinite(array).reshape(len(times), -1).all(axis=1))[0])
            raise ValueError(f"{name}: sample {place} is not finite: repair or drop it first")
    late = np.flatnonzero(np.diff(times) <= 0.0)
    if late.size:
        raise ValueError(f"time: it does not increase after sample {int(late[0])}: order the samples first")
    stretches = ((0, len(times)),) if segments is None else tuple((int(a), int(b)) for a, b in segments)
    return Signals(
        tuple(joint_names),
        times,
        arrays["q"],
        arrays["qd"],
        arrays["qdd"],
        arrays["tau"],
        segments=stretches,
        period=float(np.median(np.diff(times))),
        cutoff=math.inf,
        decimate=decimate,
        train=train,
    )
