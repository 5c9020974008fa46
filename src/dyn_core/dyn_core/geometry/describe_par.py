# SPDX-License-Identifier: Apache-2.0
"""A robot to what a .par file says of it: what `build_par` undoes.

A .par file has no names of links, frames of tools, limits, or mass of the base: these are left out.
A joint that stands still becomes a fixed frame.
"""

from __future__ import annotations

from fractions import Fraction

from dyn_core.core.errors import DynError
from dyn_core.linalg.angle import cos_sin
from dyn_core.model.loop import Loop, LoopType
from dyn_core.model.mdh_parameters import MdhParameters
from dyn_core.robot.joints import Joint, Sigma
from dyn_core.robot.mdh.frames import transform_from_mdh
from dyn_core.robot.par.reader import FIXED, ParFrame, ParLink, ParRobot, ParVariable
from dyn_core.robot.robot import Robot
from dyn_core.symbolic import vec3
from dyn_core.symbolic.vec3 import Vec3

_DIGITS_LOST = 1e-14


def describe_par(robot: Robot) -> ParRobot:
    """Answer what a .par file says of a robot; DynError where it cannot describe it."""
    n, cuts = len(robot.joints), len(robot.loops)
    frames = [_joint_frame(j, joint) for j, joint in enumerate(robot.joints, start=1)]
    pairs = [_cut_frames(n + k, loop) for k, loop in enumerate(robot.loops, start=1)]
    frames += [frame for frame, _ in pairs] + [other for _, other in pairs]
    (R, p) = robot.T_root_0
    return ParRobot(
        name=robot.name,
        joint_names=tuple(joint.name for joint in robot.joints if not _stands_still(joint)),
        joint_count=n + cuts,
        frames=tuple(frames),
        links=tuple(
            ParLink(body.values, joint.Ia, joint.friction.Fv, joint.friction.Fs)
            for joint, body in zip(robot.joints, robot.bodies[1:], strict=True)
        ),
        gravity=robot.gravity_0,
        Z=(*R[0], p[0], *R[1], p[1], *R[2], p[2], 0.0, 0.0, 0.0, 1.0),
        remarks=(),
    )


def _stands_still(joint: Joint) -> bool:
    return joint.mimic is not None and joint.mimic.leader == 0


def _joint_frame(j: int, joint: Joint) -> ParFrame:
    variable = ParVariable(j, 1.0)
    offset = 0.0
    if joint.mimic is not None:
        variable = ParVariable(joint.mimic.leader, joint.mimic.multiplier)
        offset = joint.mimic.offset
    turn, slide = (offset, 0.0) if joint.sigma is Sigma.REVOLUTE else (0.0, offset)
    still = _stands_still(joint)
    return _frame(
        joint.antecedent,
        FIXED if still else joint.sigma,
        joint.mu,
        joint.mdh,
        joint.origin,
        None if still else variable,
        turn,
        slide,
    )


def _frame(
    antecedent: int,
    sigma: int,
    mu: int,
    mdh: MdhParameters,
    origin: Vec3,
    variable: ParVariable | None,
    turn: float = 0.0,
    slide: float = 0.0,
) -> ParFrame:
    """Answer a frame at `origin`, turned and slid along z.

    Where axes are almost parallel, b and r are large and cancel (see `Joint.origin`). There r is what
    gives the position across z_i with the float that alpha is, and b, with all the digits that it
    takes, the position along z_i.
    """
    gamma_c, gamma_s = cos_sin(mdh.gamma)
    alpha_c, alpha_s = cos_sin(mdh.alpha)
    b, r = Fraction(mdh.b), mdh.r + slide
    moved = vec3.sub(transform_from_mdh(mdh).p, origin)
    if vec3.norm(moved) > _DIGITS_LOST * (vec3.norm(origin) + abs(slide)):
        r = (origin[0] * gamma_s - origin[1] * gamma_c) / alpha_s + slide
        b = Fraction(origin[2]) + (Fraction(slide) - Fraction(r)) * Fraction(alpha_c)
    return ParFrame(
        line=0,
        antecedent=antecedent,
        sigma=int(sigma),
        mu=mu,
        gamma=mdh.gamma,
        b=float(b),
        alpha=mdh.alpha,
        d=mdh.d,
        theta=mdh.theta + turn,
        r=r,
        exact_b=b,
        words=("", "", ""),
        variable=variable,
    )


def _sigma(loop: Loop) -> Sigma:
    if loop.type is LoopType.REVOLUTE:
        return Sigma.REVOLUTE
    if loop.type is LoopType.PRISMATIC:
        return Sigma.PRISMATIC
    raise DynError(
        f"loop '{loop.name}' is {loop.type.value}: a .par file can describe revolute loops and "
        "prismatic ones",
        element=f"loop '{loop.name}'",
    )


def _cut_frames(k: int, loop: Loop) -> tuple[ParFrame, ParFrame]:
    """Answer frames k and k+B of a cut joint, as the table of geometric parameters has them."""
    sigma = _sigma(loop)
    assert loop.frames is not None
    frame, other = loop.frames
    return (
        _frame(frame.antecedent, sigma, 0, frame.mdh, frame.origin, ParVariable(k, 1.0)),
        _frame(other.antecedent, FIXED, 0, other.mdh, other.origin, None),
    )
