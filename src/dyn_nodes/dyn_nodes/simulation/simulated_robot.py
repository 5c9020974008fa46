# SPDX-License-Identifier: Apache-2.0
"""The simulated robot: simulator, brakes, timeouts of commands and wrenches, faults."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

import dyn_core
from dyn_core import DynError
from dyn_core.robot.robot import Robot
from dyn_core.simulation.integrators.mechanism import with_both_ends
from dyn_nodes.common.data_checks import Notice, Rejection, plausible
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot
from dyn_nodes.common.torques.effort_messages import CommandOrder


class LinkWrench(NamedTuple):
    """A wrench that the environment exerts **on** a link."""

    link: str
    # Force and moment (N, N m) on the axes of the link's frame and about its origin, shape (6,)
    wrench: NDArray[np.float64]


def link_wrench(message: WrenchStamped, robot: Robot) -> LinkWrench:
    """Return the wrench of a message whose frame is a link of the robot; Rejection where it is unusable."""
    link = message.header.frame_id
    try:
        robot.link_frame(link)
    except DynError as problem:
        raise Rejection("wrench-link-unknown", link=link, cause=problem) from problem
    force, torque = message.wrench.force, message.wrench.torque
    values = (force.x, force.y, force.z, torque.x, torque.y, torque.z)
    if not plausible(values):
        raise Rejection("wrench-implausible", link=link, given=values)
    return LinkWrench(link, np.array(values))


class AddedTorques:
    """The torques that the drive of a simulated robot adds to commands, from its true motion."""

    def __init__(self, robot: Robot, terms: Sequence[str], *, knows_payload: bool) -> None:
        """Take some of the terms gravity and coriolis; DynError for a robot with springs.

        With `knows_payload`, gravity and inertia of payloads count.
        """
        if robot.elastic_joint_names:
            raise DynError("drive-adds-with-springs", joint=robot.elastic_joint_names[0])
        functions = tuple(f"{term}_torques" for term in terms)
        self._model = dyn_core.compile_model(robot, "runtime", open_rows="error", functions=functions)
        self._terms = frozenset(terms)
        self._driven = np.array([float(joint.mu == 1) for joint in robot.independent_joints])
        self._robot = robot
        self._knows_payload = knows_payload

    def tell(self, payloads: Mapping[str, tuple[float, Sequence[float], Sequence[float]]]) -> None:
        """Take the present payloads, if the drive is told of them."""
        if not self._knows_payload:
            return
        robot = self._robot
        for link, payload in payloads.items():
            robot = robot.with_payload(link, *payload)
        self._model.set_parameters(robot.parameters)

    def at(self, q: NDArray[np.float64], qd: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the added torques (N m or N), (n,), of a motion (rad or m; rad/s or m/s)."""
        added: NDArray[np.float64] = np.zeros(len(q))
        if "gravity" in self._terms:
            added += self._model.gravity_torques(q)
        if "coriolis" in self._terms:
            added += self._model.coriolis_torques(q, qd)
        added *= self._driven
        return added


class SimulatedRobot:
    """The robot of the node `simulation`, advanced period by period. Times are simulated.

    `fault` is the reason why the motion could not be computed, or None; it stays until a reset or a new
    state. With `braked`, brakes hold all joints.
    """

    def __init__(
        self,
        simulator: dyn_core.Simulator,
        *,
        command_timeout: float = 0.0,
        wrench_timeout: float = 0.5,
        brakes: bool = False,
        drive: AddedTorques | None = None,
    ) -> None:
        """Begin at the state of the simulator, without a command.

        Commands and wrenches end after their timeouts (s); with command timeout 0, a command acts until the
        next. With `brakes`, brakes hold all joints until the first command, also after a reset. `drive` adds
        torques to each command.
        """
        self.simulator = simulator
        self.fault: DynError | None = None
        self.braked = self._brakes = brakes
        self._command_timeout = command_timeout
        self._wrench_timeout = wrench_timeout
        self._periods = 0
        self._commanded_at: float | None = None
        self._wrenches: dict[str, tuple[float, NDArray[np.float64]]] = {}
        self._drive = drive
        self._command = np.zeros(len(simulator.joint_names))

    @property
    def command_age(self) -> float | None:
        """Time since the last command (s); None where there was none."""
        return None if self._commanded_at is None else self._now - self._commanded_at

    @property
    def timed_out(self) -> bool:
        """Whether the last command is too old to act."""
        age = self.command_age
        return age is not None and 0.0 < self._command_timeout < age

    def command(self, efforts: NDArray[np.float64]) -> None:
        """Apply efforts (N m or N), shape (n,), from now on.

        Raises:
            Rejection: there is a fault, or an effort is given for a joint without an actuator.
        """
        if self.fault is not None:
            raise Rejection("command-after-fault")
        try:
            self.simulator.set_effort(efforts)
        except DynError as problem:
            raise Rejection(problem.code, **problem.values) from problem
        self._command = np.array(efforts)
        self._exert()
        self._commanded_at = self._now
        self.braked = False

    def push(self, on: LinkWrench) -> None:
        """Apply a wrench of the environment to a link, instead of the last one there."""
        if on.wrench.any():
            self._wrenches[on.link] = (self._now + self._wrench_timeout, on.wrench)
        else:
            self._wrenches.pop(on.link, None)
        self._apply_wrenches()

    def advance(self) -> None:
        """Simulate one period; where this fails, the robot keeps its state and has a fault."""
        if self.fault is not None:
            return
        if self.timed_out:
            self._command = np.zeros(len(self.simulator.joint_names))
            self._exert()
        if any(end <= self._now for end, _ in self._wrenches.values()):
            self._wrenches = {link: w for link, w in self._wrenches.items() if w[0] > self._now}
            self._apply_wrenches()
        self._periods += 1
        if self.braked:
            return
        if self._drive is not None:
            self._exert()
        try:
            self.simulator.step()
        except DynError as problem:
            self.fault = problem.with_traceback(None)
            self._let_go()

    def reset(self) -> None:
        """Go back to the initial state, without command, wrenches and fault."""
        self.simulator.reset()
        self._let_go()
        self.fault = None
        self.braked = self._brakes

    def place(self, q: Mapping[str, float], qd: Mapping[str, float]) -> None:
        """Set positions (rad or m) and velocities (rad/s or m/s) of joints; other joints keep theirs.

        Where only a motor behind a spring or its joint is named, the other one follows.
        """
        names, state = self.simulator.joint_names, self.simulator.state
        unknown = sorted({*q, *qd} - set(names))
        if unknown:
            is_passive = unknown[0] in self.simulator.passive_joint_names
            code = "placed-joint-passive" if is_passive else "placed-joint-unknown"
            raise DynError(code, joint=unknown[0], known=", ".join(names))
        q = with_both_ends(self.simulator.robot, q)
        qd = with_both_ends(self.simulator.robot, qd, velocities=True)
        positions = [q.get(name, value) for name, value in zip(names, state.q.tolist(), strict=True)]
        velocities = [qd.get(name, value) for name, value in zip(names, state.qd.tolist(), strict=True)]
        self.simulator.set_state(positions, velocities)
        self.fault = None

    def attach(self, link: str, mass: float, centre: Sequence[float], inertia: Sequence[float]) -> None:
        """Replace the payload of a link, as `Simulator.set_payload`."""
        self.simulator.set_payload(link, mass, centre, inertia)
        if self._drive is not None:
            self._drive.tell(self.simulator.payloads)

    def take_payloads(self, before: SimulatedRobot) -> list[Notice]:
        """Take the payloads of another robot, on links of the same name; return notices about the others."""
        left: list[Notice] = []
        held = before.simulator.payloads
        for link in set(self.simulator.payloads) - set(held):
            # A payload that a parameter gave was removed in the meantime.
            self.attach(link, 0.0, (0.0,) * 3, (0.0,) * 6)
        for link, payload in held.items():
            try:
                self.attach(link, *payload)
            except DynError as problem:
                left.append(Notice("payload-forgotten", link=link, cause=problem))
        return left

    @property
    def _now(self) -> float:
        return self._periods * self.simulator.settings.step

    def _let_go(self) -> None:
        """End the command and all wrenches."""
        self._command = np.zeros(len(self.simulator.joint_names))
        self._exert()
        self._wrenches = {}
        self._apply_wrenches()
        self._commanded_at = None

    def _exert(self) -> None:
        """Set the efforts of the actuators: the command, and what the drive adds to it now."""
        state = self.simulator.state
        added = 0.0 if self._drive is None else self._drive.at(state.q, state.qd)
        self.simulator.set_effort(self._command + added)

    def _apply_wrenches(self) -> None:
        self.simulator.set_wrenches({link: wrench for link, (_, wrench) in self._wrenches.items()})


@dataclass(frozen=True)
class RunningSimulation:
    """The robot in use. Another robot has another `RunningSimulation`."""

    described: DescribedRobot  # the robot of the description
    robot: SimulatedRobot
    order: CommandOrder  # order of arrays of commands
    message: JointState  # the joint states, which are overwritten in each period
    warnings: tuple[str, ...]  # warnings about the simulation, one sentence each

    def take_over(self, before: RunningSimulation) -> list[Notice]:
        """Begin in the state of another robot, for joints of the same name, with its payloads.

        The notices say what could not be taken over.
        """
        left = self.robot.take_payloads(before.robot)
        old = before.robot.simulator
        kept = [j for j, name in enumerate(old.joint_names) if name in self.robot.simulator.joint_names]
        q = {old.joint_names[j]: float(old.state.q[j]) for j in kept}
        qd = {old.joint_names[j]: float(old.state.qd[j]) for j in kept}
        try:
            self.robot.place(q, qd)
        except DynError as problem:
            left.append(Notice("initial-state-used", cause=problem))
        return left

    def joint_states(self, stamp: Time) -> JointState:
        """Return the measured joint states, and the passive joints of loops, which have no sensors."""
        message, measured = self.message, self.robot.simulator.measure()
        message.header.stamp = stamp
        position, velocity, effort = (values.tolist() for values in measured)
        if self.robot.simulator.passive_joint_names:
            passive = self.robot.simulator.passive_state
            position += passive.q.tolist()
            velocity += passive.qd.tolist()
            effort += [0.0] * len(passive.q)
        message.position = array("d", position)
        message.velocity = array("d", velocity)
        message.effort = array("d", effort)
        return message
