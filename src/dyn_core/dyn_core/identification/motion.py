# SPDX-License-Identifier: Apache-2.0
"""A measured motion: what estimators take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dyn_core.facade.arrays import Array, as_floats


@dataclass(frozen=True, eq=False)
class Motion:
    """Samples of a motion, in the order of the joints of a robot.

    Attributes:
        t: times (s), (N,), increasing.
        q: positions (rad or m), (N, n).
        qd: velocities (rad/s or m/s), (N, n).
        qdd: accelerations (rad/s^2 or m/s^2), (N, n).
        tau: torques of the actuators, as the joints feel them (N m or N), (N, n); NaN all over for a joint
            whose torque was not measured.
        segments: stretches of evenly spaced samples without gaps, as first sample and the one after the last.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    segments: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        """Answer the number of samples."""
        return len(self.t)

    @property
    def dof(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @property
    def period(self) -> float:
        """Time from sample to sample (s): the median."""
        return float(np.median(np.diff(self.t)))

    def part(self, first: int, last: int) -> Motion:
        """Answer the samples from `first` up to `last`, which is not one of them."""
        inside = ((max(a, first) - first, min(b, last) - first) for a, b in self.segments)
        segments = tuple((a, b) for a, b in inside if b > a)
        t, q, qd, qdd, tau = (array[first:last] for array in (self.t, self.q, self.qd, self.qdd, self.tau))
        return Motion(t, q, qd, qdd, tau, segments)

    @property
    def measured(self) -> tuple[bool, ...]:
        """Whether the torque of each joint was measured; it is NaN where it was not."""
        return tuple(bool(np.isfinite(torque).all()) for torque in self.tau.T)

    def split(self, fraction: float) -> tuple[Motion, Motion]:
        """Answer the first part and the rest: what is fitted, and what is held out.

        Args:
            fraction: length of the first part, of the whole.
        """
        if not 0.0 < fraction < 1.0:
            raise ValueError(
                f"the part that is fitted is {fraction!r} of the whole: give one between 0 and 1"
            )
        first = int(fraction * len(self))
        return self.part(0, first), self.part(first, len(self))


def motion(
    t: npt.ArrayLike,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike,
    segments: Sequence[tuple[int, int]] | None = None,
) -> Motion:
    """Answer a motion from arrays that are checked.

    Args:
        t: times (s), (N,).
        q: positions (rad or m), (N, n).
        qd: velocities (rad/s or m/s), (N, n).
        qdd: accelerations (rad/s^2 or m/s^2), (N, n).
        tau: torques (N m or N), (N, n).
        segments: stretches of evenly spaced samples without gaps, as first sample and the one after the last;
            by default all is one.

    Raises:
        ValueError: a shape does not fit, a number is not finite, there are fewer than two samples, or time
            does not increase.
    """
    times = as_floats("t", t)
    arrays = {name: as_floats(name, value) for name, value in zip(_NAMES, (q, qd, qdd, tau), strict=True)}
    if times.ndim != 1 or len(times) < 2:
        raise ValueError(f"t: expected the times of two samples or more, but it has the shape {times.shape}")
    for name, array in arrays.items():
        if array.ndim != 2 or array.shape != (len(times), arrays["q"].shape[-1]):
            raise ValueError(
                f"{name}: expected a row for each of the {len(times)} times and the columns of q, "
                f"but it has the shape {array.shape}"
            )
    missing = np.isnan(arrays["tau"]).all(axis=0)
    if missing.all():
        raise ValueError("tau: no torque was measured, of no joint")
    for name, array in {"t": times, **arrays, "tau": arrays["tau"][:, ~missing]}.items():
        if not np.isfinite(array).all():
            place = int(np.flatnonzero(~np.isfinite(array).reshape(len(times), -1).all(axis=1))[0])
            raise ValueError(f"{name}: sample {place} is not finite: repair or drop it first")
    late = np.flatnonzero(np.diff(times) <= 0.0)
    if late.size:
        raise ValueError(f"t: time does not increase after sample {int(late[0])}: order the samples first")
    stretches = ((0, len(times)),) if segments is None else tuple((int(a), int(b)) for a, b in segments)
    return Motion(times, **arrays, segments=stretches)


_NAMES = ("q", "qd", "qdd", "tau")
