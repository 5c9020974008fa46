# SPDX-License-Identifier: Apache-2.0
"""What the commands print."""

from __future__ import annotations

import json
import math
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict

from dyn_core.cli.numbers import joint_vector
from dyn_core.errors import DynError
from dyn_core.facade.arrays import Array
from dyn_core.facade.compile import compile_model
from dyn_core.facade.load import load_robot
from dyn_core.facade.model import Model
from dyn_core.model.joint import Sigma
from dyn_core.model.robot import Robot

Function = Callable[[Model, list[float], list[float], list[float]], Array]

FUNCTIONS: dict[str, Function] = {
    "inverse_dynamics": lambda model, q, qd, qdd: model.inverse_dynamics(q, qd, qdd),
    "gravity_torques": lambda model, q, qd, qdd: model.gravity_torques(q),
    "bias_torques": lambda model, q, qd, qdd: model.bias_torques(q, qd),
}


def mdh(arguments: Namespace) -> str:
    """Answer the table of the geometric parameters."""
    robot = load_robot(arguments.robot)
    if not arguments.json:
        return robot.mdh_table()
    frames = [
        {
            "j": j,
            "antecedent": joint.antecedent,
            "joint": joint.name,
            "mu": joint.mu,
            "sigma": int(joint.sigma),
            **asdict(joint.mdh),
        }
        for j, joint in enumerate(robot.joints, start=1)
    ]
    return json.dumps({"robot": robot.name, "frames": frames}, indent=2)


def evaluate(arguments: Namespace) -> str:
    """Answer the value of a dynamics function in one state."""
    robot = load_robot(arguments.robot)
    q = joint_vector("--q", arguments.q, robot.dof)
    qd = joint_vector("--qd", arguments.qd, robot.dof)
    qdd = joint_vector("--qdd", arguments.qdd, robot.dof)
    torques = FUNCTIONS[arguments.function](compile_model(robot), q, qd, qdd).tolist()
    for name, torque in zip(robot.joint_names, torques, strict=True):
        if not math.isfinite(torque):
            raise DynError(f"the torque of joint '{name}' is {torque}: the values given are too large")
    if not arguments.json:
        return _torque_table(robot, torques)
    answer = {
        "robot": robot.name,
        "function": arguments.function,
        "joint_names": robot.joint_names,
        "values": torques,
        "units": _units(robot),
    }
    return json.dumps(answer, indent=2, allow_nan=False)


def _units(robot: Robot) -> list[str]:
    return ["N" if joint.sigma is Sigma.PRISMATIC else "N m" for joint in robot.independent_joints]


def _torque_table(robot: Robot, torques: list[float]) -> str:
    width = max(map(len, robot.joint_names), default=0)
    rows = zip(robot.joint_names, torques, _units(robot), strict=True)
    return "\n".join(f"{name:<{width}}  {torque:14.6f} {unit}" for name, torque, unit in rows)
