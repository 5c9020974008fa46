# SPDX-License-Identifier: Apache-2.0
"""``dyn mdh``: the geometric parameters of a robot."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict

from dyn_core.cli.answer import Answer
from dyn_core.cli.robot_options import described_robot
from dyn_core.robot.mdh_table import FIXED, SIGMA
from dyn_core.robot.moving_base import declared_base
from dyn_core.robot.robot import Robot


def mdh(arguments: Namespace) -> Answer:
    """Answer the table of the geometric parameters."""
    robot = described_robot(arguments)
    base = declared_base(robot)
    if not arguments.json:
        return Answer(
            "\n".join(
                [robot.mdh_table(), *([] if base is None else ["", f"link '{base.link}' is {base.words}"])]
            )
        )
    frames: list[dict[str, object]] = [
        {
            "j": j,
            "antecedent": joint.antecedent,
            "joint": joint.name,
            "mu": joint.mu,
            "sigma": int(joint.sigma),
            **asdict(joint.mdh),
            **({} if joint.elastic is None else {"elastic": asdict(joint.elastic)}),
        }
        for j, joint in enumerate(robot.joints, start=1)
    ]
    answer = {
        "robot": robot.name,
        **({} if base is None else {"base": base._asdict()}),
        "frames": frames + _cut_frames(robot),
    }
    return Answer(json.dumps(answer, indent=2))


def _cut_frames(robot: Robot) -> list[dict[str, object]]:
    """Answer frames k of all cut joints, then frames k+B; sigma is null where there are several variables."""
    pairs = [(loop, loop.frames) for loop in robot.loops if loop.frames is not None]
    sides = [(loop, frames[0], SIGMA.get(loop.type)) for loop, frames in pairs]
    sides += [(loop, frames[1], FIXED) for loop, frames in pairs]
    return [
        {
            "j": j,
            "antecedent": frame.antecedent,
            "loop": loop.name,
            "type": loop.type.value,
            "mu": 0,
            "sigma": sigma,
            **asdict(frame.mdh),
        }
        for j, (loop, frame, sigma) in enumerate(sides, start=len(robot.joints) + 1)
    ]
