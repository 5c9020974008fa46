# SPDX-License-Identifier: Apache-2.0
"""Joint values from messages, matched by name and checked; ages and stamps of messages."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.clock import Clock, JumpThreshold, TimeJump
from rclpy.duration import Duration

from dyn_nodes.common.clocks import ClockWatch, NodeTime
from dyn_nodes.common.data_checks import Rejection, plausible, worst_index
from dyn_nodes.common.messages.joint_state_bytes import Stamp

Numbers = Sequence[float] | NDArray[np.float64]
"""Values of a message; NumPy arrays are used without a copy, and are not written to."""

_ANOTHER_CLOCK_S = 1e8
"""Stamps that differ by this much from the present, some years, come from another clock."""


class JointReader:
    """Finds the joints of a robot in messages of one kind.

    Publishers repeat their names: the indices of the joints are looked up once, and again when names change.
    """

    def __init__(
        self, joint_names: Sequence[str], what: str, *, others: bool, passive: Sequence[str] = ()
    ) -> None:
        """Read messages of the kind `what`, as errors name it.

        With `others`, they may contain other joints, which are ignored; `passive` returns the positions of
        the joints in `passive`.
        """
        self.joint_names = tuple(joint_names)
        self.what = what
        self._others = others
        self._set = frozenset(joint_names)
        self._passive = frozenset(passive)
        self._followers: list[tuple[str, int]] = []
        self._names: list[str] = []
        self._order: NDArray[np.intp] | None = None
        self._same_order = False

    def concerns(self, names: Sequence[str]) -> bool:
        """Return whether a message has any of the joints: grippers and carts may share a topic."""
        return (self._order is not None and names == self._names) or not self._set.isdisjoint(names)

    def positions(self, names: Sequence[str], numbers: Numbers) -> NDArray[np.float64]:
        """Look up the joints in the names of a message, and return their positions, shape (n,).

        Raises:
            Rejection: a joint is missing or repeated; a position is missing, not finite or implausibly large.
        """
        if len(numbers) < len(names):
            self._refuse_short(names, numbers, "position")
        if names != self._names or self._order is None:
            self._find(names)
        self._refuse_surplus(numbers, "position")
        values = self._taken(numbers)
        return values if plausible(values.tolist()) else self._refuse(values, "position")

    def _find(self, names: Sequence[str]) -> None:
        index = {name: i for i, name in enumerate(names)}
        if len(index) < len(names):
            repeated = next(name for name, count in Counter(names).items() if count > 1)
            raise Rejection("message-joint-repeated", message=self.what, joint=repeated)
        missing = [name for name in self.joint_names if name not in index]
        if missing:
            raise Rejection("message-joints-missing", message=self.what, missing=missing)
        if not self._others and not (self._set | self._passive).issuperset(index):
            unknown = next(name for name in names if name not in self._set and name not in self._passive)
            raise Rejection("message-joint-unknown", message=self.what, joint=unknown)
        self._names = list(names)
        self._order = np.array([index[name] for name in self.joint_names], dtype=np.intp)
        self._same_order = list(self._order) == list(range(len(names)))
        self._followers = [(name, index[name]) for name in names if name in self._passive]

    def passive(self, numbers: Numbers) -> dict[str, float]:
        """Return positions of passive joints by name, for the names of the last `positions`, without NaN.

        Raises:
            Rejection: one is infinite or implausibly large.
        """
        found = {name: float(numbers[k]) for name, k in self._followers if not math.isnan(numbers[k])}
        for name, value in found.items():
            if not plausible([value]):
                raise self._implausible(name, "position", value)
        return found

    def values(self, numbers: Numbers, quantity: str) -> NDArray[np.float64]:
        """Return the values of the joints, in their order, shape (n,), for the names of the last `positions`.

        Values of other joints are ignored.
        """
        if len(numbers) < len(self._names):
            self._refuse_short(self._names, numbers, quantity)
        self._refuse_surplus(numbers, quantity)
        values = self._taken(numbers)
        return values if plausible(values.tolist()) else self._refuse(values, quantity)

    def values_or_none(self, numbers: Numbers, quantity: str) -> NDArray[np.float64] | None:
        """Return the same as `values`, or None where the values of all joints are NaN."""
        if len(numbers) < len(self._names):
            self._refuse_short(self._names, numbers, quantity)
        values = self._taken(numbers)
        if plausible(values.tolist()):
            return values
        return None if np.isnan(values).all() else self._refuse(values, quantity)

    def _taken(self, numbers: Numbers) -> NDArray[np.float64]:
        values = numbers if isinstance(numbers, np.ndarray) else np.array(numbers, dtype=np.float64)
        if self._same_order and len(values) == len(self._names):
            return values
        taken: NDArray[np.float64] = values[self._order]
        return taken

    def _refuse(self, values: NDArray[np.float64], quantity: str) -> NoReturn:
        j = worst_index(values.tolist())
        raise self._implausible(self.joint_names[j], quantity, values[j])

    def _implausible(self, joint: str, quantity: str, given: float) -> Rejection:
        values = {"joint": joint, "quantity": quantity, "given": given}
        return Rejection("message-value-implausible", message=self.what, **values)

    def _refuse_surplus(self, numbers: Numbers, quantity: str) -> None:
        """Refuse values without a name, but in joint states, where drivers may have more of them."""
        if len(numbers) > len(self._names) and not self._others:
            values = {"names": len(self._names), "count": len(numbers), "quantity": quantity}
            raise Rejection("message-values-surplus", message=self.what, **values)

    def _refuse_short(self, names: Sequence[str], numbers: Numbers, quantity: str) -> NoReturn:
        plural = f"{quantity[:-1]}ies" if quantity.endswith("y") else f"{quantity}s"
        values = {"names": len(names), "count": len(numbers), "joint": names[len(numbers)]}
        raise Rejection("message-values-missing", message=self.what, quantities=plural, **values)


def check_age(what: str, stamp_ns: int, now_ns: int, max_age_s: float) -> None:
    """Refuse data whose stamp differs by more than `max_age_s` from the present (ns, on one clock)."""
    age_s = 1e-9 * (now_ns - stamp_ns)
    if not stamp_ns:
        raise Rejection("message-without-stamp", message=what)
    if abs(age_s) <= max_age_s:
        return
    if not now_ns:
        raise Rejection("clock-not-received", message=what)
    if abs(age_s) < _ANOTHER_CLOCK_S:
        code = "stamp-too-old" if age_s > 0 else "stamp-in-future"
    else:
        code = "stamp-years-old" if age_s > 0 else "stamp-years-ahead"
    raise Rejection(code, message=what, age=abs(age_s), limit=max_age_s)


CLOCK_SET = JumpThreshold(
    min_forward=Duration(seconds=1.0), min_backward=Duration(nanoseconds=-1), on_clock_change=True
)
"""Jumps that mean that a clock was set: simulated time may run faster than real time."""


def nanoseconds_of(stamp: Time | Stamp) -> int:
    """Return a stamp in ns."""
    return int(stamp.sec * 1_000_000_000 + stamp.nanosec)


def time_message(nanoseconds: int) -> Time:
    """Return a time in ns as a stamp."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


class Stamps:
    """Times in seconds relative to an epoch that keeps them exact as floats."""

    def __init__(
        self,
        clock: Clock,
        max_age: float,
        was_set: Callable[[float], None],
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin at the present, until `close`; stamps differ from the clock by at most `max_age` (s).

        `was_set` is called when the clock was set, with the time that it gained (s).
        """
        self._time = NodeTime(clock)
        self._epoch = self._time.nanoseconds()
        self._max_age = max_age
        self._was_set, self._steady = was_set, steady
        self._watch = ClockWatch(max_age)
        self._jumps = clock.create_jump_callback(CLOCK_SET, post_callback=self._on_jump)

    def close(self) -> None:
        """Stop following the clock."""
        self._jumps.unregister()
        self._time.close()

    @property
    def now(self) -> float:
        """The present (s)."""
        return 1e-9 * (self._time.nanoseconds() - self._epoch)

    def check_clock(self) -> None:
        """Detect that the system clock was set; ROS does not report this."""
        if not self._time.is_of_system:
            return
        begin = self._steady()
        t = self.now
        if self._watch.was_set(t, begin, self._steady()):
            self._was_set(self._watch.gained)

    def time_of(self, what: str, stamp: Time | Stamp) -> float:
        """Return the time of a stamp (s); Rejection where it is too far from the present."""
        self.check_clock()
        stamp_ns = nanoseconds_of(stamp)
        check_age(what, stamp_ns, self._time.nanoseconds(), self._max_age)
        return 1e-9 * (stamp_ns - self._epoch)

    def past(self, stamp: Time | Stamp) -> float:
        """Return the time of a stamp of any age (s)."""
        return 1e-9 * (nanoseconds_of(stamp) - self._epoch)

    def stamp_at(self, t: float) -> Time:
        """Return the stamp of a time (s)."""
        return time_message(round(1e9 * t) + self._epoch)

    def _on_jump(self, jump: TimeJump) -> None:
        self._watch.restart()
        self._was_set(1e-9 * jump.delta.nanoseconds)
