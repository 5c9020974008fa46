# SPDX-License-Identifier: Apache-2.0
"""Load a robot from a URDF, xacro or .par file, find these files, and write a robot to one."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from dyn_core.core.errors import DynError, ModelWarning
from dyn_core.core.findings import Place
from dyn_core.core.text import checked_path, is_par_text, is_xml_text, path_text, read_text
from dyn_core.robot.description import UrdfDescription
from dyn_core.robot.links import why_impossible
from dyn_core.robot.mdh.cut_frames import with_cut_frames
from dyn_core.robot.par.conversion import build_par, describe_par
from dyn_core.robot.par.reader import parse_par
from dyn_core.robot.par.writer import par_text
from dyn_core.robot.robot import DOWN, Robot, checked_gravity
from dyn_core.robot.side_file.conversion import with_side_file, without_springs
from dyn_core.robot.side_file.reader import SIDE_FILE_ENTRIES, SideFile, read_side_file
from dyn_core.robot.urdf.conversion import (
    Snap,
    build_robot,
    checked_snap,
    snapped_description,
    snapped_loops,
    with_simple_joints,
)
from dyn_core.robot.urdf.locked_joints import Locking, checked_locking, locked_description, without_joints
from dyn_core.robot.urdf.reader import parse_urdf
from dyn_core.robot.urdf.writer import describe_robot, urdf_text
from dyn_core.symbolic.vec3 import Vec3

if TYPE_CHECKING:
    from urdf_parser_py import urdf


RobotSource: TypeAlias = Union[str, "os.PathLike[str]", "urdf.Robot"]


@dataclass(frozen=True)
class Loaded:
    """A robot, and how it was loaded.

    Attributes:
        robot: the robot.
        text: the text that describes it.
        description: contents of the text, with snapped angles; None for a .par file.
        remarks: warnings about guesses of the reader.
        source: path of the text; None if the text itself was given.
        of_side_file: warnings about the side file, with its path.
    """

    robot: Robot
    text: str
    description: UrdfDescription | None
    remarks: tuple[ModelWarning, ...]
    source: str | os.PathLike[str] | None = None
    of_side_file: tuple[ModelWarning, ...] = ()

    @property
    def path(self) -> str | None:
        """Path of the text, short enough for a message; None if the text itself was given."""
        return None if self.source is None else path_text(self.source)


@dataclass(frozen=True)
class _Options:
    """Checked options of `load_robot`."""

    gravity: Vec3 | None
    snap: Snap
    mimic: bool
    side: SideFile | None
    side_path: str | None
    locking: Locking | None


def load_robot(
    source: RobotSource,
    loops: str | os.PathLike[str] | Mapping[str, object] | None = None,
    gravity: Sequence[float] | None = None,
    snap: Snap = "digits",
    mimic: bool = True,
    locked_joints: Mapping[str, float] | None = None,
    joints: Sequence[str] | None = None,
) -> Robot:
    """Return the robot that a URDF or a SYMORO+ .par file describes.

    Args:
        source: path of a URDF file, or of a file whose name ends in .par or .xacro, which xacro expands; the
            text of a URDF or .par file; or a robot of urdf_parser_py. Messages about such a robot name lines
            of the URDF text that it is turned into.
        loops: the side file of the robot, with its loops, passive joints, rotor inertias, friction,
            springs, and the motion of its base (see `dyn_core.robot.side_file.reader`): path of a YAML file,
            YAML text, or the same as Python data.
        gravity: acceleration of gravity in the frame of the root link (m/s^2); by default that of the
            .par file, and (0, 0, -9.81) with a URDF.
        snap: which angles and axes are taken for roundings of multiples of pi/4 and of zero, and
            made exact: ``"digits"``, those that are printed like one (``1.5708``); a tolerance (rad),
            those within it; 0, none. `Robot.snapped` lists them.
        mimic: whether joints with <mimic> follow what they mimic; otherwise they move freely.
        locked_joints: positions of joints that do not move, by name (rad or m), such as those of a gripper.
            They become fixed joints, as do the joints that mimic them, and their links parts of the body
            before them. `Robot.locked` lists them.
        joints: names of the joints that move; all others are locked, where `locked_joints` says, or else at
            0, or in the middle of their range if 0 is beyond it.

    Raises:
        DynError: the text cannot be used; the message names file, line, element and remedy.

    Warns:
        ModelWarning: the reader had to guess, or a link has an inertia that no body can have.
    """
    loaded = read_robot(source, loops, gravity, snap, mimic, locked_joints, joints)
    for remark in (*loaded.remarks, *_impossible_inertias(loaded.description)):
        warnings.warn(remark.in_file(loaded.path), stacklevel=2)
    for remark in loaded.of_side_file:
        warnings.warn(remark, stacklevel=2)
    return loaded.robot


def read_robot(
    source: RobotSource,
    loops: str | os.PathLike[str] | Mapping[str, object] | None = None,
    gravity: Sequence[float] | None = None,
    snap: Snap = "digits",
    mimic: bool = True,
    locked_joints: Mapping[str, float] | None = None,
    joints: Sequence[str] | None = None,
) -> Loaded:
    """Return the robot of `load_robot` with its text and its warnings; no warning is issued."""
    side, side_path = (None, None) if loops is None else read_side_file(loops)
    checked = None if gravity is None else checked_gravity(gravity)
    locking = checked_locking(locked_joints, joints) if locked_joints or joints is not None else None
    options = _Options(checked, checked_snap(snap), mimic, side, side_path, locking)
    if _is_urdf_objects(source):
        from dyn_core.robot.urdf.urdf_objects import text_of_objects

        with _errors_in("URDF of the urdf_parser_py robot"):
            return _loaded(text_of_objects(source), "robot", True, options)
    if is_xml_text(source) or (isinstance(source, str) and is_par_text(source)):
        return _loaded(os.fspath(source), "robot", is_xml_text(source), options)
    is_urdf = not checked_path(source).lower().endswith(".par")
    text = read_text(source, "URDF" if is_urdf else ".par")
    if checked_path(source).endswith(".xacro"):
        text = expanded(os.fspath(source), ())
    with _errors_in(source):
        return replace(_loaded(text, Path(source).stem, is_urdf, options), source=source)


# Files of robots: installed ones by name, side files, xacro

_ROBOTS = Path("share", "dyn_nodes", "config", "robots")
"""Folder of the installed robots in each prefix of AMENT_PREFIX_PATH."""
_SIDE_ENTRY = re.compile(rf"^(?:{'|'.join(SIDE_FILE_ENTRIES)})\s*:", re.MULTILINE)
_XACRO_LIMIT_S = 60.0


def robot_files() -> dict[str, Path]:
    """Return the description files of the installed robots by name; none where dyn_nodes is not installed."""
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    paths = [path for prefix in prefixes for path in sorted((Path(prefix) / _ROBOTS).glob("*.urdf"))]
    return dict(sorted({path.stem: path for path in reversed(paths)}.items()))


def find_robot(name_or_path: str) -> Path:
    """Return the description file of an installed robot, or the given path.

    A path has a folder or the ending .urdf, .xacro or .par. Whether the file exists is not checked.
    """
    path = Path(os.path.expanduser(name_or_path))  # noqa: PTH111 - an unknown ~user is left as it is
    if path.suffix in (".urdf", ".xacro", ".par") or path.name != name_or_path:
        return path
    installed = robot_files()
    if name_or_path not in installed:
        known, element = ", ".join(installed), f"robot '{name_or_path}'"
        raise DynError("robot-unknown", robot=name_or_path, known=known, element=element)
    return installed[name_or_path]


def side_file_beside(description: Path) -> Path | None:
    """Return the side file of a robot: the YAML file of the same name beside its description; None for none.

    Only a file with an entry of side files is one: others of that name can be for controllers.
    """
    beside = description.with_suffix("").with_suffix(".yaml")
    if description.suffix != ".xacro":
        beside = description.with_suffix(".yaml")
    if not beside.is_file():
        return None
    return beside if _SIDE_ENTRY.search(read_text(beside, "YAML", "YAML")) else None


def expanded(file: str, arguments: Sequence[str]) -> str:
    """Return the URDF that xacro makes of a file; DynError where xacro fails."""
    program = shutil.which("xacro")
    if program is None:
        raise DynError("xacro-missing", path=file, distribution=os.environ.get("ROS_DISTRO", "jazzy"))
    try:
        command, limit = [program, file, *arguments], _XACRO_LIMIT_S
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=limit, check=False
        )
    except subprocess.TimeoutExpired as problem:
        raise DynError("xacro-timeout", limit=_XACRO_LIMIT_S, file=file) from problem
    except OSError as problem:
        raise DynError("xacro-not-started", reason=problem.strerror, file=file) from problem
    if done.returncode:
        reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise DynError("xacro-failed", reason=reason, file=file)
    return done.stdout


def _is_urdf_objects(source: object) -> bool:
    """Return whether a source is a robot of urdf_parser_py, without importing that."""
    urdf = sys.modules.get("urdf_parser_py.urdf")
    return urdf is not None and isinstance(source, urdf.Robot)


@contextmanager
def _errors_in(file: str | os.PathLike[str] | None) -> Iterator[None]:
    """Add a file to the errors of a block that have none."""
    try:
        yield
    except DynError as error:
        if file is None or error.file:
            raise
        raise error.in_file(path_text(file)) from error


def _loaded(text: str, name_if_none: str, is_urdf: bool, options: _Options) -> Loaded:
    text_hash = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    side = options.side
    loops, of_loops = snapped_loops(side.loops if side else (), options.snap)
    if is_urdf:
        description, snapped = snapped_description(parse_urdf(text, name_if_none), options.snap)
        used = with_simple_joints(description)
        locked: dict[str, float] = {}
        if options.locking:
            used, locked = locked_description(used, options.locking, options.mimic)
        robot = build_robot(used, options.gravity or DOWN, text_hash, options.mimic, loops)
        robot = replace(robot, snapped=(*snapped, *of_loops), locked=tuple(locked.items()))
        loaded = Loaded(robot, text, description, description.remarks)
    else:
        par = parse_par(text, name_if_none)
        robot = build_par(par, options.gravity, text_hash, options.mimic, options.snap, options.locking)
        loaded = Loaded(replace(robot, snapped=(*robot.snapped, *of_loops)), text, None, par.remarks)
    robot = loaded.robot
    if side:
        driven = loaded.description.driven if loaded.description else ()
        with _errors_in(options.side_path):
            side = replace(side, loops=loops)
            of_moving = without_joints(side, dict(robot.locked)) if robot.locked else side
            robot = with_side_file(robot, of_moving, driven)
    remarks = tuple(remark.in_file(options.side_path) for remark in side.remarks) if side else ()
    return replace(loaded, robot=with_cut_frames(robot) if robot.loops else robot, of_side_file=remarks)


def _impossible_inertias(description: UrdfDescription | None) -> Iterator[ModelWarning]:
    """Yield a warning about each link with an inertia that no body can have."""
    for link in description.links if description else ():
        reason = link.inertial and why_impossible(link.inertial.mass, link.inertial.matrix)
        if reason:
            code = "link-inertia-without-mass" if reason == "mass" else "link-inertia-impossible"
            yield ModelWarning(code, place=Place("link", link.name, line=link.line))


def write_urdf(robot: Robot) -> str:
    """Return a robot as URDF text, from which `load_robot` gets the same dynamics.

    Joints, links and their frames are those that the robot was loaded with. The first link of each
    body has the inertia of all links that are fixed to it; names of fixed joints are new. Rotor
    inertias are ``<dynamics armature="...">``, loops are ``<constraint>``.

    Raises:
        DynError: URDF cannot describe the robot: a body has first moments but no mass.

    Warns:
        ModelWarning: the robot has passive joints, springs, offset torques or an assembly, for which URDF
            has no place.
    """
    return _urdf_text(robot, 4)


def urdf_objects(robot: Robot) -> Any:
    """Return what `write_urdf` writes as a robot of urdf_parser_py: see `Robot.to_urdf`."""
    from dyn_core.robot.urdf.urdf_objects import objects_of_text

    return objects_of_text(_urdf_text(robot, 5))


def _urdf_text(robot: Robot, stacklevel: int) -> str:
    elastic = robot.elastic_joint_names
    lost = [f"passive joint '{name}'" for name in robot.passive_joint_names if name not in elastic]
    _warn_of_loss("urdf-parts-lost", robot, lost, stacklevel)
    return urdf_text(describe_robot(without_springs(robot)))


def write_par(robot: Robot) -> str:
    """Return a robot as SYMORO+ .par text, from which `load_robot` gets the same dynamics.

    The parameters are those of the robot: its MDH parameters, inertias about the origins of the
    frames, rotor inertias and friction. Names of joints are kept in a comment. Left out are what
    .par files have no place for and dynamics do not need: names of links, frames of tools, limits,
    and the mass of the base.

    Raises:
        DynError: a .par file cannot describe the robot: it has other loops than revolute and prismatic.

    Warns:
        ModelWarning: the robot has springs, offset torques or an assembly, for which a .par file has no
            place.
    """
    _warn_of_loss("par-parts-lost", robot, [], 3)
    return par_text(describe_par(with_cut_frames(without_springs(robot))))


def _warn_of_loss(code: str, robot: Robot, lost: list[str], stacklevel: int) -> None:
    lost += [f"the spring of joint '{name}'" for name in robot.elastic_joint_names]
    lost += [f"offset torque of joint '{joint.name}'" for joint in robot.joints if joint.friction.Fo != 0.0]
    lost += ["assembly"] if robot.assembly else []
    lost += [f"base '{robot.base}'"] if robot.base else []
    if lost:
        warnings.warn(ModelWarning(code, robot=robot.name, lost=", ".join(lost)), stacklevel=stacklevel)
