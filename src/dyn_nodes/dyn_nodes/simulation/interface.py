# SPDX-License-Identifier: Apache-2.0
"""Services of the node `simulation`: ~/reset, ~/set_state, ~/pause, ~/step and ~/set_payload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from std_srvs.srv import SetBool, Trigger

from dyn_core import DynError, Robot
from dyn_msgs.srv import SetPayload, SetSimulationState, StepSimulation
from dyn_nodes.common.data_checks import culprit, one_line, plausible
from dyn_nodes.common.lifecycle.robot_node import RobotNode
from dyn_nodes.payload_message import payload_of
from dyn_nodes.running_simulation import RunningSimulation
from dyn_nodes.simulation.time_stepping import SimulationLoop

_STEPPING_S = 1.0
"""Longest time that the service ~/step takes: a signal has to end the node in less than two."""


class SimulationServices:
    """The services, which answer in a sentence why something cannot be done."""

    def __init__(
        self,
        node: RobotNode[RunningSimulation],
        loop: SimulationLoop,
        running: Callable[[], RunningSimulation | None],
        active: Callable[[], RunningSimulation | None],
        steady: Callable[[], float],
    ) -> None:
        """Offer them.

        Args:
            node: the node.
            loop: how time goes on.
            running: answers the robot.
            active: answers the robot while the node is active.
            steady: a clock that never goes back (s).
        """
        self._loop = loop
        self._running = running
        self._active = active
        self._steady = steady
        node.serve(Trigger, "~/reset", self._on_reset)
        node.serve(SetSimulationState, "~/set_state", self._on_set_state)
        node.serve(SetBool, "~/pause", self._on_pause)
        node.serve(StepSimulation, "~/step", self._on_step)
        node.serve(SetPayload, "~/set_payload", self._on_set_payload)

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(response, lambda running: running.robot.reset())

    def _on_set_state(
        self, request: SetSimulationState.Request, response: SetSimulationState.Response
    ) -> SetSimulationState.Response:
        def place(running: RunningSimulation) -> None:
            q = _by_joint("positions", request.name, request.position)
            at_rest = [0.0] * len(request.name)
            qd = _by_joint("velocities", request.name, request.velocity or at_rest)
            _check_speeds(running.described.robot, qd)
            running.robot.place(q, qd)

        return self._answer(response, place)

    def _on_set_payload(
        self, request: SetPayload.Request, response: SetPayload.Response
    ) -> SetPayload.Response:
        return self._answer(response, lambda running: running.robot.attach(*payload_of(request.payload)))

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._loop.pause(request.data)
        response.success = True
        return response

    def _on_step(
        self, request: StepSimulation.Request, response: StepSimulation.Response
    ) -> StepSimulation.Response:
        """Simulate some periods now; as nothing else is done meanwhile, no longer than for a moment."""

        def step(running: RunningSimulation) -> None:
            if self._active() is None:
                raise DynError("the node is not active")
            if not self._loop.paused:
                raise DynError("the simulation is not paused: call ~/pause first")
            if request.steps < 1:
                raise DynError("the number of steps is 0: give at least 1")
            until = self._steady() + _STEPPING_S
            for k in range(request.steps):
                if self._steady() > until:
                    raise DynError(
                        f"{k} of {request.steps} steps were made in {_STEPPING_S:g} s: "
                        f"ask for the other {request.steps - k} again"
                    )
                self._loop.step(running.robot)
                if running.robot.fault is not None:
                    raise DynError(running.robot.fault)

        self._answer(response, step)
        response.time = self._loop.time
        return response

    def _answer(self, response: Any, action: Callable[[RunningSimulation], None]) -> Any:
        """Do what a service is for, and answer whether it was done."""
        running = self._running()
        try:
            if running is None:
                raise DynError("there is no robot yet")
            action(running)
        except (DynError, ValueError) as problem:
            response.success = False
            response.message = one_line(str(problem))
            return response
        response.success = True
        return response


def _check_speeds(robot: Robot, qd: Mapping[str, float]) -> None:
    """Refuse velocities (rad/s or m/s) above the limits of joints, which are not known where they are 0."""
    for joint in robot.independent_joints:
        limit, rate = joint.limits.velocity, qd.get(joint.name, 0.0)
        if limit and abs(rate) > limit:
            unit = joint.position_unit
            raise DynError(
                f"the velocity {rate:g} {unit}/s of joint '{joint.name}' is above "
                f"its limit {limit:g} {unit}/s"
            )


def _by_joint(what: str, names: list[str], values: Any) -> dict[str, float]:
    if len(values) != len(names):
        raise DynError(f"there are {len(names)} joints but {len(values)} {what}")
    if len(set(names)) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise DynError(f"joint '{repeated}' is named more than once")
    if not plausible(values):
        k = culprit(values)
        raise DynError(f"{what}: that of joint '{names[k]}' is {values[k]}")
    return dict(zip(names, values, strict=True))
