# SPDX-License-Identifier: Apache-2.0
"""A simulator with what stands around a robot: brakes, commands and pushes that end, and faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

import dyn_core
from dyn_core import DynError
from dyn_core.simulation.springs import with_both_ends
from dyn_nodes.link_wrench import LinkWrench
from dyn_nodes.rejection import Rejection


class SimulatedRobot:
    """The robot of the node `simulation`, from period to period. Times are simulated.

    Attributes:
        simulator: what computes the motion.
        fault: why the motion could not be computed, in a sentence, until the robot is put elsewhere; or None.
        braked: whether brakes hold all joints.
    """

    def __init__(
        self,
        simulator: dyn_core.Simulator,
        *,
        command_timeout: float = 0.0,
        wrench_timeout: float = 0.5,
        brakes: bool = False,
    ) -> None:
        """Stand where the simulator stands, without command.

        Args:
            simulator: what computes the motion.
            command_timeout: time (s) after which a command is no longer exerted; 0: the last one acts until
                another comes.
            wrench_timeout: time (s) after which a wrench ends.
            brakes: whether brakes hold all joints until the first command, after a reset too.
        """
        self.simulator = simulator
        self.fault: str | None = None
        self.braked = self._brakes = brakes
        self._command_timeout = command_timeout
        self._wrench_timeout = wrench_timeout
        self._periods = 0
        self._commanded_at: float | None = None
        self._wrenches: dict[str, tuple[float, NDArray[np.float64]]] = {}

    @property
    def command_age(self) -> float | None:
        """Time since the last command (s); None where there was none."""
        return None if self._commanded_at is None else self._now - self._commanded_at

    @property
    def timed_out(self) -> bool:
        """Whether the last command is too old to be exerted."""
        age = self.command_age
        return age is not None and 0.0 < self._command_timeout < age

    def command(self, efforts: NDArray[np.float64]) -> None:
        """Exert efforts (N m or N), shape (n,), from now on.

        Raises:
            Rejection: there is a fault, or a joint has an effort and no actuator.
        """
        if self.fault is not None:
            raise Rejection("commands are refused until the simulation is reset: it has diverged")
        try:
            self.simulator.set_effort(efforts)
        except DynError as problem:
            raise Rejection(str(problem), f"{problem.element} has no actuator") from problem
        self._commanded_at = self._now
        self.braked = False

    def push(self, on: LinkWrench) -> None:
        """Have the environment exert a wrench on a link, in the place of the last one there."""
        if on.wrench.any():
            self._wrenches[on.link] = (self._now + self._wrench_timeout, on.wrench)
        else:
            self._wrenches.pop(on.link, None)
        self._apply_wrenches()

    def advance(self) -> None:
        """Simulate one period; where that is not possible the robot stays where it is, with a fault."""
        if self.fault is not None:
            return
        if self.timed_out:
            self.simulator.set_effort(np.zeros(len(self.simulator.joint_names)))
        if any(end <= self._now for end, _ in self._wrenches.values()):
            self._wrenches = {link: w for link, w in self._wrenches.items() if w[0] > self._now}
            self._apply_wrenches()
        self._periods += 1
        if self.braked:
            return
        try:
            self.simulator.step()
        except DynError as problem:
            self.fault = str(problem)
            self._let_go()

    def reset(self) -> None:
        """Go back to the initial state, without command, wrenches and fault."""
        self.simulator.reset()
        self._let_go()
        self.fault = None
        self.braked = self._brakes

    def place(self, q: Mapping[str, float], qd: Mapping[str, float]) -> None:
        """Put joints at positions (rad or m) with velocities (rad/s or m/s); others stay as they are.

        A motor behind a spring goes with its joint, and a joint with its motor, where only one is named.
        """
        names, state = self.simulator.joint_names, self.simulator.state
        unknown = sorted({*q, *qd} - set(names))
        if unknown and unknown[0] in self.simulator.passive_joint_names:
            raise DynError(
                f"joint '{unknown[0]}' is passive, it follows through the loops: give {', '.join(names)} only"
            )
        if unknown:
            raise DynError(f"the robot has no joint '{unknown[0]}': its joints are {', '.join(names)}")
        q = with_both_ends(self.simulator.robot, q)
        qd = with_both_ends(self.simulator.robot, qd, velocities=True)
        positions = [q.get(name, value) for name, value in zip(names, state.q.tolist(), strict=True)]
        velocities = [qd.get(name, value) for name, value in zip(names, state.qd.tolist(), strict=True)]
        self.simulator.set_state(positions, velocities)
        self.fault = None

    def attach(self, link: str, mass: float, centre: Sequence[float], inertia: Sequence[float]) -> None:
        """Replace the payload of a link, as `Simulator.set_payload`."""
        self.simulator.set_payload(link, mass, centre, inertia)

    def take_payloads(self, before: SimulatedRobot) -> list[str]:
        """Hold what another robot holds, on links of the same name.

        Returns:
            A sentence about each payload that no link can hold.
        """
        left: list[str] = []
        held = before.simulator.payloads
        for link in set(self.simulator.payloads) - set(held):
            # It was put down since a parameter had it held.
            self.attach(link, 0.0, (0.0,) * 3, (0.0,) * 6)
        for link, payload in held.items():
            try:
                self.attach(link, *payload)
            except DynError as problem:
                left.append(f"the payload of link '{link}' is forgotten: {problem}")
        return left

    @property
    def _now(self) -> float:
        return self._periods * self.simulator.settings.step

    def _let_go(self) -> None:
        """Without a command and without wrenches."""
        self.simulator.set_effort(np.zeros(len(self.simulator.joint_names)))
        self._wrenches = {}
        self._apply_wrenches()
        self._commanded_at = None

    def _apply_wrenches(self) -> None:
        self.simulator.set_wrenches({link: wrench for link, (_, wrench) in self._wrenches.items()})
