# SPDX-License-Identifier: Apache-2.0
"""Read a log file: choose the reader by its contents, map columns, repair and check."""

from __future__ import annotations

import errno
import math
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dyn_core.core.arrays import Array, as_floats
from dyn_core.core.errors import ArgumentError, DynError
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.core.text import path_text
from dyn_core.logs.log import EFFORT, POSITION, VELOCITY, Log
from dyn_core.logs.mapping.assignment import Assignment, assign, needed_columns
from dyn_core.logs.mapping.joint_side import set_point_sources, with_control
from dyn_core.logs.mapping.log_map import LogMap, read_log_map
from dyn_core.logs.readers.array_files import read_npy, read_npz, read_parquet
from dyn_core.logs.readers.bag import read_bag
from dyn_core.logs.readers.csv import read_csv
from dyn_core.logs.readers.matlab import read_matlab
from dyn_core.logs.reading_budget import LOG_MEMORY, Budget
from dyn_core.logs.recording import Recording, Stream
from dyn_core.logs.repair.log_cleaning import clean_log
from dyn_core.logs.repair.plausibility import passive_findings, passive_sources, suspicious
from dyn_core.logs.repair.time_stamps import merged
from dyn_core.robot.robot import Robot

_SQLITE = b"SQLite format 3\0"
_MCAP = b"\x89MCAP0\r\n"
_NO_SUCH_PATH = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


@dataclass(frozen=True, eq=False)
class LogReport:
    """Contents of a log file.

    Attributes:
        log: the log; None if it cannot be used, for the reason in the first finding.
        findings: the findings, the worst first.
        form: kind of the file; empty if it cannot be read.
    """

    log: Log | None
    findings: tuple[Finding, ...]
    form: str = ""


def read_log(
    path: str | os.PathLike[str],
    mapping: str | os.PathLike[str] | Mapping[str, object] | None = None,
    robot: Robot | None = None,
    max_values: int | None = None,
    memory: int = LOG_MEMORY,
) -> Log:
    """Return a log, in SI units and on the joint side.

    Args:
        path: a CSV, Parquet, NumPy or MATLAB file, or a ROS 2 bag (file or directory).
        mapping: meaning of its columns (see `log_map`): path of a YAML file, or its contents.
        robot: the robot, if the log has to match its joints and limits.
        max_values: greatest number of values that are read; by default what fits into the memory.
        memory: memory that reading may take, about (bytes); it limits unpacked data and time, too.

    Raises:
        DynError: the log cannot be used; the message gives the reason and the remedy.
    """
    report = examine_log(path, mapping, robot, max_values, memory)
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    file = path_text(path)
    if len(errors) > 1:
        subject, cause, others = errors[0].element, errors[0].detail, len(errors) - 1
        raise DynError("log-unusable-several", subject=subject, cause=cause, others=others, file=file)
    if errors:
        raise _error_of(errors[0]).in_file(file)
    assert report.log is not None
    return report.log


def _error_of(finding: Finding) -> DynError:
    if not finding.names:
        return DynError(finding.code, **finding.values)
    subject = finding.element
    return DynError("log-unusable", subject=subject, cause=finding.detail, element=subject)


def examine_log(
    path: str | os.PathLike[str],
    mapping: str | os.PathLike[str] | Mapping[str, object] | None = None,
    robot: Robot | None = None,
    max_values: int | None = None,
    memory: int = LOG_MEMORY,
) -> LogReport:
    """Return a log with all findings about it; a log that cannot be used raises no error.

    The arguments are those of `read_log`.

    Raises:
        DynError: the mapping cannot be used.
    """
    budget = Budget(memory, max_values)
    log_map = read_log_map(mapping)
    names = () if robot is None else robot.coordinate_names
    findings: list[Finding] = []
    form = ""
    try:
        recording = open_log(path, log_map, names or tuple(log_map.joints), budget)
        form = recording.form
        findings += recording.findings
        log = _log(recording, log_map, robot, path_text(path), findings)
    except DynError as error:
        findings.append(Finding(Severity.ERROR, "log", (), error.detail))
        return LogReport(None, _sorted(findings), form)
    ordered = _sorted(findings)
    return LogReport(replace(log, findings=ordered), ordered, form)


def log_of_arrays(
    joint_names: Sequence[str],
    time: npt.ArrayLike,
    q: npt.ArrayLike,
    tau: npt.ArrayLike,
    qd: npt.ArrayLike | None = None,
    mapping: Mapping[str, object] | None = None,
    robot: Robot | None = None,
) -> Log:
    """Return the log of a running system, cleaned like a log from a file.

    Args:
        joint_names: names of the n joints.
        time: stamps (s), (N,).
        q: positions, (N, n); missing values are NaN, here and in `tau` and `qd`.
        tau: efforts, (N, n).
        qd: velocities, (N, n); None if they were not measured.
        mapping: as in `read_log`, without columns.
        robot: as in `read_log`.

    Raises:
        DynError: the log cannot be used.
        ValueError: an array has the wrong shape.
    """
    names = tuple(joint_names)
    stamps = as_floats("time", time)
    if stamps.ndim != 1:
        raise ArgumentError("argument-shape", argument="time", expected="(N,)", given=stamps.shape)
    if len(set(names)) != len(names):
        raise ArgumentError("joint-names-repeated", given=names)
    arrays: dict[str, Array] = {}
    for quantity, argument, values in ((POSITION, "q", q), (VELOCITY, "qd", qd), (EFFORT, "tau", tau)):
        if values is None:
            continue
        arrays[quantity] = array = as_floats(argument, values)
        if array.shape != (shape := (len(stamps), len(names))):
            raise ArgumentError("argument-shape", argument=argument, expected=shape, given=array.shape)
    columns = tuple(f"{quantity}.{joint}" for quantity in arrays for joint in names)
    stream = Stream("", columns, np.column_stack(list(arrays.values())), stamps)
    findings: list[Finding] = []
    log = _log(Recording("arrays", (stream,)), read_log_map(mapping), robot, "", findings)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        raise _error_of(errors[0])
    return replace(log, findings=_sorted(findings))


def _log(
    recording: Recording, log_map: LogMap, robot: Robot | None, source: str, findings: list[Finding]
) -> Log:
    """Return the log of a recording; its findings are added to `findings`."""
    if not recording.streams:
        if recording.others:
            raise DynError("log-topics-without-joints", topics=recording.others)
        raise DynError("log-without-topics")
    names = None if robot is None else robot.coordinate_names
    assignment = assign(recording, log_map, names, {} if robot is None else _followers(robot))
    findings += assignment.findings
    if not assignment.sources:
        known = [name for stream in recording.streams for name in (*stream.names, *stream.ignored)]
        raise _without_columns(known, names or ())
    if robot is not None:
        _check_missing(robot, log_map, assignment)
    set_points = set_point_sources(recording, log_map)
    passive = passive_sources(recording, assignment, log_map, robot)
    beside = {**set_points, **passive}
    together = merged(recording, replace(assignment, sources={**assignment.sources, **beside}), log_map)
    findings += together.findings
    measured = {key: column for key, column in together.columns.items() if key not in beside}
    log = clean_log(together.time, measured, assignment, log_map, source)
    log = with_control(log, log_map, set_points, together.time, together.columns)
    log = replace(log, done=(*together.done, *log.done))
    findings += log.findings
    recorded = log.joint_names
    if robot is not None:
        log = _of_robot(log, log_map, robot)
        findings += passive_findings(log, robot, passive, together.time, together.columns)
    # Joints that the map holds at a position are constant on purpose.
    held = log_map.held.keys() - set(recorded)
    findings += (f for f in suspicious(log, robot) if f.kind != "joint" or not held & set(f.names))
    return log


def _without_columns(columns: Sequence[str], joints: Sequence[str]) -> DynError:
    """Return the error for unknown columns; it shows an example of a map if they are numbered."""
    if len(columns) < 3 or not all(name.isdecimal() for name in columns):
        return DynError("log-columns-unknown", known=columns)
    count = max(len(joints), 1)
    effort = 2 + count * max((len(columns) - 1) // count - 1, 1)  # the last block, after velocities
    joint = joints[0] if joints else "elbow"
    return DynError("log-columns-numbered", known=columns, joint=joint, column=effort)


def _followers(robot: Robot) -> dict[str, str | None]:
    """Return the leaders of mimic joints, by their names, and None for passive joints of loops."""
    mimics: dict[str, str | None] = {
        joint.name: robot.joints[joint.mimic.leader - 1].name
        for joint in robot.joints
        if joint.mimic is not None and joint.mimic.leader
    }
    return mimics | dict.fromkeys(robot.passive_joint_names if robot.loops else ())


def _check_missing(robot: Robot, log_map: LogMap, assignment: Assignment) -> None:
    """Refuse a log without joints of the robot that the map does not hold, and wrong held joints."""
    unknown = [joint for joint in log_map.held if joint not in robot.coordinate_names]
    followers = _followers(robot)
    for joint in unknown:
        if joint in followers:
            if followers[joint] is not None:
                raise DynError("held-joint-mimics", joint=joint, leader=followers[joint])
            raise DynError("held-joint-passive", joint=joint)
    if unknown:
        raise DynError("entry-joint-unknown", entry="held", unknown=unknown, known=robot.coordinate_names)
    needed = [joint for joint in robot.coordinate_names if joint not in log_map.held]
    missing = [joint for joint in needed if (joint, POSITION) not in assignment.sources]
    if missing:
        raise DynError("log-joint-missing", missing=missing, joint=missing[0])


def _of_robot(log: Log, log_map: LogMap, robot: Robot) -> Log:
    """Return the log with all joints of the robot, in its order; held joints have no effort."""
    names = robot.coordinate_names
    place = {joint: k for k, joint in enumerate(log.joint_names)}
    held = [joint for joint in names if joint not in place]
    if missing := [joint for joint in held if joint not in log_map.held]:
        raise DynError("log-position-unusable", missing=missing)
    units = tuple("m" if joint.sigma else "rad" for joint in robot.independent_joints)
    for joint, unit in zip(names, units, strict=True):
        if joint in place and log.units[place[joint]] == "m" and unit == "rad":
            raise DynError("revolute-position-in-metres", joint=joint)
    if log.control is not None and held:
        raise DynError("control-of-held-joint", joints=held)

    def ordered(array: Array, otherwise: Mapping[str, float]) -> Array:
        return np.column_stack(
            [
                array[:, place[joint]] if joint in place else np.full(len(array), otherwise[joint])
                for joint in names
            ]
        )

    return replace(
        log,
        control=None if log.control is None else log.control.of_joints([place[joint] for joint in names]),
        joint_names=names,
        q=ordered(log.q, log_map.held),
        tau=ordered(log.tau, dict.fromkeys(names, math.nan)),
        qd=None if log.qd is None else ordered(log.qd, dict.fromkeys(names, 0.0)),
        units=units,
        done=(*log.done, *(Message("joint-held", joint=name, position=log_map.held[name]) for name in held)),
    )


def _sorted(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.severity))


def open_log(
    path: str | os.PathLike[str], log_map: LogMap, joints: Sequence[str], budget: Budget
) -> Recording:
    """Return the columns of a log that may be needed.

    Args:
        path: a file, or the directory of a bag.
        log_map: map of the user.
        joints: names of joints, if they are known.
        budget: what may be taken.

    Raises:
        DynError: the log cannot be read.
    """
    shown = path_text(path)
    try:
        return _read(Path(os.fsdecode(path)), log_map, joints, budget)
    except DynError as error:
        raise error.in_file(shown) from error
    except OSError as error:
        if error.errno in _NO_SUCH_PATH:
            raise DynError("log-missing", path=shown) from error
        raise DynError("file-unreadable", reason=error.strerror or error, file=shown) from error
    except Exception as error:  # the libraries of the formats raise any type of exception for damaged files
        if "\0" in os.fsdecode(path):
            raise DynError("path-with-null") from error
        reason = f"{type(error).__name__}: {error}"
        raise DynError("log-file-unreadable", reason=reason, file=shown) from error


def _read(path: Path, log_map: LogMap, joints: Sequence[str], budget: Budget) -> Recording:
    """Read a log with the reader for its contents; its name hardly matters."""

    def select(names: Sequence[str]) -> Sequence[int]:
        budget.take_columns(len(names))
        return needed_columns(names, log_map, joints)

    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        return read_bag(path, "", budget)
    if not stat.S_ISREG(mode):
        raise DynError("log-not-regular-file")
    with path.open("rb") as file:
        start = file.read(128)
    if not start:
        raise DynError("log-file-empty")
    for begin, suffix in ((_SQLITE, ".db3"), (_MCAP, ".mcap")):
        if start.startswith(begin):
            return read_bag(path, suffix, budget)
    readers = {b"PAR1": read_parquet, b"\x93NUMPY": read_npy, b"PK\x03\x04": read_npz}
    readers |= {b"MATLAB": read_matlab, b"\x89HDF": read_matlab}
    otherwise = read_matlab if path.suffix.lower() == ".mat" else read_csv
    read = next((read for begin, read in readers.items() if start.startswith(begin)), otherwise)
    return read(path, select, budget)
