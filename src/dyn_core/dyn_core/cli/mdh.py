# SPDX-License-Identifier: Apache-2.0
"""``dyn mdh``: the geometric parameters of a robot."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict

from dyn_core.cli.answer import Answer
from dyn_core.cli.robot_options import robot_of


def mdh(arguments: Namespace) -> Answer:
    """Answer the table of the geometric parameters."""
    robot = robot_of(arguments)
    if not arguments.json:
        return Answer(robot.mdh_table())
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
    return Answer(json.dumps({"robot": robot.name, "frames": frames}, indent=2))
