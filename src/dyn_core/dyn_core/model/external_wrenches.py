# SPDX-License-Identifier: Apache-2.0
"""External wrenches, from those of links as users give them to the row that programs take."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array
from dyn_core.dynamics.wrench import Wrench, wrench_on_antecedent
from dyn_core.facade.external import external_wrenches, packed
from dyn_core.linalg.transform import Transform, compose, inverse
from dyn_core.robot.robot import Robot


class WrenchRow:
    """Makes the row of the wrenches of a robot: `packed` says what is in it."""

    def __init__(self, robot: Robot) -> None:
        """Look where the links are on the child links of the joints."""
        self._robot = robot
        self._size = 6 * len(robot.joints)
        children = robot.child_links
        self._places: dict[str, tuple[slice, Array | None]] = {}
        for link in robot.link_frames:
            if not link.body:
                self._places[link.name] = slice(0, 0), np.zeros((0, 6))  # it moves nothing
                continue
            child = children[link.body - 1]
            T = None if child is link else compose(inverse(child.T_body_link), link.T_body_link)
            place = slice(6 * link.body - 6, 6 * link.body)
            self._places[link.name] = place, None if T is None else _matrix(T)

    def __call__(
        self, wrenches: Mapping[str, npt.ArrayLike] | None, samples: tuple[int, ...]
    ) -> Array | None:
        """Answer the row, (6 n,) or (N, 6 n); None where there are no wrenches.

        Args:
            wrenches: by link, ``[force; moment]`` (N, N m) that the link exerts on the environment,
                in the frame of the link and about its origin; one for all samples, or one a sample.
            samples: ``()`` for one sample, ``(N,)`` for a batch.
        """
        if wrenches is None or (isinstance(wrenches, Mapping) and not wrenches):
            return None
        row = None if samples or not isinstance(wrenches, Mapping) else self._of_arrays(wrenches)
        if row is not None:
            return row
        return packed(self._robot, external_wrenches(self._robot, wrenches, samples), samples)

    def _of_arrays(self, wrenches: Mapping[str, npt.ArrayLike]) -> Array | None:
        """Answer the row of one sample where all are arrays of links, as most are."""
        row = np.zeros(self._size)
        for name, value in wrenches.items():
            found = self._places.get(name)
            if found is None or type(value) is not np.ndarray:
                return None
            if value.shape != (6,) or value.dtype != np.float64:
                return None
            place, matrix = found
            row[place] += value if matrix is None else matrix @ value
        return row


def _matrix(T: Transform) -> Array:
    """Answer what takes a wrench of a link to its child link, (6, 6)."""
    columns = [
        wrench_on_antecedent(T, Wrench((unit[0], unit[1], unit[2]), (unit[3], unit[4], unit[5]))).values
        for unit in np.eye(6).tolist()
    ]
    matrix: Array = np.array(columns).T
    return matrix
