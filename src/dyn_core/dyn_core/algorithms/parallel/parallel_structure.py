# SPDX-License-Identifier: Apache-2.0
"""Find the platform and the legs of a robot with loops from its structure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dyn_core.algorithms.parallel import platform_mobility
from dyn_core.algorithms.parallel.leg_positions import closed_form, jacobians
from dyn_core.algorithms.parallel.parallel_robot import AxisPair, Leg, ParallelRobot, cleaned, leg_robot
from dyn_core.core.errors import DynError
from dyn_core.robot.joints import Loop, LoopEnd, LoopType, Sigma
from dyn_core.robot.mdh.direct_geometry import lineage, link_placements
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.transform import Transform, compose, inverse
from dyn_core.symbolic.vec3 import Vec3

COMMON = {LoopType.SPHERICAL: 3, LoopType.UNIVERSAL: 4, LoopType.REVOLUTE: 5, LoopType.FIXED: 6}
"""Number of common components of motion of a leg and the platform, by the type of their cut joint."""


def parallel_robot(robot: Robot, platform: str) -> ParallelRobot:
    """Return the platform and the legs of a robot.

    `robot`: a tree with loops. Passive joints place the platform on the base, and every other branch is a leg
    that one loop connects to the platform.

    Raises:
        DynError: the robot does not have this structure, or its actuators are too few or too many.
    """
    frame = robot.link_frame(platform)
    chain = tuple(reversed(lineage(robot, frame.body)))
    _check_chain(robot, platform, chain)
    taken = set(chain)
    legs = []
    for loop in robot.loops:
        end, on_platform = _ends(robot, loop, platform, frame.body)
        bodies = tuple(reversed(lineage(robot, robot.link_frame(end.link).body)))
        _check_leg(robot, loop, bodies, taken)
        taken.update(bodies)
        legs.append(_leg(robot, loop, end, on_platform, bodies, platform))
    left = [joint.name for j, joint in enumerate(robot.joints, 1) if j not in taken]
    if left:
        raise DynError("leg-unconnected", robot=robot.name, joints=left)
    if not legs:
        raise DynError("parallel-robot-without-loops", robot=robot.name)
    legs.sort(key=lambda leg: leg.bodies)
    home = platform_mobility.assembled(
        legs, _near(robot, platform, legs), platform_mobility.fixed_directions(robot, platform, chain)
    )
    T_home = _exact_rotation(home.T)
    complete = tuple(_determined(leg, T_home, q) for leg, q in zip(legs, home.q, strict=True))
    found = ParallelRobot(robot, platform, frame.body, chain, complete, (), T_home, home.q)
    found = replace(found, mobility=platform_mobility.mobility(found))
    actuators, freedom = len(found.actuated), len(found.mobility)
    if actuators != freedom:
        raise DynError(
            "actuators-too-few" if actuators < freedom else "actuators-too-many",
            robot=robot.name,
            platform=platform,
            freedom=freedom,
            actuated=actuators,
        )
    return found


def _check_chain(robot: Robot, platform: str, chain: Sequence[int]) -> None:
    """Raise DynError unless passive joints alone place the platform, and it carries no joints."""
    about: dict[str, Any] = {"platform": platform, "element": f"link '{platform}'"}
    if not chain:
        raise DynError("platform-fixed-to-base", **about)
    for j in chain:
        joint = robot.joints[j - 1]
        carried = [other.name for other in robot.joints if other.antecedent == j]
        if joint.mu == 1 or joint.mimic is not None:
            raise DynError("platform-joint-not-passive", joint=joint.name, **about)
        if joint.Ia != 0.0 or any((joint.friction.Fv, joint.friction.Fs, joint.friction.Fo)):
            raise DynError("platform-joint-with-drive", joint=joint.name, **about)
        if j != chain[-1] and any(value != 0.0 for value in robot.bodies[j].values):
            raise DynError("platform-joint-with-mass", joint=joint.name, **about)
        if len(carried) > (j != chain[-1]):
            raise DynError("platform-carries-joints", joints=carried, **about)
    if platform_mobility.own_directions_change(robot, platform, chain):
        revolute = next(robot.joints[j - 1] for j in chain if robot.joints[j - 1].sigma is Sigma.REVOLUTE)
        raise DynError("platform-joint-turns", joint=revolute.name, **about)


def _ends(robot: Robot, loop: Loop, platform: str, body: int) -> tuple[LoopEnd, LoopEnd]:
    """Return the end of a loop on a leg, and its end on the platform."""
    ends = (loop.parent, loop.child)
    on_platform = [robot.link_frame(end.link).body == body for end in ends]
    if sum(on_platform) != 1:
        raise DynError(
            "loop-beside-legs",
            loop=loop.name,
            first_link=ends[0].link,
            second_link=ends[1].link,
            platform=platform,
            element=f"loop '{loop.name}'",
        )
    return (ends[1], ends[0]) if on_platform[0] else ends


def _check_leg(robot: Robot, loop: Loop, bodies: Sequence[int], taken: Iterable[int]) -> None:
    about: dict[str, Any] = {"loop": loop.name, "element": f"loop '{loop.name}'"}
    joints = [robot.joints[j - 1] for j in bodies]
    shared = [robot.joints[j - 1].name for j in bodies if j in taken]
    if not joints:
        raise DynError("loop-without-leg", **about)
    if shared:
        raise DynError("leg-joints-shared", shared=shared, **about)
    if any(joint.mimic is not None for joint in joints):
        raise DynError("leg-joint-mimics", **about)
    kind = loop.type.value
    if loop.type not in COMMON:
        raise DynError("leg-end-unsupported", loop_type=kind, known=[t.value for t in COMMON], **about)
    if len(joints) > COMMON[loop.type]:
        count, determined = len(joints), COMMON[loop.type]
        raise DynError("leg-joints-idle", count=count, loop_type=kind, determined=determined, **about)


def _leg(
    robot: Robot, loop: Loop, end: LoopEnd, on_platform: LoopEnd, bodies: tuple[int, ...], platform: str
) -> Leg:
    T_body_cut = compose(robot.link_frame(end.link).T_body_link, end.T_link_cut)
    T_link_body = inverse(robot.link_frame(platform).T_body_link)
    T_platform_link = compose(T_link_body, robot.link_frame(on_platform.link).T_body_link)
    T_platform_cut = compose(T_platform_link, on_platform.T_link_cut)
    return Leg(
        name=loop.name,
        bodies=bodies,
        robot=leg_robot(robot, bodies),
        point=_without_rounding(T_body_cut.p),
        anchor=_without_rounding(T_platform_cut.p),
        pairs=_pairs(loop, T_body_cut, T_platform_cut, end is loop.parent),
        components=(),
        actuated=tuple(k for k, j in enumerate(bodies) if robot.joints[j - 1].mu == 1),
        closed_form=None,
    )


def _determined(leg: Leg, T_home: Transform, q: Sequence[float]) -> Leg:
    """Return the leg with the components that determine its motion, and its closed form."""
    leg = replace(leg, components=independent_components(leg, T_home, q))
    form = closed_form(leg.robot, leg.point, q) if leg.components == (0, 1, 2) else None
    return replace(leg, closed_form=form)


def _pairs(loop: Loop, T_body_cut: Transform, T_platform_cut: Transform, own: bool) -> tuple[AxisPair, ...]:
    """Return the pairs of axes of a cut joint; `own` if its parent side is on the leg, else its child's."""
    axes = (loop.axis, loop.child_axis) if own else (loop.child_axis, loop.axis)
    in_leg = cleaned(mat3.mul_vec(T_body_cut.R, axes[0]))
    in_platform = cleaned(mat3.mul_vec(T_platform_cut.R, axes[1]))
    if loop.type is LoopType.UNIVERSAL:
        return (AxisPair(in_leg, in_platform, vec3.dot(loop.axis, loop.child_axis)),)
    if loop.type is LoopType.REVOLUTE:
        least = min(range(3), key=lambda k: abs(in_platform[k]))
        first = vec3.unit(vec3.cross(in_platform, mat3.IDENTITY[least]))
        return (AxisPair(in_leg, first, 0.0), AxisPair(in_leg, vec3.cross(in_platform, first), 0.0))
    if loop.type is LoopType.FIXED:
        x, y, _ = (cleaned(mat3.column(T_body_cut.R, k)) for k in range(3))
        _, v, w = (cleaned(mat3.column(T_platform_cut.R, k)) for k in range(3))
        return (AxisPair(x, v, 0.0), AxisPair(x, w, 0.0), AxisPair(y, w, 0.0))
    return ()


def _without_rounding(p: Vec3) -> Vec3:
    """Return a position; components that differ from 0 by rounding only become 0."""
    size = 1e-14 * max(vec3.norm(p), 1.0)
    x, y, z = (0.0 if abs(a) <= size else a for a in p)
    return (x, y, z)


def _near(robot: Robot, platform: str, legs: Sequence[Leg]) -> platform_mobility.Assembled:
    """Return the placement of the platform and the joint positions of the legs in the assembly."""
    given = dict(robot.assembly)
    q = [given.get(joint.name, 0.0) for joint in robot.joints]
    T = link_placements(robot, q)[platform]
    return platform_mobility.Assembled(
        _exact_rotation(T), tuple(tuple(q[j - 1] for j in leg.bodies) for leg in legs)
    )


def _exact_rotation(T: Transform) -> Transform:
    """Return a placement whose rotation has exact zeros and ones."""
    x, y, z = (cleaned(row) for row in T.R)
    return Transform((x, y, z), T.p)


CLEAR = 1e-6  # Least singular value of independent rows, relative to the greatest entry


def independent_components(leg: Leg, T_home: Transform, q: Sequence[float]) -> tuple[int, ...]:
    """Return the first independent common components, which determine the motion of a leg at T_home."""
    J = jacobians(leg, platform_mobility.at_rest(T_home), q)[0]
    chosen: list[int] = []
    for k in range(len(J)):
        rows = J[[*chosen, k]]
        sizes = np.linalg.svd(rows / max(float(np.max(np.abs(J))), 1e-300), compute_uv=False)
        if len(chosen) < len(leg.bodies) and sizes[-1] > CLEAR:
            chosen.append(k)
    if len(chosen) < len(leg.bodies):
        raise DynError("leg-part-idle", leg=leg.name, element=f"loop '{leg.name}'")
    return tuple(chosen)
