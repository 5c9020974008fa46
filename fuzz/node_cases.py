# SPDX-License-Identifier: Apache-2.0
"""The nodes that are fuzzed: of each kind, in each mode, with loops, springs and moving bases."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torque_checker import Case

import dyn_core
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.controller.node import Controller
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.governor.node import Governor
from dyn_nodes.identification.node import Identification
from dyn_nodes.simulation.node import Simulation

_ROBOTS = Path(__file__).resolve().parents[1] / "config" / "robots"
_STALE_S = 0.27
"""Longest age of data for live torques: silence is noticed after 1.25 timeouts, and clocks have steps."""


@dataclass(frozen=True)
class FuzzedNode:
    """A node, its robot, and what it has to keep to.

    Attributes:
        make: makes the node.
        robot: name of the robot in `config/robots`.
        side_file: name of its side file; empty for none.
        passive: joints of the robot that have no torques.
        home: positions near which messages are (rad or m).
        parameters: parameters of the node; ``__`` in names stands for a dot.
        commanded: joints of its commands, if they are not all.
        follows_desired: whether torques may be live by references and trajectories alone.
    """

    make: Callable[..., ManagedNode]
    robot: str = "rrp"
    side_file: str = ""
    passive: Sequence[str] = ()
    home: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    commanded: Sequence[str] = ()
    follows_desired: bool = False

    @property
    def period(self) -> float:
        """Control period at the default rate (s)."""
        return 0.002 if self.make is Simulation else 0.005

    @property
    def text(self) -> str:
        """The description, without friction, so that Pinocchio computes the same torques."""
        return re.sub(r"<dynamics [^>]*/>", "", (_ROBOTS / f"{self.robot}.urdf").read_text())

    @property
    def side(self) -> str:
        """Path of the side file, or an empty text."""
        return str(_ROBOTS / f"{self.side_file}.yaml") if self.side_file else ""

    @property
    def loaded(self) -> dyn_core.Robot:
        """The robot."""
        return dyn_core.load_robot(self.text, loops=self.side or None)

    @property
    def all_parameters(self) -> dict[str, Any]:
        """All parameters of the node."""
        given = {"robot_description": self.text, "side_file": self.side, **self.parameters}
        return given | ({"command_joints": list(self.commanded)} if self.commanded else {})

    @property
    def case(self) -> Case:
        """What the checker of torques knows of it."""
        options: dict[str, Any] = {"timeout": _STALE_S, "follows_desired": self.follows_desired}
        options["ramp"] = self.parameters.get("ramp_start", 0.5)
        if self.commanded:
            options["commanded"] = list(self.commanded)
        return Case.of_description(self.text, self.passive, **options)


_FIVE_BAR: dict[str, Any] = {
    "robot": "five_bar",
    "side_file": "five_bar",
    "passive": ("left_elbow", "right_elbow"),
    "home": {"left_shoulder": -0.64, "right_shoulder": 0.64},
}
_ELASTIC: dict[str, Any] = {"robot": "rx90", "side_file": "rx90_elastic"}
_OTHER_ORDER: dict[str, Any] = {"commanded": ("stretch", "lift")}
_WITHHELD = {"on_limit": "withhold", "effort_period": 0.05, "ramp_start": 0.3}


def _feedforward(mode: str, *, own: Mapping[str, Any] = _OTHER_ORDER, **parameters: Any) -> FuzzedNode:
    follows = mode == "inverse_dynamics"
    return FuzzedNode(Feedforward, **own, parameters={"mode": mode, **parameters}, follows_desired=follows)


KP = 100.0
"""Gain of the controller whose torques are compared (N m/rad or N/m)."""
CASES: dict[str, tuple[FuzzedNode, ...]] = {
    "gravity": (_feedforward("gravity", on_stale="hold"),),
    "gravity that scales": (_feedforward("gravity", on_stale="stop", on_limit="scale"),),
    "inverse dynamics": (_feedforward("inverse_dynamics", on_stale="ramp"),),
    "inverse dynamics withheld": (_feedforward("inverse_dynamics", **_WITHHELD),),
    "computed torque": (_feedforward("computed_torque", on_stale="hold"),),
    "stiff computed torque": (_feedforward("computed_torque", natural_frequency=1000.0),),
    "controller": (
        FuzzedNode(Controller, **_OTHER_ORDER, parameters={"p": KP, "d": 5.0, "damping_cutoff": 50.0}),
    ),
    "integrating controller": (
        FuzzedNode(Controller, **_OTHER_ORDER, parameters={"p": 1e8, "i": 1e8, "d": 1e8, "on_stale": "stop"}),
    ),
    "simulation": (FuzzedNode(Simulation),),
    "governor": (FuzzedNode(Governor),),
    "refusing governor": (FuzzedNode(Governor, parameters={"on_infeasible": "refuse"}),),
    "identification": (FuzzedNode(Identification),),
    "loops": (_feedforward("computed_torque", own=_FIVE_BAR),),
    "loops along motions": (_feedforward("inverse_dynamics", own=_FIVE_BAR),),
    "controlled loops": (FuzzedNode(Controller, **_FIVE_BAR, parameters={"p": KP, "d": 5.0}),),
    "simulated loops": (FuzzedNode(Simulation, **_FIVE_BAR),),
    "springs": (_feedforward("inverse_dynamics", own=_ELASTIC),),
    "springs under gravity": (_feedforward("gravity", own=_ELASTIC),),
    "simulated springs": (FuzzedNode(Simulation, **_ELASTIC),),
    "moving base": (_feedforward("computed_torque", base__source="imu"),),
    "moving base with odometry": (_feedforward("gravity", base__source="odometry"),),
    "simulated moving base": (FuzzedNode(Simulation, robot="planar_base"),),
    "several nodes": (
        FuzzedNode(Simulation, parameters={"rate": 100.0}),
        _feedforward("inverse_dynamics", own={}),
        FuzzedNode(Controller, parameters={"p": KP, "d": 5.0}),
        FuzzedNode(Governor),
    ),
}
"""Nodes that are in one process, by name."""
