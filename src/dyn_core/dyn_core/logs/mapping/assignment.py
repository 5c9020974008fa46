# SPDX-License-Identifier: Apache-2.0
"""Which column is which quantity of which joint."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from dyn_core.core.errors import DynError, listed, shortened
from dyn_core.core.findings import Finding, Severity
from dyn_core.logs.mapping.log_map import QUANTITIES, ColumnMap, JointMap, LogMap
from dyn_core.logs.recording import ColumnName, column_name
from dyn_core.logs.stream import Recording, Stream
from dyn_core.logs.units import EFFORT, POSITION, TIME, UNITS, VELOCITY, Unit

NONE: Mapping[str, str] = MappingProxyType({})
UNKNOWN = "the robot has no joint of this name: it is left out"
_NUMBERED = re.compile(r"(?:j|joint|a|axis|ax|m|motor|drive|dof)[ _]?0*(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """Where one quantity of one joint comes from.

    Attributes:
        stream: index of the stream.
        column: index of the column in it.
        unit: of the values; None for SI units that nobody has named.
        said: what the map says of it.
        is_wanted: whether the values are commands instead of measurements.
    """

    stream: int
    column: int
    unit: Unit | None
    said: ColumnMap
    is_wanted: bool = False


@dataclass(frozen=True)
class Assignment:
    """The joints of a log, and where their quantities are.

    Attributes:
        joints: names, in the order of the robot, the map or the file.
        sources: by joint and quantity; a quantity that is not there is missing.
        findings: what had to be guessed or was left out.
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


def wanted_columns(names: Sequence[str], said: LogMap, joints: Sequence[str]) -> list[int]:
    """Answer which columns of a table may be of use, by their names."""
    named = [joint.columns for joint in said.joints.values()]
    named += [control.columns for control in said.control.values()]
    mapped = {column.column for columns in named for column in columns.values()}
    mapped.add(said.time.column)
    return [
        k
        for k, name in enumerate(names)
        if name in mapped
        or bare(name) in mapped
        or ((found := meaning_of(name, joints)) is not None and found.quantity in (TIME, *QUANTITIES))
    ]


def bare(name: str) -> str:
    """Answer the name of a column without what a unit line or bracket adds to it."""
    return name.split(" [")[0].strip()


def meaning_of(name: str, joints: Sequence[str]) -> ColumnName | None:
    """Answer what the name of a column says, where the names of joints are known."""
    for joint in sorted(joints, key=len, reverse=True):
        if joint and joint in name:
            # A number in its place keeps words of the joint's name from being taken for anything else.
            found = column_name(name.replace(joint, "0", 1))
            if found is not None and found.joint == "0":
                return replace(found, joint=joint)
    return column_name(name)


def assign(
    recording: Recording,
    said: LogMap,
    robot_joints: Sequence[str] | None,
    followers: Mapping[str, str] = NONE,
) -> Assignment:
    """Answer which column is what.

    Args:
        recording: the columns.
        said: what the user says.
        robot_joints: names of the robot's joints, in order; None where no robot is known.
        followers: joints of the robot that follow others, with how they do.

    Raises:
        DynError: a column is missing, or several could be meant.
    """
    if said.names_columns:
        return _as_said(recording, said, robot_joints)
    found = _recognised(recording, said, robot_joints)
    return replace(found, findings=tuple(_with_followers(found.findings, followers)))


def _with_followers(findings: Sequence[Finding], followers: Mapping[str, str]) -> Iterator[Finding]:
    """Answer findings in which joints that follow others are told from those that are not there."""
    for finding in findings:
        following = [name for name in finding.names if name in followers]
        if finding.message != UNKNOWN or not following:
            yield finding
            continue
        others = tuple(name for name in finding.names if name not in followers)
        if others:
            yield replace(finding, names=others)
        for name in following:
            yield replace(finding, names=(name,), message=f"it {followers[name]} where it is: it is left out")


def _as_said(recording: Recording, said: LogMap, robot_joints: Sequence[str] | None) -> Assignment:
    """Take the columns that the map names, and none else."""
    joints = tuple(joint for joint in said.joints if joint not in said.ignore)
    if robot_joints is not None:
        unknown = [joint for joint in joints if joint not in robot_joints]
        if unknown:
            raise DynError(
                f"the map names {listed(unknown)}, but the joints of the robot are {listed(robot_joints, 12)}"
            )
        joints = tuple(joint for joint in robot_joints if joint in joints)
    sources: dict[tuple[str, str], Source] = {}
    for joint in joints:
        for quantity, column in said.joints[joint].columns.items():
            if column.column is None:
                raise DynError(
                    f"joint '{shortened(joint, 40)}', {quantity}: the map names no column for it: add one"
                )
            sources[joint, quantity] = source_of(recording, column, joint, quantity, said)
    return Assignment(joints, sources)


def source_of(recording: Recording, column: ColumnMap, joint: str, quantity: str, said: LogMap) -> Source:
    """Answer where a column is that a map names; DynError where it is not, or more than once."""
    stream, k = _found(recording, column.column or "", column.topic or said.topic)
    meaning = _meaning(recording.streams[stream], k, ())
    own = meaning if meaning and meaning.quantity == quantity else None
    return Source(stream, k, _unit(joint, quantity, column, own, said), column)


def _unit(
    joint: str, quantity: str, column: ColumnMap, meaning: ColumnName | None, said: LogMap
) -> Unit | None:
    """Answer the unit of a column; DynError where its name has one in brackets that nobody knows."""
    of_name = None if meaning is None else meaning.unit
    unit = column.unit or of_name or said.units.get(quantity)
    if unit is None and quantity != VELOCITY and meaning is not None and meaning.no_unit:
        text = shortened(meaning.no_unit, 40)
        raise DynError(
            f"joint '{shortened(joint, 40)}': the name of its {quantity} ends in '{text}', which is no unit "
            f"of {quantity} that is known: give 'units: {{{quantity}: UNIT}}' in a map, one of "
            f"{listed(UNITS[quantity], 20)}"
        )
    return unit


def _found(recording: Recording, name: str, topic: str | None) -> tuple[int, int]:
    """Answer stream and column of a name."""
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
            raise DynError(
                f"there is no topic '{shortened(topic, 60)}' with numbers: there are {listed(sources, 12)}"
            )
        raise DynError(f"there is no column '{shortened(name, 60)}': there are {listed(known, 12)}")
    if len({recording.streams[s].source for s, _ in places}) > 1:
        sources = [recording.streams[s].source for s, _ in places]
        raise DynError(f"several topics have '{shortened(name, 60)}': add one of {listed(sources)} as topic")
    return max(places, key=lambda place: len(recording.streams[place[0]].values))


def _recognised(recording: Recording, said: LogMap, robot_joints: Sequence[str] | None) -> Assignment:
    """Take the columns whose names say what they are."""
    known = tuple(robot_joints) if robot_joints is not None else tuple(said.joints)
    candidates = [
        _Candidate(s, k, meaning, name)
        for s, stream in enumerate(recording.streams)
        for k, name in enumerate(stream.names)
        if (meaning := _meaning(stream, k, known)) is not None and meaning.quantity in QUANTITIES
    ]
    findings: list[Finding] = []
    candidates, joints = _named(candidates, known, robot_joints, said, findings)
    topic = _topic(recording, candidates, said, findings)
    sources: dict[tuple[str, str], Source] = {}
    of_motors: set[str] = set()
    for joint in joints:
        mapped = said.joints.get(joint, JointMap())
        for quantity in QUANTITIES:
            column = mapped.columns.get(quantity, ColumnMap())
            found = _best(
                recording,
                [c for c in candidates if c.meaning.joint == joint and c.meaning.quantity == quantity],
                column.topic or topic,
                f"{quantity} of joint '{shortened(joint, 40)}'",
                quantity == EFFORT and column.topic is None,
            )
            if found is not None:
                unit = _unit(joint, quantity, column, found.meaning, said)
                if found.meaning.is_motor and quantity == POSITION:
                    of_motors.add(joint)
                sources[joint, quantity] = Source(
                    found.stream, found.column, unit, column, found.meaning.is_wanted
                )
    commanded = [joint for (joint, what), source in sources.items() if what == EFFORT and source.is_wanted]
    if commanded:
        findings.append(
            Finding(
                Severity.WARNING,
                "joint",
                tuple(commanded),
                "no effort was measured: what was commanded is taken for it",
            )
        )
    motors = [
        joint for joint in joints if joint in of_motors and said.joints.get(joint, JointMap()).ratio == 1.0
    ]
    if motors:
        findings.append(
            Finding(
                Severity.WARNING,
                "joint",
                tuple(motors),
                "its position is that of the motor, by the name of the column: give the ratio in a map",
            )
        )
    return Assignment(joints, sources, tuple(findings))


def _meaning(stream: Stream, k: int, joints: Sequence[str]) -> ColumnName | None:
    return stream.meanings[k] if stream.meanings else meaning_of(stream.names[k], joints)


def _numbered_alike(candidates: list[_Candidate], known: tuple[str, ...]) -> list[_Candidate]:
    """Answer candidates with numbers for names such as J1, where others are called 1, or by other names."""
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
    """Answer a name without what people write in different ways."""
    return re.sub(r"[^a-z0-9]|joint", "", name.lower()) or name


def _named(
    candidates: list[_Candidate],
    known: tuple[str, ...],
    robot_joints: Sequence[str] | None,
    said: LogMap,
    findings: list[Finding],
) -> tuple[list[_Candidate], tuple[str, ...]]:
    """Answer the candidates with names of joints instead of numbers, and the joints in order."""
    candidates = _numbered_alike(candidates, known)
    labels = list(dict.fromkeys(c.meaning.joint for c in candidates))
    names = {label: label for label in labels}
    spelled = {_spelling(name): name for name in known}
    if len(spelled) == len(known):
        names = {label: label if label in known else spelled.get(_spelling(label), label) for label in labels}
    other = [f"'{label}' for '{name}'" for label, name in names.items() if label != name]
    if other:
        findings.append(Finding(Severity.NOTE, "log", (), f"names of joints taken: {', '.join(other[:12])}"))
    numbers = sorted(
        (label for label in labels if label.isdecimal() or label == ""), key=lambda x: int(x or 0)
    )
    if numbers and not any(label in known for label in labels):
        if known and len(known) != len(numbers):
            raise DynError(
                f"the columns number {len(numbers)} joints, but there are {len(known)}: "
                f"{listed(known, 12)}; give "
                "a map that names the columns of each joint"
            )
        taken = known or tuple(f"joint_{label or 1}" for label in numbers)
        names.update(zip(numbers, taken, strict=True))
        if known and len(numbers) > 1:
            findings.append(
                Finding(
                    Severity.NOTE,
                    "log",
                    (),
                    f"the columns number the joints {numbers[0]} to {numbers[-1]}: taken for "
                    f"{listed(taken, 12)}, "
                    "in this order",
                )
            )
    joints = tuple(dict.fromkeys(names[label] for label in labels))
    if robot_joints is not None:
        extra = tuple(joint for joint in joints if joint not in robot_joints and joint not in said.ignore)
        if extra:
            findings.append(Finding(Severity.NOTE, "joint", extra, UNKNOWN))
        joints = tuple(joint for joint in robot_joints if joint in joints)
    unknown = [joint for joint in said.joints if joint not in joints]
    if unknown:
        raise DynError(f"the map names {listed(unknown)}, but the joints of the log are {listed(joints, 12)}")
    joints = tuple(joint for joint in joints if joint not in said.ignore)
    renamed = [
        replace(c, meaning=replace(c.meaning, joint=names[c.meaning.joint]))
        for c in candidates
        if names[c.meaning.joint] in joints
    ]
    return renamed, joints


def _topic(
    recording: Recording, candidates: list[_Candidate], said: LogMap, findings: list[Finding]
) -> str | None:
    """Answer the topic that the joints are taken from; None where there are no topics."""
    sources = sorted({recording.streams[c.stream].source for c in candidates})
    if said.topic is not None:
        if said.topic not in sources:
            raise DynError(
                f"the topic '{shortened(said.topic, 60)}' says nothing of joints: use one of "
                f"{listed(sources, 12)}"
            )
        return said.topic
    if len(sources) <= 1:
        return sources[0] if sources else None
    scores = {source: _score(recording, candidates, source) for source in sources}
    best = max(scores.values())
    chosen = [source for source in sources if scores[source] == best]
    preferred = [source for source in chosen if source.rstrip("/").endswith("joint_states")]
    if len(chosen) > 1 and len(preferred) == 1:
        chosen = preferred
    if len(chosen) > 1:
        raise DynError(
            f"several topics could be meant: choose one of {listed(chosen, 12)} as topic of the map"
        )
    others = [source for source in sources if source != chosen[0]]
    findings.append(
        Finding(
            Severity.NOTE, "topic", (chosen[0],), f"it is taken for the joints; so could be {listed(others)}"
        )
    )
    return chosen[0]


def _score(recording: Recording, candidates: list[_Candidate], topic: str) -> tuple[int, int]:
    """Answer how many joints a topic has with position and measured effort, and with position."""
    own = [c for c in candidates if recording.streams[c.stream].source == topic]
    positions = {c.meaning.joint for c in own if c.meaning.quantity == POSITION and not c.meaning.is_wanted}
    efforts = {c.meaning.joint for c in own if c.meaning.quantity == EFFORT and not c.meaning.is_wanted}
    return len(positions & efforts), len(positions)


def _best(
    recording: Recording, found: list[_Candidate], topic: str | None, what: str, may_be_elsewhere: bool
) -> _Candidate | None:
    """Answer the one column that is meant; DynError where several could be."""
    here = [c for c in found if recording.streams[c.stream].source == (topic or "")]
    measured = [c for c in here if not c.meaning.is_wanted]
    usable = measured or (here if may_be_elsewhere else [])
    if not usable and may_be_elsewhere:
        usable = [c for c in found if not c.meaning.is_wanted] or found
    if not usable:
        return None
    # Beside an effort in N m, a current is only another word for it.
    in_si = [c for c in usable if c.meaning.unit is None or not c.meaning.unit.is_raw]
    usable = in_si or usable
    usable = [c for c in usable if not c.meaning.is_motor] or usable
    # The same column of the same topic in several streams: messages name different sets of joints.
    names = sorted({(recording.streams[c.stream].source, c.name) for c in usable})
    is_twice = len({c.stream for c in usable}) < len(usable)
    if len(names) > 1 or is_twice:
        names = sorted((recording.streams[c.stream].source, c.name) for c in usable)
        shown = [name if not source else f"{source}: {name}" for source, name in names]
        raise DynError(f"several columns could be the {what}: {listed(shown)}; give a map that names the one")
    return max(usable, key=lambda c: len(recording.streams[c.stream].values))
