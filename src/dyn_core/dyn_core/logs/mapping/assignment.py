# SPDX-License-Identifier: Apache-2.0
"""Assignment of the columns of a log to quantities of joints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from dyn_core.core.errors import DynError, shortened
from dyn_core.core.findings import Finding, Severity
from dyn_core.core.messages import Message
from dyn_core.logs.log import EFFORT, POSITION, TIME, UNITS, VELOCITY, Unit
from dyn_core.logs.mapping.log_map import QUANTITIES, ColumnMap, JointMap, LogMap
from dyn_core.logs.recording import ColumnName, Recording, Stream, column_name

NONE: Mapping[str, str | None] = MappingProxyType({})
_NUMBERED = re.compile(r"(?:j|joint|a|axis|ax|m|motor|drive|dof)[ _]?0*(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """Column of one quantity of one joint.

    Attributes:
        stream: index of the stream.
        column: index of the column in it.
        unit: unit of the values; None if none is given, for SI units.
        mapping: entry of the map.
        is_command: whether the values are commands instead of measurements.
    """

    stream: int
    column: int
    unit: Unit | None
    mapping: ColumnMap
    is_command: bool = False


@dataclass(frozen=True)
class Assignment:
    """The joints of a log, and the sources of their quantities.

    Attributes:
        joints: names, in the order of the robot, the map or the file.
        sources: sources of the present quantities, by joint and quantity.
        findings: assumptions, and columns that were left out.
    """

    joints: tuple[str, ...]
    sources: dict[tuple[str, str], Source]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    stream: int
    column: int
    meaning: ColumnName
    name: str


def needed_columns(names: Sequence[str], log_map: LogMap, joints: Sequence[str]) -> list[int]:
    """Return the indices of the columns of a table that may be needed, by their names."""
    named = [joint.columns for joint in log_map.joints.values()]
    named += [control.columns for control in log_map.control.values()]
    mapped = {column.column for columns in named for column in columns.values()} | {log_map.time.column}
    return [
        k
        for k, name in enumerate(names)
        if name in mapped
        or bare(name) in mapped
        or ((found := meaning_of(name, joints)) is not None and found.quantity in (TIME, *QUANTITIES))
    ]


def bare(name: str) -> str:
    """Return the name of a column without the unit in brackets."""
    return name.split(" [")[0].strip()


def meaning_of(name: str, joints: Sequence[str]) -> ColumnName | None:
    """Return the meaning of the name of a column, with the known names of joints."""
    for joint in sorted(joints, key=len, reverse=True):
        if joint and joint in name:
            # With a number instead of the joint's name, its words are not read as a quantity or a unit.
            found = column_name(name.replace(joint, "0", 1))
            if found is not None and found.joint == "0":
                return replace(found, joint=joint)
    return column_name(name)


def assign(
    recording: Recording,
    log_map: LogMap,
    robot_joints: Sequence[str] | None,
    followers: Mapping[str, str | None] = NONE,
) -> Assignment:
    """Return the assignment of the columns of a recording.

    Args:
        recording: the columns.
        log_map: map of the user.
        robot_joints: names of the robot's joints, in order; None without a robot.
        followers: leaders of the robot's mimic joints by their names, and None for passive joints.

    Raises:
        DynError: a column is missing, or several are possible.
    """
    if log_map.names_columns:
        return _mapped(recording, log_map, robot_joints)
    found = _recognised(recording, log_map, robot_joints)
    return replace(found, findings=tuple(_with_followers(found.findings, followers)))


def _with_followers(findings: Sequence[Finding], followers: Mapping[str, str | None]) -> Iterator[Finding]:
    """Yield the findings; joints that follow others get findings of their own."""
    for finding in findings:
        following = [name for name in finding.names if name in followers]
        if finding.code != "joint-not-of-robot" or not following:
            yield finding
            continue
        others = tuple(name for name in finding.names if name not in followers)
        if others:
            yield replace(finding, names=others)
        for name in following:
            leader = followers[name]
            of_mimic = Message("joint-column-of-mimic", leader=leader)
            message = Message("joint-column-of-passive-joint") if leader is None else of_mimic
            yield replace(finding, names=(name,), detail=message)


def _mapped(recording: Recording, log_map: LogMap, robot_joints: Sequence[str] | None) -> Assignment:
    """Return the assignment of the columns that the map names."""
    joints = tuple(joint for joint in log_map.joints if joint not in log_map.ignore)
    if robot_joints is not None:
        unknown = [joint for joint in joints if joint not in robot_joints]
        if unknown:
            raise DynError("map-joint-unknown", unknown=unknown, known=robot_joints)
        joints = tuple(joint for joint in robot_joints if joint in joints)
    sources: dict[tuple[str, str], Source] = {}
    for joint in joints:
        for quantity, column in log_map.joints[joint].columns.items():
            if column.column is None:
                raise DynError("map-column-missing", joint=joint, quantity=quantity)
            sources[joint, quantity] = source_of(recording, column, joint, quantity, log_map)
    return Assignment(joints, sources)


def source_of(recording: Recording, column: ColumnMap, joint: str, quantity: str, log_map: LogMap) -> Source:
    """Return the source that the map names; DynError if it is missing or ambiguous."""
    stream, k = _found(recording, column.column or "", column.topic or log_map.topic)
    meaning = _meaning(recording.streams[stream], k, ())
    own = meaning if meaning and meaning.quantity == quantity else None
    return Source(stream, k, _unit(joint, quantity, column, own, log_map), column)


def _unit(
    joint: str, quantity: str, column: ColumnMap, meaning: ColumnName | None, log_map: LogMap
) -> Unit | None:
    """Return the unit of a column; DynError if its name has an unknown unit in brackets."""
    of_name = None if meaning is None else meaning.unit
    unit = column.unit or of_name or log_map.units.get(quantity)
    if unit is None and quantity != VELOCITY and meaning is not None and meaning.unknown_unit:
        given, known = shortened(meaning.unknown_unit, 40), UNITS[quantity]
        raise DynError("column-unit-unknown", joint=joint, quantity=quantity, given=given, known=known)
    return unit


def _found(recording: Recording, name: str, topic: str | None) -> tuple[int, int]:
    """Return the indices of stream and column of a name."""
    places = [
        (s, k)
        for s, stream in enumerate(recording.streams)
        if topic is None or stream.source == topic
        for k, own in enumerate(stream.names)
        if name in (own, bare(own))
    ]
    if not places:
        known = [own for stream in recording.streams for own in (*stream.names, *stream.ignored)]
        sources = sorted({stream.source for stream in recording.streams if stream.source})
        if topic is not None and topic not in sources:
            raise DynError("map-topic-unknown", topic=topic, known=sources)
        raise DynError("map-column-unknown", column=name, known=known)
    sources = [recording.streams[s].source for s, _ in places]
    if len(set(sources)) > 1:
        raise DynError("map-column-ambiguous", column=name, topics=sources)
    return max(places, key=lambda place: len(recording.streams[place[0]].values))


def _recognised(recording: Recording, log_map: LogMap, robot_joints: Sequence[str] | None) -> Assignment:
    """Return the assignment of the columns by their names."""
    known = tuple(robot_joints) if robot_joints is not None else tuple(log_map.joints)
    candidates = [
        _Candidate(s, k, meaning, name)
        for s, stream in enumerate(recording.streams)
        for k, name in enumerate(stream.names)
        if (meaning := _meaning(stream, k, known)) is not None and meaning.quantity in QUANTITIES
    ]
    findings: list[Finding] = []
    candidates, joints = _named(candidates, known, robot_joints, log_map, findings)
    topic = _topic(recording, candidates, log_map, findings)
    of_quantity: dict[tuple[str, str], list[_Candidate]] = {}
    for candidate in candidates:
        meaning = candidate.meaning
        of_quantity.setdefault((meaning.joint, meaning.quantity), []).append(candidate)
    sources: dict[tuple[str, str], Source] = {}
    motors: list[str] = []
    for joint in joints:
        mapped = log_map.joints.get(joint, JointMap())
        for quantity in QUANTITIES:
            column = mapped.columns.get(quantity, ColumnMap())
            own = of_quantity.get((joint, quantity), [])
            may_be_elsewhere = quantity == EFFORT and column.topic is None
            found = _best(recording, own, column.topic or topic, joint, quantity, may_be_elsewhere)
            if found is None:
                continue
            unit = _unit(joint, quantity, column, found.meaning, log_map)
            if found.meaning.is_motor and quantity == POSITION and mapped.ratio == 1.0:
                motors.append(joint)
            sources[joint, quantity] = Source(
                found.stream, found.column, unit, column, found.meaning.is_command
            )
    commanded = [joint for (joint, what), source in sources.items() if what == EFFORT and source.is_command]
    for names, code in ((commanded, "effort-commanded"), (motors, "position-of-motor")):
        if names:
            findings.append(Finding(Severity.WARNING, "joint", tuple(names), Message(code)))
    return Assignment(joints, sources, tuple(findings))


def _meaning(stream: Stream, k: int, joints: Sequence[str]) -> ColumnName | None:
    return stream.meanings[k] if stream.meanings else meaning_of(stream.names[k], joints)


def _numbered_alike(candidates: list[_Candidate], known: tuple[str, ...]) -> list[_Candidate]:
    """Return candidates with numbers instead of names such as J1, if others have numbers or known names."""
    labels = {c.meaning.joint for c in candidates}
    numbers = {label for label in labels if label.isdecimal()}
    short = {label: match.group(1) for label in labels if (match := _NUMBERED.fullmatch(label)) is not None}
    is_mixed = bool(numbers) and set(short.values()) <= numbers
    is_numbered = bool(known) and len(short) == len(labels)
    if labels & set(known) or not (is_mixed or is_numbered):
        return candidates
    return [
        replace(c, meaning=replace(c.meaning, joint=short.get(c.meaning.joint, c.meaning.joint)))
        for c in candidates
    ]


def _spelling(name: str) -> str:
    """Return a name without case, separators and the word joint."""
    return re.sub(r"[^a-z0-9]|joint", "", name.lower()) or name


def _named(
    candidates: list[_Candidate],
    known: tuple[str, ...],
    robot_joints: Sequence[str] | None,
    log_map: LogMap,
    findings: list[Finding],
) -> tuple[list[_Candidate], tuple[str, ...]]:
    """Return the candidates with names of joints instead of numbers, and the joints in order."""
    candidates = _numbered_alike(candidates, known)
    labels = list(dict.fromkeys(c.meaning.joint for c in candidates))
    names = {label: label for label in labels}
    is_known = frozenset(known)
    spelled = {_spelling(name): name for name in known}
    if len(spelled) == len(known):
        names = {
            label: label if label in is_known else spelled.get(_spelling(label), label) for label in labels
        }
    matched = [(label, name) for label, name in names.items() if label != name]
    if matched:
        pairs = tuple(Message("joint-name-matched", given=label, joint=name) for label, name in matched[:12])
        findings.append(Finding(Severity.NOTE, "log", (), Message("joint-names-matched", pairs=pairs)))
    numbers = sorted((x for x in labels if x.isdecimal() or x == ""), key=lambda x: int(x or 0))
    if numbers and is_known.isdisjoint(labels):
        if known and len(known) != len(numbers):
            raise DynError("columns-joints-mismatch", given=len(numbers), expected=len(known), known=known)
        taken = known or tuple(f"joint_{label or 1}" for label in numbers)
        names.update(zip(numbers, taken, strict=True))
        if known and len(numbers) > 1:
            message = Message("columns-numbered", first=numbers[0], last=numbers[-1], joints=taken)
            findings.append(Finding(Severity.NOTE, "log", (), message))
    joints = tuple(dict.fromkeys(names[label] for label in labels))
    if robot_joints is not None:
        allowed = {*robot_joints, *log_map.ignore}
        extra = tuple(joint for joint in joints if joint not in allowed)
        if extra:
            findings.append(Finding(Severity.NOTE, "joint", extra, Message("joint-not-of-robot")))
        present = set(joints)
        joints = tuple(joint for joint in robot_joints if joint in present)
    present = set(joints)
    unknown = [joint for joint in log_map.joints if joint not in present]
    if unknown:
        raise DynError("map-joint-not-in-log", unknown=unknown, known=joints)
    joints = tuple(joint for joint in joints if joint not in log_map.ignore)
    present = set(joints)
    renamed = [
        replace(c, meaning=replace(c.meaning, joint=names[c.meaning.joint]))
        for c in candidates
        if names[c.meaning.joint] in present
    ]
    return renamed, joints


def _topic(
    recording: Recording, candidates: list[_Candidate], log_map: LogMap, findings: list[Finding]
) -> str | None:
    """Return the topic of the joints; None if there are no topics."""
    sources = sorted({recording.streams[c.stream].source for c in candidates})
    if log_map.topic is not None:
        if log_map.topic not in sources:
            raise DynError("map-topic-without-joints", topic=log_map.topic, known=sources)
        return log_map.topic
    if len(sources) <= 1:
        return sources[0] if sources else None
    scores = {source: _score(recording, candidates, source) for source in sources}
    best = max(scores.values())
    chosen = [source for source in sources if scores[source] == best]
    preferred = [source for source in chosen if source.rstrip("/").endswith("joint_states")]
    if len(chosen) > 1 and len(preferred) == 1:
        chosen = preferred
    if len(chosen) > 1:
        raise DynError("topic-ambiguous", topics=chosen)
    others = [source for source in sources if source != chosen[0]]
    findings.append(Finding(Severity.NOTE, "topic", (chosen[0],), Message("topic-chosen", others=others)))
    return chosen[0]


def _score(recording: Recording, candidates: list[_Candidate], topic: str) -> tuple[int, int]:
    """Return the number of joints of a topic with position and measured effort, and with position."""
    own = [c.meaning for c in candidates if recording.streams[c.stream].source == topic]
    positions, efforts = (
        {one.joint for one in own if one.quantity == quantity and not one.is_command}
        for quantity in (POSITION, EFFORT)
    )
    return len(positions & efforts), len(positions)


def _best(
    recording: Recording,
    found: list[_Candidate],
    topic: str | None,
    joint: str,
    quantity: str,
    may_be_elsewhere: bool,
) -> _Candidate | None:
    """Return the column of a quantity of a joint; DynError if several are possible."""
    here = [c for c in found if recording.streams[c.stream].source == (topic or "")]
    usable = [c for c in here if not c.meaning.is_command]
    if not usable and may_be_elsewhere:
        usable = here or [c for c in found if not c.meaning.is_command] or found
    if not usable:
        return None
    # An effort in N m is preferred to a current, and the joint to the motor.
    usable = [c for c in usable if c.meaning.unit is None or not c.meaning.unit.is_raw] or usable
    usable = [c for c in usable if not c.meaning.is_motor] or usable
    # A column of a topic is in several streams if its messages name different sets of joints.
    names = sorted((recording.streams[c.stream].source, c.name) for c in usable)
    if len(set(names)) > 1 or len({c.stream for c in usable}) < len(usable):
        columns = [name if not source else f"{source}: {name}" for source, name in names]
        raise DynError("column-ambiguous", quantity=quantity, joint=joint, columns=columns)
    return max(usable, key=lambda c: len(recording.streams[c.stream].values))
