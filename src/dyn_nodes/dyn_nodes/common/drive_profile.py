# SPDX-License-Identifier: Apache-2.0
"""Driver profiles: what a drive adds to torques itself, and what its driver takes and reports.

A profile is a YAML file, installed in `config/profiles` or given by its path. Programs use the keys that
`Profile` and `EffortMeaning` have; `verified`, `unverified`, `notes` and `sources` are for readers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory

from dyn_core import DynError
from dyn_core.core.messages import nearest
from dyn_core.core.text import read_text
from dyn_core.robot.yaml_text import Node, Scalar, entries, items, name, not_negative, parse_yaml, place_in
from dyn_nodes.common.parameters import RATE, SECONDS

COMPENSATED = ("gravity", "friction", "coriolis")
"""Terms of torques that a drive can add itself."""
PAYLOADS = ("told", "never")
"""Whether a drive that adds gravity can be told of a payload."""
_REACTIONS = ("hold", "ramp", "stop")
_FOR_READERS = ("verified", "unverified", "notes", "sources")


@dataclass(frozen=True)
class EffortMeaning:
    """What the efforts in joint states are."""

    kind: str = "unknown"
    unit: str = "unknown"
    gravity: str = "unknown"
    friction: str = "unknown"
    sign: str = "unknown"  # whether it is that of our torques

    def __str__(self) -> str:
        return (
            f"{self.kind} in {self.unit}, gravity {self.gravity}, friction {self.friction}, sign {self.sign}"
        )


_EFFORTS: Mapping[str, Sequence[str]] = {
    "kind": ("joint_torque", "motor_torque", "motor_current", "estimate", "unknown"),
    "unit": ("N m", "A", "unknown"),
    "gravity": ("included", "removed", "unknown"),
    "friction": ("included", "removed", "not measured", "unknown"),
    "sign": ("same", "opposite", "unknown"),
}


@dataclass(frozen=True)
class Profile:
    """A driver as nodes see it; None where the profile leaves a value to the node."""

    name: str
    title: str
    drive_compensates: tuple[str, ...]  # of COMPENSATED
    payload_known_to_drive: str  # of PAYLOADS
    takes_torque: bool = True
    reason: str = ""  # why it takes no torque
    commands_topic: str = ""  # of the controller that takes arrays of torques; empty where it is the user's
    joint_states_topic: str = ""
    running_topic: str = ""  # std_msgs/Bool: whether torques act
    rate: float | None = None  # of the driver's loop (Hz)
    ramp_start: float | None = None  # s
    max_torque_rate: float | None = None  # effort limits per second
    on_stale: str | None = None
    effort: EffortMeaning = EffortMeaning()

    def check_takes_torque(self) -> None:
        """Raise DynError with the reason if the driver takes no torques."""
        if not self.takes_torque:
            values: dict[str, Any] = {"profile": self.name, "title": self.title, "reason": self.reason}
            raise DynError("profile-takes-no-torque", **values)

    @property
    def parameters(self) -> dict[str, Any]:
        """Defaults of parameters of nodes that send torques."""
        values: dict[str, Any] = {
            "drive_compensates": list(self.drive_compensates) or [""],
            "payload_known_to_drive": self.payload_known_to_drive,
            "rate": self.rate,
            "ramp_start": self.ramp_start,
            "max_torque_rate": self.max_torque_rate,
            "on_stale": self.on_stale,
            "running_topic": self.running_topic,
        }
        return {key: value for key, value in values.items() if value is not None}


_KEYS = tuple(field.name for field in fields(Profile) if field.name != "name")


def profile_directory() -> Path:
    """Return the folder of the installed profiles."""
    return Path(get_package_share_directory("dyn_nodes")) / "config" / "profiles"


def profile_names() -> tuple[str, ...]:
    """Return the names of the installed profiles, sorted."""
    return tuple(sorted(path.stem for path in profile_directory().glob("*.yaml")))


def read_profile(name_or_path: str) -> Profile:
    """Return an installed profile, or that of a file; DynError where it cannot be used."""
    path = Path(name_or_path)
    if path.suffix != ".yaml" and path.name == name_or_path:
        path = _installed(name_or_path)
    try:
        return _profile(path.stem, parse_yaml(read_text(str(path), "YAML", "YAML")))
    except DynError as problem:
        raise problem if problem.file else problem.in_file(str(path)) from problem


def _installed(name: str) -> Path:
    names = profile_names()
    if name not in names:
        values: dict[str, Any] = {"profile": name, "known": names}
        similar = nearest(name, names)
        if similar:
            raise DynError("profile-unknown-similar", similar=similar, **values)
        raise DynError("profile-unknown", **values)
    return profile_directory() / f"{name}.yaml"


def _profile(stem: str, tree: Node) -> Profile:
    given = entries("the profile", tree, (*_KEYS, *_FOR_READERS))
    for key in ("title", "drive_compensates", "payload_known_to_drive"):
        if key not in given:
            raise DynError("entry-missing", entry=key, expected="a value")
    values: dict[str, Any] = {}
    for key in _KEYS:
        if key in given:
            values[key] = _value(key, given[key])
    profile = Profile(stem, **values)
    if profile.takes_torque == bool(profile.reason):
        raise DynError("profile-reason-misplaced", place=place_in("reason", given.get("reason", tree)))
    return profile


def _value(key: str, node: Node) -> Any:
    """Return the value of a key of a profile."""
    if key == "drive_compensates":
        return tuple(dict.fromkeys(_choice(key, item, COMPENSATED) for item in items(key, node)))
    if key == "payload_known_to_drive":
        return _choice(key, node, PAYLOADS)
    if key == "takes_torque":
        return _choice(key, node, ("true", "false")) == "true"
    if key == "on_stale":
        return _choice(key, node, _REACTIONS)
    if key == "effort":
        given = entries(key, node, tuple(_EFFORTS))
        return EffortMeaning(
            **{part: _choice(f"{key}, {part}", value, _EFFORTS[part]) for part, value in given.items()}
        )
    if key in _RANGES:
        value, (lower, upper) = not_negative(key, node), _RANGES[key]
        if not lower <= value <= upper:
            place = place_in(key, node)
            raise DynError("profile-number-range", place=place, given=value, lower=lower, upper=upper)
        return value
    return name(key, node)


_RANGES = {"rate": RATE, "ramp_start": SECONDS, "max_torque_rate": (0.0, 2000.0)}


def _choice(owner: str, node: Node, choices: Sequence[str]) -> str:
    given = node.text if isinstance(node, Scalar) else "a list or mapping"
    if given not in choices:
        raise DynError("profile-choice-unknown", place=place_in(owner, node), given=given, known=choices)
    return given
