# SPDX-License-Identifier: Apache-2.0
"""Parameters of references, stale data and drives, shared by the nodes `feedforward` and `controller`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rclpy.node import Node

from dyn_core.control.watchdog import Reaction, WatchSettings
from dyn_nodes.common.parameters import SECONDS, TIMEOUT, declare, declare_names, parameter

COMPENSATED = ("gravity", "friction", "coriolis")
"""Terms of torques that a drive can add itself."""
PAYLOADS = ("told", "never")
"""Whether a drive that adds gravity can be told of a payload."""


@dataclass(frozen=True)
class DriveSettings:
    """What the drive adds to the torques that it gets."""

    compensates: frozenset[str] = frozenset()  # of COMPENSATED
    knows_payload: bool = True  # whether the gravity that it adds is that of payloads, too

    @property
    def adds_gravity(self) -> bool:
        """Whether gravity is not to be sent."""
        return "gravity" in self.compensates


def declared_drive(node: Node) -> DriveSettings:
    """Declare the parameters of the drive; DynError where one is invalid."""
    text = (
        "Terms that the drive adds to the torques that it gets, so that they are not sent; ['']: none. "
        "Gravity that the drive adds counts in effort limits."
    )
    compensates = declare_names(node, "drive_compensates", text, COMPENSATED)
    text = (
        "Whether a drive that adds gravity is told of payloads: 'told', or 'never', so that the gravity of "
        "payloads is sent."
    )
    known = declare(node, "payload_known_to_drive", "told", text, choices=PAYLOADS)
    return DriveSettings(frozenset(compensates), known == "told")


@dataclass(frozen=True)
class ReferenceSettings:
    """Limits of references, and how they are completed; `controller_state` is for `feedforward` only."""

    max_speed: float = parameter(
        0.0,
        "Greatest speed of references, rad/s or m/s; 0: the velocity limits of the description.",
        (0.0, 1e6),
        name="max_reference_speed",
    )
    slack: float = parameter(
        0.1,
        "Distance, rad or m, that a reference may move beyond max_reference_speed times the time since the "
        "last one; also the greatest distance of the first one from the measured position.",
        (0.0, 1e6),
        name="reference_slack",
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

    def seconds(name: str, default: float, description: str, within: tuple[float, float]) -> float:
        value: float = declare(node, name, default, description, within=within)
        return value

    text = f"Time without good {data} after which the reaction on_stale begins, s on a steady clock."
    timeout = seconds("timeout", usual.timeout, text, TIMEOUT)
    text = f"Reaction while {data} are stale: {reaction_meanings}."
    default = next(name for name, reaction in reactions.items() if reaction == usual.reaction)
    on_stale: str = declare(node, "on_stale", default, text, choices=tuple(reactions))
    text = "Duration of the change to the torques of on_stale, s."
    ramp_down = seconds("ramp_down", usual.ramp_down, text, SECONDS)
    text = f"Duration of the change back to live torques when {data} are good again, s."
    ramp_up = seconds("ramp_up", usual.ramp_up, text, SECONDS)
    return WatchSettings(timeout, reactions[on_stale], ramp_down, ramp_up)
