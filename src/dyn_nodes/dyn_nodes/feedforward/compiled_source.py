# SPDX-License-Identifier: Apache-2.0
"""Compile the torques of a robot for the node `feedforward`."""

from __future__ import annotations

from dataclasses import replace

from dyn_core.control.trajectories.loop_positions import PassiveAgreement
from dyn_core.robot.moving_base import moving_base
from dyn_core.robot.robot import motor_of
from dyn_nodes.common.lifecycle.robot_source import DescribedRobot, compiled, refuse_moving_base
from dyn_nodes.common.torques.torque_maker import MadeTorques
from dyn_nodes.feedforward.parameters import FeedforwardSettings
from dyn_nodes.feedforward.torque_source import TorqueSource

_TERMS = ("inertial_torques", "coriolis_torques", "gravity_torques", "friction_torques")
"""The functions of a model that torques are made of."""


def made_source(settings: FeedforwardSettings, described: DescribedRobot) -> MadeTorques[TorqueSource]:
    """Compile the torques of a robot; DynError where the parameters do not fit it."""
    if settings.base.source != "none":
        # Messages give the motion of the base, in place of a planar or floating joint at the root.
        described = replace(described, robot=moving_base(described.robot, "given").robot)
    told = "set base.source to imu or odometry to be told of its motion"
    refuse_moving_base(described.robot, "base.source 'none'", told)
    springs = len(described.robot.elastic_joint_names)
    motors = ("motor_motion",) if springs and springs == len(motor_of(described.robot)) else ()
    unloaded = None
    if settings.drive.adds_gravity and not settings.drive.knows_payload:
        unloaded = compiled(described, ("gravity_torques", *motors)).model
    source = TorqueSource(compiled(described, (*_TERMS, *motors)), settings, unloaded)
    return MadeTorques(source, PassiveAgreement(source.loaded.robot))
