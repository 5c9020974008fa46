# SPDX-License-Identifier: Apache-2.0
"""``dyn loops``: the closed loops of a robot."""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import Any

from dyn_core.algorithms.loops.loop_report import LoopDescription, LoopReport, loop_report
from dyn_core.cli.answer import Answer
from dyn_core.cli.options import Once, joint_vector, shown
from dyn_core.cli.robot_options import robot_of
from dyn_core.cli.table import table
from dyn_core.core.errors import counted
from dyn_core.facade.compile import compile_model
from dyn_core.robot.robot import Robot


def add_arguments(parser: ArgumentParser) -> None:
    """Let the command take positions of the actuated joints."""
    parser.add_argument(
        "--q",
        action=Once,
        metavar="X ...",
        help="positions of the actuated joints in tree order, rad or m: print the passive joints there",
    )


def loops(arguments: Namespace) -> Answer:
    """Answer what the loops are, or with --q where the passive joints are."""
    robot = robot_of(arguments)
    report = loop_report(robot)
    if arguments.q is not None:
        return Answer(_positions(robot, arguments.q, arguments.json))
    return Answer(json.dumps(_json(report), indent=2) if arguments.json else _text(robot, report))


def _positions(robot: Robot, text: str, as_json: bool) -> str:
    """Answer the positions of all joints, and how far they are from a singularity."""
    q = joint_vector("--q", text, robot.dof)
    model = compile_model(robot, backend="python")
    passive = model.solve_loops(q)
    condition = float(model.loop_condition(q))
    positions = dict(zip(robot.coordinate_names, q, strict=True))
    positions |= dict(zip(robot.passive_joint_names, map(float, passive), strict=True))
    if as_json:
        answer = {"robot": robot.name, "positions": positions, "condition": _finite(condition)}
        return json.dumps(answer, indent=2)
    rows = _joint_rows(robot, positions)
    return "\n".join([*rows, "", f"condition number: {condition:.4g}"])


def _joint_rows(robot: Robot, positions: dict[str, float]) -> list[str]:
    return table(
        [
            (name, f"{shown(positions[name]):.6f}", robot.joint(name).position_unit, _role(robot, name))
            for name in robot.joint_names
        ],
        left=(0, 2, 3),
    )


def _role(robot: Robot, name: str) -> str:
    return "actuated" if name in robot.coordinate_names else "passive"


def _text(robot: Robot, report: LoopReport) -> str:
    lines = [
        f"{report.robot}: {counted(report.joints, 'joint')} - "
        f"{counted(report.constraints, 'independent constraint')} = "
        f"{counted(report.dof, 'degree of freedom', 'degrees of freedom')}",
        f"actuated: {' '.join(report.actuated)}",
        f"passive: {' '.join(report.passive)}",
    ]
    for loop in report.loops:
        lines += ["", *_loop(loop)]
    lines += ["", "Passive joints (theta and r are those of dyn mdh):"]
    lines += [f"  {line}" for line in str(report.relations).splitlines()]
    apart, turned = report.residual
    lines += ["", f"Closed configuration (open by {apart:.1e} m and {turned:.1e} rad):"]
    lines += [f"  {line}" for line in _joint_rows(robot, dict(report.reference))]
    return "\n".join([*lines, f"condition number: {report.condition:.4g}"])


def _loop(loop: LoopDescription) -> list[str]:
    """Answer the lines about one loop."""
    parent, child = loop.branches
    cut = (
        "as good as any: no other passive joint makes the branches more equal"
        if loop.better_cut is None
        else f"cutting '{loop.better_cut}' would make the branches more equal, and the model cheaper"
    )
    return [
        f"loop '{loop.name}', {loop.type.value}, from '{loop.links[0]}' to '{loop.links[1]}', "
        f"root '{loop.root}'",
        f"  branches: {' '.join(parent) or 'none'} | {' '.join(child) or 'none'}",
        f"  {counted(loop.constraints, 'constraint')}, {loop.independent} independent: "
        f"{loop.redundancy.reason}",
        f"  cut: {cut}",
    ]


def _json(report: LoopReport) -> dict[str, Any]:
    relations = report.relations
    return {
        "robot": report.robot,
        "joints": report.joints,
        "independent_constraints": report.constraints,
        "degrees_of_freedom": report.dof,
        "actuated": report.actuated,
        "passive": report.passive,
        "loops": [
            {
                "name": loop.name,
                "type": loop.type.value,
                "links": loop.links,
                "root": loop.root,
                "branches": loop.branches,
                "constraints": loop.constraints,
                "independent": loop.independent,
                "redundancy": loop.redundancy.value,
                "better_cut": loop.better_cut,
            }
            for loop in report.loops
        ],
        "relations": [
            {
                "joint": relation.joint,
                "coefficients": dict(relation.coefficients),
                "constant": relation.constant,
                "text": relation.text,
                "mdh": relation.mdh,
            }
            for relation in relations.relations
        ],
        "iterated": relations.iterated,
        "closed_forms": [asdict(form) for form in relations.closed_forms],
        "closed_configuration": dict(report.reference),
        "residual": {"m": report.residual[0], "rad": report.residual[1]},
        "condition": _finite(report.condition),
    }


def _finite(number: float) -> float | None:
    """A number that JSON has; null for one without limit."""
    return number if math.isfinite(number) else None
