# SPDX-License-Identifier: Apache-2.0
"""Dynamic parameters and payloads that change without a step in the torques."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from dyn_core import DynError, Model, Robot
from dyn_core.control.watchdog import ParameterBlend
from dyn_nodes.common.data_checks import Notice
from dyn_nodes.common.messages.parameter_message import PayloadValues


@dataclass(frozen=True)
class Fitting:
    """A robot with its payloads."""

    robot: Robot  # the robot without payloads, with the given dynamic parameters
    # Payloads by link
    payloads: Mapping[str, PayloadValues] = field(default_factory=lambda: MappingProxyType({}))
    given: frozenset[str] = frozenset()  # names of the given dynamic parameters

    def with_payload(self, payload: PayloadValues) -> Fitting:
        """Return a copy with another payload of one link, none for mass 0; DynError if it is impossible."""
        self.robot.with_payload(*payload)
        payloads = {link: held for link, held in self.payloads.items() if link != payload.link}
        if payload.mass > 0.0:
            payloads[payload.link] = payload
        elif any(payload.inertia):
            raise DynError("payload-without-mass", link=payload.link)
        return replace(self, payloads=MappingProxyType(payloads))

    def with_parameters(self, values: Mapping[str, float]) -> Fitting:
        """Return a copy with other dynamic parameters; DynError where a name or value is invalid."""
        return replace(self, robot=self.robot.with_parameters(values), given=self.given | frozenset(values))

    @property
    def parameters(self) -> tuple[float, ...]:
        """Values of the dynamic parameters of the robot with all payloads (SI units)."""
        robot = self.robot
        for payload in self.payloads.values():
            robot = robot.with_payload(*payload)
        return robot.parameters


class LiveParameters:
    """The dynamic parameters of one model, blended towards those of `fitting`. State: the blend."""

    def __init__(self, model: Model, unloaded: Model | None = None) -> None:
        """Begin with the parameters of the model; no other code may set them.

        `unloaded` is a second model that never gets a payload, None where there is none.
        """
        self.fitting = Fitting(model.robot)
        self._blend = ParameterBlend(model)
        self._unloaded = None if unloaded is None else ParameterBlend(unloaded)

    def update(self, now: float) -> None:
        """Set the parameters of the models for time `now` (s)."""
        self._blend.update(now)
        if self._unloaded is not None:
            self._unloaded.update(now)

    def change(self, fitting: Fitting, now: float, duration: float) -> None:
        """Blend to another fitting of the robot in `duration` (s) from `now`; a DynError changes nothing."""
        self._blend.change(now, fitting.parameters, duration=duration)
        if self._unloaded is not None:
            self._unloaded.change(now, fitting.robot.parameters, duration=duration)
        self.fitting = fitting

    def take_over(self, before: LiveParameters, now: float) -> list[Notice]:
        """Take the payloads of another model, and its parameters if the description is the same.

        The notices say what could not be taken over.
        """
        left: list[Notice] = []
        fitting, old = self.fitting, before.fitting
        if old.given and old.robot.description_hash == fitting.robot.description_hash:
            values = dict(zip(old.robot.parameter_names, old.robot.parameters, strict=True))
            fitting = fitting.with_parameters({name: values[name] for name in old.given})
        elif old.given:
            left.append(Notice("parameters-forgotten"))
        for payload in old.payloads.values():
            try:
                fitting = fitting.with_payload(payload)
            except DynError as problem:
                left.append(Notice("payload-forgotten", link=payload.link, cause=problem))
        if fitting is not self.fitting:
            self.change(fitting, now, 0.0)
        return left
