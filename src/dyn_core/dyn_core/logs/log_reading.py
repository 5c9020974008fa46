# SPDX-License-Identifier: Apache-2.0
"""From a log file to a log, with everything that was found on the way."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dyn_core.core.errors import DynError, listed, shortened
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.text import path_text
from dyn_core.logs.asked import asked_sources, with_control
from dyn_core.logs.gather import MAX_VALUES
from dyn_core.logs.log import Log, raw_log
from dyn_core.logs.mapping.assignment import Assignment, assign
from dyn_core.logs.mapping.log_map import LogMap, read_log_map
from dyn_core.logs.merge import merged
from dyn_core.logs.passive_positions import passive_findings, passive_sources
from dyn_core.logs.repair.log_cleaning import clean_log
from dyn_core.logs.repair.plausibility import suspicious
from dyn_core.logs.stream import Recording, Stream
from dyn_core.logs.units import EFFORT, POSITION, VELOCITY
from dyn_core.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class LogReport:
    """What is in a log file.

    Attributes:
        log: the log; None where it cannot be used, and then the first finding says why.
        findings: what was found, the worst first.
        form: what kind of file it is; empty where it cannot be read.
    """

    log: Log | None
    findings: tuple[Finding, ...]
    form: str = ""


def read_log(
    path: str | os.PathLike[str],
    mapping: str | os.PathLike[str] | Mapping[str, object] | None = None,
    robot: Robot | None = None,
    max_values: int = MAX_VALUES,
) -> Log:
    """Answer a log, in SI units and on the side of the joints.

    Args:
        path: a CSV, Parquet, NumPy or MATLAB file, or a ROS 2 bag (file or directory).
        mapping: what its columns mean (see `log_map`): path of a YAML file, or what it would hold.
        robot: the robot, whose joints are then looked for and whose limits are compared.
        max_values: how many values are read at most.

    Raises:
        DynError: it cannot be used; the message says why and what to do.
    """
    report = examine_log(path, mapping, robot, max_values)
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    if errors:
        about = f"{errors[0].element}: " if errors[0].names else ""
        more = f"; and {len(errors) - 1} more: 'dyn log' lists them" if len(errors) > 1 else ""
        raise DynError(f"{about}{errors[0].message}{more}", file=path_text(path))
    assert report.log is not None
    return report.log


def examine_log(
    path: str | os.PathLike[str],
    mapping: str | os.PathLike[str] | Mapping[str, object] | None = None,
    robot: Robot | None = None,
    max_values: int = MAX_VALUES,
) -> LogReport:
    """Answer what is in a log, and all that is suspicious about it; nothing is raised for a bad log.

    Raises:
        DynError: the mapping cannot be used.
    """
    # Readers import what takes long, and few who import the library read logs.
    from dyn_core.logs.open_log import open_log

    said = read_log_map(mapping)
    names = () if robot is None else robot.coordinate_names
    findings: list[Finding] = []
    form = ""
    try:
        recording = open_log(path, said, names or tuple(said.joints), max_values)
        form = recording.form
        findings += recording.findings
        log = _log(recording, said, robot, path_text(path), findings)
    except DynError as error:
        findings.append(Finding(Severity.ERROR, "log", (), error.message))
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
    """Answer the log of a running system, cleaned as one from a file.

    Args:
        joint_names: names of the n joints.
        time: stamps (s), (N,).
        q: positions, (N, n), NaN where there is none; so for `tau` and `qd`.
        tau: efforts, (N, n).
        qd: velocities, (N, n); None where they were not measured.
        mapping: as for `read_log`, without columns.
        robot: as for `read_log`.

    Raises:
        DynError: it cannot be used.
        ValueError: an array has the wrong shape.
    """
    raw = raw_log(joint_names, time, q, tau, qd)
    said = read_log_map(mapping)
    quantities = {POSITION: raw.q, VELOCITY: raw.qd, EFFORT: raw.tau}
    given = {what: array for what, array in quantities.items() if array is not None}
    stream = Stream(
        source="",
        names=tuple(f"{what}.{joint}" for what in given for joint in raw.joint_names),
        values=np.column_stack(list(given.values())),
        time=raw.time,
    )
    findings: list[Finding] = []
    log = _log(Recording("arrays", (stream,)), said, robot, "", findings)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        raise DynError(f"{errors[0].element}: {errors[0].message}" if errors[0].names else errors[0].message)
    return replace(log, findings=_sorted(findings))


def _log(
    recording: Recording, said: LogMap, robot: Robot | None, source: str, findings: list[Finding]
) -> Log:
    if not recording.streams:
        seen = f": its topics are {listed(recording.others, 8)}" if recording.others else ""
        raise DynError(f"no topic says anything of joints{seen}; record sensor_msgs/JointState")
    names = None if robot is None else robot.coordinate_names
    assignment = assign(recording, said, names, {} if robot is None else _followers(robot))
    findings += assignment.findings
    if not assignment.sources:
        known = [name for stream in recording.streams for name in (*stream.names, *stream.ignored)]
        raise DynError(
            f"no column is known to be of a joint: there are {listed(known, 12)}; give a map that names them"
            + _example(known, names or ())
        )
    if robot is not None:
        _check_missing(robot, said, assignment)
    asked = asked_sources(recording, said)
    passive = passive_sources(recording, assignment, said, robot)
    beside = {**asked, **passive}
    together = merged(recording, replace(assignment, sources={**assignment.sources, **beside}), said)
    findings += together.findings
    measured = {key: column for key, column in together.columns.items() if key not in beside}
    log = clean_log(together.time, measured, assignment, said, source)
    log = with_control(log, said, asked, together.time, together.columns)
    log = replace(log, done=(*together.done, *log.done))
    findings += log.findings
    recorded = log.joint_names
    if robot is not None:
        log = _of_robot(log, said, robot)
        findings += passive_findings(log, robot, passive, together.time, together.columns)
    # What a map says of joints that are not in the log is no surprise.
    findings += (
        finding
        for finding in suspicious(log, robot)
        if finding.kind != "joint" or not said.held.keys() - set(recorded) & set(finding.names)
    )
    return log


def _example(columns: Sequence[str], joints: Sequence[str]) -> str:
    """Answer what such a map looks like, where columns have numbers in the place of names."""
    if len(columns) < 3 or not all(name.isdecimal() for name in columns):
        return ""
    joint = shortened(joints[0], 40) if joints else "elbow"
    count = max(len(joints), 1)
    effort = 2 + count * max((len(columns) - 1) // count - 1, 1)  # the last block, behind velocities
    return (
        ", such as 'time: {column: 1}' and, on the next lines, 'joints:' and "
        f"'  {joint}: {{position: {{column: 2}}, effort: {{column: {effort}}}}}'; columns are counted "
        "from 1"
    )


def _followers(robot: Robot) -> dict[str, str]:
    """Answer joints that mimic others, and passive ones of loops, with how they follow what."""
    mimics = {
        joint.name: f"mimics '{robot.joints[joint.mimic.leader - 1].name}', whose column says"
        for joint in robot.joints
        if joint.mimic is not None and joint.mimic.leader
    }
    if not robot.loops:
        return mimics
    return mimics | dict.fromkeys(robot.passive_joint_names, "follows the actuated joints, whose columns say")


def _check_missing(robot: Robot, said: LogMap, assignment: Assignment) -> None:
    """Refuse a log in which joints of the robot are missing that nobody says anything of."""
    unknown = [joint for joint in said.held if joint not in robot.coordinate_names]
    followers = _followers(robot)
    following = [joint for joint in unknown if joint in followers]
    if following:
        how, _ = followers[following[0]].split(", ")
        where = "that one is" if how.startswith("mimics") else "those are"
        raise DynError(f"held: '{shortened(following[0], 40)}' {how}: leave it out, and say where {where}")
    if unknown:
        raise DynError(
            f"held: the robot has no joint {listed(unknown)}: "
            f"its joints are {listed(robot.coordinate_names, 12)}"
        )
    missing = [
        joint
        for joint in robot.coordinate_names
        if (joint, POSITION) not in assignment.sources and joint not in said.held
    ]
    if missing:
        example = shortened(missing[0], 40)
        raise DynError(
            f"it has no position of {listed(missing, 12)}, which the robot has; where such a joint did not "
            "move, say so "
            f"in a map: 'held: {{{example}: 0.0}}'"
        )


def _of_robot(log: Log, said: LogMap, robot: Robot) -> Log:
    """Answer the log with all joints of the robot, in its order; joints that are held have no effort."""
    place = {joint: k for k, joint in enumerate(log.joint_names)}
    missing = [joint for joint in robot.coordinate_names if joint not in place and joint not in said.held]
    if missing:
        raise DynError(f"it has no usable position of {listed(missing, 12)}, which the robot has")
    sigma = {joint.name: joint.sigma for joint in robot.independent_joints}
    units = tuple("m" if sigma[joint] else "rad" for joint in robot.coordinate_names)
    for joint, unit in zip(robot.coordinate_names, units, strict=True):
        if joint in place and log.units[place[joint]] == "m" and unit == "rad":
            raise DynError(
                f"joint '{joint}': it is revolute, but its position is in m: give its unit in a map"
            )
    count = len(log.time)

    def taken(array: np.ndarray, otherwise: float | None) -> np.ndarray:
        columns = [
            array[:, place[joint]]
            if joint in place
            else np.full(count, said.held[joint] if otherwise is None else otherwise)
            for joint in robot.coordinate_names
        ]
        return np.column_stack(columns)

    held = [joint for joint in robot.coordinate_names if joint not in place]
    if log.control is not None and held:
        raise DynError(f"control: {listed(held)} did not move and has none: it needs that of each joint")
    control = (
        None if log.control is None else log.control.of_joints([place[j] for j in robot.coordinate_names])
    )
    return replace(
        log,
        control=control,
        joint_names=robot.coordinate_names,
        q=taken(log.q, None),
        tau=taken(log.tau, float("nan")),
        qd=None if log.qd is None else taken(log.qd, 0.0),
        units=units,
        done=(*log.done, *(f"joint '{joint}' held at {said.held[joint]:g}" for joint in held)),
    )


def _sorted(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.severity))
