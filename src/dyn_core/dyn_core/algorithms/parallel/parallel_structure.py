# SPDX-License-Identifier: Apache-2.0
"""Find the platform and the legs of a robot with loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dyn_core.algorithms.parallel.parallel_robot import ParallelRobot
from dyn_core.algorithms.parallel.platform_mobility import fixed_directions, mobility, own_directions_change
from dyn_core.core.errors import DynError, listed
from dyn_core.geometry.forward import link_placements
from dyn_core.geometry.path import lineage
from dyn_core.linalg.transform import Transform, compose, inverse
from dyn_core.model.loop import Loop, LoopEnd, LoopType
from dyn_core.parallel.assembled import Assembled, assembled
from dyn_core.parallel.closed_form import closed_form
from dyn_core.parallel.components import independent_components
from dyn_core.parallel.leg import AxisPair, Leg
from dyn_core.parallel.leg_positions import cleaned
from dyn_core.parallel.leg_robot import leg_robot
from dyn_core.robot.joints import Sigma
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.vec3 import Vec3

COMMON = {LoopType.SPHERICAL: 3, LoopType.UNIVERSAL: 4, LoopType.REVOLUTE: 5, LoopType.FIXED: 6}
"""Components of motion that a leg and the platform have in common, by the type of their cut joint."""


def parallel_robot(robot: Robot, platform: str) -> ParallelRobot:
    """Answer the platform and the legs of a robot.

    Args:
        robot: a tree with loops, in which passive joints place the platform on the base, and every other
            branch is a leg that one loop connects to the platform.
        platform: name of the link that is the platform.

    Raises:
        DynError: the robot is not of that kind, or its actuators are too few or too many.
    """
    frame = robot.link_frame(platform)
    chain = _chain(robot, platform, frame.body)
    taken = set(chain)
    legs = []
    for loop in robot.loops:
        end, on_platform = _ends(robot, loop, platform, frame.body)
        bodies = tuple(reversed(lineage(robot, robot.link_frame(end.link).body)))
        _is_leg(robot, loop, bodies, taken)
        taken.update(bodies)
        legs.append(_leg(robot, loop, end, on_platform, bodies, platform))
    left = [j for j in range(1, len(robot.joints) + 1) if j not in taken]
    if left or not legs:
        raise _no_leg(robot, left)
    legs.sort(key=lambda leg: leg.bodies)
    home = assembled(legs, _near(robot, platform, legs), fixed_directions(robot, platform, chain))
    T_home = _readable(home.T)
    complete = tuple(_determined(leg, T_home, q) for leg, q in zip(legs, home.q, strict=True))
    found = ParallelRobot(robot, platform, frame.body, chain, complete, (), T_home, home.q)
    found = replace(found, mobility=mobility(found))
    _count_actuators(found)
    return found


def _chain(robot: Robot, platform: str, body: int) -> tuple[int, ...]:
    chain = tuple(reversed(lineage(robot, body)))
    if not chain:
        raise _fail(platform, "it is fixed to the base: name the link that the legs carry")
    for j in chain:
        joint = robot.joints[j - 1]
        carried = [other.name for k, other in enumerate(robot.joints, 1) if other.antecedent == j]
        if joint.mu == 1 or joint.mimic is not None:
            raise _fail(
                platform,
                f"joint '{joint.name}', which is between the base and it, is no passive joint: let passive "
                "joints alone, such as a floating joint, place the platform, and close all legs by loops",
            )
        if joint.Ia != 0.0 or any((joint.friction.Fv, joint.friction.Fs, joint.friction.Fo)):
            raise _fail(platform, f"joint '{joint.name}' places it and has friction or a rotor: remove them")
        if j != body and any(value != 0.0 for value in robot.bodies[j].values):
            raise _fail(platform, f"joint '{joint.name}', which places it, carries another link with mass")
        if (len(carried) > 1) if j != body else carried:
            raise _fail(platform, f"it carries the joints {listed(carried)}: only loops may end on it")
    if own_directions_change(robot, platform, chain):
        revolute = next(robot.joints[j - 1] for j in chain if robot.joints[j - 1].sigma is Sigma.REVOLUTE)
        raise _fail(
            platform,
            f"joint '{revolute.name}', which places it, is revolute, and turns the directions in which the "
            "platform can move: let a floating or planar joint place it, or slides alone",
        )
    return chain


def _ends(robot: Robot, loop: Loop, platform: str, body: int) -> tuple[LoopEnd, LoopEnd]:
    """Answer the end of a loop that is on a leg, and the one that is on the platform."""
    ends = (loop.parent, loop.child)
    on_platform = [robot.link_frame(end.link).body == body for end in ends]
    if sum(on_platform) != 1:
        raise DynError(
            f"loop '{loop.name}' connects '{ends[0].link}' and '{ends[1].link}', and not a leg with the "
            f"platform '{platform}': a parallel robot has no other loops",
            element=f"loop '{loop.name}'",
        )
    return (ends[1], ends[0]) if on_platform[0] else ends


def _is_leg(robot: Robot, loop: Loop, bodies: Sequence[int], taken: Iterable[int]) -> None:
    shared = [robot.joints[j - 1].name for j in bodies if j in taken]
    joints = [robot.joints[j - 1] for j in bodies]
    count = len(joints)
    problem = None
    if not joints:
        problem = "it connects the platform to the base, without a leg between them"
    elif shared:
        problem = f"its leg has the joints {listed(shared)} in common with another leg or the platform"
    elif any(joint.mimic is not None for joint in joints):
        problem = "a joint of its leg mimics another"
    elif loop.type not in COMMON:
        problem = f"its type is {loop.type.value}: a leg ends in one of {listed(t.value for t in COMMON)}"
    elif count > COMMON[loop.type]:
        problem = (
            f"its leg has {count} joints, of which a {loop.type.value} joint on the platform determines "
            f"{COMMON[loop.type]}: a part of the leg can turn idly"
        )
    if problem:
        raise DynError(f"loop '{loop.name}': {problem}", element=f"loop '{loop.name}'")


def _leg(
    robot: Robot,
    loop: Loop,
    end: LoopEnd,
    on_platform: LoopEnd,
    bodies: tuple[int, ...],
    platform: str,
) -> Leg:
    T_body_cut = compose(robot.link_frame(end.link).T_body_link, end.T_link_cut)
    T_platform_cut = compose(_between(robot, platform, on_platform.link), on_platform.T_link_cut)
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
    """Answer the leg with the components that determine it, and its closed form."""
    leg = replace(leg, components=independent_components(leg, T_home, q))
    form = closed_form(leg.robot, leg.point, q) if leg.components == (0, 1, 2) else None
    return replace(leg, closed_form=form)


def _pairs(loop: Loop, T_body_cut: Transform, T_platform_cut: Transform, own: bool) -> tuple[AxisPair, ...]:
    """Answer the pairs of axes of a cut joint, of which the parent (`own`) or the child is on the leg."""
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


def _between(robot: Robot, platform: str, link: str) -> Transform:
    """Placement in the frame of the platform of a link that is fixed to it."""
    return compose(inverse(robot.link_frame(platform).T_body_link), robot.link_frame(link).T_body_link)


def _without_rounding(p: Vec3) -> Vec3:
    """Answer a position in which what is 0 up to rounding is so exactly."""
    size = 1e-14 * max(vec3.norm(p), 1.0)
    x, y, z = (0.0 if abs(a) <= size else a for a in p)
    return (x, y, z)


def _near(robot: Robot, platform: str, legs: Sequence[Leg]) -> Assembled:
    """Answer where the platform and the legs are in the assembly."""
    given = dict(robot.assembly)
    q = [given.get(joint.name, 0.0) for joint in robot.joints]
    T = link_placements(robot, q)[platform]
    return Assembled(_readable(T), tuple(tuple(q[j - 1] for j in leg.bodies) for leg in legs))


def _readable(T: Transform) -> Transform:
    """Answer a placement whose rotation has exact zeros and ones."""
    x, y, z = (cleaned(row) for row in T.R)
    return Transform((x, y, z), T.p)


def _no_leg(robot: Robot, left: Sequence[int]) -> DynError:
    if left:
        names = listed(robot.joints[j - 1].name for j in left)
        return DynError(f"robot '{robot.name}': no loop connects the joints {names} to the platform")
    return DynError(f"robot '{robot.name}' has no loops: give a side file that connects its legs")


def _count_actuators(found: ParallelRobot) -> None:
    actuators, freedom = len(found.actuated), len(found.mobility)
    if actuators == freedom:
        return
    which = "too few" if actuators < freedom else "too many"
    raise DynError(
        f"robot '{found.robot.name}': the platform '{found.platform}' has {freedom} degrees of freedom and "
        f"{actuators} actuated joints, {which}: say in the side file which joints are passive"
    )


def _fail(platform: str, what: str) -> DynError:
    return DynError(f"platform '{platform}': {what}", element=f"link '{platform}'")
