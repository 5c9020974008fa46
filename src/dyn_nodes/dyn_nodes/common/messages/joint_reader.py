# SPDX-License-Identifier: Apache-2.0
"""Joint values from messages, matched by name and checked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.data_checks import Rejection, plausible, worst_index

Numbers = Sequence[float] | NDArray[np.float64]
"""Values of a message; NumPy arrays are used without a copy, and are not written to."""


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
        """Return the same as `values`, or None where there are none, or those of all joints are NaN."""
        if not len(numbers):
            return None
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
