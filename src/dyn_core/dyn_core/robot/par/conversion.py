# SPDX-License-Identifier: Apache-2.0
"""A .par file to the robot that it describes: its frames are the frames of the robot.

Frame j is link ``link_j``, joint j is ``joint_j`` unless the file names its joints. Frames of type 2
are fixed on the body of their antecedent, with their inertia. With NJ > NL the frames NL + 1 to NJ
are those of cut joints, and NJ + 1 to 2 NJ - NL are where these are on the other side of their loop
(SYMORO+ 2003, sec. 1.5).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dyn_core.core.errors import DynError
from dyn_core.io.attributes import LARGEST_LENGTH
from dyn_core.linalg.angle import cos_sin
from dyn_core.linalg.transform import IDENTITY, Transform, compose, inverse
from dyn_core.model.link_frame import LinkFrame
from dyn_core.model.loop import Loop, LoopEnd, LoopType
from dyn_core.model.mdh_parameters import MdhParameters
from dyn_core.model.snapped import Snapped
from dyn_core.robot.joints import Friction, Joint, Mimic, Sigma
from dyn_core.robot.links import InertialParameters, in_frame, merge
from dyn_core.robot.mdh.frames import mdh_from_transform, transform_from_mdh
from dyn_core.robot.par.reader import FIXED, ParFrame, ParLink, ParRobot
from dyn_core.robot.robot import Robot
from dyn_core.robot.urdf.conversion import Snap, snapped_angles
from dyn_core.symbolic import mat3
from dyn_core.symbolic.vec3 import Vec3

_ORTHONORMAL = 1e-6


def build_par(par: ParRobot, gravity: Vec3 | None, description_hash: str, mimic: bool, snap: Snap) -> Robot:
    """Answer the robot of a .par file.

    Args:
        par: what the file says.
        gravity: acceleration of gravity in the root frame (m/s^2); None for that of the file.
        description_hash: SHA-256 of the text.
        mimic: whether joints with the variable of another follow it, or move freely.
        snap: which angles are taken for roundings.
    """
    frames, snapped = _snapped_frames(par.frames, snap)
    T_root_0 = _base_placement(par.Z)
    tree = _Tree(LinkFrame("link_0", 0, inverse(T_root_0)), _joint_names(par))
    for j, frame in enumerate(frames[: len(par.links)], start=1):
        tree.add(j, frame, par.links[j - 1])
    if gravity is None:
        if par.gravity is None:
            raise DynError("G has no value: write numbers, or give gravity to load_robot", element="G")
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
                raise DynError(
                    f"frame {j} (line {frames[j - 1].line}) has the variable of frame {variable.frame}, "
                    "which follows another or is cut: write the variable that it follows in the end",
                    element=f"frame {j}",
                )
            follows = Mimic(self.joint_of_frame[variable.frame], variable.coefficient, 0.0)
            self.joints[number - 1] = replace(self.joints[number - 1], mimic=follows, mu=0)


def _joint_names(par: ParRobot) -> dict[int, str]:
    """Names of the joints by frame: those of the comment where it names all joints, each differently."""
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
                records.append(Snapped(f"frame {j}", name, frame.line, a, b))
    return tuple(result), tuple(records)


def _mdh(frame: ParFrame) -> MdhParameters:
    return MdhParameters(frame.gamma, frame.b, frame.alpha, frame.d, frame.theta, frame.r)


def _placement(frame: ParFrame) -> Transform:
    """Placement iTj with the variable at 0, of which b + r cos(alpha) keeps all digits (see `Joint`)."""
    R, (x, y, z) = transform_from_mdh(_mdh(frame))
    if frame.exact_b != Fraction(frame.b):
        c, _ = cos_sin(frame.alpha)
        z = float(frame.exact_b + Fraction(frame.r) * Fraction(c))
    if max(abs(x), abs(y), abs(z)) > LARGEST_LENGTH:
        raise DynError(
            f"line {frame.line}: a frame is more than {LARGEST_LENGTH:g} m away: check the unit",
            line=frame.line,
        )
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
        raise DynError(
            "Z is not the placement of a frame: its first three columns must be a rotation", element="Z"
        )
    return Transform(R, (Z[3], Z[7], Z[11]))


def _loops(par: ParRobot, frames: tuple[ParFrame, ...], tree: _Tree) -> tuple[Loop, ...]:
    NL, NJ = len(par.links), par.joint_count
    for j in range(NL + 1, len(frames) + 1):
        tree.place(j, frames[j - 1])
        if j > 2 * NJ - NL:  # frames that are of no loop: tools
            body, T_body_j = tree.placed[j]
            tree.links.append(LinkFrame(f"link_{j}", body, T_body_j))
    placed = {j: LinkFrame(f"link_{j}", *tree.placed[j]) for j in range(len(frames) + 1)}
    first: dict[int, LinkFrame] = {}
    for link in tree.links:
        first.setdefault(link.body, link)
    loops = []
    for k in range(1, NJ - NL + 1):
        cut, other = frames[NL + k - 1], NJ + k
        if cut.sigma == FIXED or placed[NL + k].body == placed[other].body:
            raise DynError(f"loop {k}, frames {NL + k} and {other}, does not move", element=f"frame {NL + k}")
        if cut.mu == 1:
            raise DynError(
                f"loop_{k} (line {cut.line}) is cut at an actuated joint, mu[{NL + k}] = 1: an actuator "
                "needs a joint of the tree: cut the loop at a passive one, or write mu = 0 if it has none",
                element=f"loop 'loop_{k}'",
                line=cut.line or None,
            )
        kind = LoopType.REVOLUTE if cut.sigma == Sigma.REVOLUTE else LoopType.PRISMATIC
        ends = [_end(first, placed[j]) for j in (NL + k, other)]
        z = (0.0, 0.0, 1.0)
        loops.append(Loop(f"loop_{k}", kind, ends[0], ends[1], z, z))
    return tuple(loops)


def _end(first: dict[int, LinkFrame], frame: LinkFrame) -> LoopEnd:
    """Side of a cut joint, on the first link of the body."""
    link = first[frame.body]
    return LoopEnd(link.name, compose(inverse(link.T_body_link), frame.T_body_link))
