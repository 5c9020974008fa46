# SPDX-License-Identifier: Apache-2.0
"""Cut joints of the oracle of closed loops: what each type does not allow, by NumPy alone.

All quantities are in the parent's cut frame P, about its origin. If the wrench ``S lambda`` of a joint has m
components, the joint forbids m components ``S^T V`` of the velocity V = [linear; angular] of the child
relative to the parent. S depends on the configuration only for universal joints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

NO_TRANSLATION = {"revolute", "universal", "spherical", "fixed"}
NO_TRANSLATION_ACROSS = {"prismatic", "cylindrical"}
NO_ROTATION = {"prismatic", "fixed"}
NO_ROTATION_ACROSS = {"revolute", "cylindrical", "planar"}
TYPES = sorted({*NO_TRANSLATION, *NO_TRANSLATION_ACROSS, *NO_ROTATION, *NO_ROTATION_ACROSS})


@dataclass(frozen=True)
class CutEnd:
    """A cut frame on its link."""

    link: str
    R: np.ndarray
    p: np.ndarray


@dataclass(frozen=True)
class CutJoint:
    """A joint between two cut frames; `axis` is in the parent's, `child_axis` in the child's."""

    name: str
    type: str
    parent: CutEnd
    child: CutEnd
    axis: np.ndarray
    child_axis: np.ndarray

    def wrench_basis(self, R: np.ndarray) -> np.ndarray:
        """S, 6 x m, where R turns vectors of the child's cut frame into the parent's."""
        forces = moments = np.zeros((3, 0))
        if self.type in NO_TRANSLATION:
            forces = np.eye(3)
        elif self.type in NO_TRANSLATION_ACROSS:
            forces = across_axis(self.axis)
        elif self.type == "planar":
            forces = self.axis[:, None]
        if self.type in NO_ROTATION:
            moments = np.eye(3)
        elif self.type in NO_ROTATION_ACROSS:
            moments = across_axis(self.axis)
        elif self.type == "universal":
            moments = np.cross(R @ self.child_axis, self.axis)[:, None]
        zero = np.zeros((3, moments.shape[1]))
        return np.block([[forces, zero], [np.zeros((3, forces.shape[1])), moments]])

    def wrench_basis_rate(self, R: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Time derivative of S as seen from the parent, at the relative angular velocity w."""
        rate = np.zeros_like(self.wrench_basis(R))
        if self.type == "universal":
            rate[3:, -1] = np.cross(np.cross(w, R @ self.child_axis), self.axis)
        return rate

    def residual(self, R: np.ndarray, p: np.ndarray) -> np.ndarray:
        """What is open (m, rad), with the derivative ``S^T V`` where the loop is closed.

        R turns vectors of the child's cut frame into the parent's; p is the child's origin there (m).
        """
        turn = np.zeros(3)
        if self.type in NO_ROTATION:
            turn = rotation_vector(R)
        elif self.type in NO_ROTATION_ACROSS:
            turn = np.cross(self.axis, R @ self.child_axis)
        at_parent = p - np.cross(turn, p)  # the child turned back about the parent's origin
        opened = self.wrench_basis(R).T @ np.concatenate((at_parent, turn))
        if self.type == "universal":
            opened[-1] = self.axis @ R @ self.child_axis - self.axis @ self.child_axis
        return opened


def cut_joint(loop: Mapping) -> CutJoint:
    """The cut joint that an entry of `loops` in a side file describes."""
    axis = _unit(loop.get("axis", (0.0, 0.0, 1.0)))
    child_axis = _unit(loop["axis2"]) if "axis2" in loop else axis
    assert loop["type"] in TYPES
    return CutJoint(loop["name"], loop["type"], _end(loop["parent"]), _end(loop["child"]), axis, child_axis)


def across_axis(axis: np.ndarray) -> np.ndarray:
    """Two unit vectors across an axis and each other, as columns."""
    first = _unit(np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))]))
    return np.column_stack((first, np.cross(axis, first)))


def rotation_vector(R: np.ndarray) -> np.ndarray:
    """Axis times angle of a rotation by less than pi."""
    twice_sine = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine = 0.5 * np.linalg.norm(twice_sine)
    angle = math.atan2(sine, 0.5 * (np.trace(R) - 1.0))
    return 0.5 * twice_sine * (angle / sine if sine > 1e-9 else 1.0)


def rotation(rpy: Sequence[float]) -> np.ndarray:
    """Rotation by fixed-axis angles."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cr, -sr], [0.0, sr, cr]])
    about_y = np.array([[cp, 0.0, sp], [0.0, 1.0, 0.0], [-sp, 0.0, cp]])
    about_z = np.array([[cy, -sy, 0.0], [sy, cy, 0.0], [0.0, 0.0, 1.0]])
    return about_z @ about_y @ about_x


def _end(end: Mapping) -> CutEnd:
    zero = (0.0, 0.0, 0.0)
    return CutEnd(end["link"], rotation(end.get("rpy", zero)), np.array(end.get("xyz", zero), dtype=float))


def _unit(axis: Sequence[float]) -> np.ndarray:
    return np.array(axis, dtype=float) / np.linalg.norm(axis)
