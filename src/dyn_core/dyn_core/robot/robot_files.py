# SPDX-License-Identifier: Apache-2.0
"""Load a robot from a URDF or a .par file."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dyn_core.core.errors import DynError, ModelWarning
from dyn_core.core.text import is_xml_text, path_text, read_text
from dyn_core.facade.side_file import read_side_file
from dyn_core.geometry.build_robot import build_robot
from dyn_core.geometry.inertias import inertia_matrix
from dyn_core.io.urdf import parse_urdf
from dyn_core.loops.cut_frames import with_cut_frames
from dyn_core.model.gravity import DOWN, checked_gravity
from dyn_core.model.possible_inertia import why_impossible
from dyn_core.robot.description import UrdfDescription, UrdfLoop
from dyn_core.robot.par.conversion import build_par
from dyn_core.robot.par.reader import is_par_text, parse_par
from dyn_core.robot.robot import Robot
from dyn_core.robot.side_file.conversion import with_side_file
from dyn_core.robot.side_file.reader import SideFile
from dyn_core.robot.urdf.conversion import Snap, checked_snap, snapped_description, snapped_loops
from dyn_core.symbolic.vec3 import Vec3


@dataclass(frozen=True)
class Loaded:
    """A robot, and what is known of where it came from.

    Attributes:
        robot: the robot.
        text: the text that describes it.
        description: what the text says, with snapped angles; None where it is a .par file.
        remarks: sentences about what had to be guessed.
        path: path of the text, fit for a message; None where it was given itself.
        of_side_file: sentences about what is suspicious about the side file, with its path.
    """

    robot: Robot
    text: str
    description: UrdfDescription | None
    remarks: tuple[str, ...]
    path: str | None = None
    of_side_file: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Options:
    """What the caller of `load_robot` chose, checked."""

    gravity: Vec3 | None
    snap: Snap
    mimic: bool
    side: SideFile
    side_path: str | None


def load_robot(
    source: str | os.PathLike[str],
    loops: str | os.PathLike[str] | Mapping[str, object] | None = None,
    gravity: Sequence[float] | None = None,
    snap: Snap = "digits",
    mimic: bool = True,
) -> Robot:
    """Answer the robot that a URDF or a SYMORO+ .par file describes.

    Args:
        source: path of a URDF file or of a file whose name ends in .par, or the text of either.
        loops: the side file of the robot, with its loops, passive joints, rotor inertias, friction,
            springs, and how its base moves (see `dyn_core.robot.side_file.reader`): path of a YAML
            file, YAML text, or what it would hold.
        gravity: acceleration of gravity in the frame of the root link (m/s^2); by default that of the
            .par file, and (0, 0, -9.81) with a URDF.
        snap: which angles and axes are taken for roundings of multiples of pi/4 and of zero, and
            made exact: ``"digits"``, those that are printed like one (``1.5708``); a tolerance (rad),
            those within it; 0, none. `Robot.snapped` lists them.
        mimic: whether joints with <mimic> follow what they mimic; otherwise they move freely.

    Raises:
        DynError: the text cannot be used; the message names file, line, element and remedy.

    Warns:
        ModelWarning: something had to be guessed, or a link has an inertia that no body can have.
    """
    loaded = read_robot(source, loops, gravity, snap, mimic)
    where = "" if loaded.path is None else f"{loaded.path}: "
    for remark in (*loaded.remarks, *_impossible_inertias(loaded.description)):
        warnings.warn(f"{where}{remark}", ModelWarning, stacklevel=2)
    for remark in loaded.of_side_file:
        warnings.warn(remark, ModelWarning, stacklevel=2)
    return loaded.robot


def read_robot(
    source: str | os.PathLike[str],
    loops: str | os.PathLike[str] | Mapping[str, object] | None = None,
    gravity: Sequence[float] | None = None,
    snap: Snap = "digits",
    mimic: bool = True,
) -> Loaded:
    """Answer what `load_robot` answers, and what is known beside it, without warnings."""
    side, side_path = read_side_file(loops)
    options = _Options(
        gravity=None if gravity is None else checked_gravity(gravity),
        snap=checked_snap(snap),
        mimic=mimic,
        side=side,
        side_path=side_path,
    )
    if is_xml_text(source) or (isinstance(source, str) and is_par_text(source)):
        return _loaded(os.fspath(source), "robot", is_xml_text(source), options)
    path = path_text(source)
    name = Path(os.fsdecode(source))
    is_urdf = name.suffix.lower() != ".par"
    text = read_text(source, "URDF" if is_urdf else ".par")
    try:
        loaded = _loaded(text, name.stem, is_urdf, options)
    except DynError as error:
        if error.file:
            raise
        raise error.in_file(path) from error
    return replace(loaded, path=path)


def _loaded(text: str, name_if_none: str, is_urdf: bool, options: _Options) -> Loaded:
    text_hash = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    loops, snapped = snapped_loops(options.side.loops, options.snap)
    if is_urdf:
        loaded = _urdf_robot(text, text_hash, name_if_none, options, loops)
    else:
        par = parse_par(text, name_if_none)
        robot = build_par(par, options.gravity, text_hash, options.mimic, options.snap)
        loaded = Loaded(robot, text, None, par.remarks)
    robot = replace(loaded.robot, snapped=(*loaded.robot.snapped, *snapped))
    driven = () if loaded.description is None else loaded.description.driven
    try:
        robot = with_side_file(robot, replace(options.side, loops=loops), driven)
    except DynError as error:
        if options.side_path is None:
            raise
        raise error.in_file(options.side_path) from error
    where = "" if options.side_path is None else f"{options.side_path}: "
    remarks = tuple(f"{where}{remark}" for remark in options.side.remarks)
    return replace(loaded, robot=with_cut_frames(robot), of_side_file=remarks)


def _urdf_robot(
    text: str, text_hash: str, name_if_none: str, options: _Options, loops: Sequence[UrdfLoop]
) -> Loaded:
    description, snapped = snapped_description(parse_urdf(text, name_if_none), options.snap)
    robot = build_robot(description, options.gravity or DOWN, text_hash, options.mimic, loops)
    return Loaded(replace(robot, snapped=snapped), text, description, description.remarks)


def _impossible_inertias(description: UrdfDescription | None) -> Iterator[str]:
    """Answer a sentence about each link with an inertia that no body can have."""
    for link in description.links if description else ():
        reason = link.inertial and why_impossible(link.inertial.mass, inertia_matrix(link.inertial))
        if reason:
            yield f"link '{link.name}' (line {link.line}): no body has its inertia, {reason}"
