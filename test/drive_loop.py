# SPDX-License-Identifier: Apache-2.0
"""A node that sends torques and a simulated robot whose drive adds some, in simulated time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any

import numpy as np
from loose_node import loose_node
from message_makers import to_rest_at
from numpy.typing import NDArray
from robot_files import ROBOTS

from dyn_msgs.srv import StepSimulation
from dyn_nodes.common.lifecycle.managed_node import ManagedNode
from dyn_nodes.feedforward.node import Feedforward
from dyn_nodes.simulation.node import Simulation

BENT = (0.3, -0.5, 0.9, 0.2, 0.6, 0.1)
"""A position of the arm rx90 at which gravity loads its joints (rad)."""
NOTHING: Mapping[str, Any] = MappingProxyType({})


def described(robot: str) -> dict[str, str]:
    """Return the parameters that select a robot, with its side file."""
    path = ROBOTS[robot]
    side_file = path.with_suffix(".yaml")
    return {
        "description_file": str(path),
        **({"side_file": str(side_file)} if side_file.exists() else {}),
    }


class DriveLoop:
    """Both nodes and their messages, period by period. Brakes hold the robot until the first torques."""

    def __init__(
        self,
        nodes: ExitStack,
        adds: Sequence[str] = (),
        make_node: Callable[..., ManagedNode] = Feedforward,
        *,
        robot: Mapping[str, str] = MappingProxyType(described("rx90")),
        at: Sequence[float] = BENT,
        rate: float = 250.0,
        real: Mapping[str, Any] = NOTHING,
        **parameters: Any,
    ) -> None:
        """`adds` is what the drive adds, `real` has more parameters of the simulation."""
        self.period = 1.0 / rate
        self._state = self._torques = b""
        self.simulation = nodes.enter_context(
            loose_node(
                Simulation,
                tap=self._on_simulation,
                paused=True,
                brakes=True,
                rate=rate,
                drive_adds=list(adds) or [""],
                **robot,
                **real,
            )
        )
        self.names = list(self.robot.joint_names)
        request = self.simulation.service_request("set_state")
        request.name, request.position = self.names, list(map(float, at))
        response = self.simulation.call("set_state", request)
        assert response.success, response.message
        self.node = nodes.enter_context(loose_node(make_node, tap=self._on_node, **robot, **parameters))
        self.told: list[bytes] = []

    @property
    def robot(self) -> Any:
        """The simulator of the robot."""
        return self.simulation.node._running.robot.simulator

    @property
    def q(self) -> NDArray[np.float64]:
        """The true position."""
        return np.array(self.robot.state.q)

    def _on_simulation(self, topic: str, raw: bytes) -> None:
        if topic == "joint_states":
            self._state = raw

    def _on_node(self, topic: str, raw: bytes) -> None:
        if topic == "torques":
            self._torques = raw
        if topic == "diagnostics":
            self.told.append(raw)

    def step(self, *, hears: bool = True) -> None:
        """Let a period pass; `hears` is whether the node gets the joint states at its end."""
        for loose in (self.simulation, self.node):
            loose.now += self.period
            loose.set_time(loose.ros_now + round(1e9 * self.period))
        self.simulation.call("step", StepSimulation.Request(steps=1))
        self._torques = b""
        if hears:
            self.node.send_raw("/joint_states", self._state)
        self.node.tick()
        self.exert()

    def exert(self) -> None:
        """Let the robot get the newest torques."""
        if self._torques:
            self.simulation.send_raw("torques", self._torques)

    def run(self, seconds: float, *, hears: bool = True) -> NDArray[np.float64]:
        """Let time pass; return the positions at the ends of the periods, (N, n)."""
        positions = []
        for _ in range(round(seconds / self.period)):
            self.step(hears=hears)
            positions.append(self.q)
        return np.array(positions)

    def follow(self, goal: Sequence[float], seconds: float, rest: float) -> float:
        """Send a trajectory, and let it and a rest pass; return the RMS error of all joints (rad)."""
        self.step()
        self.node.send("joint_trajectory", to_rest_at(goal, seconds, self.names))
        errors = []
        for _ in range(round((seconds + rest) / self.period)):
            self.step()
            desired = self.node.node._running.maker.desired.at(self.node.node.node_time)
            errors.append(self.q - desired.q)
        return float(np.sqrt(np.mean(np.square(errors))))
