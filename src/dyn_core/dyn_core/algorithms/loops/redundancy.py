# SPDX-License-Identifier: Apache-2.0
"""Block triangular form of loop constraints, its solution, and the reasons of redundant constraints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from dyn_core.algorithms.loops.constraints import ConstraintArrays, chain
from dyn_core.core.arrays import Array
from dyn_core.core.messages import Message
from dyn_core.robot.joint_coupling import joint_positions
from dyn_core.robot.joints import LoopType, Sigma
from dyn_core.robot.mdh.cut_frames import CutJoint
from dyn_core.robot.mdh.direct_geometry import placements_from
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.elimination import dot, minus_multiple
from dyn_core.symbolic.scalar import Scalar, Scalars, reciprocal
from dyn_core.symbolic.vec3 import Vec3

# Block triangular form
#
# In a square system whose pattern of zeros is not singular, each unknown is matched with an equation that
# contains it. Equations that need one another's unknowns form a block. Each block needs only unknowns of
# earlier blocks (Dulmage and Mendelsohn; the blocks are Tarjan's strong components).


class Block(NamedTuple):
    """Equations that are solved together, as many as unknowns or more that are consistent."""

    rows: tuple[int, ...]  # numbers of the equations
    columns: tuple[int, ...]  # numbers of the unknowns


def block_triangular(pattern: Sequence[Sequence[bool]], columns: int) -> tuple[Block, ...] | None:
    """Return the blocks of a system in the order of solution.

    `pattern`: for each equation, whether each unknown is in it. Returns the blocks; a single block if there
    are more equations than unknowns; None if the pattern alone makes the system singular.
    """
    rows = len(pattern)
    if rows < columns:
        return None
    of_column = _matching(pattern, columns)
    if any(row is None for row in of_column):
        return None
    if rows > columns:
        return (Block(tuple(range(rows)), tuple(range(columns))),) if columns else ()
    row_of = [row for row in of_column if row is not None]
    needs = [[k for k in range(columns) if k != c and pattern[row_of[c]][k]] for c in range(columns)]
    return tuple(
        Block(tuple(row_of[c] for c in component), tuple(component))
        for component in (sorted(part) for part in _components(needs))
    )


def _matching(pattern: Sequence[Sequence[bool]], columns: int) -> list[int | None]:
    """Return an equation for each unknown, by augmenting paths; None for an unknown without equation."""
    of_column: list[int | None] = [None] * columns

    def augmented(row: int, seen: set[int]) -> bool:
        for c in range(columns):
            if pattern[row][c] and c not in seen:
                seen.add(c)
                holder = of_column[c]
                if holder is None or augmented(holder, seen):
                    of_column[c] = row
                    return True
        return False

    for row in range(len(pattern)):
        augmented(row, set())
    return of_column


def _components(needs: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the strong components of a graph, each after those that it needs."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []

    def visit(c: int) -> None:
        index[c] = low[c] = len(index)
        stack.append(c)
        for k in needs[c]:
            if k not in index:
                visit(k)
                low[c] = min(low[c], low[k])
            elif k in stack:
                low[c] = min(low[c], index[k])
        if low[c] == index[c]:
            first = stack.index(c)
            found.append(stack[first:])
            del stack[first:]

    for c in range(len(needs)):
        if c not in index:
            visit(c)
    return found


# Factors of the blocks
#
# Blocks of one or two unknowns are solved by their determinant, larger blocks by modified Gram-Schmidt. This
# needs no pivots chosen at run time, takes more equations than unknowns, and also solves the transposed
# system. Entries that are 0 by structure are floats and cost nothing.

Rows = Sequence[Mapping[int, Scalar]]


@dataclass(frozen=True)
class Pair:
    """Inverse of a block of one or two unknowns, by rows."""

    inverse: tuple[tuple[Scalar, ...], ...]

    def solve(self, b: Scalars) -> list[Scalar]:
        """Return x of ``A x = b``."""
        return [dot(row, b) for row in self.inverse]

    def solve_transposed(self, f: Scalars) -> list[Scalar]:
        """Return y of ``A^T y = f``."""
        return [dot(column, f) for column in zip(*self.inverse, strict=True)]


@dataclass(frozen=True)
class Orthogonal:
    """Factors of a block ``A = V R``: orthogonal columns V, and R with ones on its diagonal."""

    V: tuple[tuple[Scalar, ...], ...]  # the columns of V
    R: tuple[tuple[Scalar, ...], ...]  # for each column of V, the entries of R right of the diagonal
    scale: tuple[Scalar, ...]  # reciprocals of the squares of the lengths of the columns of V

    def solve(self, b: Scalars) -> list[Scalar]:
        """Return x of ``A x = b``: the least-squares solution if there are more equations (Bjorck 1967)."""
        rest = list(b)
        y = []
        for v, scale in zip(self.V, self.scale, strict=True):
            part = dot(v, rest) * scale
            rest = minus_multiple(rest, part, v)
            y.append(part)
        x: list[Scalar] = []
        for row, part in zip(reversed(self.R), reversed(y), strict=True):
            x.insert(0, part - dot(row, x))
        return x

    def solve_transposed(self, f: Scalars) -> list[Scalar]:
        """Return y of ``A^T y = f``: the solution of least norm (Bjorck and Paige 1992)."""
        t: list[Scalar] = []
        for k, value in enumerate(f):
            t.append(value - dot([row[k - i - 1] for i, row in enumerate(self.R[:k])], t))
        y: list[Scalar] = [0.0] * len(self.V[0])
        for k in reversed(range(len(t))):
            part = (t[k] - dot(self.V[k], y)) * self.scale[k]
            y = minus_multiple(y, -part, self.V[k])
        return y


def factorised(rows: Rows, block: Block, columns: Sequence[int]) -> Pair | Orthogonal:
    """Return the factors of a block of equations, given as entries by joint, for some joints."""
    A = [[rows[row].get(j, 0.0) for j in columns] for row in block.rows]
    if len(block.rows) == 1:
        return Pair(((reciprocal(A[0][0]),),))
    if len(block.rows) == len(columns) == 2:
        (a, b), (c, d) = A
        scale = reciprocal(a * d - b * c)
        return Pair(((d * scale, -b * scale), (-c * scale, a * scale)))
    return _orthogonal([tuple(column) for column in zip(*A, strict=True)])


def _orthogonal(columns: Sequence[tuple[Scalar, ...]]) -> Orthogonal:
    left = list(columns)
    R, scales = [], []
    for k, v in enumerate(left):  # later columns change on the way
        scale = reciprocal(dot(v, v))
        row = []
        for j in range(k + 1, len(left)):
            part = dot(v, left[j]) * scale
            left[j] = tuple(minus_multiple(left[j], part, v))
            row.append(part)
        R.append(tuple(row))
        scales.append(scale)
    return Orthogonal(tuple(left), tuple(R), tuple(scales))


# Redundant constraints (SYMORO+ 2003, sec. 1.5)
#
# The six constraints of a loop are independent if its axes are in general position. In a planar loop all
# axes are parallel; in a spherical loop they meet in one point. Both have three independent constraints.
# Other loops move although the number of their joints is too small for that.

ALMOST = 0.05  # Angle (rad), or fraction of the size of a loop, below which a deviation is a likely mistake
SPECIAL = 1e-9  # Sine, or fraction of the size of a loop, that counts as 0


class Redundancy(Enum):
    """Kind of a loop by the reason why some of its constraints are redundant."""

    NONE = "none"
    PLANAR = "planar"
    SPHERICAL = "spherical"
    SPATIAL = "spatial"

    @property
    def reason(self) -> str:
        """The reason as text."""
        return _REASONS[self.value]


_REASONS = {
    "none": "all independent",
    "planar": "a planar loop, all its axes are parallel",
    "spherical": "a spherical loop, all its axes go through one point",
    "spatial": "an overconstrained spatial loop, which moves by special dimensions alone",
}


@dataclass(frozen=True)
class Axes:
    """The axes of a loop in one configuration, in one frame."""

    turning: tuple[tuple[Vec3, Vec3], ...]  # direction and a point (m) of each axis of rotation
    sliding: tuple[Vec3, ...]  # directions of translation
    centres: tuple[Vec3, ...] = ()  # centres (m) of spherical joints

    def off_parallel(self) -> float:
        """Largest angle (rad) of the axes from those of a planar loop; 0 for a planar loop."""
        if not self.turning:
            return math.inf
        z, _ = self.turning[0]
        sines = [vec3.norm(vec3.cross(z, axis)) for axis, _ in self.turning]
        sines += [abs(vec3.dot(z, direction)) for direction in self.sliding]
        return math.asin(min(1.0, max(sines)))

    def off_point(self) -> float:
        """Largest distance (m) of the axes from the point nearest to all of them; infinite if any slides."""
        if self.sliding or not self.turning:
            return math.inf
        across = [np.eye(3) - np.outer(axis, axis) for axis, _ in self.turning]
        points = [np.array(point) for _, point in self.turning]
        rows = across + [np.eye(3)] * len(self.centres)
        values = [A @ p for A, p in zip(across, points, strict=True)] + [np.array(c) for c in self.centres]
        A, b = np.vstack(rows), np.concatenate(values)
        x = np.linalg.lstsq(A, b, rcond=None)[0]
        return float(np.abs(A @ x - b).max())


def axes_of_loop(robot: Robot, cut: CutJoint, kind: LoopType, q: Scalars) -> Axes:
    """Return the axes of a closed loop, in the frame of its cut joint on the parent's side."""
    T = placements_from(robot, q, cut.P, (*chain(robot, cut).joints, cut.C.body))
    turning, sliding = [], []
    for j in chain(robot, cut).joints:
        axis = mat3.column(T[j].R, 2)
        if robot.joints[j - 1].sigma is Sigma.REVOLUTE:
            turning.append((axis, T[j].p))
        else:
            sliding.append(axis)
    here, z = vec3.ZERO, (0.0, 0.0, 1.0)
    if kind in (LoopType.REVOLUTE, LoopType.CYLINDRICAL, LoopType.UNIVERSAL, LoopType.PLANAR):
        turning.append((z, here))
    if kind is LoopType.UNIVERSAL:
        turning.append((mat3.mul_vec(T[cut.C.body].R, mat3.column(cut.C.T_body_link.R, 2)), here))
    if kind in (LoopType.PRISMATIC, LoopType.CYLINDRICAL):
        sliding.append(z)
    if kind is LoopType.PLANAR:
        sliding += [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    centres = (here,) if kind is LoopType.SPHERICAL else ()
    return Axes(tuple(turning), tuple(sliding), centres)


def redundancy(axes: Axes, size: float, constraints: int, independent: int) -> Redundancy:
    """Return why some constraints of a cut joint are redundant, from the number of independent ones."""
    if independent == constraints:
        return Redundancy.NONE
    if axes.off_parallel() <= SPECIAL:
        return Redundancy.PLANAR
    if axes.off_point() <= SPECIAL * size:
        return Redundancy.SPHERICAL
    return Redundancy.SPATIAL


def almost_special(numbers: ConstraintArrays, q: Array) -> str:
    """Return a message on a loop that is almost, not exactly, planar or spherical; "" if there is none."""
    robot = numbers.robot
    positions = joint_positions(robot, q.tolist())
    for loop, cut in zip(robot.loops, numbers.cuts, strict=True):
        axes = axes_of_loop(robot, cut, loop.type, positions)
        angle, miss = axes.off_parallel(), axes.off_point()
        if SPECIAL < angle < ALMOST:
            return Message("loop-almost-planar", loop=loop.name, angle=angle)
        if SPECIAL * numbers.size < miss < ALMOST * numbers.size and angle > ALMOST:
            return Message("loop-almost-spherical", loop=loop.name, distance=miss)
    return ""
