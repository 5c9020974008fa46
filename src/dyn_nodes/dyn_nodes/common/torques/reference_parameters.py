# SPDX-License-Identifier: Apache-2.0
"""Parameters of references, stale data and drives, shared by the nodes `feedforward` and `controller`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.validate_topic_name import validate_topic_name

from dyn_core import DynError
from dyn_core.control.watchdog import Reaction, WatchSettings
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.common.drive_profile import COMPENSATED, PAYLOADS, Profile, read_profile
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.common.parameters import SECONDS, TIMEOUT, declare, declare_names, parameter

_LONGEST_TOPIC = 200


@dataclass(frozen=True)
class DriveSettings:
    """What the drive adds to the torques that it gets."""

    compensates: frozenset[str] = frozenset()  # of COMPENSATED
    knows_payload: bool = True  # whether the gravity that it adds is that of payloads, too
    running_topic: str = ""  # says whether torques act; empty: they always do
    profile: str = ""

    @property
    def adds_gravity(self) -> bool:
        """Whether gravity is not to be sent."""
        return "gravity" in self.compensates


def declared_drive(node: ManagedNode, reactions: Collection[str]) -> DriveSettings:
    """Declare the parameters of the drive; DynError where one is invalid.

    Parameters that are declared afterwards have the defaults of the profile, if there is one; `reactions` are
    the values of on_stale that the node knows.
    """
    text = (
        "Driver profile: a name in config/profiles, or the path of a YAML file; empty: none. It gives "
        "defaults of other parameters."
    )
    chosen: str = declare(node, "profile", "", text)
    if chosen:
        _take_defaults(node, read_profile(chosen), reactions)
    text = (
        "Terms that the drive adds to the torques that it gets, so that they are not sent; ['']: none. "
        "Gravity that the drive adds counts in effort limits."
    )
    compensates = declare_names(node, "drive_compensates", text, COMPENSATED, live=True)
    text = (
        "Whether a drive that adds gravity is told of payloads: 'told', or 'never', so that the gravity of "
        "payloads is sent."
    )
    known = declare(node, "payload_known_to_drive", "told", text, choices=PAYLOADS)
    text = (
        "Topic (std_msgs/Bool) that says whether the drive takes torques: zero is sent while it is false, "
        "and torques begin with ramp_start when it becomes true; empty: none."
    )
    running: str = declare(node, "running_topic", "", text)
    if running:
        _check_topic(running)
    return DriveSettings(frozenset(compensates), known == "told", running, chosen)


def _check_topic(topic: str) -> None:
    try:
        if len(topic) > _LONGEST_TOPIC:
            raise ValueError(f"it has {len(topic)} characters")
        validate_topic_name(topic)
    except (ValueError, InvalidTopicNameException) as problem:
        reason = str(problem).splitlines()[0]
        raise DynError("running-topic-invalid", topic=topic, reason=reason) from problem


def _take_defaults(node: ManagedNode, profile: Profile, reactions: Collection[str]) -> None:
    """Set the defaults of parameters to those of a profile, and log which ones were given otherwise."""
    profile.check_takes_torque()
    values = dict(profile.parameters)
    if values.get("on_stale") not in reactions:
        values.pop("on_stale", None)
    own = {name: node.get_parameter(name).value for name in values if node.has_parameter(name)}
    others = [f"{name} {value}" for name, value in own.items() if value != values[name]]
    node.profile_defaults = values
    log, told = node.get_logger(), {"profile": profile.name, "title": profile.title}
    log.info(str(Notice("profile-used", effort=profile.effort, **told)))
    if others:
        log.warning(str(Notice("profile-overridden", profile=profile.name, others=others)))


@dataclass(frozen=True)
class ReferenceSettings:
    """Limits of references, and how they are completed; `controller_state` is for `feedforward` only."""

    max_speed: float = parameter(
        0.0,
        "Greatest speed of references, rad/s or m/s; 0: the velocity limits of the description.",
        (0.0, 1e6),
        name="max_reference_speed",
        live=True,
    )
    slack: float = parameter(
        0.1,
        "Distance, rad or m, that a reference may move beyond max_reference_speed times the time since the "
        "last one; also the greatest distance of the first one from the measured position.",
        (0.0, 1e6),
        name="reference_slack",
        live=True,
    )
    derivative_cutoff: float = parameter(
        30.0,
        "Cutoff of the filter for velocities and accelerations that messages do not give, Hz.",
        (0.01, 10000.0),
    )
    carry: float = parameter(
        0.0,
        "Longest time, s, by which a reference is extrapolated from its stamp to that of the measurement, or "
        "back, with its velocity and acceleration; 0: references are not extrapolated.",
        (0.0, 1.0),
        name="reference_carry",
    )
    controller_state: bool = False


def declared_watch(
    node: Node, data: str, reactions: Mapping[str, Reaction], reaction_meanings: str, usual: WatchSettings
) -> WatchSettings:
    """Declare timeout, reaction and ramps for stale `data`; the defaults are those of `usual`."""

    def seconds(
        name: str, default: float, description: str, within: tuple[float, float], *, live: bool = False
    ) -> float:
        value: float = declare(node, name, default, description, within=within, live=live)
        return value

    text = f"Time without good {data} after which the reaction on_stale begins, s on a steady clock."
    timeout = seconds("timeout", usual.timeout, text, TIMEOUT)
    text = f"Reaction while {data} are stale: {reaction_meanings}."
    default = next(name for name, reaction in reactions.items() if reaction == usual.reaction)
    on_stale: str = declare(node, "on_stale", default, text, choices=tuple(reactions))
    text = "Duration of the change to the torques of on_stale, s."
    ramp_down = seconds("ramp_down", usual.ramp_down, text, SECONDS, live=True)
    text = f"Duration of the change back to live torques when {data} are good again, s."
    ramp_up = seconds("ramp_up", usual.ramp_up, text, SECONDS, live=True)
    return WatchSettings(timeout, reactions[on_stale], ramp_down, ramp_up)
