# SPDX-License-Identifier: Apache-2.0
"""The robot under check, findings from messages of the readers, and sample positions for the checks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dyn_core.algorithms.loops.closed_configurations import nearby_configurations
from dyn_core.algorithms.loops.constraints import ConstraintArrays, independent_indices
from dyn_core.algorithms.loops.loop_structure import geometry_of, structure
from dyn_core.algorithms.loops.passive_joint_motion import Passive
from dyn_core.core.arrays import Array
from dyn_core.core.errors import DynError, ModelWarning
from dyn_core.core.findings import Finding, Place, Severity
from dyn_core.core.messages import Message
from dyn_core.robot.description import UrdfDescription, UrdfJoint
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.robot import Robot
from dyn_core.robot.xml_text import Element


@dataclass(frozen=True)
class Subject:
    """A robot to be checked.

    Attributes:
        robot: the robot.
        description: contents of its URDF with snapped angles; None without a URDF.
        xml: the URDF itself, for elements that the description omits; None without a URDF.
        remarks: warnings of the readers.
    """

    robot: Robot
    description: UrdfDescription | None = None
    xml: Element | None = None
    remarks: tuple[ModelWarning, ...] = ()

    def free_joints(self) -> Iterator[Joint]:
        """Return the joints that do not mimic another, with or without actuator."""
        return (self.robot.joints[j - 1] for j in self.robot.independent)

    def urdf_joints(self) -> tuple[UrdfJoint, ...]:
        """Return the joints of the URDF; an empty tuple without a URDF."""
        return self.description.joints if self.description else ()

    def moving_urdf_joints(self) -> Iterator[UrdfJoint]:
        """Return the joints of the URDF that are not fixed."""
        return (joint for joint in self.urdf_joints() if joint.type != "fixed")

    def elements(self, tag: str) -> Iterator[Element]:
        """Return the elements of that name directly under <robot>."""
        return iter(()) if self.xml is None else self.xml.all(tag)


# Errors and warnings of the readers


def finding_of_error(error: DynError, path: str | None) -> Finding:
    """Return the error of reading a robot as a finding; a file other than `path` is the side file."""
    return _finding(Severity.ERROR, error if error.file != path else error.in_file(None))


def finding_of_warning(warning: ModelWarning) -> Finding:
    """Return a warning of a reader as a finding; a file is the side file."""
    return _finding(Severity.WARNING, warning)


def _finding(severity: Severity, report: DynError | ModelWarning) -> Finding:
    """Return a finding; about the robot if the report has no place."""
    if report.file is not None:
        message = Message("side-file-unusable", path=report.file, cause=report.in_file(None))
        return Finding(severity, "side file", (), message, report.line)
    place = report.place or Place()
    names = (place.name,) if place.name else ()
    return Finding(severity, place.kind or "robot", names, report.detail, place.line, tag=place.tag)


# Sample positions within the limits

SEED = 2003

FAR = 1e3
"""Largest sample position (rad or m)."""


def tried_positions(robot: Robot, count: int) -> Array:
    """Return `count` sample positions (count, dof) (rad or m), the same in every call.

    The first is as near to 0 as the limits allow. Half of the others are anywhere within the limits. In the
    other half the joints are at limits and at multiples of pi/2, where gravity torques are greatest.
    """
    random = np.random.default_rng(SEED)
    q = np.zeros((count, robot.dof))
    for k, joint in enumerate(robot.independent_joints):
        lower, upper = tried_range(joint)
        quarters = np.arange(math.ceil(2.0 * lower / math.pi), math.floor(2.0 * upper / math.pi) + 1)
        special = (
            [lower, upper] if joint.sigma is Sigma.PRISMATIC else [lower, upper, *quarters * math.pi / 2]
        )
        half = count // 2
        q[1:half, k] = random.uniform(lower, upper, half - 1)
        q[half:, k] = random.choice(special, count - half)
        q[0, k] = min(max(0.0, lower), upper)
    return q


def tried_range(joint: Joint) -> tuple[float, float]:
    """Return the range of sample positions of a joint (rad or m); one turn, or 0 m, if it has no limits."""
    turn = math.pi if joint.sigma is Sigma.REVOLUTE else 0.0
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower is None or upper is None:
        return -turn, turn
    if joint.sigma is Sigma.REVOLUTE:
        is_turn = upper - lower >= 2.0 * math.pi or max(-lower, upper) > FAR
        return (-turn, turn) if is_turn else (lower, upper)
    return max(-FAR, min(lower, FAR)), max(-FAR, min(upper, FAR))


# Sample positions of a robot with loops: closed ones near the assembly, within the limits

COUNT = 200


class ClosedPositions(NamedTuple):
    """Positions of the actuated joints (N, dof), and the relations of all joints there, over N samples."""

    q: Array
    at: Passive


def closed_positions(robot: Robot) -> ClosedPositions | None:
    """Return closed configurations, the same in every call.

    They are on the branch of the assembly, and a few steps of a small fraction of a turn away from it. If
    some have all joints within their limits, only these are returned.

    Returns:
        the configurations; None if the loops do not close or do not determine the passive joints.
    """
    try:
        found = structure(robot)
    except DynError:
        return None
    samples = _samples(geometry_of(robot), found.reference)
    inside = _inside(robot, samples, robot.independent)
    used = samples[inside] if inside.any() else samples
    column = {j: used[:, k] for k, j in enumerate(robot.independent)}
    q = [column[j] for j in robot.coordinates]
    at = Passive(robot, found, q, [column[j] for j in found.unknown])
    return ClosedPositions(np.stack(q, axis=1) if q else np.zeros((len(used), 0)), at)


def passive_ranges(robot: Robot) -> dict[str, tuple[float, float]]:
    """Return the ranges of the passive joints (rad or m) while the actuated ones are within their limits.

    They are those of the sample positions of `closed_positions`. The loops of the robot must close.
    """
    samples = _samples(geometry_of(robot), structure(robot).reference)
    used = samples[_inside(robot, samples, robot.coordinates)]
    return {
        robot.joints[j - 1].name: (float(used[:, k].min()), float(used[:, k].max()))
        for k, j in enumerate(robot.independent)
        if len(used) and robot.joints[j - 1].mu == 0
    }


def _inside(robot: Robot, samples: Array, joints: Sequence[int]) -> npt.NDArray[np.bool_]:
    """True for samples with these joints within their limits."""
    inside = np.ones(len(samples), dtype=bool)
    for j in joints:
        limits, positions = robot.joints[j - 1].limits, samples[:, robot.independent.index(j)]
        inside &= positions >= (-np.inf if limits.lower is None else limits.lower)
        inside &= positions <= (np.inf if limits.upper is None else limits.upper)
    return inside


@lru_cache(maxsize=4)
def _samples(robot: Robot, reference: tuple[float, ...]) -> Array:
    passive = independent_indices(robot, 0)
    return nearby_configurations(ConstraintArrays(robot), np.array(reference), COUNT, passive)
