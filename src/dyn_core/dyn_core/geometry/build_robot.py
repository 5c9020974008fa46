# SPDX-License-Identifier: Apache-2.0
"""A URDF description to the robot in MDH notation."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_core.geometry.inertias import link_inertia
from dyn_core.geometry.joint_frames import JointFrame, joint_frames
from dyn_core.geometry.joint_tree import JointTree, MovingJoint, joint_tree
from dyn_core.io.compound_joints import with_simple_joints
from dyn_core.io.mimic_chain import followed_joints
from dyn_core.linalg.transform import compose, inverse
from dyn_core.model.link_frame import LinkFrame
from dyn_core.robot.description import UrdfDescription, UrdfJoint, UrdfLoop
from dyn_core.robot.joints import Friction, Joint, Limits, Mimic, Sigma
from dyn_core.robot.links import InertialParameters, merge
from dyn_core.robot.robot import Robot
from dyn_core.robot.side_file.conversion import with_loops
from dyn_core.symbolic.vec3 import Vec3


def build_robot(
    description: UrdfDescription,
    gravity: Vec3,
    description_hash: str,
    mimic: bool = True,
    more_loops: Sequence[UrdfLoop] = (),
) -> Robot:
    """Answer the robot of a description.

    Args:
        description: what the URDF says.
        gravity: acceleration of gravity in the frame of the root link (m/s^2).
        description_hash: SHA-256 of the URDF text.
        mimic: whether mimic joints follow what they mimic, or move freely.
        more_loops: loops that the robot will be given, for the choice of its frames.
    """
    description = with_simple_joints(description)
    tree = joint_tree(description)
    T_root_0, frames = joint_frames(tree, (*description.loops, *more_loops))
    T_body_urdf = [inverse(T_root_0), *(inverse(frame.T_urdf_frame) for frame in frames)]

    bodies = [InertialParameters()] * len(T_body_urdf)
    link_frames = []
    for link in tree.links:
        T_body_link = compose(T_body_urdf[link.body], link.T_joint_link)
        link_frames.append(LinkFrame(link.urdf.name, link.body, T_body_link))
        bodies[link.body] = merge(bodies[link.body], link_inertia(link.urdf, T_body_link))
    mimics = _mimics(description, tree) if mimic else {}
    passive = set(description.passive)
    joints = (
        _joint(joint, frame, mimics.get(joint.urdf.name), joint.urdf.name in passive)
        for joint, frame in zip(tree.joints, frames, strict=True)
    )
    robot = Robot(
        name=description.name,
        joints=tuple(joints),
        bodies=tuple(bodies),
        link_frames=tuple(link_frames),
        gravity=gravity,
        T_root_0=T_root_0,
        description_hash=description_hash,
    )
    return with_loops(robot, description.loops, description.driven)


def _mimics(description: UrdfDescription, tree: JointTree) -> dict[str, Mimic]:
    number = {joint.urdf.name: j for j, joint in enumerate(tree.joints, start=1)}
    return {
        name: Mimic(number[leader] if leader is not None else 0, multiplier, offset)
        for name, (leader, multiplier, offset) in followed_joints(description.joints).items()
    }


def _joint(joint: MovingJoint, frame: JointFrame, mimic: Mimic | None, passive: bool) -> Joint:
    urdf = joint.urdf
    return Joint(
        name=urdf.name,
        antecedent=joint.antecedent,
        sigma=Sigma.PRISMATIC if urdf.type == "prismatic" else Sigma.REVOLUTE,
        mdh=frame.mdh,
        origin=frame.origin,
        mu=0 if mimic or passive else 1,
        friction=Friction(Fv=urdf.damping, Fs=urdf.friction),
        Ia=urdf.rotor_inertia,
        limits=_limits(urdf),
        mimic=mimic,
    )


def _limits(joint: UrdfJoint) -> Limits:
    """Limits, where 0 effort, 0 velocity and a range from 0 to 0 are exporters' "not known"."""
    limit = joint.limit
    bounded = joint.type != "continuous" and (limit.lower, limit.upper) != (0.0, 0.0)
    return Limits(
        lower=limit.lower if bounded else None,
        upper=limit.upper if bounded else None,
        velocity=limit.velocity or None,
        effort=limit.effort or None,
    )
