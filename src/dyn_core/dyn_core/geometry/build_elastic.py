# SPDX-License-Identifier: Apache-2.0
"""Springs of a side file, given to the robot that they belong to.

A joint with a spring in the place of an actuator stays as it is, and has no actuator (Khalil 2010, sec. 6). A
motor in series with a spring becomes a joint of its own, after those of the tree: it turns a body without
mass on the antecedent of the joint, about the same axis, so that its position is that of the motor as seen at
the joint. Rotor inertia, friction and greatest effort, which belong to the drive, go over to it
(SYMORO+ 2003, sec. 3.3.2.5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dyn_core.core.errors import DynError
from dyn_core.model.elasticity import Elasticity
from dyn_core.model.link_frame import LinkFrame
from dyn_core.robot.joints import Friction, Joint, Limits
from dyn_core.robot.links import InertialParameters
from dyn_core.robot.robot import Robot
from dyn_core.robot.side_file.reader import SideMotor, SideSpring


def motor_name(joint: str) -> str:
    """Name of the joint of the motor of a series-elastic joint."""
    return f"{joint}_motor"


def with_springs(
    robot: Robot,
    springs: Mapping[str, SideSpring],
    passive: Sequence[str] = (),
    driven: Sequence[str] = (),
) -> Robot:
    """Answer the robot with springs in joints that it has; DynError where one cannot have its spring.

    Args:
        robot: the robot.
        springs: the springs, by joint.
        passive: joints that the side file says have no actuator.
        driven: names that the URDF gives an actuator.
    """
    if not springs:
        return robot
    if robot.loops:
        name, spring = next(iter(springs.items()))
        raise _fail(
            name,
            spring,
            f"the robot has loops ('{robot.loops[0].name}'), and elastic joints of robots with loops are not "
            "modelled: take out the loops, or the spring",
        )
    joints, frames = list(robot.joints), list(robot.link_frames)
    motors: list[Joint] = []
    for j, joint in enumerate(robot.joints, start=1):
        if joint.name not in springs:
            continue
        spring = springs[joint.name]
        if spring.motor is None:
            _check_unmoved(joint, spring, joint.name in driven)
            joints[j - 1] = replace(joint, mu=0, elastic=_elasticity(spring))
            continue
        if joint.name in passive:
            raise _fail(
                joint.name, spring, "it has a motor, but is named in passive, too: take it out of one of them"
            )
        number = len(robot.joints) + len(motors) + 1
        motor = _motor(robot, joint, spring, spring.motor)
        motors.append(motor)
        placement = next(frame.T_body_link for frame in robot.link_frames if frame.body == j)
        frames.append(LinkFrame(f"{motor.name}_link", number, placement))
        elastic = replace(_elasticity(spring), motor=number, gear=spring.motor.gear)
        limits = replace(joint.limits, effort=None)
        joints[j - 1] = replace(joint, mu=0, Ia=0.0, friction=Friction(), limits=limits, elastic=elastic)
    bodies = (*robot.bodies, *(InertialParameters() for _ in motors))
    return replace(robot, joints=(*joints, *motors), bodies=bodies, link_frames=tuple(frames))


def without_springs(robot: Robot) -> Robot:
    """Answer the same robot with rigid joints: what the motors had belongs to the joints again."""
    numbers = {joint.elastic.motor for joint in robot.joints if joint.elastic and joint.elastic.motor}
    joints = []
    for j, joint in enumerate(robot.joints, start=1):
        spring = joint.elastic
        if j in numbers:
            continue
        if spring is not None and spring.motor:
            motor = robot.joints[spring.motor - 1]
            limits = replace(joint.limits, effort=motor.limits.effort)
            joint = replace(joint, mu=1, Ia=motor.Ia, friction=motor.friction, limits=limits)
        joints.append(replace(joint, elastic=None))
    return replace(
        robot,
        joints=tuple(joints),
        bodies=tuple(body for j, body in enumerate(robot.bodies) if j not in numbers),
        link_frames=tuple(frame for frame in robot.link_frames if frame.body not in numbers),
    )


def _elasticity(spring: SideSpring) -> Elasticity:
    return Elasticity(spring.stiffness, spring.rest, spring.damping)


def _check_unmoved(joint: Joint, spring: SideSpring, driven: bool) -> None:
    """DynError where a joint that only its spring can move has an actuator."""
    if driven:
        raise _fail(
            joint.name,
            spring,
            "the URDF gives it an actuator, but an elastic joint has none: take the actuator out, or, if a "
            "motor drives it through the spring, give its motor",
        )
    if joint.Ia != 0.0:
        raise _fail(
            joint.name,
            spring,
            f"it has a rotor inertia of {joint.Ia:g}, but an elastic joint has no rotor: take it out, or, "
            "if a motor drives it through the spring, give its motor",
        )


def _motor(robot: Robot, joint: Joint, spring: SideSpring, motor: SideMotor) -> Joint:
    """Answer the joint of the motor of a series-elastic joint."""
    name = motor_name(joint.name)
    if name in {other.name for other in robot.joints} or f"{name}_link" in robot.link_names:
        what = f"its motor becomes the joint '{name}', whose name is taken: rename that one"
        raise _fail(joint.name, spring, what)
    Ia = joint.Ia
    if motor.inertia is not None:
        if Ia != 0.0:
            raise _fail(
                joint.name,
                spring,
                f"the inertia of its motor is given twice, as {motor.inertia:g} kg m^2 at the shaft and as a "
                f"rotor inertia of {Ia:g} at the joint: take one out",
            )
        Ia = motor.inertia * motor.gear * motor.gear
    if not 0.0 < Ia < math.inf:
        why = "give motor: {inertia, gear}"
        if motor.inertia is not None:
            why = (
                f"it is the inertia {motor.inertia:g} kg m^2 times the square of the gear {motor.gear:g}: "
                "check both"
            )
        raise _fail(joint.name, spring, f"the inertia of its motor is {Ia:g} at the joint: {why}")
    limits = Limits(velocity=joint.limits.velocity, effort=joint.limits.effort)
    return replace(joint, name=name, mu=1, Ia=Ia, limits=limits)


def _fail(joint: str, spring: SideSpring, what: str) -> DynError:
    where = f" (line {spring.line})" if spring.line else ""
    return DynError(
        f"elastic of joint '{joint}'{where}: {what}", element=f"joint '{joint}'", line=spring.line or None
    )
