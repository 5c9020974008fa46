# SPDX-License-Identifier: Apache-2.0
"""Joint values from messages, by name and checked: what passes here may be computed with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.data_checks import culprit, plausible
from dyn_nodes.rejection import Rejection

Numbers = Sequence[float] | NDArray[np.float64]
"""Of a message; arrays of NumPy are taken as they are, and nobody writes to them."""

_ANOTHER_CLOCK_S = 1e8
"""Stamps that differ so much from the present, some years, are of another clock."""


class JointReader:
    """Finds the joints of a robot in messages of one kind.

    Publishers repeat their names: where the joints are is looked up once, and again when the names change.

    Attributes:
        joint_names: the joints of the robot, in order.
        what: what the messages are called in sentences: "joint state".
    """

    def __init__(
        self, joint_names: Sequence[str], what: str, *, others: bool, passive: Sequence[str] = ()
    ) -> None:
        """Read messages of one kind.

        Args:
            joint_names: the joints of the robot, in order.
            what: what the messages are called.
            others: whether they may have other joints as well, which are passed over.
            passive: joints that they may have, and whose positions are asked for.
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
        """Whether any of the names is one of our joints: grippers and carts may share a topic."""
        return (self._order is not None and names == self._names) or not self._set.isdisjoint(names)

    def positions(self, names: Sequence[str], numbers: Numbers) -> NDArray[np.float64]:
        """Look up where our joints are among the names of a message, and answer their positions, shape (n,).

        Raises:
            Rejection: a joint is missing or repeated, or its position is missing, not finite or larger than
                any position is.
        """
        if len(numbers) < len(names):
            self._refuse_short(names, numbers, "position")
        if names != self._names or self._order is None:
            self._find(names)
        values = self._taken(numbers)
        return values if plausible(values.tolist()) else self._refuse(values, "position")

    def _find(self, names: Sequence[str]) -> None:
        index = {name: i for i, name in enumerate(names)}
        if len(index) < len(names):
            repeated = next(name for name, count in Counter(names).items() if count > 1)
            raise Rejection(f"{self.what} names joint '{repeated}' more than once")
        missing = [name for name in self.joint_names if name not in index]
        if missing:
            raise Rejection(f"{self.what} lacks joint {', '.join(map(repr, missing))}")
        unknown = [name for name in names if name not in self._set and name not in self._passive]
        if unknown and not self._others:
            raise Rejection(f"{self.what} has joint '{unknown[0]}', which the robot does not have")
        self._names = list(names)
        self._order = np.array([index[name] for name in self.joint_names], dtype=np.intp)
        self._same_order = list(self._order) == list(range(len(names)))
        self._followers = [(name, index[name]) for name in names if name in self._passive]

    def passive(self, numbers: Numbers) -> dict[str, float]:
        """Answer positions of passive joints of the last `positions`, by name, without those that are NaN.

        Raises:
            Rejection: one is infinite or larger than any position is.
        """
        found = {name: float(numbers[k]) for name, k in self._followers if not math.isnan(numbers[k])}
        for name, value in found.items():
            if not plausible([value]):
                raise Rejection(f"{self.what} gives joint '{name}' the position {value}")
        return found

    def values(self, numbers: Numbers, quantity: str) -> NDArray[np.float64]:
        """Answer the values of our joints, in their order, shape (n,).

        Values of other joints, and values without a name, are passed over.

        Args:
            numbers: one for each name of the last `positions`.
            quantity: what they are: "position".
        """
        if len(numbers) < len(self._names):
            self._refuse_short(self._names, numbers, quantity)
        values = self._taken(numbers)
        return values if plausible(values.tolist()) else self._refuse(values, quantity)

    def values_or_none(self, numbers: Numbers, quantity: str) -> NDArray[np.float64] | None:
        """Answer what `values` does, and None where all values of our joints are NaN."""
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
        j = culprit(values.tolist())
        raise Rejection(f"{self.what} gives joint '{self.joint_names[j]}' the {quantity} {values[j]}")

    def _refuse_short(self, names: Sequence[str], numbers: Numbers, quantity: str) -> NoReturn:
        plural = f"{quantity[:-1]}ies" if quantity.endswith("y") else f"{quantity}s"
        raise Rejection(
            f"{self.what} has {len(names)} names but {len(numbers)} {plural}: "
            f"joint '{names[len(numbers)]}' has none"
        )


def check_age(what: str, stamp_ns: int, now_ns: int, max_age_s: float) -> None:
    """Refuse data whose stamp is more than `max_age_s` before or after the present (ns, on one clock)."""
    age_s = 1e-9 * (now_ns - stamp_ns)
    if not stamp_ns:
        raise Rejection(f"{what} has no stamp")
    if abs(age_s) <= max_age_s:
        return
    if not now_ns:
        raise Rejection(f"{what} came before the clock of the node: use_sim_time, but nothing on /clock yet")
    when = "old" if age_s > 0 else "in the future"
    hint = "" if abs(age_s) < _ANOTHER_CLOCK_S else ": is use_sim_time the same where it comes from?"
    raise Rejection(
        f"{what} is {abs(age_s):.3f} s {when} by its stamp, more than max_age = {max_age_s:g} s{hint}",
        f"{what} {when}",
    )
