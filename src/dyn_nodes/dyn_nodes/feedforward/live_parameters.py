# SPDX-License-Identifier: Apache-2.0
"""Dynamic parameters and payloads that change while the torques are computed, without a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from dyn_core import DynError, Model, Robot
from dyn_core.control.parameter_blend import ParameterBlend
from dyn_nodes.payload_message import PayloadValues


@dataclass(frozen=True)
class Fitting:
    """A robot and what its links hold.

    Attributes:
        robot: the robot without payloads, with the dynamic parameters that were given.
        payloads: what links hold, by link.
        given: names of the dynamic parameters that were given.
    """

    robot: Robot
    payloads: Mapping[str, PayloadValues] = field(default_factory=lambda: MappingProxyType({}))
    given: frozenset[str] = frozenset()

    def with_payload(self, payload: PayloadValues) -> Fitting:
        """Answer the same with another payload of one link; of mass 0, the link holds nothing.

        Raises:
            DynError: there is no such link, or no body is like the payload.
        """
        self.robot.with_payload(*payload)
        payloads = {link: held for link, held in self.payloads.items() if link != payload.link}
        if payload.mass > 0.0:
            payloads[payload.link] = payload
        elif any(payload.inertia):
            raise DynError(f"the payload of link '{payload.link}' has an inertia, but no mass")
        return replace(self, payloads=MappingProxyType(payloads))

    def with_parameters(self, values: Mapping[str, float]) -> Fitting:
        """Answer the same with other dynamic parameters; DynError where a name or value will not do."""
        return replace(self, robot=self.robot.with_parameters(values), given=self.given | frozenset(values))

    @property
    def parameters(self) -> tuple[float, ...]:
        """Values of the dynamic parameters of the robot with all payloads (SI units)."""
        robot = self.robot
        for payload in self.payloads.values():
            robot = robot.with_payload(*payload)
        return robot.parameters


class LiveParameters:
    """The dynamic parameters of one model, on their way to those of a fitting. It has a state: the way.

    Attributes:
        fitting: what the parameters are, or will be when the way is over.
        update: gives the model its parameters at a time (s), and answers whether they still change.
    """

    def __init__(self, model: Model) -> None:
        """Begin with the parameters of the model, which nobody else sets."""
        self.fitting = Fitting(model.robot)
        self._blend = ParameterBlend(model)
        self.update = self._blend.update

    def change(self, fitting: Fitting, now: float, duration: float) -> None:
        """Go over to another fitting of the same robot from `now` on, in `duration` (s).

        Raises:
            DynError: a value will not do; nothing changes.
        """
        self._blend.change(now, fitting.parameters, duration=duration)
        self.fitting = fitting

    def take_over(self, before: LiveParameters, now: float) -> list[str]:
        """Take the payloads, and parameters if the description is the same, from those of another model.

        Returns:
            A sentence about each thing that could not be taken.
        """
        left: list[str] = []
        fitting, old = self.fitting, before.fitting
        if old.given and old.robot.description_hash == fitting.robot.description_hash:
            values = dict(zip(old.robot.parameter_names, old.robot.parameters, strict=True))
            fitting = fitting.with_parameters({name: values[name] for name in old.given})
        elif old.given:
            left.append("dynamic parameters that were set belong to another description: they are forgotten")
        for payload in old.payloads.values():
            try:
                fitting = fitting.with_payload(payload)
            except DynError as problem:
                left.append(f"the payload of link '{payload.link}' is forgotten: {problem}")
        if fitting is not self.fitting:
            self.change(fitting, now, 0.0)
        return left
