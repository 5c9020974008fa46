# SPDX-License-Identifier: Apache-2.0
"""How the base of one robot moves, from messages, and how long ago they said so.

Here is no node, no clock and no message. Times t are those of stamps, times `now` those of a steady clock
(both s).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dyn_core import DynError, Robot
from dyn_core.control.felt_motion import FeltMotion, mount
from dyn_core.core.arrays import Array
from dyn_core.linalg.transform import Transform
from dyn_nodes.base_message import ImuSample, OdometrySample
from dyn_nodes.base_settings import BaseSettings
from dyn_nodes.rejection import Rejection

TOPICS = {"imu": "~/base_imu", "odometry": "~/base_odometry"}
"""By source, where the motion of the base comes from."""


class BaseUnknown(Rejection):
    """It is not known how the base moves, so that nothing can be computed for good data of the joints."""


class BaseMotion:
    """What the base of a robot feels. It has a state: the last sample, and filters."""

    def __init__(self, robot: Robot, settings: BaseSettings, timeout: float) -> None:
        """Begin without samples; those older than `timeout` (s) are stale."""
        self._robot = robot
        self._timeout = timeout
        self._topic = TOPICS[settings.source]
        self._felt = FeltMotion(settings.derivative_cutoff, max_gap=timeout)
        self._mounts: dict[str, Transform] = {}
        self._motion: Array | None = None
        self._t = -math.inf
        self._at = -math.inf

    def restart(self) -> None:
        """Forget all samples."""
        self._felt.reset()
        self._motion, self._t, self._at = None, -math.inf, -math.inf

    def forget_time(self) -> None:
        """Go on after the clock of the stamps was set."""
        self._felt.reset()
        self._t = -math.inf

    def imu(self, sample: ImuSample, t: float, now: float) -> None:
        """Take what an inertial measurement unit shows; a Rejection where it cannot be used."""
        T = self._mount(sample.frame)
        self._take(lambda: self._felt.of_imu(T, t, sample.w, sample.force), t, now)

    def odometry(self, sample: OdometrySample, t: float, now: float) -> None:
        """Take what an odometry shows; a Rejection where it cannot be used."""
        T = self._mount(sample.frame)
        gravity = np.array(self._robot.gravity)
        self._take(
            lambda: self._felt.of_odometry(T, t, sample.R_world_frame, sample.v, sample.w, gravity), t, now
        )

    def present(self, now: float) -> Array:
        """Answer what the base feels, (9,); BaseUnknown where nothing good has said so lately."""
        if self._motion is None:
            raise BaseUnknown(f"nothing has come on {self._topic} that says how the base moves")
        age = now - self._at
        if age > self._timeout:
            raise BaseUnknown(
                f"no good data on {self._topic} for {age:.2f} s: it is not known how the base moves",
                "the motion of the base is stale",
            )
        return self._motion

    def last(self) -> Array | None:
        """Answer the specific force that the base felt last, as if it turned no more; None before any."""
        if self._motion is None:
            return None
        return np.concatenate((self._motion[:3], np.zeros(6)))

    def words(self, now: float) -> str:
        """Say how old it is, for /diagnostics."""
        if self._motion is None:
            return "nothing has come"
        state = "stale" if now - self._at > self._timeout else "good"
        return f"{state}, {max(now - self._at, 0.0):.2f} s old"

    def _take(self, felt: Callable[[], Array], t: float, now: float) -> None:
        if now - self._at > self._timeout:
            self.forget_time()
        if t <= self._t:
            raise Rejection(
                f"the motion of the base is stamped {self._t - t:.3f} s before the last one",
                "the motion of the base is not in order",
            )
        self._motion = felt()
        self._t, self._at = t, now

    def _mount(self, frame: str) -> Transform:
        """Answer where a frame is on the base."""
        if frame not in self._mounts:
            try:
                self._mounts[frame] = mount(self._robot, frame)
            except DynError as problem:
                raise Rejection(
                    f"the motion of the base is that of frame '{frame}', but {problem}",
                    f"the frame '{frame[:80]}' is not of the base",
                ) from problem
        return self._mounts[frame]
