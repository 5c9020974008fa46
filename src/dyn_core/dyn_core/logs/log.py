# SPDX-License-Identifier: Apache-2.0
"""A log: what the joints did and what efforts they had, in SI units, on the joints' side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.findings import Finding
from dyn_core.logs.control import Control


@dataclass(frozen=True, eq=False)
class Log:
    """Samples of a robot's joints, finite and in order of time.

    Attributes:
        joint_names: names of the n joints, in the order of every column.
        time: time after the first sample (s), increasing, (N,).
        q: positions (rad or m), (N, n).
        tau: efforts (N m or N), (N, n); NaN all over for a joint whose effort was not measured.
        qd: measured velocities (rad/s or m/s), (N, n); None where they are not known for all joints.
        units: of each position, ``rad`` or ``m``.
        period: time between two samples (s), in spite of gaps.
        segments: stretches without gaps, as first sample and the one after the last.
        findings: what is suspicious, and what was repaired.
        done: how this came from the file, one sentence a step.
        source: what it comes from.
        start: the time of the first sample, on the clock of the recording (s).
        control: what moved the robot, at these times; None where nobody says.
        drives: by the joint that they are named for, drives that move several joints: their speed, after the
            ratio, where each joint alone has the speed 1.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    tau: Array
    qd: Array | None
    units: tuple[str, ...]
    period: float
    segments: tuple[tuple[int, int], ...]
    findings: tuple[Finding, ...] = ()
    done: tuple[str, ...] = ()
    source: str = ""
    start: float = 0.0
    control: Control | None = None
    drives: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Answer its size."""
        return f"<Log of {len(self.joint_names)} joints, {len(self.time)} samples, {self.duration:g} s>"

    def with_control(self, control: Control) -> Log:
        """Answer the log with what moved the robot."""
        return replace(self, control=control)

    @property
    def duration(self) -> float:
        """Time from the first to the last sample (s)."""
        return float(self.time[-1] - self.time[0])

    @property
    def rate(self) -> float:
        """Samples a second (Hz)."""
        return 1.0 / self.period

    @property
    def has_effort(self) -> tuple[bool, ...]:
        """Whether the effort of each joint was measured."""
        return tuple(np.isfinite(self.tau[0]).tolist())


@dataclass(frozen=True, eq=False)
class RawLog:
    """Arrays as they were measured, before anything is known of their quality.

    Attributes:
        joint_names: names of the n joints.
        time: time stamps (s), (N,).
        q: positions (rad or m), (N, n), NaN where there is none.
        tau: efforts (N m or N), (N, n), NaN where there is none.
        qd: velocities (rad/s or m/s), (N, n), NaN where there is none, or None.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    tau: Array
    qd: Array | None


def raw_log(
    joint_names: Sequence[str],
    time: npt.ArrayLike,
    q: npt.ArrayLike,
    tau: npt.ArrayLike,
    qd: npt.ArrayLike | None = None,
) -> RawLog:
    """Answer arrays of a running system as a raw log; ValueError, which names it, for a wrong shape."""
    names = tuple(joint_names)
    stamps = as_floats("time", time)
    if stamps.ndim != 1:
        raise ValueError(f"time: expected the shape (N,), but it has {stamps.shape}")
    if len(set(names)) != len(names):
        raise ValueError(f"joint_names: a name is there twice in {names}")
    shape = (len(stamps), len(names))
    arrays = {"q": as_floats("q", q), "tau": as_floats("tau", tau)}
    if qd is not None:
        arrays["qd"] = as_floats("qd", qd)
    for name, array in arrays.items():
        if array.shape != shape:
            raise ValueError(f"{name}: expected the shape {shape}, but it has {array.shape}")
    return RawLog(names, stamps, arrays["q"], arrays["tau"], arrays.get("qd"))
