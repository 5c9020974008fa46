# SPDX-License-Identifier: Apache-2.0
"""External wrenches of links, as users give them, converted to wrenches of bodies and inputs of programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dyn_core.algorithms.dynamics.wrenches import Wrench, wrench_on_antecedent
from dyn_core.core.arrays import Array, as_floats, scalars
from dyn_core.core.errors import ArgumentError
from dyn_core.robot.links import LinkFrame
from dyn_core.robot.robot import Robot
from dyn_core.symbolic.scalar import Scalar
from dyn_core.symbolic.transform import Transform, compose, inverse


def external_wrenches(
    robot: Robot, wrenches: Mapping[str, ArrayLike] | None, samples: tuple[int, ...]
) -> dict[int, Wrench]:
    """Return by body the wrench that it exerts on the environment, in the frame of the body.

    Args:
        robot: the robot.
        wrenches: by link, ``[force; moment]`` (N, N m) that the link exerts on the environment, in the frame
            of the link and about its origin; one for all samples, or one for each.
        samples: ``()`` for one sample, ``(N,)`` for a batch.
    """
    if wrenches is None:
        return {}
    total: dict[int, Wrench] = {}
    for link, array in checked_wrenches(robot, wrenches, samples):
        on_body = link_wrench_on(link.T_body_link, scalars(array))
        total[link.body] = total[link.body] + on_body if link.body in total else on_body
    return total


def checked_wrenches(
    robot: Robot, wrenches: Mapping[str, ArrayLike], samples: tuple[int, ...]
) -> Iterator[tuple[LinkFrame, Array]]:
    """Yield each link with its wrench, (6,) or (N, 6); raise ValueError for another type or shape."""
    if not isinstance(wrenches, Mapping):
        expected, given = "six numbers by name of link", type(wrenches).__name__
        raise ArgumentError("argument-type", argument="wrenches", expected=expected, given=given)
    shapes = dict.fromkeys(((6,), (*samples, 6)))
    for name, value in wrenches.items():
        link = robot.link_frame(name)
        array = as_floats(f"wrenches['{name}']", value)
        if array.shape not in shapes:
            expected = " or ".join(map(str, shapes))
            raise ArgumentError(
                "argument-shape", argument=f"wrenches['{name}']", expected=expected, given=array.shape
            )
        yield link, array


def link_wrench_on(T: Transform, numbers: Iterable[Scalar]) -> Wrench:
    """Convert six numbers in the frame of a link to a wrench in the frame in which T places it; same sign."""
    fx, fy, fz, mx, my, mz = numbers
    return wrench_on_antecedent(T, Wrench((fx, fy, fz), (mx, my, mz)))


def exerted_by_bodies(robot: Robot, w: Sequence[Scalar]) -> dict[int, Wrench]:
    """Return by body the wrenches of a row from `packed`, in the frame of the body."""
    places = zip(robot.child_links, range(0, len(w), 6), strict=True)
    return {link.body: link_wrench_on(link.T_body_link, w[k : k + 6]) for link, k in places}


def packed(robot: Robot, exerted: Mapping[int, Wrench], samples: tuple[int, ...]) -> Array:
    """Return the wrenches of the bodies 1 to n in a row, (6 n,) or (N, 6 n), with zeros for other bodies.

    The row holds ``[force; moment]`` of each child link, in the frame of that link and about its origin,
    because users of emitted programs do not know the frames of bodies.
    """
    return packed_on_links(robot.child_links, exerted, samples)


def packed_on_links(
    links: Sequence[LinkFrame], exerted: Mapping[int, Wrench], samples: tuple[int, ...]
) -> Array:
    """Return the wrenches of the bodies of links in a row, each in the frame of its link."""
    array = np.zeros((*samples, len(links), 6))
    for j, link in enumerate(links):
        if link.body in exerted:
            on_link = wrench_on_antecedent(inverse(link.T_body_link), exerted[link.body])
            for k, component in enumerate(on_link.values):
                array[..., j, k] = component
    return array.reshape((*samples, -1))


class WrenchRow:
    """Converts wrenches of links to the row of `packed`."""

    def __init__(self, robot: Robot) -> None:
        """Prepare, for each link, its place in the row and the matrix to its child link."""
        self._robot = robot
        self._size = 6 * len(robot.joints)
        children = robot.child_links
        self._places: dict[str, tuple[slice, Array | None]] = {}
        for link in robot.link_frames:
            if not link.body:
                self._places[link.name] = slice(0, 0), np.zeros((0, 6))  # the base does not move
                continue
            child = children[link.body - 1]
            T = None if child is link else compose(inverse(child.T_body_link), link.T_body_link)
            place = slice(6 * link.body - 6, 6 * link.body)
            self._places[link.name] = place, None if T is None else _matrix(T)

    def __call__(self, wrenches: Mapping[str, ArrayLike] | None, samples: tuple[int, ...]) -> Array | None:
        """Return the row of `external_wrenches`' arguments, (6 n,) or (N, 6 n); None without wrenches."""
        if wrenches is None or (isinstance(wrenches, Mapping) and not wrenches):
            return None
        row = None if samples or not isinstance(wrenches, Mapping) else self._of_arrays(wrenches)
        if row is not None:
            return row
        return packed(self._robot, external_wrenches(self._robot, wrenches, samples), samples)

    def _of_arrays(self, wrenches: Mapping[str, ArrayLike]) -> Array | None:
        """Return the row of one sample if all values are arrays of known links; else None."""
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
    """Return the (6, 6) matrix that transforms a wrench of a link to its child link."""
    return np.transpose([link_wrench_on(T, unit).values for unit in np.eye(6).tolist()])
