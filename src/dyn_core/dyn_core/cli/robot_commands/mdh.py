# SPDX-License-Identifier: Apache-2.0
"""``dyn mdh``: the geometric parameters of a robot."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from dyn_core.cli.console import Output
from dyn_core.cli.options import Command, described_robot
from dyn_core.robot.mdh_table import FIXED, SIGMA
from dyn_core.robot.moving_base import declared_base
from dyn_core.robot.robot import Robot


def mdh(arguments: Namespace) -> Output:
    """Return the table of the geometric parameters."""
    robot = described_robot(arguments)
    base = declared_base(robot)
    if not arguments.json:
        lines = [] if base is None else ["", f"link '{base.link}' is {base.words}"]
        return Output([robot.mdh_table(), *lines])
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
    of_base = {} if base is None else {"base": base._asdict()}
    return Output({"robot": robot.name, **of_base, "frames": frames + _cut_frames(robot)})


def _cut_frames(robot: Robot) -> list[dict[str, object]]:
    """Return frames k of all cut joints, then frames k+B; sigma is null where there are several variables."""
    cuts = [(loop, loop.frames) for loop in robot.loops if loop.frames is not None]
    sides = [(loop, frames[0], SIGMA.get(loop.type)) for loop, frames in cuts]
    sides += [(loop, frames[1], FIXED) for loop, frames in cuts]
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


COMMAND = Command(
    description="Print the modified Denavit-Hartenberg parameters of a robot (Khalil and Kleinfinger "
    "1986), a line for each joint: angles in rad, lengths in m.",
    run=mdh,
    gravity=False,
    base=None,
)
