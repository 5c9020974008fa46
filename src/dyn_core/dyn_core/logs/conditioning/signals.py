# SPDX-License-Identifier: Apache-2.0
"""Signals that are ready for identification: a measured motion, as estimators take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, listed
from dyn_core.logs.control import Control
from dyn_core.signals.decimation import Decimation
from dyn_core.signals.position_noise import PositionNoise


@dataclass(frozen=True, eq=False)
class Signals:
    """Evenly sampled, filtered motion and efforts of n joints.

    Attributes:
        joint_names: the order of every column.
        time: (s), (N,), `period` apart within each segment.
        q: positions (rad or m), (N, n).
        qd: velocities (rad/s or m/s), (N, n).
        qdd: accelerations (rad/s^2 or m/s^2), (N, n).
        tau: efforts of the actuators, as the joints feel them (N m or N), (N, n); NaN all over for a joint
            whose effort was not measured.
        segments: stretches without gaps, as first sample and the one after the last.
        period: time between two samples (s).
        cutoff: of the filter of positions (Hz); inf where there was none.
        decimate: how many samples parallel filtering makes one of.
        train: part of the time, from the start, that fits; the rest is held out.
        done: what was done, one sentence a step.
        noise: of the positions, as far as it is known.
        control: what moved the robot, at these times; None where nobody says.
        drives: drives that move several joints, as `Log.drives` has them.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    segments: tuple[tuple[int, int], ...]
    period: float
    cutoff: float
    decimate: int
    train: float
    done: tuple[str, ...] = ()
    noise: PositionNoise | None = None
    control: Control | None = None
    drives: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Answer the number of samples."""
        return len(self.time)

    def __repr__(self) -> str:
        """Answer its size."""
        size = f"{self.dof} joints, {len(self)} samples"
        return f"<Signals of {size} at {1.0 / self.period:.4g} Hz>"

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @cached_property
    def has_effort(self) -> tuple[bool, ...]:
        """Whether the effort of each joint was measured."""
        return tuple(bool(np.isfinite(effort).all()) for effort in self.tau.T)

    @cached_property
    def decimation(self) -> Decimation:
        """The filter of both sides of the equations."""
        return Decimation(self.decimate)

    def parallel(self, *arrays: Array) -> tuple[Array, ...]:
        """Answer arrays of this length, such as regressor and efforts, filtered alike and decimated.

        Raises:
            ValueError: an array has another length.
        """
        for array in arrays:
            if len(array) != len(self):
                raise ValueError(f"arrays: expected {len(self)} samples, but one has {len(array)}")
        parts = ([array[:0], *(self.decimation.of(array[a:b]) for a, b in self.segments)] for array in arrays)
        return tuple(np.concatenate(of_array) for of_array in parts)

    @property
    def decimated_segments(self) -> tuple[tuple[int, int], ...]:
        """Segments of what `parallel` answers."""
        return self.decimation.segments(self.segments)

    def split(self) -> tuple[Signals, Signals]:
        """Answer the part that fits, and the part that is held out, which begins where the other ends."""
        count = round(self.train * len(self))
        return self.part(0, count), self.part(count, len(self))

    def part(self, first: int, last: int) -> Signals:
        """Answer the samples from `first` up to, and without, `last`."""
        kept = ((max(a, first) - first, min(b, last) - first) for a, b in self.segments)
        inside = slice(first, last)
        return replace(
            self,
            time=self.time[inside],
            q=self.q[inside],
            qd=self.qd[inside],
            qdd=self.qdd[inside],
            tau=self.tau[inside],
            segments=tuple((a, b) for a, b in kept if b > a),
            control=None if self.control is None else self.control.part(first, last),
        )

    def of_joints(self, names: Sequence[str]) -> Signals:
        """Answer the signals of some joints, in this order.

        Raises:
            DynError: there is no such joint.
        """
        if tuple(names) == self.joint_names:
            return self
        missing = [name for name in names if name not in self.joint_names]
        if missing:
            raise DynError(
                f"there are no signals of {listed(missing)}, only of {listed(self.joint_names, 14)}: name "
                "the joints of the log as those of the robot, in its mapping"
            )
        order = [self.joint_names.index(name) for name in names]
        q, qd, qdd, tau = (array[:, order] for array in (self.q, self.qd, self.qdd, self.tau))
        noise = self.noise
        if noise is not None:
            noise = replace(noise, deviations=tuple(noise.deviations[k] for k in order))
        control = None if self.control is None else self.control.of_joints(order)
        return replace(
            self, joint_names=tuple(names), q=q, qd=qd, qdd=qdd, tau=tau, noise=noise, control=control
        )
