# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node `simulation`, and the simulated robot that they describe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rclpy.node import Node

import dyn_core
from dyn_core import DynError
from dyn_core.control.laws.pid import armature_of
from dyn_core.robot.joints import Limits
from dyn_core.simulation.simulated_state import INTEGRATORS
from dyn_nodes.common.data_checks import too_large
from dyn_nodes.common.drive_profile import COMPENSATED
from dyn_nodes.common.lifecycle.robot_source import caught_warnings
from dyn_nodes.common.parameters import (
    SECONDS,
    declare,
    declare_by_joint,
    declare_integer,
    declare_names,
    declared,
    parameter,
)
from dyn_nodes.simulation.simulated_robot import AddedTorques, SimulatedRobot

_ROUNDING = 1e-6
"""Fraction of a step by which a period may be longer than whole steps."""
_INITIAL = {
    "position": "Initial position of joint '{joint}', rad or m.",
    "velocity": "Initial velocity of joint '{joint}', rad/s or m/s.",
}
_VECTORS = {
    "payload.centre": (3, "Its centre of mass in the frame of the link, m."),
    "payload.inertia": (6, "XX XY XZ YY YZ ZZ about its centre of mass, on the axes of the link, kg m^2."),
}


@dataclass(frozen=True)
class SimulationParameters:
    """All parameters of the node. `sensors` are those of SensorSettings; `initial` is by kind and joint."""

    initial: Mapping[str, Mapping[str, float]]
    sensors: Mapping[str, float]
    seed: int
    command_joints: tuple[str, ...]
    payload_centre: list[float]
    payload_inertia: list[float]
    drive_adds: tuple[str, ...]
    rate: float = parameter(500.0, "Joint states for each simulated second, Hz.", (1.0, 10000.0))
    real_time_factor: float = parameter(1.0, "Desired simulated seconds for each second.", (0.01, 100.0))
    publish_clock: bool = parameter(
        False,
        "Publish simulated time on /clock and stamp joint states with it; other nodes need use_sim_time.",
    )
    publish_description: bool = parameter(
        True, "Publish the URDF on the topic robot_description, where a parameter or file gives it."
    )
    paused: bool = parameter(False, "Time stands still until the service ~/pause lets it go on.")
    step: float = parameter(
        0.001, "Longest step of the integrator, s; a period has whole steps.", (1e-6, 0.1)
    )
    integrator: str = parameter("auto", "Method that solves the motion.", choices=INTEGRATORS)
    friction: bool = parameter(True, "The joints have friction.")
    rotor_inertia: bool = parameter(True, "The rotors have inertia.")
    armature: float = parameter(
        0.0,
        "Rotor inertia of joints for which none is described, seen at the joint, kg m^2 or kg; -1: assumed "
        "from effort and velocity limits; 0: none.",
        (-1.0, 1e6),
    )
    position_limits: bool = parameter(True, "Joints stop at the limits of the URDF.")
    effort_limits: bool = parameter(True, "Efforts are clipped at the limits of the URDF.")
    model_error: float = parameter(
        0.0, "Largest relative error of the description's dynamic parameters.", (0.0, 0.9)
    )
    command_timeout: float = parameter(
        0.0, "Simulated time after which a command ends, s; 0: it acts until the next.", SECONDS
    )
    wrench_timeout: float = parameter(0.5, "Simulated time after which a wrench ends, s.", (0.001, 3600.0))
    brakes: bool = parameter(False, "Brakes hold the robot until the first command.")
    drive_knows_payload: bool = parameter(
        True, "The gravity that drive_adds names is also that of payloads, as where a drive is told of them."
    )
    payload_link: str = parameter(
        "", "Link that holds a payload from the start; empty: none.", name="payload.link"
    )
    payload_mass: float = parameter(0.0, "Its mass, kg.", (0.0, 1e6), name="payload.mass")

    @property
    def period(self) -> float:
        """Simulated time of a period (s)."""
        return 1.0 / self.rate

    def check(self) -> None:
        """Raise DynError where the parameters are invalid for any robot."""
        self._simulation_settings()
        self._sensor_settings()

    def robot(self, described: dyn_core.Robot) -> tuple[SimulatedRobot, tuple[str, ...]]:
        """Return the real robot, with its parameter errors, in its initial state; and warnings."""
        described = described.with_rotor_inertias(armature_of(described, self.armature, {}))
        error = self.model_error
        real = dyn_core.with_model_error(described, error, self.seed) if error else described
        q = {}
        if not (described.loops or described.elastic_joint_names):  # those begin assembled, springs at rest
            for joint in described.independent_joints:
                q[joint.name] = _nearest_to_zero(joint.limits) if self.position_limits else 0.0
        q.update(self.initial["position"])
        with caught_warnings() as caught:
            simulator = dyn_core.Simulator(
                real, self._simulation_settings(), self._sensor_settings(), q, self.initial["velocity"]
            )
        added = [term for term in self.drive_adds if term != "friction"]
        drive = AddedTorques(real, added, knows_payload=self.drive_knows_payload) if added else None
        simulated = SimulatedRobot(
            simulator,
            command_timeout=self.command_timeout,
            wrench_timeout=self.wrench_timeout,
            brakes=self.brakes,
            drive=drive,
        )
        if self.payload_link:
            simulated.attach(self.payload_link, self.payload_mass, self.payload_centre, self.payload_inertia)
        return simulated, tuple(str(w.message) for w in caught)

    def _simulation_settings(self) -> dyn_core.SimulationSettings:
        names = ("integrator", "rotor_inertia", "position_limits", "effort_limits")
        given = {name: getattr(self, name) for name in names}
        # A drive that adds the friction exactly leaves a joint without friction.
        given["friction"] = self.friction and "friction" not in self.drive_adds
        substeps = max(1, math.ceil(self.period / self.step - _ROUNDING))
        return dyn_core.SimulationSettings(step=self.period, substeps=substeps, **given)

    def _sensor_settings(self) -> dyn_core.SensorSettings:
        return dyn_core.SensorSettings(**self.sensors, seed=self.seed)


def _nearest_to_zero(limits: Limits) -> float:
    lower = -math.inf if limits.lower is None else limits.lower
    upper = math.inf if limits.upper is None else limits.upper
    return min(max(0.0, lower), upper)


def declared_simulation(node: Node) -> SimulationParameters:
    """Declare the parameters and return their values; DynError where one is invalid."""
    sensors = {}
    for kind, meaning in (("noise", "Standard deviation"), ("resolution", "Smallest difference")):
        for quantity in ("position", "velocity", "effort"):
            name, text = f"{quantity}_{kind}", f"{meaning} of measured {quantity}, SI units."
            sensors[name] = float(declare(node, f"sensors.{name}", 0.0, text, within=(0.0, 1e6)))
    vectors = {}
    for name, (count, description) in _VECTORS.items():
        values = vectors[name.replace(".", "_")] = list(declare(node, name, [0.0] * count, description))
        if too_large(values):
            raise DynError("parameter-values-implausible", parameter=name, given=values)
    return declared(
        node,
        SimulationParameters,
        initial=declare_by_joint(node, "initial", _INITIAL, within=(-1e6, 1e6)),
        sensors=sensors,
        seed=declare_integer(node, "seed", 0, "Of sensor noise and model error.", (0, 2**31 - 1)),
        command_joints=declare_names(
            node, "command_joints", "Joints of ~/commands, in order; ['']: all actuated ones."
        ),
        drive_adds=declare_names(
            node,
            "drive_adds",
            "Terms that the drive adds to commands itself, as those of some arms do; ['']: none. With "
            "friction, joints have none.",
            COMPENSATED,
        ),
        **vectors,
    )
