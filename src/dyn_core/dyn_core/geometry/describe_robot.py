# SPDX-License-Identifier: Apache-2.0
"""A robot in MDH notation to a URDF description: what `build_robot` undoes.

Links, their frames and the positions of the joints are those of the description that the robot came
from. The first link of a body carries the inertia of the whole body; the others hang on it by fixed
joints.
"""

from __future__ import annotations

from dyn_core.core.errors import DynError
from dyn_core.geometry.joint_transform import joint_transform
from dyn_core.geometry.tolerance import clean_angle, clean_length
from dyn_core.linalg.transform import Transform, compose, inverse
from dyn_core.model.link_frame import LinkFrame
from dyn_core.model.loop import Loop, LoopEnd
from dyn_core.robot.description import (
    Triple,
    UrdfDescription,
    UrdfInertial,
    UrdfJoint,
    UrdfLimit,
    UrdfLink,
    UrdfLoop,
    UrdfLoopEnd,
    UrdfMimic,
    UrdfOrigin,
)
from dyn_core.robot.joints import Joint, Limits, Sigma
from dyn_core.robot.links import InertialParameters, in_frame
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.transform import rpy_from_rotation


def describe_robot(robot: Robot) -> UrdfDescription:
    """Answer a URDF description of a robot; DynError where URDF cannot describe it."""
    first: dict[int, LinkFrame] = {}
    for frame in robot.link_frames:
        first.setdefault(frame.body, frame)
    links = tuple(
        UrdfLink(frame.name, 0, link_inertial(robot, frame) if frame is first[frame.body] else None)
        for frame in robot.link_frames
    )
    any_leader = next(iter(robot.coordinates), 0)
    moving = tuple(_joint(robot, j, first, any_leader) for j in range(1, len(robot.joints) + 1))
    names = {joint.name for joint in moving}
    fixed = []
    for frame in robot.link_frames:
        if frame is not first[frame.body]:
            fixed.append(_fixed_joint(frame, first[frame.body], names))
            names.add(fixed[-1].name)
    return UrdfDescription(
        name=robot.name,
        root=first[0].name,
        links=links,
        joints=(*moving, *fixed),
        loops=tuple(map(_loop, robot.loops)),
        passive=robot.passive_joint_names,
    )


def _joint(robot: Robot, j: int, first: dict[int, LinkFrame], any_leader: int) -> UrdfJoint:
    joint = robot.joints[j - 1]
    parent, child = first[joint.antecedent], first[j]
    still = any_leader == 0  # there is no joint that could be mimicked
    iTj = joint_transform(joint, joint.mimic.offset if still and joint.mimic else 0.0)
    T_parent_child = compose(inverse(parent.T_body_link), compose(iTj, child.T_body_link))
    return UrdfJoint(
        name=joint.name,
        line=0,
        type="fixed" if still else _type(joint),
        parent=parent.name,
        child=child.name,
        origin=_origin(T_parent_child),
        axis=_clean(child.T_body_link.R[2], 1.0),
        limit=_limit(joint),
        damping=joint.friction.Fv,
        friction=joint.friction.Fs,
        rotor_inertia=joint.Ia,
        mimic=None if still else _mimic(robot, joint, any_leader),
    )


def _type(joint: Joint) -> str:
    if joint.sigma is Sigma.PRISMATIC:
        return "prismatic"
    return "continuous" if joint.limits.lower is None else "revolute"


def _limit(joint: Joint) -> UrdfLimit:
    """Limits, with URDF's 0 for those that are not known where URDF wants them all."""
    limits = joint.limits
    if _type(joint) == "continuous" and limits == Limits():
        return UrdfLimit()
    return UrdfLimit(limits.lower, limits.upper, limits.effort or 0.0, limits.velocity or 0.0)


def _mimic(robot: Robot, joint: Joint, any_leader: int) -> UrdfMimic | None:
    if joint.mimic is None:
        return None
    leader = joint.mimic.leader or any_leader  # times 0
    return UrdfMimic(robot.joints[leader - 1].name, 0, joint.mimic.multiplier, joint.mimic.offset)


def _fixed_joint(frame: LinkFrame, carrier: LinkFrame, taken: set[str]) -> UrdfJoint:
    name = f"{frame.name}_fixed"
    while name in taken:
        name += "_"
    origin = _origin(compose(inverse(carrier.T_body_link), frame.T_body_link))
    return UrdfJoint(name, 0, "fixed", carrier.name, frame.name, origin)


def link_inertial(robot: Robot, frame: LinkFrame) -> UrdfInertial | None:
    """Inertia of a whole body, in the frame of one of its links."""
    body = in_frame(inverse(frame.T_body_link), robot.bodies[frame.body])
    if body == InertialParameters():
        return None
    if body.M == 0.0 and body.MS != vec3.ZERO:
        raise DynError(
            f"the body of link '{frame.name}' has first moments but no mass, as base parameters have: "
            "URDF cannot say that, a .par file can",
            element=f"link '{frame.name}'",
        )
    centre = vec3.scale(1.0 / body.M, body.MS) if body.M != 0.0 else vec3.ZERO
    central = in_frame(Transform(mat3.IDENTITY, vec3.neg(centre)), body)
    return UrdfInertial(UrdfOrigin(xyz=centre), body.M, *central.values[:6])


def _loop(loop: Loop) -> UrdfLoop:
    ends = (_loop_end(loop.parent), _loop_end(loop.child))
    return UrdfLoop(loop.name, 0, loop.type.value, *ends, loop.axis, loop.child_axis)


def _loop_end(end: LoopEnd) -> UrdfLoopEnd:
    return UrdfLoopEnd(end.link, _origin(end.T_link_cut))


def _origin(T: Transform) -> UrdfOrigin:
    roll, pitch, yaw = rpy_from_rotation(T.R)
    size = max(map(abs, T.p))
    return UrdfOrigin(_clean(T.p, size), (clean_angle(roll), clean_angle(pitch), clean_angle(yaw)))


def _clean(v: Triple, size: float) -> Triple:
    """Answer a vector with exact zeros for the components that are rounding of the others."""
    return (clean_length(v[0], size), clean_length(v[1], size), clean_length(v[2], size))
