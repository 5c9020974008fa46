# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node `simulation`, and the robot that they make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node

import dyn_core
from dyn_core import DynError
from dyn_core.robot.joints import Limits
from dyn_core.simulation.settings import INTEGRATORS
from dyn_nodes.caught_warnings import caught_warnings
from dyn_nodes.common.data_checks import too_large
from dyn_nodes.common.parameters import declare, declare_by_joint
from dyn_nodes.parameter_lists import declare_names, declare_whole
from dyn_nodes.simulation.simulated_robot import SimulatedRobot

_ROUNDING = 1e-6
"""Part of a step by which a period may be longer than whole steps."""


class SimulationParameters:
    """What the parameters say; `config/simulation.yaml` has them all.

    Attributes:
        rate: periods for each simulated second (Hz).
        real_time_factor: simulated seconds for each second.
        publish_clock: whether simulated time is published for other nodes.
        publish_description: whether the URDF is published for other nodes.
        paused: whether time stands still at first.
        command_joints: order of arrays of commands; empty for that of the model.
    """

    def __init__(self, node: Node) -> None:
        """Declare the parameters."""
        self._node = node
        self.rate = self._number("rate", 500.0, 1.0, 10000.0, "Joint states for each simulated second, Hz.")
        self.real_time_factor = self._number(
            "real_time_factor", 1.0, 0.01, 100.0, "Simulated seconds for each second, as it should be."
        )
        self.publish_clock = self._switch(
            "publish_clock",
            False,
            "Publish simulated time on /clock and stamp joint states with it; other nodes need use_sim_time.",
        )
        self.publish_description = self._switch(
            "publish_description",
            True,
            "Publish the URDF on the topic robot_description, where a parameter or file gives it.",
        )
        self.paused = self._switch(
            "paused", False, "Time stands still until the service ~/pause lets it go on."
        )
        self.command_joints: tuple[str, ...] = declare_names(
            node, "command_joints", "Joints of ~/commands, in order; ['']: all that are actuated."
        )
        self._settings = self._declare_settings()
        self._sensors = self._declare_sensors()
        self._surroundings = self._declare_surroundings()
        self._initial = declare_by_joint(
            node,
            "initial",
            {
                "position": "Initial position of joint '{joint}', rad or m.",
                "velocity": "Initial velocity of joint '{joint}', rad/s or m/s.",
            },
            within=(-1e6, 1e6),
        )
        self._declare_payload()

    @property
    def period(self) -> float:
        """Simulated time of a period (s)."""
        return 1.0 / self.rate

    def check(self) -> None:
        """Raise a DynError where the parameters make no sense whatever the robot is."""
        self._simulation_settings()
        self._sensor_settings()

    def robot(self, described: dyn_core.Robot) -> tuple[SimulatedRobot, tuple[str, ...]]:
        """Answer the robot as it really is, in its initial state, and warnings.

        Args:
            described: the robot as its description says.
        """
        seed = self._sensors["seed"]
        error = self._model_error
        real = dyn_core.with_model_error(described, error, seed) if error else described
        settings = self._simulation_settings()
        q = {joint.name: _nearest_to_zero(joint.limits) for joint in described.independent_joints}
        if not settings.position_limits:
            q = dict.fromkeys(q, 0.0)
        if described.loops or described.elastic_joint_names:  # in their assembly; where springs rest
            q = {}
        q.update(self._initial["position"])
        qd = self._initial["velocity"]
        with caught_warnings() as caught:
            simulator = dyn_core.Simulator(real, settings, self._sensor_settings(), q, qd)
        if self._payload_link:
            simulator.set_payload(
                self._payload_link, self._payload_mass, self._payload_centre, self._payload_inertia
            )
        return SimulatedRobot(simulator, **self._surroundings), tuple(str(w.message) for w in caught)

    def _simulation_settings(self) -> dyn_core.SimulationSettings:
        settings = dict(self._settings)
        substeps = max(1, math.ceil(self.period / settings.pop("step") - _ROUNDING))
        return dyn_core.SimulationSettings(step=self.period, substeps=substeps, **settings)

    def _sensor_settings(self) -> dyn_core.SensorSettings:
        return dyn_core.SensorSettings(**self._sensors)

    def _declare_settings(self) -> dict[str, Any]:
        return {
            "step": self._number(
                "step", 0.001, 1e-6, 0.1, "Longest step of the integrator, s; a period is whole steps."
            ),
            "integrator": declare(
                self._node, "integrator", "auto", "Method that solves the motion.", choices=INTEGRATORS
            ),
            "friction": self._switch("friction", True, "The joints have friction."),
            "rotor_inertia": self._switch("rotor_inertia", True, "The rotors have inertia."),
            "position_limits": self._switch(
                "position_limits", True, "Joints stop at the limits of the URDF."
            ),
            "effort_limits": self._switch(
                "effort_limits", True, "Efforts are cut at the limits of the URDF."
            ),
        }

    def _declare_sensors(self) -> dict[str, Any]:
        self._model_error = self._number(
            "model_error", 0.0, 0.0, 0.9, "Largest relative error of the description's dynamic parameters."
        )
        values: dict[str, Any] = {
            "seed": declare_whole(self._node, "seed", 0, "Of sensor noise and model error.", (0, 2**31 - 1))
        }
        for kind, meaning in (("noise", "Standard deviation"), ("resolution", "Smallest difference")):
            for quantity in ("position", "velocity", "effort"):
                name = f"{quantity}_{kind}"
                values[name] = self._number(
                    f"sensors.{name}", 0.0, 0.0, 1e6, f"{meaning} of measured {quantity}, SI units."
                )
        return values

    def _declare_surroundings(self) -> dict[str, Any]:
        return {
            "command_timeout": self._number(
                "command_timeout",
                0.0,
                0.0,
                3600.0,
                "Simulated time after which a command is no longer exerted, s; 0: it acts until the next.",
            ),
            "wrench_timeout": self._number(
                "wrench_timeout", 0.5, 0.001, 3600.0, "Simulated time after which a wrench ends, s."
            ),
            "brakes": self._switch("brakes", False, "Brakes hold the robot until the first command."),
        }

    def _declare_payload(self) -> None:
        self._payload_link: str = declare(
            self._node, "payload.link", "", "Link that holds a payload from the start; empty: none."
        )
        self._payload_mass = self._number("payload.mass", 0.0, 0.0, 1e6, "Its mass, kg.")
        self._payload_centre = self._vector(
            "payload.centre", 3, "Its centre of mass in the frame of the link, m."
        )
        self._payload_inertia = self._vector(
            "payload.inertia",
            6,
            "XX XY XZ YY YZ ZZ about its centre of mass, on the axes of the link, kg m^2.",
        )

    def _number(self, name: str, default: float, least: float, most: float, description: str) -> float:
        return float(declare(self._node, name, default, description, within=(least, most)))

    def _switch(self, name: str, default: bool, description: str) -> bool:
        return bool(declare(self._node, name, default, description))

    def _vector(self, name: str, count: int, description: str) -> Sequence[float]:
        values = list(declare(self._node, name, [0.0] * count, description))
        if too_large(values):
            raise DynError(f"parameter {name} is {values}: no body has it")
        return values


def _nearest_to_zero(limits: Limits) -> float:
    lower = -math.inf if limits.lower is None else limits.lower
    upper = math.inf if limits.upper is None else limits.upper
    return min(max(0.0, lower), upper)
