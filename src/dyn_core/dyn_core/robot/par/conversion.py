# SPDX-License-Identifier: Apache-2.0
"""Convert a `ParRobot` to a robot, and back; both have the same frames.

Frame j is link ``link_j``, joint j is ``joint_j`` unless the file names its joints. Frames of type 2 are
fixed on the body of their antecedent, with their inertia. With NJ > NL the frames NL + 1 to NJ are those of
cut joints, and NJ + 1 to 2 NJ - NL those on the other side of their loop (SYMORO+ 2003, sec. 1.5).

A .par file has no names of links, frames of tools, limits, or mass of the base: these are left out. A joint
that stands still becomes a fixed frame.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from dyn_core.core.errors import DynError
from dyn_core.core.findings import Place
from dyn_core.robot.joints import (
    Friction,
    Joint,
    Limits,
    Loop,
    LoopEnd,
    LoopType,
    MdhParameters,
    Mimic,
    Sigma,
)
from dyn_core.robot.links import InertialParameters, LinkFrame, in_frame, merge
from dyn_core.robot.mdh.frames import mdh_from_transform, transform_from_mdh
from dyn_core.robot.mdh_table import FIXED
from dyn_core.robot.par.reader import ParFrame, ParLink, ParRobot, ParVariable
from dyn_core.robot.robot import Robot, Snapped
from dyn_core.robot.urdf.conversion import Followed, Snap, snapped_angles
from dyn_core.robot.urdf.locked_joints import Locking, locked_positions
from dyn_core.robot.xml_text import LARGEST_LENGTH
from dyn_core.symbolic import mat3, vec3
from dyn_core.symbolic.scalar import cos_sin
from dyn_core.symbolic.transform import IDENTITY, Transform, compose, inverse
from dyn_core.symbolic.vec3 import Vec3

_ORTHONORMAL = 1e-6


def build_par(
    par: ParRobot,
    gravity: Vec3 | None,
    description_hash: str,
    mimic: bool,
    snap: Snap,
    locking: Locking | None = None,
) -> Robot:
    """Return the robot of a .par file.

    Args:
        par: contents of the file.
        gravity: acceleration of gravity in the root frame (m/s^2); None for that of the file.
        description_hash: SHA-256 of the text.
        mimic: True if joints with the variable of another follow it, False if they move freely.
        snap: as in `load_robot`.
        locking: which joints stand still; None for none.
    """
    frames, snapped = _snapped_frames(par.frames, snap)
    names = _joint_names(par)
    frames, locked = (frames, {}) if locking is None else _locked_frames(frames, names, locking, mimic)
    T_root_0 = _base_placement(par.Z)
    tree = _Tree(LinkFrame("link_0", 0, inverse(T_root_0)), names)
    for j, frame in enumerate(frames[: len(par.links)], start=1):
        tree.add(j, frame, par.links[j - 1])
    if gravity is None:
        if par.gravity is None:
            raise DynError("gravity-missing", element="G")
        gravity = mat3.mul_vec(T_root_0.R, par.gravity)
    tree.couple(frames, mimic)
    loops = _loops(par, frames, tree)
    return Robot(
        name=par.name,
        joints=tuple(tree.joints),
        bodies=tuple(tree.bodies),
        link_frames=tuple(tree.links),
        gravity=gravity,
        T_root_0=T_root_0,
        description_hash=description_hash,
        loops=loops,
        snapped=snapped,
        locked=tuple(locked.items()),
    )


class _Tree:
    """The bodies as they grow, frame by frame."""

    def __init__(self, root: LinkFrame, names: dict[int, str]) -> None:
        self.names = names
        self.joints: list[Joint] = []
        self.bodies = [InertialParameters()]
        self.links = [root]
        self.placed = {0: (0, IDENTITY)}  # by frame: its body, and its placement on it
        self.joint_of_frame: dict[int, int] = {}

    def add(self, j: int, frame: ParFrame, link: ParLink) -> None:
        body, T_body_i = self.placed[frame.antecedent]
        inertial = InertialParameters(*link.inertial)
        if frame.sigma == FIXED:
            self.place(j, frame)
            body, T_body_j = self.placed[j]
            self.bodies[body] = merge(self.bodies[body], in_frame(T_body_j, inertial))
            self.links.append(LinkFrame(f"link_{j}", body, T_body_j))
            return
        mdh, origin = _mdh(frame), _placement(frame).p
        if T_body_i != IDENTITY:
            T = compose(T_body_i, _placement(frame))
            mdh, origin = mdh_from_transform(*T, max(map(abs, T.p))), T.p
        self.joints.append(
            Joint(
                name=self.names[j],
                antecedent=body,
                sigma=Sigma(frame.sigma),
                mdh=mdh,
                origin=origin,
                mu=frame.mu,
                friction=Friction(Fv=link.Fv, Fs=link.Fs),
                Ia=link.Ia,
            )
        )
        self.bodies.append(inertial)
        self.joint_of_frame[j] = len(self.joints)
        self.placed[j] = (len(self.joints), IDENTITY)
        self.links.append(LinkFrame(f"link_{j}", len(self.joints), IDENTITY))

    def place(self, j: int, frame: ParFrame) -> None:
        """Place a frame that does not move on its antecedent, or that of a cut joint at 0."""
        body, T_body_i = self.placed[frame.antecedent]
        self.placed[j] = (body, compose(T_body_i, _placement(frame)))

    def couple(self, frames: tuple[ParFrame, ...], mimic: bool) -> None:
        """Let the joints with the variable of another joint follow it."""
        for j, number in self.joint_of_frame.items():
            variable = frames[j - 1].variable
            if variable is None or variable.frame == j or not mimic:
                continue
            leader = frames[variable.frame - 1].variable
            if variable.frame not in self.joint_of_frame or leader is None or leader.frame != variable.frame:
                line, element = frames[j - 1].line, f"frame {j}"
                raise DynError(
                    "frame-variable-dependent",
                    frame=j,
                    frame_line=line,
                    leader=variable.frame,
                    element=element,
                )
            follows = Mimic(self.joint_of_frame[variable.frame], variable.coefficient, 0.0)
            self.joints[number - 1] = replace(self.joints[number - 1], mimic=follows, mu=0)


def _joint_names(par: ParRobot) -> dict[int, str]:
    """Return the names of the joints by frame: those of the comment if it has a different one for each."""
    moving = [j for j, frame in enumerate(par.frames[: len(par.links)], start=1) if frame.sigma != FIXED]
    names = par.joint_names
    if len(names) == len(moving) == len(set(names)) and all(names):
        return dict(zip(moving, names, strict=True))
    return {j: f"joint_{j}" for j in moving}


def _snapped_frames(
    frames: tuple[ParFrame, ...], snap: Snap
) -> tuple[tuple[ParFrame, ...], tuple[Snapped, ...]]:
    result: list[ParFrame] = []
    records: list[Snapped] = []
    for j, frame in enumerate(frames, start=1):
        given = (frame.gamma, frame.alpha, frame.theta)
        used = given if snap == 0.0 else snapped_angles(given, frame.words, snap)
        result.append(replace(frame, gamma=used[0], alpha=used[1], theta=used[2]))
        for name, a, b in zip(("gamma", "alpha", "theta"), given, used, strict=True):
            if a != b:
                records.append(Snapped(f"frame {j}", name, frame.line, a, b, Place(f"frame {j}")))
    return tuple(result), tuple(records)


def _locked_frames(
    frames: tuple[ParFrame, ...], names: dict[int, str], locking: Locking, mimic: bool
) -> tuple[tuple[ParFrame, ...], dict[str, float]]:
    """Return the frames with those of locked joints fixed, and where these stand."""
    followed = {
        name: Followed(names.get(variable.frame), variable.coefficient, 0.0)
        for j, name in names.items()
        if mimic and (variable := frames[j - 1].variable) is not None and variable.frame != j
    }
    limits = {name: Limits() for name in names.values() if name not in followed}
    at = locked_positions(locking, limits, followed)
    found = list(frames)
    for j, name in names.items():
        if name in at:
            frame = frames[j - 1]
            moved = "r" if frame.sigma == Sigma.PRISMATIC else "theta"
            place = {moved: getattr(frame, moved) + at[name]}
            found[j - 1] = replace(frame, sigma=FIXED, variable=None, **place)
    return tuple(found), at


def _mdh(frame: ParFrame) -> MdhParameters:
    return MdhParameters(frame.gamma, frame.b, frame.alpha, frame.d, frame.theta, frame.r)


def _placement(frame: ParFrame) -> Transform:
    """Return iTj with the variable at 0, where b + r cos(alpha) keeps all digits (see `Joint.origin`)."""
    R, (x, y, z) = transform_from_mdh(_mdh(frame))
    if frame.exact_b != Fraction(frame.b):
        c, _ = cos_sin(frame.alpha)
        z = float(frame.exact_b + Fraction(frame.r) * Fraction(c))
    if max(abs(x), abs(y), abs(z)) > LARGEST_LENGTH:
        raise DynError("frame-too-far", place=Place(line=frame.line), limit=LARGEST_LENGTH)
    return Transform(R, (x, y, z))


def _base_placement(Z: tuple[float, ...]) -> Transform:
    if not Z:
        return IDENTITY
    R = ((Z[0], Z[1], Z[2]), (Z[4], Z[5], Z[6]), (Z[8], Z[9], Z[10]))
    product = mat3.mul(R, mat3.transpose(R))
    error = max(abs(product[a][b] - float(a == b)) for a in range(3) for b in range(3))
    (a, b, c), (d, e, f), (g, h, i) = R
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if not error < _ORTHONORMAL or determinant < 0.0 or Z[12:] != (0.0, 0.0, 0.0, 1.0):
        raise DynError("base-placement-invalid", element="Z")
    return Transform(R, (Z[3], Z[7], Z[11]))


def _loops(par: ParRobot, frames: tuple[ParFrame, ...], tree: _Tree) -> tuple[Loop, ...]:
    NL, NJ = len(par.links), par.joint_count
    for j in range(NL + 1, len(frames) + 1):
        tree.place(j, frames[j - 1])
        if j > 2 * NJ - NL:  # frames that are of no loop: tools
            body, T_body_j = tree.placed[j]
            tree.links.append(LinkFrame(f"link_{j}", body, T_body_j))
    placed = {j: LinkFrame(f"link_{j}", *tree.placed[j]) for j in range(len(frames) + 1)}
    first = {link.body: link for link in reversed(tree.links)}
    loops = []
    for k in range(1, NJ - NL + 1):
        cut, other = frames[NL + k - 1], NJ + k
        if cut.sigma == FIXED or placed[NL + k].body == placed[other].body:
            element = f"frame {NL + k}"
            raise DynError("loop-immobile", loop=k, first_frame=NL + k, second_frame=other, element=element)
        if cut.mu == 1:
            values: dict[str, Any] = {"loop": k, "line_number": cut.line, "frame": NL + k}
            element = f"loop 'loop_{k}'"
            raise DynError("loop-cut-at-actuator", element=element, line=cut.line, **values)
        kind = LoopType.REVOLUTE if cut.sigma == Sigma.REVOLUTE else LoopType.PRISMATIC
        ends = []
        for frame in (placed[NL + k], placed[other]):
            link = first[frame.body]
            ends.append(LoopEnd(link.name, compose(inverse(link.T_body_link), frame.T_body_link)))
        z = (0.0, 0.0, 1.0)
        loops.append(Loop(f"loop_{k}", kind, ends[0], ends[1], z, z))
    return tuple(loops)


# A robot as the contents of a .par file

_DIGITS_LOST = 1e-14


def describe_par(robot: Robot) -> ParRobot:
    """Return the contents of a .par file of a robot; DynError if a .par file cannot describe it."""
    n, cuts = len(robot.joints), len(robot.loops)
    frames = [_joint_frame(j, joint) for j, joint in enumerate(robot.joints, start=1)]
    pairs = [_cut_frames(n + k, loop) for k, loop in enumerate(robot.loops, start=1)]
    frames += [frame for frame, _ in pairs] + [other for _, other in pairs]
    (R, p) = robot.T_root_0
    return ParRobot(
        name=robot.name,
        joint_names=tuple(joint.name for joint in robot.joints if not joint.mimic or joint.mimic.leader),
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


def _joint_frame(j: int, joint: Joint) -> ParFrame:
    mimic = joint.mimic or Mimic(j, 1.0, 0.0)
    turn, slide = (mimic.offset, 0.0) if joint.sigma is Sigma.REVOLUTE else (0.0, mimic.offset)
    sigma = joint.sigma if mimic.leader else FIXED
    variable = ParVariable(mimic.leader, mimic.multiplier) if mimic.leader else None
    return _frame(joint.antecedent, sigma, joint.mu, joint.mdh, joint.origin, variable, turn, slide)


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
    """Return a frame at `origin`, turned and slid along z.

    If axes are almost parallel, b and r are large and cancel (see `Joint.origin`). Then r gives the position
    across z_i with the float of alpha, and b, with as many digits as needed, the position along z_i.
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


def _cut_frames(k: int, loop: Loop) -> tuple[ParFrame, ParFrame]:
    """Return frames k and k+B of a cut joint, as in the table of geometric parameters."""
    sigma = {LoopType.REVOLUTE: Sigma.REVOLUTE, LoopType.PRISMATIC: Sigma.PRISMATIC}.get(loop.type)
    if sigma is None:
        kind, element = loop.type.value, f"loop '{loop.name}'"
        raise DynError("loop-type-unsupported", loop=loop.name, loop_type=kind, element=element)
    assert loop.frames is not None
    frame, other = loop.frames
    return (
        _frame(frame.antecedent, sigma, 0, frame.mdh, frame.origin, ParVariable(k, 1.0)),
        _frame(other.antecedent, FIXED, 0, other.mdh, other.origin, None),
    )
